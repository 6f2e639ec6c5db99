"""A smooth objective as a sum over blocks of rows, wherever these are: what Newton's method and L-BFGS ask of data in parts.

    F(w) = (1/2 |w|^2 + sum_i c_i l(scores_i, y_i)) / total,     scores = X (gain w) + b

A part, a block on this disk or a shard on another machine, gives its loss and its gradient by the folded weights; they
add up. The penalty and the gain, which all parts share, are applied once, here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import sparse
from linnet.solvers.losses import Loss
from linnet.solvers.matrix import Matrix
from linnet.solvers.newton import Local, inner
from linnet.solvers.problem import Here

__all__ = ["PartSum", "SumProblem", "part_product", "part_sum"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PartSum:
    """The loss of some rows, and its gradient by the weights, (n_features, n_outputs), and by the intercepts."""

    loss: float
    W: Floats
    b: Floats

    def __add__(self, other: PartSum) -> PartSum:
        return PartSum(self.loss + other.loss, self.W + other.W, self.b + other.b)


def part_sum(X: Matrix, y: npt.NDArray[np.int32], c: Floats, loss: Loss, W: Floats, b: Floats) -> PartSum:
    """Return the loss and gradient of some rows at weights that apply to their values.

    >>> from linnet.solvers.losses import Logistic
    >>> X = Matrix.from_dense(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> part_sum(X, np.array([0, 1], np.int32), np.ones(2), Logistic(), np.zeros((2, 1)), np.zeros(1)).W.ravel().tolist()
    [-0.5, 1.0]
    """
    X = X.explicit()
    S = np.empty((len(X), W.shape[1]))
    sparse.dot(X.indptr, X.indices, X.values, W, 0, len(X), S)
    S += b
    R = loss.gradient(S, y, c)
    G = np.zeros_like(W)
    sparse.transposed_dot(X.indptr, X.indices, X.values, R, G)
    return PartSum(loss.value(S, y, c), G, arithmetic.total(R, axis=0))


def part_product(
    X: Matrix, y: npt.NDArray[np.int32], c: Floats, loss: Loss, at: tuple[Floats, Floats], d: tuple[Floats, Floats]
) -> PartSum:
    """Return the second derivative of the loss of some rows at weights and intercepts, times a direction of both."""
    X = X.explicit()
    S, U = np.empty((len(X), at[0].shape[1])), np.empty((len(X), at[0].shape[1]))
    sparse.dot(X.indptr, X.indices, X.values, at[0], 0, len(X), S)
    sparse.dot(X.indptr, X.indices, X.values, d[0], 0, len(X), U)
    R = np.ascontiguousarray(loss.curvature(S + at[1], y, c).product(U + d[1]))
    G = np.zeros_like(d[0])
    sparse.transposed_dot(X.indptr, X.indices, X.values, R, G)
    return PartSum(0.0, G, arithmetic.total(R, axis=0))


class SumProblem:
    """F above for an optimiser, as a function of one flat vector: W row by row, then b.

    ``ask(W, b)`` returns the PartSum of all rows, ``ask_product((W, b), (V, v))`` that of the curvature times a
    direction, for Newton's method. constant makes the intercept a penalised weight of a feature that is
    always so large, as the SVM has it; None leaves it free.
    """

    l1 = 0.0
    l2 = 1.0
    n_rows = 1

    def __init__(
        self,
        ask: Callable[[Floats, Floats], PartSum],
        n_features: int,
        n_outputs: int,
        total: float,
        *,
        ask_product: Callable[[tuple[Floats, Floats], tuple[Floats, Floats]], PartSum] | None = None,
        gain: npt.NDArray[np.float32] | None = None,
        fit_intercept: bool = True,
        constant: float | None = None,
    ) -> None:
        self.ask_product = ask_product
        self.ask, self.n_features, self.n_outputs, self.total = ask, n_features, n_outputs, total
        self.gain, self.fit_intercept, self.constant = gain, fit_intercept and constant != 0.0, constant
        self.cut = n_features * n_outputs
        self.size = self.cut + self.fit_intercept * n_outputs
        self.n_penalised = self.size if constant is not None else self.cut

    def weights(self, w: Floats) -> tuple[Floats, Floats]:
        """Return W, (n_features, n_outputs), and b, for plain values."""
        W = w[: self.cut].reshape(self.n_features, self.n_outputs)
        if self.gain is not None:
            W = W * self.gain.T
        b = w[self.cut :] * (self.constant or 1.0) if self.fit_intercept else np.zeros(self.n_outputs)
        return np.ascontiguousarray(W), b

    def everything(self, w: Floats) -> Here:
        """Ask all parts."""
        part = self.ask(*self.weights(w))
        gradient = self._flat(part, w) / self.total
        loss = part.loss / self.total
        return Here(loss + 0.5 * inner(w[: self.n_penalised], w[: self.n_penalised]) / self.total, loss, gradient)

    def _flat(self, part: PartSum, w: Floats) -> Floats:
        """Return a sum over parts as a vector, with the gain, and what the penalty adds."""
        out = np.empty(self.size)
        out[: self.cut] = (part.W if self.gain is None else part.W * self.gain.T).ravel()
        if self.fit_intercept:
            out[self.cut :] = part.b * (self.constant or 1.0)
        out[: self.n_penalised] += w[: self.n_penalised]
        return out

    def some(self, w: Floats, rows: npt.NDArray[np.int64]) -> Here:
        """Refuse: rows are in parts."""
        raise TypeError("rows in parts cannot be asked one by one; use LBFGS")

    def gentle_rate(self) -> float:
        """Return a rate for rows of length 1."""
        return 1.0

    def local(self, w: Floats) -> Local:
        """Return the sum (not the mean) with its curvature: what Newton's method asks for."""
        if self.ask_product is None:
            raise TypeError("Newton's method needs products with the curvature, and these parts give none; use LBFGS")
        ask, here, at = self.ask_product, self.everything(w), self.weights(w)

        def curvature() -> tuple[Callable[[Floats], Floats], Floats]:
            return lambda d: self._flat(ask(at, self.weights(d)), d), np.ones(self.size)

        return Local(self.total * here.value, lambda: self.total * here.gradient, curvature)
