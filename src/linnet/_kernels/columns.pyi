"""The compiled module columns: a smaller matrix with the same optimum."""

import numpy.typing as npt

from linnet._kernels._arrays import Float32s, Float64s, Int32s, Int64s, Real

def count_columns(indptr: Int64s, indices: Int32s, rows: Int32s, counts: Int32s) -> None: ...
def rank_columns(counts: Int32s, place: Int32s) -> tuple[int, int]: ...
def compact_rows(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], rows: Int32s, place: Int32s, factor: Float64s,
    n_shared: int, out_indptr: Int64s, out_indices: Int32s, out_values: npt.NDArray[Real], norms: Float64s,
    scratch: Int32s,
) -> int: ...  # fmt: skip
def compact_gains(
    indptr: Int64s, indices: Int32s, values: Float32s, gain: Float32s, place: Int32s, factor: Float64s, n_shared: int,
    out_indptr: Int64s, out_indices: Int32s, out_values: Float32s, out_gain: Float32s, scratch: Int32s,
) -> int: ...  # fmt: skip
