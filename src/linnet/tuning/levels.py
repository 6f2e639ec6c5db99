"""How much data a candidate is judged on: little at first, more for those that did well.

Few rows: a third of them to learn from and the rest held out; then two of the five folds that ``linnet train`` has, then
all five, then the folds drawn a second and a third time. Many rows: the part that ``linnet train`` chooses on; then four times as many
rows to learn from, and so on, up to all of them. A level that only adds draws keeps the answers of the level before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.data.splitting import fold_indices, split_indices
from linnet.features.counts import SparseCounts
from linnet.pipeline.crossval import MOST_DEV, Fold, choose_folds

__all__ = ["Level", "levels_for"]

Indices = npt.NDArray[np.int64]
Folds = tuple[Fold, ...]

WORTH_LESS = 1200  # rows: below this a third of them says nothing
DRAWS = 3  # how often folds are drawn
FIRST = 2  # folds that are tried before the others
TIMES = 4  # how many times more rows the next level has, where rows are many
MOST_HELD = 10_000


@dataclass(frozen=True)
class Level:
    """Training and held-out rows; adds: to the answers of the level before, whose rows come first.

    Levels of one family are folds of the same draw.
    """

    name: str
    folds: Folds
    adds: bool = False
    base: bool = False  # with the levels it adds to, the rows that ``linnet train`` would choose on
    family: int = 0

    @property
    def rows(self) -> int:
        """How many rows are learned from, over all folds."""
        return sum(len(fold.train) for fold in self.folds)


def levels_for(
    y: npt.NDArray[np.int32], n_classes: int, dev: Indices | None, rows: SparseCounts, seed: int
) -> list[Level]:
    """Return the levels, the smallest first; rows are those of the default features."""
    chosen = choose_folds(y, n_classes, dev, len(rows.indices), seed)
    if len(chosen) > 1:
        return _by_folds(y, tuple(chosen), seed)
    return _by_size(y, dev, Level(f"{len(chosen[0].train):,} rows", tuple(chosen), base=True), seed)


def _by_folds(y: npt.NDArray[np.int32], chosen: Folds, seed: int) -> list[Level]:
    folds = len(chosen)
    if len(y) >= WORTH_LESS:
        third, rest = split_indices(y, (seed, 1), (1 / 3, 2 / 3))
        levels = [
            Level("a third", (Fold(third, rest),), family=-1),
            Level(f"{FIRST} of {folds} folds", chosen[:FIRST]),
            Level(f"{folds} folds", chosen[FIRST:], adds=True, base=True),
        ]
    else:
        levels = [Level(f"{folds} folds", chosen, base=True)]
    draws = DRAWS if len(y) >= 2 * folds else 1
    every = fold_indices(y.astype(np.int64), seed, folds, repeats=draws) if draws > 1 else []
    more = ((k, tuple(Fold(*one) for one in every[k * folds : (k + 1) * folds])) for k in range(1, draws))
    return [*levels, *(Level(f"{folds} folds, draw {k + 1}", drawn, True, family=k) for k, drawn in more)]


def _by_size(y: npt.NDArray[np.int32], dev: Indices | None, base: Level, seed: int) -> list[Level]:
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
        levels.append(Level(f"{size:,} rows", (Fold(part, held),), family=len(levels)))
    return levels
