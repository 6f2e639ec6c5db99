"""The compiled module online: stochastic steps, one row at a time."""

import numpy.typing as npt

from linnet._kernels._arrays import Float64s, Int32s, Int64s, Real

class OnlineSteps:
    b: Float64s
    A_b: Float64s
    scale: float
    total_scale: float
    steps: float
    loss_sum: float
    def __init__(
        self, y: Int32s, weight: Float64s, b: Float64s, cost: Float64s, *, loss: int, decay: float, bias_rate: float,
        batch: int,
    ) -> None: ...  # fmt: skip
    def restart(self) -> None: ...

def online_pass(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], order: Int32s, rates: Float64s, V: npt.NDArray[Real],
    A: npt.NDArray[Real], taken: OnlineSteps,
) -> int: ...  # fmt: skip
