"""The set of rows behind a list of rows: order forgotten, equal rows made one, weights added up.

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

from linnet._kernels import sparse
from linnet.solvers.matrix import Matrix

__all__ = ["Distinct", "as_given", "distinct"]


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
