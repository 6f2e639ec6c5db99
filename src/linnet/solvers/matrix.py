"""The one form in which solvers and models take data: sparse rows, with or without a gain per feature and class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels import sparse

__all__ = ["Matrix"]


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
        """Keep the non-zero entries of a dense array."""
        rows, columns = np.nonzero(X)
        indptr = np.zeros(len(X) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=len(X)), out=indptr[1:])
        return cls(
            indptr, columns.astype(np.int32), np.ascontiguousarray(X[rows, columns], dtype=np.float64), X.shape[1]
        )

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
