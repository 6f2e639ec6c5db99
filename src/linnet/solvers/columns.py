"""The rows of a problem over fewer columns, with the same optimum under an L2 penalty.

Columns met in one row only have weights in proportion to their values, so each row's become one column; the others are
put in the order of how often they are met, so that the weights looked up most lie together. On word pairs this leaves a
third of the columns. See the kernel for the argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels import columns
from linnet.solvers.matrix import Matrix

__all__ = ["Compact", "compact"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Compact:
    """Some rows over new columns; ``expand`` brings weights back to the old ones."""

    X: Matrix
    norms: Floats  # (n_rows,), squared
    place: npt.NDArray[np.int32]  # (n_features,): the new column of each old one; -1 where it has no entry
    factor: Floats  # (n_features,)
    sums: Floats  # (n_columns,): sum_i coefficient_i x_i, or nothing

    def expand(self, W: Floats, dtype: Any = np.float64) -> npt.NDArray[Any]:
        """Return the weights of the old columns, (n_features, n_outputs)."""
        if not len(W):
            return np.zeros((len(self.place), W.shape[1]), dtype=dtype)
        out = W.take(self.place, axis=0, mode="wrap")
        out *= self.factor[:, None]
        return np.asarray(out, dtype=dtype)


def compact(X: Matrix, rows: npt.NDArray[np.int32], coefficient: Floats | None = None) -> Compact:
    """Return the given rows, in that order, over fewer columns; coefficient, one a row, asks for a sum of them.

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
    sums = np.zeros(0 if coefficient is None else n_shared + len(rows))
    n_columns = columns.compact_rows(
        X.indptr, X.indices, X.values, rows, place, factor, n_shared, indptr, indices, values, norms,
        np.empty(int(np.diff(X.indptr).max(initial=0)), dtype=np.int32),
        np.zeros(0) if coefficient is None else coefficient, sums,
    )  # fmt: skip
    small = Matrix(indptr, indices[: indptr[-1]], values[: indptr[-1]], n_columns)
    return Compact(small, norms, place, factor, sums[:n_columns])
