"""The compiled module dual: passes of dual coordinate descent, and the problems they move."""

import numpy as np
import numpy.typing as npt

from linnet._kernels._arrays import Float64s, Int8s, Int32s, Int64s, Real

class HingeDual:
    signs: Int8s
    alpha: Float64s
    q: Float64s
    active: Int8s
    far: Int8s
    near: Float64s
    bias: Float64s
    top: Float64s
    low: Float64s
    loss: Float64s
    left: Int64s
    above: Float64s
    below: Float64s
    def __init__(
        self, signs: Int8s, cost: Float64s, alpha: Float64s, q: Float64s, *, squared: bool, bias_scale: float
    ) -> None: ...  # fmt: skip
    @property
    def spread(self) -> Float64s: ...
    def narrow(self) -> None: ...
    def widen(self, which: npt.NDArray[np.bool_] | slice) -> None: ...

def svm_pass(
    indptr: Int64s, n_blocks: int, indices: Int32s, values: npt.NDArray[Real], scale: npt.NDArray[Real], order: Int32s,
    table: npt.NDArray[Real], dual: HingeDual, *, revisited: Int8s | None = ..., revisits: int = ...,
) -> None: ...  # fmt: skip

class LogisticDual:
    bias: float
    loss: float
    squares: Float64s
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
) -> tuple[float, float]: ...  # fmt: skip

class SoftmaxDual:
    t: Float64s
    bias: Float64s
    loss: float
    squares: Float64s
    def __init__(
        self, y: Int32s, cost: Float64s, q: Float64s, t: Float64s, bias: Float64s, *, bias_scale: float
    ) -> None: ...

def softmax_pass(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Real], order: Int32s, table: npt.NDArray[Real], dual: SoftmaxDual,
    offset: Float64s, inner: float,
) -> int: ...  # fmt: skip
