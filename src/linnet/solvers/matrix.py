"""The one form in which solvers and models take data: sparse rows, with or without a gain per feature and class.

A TrainingSet is what a model is fitted to: such rows, their classes and weights, threads, and who hears of each epoch.
RowBlocks are such rows in blocks on disk.

Compact rows: the rows of a problem over fewer columns, with the same optimum under an L2 penalty.

Columns met in one row only have weights in proportion to their values, so each row's become one column; the others are
put in the order of how often they are met, so that the weights looked up most lie together. On word pairs this leaves a
third of the columns. See the kernel for the argument.

Distinct rows: the set of rows behind a list of rows, order forgotten, equal rows made one, weights added up.

Stochastic solvers visit rows in an order drawn from a seed. If they number rows as the file does, the answer depends on
the order of the file, and a row of weight 2 is not the same as the row given twice. Here rows are put in the order of
a 64-bit key of their content, and equal rows with equal labels become one, so that

    the same rows in any order, repeated or weighted, give the same numbers, at any tolerance.

Two different rows of one label are taken for one with probability 2^-64 a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import iadd
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from linnet import arithmetic
from linnet._kernels import columns, sparse
from linnet.array_types import Array, Floats, Floats32, Ints, Ints32
from linnet.solvers.callbacks import OnEpoch, ignore


@dataclass(frozen=True)
class Matrix:
    """CSR rows without scipy: row i holds values[indptr[i]:indptr[i + 1]] at the columns indices[...].

    Present features need no values: with ``values`` empty every entry is 1, times the scale of its segment where there
    is one (a row is n_blocks segments, and indptr then counts segments). ``explicit`` writes the values out.

    gain, (n_outputs, n_features), is the supervised weight of each feature for each class: the model sees
    x_ij * gain_cj. It stays outside the values, so that every class can have its own.

    >>> Matrix.from_dense(np.array([[0.0, 2.0], [1.0, 0.0]])).dot(np.array([[1.0], [10.0]])).ravel().tolist()
    [20.0, 1.0]
    """

    indptr: Ints  # (n_rows * n_blocks + 1,)
    indices: Ints32  # (n_entries,)
    values: Array  # (n_entries,) or (0,), float32 or float64
    n_features: int
    gain: Floats32 | None = None
    scale: Array | None = None  # (n_rows * n_blocks,)
    n_blocks: int = 1

    def __len__(self) -> int:
        return (len(self.indptr) - 1) // self.n_blocks

    def explicit(self) -> Matrix:
        """Return the same rows as plain CSR: one segment a row, a value an entry."""
        if len(self.values) == len(self.indices) and self.scale is None and self.n_blocks == 1:
            return self
        scale = np.ones(1) if self.scale is None else self.scale
        each = np.diff(self.indptr) if self.scale is not None else len(self.indices)
        values = np.repeat(scale.astype(self.values.dtype), each)
        if len(self.values):
            values *= self.values
        indptr = np.ascontiguousarray(self.indptr[:: self.n_blocks])
        return Matrix(indptr, self.indices, values, self.n_features, self.gain)

    def take(self, rows: Array) -> Matrix:
        """Return some rows, in the given order, as plain CSR.

        >>> Matrix.from_dense(np.array([[0.0, 2.0], [1.0, 0.0]])).take(np.array([1])).values.tolist()
        [1.0]
        """
        X = self.explicit()
        begin, end = X.indptr[rows], X.indptr[rows + 1]
        indptr = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(end - begin, out=indptr[1:])
        entries = np.repeat(begin - indptr[:-1], end - begin) + np.arange(indptr[-1])
        return Matrix(indptr, X.indices[entries], X.values[entries], self.n_features, self.gain)

    def dense(self) -> Floats:
        """Write the rows out, (n_rows, n_features).

        >>> Matrix.from_dense(np.array([[0.0, 2.0], [1.0, 0.0]])).dense().tolist()
        [[0.0, 2.0], [1.0, 0.0]]
        """
        X, out = self.explicit(), np.zeros((len(self), self.n_features))
        np.add.at(out, (np.repeat(np.arange(len(X)), np.diff(X.indptr)), X.indices), X.values)
        return out

    @classmethod
    def from_dense(cls, X: Array) -> Matrix:
        """Keep the non-zero entries of a dense array: float32 stays, everything else becomes float64."""
        kind = np.float32 if X.dtype == np.float32 else np.float64
        rows, columns = np.nonzero(X)
        indptr = np.zeros(len(X) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=len(X)), out=indptr[1:])
        return cls(indptr, columns.astype(np.int32), X[rows, columns].astype(kind), X.shape[1])

    @classmethod
    def from_scipy(cls, X: Any) -> Matrix:
        """Take a scipy sparse matrix or array of any format."""
        csr = X.tocsr()
        dtype = np.float32 if csr.dtype == np.float32 else np.float64
        indptr = np.ascontiguousarray(csr.indptr, dtype=np.int64)
        indices = np.ascontiguousarray(csr.indices, dtype=np.int32)
        return cls(indptr, indices, np.ascontiguousarray(csr.data, dtype=dtype), csr.shape[1])

    def dot(self, W: Array) -> Floats:
        """Return X W, (n_rows, n_outputs); W is (n_features, n_outputs). The gain is not applied."""
        X = self.explicit()
        out = np.empty((len(X), W.shape[1]))
        sparse.dot(X.indptr, X.indices, X.values, np.ascontiguousarray(W), 0, len(X), out)
        return out

    def squared_norms(self) -> Floats:
        """Return the squared length of each row, (n_rows,)."""
        X = self.explicit()
        return replace(X, values=np.square(X.values)).dot(np.ones((X.n_features, 1)))[:, 0]

    def transposed_dot(self, R: Floats) -> Floats:
        """Return X^T R, (n_features, n_outputs)."""
        out = np.zeros((self.n_features, R.shape[1]))
        X = self.explicit()
        sparse.transposed_dot(X.indptr, X.indices, X.values, np.ascontiguousarray(R, np.float64), out)
        return out


@dataclass(frozen=True)
class Compact:
    """Some rows over new columns; ``expand`` brings weights back to the old ones."""

    X: Matrix
    norms: Floats  # (n_rows,), squared
    place: Ints32  # (n_features,): the new column of each old one; -1 where it has no entry
    factor: Floats  # (n_features,)

    def expand(self, W: Floats, dtype: Any = np.float64) -> Array:
        """Return the weights of the old columns, (n_features, n_outputs)."""
        if not len(W):
            return np.zeros((len(self.place), W.shape[1]), dtype=dtype)
        out = W.astype(dtype, copy=False).take(self.place, axis=0, mode="wrap")
        out *= self.factor[:, None]
        return out


def compact(X: Matrix, rows: Ints32) -> Compact:
    """Return the given rows, in that order, over fewer columns.

    >>> X = Matrix.from_dense(np.array([[1.0, 0.0, 3.0, 4.0], [2.0, 0.0, 0.0, 0.0]]))
    >>> small = compact(X, np.array([0, 1], dtype=np.int32))
    >>> small.X.n_features, small.X.values.tolist()
    (2, [1.0, 5.0, 2.0])
    >>> small.expand(np.array([[7.0], [10.0]])).ravel().tolist()
    [7.0, 0.0, 6.0, 8.0]
    """
    X = X.explicit()
    place, n_shared, n_entries = _ranked(X, rows)
    factor = (place >= 0).astype(np.float64)
    most = n_entries + len(rows)
    indptr, norms = np.zeros(len(rows) + 1, dtype=np.int64), np.empty(len(rows))
    indices, values = np.empty(most, dtype=np.int32), np.empty(most, dtype=X.values.dtype)
    n_columns = columns.compact_rows(
        X.indptr, X.indices, X.values, rows, place, factor, n_shared, indptr, indices, values, norms,
        np.empty(int(np.diff(X.indptr).max(initial=0)), dtype=np.int32),
    )  # fmt: skip
    small = Matrix(indptr, indices[: indptr[-1]], values[: indptr[-1]], n_columns)
    return Compact(small, norms, place, factor)


def _ranked(X: Matrix, rows: Ints32) -> tuple[Ints32, int, int]:
    """Return the new columns of those with several entries in some rows (segments), -1 for the rest, how many, and their entries."""
    counts, place = np.zeros(X.n_features, dtype=np.int32), np.empty(X.n_features, dtype=np.int32)
    columns.count_columns(X.indptr, X.indices, rows, counts)
    return place, *columns.rank_columns(counts, place)


def compact_gain(X: Matrix) -> Compact:
    """Return all rows of a matrix with one gain a feature over fewer columns; ``expand`` takes folded weights, u = g w.

    >>> X = Matrix.from_dense(np.array([[1.0, 2.0, 2.0], [1.0, 0.0, 0.0]], np.float32))
    >>> small = compact_gain(replace(X, gain=np.array([[1.0, 3.0, 4.0]], np.float32)))
    >>> small.X.values.tolist(), small.X.gain.tolist()
    ([1.0, 1.0, 1.0], [[1.0, 10.0]])
    >>> small.expand(np.array([[7.0], [100.0]])).ravel().tolist()
    [7.0, 18.0, 32.0]
    """
    assert X.gain is not None  # noqa: S101 - what this is for
    n, old = len(X.indptr) - 1, X.gain[0]
    place, n_shared, n_entries = _ranked(X, np.arange(n, dtype=np.int32))
    shared, gain = np.flatnonzero(place >= 0), np.empty(n_shared + n, np.float32)
    gain[place[shared]] = old[shared]
    factor, indptr, most = (place >= 0).astype(np.float64), np.empty(n + 1, np.int64), n_entries + n
    indices, values = np.empty(most, np.int32), np.empty(most if len(X.values) else 0, np.float32)
    scratch = np.empty(int(np.diff(X.indptr).max(initial=0)), dtype=np.int32)
    n_columns = columns.compact_gains(
        X.indptr, X.indices, X.values, old, place, factor, n_shared, indptr, indices, values, gain, scratch
    )
    last, gains = int(indptr[-1]), gain[None, :n_columns]
    small = replace(X, indptr=indptr, indices=indices[:last], values=values[:last], n_features=n_columns, gain=gains)
    return Compact(small, np.zeros(0), place, factor)


@dataclass(frozen=True)
class Distinct:
    """Which rows to visit, what each weighs, and for every row of the data its place among them (-1: weight zero)."""

    rows: Ints32  # (n_distinct,)
    weight: Floats  # (n_distinct,), or (n_distinct, n_labels)
    place: Ints  # (n_rows,)


def distinct(X: Matrix, y: Array, weight: Floats | None = None) -> Distinct:
    """Find the distinct (row, label) pairs among rows with a weight above zero.

    y may be an indicator matrix, and weight may have a column for each label.

    >>> X = Matrix.from_dense(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]]))
    >>> d = distinct(X, np.array([0, 1, 0], dtype=np.int32))
    >>> sorted(zip(d.rows.tolist(), d.weight.tolist()))
    [(0, 2.0), (1, 1.0)]
    """
    if y.ndim == 2:
        y = np.unique(np.packbits(y, axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)
    keys = np.empty(len(X), dtype=np.uint64)
    scale = np.zeros(0, dtype=X.values.dtype) if X.scale is None else X.scale
    sparse.row_keys(X.indptr, X.n_blocks, X.indices, X.values, scale, 0, len(X), keys)
    keys *= np.uint64(0x9E3779B97F4A7C15)
    keys += y.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    per_label = weight is not None and weight.ndim == 2
    some = weight if weight is None or not per_label else weight.max(axis=1)
    kept = np.arange(len(X)) if some is None else np.flatnonzero(some > 0.0)
    order = kept[np.argsort(keys[kept], kind="stable")]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (keys[order[1:]] != keys[order[:-1]]) | (y[order[1:]] != y[order[:-1]])
    place = np.full(len(X), -1, dtype=np.int64)
    place[order] = np.cumsum(fresh) - 1
    first = np.flatnonzero(fresh)
    ones = np.ones(len(order)) if weight is None else weight[order]
    columns = [np.bincount(place[order], column).astype(np.float64, copy=False) for column in np.atleast_2d(ones.T)]
    total = np.stack(columns, axis=1) if per_label else columns[0]
    return Distinct(order[first].astype(np.int32), total, place)


def as_given(n_rows: int, weight: Floats | None = None) -> Distinct:
    """Return all rows with a weight above zero in the order they came in, each for itself.

    >>> as_given(3, np.array([1.0, 0.0, 2.0])).rows.tolist()
    [0, 2]
    """
    rows = np.arange(n_rows, dtype=np.int32) if weight is None else np.flatnonzero(weight > 0.0).astype(np.int32)
    place = np.full(n_rows, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    return Distinct(rows, np.ones(len(rows)) if weight is None else weight[rows], place)


# ---- what a model is fitted to

LEAST = 1e-9  # of the weight of a row: what a class weighs that it does not have


@dataclass(frozen=True)
class TrainingSet:
    """Rows of numbers, the class of each, and its weight (None: 1 each).

    Where rows may have several labels y is an indicator matrix, (n_rows, n_classes), and every class has an output;
    weights may then differ from class to class, (n_rows, n_classes).

    Soft labels: with one class a row and weights for every class, (n_rows, n_classes), a row stands for as many rows as
    it has weights above 0, one of each class; y is the class of the largest.
    """

    X: Matrix
    y: Array
    n_classes: int
    weight: Floats | None = None
    threads: int = 1
    on_epoch: OnEpoch = ignore

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_outputs(self) -> int:
        """One score for two classes, else one a class."""
        return 1 if self.n_classes == 2 and not self.multilabel else self.n_classes

    @property
    def multilabel(self) -> bool:
        """Whether rows may have several labels."""
        return self.y.ndim == 2

    @property
    def soft(self) -> bool:
        """Whether rows have a weight for every class, of which y is one."""
        return not self.multilabel and self.weight is not None and self.weight.ndim == 2

    def as_class(self, c: int) -> TrainingSet:
        """Return the rows as they are of one class, with the weights that they have as such."""
        weight = np.ascontiguousarray(self.weights[:, c])
        return replace(self, y=np.full(len(self.y), c, dtype=np.int32), weight=weight)

    def repeated(self) -> TrainingSet:
        """Return soft rows with one label each: a copy of the row for each class that it has a weight for."""
        rows, classes = np.nonzero(self.weights)
        return replace(self, X=self.X.take(rows), y=classes.astype(np.int32), weight=self.weights[rows, classes])

    def doubled(self) -> TrainingSet:
        """Return soft rows for models that take each class against the rest: once with the class, once without.

        Two copies do for any number of classes: their weights differ from class to class.
        """
        n, total = len(self.y), arithmetic.total(self.weights, axis=1)[:, None]
        with_class = self.weights[:, 1:] if self.n_classes == 2 else self.weights
        weight = np.maximum(np.concatenate([with_class, total - with_class]), LEAST * np.tile(total, (2, 1)))
        first = np.repeat([True, False], n)
        X = self.X.take(np.tile(np.arange(n), 2))
        if self.n_classes == 2:
            return replace(self, X=X, y=first.astype(np.int32), weight=np.ascontiguousarray(weight[:, 0]))
        return replace(self, X=X, y=np.repeat(first[:, None], self.n_classes, axis=1), weight=weight)

    def one_label(self, c: int) -> TrainingSet:
        """Return the rows as a problem of two classes: with label c, and without."""
        gain = None if self.X.gain is None else self.X.gain[c : c + 1]
        weight = self.weight
        if weight is not None and weight.ndim == 2:
            weight = np.ascontiguousarray(weight[:, c])
        return replace(self, X=replace(self.X, gain=gain), y=self.y[:, c].astype(np.int32), n_classes=2, weight=weight)

    @property
    def weights(self) -> Floats:
        """The weight of each row, written out."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    def distinct(self, shuffle: bool = True) -> Distinct:
        """Return the distinct rows, in an order that their content decides; without shuffle, all rows as given."""
        return distinct(self.X, self.y, self.weight) if shuffle else as_given(len(self.X), self.weight)


TOGETHER = 4  # blocks in memory at a time
BlockNumbers: TypeAlias = tuple[int, ...]
"""The blocks that are read together."""
GroupRows = Iterator[tuple[BlockNumbers, TrainingSet]]


@dataclass
class RowBlocks:
    """Weighted rows in blocks on disk, of which a few are in memory at a time.

    read yields the numbers and the rows of groups of blocks; sizes are the rows of each block. What a solver keeps of each
    row lies in the folder, in a file a block. total_weight is what all rows weigh, soft whether rows have a weight
    for every class, twice whether such rows come twice: see :class:`TrainingSet`.
    """

    read: Callable[[list[BlockNumbers]], GroupRows]
    sizes: dict[int, int]
    folder: Path
    n_features: int
    n_classes: int
    n_outputs: int
    total_weight: float
    gain: Floats32 | None  # (n_outputs or 1, n_features)
    multilabel: bool
    soft: bool
    threads: int
    on_epoch: OnEpoch
    twice: bool = False

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return (1 + self.twice) * sum(self.sizes.values())

    def doubled(self) -> RowBlocks:
        """Return soft rows twice each, for models that take each class against the rest: see ``TrainingSet.doubled``."""
        total = self.n_outputs * self.total_weight
        return replace(self, twice=True, soft=False, multilabel=self.n_outputs > 1, total_weight=total)

    def visit(self, rng: np.random.Generator | None = None) -> GroupRows:
        """Yield the numbers and the rows of a few blocks at a time, in their order or in a random one.

        Which blocks come together changes with the order: rows that are never in the same group converge slowly.
        """
        wanted = list(self.sizes)
        if rng is not None:
            wanted = [wanted[k] for k in rng.permutation(len(wanted)).tolist()]
        for group, rows in self.read([tuple(wanted[k : k + TOGETHER]) for k in range(0, len(wanted), TOGETHER)]):
            yield group, rows.doubled() if self.twice else rows

    def add_up(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of function(rows, *args) over all blocks."""
        return reduce(iadd, (function(rows, *args) for _, rows in self.visit()))  # in place: as large as the model

    def _path(self, number: int) -> Path:
        return self.folder / f"state-{number:04d}"

    def state(self, group: BlockNumbers, shape: tuple[int, ...]) -> Floats | None:
        """Return what was kept for the rows of some blocks, shape + (n_rows,); None where nothing was."""
        if not self._path(group[0]).exists():
            return None
        each = [np.fromfile(self._path(k)).reshape(*shape, 1 + self.twice, -1) for k in group]
        return np.concatenate(each, axis=-1).reshape(*shape, -1)

    def keep_state(self, group: BlockNumbers, state: Floats) -> None:
        """Keep numbers for each row, (..., n_rows)."""
        ends = np.cumsum([self.sizes[k] for k in group])[:-1]
        state = state.reshape(*state.shape[:-1], 1 + self.twice, -1)
        for k, part in zip(group, np.split(state, ends, axis=-1), strict=True):
            part.tofile(self._path(k))
