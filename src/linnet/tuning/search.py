"""What a search knows and keeps: results and the winner among them, the outcome, and the state file."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Floats, Ints
from linnet.classifier import TextClassifier
from linnet.draw.markup import paragraphs, safe, text_table
from linnet.draw.terminal import aligned, cut, estimate
from linnet.errors import DataError, LinnetError
from linnet.evaluate import Evaluation, MultilabelEvaluation, evaluate_multilabel
from linnet.evaluate.intervals import Interval
from linnet.evaluate.metrics import resampled_scores, score_of
from linnet.files import lock_file, writing
from linnet.tuning.candidate import Candidate
from linnet.tuning.judging import Level, file_size
from linnet.values import duration, size_text, to_plain

# ---- How much too good the best of many scores is: choosing by a score makes that score too high.
#
# The answers of all candidates on the same held-out rows are kept, so choosing can be done again and again on rows drawn
# with replacement, and the chosen one judged on the rows that were not drawn. The mean of those scores is an estimate of
# what the chosen candidate does on new rows; the score it was chosen by, less that, is the optimism.
#
# Reference: Tsamardinos, Greasidou and Borboudakis, Bootstrapping the out-of-sample predictions for efficient and
# accurate cross-validation, Machine Learning 107 (2018).


DRAWS = 400
MOST_WORK = 400_000_000


@dataclass(frozen=True)
class Optimism:
    """score is the best one, as it was chosen by; expected what to expect of new rows, with its 95 % interval.

    ``noise`` is the spread of each candidate's difference to the first, for telling luck from better.
    """

    score: float
    expected: float
    interval: Interval
    candidates: int
    noise: Floats

    @property
    def optimism(self) -> float:
        """By how much the score of the chosen candidate is too good."""
        return max(0.0, self.score - self.expected)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        found = {name: to_plain(value) for name, value in vars(self).items() if name != "noise"}
        return {**found, "optimism": self.optimism, "method": "bootstrap bias corrected cross-validation"}


def corrected(metric: str, rows: Ints, truth: Ints, answers: list[Ints], n_classes: int, seed: int) -> Optimism:
    """Choose again on drawn rows, judge on the rest; rows says which rows stand for one text and are drawn together.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 300)
    >>> coins = [rng.integers(0, 2, 300) for _ in range(30)]  # no candidate knows anything
    >>> best = max(float(np.mean(c == truth)) for c in coins)
    >>> found = corrected("accuracy", np.arange(300), truth, coins, 2, seed=0)
    >>> round(best, 2), round(found.expected, 2)
    (0.54, 0.48)
    """
    scores = np.array([score_of(metric, truth, predicted, n_classes) for predicted in answers])
    texts, number = np.unique(rows, return_inverse=True)
    draws = int(np.clip(MOST_WORK // max(1, len(rows) * len(answers)), 100, DRAWS))
    rng = np.random.default_rng((seed, 3))
    n = len(texts)
    inside = np.stack([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(draws)]).astype(np.float64)
    outside = (inside == 0).astype(np.float64)
    drawn = resampled_scores(metric, truth, answers, inside[:, number], n_classes)  # (draws, candidates)
    left = resampled_scores(metric, truth, answers, outside[:, number], n_classes)
    chosen = drawn.argmax(axis=1)
    kept = outside.sum(axis=1) > 0
    found = left[np.arange(draws), chosen][kept] if kept.any() else drawn[np.arange(draws), chosen]
    # scores of the rows left out, a share p of all, spread by sqrt((1 - p) / p) times as much as those of all rows
    share, mean = float(outside.mean()), arithmetic.mean(found)
    spread = np.sqrt(share / max(1 - share, 1e-9)) * (np.quantile(found, [0.025, 0.975]) - mean)
    low, high = np.clip(mean + spread, -1.0, 1.0).tolist()
    differences = drawn - drawn[:, :1]
    noise = np.sqrt(arithmetic.mean(np.square(differences - arithmetic.mean(differences, axis=0)), axis=0))
    best = float(scores.max())
    return Optimism(best, min(mean, best), (low, high), len(answers), noise)


# ---- What is known of the candidates so far, which to take, how much too good its score is, and the outcome of the search.


@dataclass(frozen=True)
class CandidateResult:
    """A candidate on a level: its score, its answers, what judging took and how large the model would be."""

    candidate: Candidate
    level: int
    score: float
    predicted: Ints = field(repr=False)
    seconds: float
    counting: float
    columns: int
    lookups: int

    @property
    def size(self) -> int:
        """About how many bytes the model file has."""
        return file_size(self.columns, self.lookups)


class Results:
    """Results of every level by the key of their candidate, in the order in which they came in."""

    def __init__(self, levels: list[Level], metric: str, y: Array, n_classes: int, seed: int) -> None:
        self.levels, self.metric, self.y, self.n_classes, self.seed = levels, metric, y, n_classes, seed
        self.base = next(k for k, level in enumerate(levels) if level.base)
        self.at: list[dict[str, CandidateResult]] = [{} for _ in levels]
        self.refused: dict[str, tuple[Candidate, str]] = {}
        self.default: str | None = None

    def truth(self, level: int) -> Ints:
        """Return the class of each held-out row of a level; of several labels, 0 and 1 for each."""
        return self.y[self.levels[level].rows].astype(np.int64)

    @property
    def judged(self) -> int:
        """How many results there are, over all levels."""
        return sum(map(len, self.at))

    @property
    def candidates(self) -> int:
        """How many different candidates were judged on any level."""
        return len({key for level in self.at for key in level})

    def ranked(self, level: int) -> list[CandidateResult]:
        """Return the results of a level, the best first, of equals the first judged."""
        return sorted(self.at[level].values(), key=lambda r: -r.score)

    def hopeful(self, level: int) -> list[CandidateResult]:
        """Return the results of a level, the best first, that are not clearly worse than the default; not the default."""
        ranked = self.ranked(level)
        held = self.at[level].get(self.default or "")
        if held is None:
            return ranked

        def luck(r: CandidateResult) -> float:
            """Return what luck does to the difference of two scores; once all folds are judged, none is granted."""
            spread = float(np.sqrt(np.sum(r.predicted != held.predicted)))
            return spread / len(r.predicted) if level < self.base else 0.0

        return [r for r in ranked if r is not held and r.score >= held.score - luck(r)]

    def reserve(self) -> float:
        """Return the time to keep for the last fit, whichever of the best so far it will be.

        It counts, judges once more to calibrate, and fits on all rows.
        """
        best = [*self.ranked(self.base)[:3], self.at[self.base].get(self.default or "")]
        more = 1 + len(self.y) / max(1, self.levels[self.base].trained)
        return max((r.counting + r.seconds * more for r in best if r is not None), default=0.0)

    def winner(self) -> CandidateResult | None:
        """Return the candidate to take, of the highest level that has several: the best, or the default.

        The best must be better than the default by more than the noise of the rows on which they differ.
        """
        level = max((k for k, here in enumerate(self.at) if len(here) > 1 or (here and k <= self.base)), default=0)
        ranked = self.ranked(level)
        held = self.at[level].get(self.default or "")
        if level < self.base or held is None:
            return ranked[0] if ranked else None
        better = [r for r in ranked[:20] if r.score > held.score]
        noise = self._bootstrap([held, *better]).noise[1:]
        return next((r for r, luck in zip(better, noise, strict=True) if r.score - held.score > luck), held)

    def optimism(self) -> Optimism | None:
        """Return how much too good the best score is, from choosing again among all that were on the folds."""
        pool = list(self.at[self.base].values())
        return self._bootstrap(pool) if pool else None

    def _bootstrap(self, pool: list[CandidateResult]) -> Optimism:
        level, answers = pool[0].level, [r.predicted for r in pool]
        rows = self.levels[level].rows
        return corrected(self.metric, rows, self.truth(level), answers, self.n_classes, self.seed)


# ---- The outcome of a search: the model, a leaderboard with intervals, how much too high the best score is, sentences.


SHOWN = 10


@dataclass(frozen=True, eq=False)
class Tuning:
    """What a search found. ``print`` it, show it in a notebook, or take ``model``, ``table``, ``words``, ``to_dict()``.

    ``model`` is fitted on all rows but those of the test; ``test`` holds its scores there, None without test rows.
    ``command`` makes the same model again. ``finished`` is False where Ctrl-C ended the search.
    """

    model: TextClassifier
    winner: CandidateResult
    results: Results = field(repr=False)
    optimism: Optimism
    test: Evaluation | MultilabelEvaluation | None
    command: str
    source: str
    rows: int
    seconds: float
    budget: float
    size: int
    finished: bool = True
    resumed: int = 0
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """The name of the metric that was searched for."""
        return self.results.metric

    @property
    def default(self) -> CandidateResult | None:
        """The default recipe on the rows that the winner was chosen on; None where it was refused."""
        return self.results.at[self.winner.level].get(self.results.default or "")

    @property
    def expected(self) -> float:
        """What to expect of new rows: the score of the winner less the optimism of choosing."""
        return self.winner.score - self.optimism.optimism

    @property
    def gain(self) -> float | None:
        """The dev score of the winner less that of the default."""
        return None if self.default is None else self.winner.score - self.default.score

    @cached_property
    def table(self) -> list[dict[str, Any]]:
        """The candidates that reached the folds, the best first: a list of dicts."""
        return [self._row(r, rank) for rank, r in enumerate(self.ranked, 1)]

    @cached_property
    def ranked(self) -> list[CandidateResult]:
        """Their results, each of the highest level; the winner first, then by score."""
        best: dict[str, CandidateResult] = {}
        for level in self.results.at[self.results.base :]:
            best.update(level)
        won = self.winner.candidate.key
        return sorted(best.values(), key=lambda r: (r.candidate.key != won, -r.score))

    def _row(self, r: CandidateResult, rank: int) -> dict[str, Any]:
        truth = self.results.truth(r.level)
        if truth.ndim == 2:
            found: Any = evaluate_multilabel(truth, r.predicted)
        else:
            found = Evaluation(tuple(range(self.results.n_classes)), truth, r.predicted, None, {})
        low, high = found.score(self.metric)[1]
        return {
            "rank": rank, "model": r.candidate.model, "score": r.score, "low": low, "high": high,
            "judged_on": self.results.levels[r.level].name, "size_bytes": r.size, "seconds": r.seconds,
            "default": r.candidate.key == self.results.default, "settings": r.candidate.to_dict(),
        }  # fmt: skip

    @property
    def words(self) -> list[str]:
        """The outcome in sentences."""
        w, name = self.winner, self.metric
        lines = [f"Chosen: {w.candidate}."]
        if self.gain is None:
            lines.append("The default was not evaluated, so there is nothing to compare with.")
        elif w.candidate.key == self.results.default:
            lines.append("That is the default: nothing was better by more than the noise of these rows.")
        else:
            lines.append(f"Its dev {name} is {100 * self.gain:.1f} points above that of the default.")
        lines.append(
            f"Its dev {name} of {w.score:.4f} is the best of {self.optimism.candidates}, so it is too high by about "
            f"{self.optimism.optimism:.4f}: expect {estimate(self.expected, self.optimism.interval)} on new rows."
        )
        if self.test is not None:
            lines.append(f"Test {name}, measured once: {estimate(*self.test.score(name))} on {self.test.n:,} rows.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "source": self.source, "rows": self.rows, "metric": self.metric, "seed": self.results.seed,
            "budget_seconds": self.budget, "seconds": self.seconds, "finished": self.finished, "resumed": self.resumed,
            "candidates": self.results.candidates, "judged": self.results.judged,
            "levels": [{"name": level.name, "training_rows": level.trained} for level in self.results.levels],
            "winner": {**self.table[0], "expected": self.expected}, "gain_over_default": self.gain,
            "optimism": self.optimism.to_dict(), "leaderboard": self.table,
            "refused": [{"settings": c.to_dict(), "reason": why} for c, why in self.results.refused.values()],
            "size_bytes": self.size, "test": self.test.to_dict() if self.test else None, "command": self.command,
            "notes": list(self.notes), "words": self.words,
        }  # fmt: skip

    def cells(self, width: int = 120) -> list[list[str]]:
        """Return the leaderboard as rows of text, names first."""
        cells = [["", self.metric, "95 %", "judged on", "size", "candidate"]]
        for result, row in zip(self.ranked, self.table, strict=True):
            if row["rank"] <= SHOWN or row["default"]:
                mark = " (default)" if row["default"] else ""
                name = cut(str(result.candidate), max(24, width - 66) - len(mark)) + mark
                scores = [f"{row['score']:.4f}", f"{row['low']:.4f}-{row['high']:.4f}"]
                cells.append([str(row["rank"]), *scores, row["judged_on"], size_text(row["size_bytes"]), name])
        return cells

    def to_text(self, width: int = 120) -> str:
        """Return leaderboard, notes and words as plain text."""
        lines = aligned([[*row[-1:], *row[:-1]] for row in self.cells(width)], width)
        more = len(self.table) - SHOWN
        if more > 0:
            lines.append(f"and {more:,} more")
        spent = f"{self.results.candidates:,} candidates in {duration(self.seconds)} of {duration(self.budget)}"
        return "\n".join([*lines, "", spent, *(f"note: {n}" for n in self.notes), *self.words])

    __str__ = to_text

    def __repr__(self) -> str:
        return f"<Tuning: {self.winner.candidate}, {self.metric} {self.winner.score:.4f}>"

    def _repr_html_(self) -> str:
        return f"<div>{text_table(self.cells(400))}{paragraphs(map(safe, (*self.notes, *self.words)))}</div>"


# ---- The state file of a search: a line for every result, so that a search that was killed goes on where it was.
#
# The first line says what the search is for: data, seed, metric, limits. Every further line is one candidate on one level,
# with its answers. Lines are appended, flushed and forced to the disk; a line that was cut short is dropped when the file is
# opened again. Because candidates are drawn in the same order for the same seed, going on means: draw again, and look up
# what is known already.


VERSION = 2


def packed(answers: Ints) -> str:
    """Write class numbers as a short text.

    >>> unpacked(packed(np.array([0, 1, 300]))).tolist()
    [0, 1, 300]
    """
    return base64.b64encode(zlib.compress(answers.astype("<u4").tobytes(), 9)).decode("ascii")


def unpacked(text: str) -> Ints:
    """Read back what ``packed`` wrote."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<u4").astype(np.int64)


class SearchState:
    """Results by key. Without a path they are kept in memory only; a file of another search is started anew.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     state = SearchState(Path(folder) / "a.tune.jsonl", {"seed": 0})
    ...     state.add("k", {"score": 0.5})
    ...     state.close()
    ...     SearchState(Path(folder) / "a.tune.jsonl", {"seed": 0}).known
    {'k': {'score': 0.5}}
    """

    def __init__(self, path: Path | None, about: Mapping[str, Any], *, fresh: bool = False) -> None:
        self.path, self.known = path, {}  # type: Path | None, dict[str, dict[str, Any]]
        self._file: BinaryIO | None = None
        if path is None:
            return
        with writing(path):
            self._file = path.open("a+b")
        try:
            lock_file(self._file, f"{path} is in use by another linnet tune; wait for it, or give another --out")
            self._read(self._file, {"linnet_tune": VERSION, **about}, fresh)
        except LinnetError:
            self.close()
            raise

    def _read(self, file: BinaryIO, about: Mapping[str, Any], fresh: bool) -> None:
        """Take in what is there, up to a damaged line, which is cut off."""
        file.seek(0)
        lines, head = file.readlines(), json.dumps(about).encode() + b"\n"
        if lines and not lines[0].startswith(b'{"linnet_tune"'):
            raise DataError(
                f"{self.path}: is not a file of results of linnet tune, and would be lost; give another --resume"
            )
        if fresh or lines[:1] != [head]:
            file.truncate(0)
            self._line(about)
            return
        good = len(head)
        for line in lines[1:]:
            try:
                entry = json.loads(line) if line.endswith(b"\n") else {}
                self.known[entry.pop("key")] = entry
            except (ValueError, KeyError):
                break
            good += len(line)
        file.truncate(good)

    def add(self, key: str, entry: Mapping[str, Any]) -> None:
        """Keep a result, on the disk before this returns."""
        self.known[key] = dict(entry)
        self._line({"key": key, **entry})

    def _line(self, entry: Mapping[str, Any]) -> None:
        if self._file is not None and self.path is not None:
            with writing(self.path):
                self._file.write(json.dumps(entry).encode() + b"\n")
                self._file.flush()
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()
