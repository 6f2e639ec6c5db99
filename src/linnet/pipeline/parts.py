"""Which rows are for training, for choosing settings (dev) and for the test.

Where rows can be numbered in memory the parts are those that ``Dataset.split`` gives: stratified, by the seed. Beyond
that every row is drawn for itself, from the same random bits in every pass, and a bounded number of rows is held out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.data.splitting import split_indices
from linnet.errors import LinnetError
from linnet.pipeline.crossval import FEW_ROWS

__all__ = ["DEV", "TEST", "TRAIN", "Parts", "held_out"]

TRAIN, DEV, TEST = 0, 1, 2
MOST_DEV, MOST_TEST = 100_000, 200_000

Codes = npt.NDArray[np.int32]


def held_out(n: int, *, dev: bool, test: bool, watch: bool, name: str = "the data") -> dict[int, float]:
    """Return the share of each part of n rows, as ``linnet train`` takes them; dev and test say which files are given.

    >>> held_out(100_000, dev=False, test=False, watch=False)
    {0: 0.8, 1: 0.1, 2: 0.1}
    >>> held_out(5_000, dev=False, test=False, watch=False)
    {0: 0.9, 2: 0.1}
    """
    held = watch and not dev
    if test:
        return {TRAIN: 0.9, DEV: 0.1} if held else {TRAIN: 1.0}
    if n < 10:
        raise LinnetError(
            f"{name}: {n} usable rows are too few to hold some out for a test; give --test FILE or more rows"
        )
    if dev or (n < FEW_ROWS and not held):
        return {TRAIN: 0.9, TEST: 0.1}
    return {TRAIN: 0.8, DEV: 0.1, TEST: 0.1}


@dataclass
class Parts:
    """The part of every row, in the order of the rows; ``rewind`` before each pass, ``next`` for each batch.

    >>> parts = Parts.drawn(1_000_000, {0: 0.8, 1: 0.1, 2: 0.1}, seed=0)
    >>> parts.rewind()
    >>> parts.next(np.zeros(4, np.int32)).tolist()
    [0, 0, 0, 0]
    """

    whole: npt.NDArray[np.uint8] | None = None
    edges: tuple[float, float] = (1.0, 1.0)  # below the first a row is for training, below the second for dev
    seed: int = 0

    def __post_init__(self) -> None:
        self.rewind()

    @classmethod
    def exact(cls, codes: Codes, shares: dict[int, float], seed: int) -> Parts:
        """Take the parts of a data set whose labels, numbered in the order of their names, are these."""
        whole = np.zeros(len(codes), dtype=np.uint8)
        if len(shares) > 1:
            for part, rows in zip(
                shares, split_indices(codes.astype(np.int64), seed, tuple(shares.values())), strict=True
            ):
                whole[rows] = part
        return cls(whole)

    @classmethod
    def drawn(cls, n: int, shares: dict[int, float], seed: int) -> Parts:
        """Draw every row for itself; dev and test have a bounded number of rows."""
        dev = min(shares.get(DEV, 0.0), MOST_DEV / n)
        test = min(shares.get(TEST, 0.0), MOST_TEST / n)
        return cls(None, (1.0 - dev - test, 1.0 - test), seed)

    def rewind(self) -> None:
        """Begin again with the first row."""
        self._at = 0
        self._bits = np.random.PCG64(self.seed)
        self._met: set[int] = set()

    def next(self, codes: Codes) -> npt.NDArray[np.uint8]:
        """Return the parts of the next rows, whose classes these are; the first row of a class is for training."""
        n = len(codes)
        if self.whole is not None:
            self._at += n
            return self.whole[self._at - n : self._at]
        u = (self._bits.random_raw(n) >> np.uint64(11)) * 2.0**-53
        out = (u >= self.edges[0]).astype(np.uint8) + (u >= self.edges[1]).astype(np.uint8)
        classes, first = np.unique(codes, return_index=True)
        for c, at in zip(classes.tolist(), first.tolist(), strict=True):
            if c not in self._met:
                self._met.add(c)
                out[at] = TRAIN
        return out
