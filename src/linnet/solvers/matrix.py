"""The one form in which solvers and models take data: sparse rows, with or without a gain per feature and class.

The rows of a problem over fewer columns, with the same optimum under an L2 penalty.

Columns met in one row only have weights in proportion to their values, so each row's become one column; the others are
put in the order of how often they are met, so that the weights looked up most lie together. On word pairs this leaves a
third of the columns. See the kernel for the argument.

The set of rows behind a list of rows: order forgotten, equal rows made one, weights added up.

Stochastic solvers visit rows in an order drawn from a seed. If they number rows as the file does, the answer depends on
the order of the file, and a row of weight 2 is not the same as the row given twice. Here rows are put in the order of
a 64-bit key of their content, and equal rows with equal labels become one, so that

    the same rows in any order, repeated or weighted, give the same numbers, at any tolerance.

Two different rows of one label are taken for one with probability 2^-64 a pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels import columns, sparse


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

    indptr: npt.NDArray[np.int64]  # (n_rows * n_blocks + 1,)
    indices: npt.NDArray[np.int32]  # (n_entries,)
    values: npt.NDArray[Any]  # (n_entries,) or (0,), float32 or float64
    n_features: int
    gain: npt.NDArray[np.float32] | None = None
    scale: npt.NDArray[Any] | None = None  # (n_rows * n_blocks,)
    n_blocks: int = 1

    def __len__(self) -> int:
        return (len(self.indptr) - 1) // self.n_blocks

    def explicit(self) -> Matrix:
        """Return the same rows as plain CSR: one segment a row, a value an entry."""
        if len(self.values) == len(self.indices) and self.scale is None and self.n_blocks == 1:
            return self
        values = self.values if len(self.values) else np.ones(len(self.indices), dtype=self.values.dtype)
        if self.scale is not None:
            values = values * np.repeat(self.scale, np.diff(self.indptr)).astype(values.dtype)
        return Matrix(
            np.ascontiguousarray(self.indptr[:: self.n_blocks]), self.indices, values, self.n_features, self.gain
        )

    def take(self, rows: npt.NDArray[Any]) -> Matrix:
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

    @classmethod
    def from_dense(cls, X: npt.NDArray[Any]) -> Matrix:
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
        return cls(
            np.ascontiguousarray(csr.indptr, dtype=np.int64),
            np.ascontiguousarray(csr.indices, dtype=np.int32),
            np.ascontiguousarray(csr.data, dtype=dtype),
            csr.shape[1],
        )

    def dot(self, W: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return X W, (n_rows, n_outputs); W is (n_features, n_outputs). The gain is not applied."""
        X = self.explicit()
        out = np.empty((len(X), W.shape[1]))
        sparse.dot(X.indptr, X.indices, X.values, np.ascontiguousarray(W, X.values.dtype), 0, len(X), out)
        return out

    def transposed_dot(self, R: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return X^T R, (n_features, n_outputs)."""
        out = np.zeros((self.n_features, R.shape[1]))
        X = self.explicit()
        sparse.transposed_dot(X.indptr, X.indices, X.values, np.ascontiguousarray(R, np.float64), out)
        return out


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Compact:
    """Some rows over new columns; ``expand`` brings weights back to the old ones."""

    X: Matrix
    norms: Floats  # (n_rows,), squared
    place: npt.NDArray[np.int32]  # (n_features,): the new column of each old one; -1 where it has no entry
    factor: Floats  # (n_features,)

    def expand(self, W: Floats, dtype: Any = np.float64) -> npt.NDArray[Any]:
        """Return the weights of the old columns, (n_features, n_outputs)."""
        if not len(W):
            return np.zeros((len(self.place), W.shape[1]), dtype=dtype)
        out = W.take(self.place, axis=0, mode="wrap")
        out *= self.factor[:, None]
        return np.asarray(out, dtype=dtype)


def compact(X: Matrix, rows: npt.NDArray[np.int32]) -> Compact:
    """Return the given rows, in that order, over fewer columns.

    >>> X = Matrix.from_dense(np.array([[1.0, 0.0, 3.0, 4.0], [2.0, 0.0, 0.0, 0.0]]))
    >>> small = compact(X, np.array([0, 1], dtype=np.int32))
    >>> small.X.n_features, small.X.values.tolist()
    (2, [1.0, 5.0, 2.0])
    >>> small.expand(np.array([[7.0], [10.0]])).ravel().tolist()
    [7.0, 0.0, 6.0, 8.0]
    """
    X = X.explicit()
    counts = np.zeros(X.n_features, dtype=np.int32)
    columns.count_columns(X.indptr, X.indices, rows, counts)
    place = np.empty(X.n_features, dtype=np.int32)
    n_shared, n_entries = columns.rank_columns(counts, place)
    factor = (place >= 0).astype(np.float64)
    most = n_entries + len(rows)
    indptr, norms = np.zeros(len(rows) + 1, dtype=np.int64), np.empty(len(rows))
    indices, values = np.empty(most, dtype=np.int32), np.empty(most, dtype=X.values.dtype)
    n_columns = columns.compact_rows(
        X.indptr, X.indices, X.values, rows, place, factor, n_shared, indptr, indices, values, norms,
        np.empty(int(np.diff(X.indptr).max(initial=0)), dtype=np.int32),
        np.zeros(0), np.zeros(0),
    )  # fmt: skip
    small = Matrix(indptr, indices[: indptr[-1]], values[: indptr[-1]], n_columns)
    return Compact(small, norms, place, factor)


@dataclass(frozen=True)
class Distinct:
    """Which rows to visit, what each weighs, and for every row of the data its place among them (-1: weight zero)."""

    rows: npt.NDArray[np.int32]  # (n_distinct,)
    weight: npt.NDArray[np.float64]  # (n_distinct,), or (n_distinct, n_labels)
    place: npt.NDArray[np.int64]  # (n_rows,)


def distinct(X: Matrix, y: npt.NDArray[Any], weight: npt.NDArray[np.float64] | None = None) -> Distinct:
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


def as_given(n_rows: int, weight: npt.NDArray[np.float64] | None = None) -> Distinct:
    """Return all rows with a weight above zero in the order they came in, each for itself.

    >>> as_given(3, np.array([1.0, 0.0, 2.0])).rows.tolist()
    [0, 2]
    """
    rows = np.arange(n_rows, dtype=np.int32) if weight is None else np.flatnonzero(weight > 0.0).astype(np.int32)
    place = np.full(n_rows, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    return Distinct(rows, np.ones(len(rows)) if weight is None else weight[rows], place)
