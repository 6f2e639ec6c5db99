"""What is known of the candidates so far: scores by level, and which to take."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from linnet.tuning.candidate import Candidate
from linnet.tuning.levels import Level
from linnet.tuning.limits import file_size
from linnet.tuning.optimism import Optimism, corrected

__all__ = ["CandidateResult", "Results"]

Indices = npt.NDArray[np.int64]
SCORES = 6  # candidates whose scores are kept


@dataclass(frozen=True)
class CandidateResult:
    """A candidate on a level: its score, its answers, what judging took and how large the model would be."""

    candidate: Candidate
    level: int
    score: float
    rows: Indices = field(repr=False)
    predicted: Indices = field(repr=False)
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

    def __init__(self, levels: list[Level], metric: str, y: npt.NDArray[np.int32], n_classes: int, seed: int) -> None:
        self.levels, self.metric, self.y, self.n_classes, self.seed = levels, metric, y, n_classes, seed
        self.base = next(k for k, level in enumerate(levels) if level.base)
        self.at: list[dict[str, CandidateResult]] = [{} for _ in levels]
        self.refused: dict[str, tuple[Candidate, str]] = {}
        self.default: str | None = None
        self.scores: dict[str, list[npt.NDArray[np.float64]]] = {}

    def add(self, result: CandidateResult) -> None:
        """Take in a result."""
        self.at[result.level][result.candidate.key] = result

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

    def final_seconds(self, result: CandidateResult) -> float:
        """Return about how long the last fit takes: counting, fitting on all rows, judging again if scores are not kept."""
        known = self.at[self.base].get(result.candidate.key, result)
        each = known.seconds / max(1, self.trained(known.level))
        again = 0 if self.kept_scores(known) is not None else self.trained(self.base)
        return known.counting + each * (again + len(self.y))

    def keep_scores(self, result: CandidateResult, scores: npt.NDArray[np.float64]) -> None:
        """Keep the scores of the few candidates that may be taken, on the rows that ``linnet train`` would choose on."""
        level = self.levels[result.level]
        if level.family != self.levels[self.base].family or result.level > self.base:
            return
        mine = self.scores.setdefault(result.candidate.key, []) if level.adds else []
        mine.append(scores)
        self.scores[result.candidate.key] = mine
        if result.level == self.base:
            best = {r.candidate.key for r in self.ranked(self.base)[:SCORES]} | {self.default}
            done = set(self.at[self.base]) - best
            self.scores = {key: found for key, found in self.scores.items() if key not in done}

    def kept_scores(self, result: CandidateResult) -> npt.NDArray[np.float64] | None:
        """Return the scores of a candidate on the rows of the base level, where they were kept."""
        found = self.scores.get(result.candidate.key, [])
        base = self.at[self.base].get(result.candidate.key)
        scores = np.concatenate(found) if found else None
        return scores if scores is not None and base is not None and len(scores) == len(base.rows) else None

    def trained(self, level: int) -> int:
        """Return how many rows were learned from on a level and those that it adds to."""
        here = self.levels[level]
        return here.rows + (self.trained(level - 1) if here.adds else 0)

    def hopeful(self, level: int) -> list[CandidateResult]:
        """Return the results of a level, the best first, that are not clearly worse than the default; not the default."""
        ranked = self.ranked(level)
        held = self.at[level].get(self.default or "")
        if held is None:
            return ranked
        return [r for r in ranked if r is not held and r.score >= held.score - self._luck(r, held, level)]

    def _luck(self, a: CandidateResult, b: CandidateResult, level: int) -> float:
        """Return what luck does to the difference of two scores; once all folds are judged, none is granted."""
        return 0.0 if level >= self.base else float(np.sqrt(np.sum(a.predicted != b.predicted))) / len(a.rows)

    def reserve(self) -> float:
        """Return the time to keep for the last fit, whichever of the best so far it will be."""
        best = self.ranked(self.base)[:3]
        if self.default is not None and self.default in self.at[self.base]:
            best.append(self.at[self.base][self.default])
        return max((self.final_seconds(r) for r in best), default=0.0)

    def winner(self) -> CandidateResult | None:
        """Return the candidate to take.

        On the highest level that has several: the best, if it is better than the default by more than the noise of the
        rows on which they differ, else the default. One that has only been on a lower level must beat that one there,
        by more than the noise.
        """
        champion: str | None = None
        for level in range(len(self.at) - 1, self.base - 1, -1):
            here = self.at[level]
            if not here or (champion is None and len(here) < 2 and level > self.base):
                continue
            champion = self._best(level, champion if champion in here else self.default)
        if champion is None:
            lower = [r for level in reversed(self.at) for r in sorted(level.values(), key=lambda r: -r.score)]
            return lower[0] if lower else None
        return next(level[champion] for level in reversed(self.at) if champion in level)

    def _best(self, level: int, holder: str | None) -> str:
        """Return the best of a level, if it beats the holder by more than noise."""
        ranked = self.ranked(level)
        if holder is None or holder not in self.at[level]:
            return ranked[0].candidate.key
        held = self.at[level][holder]
        better = [r for r in ranked[:20] if r.score > held.score]
        if not better:
            return holder
        noise = self._bootstrap([held, *better]).noise
        for place, result in enumerate(better, 1):
            if result.score - held.score > noise[place]:
                return result.candidate.key
        return holder

    def optimism(self) -> Optimism | None:
        """Return how much too good the best score is, from choosing again among all that were on the folds."""
        pool = list(self.at[self.base].values())
        return self._bootstrap(pool) if pool else None

    def _bootstrap(self, pool: list[CandidateResult]) -> Optimism:
        rows = pool[0].rows
        answers = [r.predicted for r in pool]
        return corrected(self.metric, rows, self.y[rows].astype(np.int64), answers, self.n_classes, self.seed)
