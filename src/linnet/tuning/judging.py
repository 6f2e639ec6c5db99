"""Judge candidates within limits of time, size and memory: on levels of ever more rows, counted once for all that share them."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Floats, Ints
from linnet.classifier import TextClassifier
from linnet.data.splitting import split_indices
from linnet.errors import LinnetError
from linnet.features.blocks import split
from linnet.features.buffers import text_buffers
from linnet.features.counting import count, thread_count
from linnet.features.derived import Part, Shared
from linnet.features.plan import FeaturePlan
from linnet.model.coded import FEW_WEIGHTS
from linnet.models.inputs import row_weights
from linnet.pipeline.crossval import MOST_DEV, CrossValidation, Fold, Scored, choose_folds, side_by_side, strata
from linnet.pipeline.events import Log, resident
from linnet.pipeline.fit import NAMED_FEATURES, choose_thresholds
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import MemoryRows
from linnet.solvers.dual import LANES
from linnet.tuning.candidate import Candidate
from linnet.values import size_text

# ---- The budget of time: when the search must end, so that the last fit is done in time.


MARGIN = 0.03  # of the budget, for what no estimate knows


class SearchOver(Exception):  # noqa: N818 - not an error
    """Raised, inside a fit between two passes, when the time for candidates is over, or there are as many as were asked for."""


class Clock:
    """Counts from ``began``; ``reserve`` is what the last fit, the test and saving will take, as far as is known.

    ``check`` is called after every pass of every fit. It raises SearchOver once the time left is no more than the
    reserve, or once ``stop`` was called (Ctrl-C).

    >>> now = iter([0.0, 5.0, 9.5]).__next__
    >>> clock = Clock(10.0, now=now)
    >>> clock.reserve = 0.5
    >>> clock.check()
    >>> clock.check()
    Traceback (most recent call last):
    linnet.tuning.judging.SearchOver
    """

    def __init__(self, budget: float, *, began: float | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.began = now() if began is None else began
        self.budget = budget
        self.reserve = 0.0
        self.stopped = False

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return self._now() - self.began

    @property
    def left(self) -> float:
        """Seconds of the whole budget that are left, a small margin kept back."""
        return self.budget * (1 - MARGIN) - self.spent

    def stop(self) -> None:
        """Ask every running fit to stop after its pass."""
        self.stopped = True

    def check(self, *_: Any) -> None:
        """Raise SearchOver if the search must end now; takes any arguments, so that it can be a callback."""
        if self.stopped or self.left <= self.reserve:
            raise SearchOver

    def last_call(self, *_: Any) -> None:
        """Within the last fit: raise KeyboardInterrupt when the budget is over; solvers keep their weights then."""
        if self.spent >= self.budget * (1 - MARGIN / 3):
            raise KeyboardInterrupt


# ---- How much data a candidate is judged on: little at first, more for those that did well.
#
# Few rows: a third of them to learn from and the rest held out, then the folds that ``linnet train`` has. Many rows: the part
# that ``linnet train`` chooses on; then four times as many rows to learn from, and so on, up to all of them.


WORTH_LESS = 1200  # rows: below this a third of them says nothing
TIMES = 4  # how many times more rows the next level has, where rows are many
MOST_HELD = 10_000


@dataclass(frozen=True)
class Level:
    """Training and held-out rows; base: the rows that ``linnet train`` would choose on."""

    name: str
    folds: tuple[Fold, ...]
    base: bool = False

    @property
    def trained(self) -> int:
        """How many rows are learned from, over all folds."""
        return sum(len(fold.train) for fold in self.folds)

    @cached_property
    def rows(self) -> Ints:
        """The held-out rows of all folds."""
        return np.concatenate([fold.held_out for fold in self.folds])


def levels_for(y: Array, n_classes: int, dev: Ints | None, n_entries: int, seed: int) -> list[Level]:
    """Return the levels, the smallest first; entries are those of the default features."""
    chosen = tuple(choose_folds(y, n_classes, dev, n_entries, seed, None))
    y = strata(y)
    if len(chosen) > 1:
        base = Level(f"{len(chosen)} folds", chosen, base=True)
        third = Level("a third", (Fold(*split_indices(y, (seed, 1), (1 / 3, 2 / 3))),))
        return [third, base] if len(y) >= WORTH_LESS else [base]
    small, held = chosen[0].train, dev
    levels = [Level(f"{len(small):,} rows", chosen, base=True)]
    if held is None:
        share = min(0.25, max(0.1, MOST_DEV / len(y)))
        held = split_indices(y, seed, (1 - share, share))[1]  # as choose_folds cuts it
    rest = np.setdiff1d(np.arange(len(y)), held)
    rng = np.random.default_rng((seed, 2))
    if len(held) > MOST_HELD:
        held = np.sort(rng.choice(held, MOST_HELD, replace=False))
    order, size = rng.permutation(np.setdiff1d(rest, small)), len(small)
    while size < len(rest):
        size = min(TIMES * size, len(rest))
        part = np.sort(np.concatenate([small, order[: size - len(small)]]))
        levels.append(Level(f"{size:,} rows", (Fold(part, held),)))
    return levels


# ---- What a model file may weigh and what memory a candidate may take: estimated before the work, refused if too much.


NAME = 12  # bytes of a name that is kept, compressed: its text, its length, its feature
CARD = 6_000  # bytes of the rest of a model file
SAMPLE = 400  # documents that are counted to tell how many features all of them have
GROWTH = 0.85  # distinct features grow with this power of the text, at most
ENTRY = 40  # bytes for every entry while features are counted and rows are cut into folds
FITTING = 44  # and for every entry of each fit that runs
COLUMN = 80  # bytes for every feature while it is counted
WEIGHT = 24  # and for every weight of each fit that runs
SPARE = 30_000_000  # for libraries that are loaded on the way
STEP = 50_000_000  # what is in use at the beginning is rounded up to this, to be the same in every run


def file_size(features: int, lookups: int) -> int:
    """Return about how large a model file will be.

    >>> file_size(100_000, 1) < file_size(200_000, 1)
    True
    """
    floats = min(features, FEW_WEIGHTS // lookups) * (8 + 4 * lookups)
    rounded = features * (5 + 3 * lookups // 2)
    return max(floats, rounded) + min(features, NAMED_FEATURES) * NAME + CARD


class Limits:
    """The limits that the user set; None is none. base is what the process holds before the search."""

    def __init__(self, max_size: int | None, max_memory: int | None) -> None:
        self.max_size, self.max_memory = max_size, max_memory
        self.base = -(-resident() // STEP) * STEP
        if max_memory is not None and self.base >= max_memory:
            raise LinnetError(
                f"linnet and these rows take about {size_text(self.base)} already; give a larger --max-memory "
                f"than {size_text(max_memory)}, or fewer rows"
            )

    def most_features(self, lookups: int) -> int | None:
        """Return how many features a model file may have; None for any number."""
        if self.max_size is None:
            return None
        if file_size(1, lookups) > self.max_size:
            raise LinnetError(
                f"no model fits into {size_text(self.max_size)}: one feature takes {size_text(file_size(1, lookups))}; "
                "give a larger --max-size"
            )
        return bisect_right(range(1 << 31), self.max_size, 1, key=lambda features: file_size(features, lookups)) - 1

    def check_size(self, columns: int, lookups: int) -> None:
        """Refuse a model file that is too large."""
        if self.max_size is not None and file_size(columns, lookups) > self.max_size:
            size = size_text(file_size(columns, lookups))
            raise LinnetError(f"its file would be {size}, above {size_text(self.max_size)}")

    def check_memory(self, plan: FeaturePlan, judge: Judge) -> None:
        """Refuse a candidate that would take too much memory: features of a sample of the texts tell how many there are."""
        if self.max_memory is None:
            return
        blocks, computed = split(plan.features or ())
        rows, n_classes = len(judge.rows.y), len(judge.rows.classes)
        fits = min(judge.threads, len(judge.levels[-1].folds))
        texts = [p.text(d) for p in judge.rows.buffers for d in range(0, len(p), max(1, rows // SAMPLE))]
        found = count(text_buffers(texts), blocks, counting=True, threads=1).rows
        times = judge.size / max(1, len("".join(texts).encode("utf-8")))
        entries = len(found.indices) * times + rows * sum(len(c.columns) for c in computed)
        columns = found.n_columns * float(arithmetic.power(max(1.0, times), GROWTH))
        outputs = 1 if n_classes == 2 else -(-n_classes // LANES) * LANES
        fitted = entries * (ENTRY + FITTING * fits) + columns * (COLUMN + WEIGHT * outputs * fits)
        need = self.base + SPARE + int(fitted)
        if need > self.max_memory:
            raise LinnetError(f"it would take about {size_text(need)} of memory, above {size_text(self.max_memory)}")


class Judge:
    """Called with a candidate and the number of a level; raises SearchOver when the clock says so.

    Folds are fitted side by side in threads; the answers do not depend on how many.
    """

    def __init__(
        self, rows: MemoryRows, features: str, clock: Clock, limits: Limits, seed: int, threads: int | None
    ) -> None:
        """Count the default features, which tell how the levels are cut; rows are all but those of the test."""
        self.rows, self.clock, self.limits, self.seed = rows, clock, limits, seed
        self.shared = Shared(rows.buffers)
        self.size = float(self.shared.sizes.sum())  # bytes
        self.threads = thread_count(threads)
        self._last: _SharedRows | None = None
        plan = TextClassifier(features=features, n_jobs=self.threads).plan()
        n_entries = len(self.counts(plan).rows.rows.indices)
        self.levels = levels_for(rows.y, len(rows.classes), rows.dev, n_entries, seed)

    def part(self) -> Part:
        """Return what is counted of all rows."""
        return self.shared.part(np.arange(len(self.rows.y)))

    def __call__(self, candidate: Candidate, number: int) -> dict[str, Any]:
        """Fit on every fold of a level and put the answers behind one another.

        Returns the answers (class numbers), the seconds of all fits and of counting, the columns of the model that would be
        saved and the numbers that a feature has in it.
        """
        plan = candidate.make(self.seed, self.threads).plan()
        self.limits.check_memory(plan.features, self)
        counts, level = self.counts(plan), self.levels[number]
        if counts.level is not level:
            counts.level = level
            counts.validation.forget()
        weight = row_weights(candidate.class_weight, self.rows.classes, self.rows.y, None)
        fits = min(self.threads, len(level.folds))

        def one(fold: Fold) -> tuple[Scored, float]:
            self.clock.check()
            began = time.perf_counter()
            scored = counts.validation.fit(
                fold, plan.make({}), plan.features, candidate.ratio, sample_weight=weight,
                threads=max(1, self.threads // fits), on_epoch=self.clock.check,
            )  # fmt: skip
            return scored, time.perf_counter() - began

        found = side_by_side(one, level.folds, fits, self.clock.stop)
        columns, lookups = counts.rows.n_columns, int(found[0][0].W.shape[1])
        self.limits.check_size(columns, lookups)
        S = np.concatenate([scored.scores for scored, _ in found])
        return {
            "answers": _answers(S, self.rows.y[level.rows]), "seconds": round(sum(seconds for _, seconds in found), 4),
            "counting": round(counts.seconds, 4), "columns": columns, "lookups": lookups,
        }  # fmt: skip

    def counts(self, plan: Plan) -> _SharedRows:
        """Return the counted rows of a plan; the last are kept, for the candidates that share them follow one another."""
        wanted = plan.features
        key = (wanted.features, wanted.tf, wanted.min_df, wanted.max_features)
        if self._last is None or self._last.key != key:
            self.forget()
            began, rows = time.perf_counter(), copy(self.rows)
            rows.part = self.part()
            rows.count(plan, Log())
            validation = CrossValidation(rows.rows, rows.blocks, rows.y, len(rows.classes), min_df=rows.min_df)
            self._last = _SharedRows(key, rows, validation, time.perf_counter() - began)
        return self._last

    def forget(self) -> None:
        """Drop everything that can be made again."""
        self._last = None
        self.shared.forget()


@dataclass
class _SharedRows:
    """Rows that several candidates share, and the level whose folds are kept."""

    key: tuple[Any, ...]
    rows: MemoryRows
    validation: CrossValidation
    seconds: float
    level: Level | None = None


def _answers(S: Floats, y: Array) -> Ints:
    """Return the class of each row; of several labels, 1 for those above their threshold, which is chosen as in training."""
    if y.ndim == 2:
        return (choose_thresholds(S, y) <= S).astype(np.int64)
    return (S[:, 0] > 0).astype(np.int64) if S.shape[1] == 1 else S.argmax(axis=1)
