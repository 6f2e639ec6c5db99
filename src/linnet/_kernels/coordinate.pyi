"""The compiled module coordinate: coordinate descent on a quadratic with an L1 penalty."""

import numpy.typing as npt

from linnet._kernels._arrays import Float64s, Int32s, Int64s, Real

def column_curvature(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], column: Int32s, output: Int32s, A: Float64s,
    B: Float64s, out: Float64s,
) -> None: ...  # fmt: skip

class Quadratic:
    def __init__(self, A: Float64s, B: Float64s, D: Float64s, mean: Float64s) -> None: ...

class ActiveWeights:
    def __init__(
        self, column: Int32s, output: Int32s, slope: Float64s, diagonal: Float64s, penalty: Float64s, w: Float64s,
        d: Float64s,
    ) -> None: ...  # fmt: skip

def lasso_pass(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], order: Int32s, active: ActiveWeights, at: Quadratic
) -> float: ...
