"""The search: its order, and its state file. The default first, every model as it comes, then rounds that are halved.

A round draws candidates near the best so far and at random, judges all of them on little data, and takes the better
third to the next level, and so on. What is drawn depends on the seed and on the scores so far, never on the time: a longer
budget goes on with the same search.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.classifier import TextClassifier
from linnet.errors import DataError, LinnetError
from linnet.evaluate.metrics import score_of
from linnet.files import lock_file
from linnet.models import MODELS
from linnet.pipeline.events import Event
from linnet.pipeline.plan import OF_FEATURES
from linnet.tuning.candidate import Candidate, SearchSpace
from linnet.tuning.judging import Clock, Judge, OutOfTimeError
from linnet.tuning.results import CandidateResult, Results

# ---- The state file of a search: a line for every result, so that a search that was killed goes on where it was.
#
# The first line says what the search is for: data, seed, metric, limits. Every further line is one candidate on one level,
# with its answers. Lines are appended, flushed and forced to the disk; a line that was cut short is dropped when the file is
# opened again. Because candidates are drawn in the same order for the same seed, going on means: draw again, and look up
# what is known already.


VERSION = 1


def packed(answers: npt.NDArray[np.int64]) -> str:
    """Write class numbers as a short text.

    >>> unpacked(packed(np.array([0, 1, 300]))).tolist()
    [0, 1, 300]
    """
    return base64.b64encode(zlib.compress(answers.astype("<u4").tobytes(), 9)).decode("ascii")


def unpacked(text: str) -> npt.NDArray[np.int64]:
    """Read back what ``packed`` wrote."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<u4").astype(np.int64)


class SearchState:
    """Results by key. Without a path they are kept in memory only.

    A file of another search (other data, seed, metric, limits or version) is started anew; ``replaced`` says so.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     state = SearchState(Path(folder) / "a.tune.jsonl", {"seed": 0})
    ...     state.add("k", {"score": 0.5})
    ...     state.close()
    ...     SearchState(Path(folder) / "a.tune.jsonl", {"seed": 0}).known
    {'k': {'score': 0.5}}
    """

    def __init__(self, path: Path | None, about: Mapping[str, Any], *, fresh: bool = False) -> None:
        self.path, self.known, self.replaced = path, {}, False  # type: Path | None, dict[str, dict[str, Any]], bool
        self._file: BinaryIO | None = None
        self.about = json.loads(json.dumps({"linnet_tune": VERSION, **about}))
        if path is not None:
            self._open(path, fresh)

    def _open(self, path: Path, fresh: bool) -> None:
        try:
            file = path.open("a+b")
        except OSError as error:
            raise DataError(f"cannot write the state of the search to {path}: {error.strerror}") from None
        with contextlib.ExitStack() as undo:
            undo.callback(file.close)
            lock_file(file, f"{path} is in use by another linnet tune; wait for it, or give another --out")
            whole = self._read(file)
            undo.pop_all()
        if fresh or not whole:
            whole = 0
            self.known = {}
        file.truncate(whole)
        self._file = file
        if not whole:
            self._line(self.about)

    def _read(self, file: BinaryIO) -> int:
        """Take in what is there; returns how many bytes of it are good, 0 where it is another search's."""
        file.seek(0)
        good = 0
        for number, line in enumerate(file):
            entry = _parsed(line)
            if number == 0 and (entry is None or "linnet_tune" not in entry):
                raise DataError(
                    f"{self.path}: is not a file of results of linnet tune, and would be lost; give another --resume"
                )
            if entry is None:
                break
            if number == 0:
                if entry != self.about:
                    self.replaced = True
                    return 0
            elif not isinstance(entry.get("key"), str):
                break
            else:
                self.known[entry.pop("key")] = entry
            good += len(line)
        return good

    def add(self, key: str, entry: Mapping[str, Any]) -> None:
        """Keep a result, on the disk before this returns."""
        self.known[key] = dict(entry)
        self._line({"key": key, **entry})

    def _line(self, entry: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(entry).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise DataError(f"cannot write the state of the search to {self.path}: {error.strerror}") from None

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _parsed(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        return found if isinstance(found, dict) else None
    return None


NEAR, SETS, EACH = 6, 2, 3  # of a round: near the best; feature sets drawn; candidates on each of these
ELITE = 5
KEEP = 2.5  # one in so many goes on
TOP = 3  # only the best so many of all go beyond the folds
TRIES = 20  # to draw something new
SAFETY = 1.8  # on the time that the last fit will take
AFTER = 0.5  # seconds for the test, saving and leaving
OnEvent = Callable[[Event], None]


class _EnoughCandidates(Exception):  # noqa: N818 - not an error
    """As many candidates were judged as were asked for."""


class Search:
    """One search. ``run`` goes on until the clock, Ctrl-C or the number of candidates ends it; results are kept."""

    def __init__(
        self, judge: Judge, space: SearchSpace, results: Results, state: SearchState, clock: Clock,
        default: Callable[[Candidate], dict[str, Any]], *, candidates: int | None = None, on_event: OnEvent | None = None,
    ) -> None:  # fmt: skip
        self.judge, self.space, self.results, self.state, self.clock = judge, space, results, state, clock
        self.default = default  # the settings that training comes to, from a candidate with the model and its features
        self.most, self.on_event = candidates, on_event
        self.interrupted = False
        self.replayed = 0

    def run(self) -> None:
        """Search until something ends it."""
        try:
            self._default()
            self._round([self.space.own(model) for model in self.space.models])
            number = 1
            while True:
                self._round(self._drawn(np.random.default_rng((self.results.seed, number))))
                number += 1
        except (OutOfTimeError, _EnoughCandidates):
            pass
        except KeyboardInterrupt:
            self.clock.stop()
            self.interrupted = True
            if not self.results.judged:
                raise

    # ---- the parts of the search

    def _default(self) -> None:
        """Begin with what ``linnet train`` chooses for the default model."""
        name = TextClassifier().model
        first = self.space.own(name if name in self.space.models else self.space.models[0])
        if self._ask(first, self.results.base) is None:
            return  # too large: something smaller has to be found
        self.results.default = first.key
        settings = self.default(first)
        params = {k: v for k, v in settings.items() if k not in OF_FEATURES}
        plain = settings.get("tf", MODELS[first.model].plan.tf) == MODELS[first.model].plan.tf
        chosen = replace(
            first, features=settings.get("features", first.features), ratio=float(settings["ratio"]),
            tf=None if plain else settings["tf"], params=tuple(sorted(params.items())),
        )  # fmt: skip
        if self._ask(chosen, self.results.base) is not None:
            self.results.default = chosen.key

    def _drawn(self, rng: np.random.Generator) -> list[Candidate]:
        """Draw the candidates of a round: near the best so far, and on feature sets at random."""
        elite = [r.candidate for r in self.results.ranked(self.results.base)[:ELITE]]
        best: dict[str, float] = {}  # of each model
        for r in (r for level in self.results.at for r in level.values()):
            best[r.candidate.model] = max(best.get(r.candidate.model, 0.0), r.score)
        models = sorted(self.space.models, key=lambda name: -best.get(name, 0.0))
        chances = np.cumprod(np.full(len(models), 0.6))
        chances /= arithmetic.total(chances)
        drawn: dict[str, Candidate] = {}
        known = {key for level in self.results.at for key in level} | set(self.results.refused)

        def take(make: Callable[[], Candidate]) -> None:
            for _ in range(TRIES):
                found = make()
                if found.key not in known and found.key not in drawn:
                    drawn[found.key] = found
                    return

        for k in range(NEAR if elite else 0):
            take(lambda k=k: self.space.near(elite[min(k % ELITE, len(elite) - 1)], rng))  # type: ignore[misc]
        for _ in range(SETS):
            features = self.space.features.draw(rng)
            for _ in range(EACH):
                model = models[int(rng.choice(len(models), p=chances))]
                take(lambda model=model, features=features: self.space.draw(model, features, rng))  # type: ignore[misc]
        return list(drawn.values())

    def _round(self, drawn: list[Candidate]) -> None:
        """Judge candidates level by level; a third of them goes on each time, and only the best reach the top."""
        level, left = 0, sorted(drawn, key=lambda c: c.features)  # those that share counts, together
        if not left:
            raise _EnoughCandidates
        keep = float(len(left))
        while left and level < len(self.results.levels):
            if (default := self.results.at[self.results.base].get(self.results.default or "")) is not None:
                self._ask(default.candidate, level)
            mine = {c.key for c in left if self._ask(c, level) is not None}
            hopeful = self.results.hopeful(level)
            if level >= self.results.base:
                hopeful = hopeful[:TOP]
            keep = max(1.0, keep / KEEP)
            left = [r.candidate for r in hopeful if r.candidate.key in mine][: round(keep)]
            level += 1

    # ---- one candidate on one level

    def _ask(self, candidate: Candidate, level: int) -> CandidateResult | None:
        """Return the result of a candidate on a level, from memory, from the state file or by judging it; None: refused."""
        key = candidate.key
        if key in self.results.at[level]:
            return self.results.at[level][key]
        if key in self.results.refused:
            return None
        if self.results.levels[level].adds and self._ask(candidate, level - 1) is None:
            return None
        fresh = all(key not in one for one in self.results.at)
        if fresh and self.most is not None and self.results.candidates >= self.most:
            raise _EnoughCandidates
        entry, scores = self.state.known.get(f"{level} {key}"), None
        if entry is None:
            self.clock.check()
            try:
                found, scores = self.judge(candidate, level)
                entry = {**found, "answers": packed(found["answers"])}
            except (LinnetError, MemoryError) as error:
                entry = {"refused": str(error).splitlines()[0] if str(error) else "it ran out of memory"}
            self.state.add(f"{level} {key}", entry)
        else:
            self.replayed += 1
        return self._keep(candidate, level, entry, scores)

    def _keep(self, candidate: Candidate, number: int, entry: dict[str, Any], scores: Any) -> CandidateResult | None:
        results, level = self.results, self.results.levels[number]
        if "refused" in entry:
            results.refused[candidate.key] = (candidate, str(entry["refused"]))
            self._say(candidate, number, None)
            return None
        rows, predicted = np.concatenate([fold.held_out for fold in level.folds]), unpacked(entry["answers"])
        if results.y.ndim == 2:
            predicted = predicted.reshape(len(rows), -1)
        seconds = float(entry["seconds"])
        if level.adds:
            before = results.at[number - 1][candidate.key]
            rows, predicted = np.concatenate([before.rows, rows]), np.concatenate([before.predicted, predicted])
            seconds += before.seconds
        score = score_of(results.metric, results.truth(rows), predicted, results.n_classes)
        result = CandidateResult(
            candidate, number, score, rows, predicted, seconds, float(entry["counting"]),
            int(entry["columns"]), int(entry["lookups"]),
        )  # fmt: skip
        results.at[number][candidate.key] = result
        if scores is not None:
            results.keep_scores(result, scores)
        if number >= results.base:
            self.clock.reserve = SAFETY * results.reserve() + AFTER
        self._say(candidate, number, result)
        return result

    def _say(self, candidate: Candidate, number: int, result: CandidateResult | None) -> None:
        if self.on_event is None:
            return
        ranked = self.results.ranked(self.results.base)
        values = {
            "level": self.results.levels[number].name, "score": None if result is None else result.score,
            "refused": self.results.refused.get(candidate.key, (candidate, None))[1],
            "best": ranked[0].score if ranked else None, "candidates": self.results.candidates,
            "left": max(0.0, self.clock.left), "spent": self.clock.spent,
        }  # fmt: skip
        self.on_event(Event("tuned", str(candidate), self.results.judged, 0, values))
