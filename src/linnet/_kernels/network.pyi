"""The compiled module network: the gradient and the steps of a net on sparse rows, and its dense layers."""

import numpy.typing as npt

from linnet._kernels._arrays import Float64s, Int32s, Int64s, Real

class NetGradient:
    place: Int32s
    touched: Int32s
    d_embeddings: Float64s
    d_theta: Float64s
    loss: float
    def __init__(
        self, y: Int32s, weight: Float64s, theta: Float64s, *, n_features: int, dim: int, hidden: int, room: int,
        smoothing: float,
    ) -> None: ...  # fmt: skip

def gradient(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], rows: Int32s, E: npt.NDArray[Real], mask: Float64s,
    net: NetGradient,
) -> int: ...  # fmt: skip

class NetSteps:
    feature_squares: Float64s
    squares: Float64s
    def __init__(
        self, net: NetGradient, *, step: int, batch: int, rate: float, share: float, clip: float = 0.0
    ) -> None: ...

def descend(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], order: Int32s, E: npt.NDArray[Real], mask: Float64s,
    net: NetGradient, how: NetSteps,
) -> None: ...  # fmt: skip
def layer(X: Float64s, A: Float64s, a: Float64s, relu: bool, out: Float64s) -> None: ...
