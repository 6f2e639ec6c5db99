"""The order of the search: the default first, every model as it comes, then rounds of new candidates that are halved.

A round draws candidates near the best so far and at random, judges all of them on little data, and takes the better
third to the next level, and so on. What is drawn depends on the seed and on the scores so far, never on the time: a longer
budget goes on with the same search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.classifier import TextClassifier
from linnet.errors import LinnetError
from linnet.evaluate.metrics import score_of
from linnet.models import MODELS
from linnet.pipeline.events import Event
from linnet.pipeline.plan import OF_FEATURES
from linnet.tuning.candidate import Candidate
from linnet.tuning.clock import Clock, OutOfTimeError
from linnet.tuning.judging import Judge
from linnet.tuning.results import CandidateResult, Results
from linnet.tuning.search_space import SearchSpace
from linnet.tuning.search_state import SearchState, packed, unpacked

__all__ = ["Search"]

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
        models = self._models_by_score()
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

    def _models_by_score(self) -> list[str]:
        """Return the models, the one with the best result so far first."""
        best: dict[str, float] = {}
        for level in self.results.at:
            for r in level.values():
                best[r.candidate.model] = max(best.get(r.candidate.model, 0.0), r.score)
        return sorted(self.space.models, key=lambda name: -best.get(name, 0.0))

    def _round(self, drawn: list[Candidate]) -> None:
        """Judge candidates level by level; a third of them goes on each time, and only the best reach the top."""
        level, left = 0, sorted(drawn, key=lambda c: c.features)  # those that share counts, together
        if not left:
            raise _EnoughCandidates
        keep = float(len(left))
        while left and level < len(self.results.levels):
            self._ask_default(level)
            mine = {c.key for c in left if self._ask(c, level) is not None}
            hopeful = self.results.hopeful(level)
            if level >= self.results.base:
                hopeful = hopeful[:TOP]
            keep = max(1.0, keep / KEEP)
            left = [r.candidate for r in hopeful if r.candidate.key in mine][: round(keep)]
            level += 1

    def _ask_default(self, level: int) -> None:
        known = self.results.at[self.results.base].get(self.results.default or "")
        if known is not None:
            self._ask(known.candidate, level)

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
            entry, scores = self._judged(candidate, level)
            self.state.add(f"{level} {key}", entry)
        else:
            self.replayed += 1
        return self._keep(candidate, level, entry, scores)

    def _judged(self, candidate: Candidate, level: int) -> tuple[dict[str, Any], Any]:
        try:
            found = self.judge(candidate, level)
            self.judge.limits.check_size(found.columns, found.lookups)
        except (LinnetError, MemoryError) as error:
            reason = str(error).splitlines()[0] if str(error) else "it ran out of memory"
            return {"refused": reason}, None
        entry = {
            "answers": packed(found.predicted), "seconds": round(found.seconds, 4), "counting": round(found.counting, 4),
            "columns": found.columns, "lookups": found.lookups,
        }  # fmt: skip
        return entry, found.scores

    def _keep(self, candidate: Candidate, number: int, entry: dict[str, Any], scores: Any) -> CandidateResult | None:
        results, level = self.results, self.results.levels[number]
        if "refused" in entry:
            results.refused[candidate.key] = (candidate, str(entry["refused"]))
            self._say(candidate, number, None)
            return None
        rows, predicted = np.concatenate([fold.held_out for fold in level.folds]), unpacked(entry["answers"])
        seconds = float(entry["seconds"])
        if level.adds:
            before = results.at[number - 1][candidate.key]
            rows, predicted = np.concatenate([before.rows, rows]), np.concatenate([before.predicted, predicted])
            seconds += before.seconds
        score = score_of(results.metric, results.y[rows].astype(np.int64), predicted, results.n_classes)
        result = CandidateResult(
            candidate, number, score, rows, predicted, seconds, float(entry["counting"]),
            int(entry["columns"]), int(entry["lookups"]),
        )  # fmt: skip
        results.add(result)
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
