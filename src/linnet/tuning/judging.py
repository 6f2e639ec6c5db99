"""Judge candidates within limits of time, size and memory: on levels of ever more rows, counted once for all that share them."""

from __future__ import annotations

import gc
import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Floats, Ints, Ints32
from linnet.classifier import TextClassifier
from linnet.data.splitting import fold_indices, split_indices
from linnet.errors import LinnetError
from linnet.features.blocks import Blocks, split
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import Counted, SparseCounts, count, thread_count
from linnet.features.derived import Part, Shared
from linnet.features.plan import FeaturePlan
from linnet.model.table import FEW_WEIGHTS
from linnet.models.inputs import row_weights
from linnet.pipeline.crossval import MOST_DEV, CrossValidation, Fold, choose_folds, strata
from linnet.pipeline.events import resident
from linnet.pipeline.fit import NAMED_FEATURES, choose_thresholds
from linnet.pipeline.rows import MemoryRows, count_features, with_computed
from linnet.solvers.dual import LANES
from linnet.tuning.candidate import Candidate
from linnet.values import size_text

# ---- The budget of time: when the search must end, so that the last fit is done in time.


MARGIN = 0.03  # of the budget, for what no estimate knows


class OutOfTimeError(Exception):
    """Raised inside a fit, between two passes, when the time for candidates is over."""


class Clock:
    """Counts from ``began``; ``reserve`` is what the last fit, the test and saving will take, as far as is known.

    ``check`` is called after every pass of every fit. It raises OutOfTimeError once the time left is no more than the
    reserve, or once ``stop`` was called (Ctrl-C).

    >>> now = iter([0.0, 5.0, 9.5]).__next__
    >>> clock = Clock(10.0, now=now)
    >>> clock.reserve = 0.5
    >>> clock.check()
    >>> clock.check()
    Traceback (most recent call last):
    linnet.tuning.judging.OutOfTimeError
    """

    def __init__(self, budget: float, *, began: float | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.began = now() if began is None else began
        self.budget = budget
        self.reserve = 0.0
        self._stopped = threading.Event()

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
        self._stopped.set()

    def check(self, *_: Any) -> None:
        """Raise OutOfTimeError if the search must end now; takes any arguments, so that it can be a callback."""
        if self._stopped.is_set() or self.left <= self.reserve:
            raise OutOfTimeError

    def last_call(self, *_: Any) -> None:
        """Within the last fit: raise KeyboardInterrupt when the budget is over; solvers keep their weights then."""
        if self.spent >= self.budget * (1 - MARGIN / 3):
            raise KeyboardInterrupt


# ---- How much data a candidate is judged on: little at first, more for those that did well.
#
# Few rows: a third of them to learn from and the rest held out; then two of the five folds that ``linnet train`` has, then
# all five, then the folds drawn a second and a third time. Many rows: the part that ``linnet train`` chooses on; then four times as many
# rows to learn from, and so on, up to all of them. A level that only adds draws keeps the answers of the level before.


Folds = tuple[Fold, ...]

WORTH_LESS = 1200  # rows: below this a third of them says nothing
DRAWS = 3  # how often folds are drawn
FIRST = 2  # folds that are tried before the others
TIMES = 4  # how many times more rows the next level has, where rows are many
MOST_HELD = 10_000


@dataclass(frozen=True)
class Level:
    """Training and held-out rows; adds: to the answers of the level before, whose rows come first."""

    name: str
    folds: Folds
    adds: bool = False
    base: bool = False  # with the levels it adds to, the rows that ``linnet train`` would choose on

    @property
    def rows(self) -> int:
        """How many rows are learned from, over all folds."""
        return sum(len(fold.train) for fold in self.folds)


def levels_for(y: Array, n_classes: int, dev: Ints | None, rows: SparseCounts, seed: int) -> list[Level]:
    """Return the levels, the smallest first; rows are those of the default features."""
    chosen = choose_folds(y, n_classes, dev, len(rows.indices), seed)
    if len(chosen) > 1:
        return _by_folds(strata(y), tuple(chosen), seed)
    return _by_size(strata(y), dev, Level(f"{len(chosen[0].train):,} rows", tuple(chosen), base=True), seed)


def _by_folds(y: Ints32, chosen: Folds, seed: int) -> list[Level]:
    folds = len(chosen)
    if len(y) >= WORTH_LESS:
        third, rest = split_indices(y, (seed, 1), (1 / 3, 2 / 3))
        levels = [
            Level("a third", (Fold(third, rest),)),
            Level(f"{FIRST} of {folds} folds", chosen[:FIRST]),
            Level(f"{folds} folds", chosen[FIRST:], adds=True, base=True),
        ]
    else:
        levels = [Level(f"{folds} folds", chosen, base=True)]
    draws = DRAWS if len(y) >= 2 * folds else 1
    every = fold_indices(y.astype(np.int64), seed, folds, repeats=draws) if draws > 1 else []
    more = ((k, tuple(Fold(*one) for one in every[k * folds : (k + 1) * folds])) for k in range(1, draws))
    return [*levels, *(Level(f"{folds} folds, draw {k + 1}", drawn, True) for k, drawn in more)]


def _by_size(y: Ints32, dev: Ints | None, base: Level, seed: int) -> list[Level]:
    """Return ever larger parts; the held-out rows are the dev rows, or those that no smaller level learned from."""
    small, held = base.folds[0].train, base.folds[0].held_out
    if dev is None:
        share = min(0.25, max(0.1, MOST_DEV / len(y)))
        train, held = split_indices(y, seed, (1 - share, share))  # as choose_folds cuts it
    else:
        train, held = np.setdiff1d(np.arange(len(y)), dev), dev
    rng = np.random.default_rng((seed, 2))
    if len(held) > MOST_HELD:
        held = np.sort(rng.choice(held, MOST_HELD, replace=False))
    levels, order = [base], rng.permutation(np.setdiff1d(train, small))
    size = len(small)
    while size < len(train):
        size = min(TIMES * size, len(train))
        part = np.sort(np.concatenate([small, order[: size - len(small)]]))
        levels.append(Level(f"{size:,} rows", (Fold(part, held),)))
    return levels


# ---- What a model file may weigh and what memory a candidate may take: estimated before the work, refused if too much.


SAMPLE = 400  # documents that are counted to tell how many features all of them have
GROWTH = 0.85  # distinct features grow with this power of the text, at most
NAME = 12  # bytes of a name that is kept, compressed: its text, its length, its feature
CARD = 6_000  # bytes of the rest of a model file
ENTRY = 40  # bytes for every entry while features are counted and rows are cut into folds
FITTING = 28  # and for every entry of each fit that runs
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

    def __init__(self, max_size: int | None, max_memory: int | None, pieces: list[TextBuffer], base: int | None = None):
        self.max_size, self.max_memory = max_size, max_memory
        held = resident() if base is None else base
        self.base = -(-held // STEP) * STEP
        self._pieces = pieces
        self._known: dict[tuple[Any, ...], tuple[float, float]] = {}
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
        """Refuse a candidate that would take too much memory; drop what can be dropped before it begins."""
        if self.max_memory is None:
            return
        need = self.memory(plan, judge)
        if self.base + need > self.max_memory:
            size = size_text(self.base + need)
            raise LinnetError(f"it would take about {size} of memory, above {size_text(self.max_memory)}")
        if resident() + need > self.max_memory:
            judge.forget()
            gc.collect()

    def memory(self, plan: FeaturePlan, judge: Judge) -> int:
        """Return about how many bytes judging, or the last fit, takes at most on any level."""
        assert plan.features is not None  # noqa: S101 - a candidate names its features
        blocks, computed = split(plan.features)
        entries, columns = self._features(blocks, counting=plan.tf != "presence")
        rows = sum(map(len, self._pieces))
        entries += rows * sum(len(c.columns) for c in computed)
        fits = min(judge.threads, max(len(level.folds) for level in judge.levels))
        most = max(level.rows for level in judge.levels) / max(1, rows)
        n_classes = len(judge.rows.classes)
        outputs = 1 if n_classes == 2 else -(-n_classes // LANES) * LANES
        return SPARE + int(entries * (ENTRY + 8 * most + FITTING * fits) + columns * (COLUMN + WEIGHT * outputs * fits))

    def _features(self, blocks: Blocks, counting: bool) -> tuple[float, float]:
        """Return about how many entries and distinct features all texts have, from a sample of them."""
        key = (blocks, counting)
        if key not in self._known:
            total = sum(map(len, self._pieces))
            step = max(1, total // SAMPLE)
            texts = [p.text(d) for p in self._pieces for d in range(0, len(p), step)]
            found = count(text_buffers(texts), blocks, counting=counting, threads=1).rows if blocks else None
            size = sum(len(text.encode("utf-8")) for text in texts)
            ratio = max(1.0, sum(float(p.offsets[-1] - p.offsets[0]) for p in self._pieces) / max(1, size))
            entries, columns = (0, 0) if found is None else (len(found.indices), found.n_columns)
            weight = 1.5 if counting else 1.0
            self._known[key] = (entries * ratio * weight, float(columns * arithmetic.power(ratio, GROWTH)))
        return self._known[key]


KEPT = 3  # groups of candidates whose rows are kept


@dataclass
class _Group:
    """Rows that several candidates share, and the level whose folds are kept."""

    counted: Counted
    validation: CrossValidation
    seconds: float
    level: int | None = None


class Judge:
    """Called with a candidate and the number of a level; raises OutOfTimeError when the clock says so.

    Folds are fitted side by side in threads; the answers do not depend on how many.
    """

    def __init__(
        self, rows: MemoryRows, features: str, clock: Clock, limits: Limits, seed: int, threads: int | None
    ) -> None:
        """Count the default features, which tell how the levels are cut; rows are all but those of the test."""
        self.rows, self.clock, self.limits, self.seed = rows, clock, limits, seed
        self.shared = Shared(rows.buffers)
        self.threads = thread_count(threads)
        self._groups: OrderedDict[tuple[Any, ...], _Group] = OrderedDict()
        usual = Candidate(TextClassifier().model, features)
        first = self.group(usual, TextClassifier(features=features).plan().features)
        self.levels = levels_for(rows.y, len(rows.classes), rows.dev, first.counted.rows, seed)

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
        group = self.group(candidate, plan.features)
        self.clock.check()
        level = self.levels[number]
        if group.level != number:
            group.level = number
            group.validation.forget()
        weight = row_weights(candidate.class_weight, self.rows.classes, self.rows.y, None)
        fits = min(self.threads, len(level.folds))

        def one(k: int) -> tuple[Floats, float, int]:
            began = time.perf_counter()
            self.clock.check()
            scored = group.validation.fit(
                level.folds[k], plan.make({}), plan.features, candidate.ratio, sample_weight=weight,
                threads=max(1, self.threads // fits), on_epoch=self.clock.check,
            )  # fmt: skip
            return scored.scores, time.perf_counter() - began, int(scored.W.shape[1])

        found = self._each(one, len(level.folds), fits)
        S = np.concatenate([scores for scores, _, _ in found])
        columns, lookups = self._columns(group, plan.features), found[0][2]
        self.limits.check_size(columns, lookups)
        held = np.concatenate([fold.held_out for fold in level.folds])
        return {
            "answers": _answers(S, self.rows.y[held]),
            "seconds": round(sum(seconds for _, seconds, _ in found), 4), "counting": round(group.seconds, 4),
            "columns": columns, "lookups": lookups,
        }  # fmt: skip

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
        self.shared.forget()
        began = time.perf_counter()
        assert plan.features is not None  # noqa: S101 - a candidate names its features
        blocks, computed = split(plan.features)
        counted, min_df = count_features(self.part(), blocks, plan, len(self.rows.classes), self.threads)
        if computed:
            counted = with_computed(counted, computed, self.rows.buffers)
        validation = CrossValidation(
            counted.rows, blocks, self.rows.y, len(self.rows.classes), min_df=min_df, select=plan.select
        )
        self._groups[key] = _Group(counted, validation, time.perf_counter() - began)
        return self._groups[key]

    def forget(self) -> None:
        """Drop everything that can be made again."""
        self._groups.clear()
        self.shared.forget()

    def _columns(self, group: _Group, plan: FeaturePlan) -> int:
        if plan.hash_bits:
            return 1 << plan.hash_bits
        n = group.counted.rows.n_columns
        return n if plan.select is None else min(n, plan.select.k)


def _answers(S: Floats, y: Array) -> Ints:
    """Return the class of each row; of several labels, 1 for those above their threshold, which is chosen as in training."""
    if y.ndim == 2:
        return (choose_thresholds(S, y) <= S).astype(np.int64)
    return (S[:, 0] > 0).astype(np.int64) if S.shape[1] == 1 else S.argmax(axis=1)
