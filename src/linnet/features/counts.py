"""Counted documents: a sparse matrix of features, in a form that needs no scipy.

One row a document, one segment a block of that document: segment s = document * n_blocks + block spans
``indices[indptr[s]:indptr[s + 1]]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from linnet._kernels import sparse
from linnet._kernels import text as kernels
from linnet.errors import require

Real = TypeVar("Real", np.float32, np.float64)

TF = {"presence": 0, "count": 1, "sublinear": 2}
Norm: TypeAlias = Literal["l2", "mean"] | None
NORM: dict[str | None, int] = {None: 0, "l2": 1, "mean": 2}
"""What becomes of the segment of a block: left as it is, divided by its length, or by its sum."""


@dataclass(frozen=True)
class SparseCounts:
    """Columns of each document in the order of the text; counts is empty where only presence was asked for.

    computed holds the values of columns that Python computed, beside the n_columns that were counted.
    """

    indptr: npt.NDArray[np.int64]  # (n_documents * n_blocks + 1,)
    indices: npt.NDArray[np.int32]  # (n_entries,)
    counts: npt.NDArray[np.int32]  # (n_entries,) or (0,)
    n_blocks: int
    n_columns: int
    computed: npt.NDArray[np.float32] | None = None  # (n_documents, n_computed)

    def __len__(self) -> int:
        return (len(self.indptr) - 1) // self.n_blocks

    @property
    def row_ptr(self) -> npt.NDArray[np.int64]:
        """Where each document begins, as in an ordinary CSR matrix."""
        return np.ascontiguousarray(self.indptr[:: self.n_blocks])

    def take(self, rows: npt.NDArray[np.int64]) -> SparseCounts:
        """Return the given documents, in the given order."""
        return self._take(rows, np.zeros(0, np.int32), np.zeros(0, np.int32))[0]

    def take_seen(self, rows: npt.NDArray[np.int64]) -> tuple[SparseCounts, npt.NDArray[np.int32]]:
        """Return the given documents with columns numbered afresh in the order of first sight, and those columns."""
        numbers, columns = np.full(self.n_columns, -1, np.int32), np.empty(self.n_columns, np.int32)
        taken, n = self._take(rows, numbers, columns)
        return replace(taken, n_columns=n), columns[:n]

    def _take(
        self, rows: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32], columns: npt.NDArray[np.int32]
    ) -> tuple[SparseCounts, int]:
        segments = (rows[:, None] * self.n_blocks + np.arange(self.n_blocks)).ravel()
        begin, end = self.indptr[segments], self.indptr[segments + 1]
        indptr = np.zeros(len(segments) + 1, dtype=np.int64)
        np.cumsum(end - begin, out=indptr[1:])
        indices = np.empty(indptr[-1], np.int32)
        counts = np.empty(indptr[-1] if len(self.counts) else 0, np.int32)
        n = kernels.take_segments(self.indices, self.counts, begin, indptr, numbers, columns, indices, counts)
        computed = None if self.computed is None else self.computed[rows]
        return replace(self, indptr=indptr, indices=indices, counts=counts, computed=computed), n

    def slice(self, first: int, last: int) -> SparseCounts:
        """Return documents first..last-1 as views."""
        indptr = self.indptr[first * self.n_blocks : last * self.n_blocks + 1]
        a, b = int(indptr[0]), int(indptr[-1])
        counts = self.counts[a:b] if len(self.counts) else self.counts
        computed = None if self.computed is None else self.computed[first:last]
        return replace(self, indptr=indptr - a, indices=self.indices[a:b], counts=counts, computed=computed)

    def document_frequency(self) -> npt.NDArray[np.int32]:
        """Return in how many documents each column occurs."""
        df = np.zeros(self.n_columns, dtype=np.int32)
        kernels.document_frequency(self.indices, df)
        return df

    def values(self, tf: str, weight: npt.NDArray[Real], *, norm: Norm, multiply: bool) -> npt.NDArray[Real]:
        """Return the value of each entry, in the precision of weight: tf over the norm of its segment.

        See the kernel scale_segments.
        """
        out = np.empty(len(self.indices), dtype=weight.dtype)
        sparse.scale_segments(self.indptr, self.indices, self.counts, TF[tf], weight, NORM[norm], multiply, out)
        return out

    def segment_scale(self, weight: npt.NDArray[np.float32], norm: Norm = "l2") -> npt.NDArray[np.float32]:
        """Return one over the norm of each segment of present features."""
        out = np.empty(len(self.indptr) - 1, dtype=np.float32)
        sparse.segment_scale(self.indptr, self.indices, weight, NORM[norm], out)
        return out

    def with_computed(
        self, values: npt.NDArray[np.float32], scale: npt.NDArray[np.float32] | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return CSR rows (indptr, indices, values) with the computed columns, times scale, behind the counted ones."""
        extra = np.zeros((len(self), 0), np.float32) if self.computed is None else self.computed
        if scale is not None:
            extra = extra * scale
        present = extra != 0
        row_ptr = self.row_ptr
        indptr = row_ptr + np.concatenate([np.zeros(1, np.int64), np.cumsum(present.sum(axis=1))])
        indices, out = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
        counted = np.arange(row_ptr[-1]) + np.repeat(indptr[:-1] - row_ptr[:-1], np.diff(row_ptr))
        indices[counted], out[counted] = self.indices, values
        mine = np.ones(len(indices), dtype=bool)
        mine[counted] = False
        indices[mine] = self.n_columns + np.nonzero(present)[1]
        out[mine] = extra[present]
        return indptr, indices, out

    def class_counts(
        self, y: npt.NDArray[Any], n_classes: int, weight: npt.NDArray[np.float64] | None = None
    ) -> npt.NDArray[Any]:
        """Return how many documents of each class hold each column, (n_columns, n_classes), or what they weigh together.

        y may be an indicator matrix: documents then count for each of their classes.
        """
        if y.ndim == 2:
            rows, y = np.nonzero(y)
            more = None if weight is None else weight[rows]
            return self.take(rows).class_counts(y.astype(np.int32), n_classes, more)
        if weight is not None:
            sums = np.zeros((self.n_columns, n_classes))
            sparse.class_sums(self.row_ptr, self.indices, np.zeros(0), y, weight, sums)
            return sums
        out = np.zeros((self.n_columns, n_classes), dtype=np.int32)
        kernels.class_frequency(self.row_ptr, self.indices, y, out)
        return out

    def keep(self, numbers: npt.NDArray[np.int32]) -> SparseCounts:
        """Renumber columns, in place, dropping those with a negative number."""
        indptr = self.indptr
        left = kernels.prune_columns(self.indices, self.counts, indptr, numbers)
        counts = self.counts[:left] if len(self.counts) else self.counts
        n_columns = int(numbers.max(initial=-1)) + 1
        return SparseCounts(indptr, self.indices[:left], counts, self.n_blocks, n_columns, self.computed)

    def to_scipy(self, values: npt.NDArray[Any] | None = None) -> Any:
        """Return a scipy CSR matrix with sorted columns; counts (or ones) unless values are given.

        The rows themselves stay as they are. Where two blocks hash to one column, the values are added up.
        """
        csr_matrix = require("scipy.sparse", "a sparse matrix", "sklearn").csr_matrix
        if values is None:
            values = self.counts if len(self.counts) else np.ones(len(self.indices), dtype=np.int64)
        row_ptr = self.row_ptr
        indices, data = np.empty_like(self.indices), np.empty_like(values)
        scratch = np.empty((2, int(np.diff(row_ptr).max(initial=0))), dtype=np.uint64)
        kernels.sort_rows(row_ptr, self.indices, values, self.n_columns, scratch, indices, data)
        if len(indices) < 2**31:
            row_ptr = row_ptr.astype(np.int32)
        matrix = csr_matrix((data, indices, row_ptr), shape=(len(self), self.n_columns))
        matrix.has_sorted_indices = True
        matrix.sum_duplicates()
        return matrix


def concatenate(parts: Sequence[SparseCounts], n_blocks: int, n_columns: int) -> SparseCounts:
    """Return the rows of all parts, one part after the other."""
    at = np.concatenate([[0], np.cumsum([len(p.indices) for p in parts])])
    none = np.zeros(0, np.int32)
    computed = [p.computed for p in parts if p.computed is not None]
    return SparseCounts(
        np.concatenate([np.zeros(1, np.int64), *(p.indptr[1:] + a for p, a in zip(parts, at, strict=False))]),
        np.concatenate([none, *(p.indices for p in parts)]),
        np.concatenate([none, *(p.counts for p in parts)]),
        n_blocks,
        n_columns,
        np.concatenate(computed) if computed else None,
    )
