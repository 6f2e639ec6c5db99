"""What an optimiser is given: a smooth function that can be asked on all rows or on some, and an L1 penalty beside it.

    F(w) = sum_i c_i l(W^T x_i + b, y_i) / sum_i c_i  +  (l2 / 2 |W|^2 + l1 |W|_1) / sum_i c_i

This is the objective of the models, 1/2 |W|^2 + C sum_i s_i loss_i, divided by its weights c_i = C s_i: a mean. The
answer is the same, and a rate that suits ten rows suits a million. The intercept is not penalised.

A mini-batch of B of the n rows gives an unbiased view of the sum: its terms, times n / B.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import sparse
from linnet.solvers.losses import Loss
from linnet.solvers.matrix import Matrix
from linnet.solvers.newton import Local, inner
from linnet.solvers.objective import Objective

Floats = npt.NDArray[np.float64]
RowNumbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Here:
    """The smooth part of a problem at a point: its value, the part of it that is training loss, its gradient."""

    value: float
    loss: float
    gradient: Floats


class Problem(Protocol):
    """What optimisers ask of a problem."""

    n_rows: int
    size: int
    l1: float
    """What |w_j| costs, for the first ``n_penalised`` numbers of w."""
    l2: float
    """What w_j^2 / 2 costs, times total."""
    n_penalised: int
    total: float
    """What a mean loss is multiplied by in reports."""

    def everything(self, w: Floats) -> Here:
        """Look at all rows."""

    def some(self, w: Floats, rows: RowNumbers) -> Here:
        """Look at some rows, as if the others were like them."""

    def gentle_rate(self) -> float:
        """Return a step length at which gradient descent on all rows never climbs."""

    def local(self, w: Floats) -> Local:
        """Return the view with curvature that Newton's method asks for."""

    def weights(self, w: Floats) -> Any:
        """Return what to show of a point."""


class Function:
    """Any smooth function of a vector as a problem: it has one row, and no curvature.

    >>> f = Function(lambda w: (float(w @ w) / 2, w.copy()), size=2, gentle_rate=1.0)
    >>> f.everything(np.array([3.0, 4.0])).value
    12.5
    """

    n_rows = 1
    total = 1.0
    l2 = 0.0

    def __init__(
        self, both: Callable[[Floats], tuple[float, Floats]], size: int, *, gentle_rate: float = 0.1, l1: float = 0.0
    ) -> None:
        self.both, self.size, self.n_penalised, self.l1 = both, size, size, l1
        self._rate = gentle_rate

    def everything(self, w: Floats) -> Here:
        """Return value and gradient."""
        value, gradient = self.both(w)
        return Here(value, value, gradient)

    def some(self, w: Floats, rows: RowNumbers) -> Here:
        """Return value and gradient: there is one row."""
        return self.everything(w)

    def gentle_rate(self) -> float:
        """Return the rate it was given."""
        return self._rate

    def local(self, w: Floats) -> Local:
        """Refuse: there is no curvature."""
        raise TypeError("Newton's method needs curvature, and this function has none; use LBFGS")

    def weights(self, w: Floats) -> Floats:
        """Return the point."""
        return w.copy()


class LinearProblem:
    """F above, for any :class:`~linnet.solvers.losses.Loss`, as a function of one flat vector: W row by row, then b.

    constant makes the intercept the weight of one more feature, always so large, and penalised like the others; 0 fits
    none. With X.gain the loss sees x_ij gain_cj w_jc, and ``weights`` gives gain_cj w_jc: what applies to plain values.

    >>> from linnet.solvers.losses import Logistic
    >>> X = Matrix.from_dense(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> f = LinearProblem(X, np.array([0, 1], np.int32), np.ones(2), Logistic(), 1)
    >>> here = f.everything(np.zeros(3))
    >>> round(here.value, 6), here.gradient.tolist()
    (0.693147, [-0.25, 0.5, 0.0])
    """

    def __init__(
        self,
        X: Matrix,
        y: npt.NDArray[np.int32],
        c: Floats,
        loss: Loss,
        n_outputs: int,
        *,
        fit_intercept: bool = True,
        constant: float | None = None,
        l2: float = 1.0,
        l1: float = 0.0,
        pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
    ) -> None:
        X = X.explicit() if not constant else _with_constant(X.explicit(), constant)
        self.X, self.y, self.c, self.loss, self.n_outputs = X, y, c, loss, n_outputs
        self.fit_intercept, self.constant, self.l2 = fit_intercept and constant is None, constant, l2
        self.pool, self.threads = pool, threads
        self.n_rows = len(X)
        self.total = arithmetic.total(c)
        self.l1 = l1 / self.total
        self.n_penalised = X.n_features * n_outputs
        self.size = self.n_penalised + self.fit_intercept * n_outputs
        self.gain = None if X.gain is None else _flat_gain(X.gain, n_outputs)

    @cached_property
    def objective(self) -> Objective:
        """The sum over all rows; made when it is first asked for, because it transposes X."""
        return Objective(
            self.X, self.y, self.c, self.loss, self.n_outputs, fit_intercept=self.fit_intercept, pool=self.pool,
            threads=self.threads,
        )  # fmt: skip

    def _folded(self, w: Floats) -> Floats:
        """Return gain w, as far as there is a gain; the same array where there is none."""
        if self.gain is None:
            return w
        u = w.copy()
        u[: self.n_penalised] *= self.gain
        return u

    def weights(self, w: Floats) -> tuple[Floats, Floats]:
        """Return W, (n_features, n_outputs), and b, for plain values."""
        u = self._folded(w)
        W = u[: self.n_penalised].reshape(-1, self.n_outputs)
        if self.constant:
            return W[:-1].copy(), self.constant * W[-1]
        return W.copy(), u[self.n_penalised :].copy() if self.fit_intercept else np.zeros(self.n_outputs)

    def lengths(self, w: Floats) -> Floats:
        """Return |w| of each output, without its intercept."""
        W = w[: self.n_penalised].reshape(-1, self.n_outputs)
        return np.asarray(arithmetic.norm(W[:-1] if self.constant else W, axis=0))

    def everything(self, w: Floats) -> Here:
        """Look at all rows."""
        cut = self.n_penalised
        u = self._folded(w)
        here = self.objective(u)
        gradient = here.gradient()
        loss = here.value - 0.5 * inner(u[:cut], u[:cut])
        if self.gain is None and self.l2 == 1.0:
            return Here(here.value / self.total, loss / self.total, gradient / self.total)
        gradient[:cut] -= u[:cut]
        return self._complete(w, loss / self.total, gradient / self.total)

    def some(self, w: Floats, rows: RowNumbers) -> Here:
        """Look at some rows; costs what their entries cost, and one vector as long as w."""
        cut, X, y = self.n_penalised, self.X.take(rows), self.y[rows]
        c = self.c[rows] * (self.n_rows / (len(rows) * self.total))
        u = self._folded(w)
        S = np.empty((len(rows), self.n_outputs))
        sparse.dot(X.indptr, X.indices, X.values, u[:cut].reshape(-1, self.n_outputs), 0, len(rows), S)
        if self.fit_intercept:
            S += u[cut:]
        R = self.loss.gradient(S, y, c)
        gradient = np.zeros(self.size)
        sparse.transposed_dot(X.indptr, X.indices, X.values, R, gradient[:cut].reshape(-1, self.n_outputs))
        if self.fit_intercept:
            gradient[cut:] = arithmetic.total(R, axis=0)
        return self._complete(w, self.loss.value(S, y, c), gradient)

    def _complete(self, w: Floats, loss: float, gradient: Floats) -> Here:
        """Fold the gain in and add the L2 penalty."""
        W, l2 = w[: self.n_penalised], self.l2 / self.total
        if self.gain is not None:
            gradient[: self.n_penalised] *= self.gain
        gradient[: self.n_penalised] += l2 * W
        return Here(loss + 0.5 * l2 * inner(W, W), loss, gradient)

    def local(self, w: Floats) -> Local:
        """Return the sum (not the mean) with its curvature; the L1 penalty is left out."""
        cut, g, l2 = self.n_penalised, self.gain, self.l2
        if g is None and l2 == 1.0:
            return self.objective(w)
        there, here = self.objective(self._folded(w)), self.everything(w)

        def curvature() -> tuple[Callable[[Floats], Floats], Floats]:
            times, preconditioner = there.curvature()

            def product(d: Floats) -> Floats:
                e = self._folded(d)
                out = times(e)
                out[:cut] = (out[:cut] - e[:cut]) * (1.0 if g is None else g) + l2 * d[:cut]
                return out

            return product, preconditioner

        return Local(self.total * here.value, lambda: self.total * here.gradient, curvature)

    def gentle_rate(self) -> float:
        """Return 1 / (the most that the gradient can turn): the loss's bend times the mean |x|^2, plus the penalty."""
        squares = np.square(self.X.values, dtype=np.float64)
        if self.X.gain is not None:
            squares *= np.square(self.X.gain.max(axis=0).astype(np.float64))[self.X.indices]
        ends = np.concatenate([[0.0], np.cumsum(squares)])[self.X.indptr]
        mean = arithmetic.dot(self.c, np.diff(ends)) / self.total + float(self.fit_intercept)
        steepest = self.loss.bend * mean + self.l2 / self.total
        return 1.0 / steepest if steepest > 0.0 else 1.0


def _with_constant(X: Matrix, value: float) -> Matrix:
    """Return rows with one more feature, always so large; it has no gain."""
    ends = X.indptr[1:]
    gain = None if X.gain is None else np.pad(X.gain, ((0, 0), (0, 1)), constant_values=1.0)
    return Matrix(
        X.indptr + np.arange(len(X.indptr)), np.insert(X.indices, ends, X.n_features),
        np.insert(X.values, ends, X.values.dtype.type(value)), X.n_features + 1, gain,
    )  # fmt: skip


def _flat_gain(gain: npt.NDArray[np.float32], n_outputs: int) -> Floats:
    """Lay the gain, (n_outputs or 1, n_features), out as W is."""
    return np.ascontiguousarray(np.broadcast_to(gain, (n_outputs, gain.shape[1])).T, dtype=np.float64).ravel()


def soft_threshold(w: Floats, by: float | Floats) -> Floats:
    """Move every number towards zero, and stop there: the proximal step of the L1 penalty.

    >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0).tolist()
    [2.0, 0.0, -1.0]
    """
    return np.asarray(np.maximum(w - by, 0.0) + np.minimum(w + by, 0.0))


def least_subgradient(w: Floats, gradient: Floats, l1: float, n_penalised: int) -> Floats:
    """Return the subgradient of F of least length: zero at the optimum, the gradient itself where there is no L1.

    >>> least_subgradient(np.array([2.0, 0.0, 0.0]), np.array([-1.0, 0.5, 3.0]), 1.0, 3).tolist()
    [0.0, 0.0, 2.0]
    """
    if l1 == 0.0:
        return gradient
    out = gradient.copy()
    g, v = gradient[:n_penalised], w[:n_penalised]
    out[:n_penalised] = np.where(v != 0.0, g + l1 * np.sign(v), soft_threshold(g, l1))
    return out
