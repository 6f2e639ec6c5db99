"""What an optimiser is given: a smooth function that can be asked on all rows or on some, and an L1 penalty beside it.

    F(w) = sum_i c_i l(W^T x_i + b, y_i) / sum_i c_i  +  (l2 / 2 |W|^2 + l1 |W|_1) / sum_i c_i

This is the objective of the models, 1/2 |W|^2 + C sum_i s_i loss_i, divided by its weights c_i = C s_i: a mean. The
answer is the same, and a rate that suits ten rows suits a million. The intercept is not penalised.

A mini-batch of B of the n rows gives an unbiased view of the sum: its terms, times n / B.

The regularised loss of a linear model, as a problem for an optimiser.

    f(W, b) = 1/2 |W|^2 + sum_i c_i l(W^T x_i + b, y_i)         the intercept b is not penalised

One output: products with the curvature read each row once, look up and add. More outputs need X^T R: X is transposed
once, when the first product is asked for, so that both products run over rows of something, in threads, and each number
is summed in one order whatever the number of threads.

The same as a sum over blocks of rows, wherever these are: a part, a block on this disk or a shard on another machine, gives
its loss and its gradient by the folded weights; they add up. The penalty and the gain, which all parts share, are applied
once, here.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import sparse
from linnet.array_types import Array, Floats, Floats32, Ints32
from linnet.solvers.callbacks import Weights
from linnet.solvers.losses import Loss
from linnet.solvers.matrix import Matrix, TrainingSet

DIAGONAL_SHARE = 0.01
"""The preconditioner is 0.99 I + 0.01 diag(H), after Hsia et al.: on IMDB bigrams 22 products at C = 1 and 44 at C = 30,
against 33 and 72 with diag(H) and 30 and 42 with none; features in odd units still get their own scale."""
CENTRING = 3  # steps
LEAST_SLOPE = 1e-12


def equal_cuts(X: Matrix, n: int) -> list[int]:
    """Cut the rows in n runs of about as many entries.

    >>> equal_cuts(Matrix(np.array([0, 4, 5, 6, 8]), np.zeros(8, np.int32), np.ones(8), 1), 2)
    [0, 1, 4]
    """
    inner = np.searchsorted(X.indptr, np.linspace(0, len(X.indices), n + 1)[1:-1])
    return [0, *np.minimum(inner, len(X)).tolist(), len(X)]


def transposed(X: Matrix) -> Matrix:
    """Return X^T as sparse rows."""
    indptr = np.zeros(X.n_features + 1, dtype=np.int64)
    indices, values = np.empty(len(X.indices), dtype=np.int32), np.empty_like(X.values)
    sparse.transpose(X.indptr, X.indices, X.values, indptr, indices, values)
    return Matrix(indptr, indices, values, len(X))


@dataclass(frozen=True)
class Local:
    """A function near one point: the value is known, the rest is computed when asked for."""

    value: float
    gradient: Callable[[], Floats]
    curvature: Callable[[], tuple[Callable[[Floats], Floats], Floats]]
    """Returns the product with the Hessian, and positive numbers that are something like its diagonal."""


@dataclass(frozen=True)
class Here:
    """The smooth part of a problem at a point: its value, the part of it that is training loss, its gradient."""

    value: float
    loss: float
    gradient: Floats


class Problem:
    """What optimisers ask of a problem; one of a single row says what ``everything`` is."""

    size: int
    n_penalised: int
    n_rows = 1
    l1 = 0.0
    """What |w_j| costs, for the first ``n_penalised`` numbers of w."""
    l2 = 0.0
    """What w_j^2 / 2 costs, times total."""
    total = 1.0
    """What a mean loss is multiplied by in reports."""

    def everything(self, w: Floats) -> Here:
        """Look at all rows."""
        raise NotImplementedError

    def some(self, w: Floats, rows: Array) -> Here:
        """Look at some rows, as if the others were like them."""
        return self.everything(w)

    def gentle_rate(self) -> float:
        """Return a step length at which gradient descent on all rows never climbs."""
        return 1.0

    def local(self, w: Floats) -> Local:
        """Return the view with curvature that Newton's method asks for."""
        raise TypeError("Newton's method needs curvature, and this function has none; use LBFGS")

    def weights(self, w: Floats) -> Any:
        """Return what to show of a point."""
        return w.copy()


class Function(Problem):
    """Any smooth function of a vector as a problem: it has one row, and no curvature.

    >>> f = Function(lambda w: (float(w @ w) / 2, w.copy()), size=2, gentle_rate=1.0)
    >>> f.everything(np.array([3.0, 4.0])).value
    12.5
    """

    def __init__(
        self, both: Callable[[Floats], tuple[float, Floats]], size: int, *, gentle_rate: float = 0.1, l1: float = 0.0
    ) -> None:
        self.both, self.size, self.n_penalised, self.l1 = both, size, size, l1
        self._rate = gentle_rate

    def everything(self, w: Floats) -> Here:
        """Return value and gradient."""
        value, gradient = self.both(w)
        return Here(value, value, gradient)

    def gentle_rate(self) -> float:
        """Return the rate it was given."""
        return self._rate


class LinearProblem(Problem):
    """F above, for any :class:`~linnet.solvers.losses.Loss`, as a function of one flat vector: W row by row, then b.

    constant makes the intercept the weight of one more feature, always so large, and penalised like the others; 0 fits
    none. With X.gain the loss sees x_ij gain_cj w_jc, and ``weights`` gives gain_cj w_jc: what applies to plain values.

    Called with a vector it gives f, the sum with l2 = 1 and without gain, and its curvature.

    >>> from linnet.solvers.losses import Logistic
    >>> X = Matrix.from_dense(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> f = LinearProblem(X, np.array([0, 1], np.int32), np.ones(2), Logistic(), 1)
    >>> here = f.everything(np.zeros(3))
    >>> round(here.value, 6), here.gradient.tolist()
    (0.693147, [-0.25, 0.5, 0.0])
    """

    def __init__(
        self, X: Matrix, y: Ints32, c: Floats, loss: Loss, n_outputs: int, *, fit_intercept: bool = True,
        constant: float | None = None, l2: float = 1.0, l1: float = 0.0, pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
    ) -> None:  # fmt: skip
        X = X.explicit() if not constant else with_constant(X.explicit(), constant)
        self.X, self.y, self.c, self.loss, self.n_outputs = X, y, c, loss, n_outputs
        self.fit_intercept = fit_intercept and constant is None
        self.constant, self.l2, self.pool, self.threads = constant, l2, pool, threads
        self.n_rows, self.n_penalised = len(X), X.n_features * n_outputs
        self.size = self.n_penalised + self.fit_intercept * n_outputs
        self.total = arithmetic.total(c)
        self.l1 = l1 / self.total
        self.gain = None if X.gain is None else _flat_gain(X.gain, n_outputs)

    @cached_property
    def XT(self) -> Matrix:  # noqa: N802 - X, transposed
        """The columns as rows."""
        return transposed(self.X)

    def unpack(self, w: Floats) -> tuple[Floats, Floats]:
        """Return W, (n_features, n_outputs), and b, (n_outputs,), as views of the vector."""
        b = w[self.n_penalised :] if self.fit_intercept else np.zeros(self.n_outputs)
        return w[: self.n_penalised].reshape(self.X.n_features, self.n_outputs), b

    def rows_times(self, M: Matrix, values: npt.NDArray[np.floating], V: npt.NDArray[np.floating]) -> Floats:
        """Return the product of sparse rows with V; any cut of the rows gives the same numbers."""
        out = np.empty((len(M), V.shape[1]))
        V = np.ascontiguousarray(V)
        cuts = equal_cuts(M, self.threads)
        run = map if self.pool is None else self.pool.map
        list(run(lambda a, b: sparse.dot(M.indptr, M.indices, values, V, a, b, out), cuts[:-1], cuts[1:]))
        return out

    def scores(self, w: Floats) -> Floats:
        """Return X W + b."""
        W, b = self.unpack(w)
        return self.rows_times(self.X, self.X.values, W) + b

    def _transposed(self, R: Floats, values: npt.NDArray[np.floating] | None) -> Floats:
        """Return X^T R and, below it, the column sums of R: the part of the intercept.

        values are those of the transposed matrix; None needs no such matrix: for a point or two, cheaper than to make one.
        """
        found = self.X.transposed_dot(R) if values is None else self.rows_times(self.XT, values, R)
        return np.append(found, arithmetic.total(R, axis=0)) if self.fit_intercept else found.ravel()

    def centred(self, S: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Move intercepts to about where the other weights want them; returns the gradient by the scores S, and the intercepts.

        S, of the intercepts b, moves with them. Each step is half of Newton's with the diagonal, which for two classes of
        the softmax is Newton's own.
        """
        R = self.loss.gradient(S, self.y, self.c)
        for _ in range(CENTRING if self.fit_intercept else 0):
            far = np.abs(R)
            slope = arithmetic.total(far * (1.0 - far / self.c[:, None]), axis=0)
            step = 0.5 * arithmetic.total(R, axis=0) / np.maximum(slope, LEAST_SLOPE)
            S -= step
            b = b - step
            R = self.loss.gradient(S, self.y, self.c)
        return R, b

    def __call__(self, w: Floats) -> Local:
        S, X, one = self.scores(w), self.X, self.n_outputs == 1
        W = w[: self.n_penalised]
        value = 0.5 * arithmetic.dot(W, W) + self.loss.value(S, self.y, self.c)

        def gradient() -> Floats:
            g = self._transposed(self.loss.gradient(S, self.y, self.c), self.XT.values if "XT" in vars(self) else None)
            g[: len(W)] += W
            return g

        def curvature() -> tuple[Callable[[Floats], Floats], Floats]:
            of_scores = self.loss.curvature(S, self.y, self.c)
            h = np.ascontiguousarray(of_scores.diagonal[:, 0])

            def product(d: Floats) -> Floats:
                if one:  # X^T (h * (X d)): each row is read once, and needs no transposed matrix
                    out, shift = np.zeros(self.size), float(d[-1]) if self.fit_intercept else 0.0
                    total = sparse.curved_dot(X.indptr, X.indices, X.values, h, d[: len(W)], shift, out[: len(W)])
                    out[len(W) :] = total
                else:
                    out = self._transposed(of_scores.product(self.scores(d)), self.XT.values)
                out[: len(W)] += d[: len(W)]
                return out

            if one:
                preconditioner = np.zeros(self.size)
                sparse.squared_columns(X.indptr, X.indices, X.values, h, preconditioner[: len(W)])
                preconditioner[len(W) :] = arithmetic.total(h)
            else:
                preconditioner = self._transposed(of_scores.diagonal, np.square(self.XT.values))
            preconditioner[: len(W)] += 1.0
            preconditioner *= DIAGONAL_SHARE
            preconditioner += 1.0 - DIAGONAL_SHARE
            return product, preconditioner

        return Local(value, gradient, curvature)

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

    def everything(self, w: Floats) -> Here:
        """Look at all rows."""
        cut = self.n_penalised
        u = self._folded(w)
        here = self(u)
        gradient = here.gradient()
        loss = here.value - 0.5 * arithmetic.dot(u[:cut], u[:cut])
        if self.gain is None and self.l2 == 1.0:
            return Here(here.value / self.total, loss / self.total, gradient / self.total)
        gradient[:cut] -= u[:cut]
        return self._complete(w, loss / self.total, gradient / self.total)

    def some(self, w: Floats, rows: Array) -> Here:
        """Look at some rows; costs what their entries cost, and one vector as long as w."""
        c = self.c[rows] * (self.n_rows / (len(rows) * self.total))
        some = TrainingSet(self.X.take(rows), self.y[rows], max(2, self.n_outputs), c)
        found = part_sum(some, SmoothObjective(self.loss, 1.0), self.unpack(self._folded(w)))
        gradient = np.append(found.W, found.b) if self.fit_intercept else found.W.ravel()
        return self._complete(w, found.loss, gradient)

    def _complete(self, w: Floats, loss: float, gradient: Floats) -> Here:
        """Fold the gain in and add the L2 penalty."""
        W, l2 = w[: self.n_penalised], self.l2 / self.total
        if self.gain is not None:
            gradient[: self.n_penalised] *= self.gain
        gradient[: self.n_penalised] += l2 * W
        return Here(loss + 0.5 * l2 * arithmetic.dot(W, W), loss, gradient)

    def local(self, w: Floats) -> Local:
        """Return the sum (not the mean) with its curvature; the L1 penalty is left out."""
        cut, g, l2 = self.n_penalised, self.gain, self.l2
        if g is None and l2 == 1.0:
            return self(w)
        there, here = self(self._folded(w)), self.everything(w)

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


def with_constant(X: Matrix, value: float) -> Matrix:
    """Return rows with one more feature, always so large; it has no gain."""
    ends = X.indptr[1:]
    gain = None if X.gain is None else np.pad(X.gain, ((0, 0), (0, 1)), constant_values=1.0)
    indices, values = np.insert(X.indices, ends, X.n_features), np.insert(X.values, ends, X.values.dtype.type(value))
    return Matrix(X.indptr + np.arange(len(X.indptr)), indices, values, X.n_features + 1, gain)


def _flat_gain(gain: Floats32, n_outputs: int) -> Floats:
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


# ---- rows in parts


@dataclass(frozen=True)
class SmoothObjective:
    """1/2 |W|^2 + C sum_i s_i loss_i, smooth in W and b."""

    loss: Loss
    C: float
    fit_intercept: bool = True


@dataclass(frozen=True)
class PartSum:
    """The loss of some rows, and its gradient by the weights, (n_features, n_outputs), and by the intercepts."""

    loss: float
    W: Floats
    b: Floats

    def __add__(self, other: PartSum) -> PartSum:
        return PartSum(self.loss + other.loss, self.W + other.W, self.b + other.b)


def part_sum(rows: TrainingSet, objective: SmoothObjective, at: Weights) -> PartSum:
    """Return the loss and gradient of some rows at weights and intercepts that apply to their values.

    >>> from linnet.solvers.losses import Logistic
    >>> from linnet.solvers.matrix import Matrix
    >>> X = Matrix.from_dense(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> at = np.zeros((2, 1)), np.zeros(1)
    >>> part_sum(TrainingSet(X, np.array([0, 1], np.int32), 2), SmoothObjective(Logistic(), 1.0), at).W.ravel().tolist()
    [-0.5, 1.0]
    """
    X, y, c, (W, b), loss = rows.X.explicit(), rows.y, objective.C * rows.weights, at, objective.loss
    S = X.dot(W) + b
    R = loss.gradient(S, y, c)
    return PartSum(loss.value(S, y, c), X.transposed_dot(R), arithmetic.total(R, axis=0))


def part_product(rows: TrainingSet, objective: SmoothObjective, at: Weights, d: Weights) -> PartSum:
    """Return the second derivative of the loss of some rows at weights and intercepts, times a direction of both."""
    X, y, c, loss = rows.X.explicit(), rows.y, objective.C * rows.weights, objective.loss
    R = loss.curvature(X.dot(at[0]) + at[1], y, c).product(X.dot(d[0]) + d[1])
    return PartSum(0.0, X.transposed_dot(R), arithmetic.total(R, axis=0))


class SumProblem(Problem):
    """F above for an optimiser, as a function of one flat vector: W row by row, then b.

    ``add_up(function, *args)`` returns the sum of function(rows, *args) over all rows. total is C times their weight.
    """

    l2 = 1.0

    def __init__(
        self, add_up: Callable[..., Any], objective: SmoothObjective, shape: tuple[int, int], total: float, gain: Any = None
    ) -> None:  # fmt: skip
        self.add_up, self.objective, self.total, self.gain = add_up, objective, total, gain
        self.n_features, self.n_outputs = shape
        self.fit_intercept = objective.fit_intercept
        self.n_penalised = self.n_features * self.n_outputs
        self.size = self.n_penalised + self.fit_intercept * self.n_outputs

    def weights(self, w: Floats) -> tuple[Floats, Floats]:
        """Return W, (n_features, n_outputs), and b, for plain values."""
        W = w[: self.n_penalised].reshape(self.n_features, self.n_outputs)
        if self.gain is not None:
            W = W * self.gain.T
        b = w[self.n_penalised :] if self.fit_intercept else np.zeros(self.n_outputs)
        return np.ascontiguousarray(W), b

    def everything(self, w: Floats) -> Here:
        """Ask all parts."""
        part = self.add_up(part_sum, self.objective, self.weights(w))
        gradient = self._flat(part, w) / self.total
        loss = part.loss / self.total
        W = w[: self.n_penalised]
        return Here(loss + 0.5 * arithmetic.dot(W, W) / self.total, loss, gradient)

    def _flat(self, part: PartSum, w: Floats) -> Floats:
        """Return a sum over parts as a vector, with the gain, and what the penalty adds."""
        out = np.empty(self.size)
        out[: self.n_penalised] = (part.W if self.gain is None else part.W * self.gain.T).ravel()
        if self.fit_intercept:
            out[self.n_penalised :] = part.b
        out[: self.n_penalised] += w[: self.n_penalised]
        return out

    def local(self, w: Floats) -> Local:
        """Return the sum (not the mean) with its curvature: what Newton's method asks for."""
        here, at = self.everything(w), self.weights(w)

        def product(d: Floats) -> Floats:
            return self._flat(self.add_up(part_product, self.objective, at, self.weights(d)), d)

        return Local(self.total * here.value, lambda: self.total * here.gradient, lambda: (product, np.ones(self.size)))
