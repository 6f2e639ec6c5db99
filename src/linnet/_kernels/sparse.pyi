"""The compiled module sparse: products, keys and sums of sparse rows."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from linnet._kernels._arrays import Float32s, Float64s, Int32s, Int64s, Real, UInt64s

Weight = TypeVar("Weight", np.float32, np.float64)

def dot(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], W: npt.NDArray[Weight], first: int, last: int,
    out: Float64s,
) -> None: ...  # fmt: skip
def transposed_dot(indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], R: Float64s, out: Float64s) -> None: ...
def curved_dot(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], h: Float64s, p: Float64s, shift: float, out: Float64s
) -> float: ...
def squared_columns(indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], h: Float64s, out: Float64s) -> None: ...
def transpose(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], out_indptr: Int64s, out_indices: Int32s,
    out_values: npt.NDArray[Real],
) -> None: ...  # fmt: skip
def has_duplicates(indptr: Int64s, indices: Int32s) -> bool: ...
def row_keys(
    indptr: Int64s, n_blocks: int, indices: Int32s, values: npt.NDArray[Real], scale: npt.NDArray[Real], first: int,
    last: int, out: UInt64s,
) -> None: ...  # fmt: skip
def class_sums(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], y: Int32s, weight: Float64s, out: npt.NDArray[Weight]
) -> None: ...
def scale_segments(
    indptr: Int64s, indices: Int32s, counts: Int32s, tf: int, norm_weight: npt.NDArray[Real], normalise: int,
    multiply: bool, values: npt.NDArray[Real],
) -> None: ...  # fmt: skip
def segment_scale(indptr: Int64s, indices: Int32s, norm_weight: Float32s, normalise: int, scale: Float32s) -> None: ...
