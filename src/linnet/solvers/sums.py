"""A smooth objective as a sum over blocks of rows, wherever these are: what Newton's method and L-BFGS ask of data in parts.

    F(w) = (1/2 |w|^2 + sum_i c_i l(scores_i, y_i)) / total,     scores = X (gain w) + b

A part, a block on this disk or a shard on another machine, gives its loss and its gradient by the folded weights; they
add up. The penalty and the gain, which all parts share, are applied once, here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import sparse
from linnet.errors import LinnetError
from linnet.solvers.callbacks import Epoch, OnEpoch, Weights
from linnet.solvers.losses import Loss, Softmax
from linnet.solvers.newton import Local, minimise
from linnet.solvers.problem import Here
from linnet.solvers.training_set import RowBlocks, TrainingSet

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]
TOL = 1e-5
MOST_STEPS = 100
MIXING_ROUNDS, MIXING_STEPS = 2, 8


@dataclass(frozen=True)
class SmoothObjective:
    """1/2 |W|^2 + C sum_i s_i loss_i, smooth in W and b.

    constant makes the intercept a penalised weight of a feature that is always so large, as the SVM has it (0: no
    intercept); None leaves it free.
    """

    loss: Loss
    C: float
    fit_intercept: bool = True
    constant: float | None = None


def smooth_only(model: str, penalty: str, solver: Any, solvers: tuple[str, ...], decay: float | None = None) -> None:
    """Refuse settings under which rows in blocks cannot be added up."""
    if penalty != "l2" or solver not in (None, *solvers) or decay is not None:
        raise LinnetError(
            f"rows on disk or on an engine take {model} with the L2 penalty and its own solver; leave out --solver, "
            "penalty and decay, or train in memory"
        )


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
    S = np.empty((len(X), W.shape[1]))
    sparse.dot(X.indptr, X.indices, X.values, W, 0, len(X), S)
    S += b
    R = loss.gradient(S, y, c)
    G = np.zeros_like(W)
    sparse.transposed_dot(X.indptr, X.indices, X.values, R, G)
    return PartSum(loss.value(S, y, c), G, arithmetic.total(R, axis=0))


def part_product(rows: TrainingSet, objective: SmoothObjective, at: Weights, d: Weights) -> PartSum:
    """Return the second derivative of the loss of some rows at weights and intercepts, times a direction of both."""
    X, y, c, loss = rows.X.explicit(), rows.y, objective.C * rows.weights, objective.loss
    S, U = np.empty((len(X), at[0].shape[1])), np.empty((len(X), at[0].shape[1]))
    sparse.dot(X.indptr, X.indices, X.values, at[0], 0, len(X), S)
    sparse.dot(X.indptr, X.indices, X.values, d[0], 0, len(X), U)
    R = np.ascontiguousarray(loss.curvature(S + at[1], y, c).product(U + d[1]))
    G = np.zeros_like(d[0])
    sparse.transposed_dot(X.indptr, X.indices, X.values, R, G)
    return PartSum(0.0, G, arithmetic.total(R, axis=0))


class SumProblem:
    """F above for an optimiser, as a function of one flat vector: W row by row, then b.

    ``add_up(function, *args)`` returns the sum of function(rows, *args) over all rows. total is C times their weight.
    """

    l1 = 0.0
    l2 = 1.0
    n_rows = 1

    def __init__(
        self, add_up: Callable[..., Any], objective: SmoothObjective, shape: tuple[int, int], total: float, gain: Any = None
    ) -> None:  # fmt: skip
        self.add_up, self.objective, self.total, self.gain = add_up, objective, total, gain
        self.n_features, self.n_outputs = shape
        self.constant = objective.constant
        self.fit_intercept = objective.fit_intercept and self.constant != 0.0
        self.cut = self.n_features * self.n_outputs
        self.size = self.cut + self.fit_intercept * self.n_outputs
        self.n_penalised = self.size if self.constant is not None else self.cut

    def weights(self, w: Floats) -> tuple[Floats, Floats]:
        """Return W, (n_features, n_outputs), and b, for plain values."""
        W = w[: self.cut].reshape(self.n_features, self.n_outputs)
        if self.gain is not None:
            W = W * self.gain.T
        b = w[self.cut :] * (self.constant or 1.0) if self.fit_intercept else np.zeros(self.n_outputs)
        return np.ascontiguousarray(W), b

    def everything(self, w: Floats) -> Here:
        """Ask all parts."""
        part = self.add_up(part_sum, self.objective, self.weights(w))
        gradient = self._flat(part, w) / self.total
        loss = part.loss / self.total
        return Here(
            loss + 0.5 * arithmetic.dot(w[: self.n_penalised], w[: self.n_penalised]) / self.total, loss, gradient
        )

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
        here, at = self.everything(w), self.weights(w)

        def product(d: Floats) -> Floats:
            return self._flat(self.add_up(part_product, self.objective, at, self.weights(d)), d)

        return Local(self.total * here.value, lambda: self.total * here.gradient, lambda: (product, np.ones(self.size)))


def fit_sum(
    model: Any, objective: SmoothObjective, rows: RowBlocks, *, tol: float = TOL, most: int = MOST_STEPS,
    start: Floats | None = None, made: int = 0,
) -> Weights:  # fmt: skip
    """Minimise the objective over all blocks by Newton's method; Ctrl-C keeps the weights so far.

    Rows on the workers of an engine start from iterative parameter mixing. start is a point to go on from, made the
    epochs that led there; they count. Sets the model's n_iter_ and interrupted_.
    """
    shape, total = (rows.n_features, rows.n_outputs), objective.C * rows.total_weight
    problem, scale = SumProblem(rows.add_up, objective, shape, total, rows.gain), None
    if not rows.local:
        start, scale = _mixed_start(problem, rows)
    elif start is not None:
        zero = problem.everything(np.zeros(problem.size)).gradient
        scale = problem.total * float(np.sqrt(arithmetic.dot(zero, zero)))
    centred = isinstance(objective.loss, Softmax)
    return newton_steps(
        model, problem, start, rows.on_epoch, rows.n_rows, tol=tol, most=most, scale=scale, made=made,
        shown=lambda W, b: (W, b - arithmetic.mean(b) if centred else b),
    )  # fmt: skip


def newton_steps(
    model: Any, problem: Any, start: Floats | None, on_epoch: OnEpoch, n_rows: int, *, tol: float, most: int,
    scale: float | None, made: int, shown: Callable[..., Weights],
) -> Weights:  # fmt: skip
    """Take Newton steps from a start that made some epochs; shown turns W and b into the weights of the model."""

    def report(number: int, value: float, violation: float, w: Floats) -> None:
        W = w[: problem.n_penalised]
        told = Epoch(made + number, value - 0.5 * arithmetic.dot(W, W), violation, n_rows)
        on_epoch(told, lambda: shown(*problem.weights(w)))

    w = np.zeros(problem.size) if start is None else start
    found = minimise(problem.local, w, tol=tol, max_steps=max(1, most - made), scale=scale, on_step=report)
    model._finish(made + found.steps, most, found.violation, found.converged)
    return shown(*problem.weights(found.w))


def _mixed_start(problem: SumProblem, rows: RowBlocks) -> tuple[Floats, float]:
    """Return where to begin, and the length of the gradient at zero, which the tolerance is relative to.

    Iterative parameter mixing: each shard takes a few steps as if it were all the data, and the mean of their points,
    by weight, is where the next round begins.
    """
    zero = problem.everything(np.zeros(problem.size))
    first = problem.total * float(np.sqrt(arithmetic.dot(zero.gradient, zero.gradient)))
    start = np.zeros(problem.size)
    for _ in range(MIXING_ROUNDS):
        found = rows.add_up(_mixed, problem.objective, problem.total, rows.gain, start)
        start = np.asarray(found[:-1] / found[-1]) if found[-1] else start
    return (start if problem.everything(start).value < zero.value else np.zeros(problem.size)), first


def _mixed(rows: TrainingSet, objective: SmoothObjective, total: float, gain: Any, at: Floats) -> Floats:
    """Descend a few steps on these rows as if they were all there is; returns the point times their share, then the share."""
    from linnet.solvers.descent import optimise
    from linnet.solvers.whole import LBFGS

    if not len(rows):
        return np.zeros(len(at) + 1)
    share = arithmetic.total(objective.C * rows.weights) / total
    whole = replace(objective, C=objective.C / share)
    problem = SumProblem(
        lambda function, *args: function(rows, *args), whole, (rows.X.n_features, rows.n_outputs), total, gain
    )
    found = optimise(problem, LBFGS(tol=1e-4), w=at, max_epochs=MIXING_STEPS)
    return np.append(share * found.w, share)
