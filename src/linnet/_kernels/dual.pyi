"""The compiled module dual: passes of dual coordinate descent, and the problems they move."""

import numpy.typing as npt

from linnet._kernels._arrays import Float64s, Int8s, Int32s, Int64s, Real

class HingeDual:
    signs: Int8s
    alpha: Float64s
    keep: Int32s
    slack: Float64s
    bias: float
    top: float
    low: float
    loss: float
    def __init__(
        self, signs: Int8s, cost: Float64s, alpha: Float64s, q: Float64s, *, squared: bool, bias_scale: float,
        bias: float = ...,
    ) -> None: ...  # fmt: skip
    @property
    def spread(self) -> float: ...
    def narrow(self) -> None: ...
    def widen(self) -> None: ...

def svm_pass(
    indptr: Int64s, n_blocks: int, indices: Int32s, values: npt.NDArray[Real], scale: npt.NDArray[Real], order: Int32s,
    pair: npt.NDArray[Real], dual: HingeDual,
) -> int: ...  # fmt: skip
def plain_pass(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], order: Int32s, w: Float64s, dual: HingeDual
) -> int: ...

class LogisticDual:
    bias: float
    loss: float
    square: float
    drift: float
    def __init__(
        self, signs: Int8s, alpha: Float64s, rest: Float64s, q: Float64s, *, bias_scale: float, bias: float = ...
    ) -> None: ...

def logistic_pass(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], order: Int32s, w: Float64s, dual: LogisticDual,
    offset: float, inner: float,
) -> int: ...  # fmt: skip
def logistic_gradient(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], y: Int8s, rows: Int32s, C: Float64s, w: Float64s,
    b: float, out: Float64s,
) -> float: ...  # fmt: skip
