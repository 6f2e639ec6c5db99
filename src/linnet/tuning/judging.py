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

from linnet.choosing import fit_weighted, fold_parts, scores_of
from linnet.features.blocks import Blocks
from linnet.features.buffers import TextBuffer
from linnet.features.computed import split
from linnet.features.counting import Counted, thread_count
from linnet.features.counts import SparseCounts
from linnet.features.recipe import Recipe, Weights
from linnet.features.sharing import Shared
from linnet.training import class_weighted, count_for, with_computed
from linnet.tuning.candidate import Candidate
from linnet.tuning.clock import Clock
from linnet.tuning.levels import Level
from linnet.tuning.limits import Limits

__all__ = ["Judge", "Judged", "Material"]

Indices = npt.NDArray[np.int64]
Parts = tuple[SparseCounts, SparseCounts, Indices, Indices]
KEPT = 3  # groups of candidates whose rows are kept


@dataclass(frozen=True)
class Material:
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
class Judged:
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
    """Rows that several candidates share, and what was cut from them for the folds of one level."""

    counted: Counted
    blocks: Blocks
    min_df: int
    seconds: float
    family: int | None = None
    parts: dict[tuple[int, int], Parts] = field(default_factory=dict)
    weights: dict[tuple[int, int, float, bool], Weights] = field(default_factory=dict)

    def at(self, family: int) -> None:
        """Keep only what belongs to a family of levels."""
        if family != self.family:
            self.family, self.parts, self.weights = family, {}, {}


class Judge:
    """Called with a candidate and the number of a level; raises OutOfTimeError when the clock says so.

    Folds are fitted side by side in threads; the answers do not depend on how many.
    """

    def __init__(
        self, material: Material, levels: list[Level], clock: Clock, limits: Limits, seed: int, threads: int | None
    ) -> None:
        self.material, self.levels, self.clock, self.limits, self.seed = material, levels, clock, limits, seed
        self.threads = thread_count(threads)
        self._groups: OrderedDict[tuple[Any, ...], _Group] = OrderedDict()
        self._rows = np.arange(len(material.y))

    def __call__(self, candidate: Candidate, number: int) -> Judged:
        """Fit on every fold of a level and put the answers behind one another."""
        cls, recipe, fixed = candidate.make(self.seed, self.threads).recipe()
        self.limits.check_memory(candidate, recipe, self)
        group = self.group(candidate, recipe)
        self.clock.check()
        level = self.levels[number]
        group.at(level.family)
        weight = class_weighted(None, self.material.y, self.material.classes, candidate.class_weight)
        seeded = {"random_state": self.seed} if "random_state" in cls().get_params() else {}
        fits = min(self.threads, len(level.folds))

        def one(k: int) -> tuple[npt.NDArray[np.float64], float, int]:
            return self._fold(
                group, recipe, (number, k), level.folds[k], lambda: cls(**{**seeded, **fixed}), candidate.ratio, weight,
                max(1, self.threads // fits),
            )  # fmt: skip

        found = self._each(one, len(level.folds), fits)
        S = np.concatenate([scores for scores, _, _ in found])
        return Judged(
            np.concatenate([held for _, held in level.folds]),
            (S[:, 0] > 0).astype(np.int64) if S.shape[1] == 1 else S.argmax(axis=1),
            sum(seconds for _, seconds, _ in found),
            self._columns(group, recipe),
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

    def _fold(
        self, group: _Group, recipe: Recipe, k: tuple[int, int], fold: tuple[Indices, Indices], make: Callable[[], Any],
        ratio: float, weight: npt.NDArray[np.float64] | None, threads: int,
    ) -> tuple[npt.NDArray[np.float64], float, int]:  # fmt: skip
        began = time.perf_counter()
        self.clock.check()
        y, n_classes = self.material.y, self.material.n_classes
        if k not in group.parts:
            group.parts[k] = fold_parts(group.counted.rows, recipe, *fold, y, n_classes, group.min_df)
        train_rows, held, train, _ = group.parts[k]
        weights = group.weights.get((*k, ratio, recipe.idf))
        if weights is None:
            weights = group.weights[*k, ratio, recipe.idf] = recipe.weights(train_rows, y[train], n_classes, ratio)
        W, b = fit_weighted(
            make(), train_rows, weights, recipe, group.blocks, y[train], n_classes,
            sample_weight=None if weight is None else weight[train], threads=threads, on_epoch=self.clock.check,
        )  # fmt: skip
        S = scores_of(held, weights, recipe, group.blocks, W, b)
        return S, time.perf_counter() - began, int(W.shape[1])

    def group(self, candidate: Candidate, recipe: Recipe) -> _Group:
        """Return the counted rows of a candidate, made when first asked for; the last few are kept."""
        counting = recipe.tf != "presence"
        key = (candidate.features, counting, candidate.min_df, recipe.max_features, candidate.select)
        if key in self._groups:
            self._groups.move_to_end(key)
            return self._groups[key]
        while len(self._groups) >= KEPT:
            self._groups.popitem(last=False)
        self.shared().forget()
        began = time.perf_counter()
        assert recipe.features is not None  # noqa: S101 - a candidate names its features
        blocks, computed = split(recipe.features)
        part = self.shared().part(self._rows)
        counted, min_df = count_for(part, blocks, recipe, self.material.n_classes, self.threads)
        if computed:
            counted = with_computed(counted, computed, self.material.pieces)
        self._groups[key] = _Group(counted, blocks, min_df, time.perf_counter() - began)
        return self._groups[key]

    def shared(self) -> Shared:
        """Return the texts and what was counted of them."""
        return self.material.shared

    def forget(self) -> None:
        """Drop everything that can be made again."""
        self._groups.clear()
        self.shared().forget()

    def _columns(self, group: _Group, recipe: Recipe) -> int:
        if recipe.hash_bits:
            return 1 << recipe.hash_bits
        n = group.counted.rows.n_columns
        return n if recipe.select is None else min(n, recipe.select.k)
