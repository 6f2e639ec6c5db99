"""Judge candidates: count features once for all that share them, fit on the folds of a level, ask about held-out rows."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.features.buffers import TextBuffer
from linnet.features.computed import split
from linnet.features.counting import Counted, thread_count
from linnet.features.plan import FeaturePlan
from linnet.features.sharing import Shared
from linnet.models.inputs import row_weights
from linnet.pipeline.crossval import CrossValidation
from linnet.pipeline.memory import count_features, with_computed
from linnet.tuning.candidate import Candidate
from linnet.tuning.clock import Clock
from linnet.tuning.levels import Level
from linnet.tuning.limits import Limits

__all__ = ["Judge", "JudgedCandidate", "TuningRows"]

Indices = npt.NDArray[np.int64]
KEPT = 3  # groups of candidates whose rows are kept


@dataclass(frozen=True)
class TuningRows:
    """The rows to tune on: all but the test rows. dev holds the numbers of the dev rows, None for folds."""

    pieces: list[TextBuffer]
    classes: tuple[Any, ...]
    y: npt.NDArray[np.int32]
    dev: Indices | None
    shared: Shared

    @property
    def n_classes(self) -> int:
        """How many labels there are."""
        return len(self.classes)


@dataclass(frozen=True)
class JudgedCandidate:
    """What a candidate answered on the held-out rows of a level, and what that took."""

    rows: Indices = field(repr=False)
    predicted: npt.NDArray[np.int64] = field(repr=False)  # class numbers
    seconds: float = 0.0  # of all fits of the level, one after the other
    columns: int = 0  # of the model that would be saved
    lookups: int = 1  # numbers that a feature has in it
    counting: float = 0.0  # seconds that counting its features took
    scores: npt.NDArray[np.float64] | None = field(default=None, repr=False)  # (n_rows, n_outputs), for calibration


@dataclass
class _Group:
    """Rows that several candidates share, and the folds of one family of levels."""

    counted: Counted
    validation: CrossValidation
    seconds: float
    family: int | None = None

    def at(self, family: int) -> None:
        """Keep only what belongs to a family of levels."""
        if family != self.family:
            self.family = family
            self.validation.forget()


class Judge:
    """Called with a candidate and the number of a level; raises OutOfTimeError when the clock says so.

    Folds are fitted side by side in threads; the answers do not depend on how many.
    """

    def __init__(
        self, material: TuningRows, levels: list[Level], clock: Clock, limits: Limits, seed: int, threads: int | None
    ) -> None:
        self.material, self.levels, self.clock, self.limits, self.seed = material, levels, clock, limits, seed
        self.threads = thread_count(threads)
        self._groups: OrderedDict[tuple[Any, ...], _Group] = OrderedDict()
        self._rows = np.arange(len(material.y))

    def __call__(self, candidate: Candidate, number: int) -> JudgedCandidate:
        """Fit on every fold of a level and put the answers behind one another."""
        plan = candidate.make(self.seed, self.threads).plan()
        self.limits.check_memory(candidate, plan.features, self)
        group = self.group(candidate, plan.features)
        self.clock.check()
        level = self.levels[number]
        group.at(level.family)
        weight = row_weights(candidate.class_weight, self.material.classes, self.material.y, None)
        fits = min(self.threads, len(level.folds))

        def one(k: int) -> tuple[npt.NDArray[np.float64], float, int]:
            began = time.perf_counter()
            self.clock.check()
            scored = group.validation.fit(
                level.folds[k], plan.make({}), plan.features, candidate.ratio, sample_weight=weight,
                threads=max(1, self.threads // fits), on_epoch=self.clock.check,
            )  # fmt: skip
            return scored.scores, time.perf_counter() - began, int(scored.W.shape[1])

        found = self._each(one, len(level.folds), fits)
        S = np.concatenate([scores for scores, _, _ in found])
        return JudgedCandidate(
            np.concatenate([fold.held_out for fold in level.folds]),
            (S[:, 0] > 0).astype(np.int64) if S.shape[1] == 1 else S.argmax(axis=1),
            sum(seconds for _, seconds, _ in found),
            self._columns(group, plan.features),
            found[0][2],
            group.seconds,
            S,
        )

    def _each(self, one: Callable[[int], Any], n: int, threads: int) -> list[Any]:
        """Run the folds in threads of their own: Ctrl-C is for the main thread, where no solver can swallow it."""
        with ThreadPoolExecutor(threads) as pool:
            try:
                return list(pool.map(one, range(n)))
            except KeyboardInterrupt:
                self.clock.stop()
                pool.shutdown(cancel_futures=True)
                raise

    def group(self, candidate: Candidate, plan: FeaturePlan) -> _Group:
        """Return the counted rows of a candidate, made when first asked for; the last few are kept."""
        counting = plan.tf != "presence"
        key = (candidate.features, counting, candidate.min_df, plan.max_features, candidate.select)
        if key in self._groups:
            self._groups.move_to_end(key)
            return self._groups[key]
        while len(self._groups) >= KEPT:
            self._groups.popitem(last=False)
        self.shared().forget()
        began = time.perf_counter()
        assert plan.features is not None  # noqa: S101 - a candidate names its features
        blocks, computed = split(plan.features)
        part = self.shared().part(self._rows)
        m = self.material
        counted, min_df = count_features(part, blocks, plan, m.n_classes, self.threads)
        if computed:
            counted = with_computed(counted, computed, m.pieces)
        validation = CrossValidation(counted.rows, blocks, m.y, m.n_classes, min_df=min_df, select=plan.select)
        self._groups[key] = _Group(counted, validation, time.perf_counter() - began)
        return self._groups[key]

    def shared(self) -> Shared:
        """Return the texts and what was counted of them."""
        return self.material.shared

    def forget(self) -> None:
        """Drop everything that can be made again."""
        self._groups.clear()
        self.shared().forget()

    def _columns(self, group: _Group, plan: FeaturePlan) -> int:
        if plan.hash_bits:
            return 1 << plan.hash_bits
        n = group.counted.rows.n_columns
        return n if plan.select is None else min(n, plan.select.k)
