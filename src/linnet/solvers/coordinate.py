"""A linear model with an L1 penalty, exactly: Newton steps whose quadratic is solved by coordinate descent.

Problem   min_{W, b}  sum_jk |w_jk| + sum_i c_i l(W^T x_i + b, y_i)            the intercept b is not penalised
Optimal   g_jk = -sign(w_jk) where w_jk is not zero, |g_jk| <= 1 where it is, g = 0 for b; g is the gradient of the loss.
          The violation is the sum of how far the weights are from that, over its value at zero.
Step      only weights that are not zero, or want to move, are active; on those the loss is replaced by its quadratic at
          this point, which coordinate descent minimises together with the penalty: weights reach zero exactly. Then the
          longest of d, d/2, d/4, ... that lowers the objective enough.
Cost      a step costs a gradient, that is one pass over the entries, and a few walks over the active columns.
Paper     Yuan, Ho, Lin: An Improved GLMNET for L1-regularized Logistic Regression, 2012; Friedman, Hastie, Tibshirani:
          Regularization Paths for Generalized Linear Models via Coordinate Descent, 2010.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from linnet import arithmetic
from linnet._kernels import coordinate
from linnet.array_types import Floats, Ints32
from linnet.solvers.callbacks import Epoch, OnEpoch, SolverResult, ignore
from linnet.solvers.losses import Loss
from linnet.solvers.matrix import Matrix
from linnet.solvers.problem import transposed, with_constant

INNER_PASSES = 200
SUFFICIENT = 0.01  # of the decrease that the step promises
SHORTEST = 2.0**-30
RIDGE = 1e-12  # keeps single curvatures above zero


class _Problem:
    """The objective, with the intercept as one more column, of ones, whose penalty is zero."""

    def __init__(self, X: Matrix, y: Ints32, c: Floats, loss: Loss, n_outputs: int, fit_intercept: bool) -> None:
        self.X, self.y, self.c, self.loss, self.n_outputs = X, y, c, loss, n_outputs
        self.columns = transposed(with_constant(X, 1.0) if fit_intercept else X)
        self.penalty = np.ones(len(self.columns))
        self.penalty[X.n_features :] = 0.0

    def scores(self, W: Floats) -> Floats:
        d = self.X.n_features
        return np.asarray(self.X.dot(W[:d]) + arithmetic.total(W[d:], axis=0))

    def value(self, W: Floats, S: Floats) -> float:
        return arithmetic.total(self.penalty[:, None] * np.abs(W)) + self.loss.value(S, self.y, self.c)

    def gradient(self, S: Floats) -> Floats:
        return self.columns.dot(self.loss.gradient(S, self.y, self.c))

    def violation(self, W: Floats, G: Floats) -> Floats:
        """Return how far each weight is from optimal."""
        r = self.penalty[:, None]
        return np.where(W == 0.0, np.maximum(np.abs(G) - r, 0.0), np.abs(G + r * np.sign(W)))


def solve(
    X: Matrix,
    y: Ints32,
    c: Floats,
    loss: Loss,
    n_outputs: int,
    *,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_steps: int = 200,
    seed: int = 0,
    on_epoch: OnEpoch = ignore,
) -> SolverResult:
    """Minimise from zero; every step is reported.

    KeyboardInterrupt ends the search and keeps the weights so far.

    >>> from linnet.solvers.losses import Logistic
    >>> X = Matrix.from_dense(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]))
    >>> solve(X, np.array([0, 0, 1, 1], np.int32), np.ones(4), Logistic(), 1).W.round(3).ravel().tolist()
    [0.908, 0.0]
    """
    f = _Problem(X, y, c, loss, n_outputs, fit_intercept)
    W = np.zeros((len(f.columns), n_outputs))
    d = X.n_features
    rng = np.random.Generator(np.random.PCG64(seed))
    S = f.scores(W)
    value, G = f.value(W, S), f.gradient(S)
    wrong = f.violation(W, G)
    first = size = arithmetic.total(wrong)
    steps, stuck = 0, first == 0.0
    with suppress(KeyboardInterrupt):
        while steps < max_steps and size > tol * first and not stuck:
            step = _step(f, W, S, value, G, wrong, min(0.1, size / first), rng)
            steps += 1
            if step is None:
                stuck = True
                break
            W, S, gained = step
            stuck = gained <= 8.0 * float(np.finfo(np.float64).eps) * abs(value)
            value, G = f.value(W, S), f.gradient(S)
            wrong = f.violation(W, G)
            size = arithmetic.total(wrong)
            report = Epoch(steps, loss.value(S, y, c), size / first, len(X))
            on_epoch(report, lambda W=W: (W[:d].copy(), arithmetic.total(W[d:], axis=0)))  # type: ignore[misc]
    violation = size / first if first else 0.0
    return SolverResult(W[:d].copy(), arithmetic.total(W[d:], axis=0), steps, violation, violation <= tol or stuck)


def _step(
    f: _Problem, W: Floats, S: Floats, value: float, G: Floats, wrong: Floats, eta: float, rng: np.random.Generator
) -> tuple[Floats, Floats, float] | None:
    """Minimise the quadratic over the active weights, then search along the line; None where nothing is lower."""
    column, output = (a.astype(np.int32) for a in np.nonzero((W != 0.0) | (wrong > 0.0)))
    active = column, output
    M, curvature = f.columns, f.loss.curvature(S, f.y, f.c)
    A, B = curvature.parts or (np.ascontiguousarray(curvature.diagonal), np.zeros_like(S))  # 0: outputs do not meet
    diagonal = np.empty(len(column))
    coordinate.column_curvature(M.indptr, M.indices, M.values, column, output, A, B, diagonal)
    diagonal += RIDGE * (1.0 + float(diagonal.max(initial=0.0)))
    w, d, penalty, slope = W[active], np.zeros(len(column)), f.penalty[column], G[active]
    D, mean = np.zeros_like(S), np.zeros(len(S))
    target = eta * arithmetic.total(wrong)
    weights = coordinate.ActiveWeights(column, output, slope, diagonal, penalty, w, d)
    quadratic = coordinate.Quadratic(A, B, D, mean)
    for _ in range(INNER_PASSES):
        order = rng.permutation(len(column)).astype(np.int32)
        if coordinate.lasso_pass(M.indptr, M.indices, M.values, order, weights, quadratic) <= target:
            break
    promised = arithmetic.dot(slope, d) + arithmetic.dot(penalty, np.abs(w + d) - np.abs(w))
    t = 1.0
    while t > SHORTEST and promised < 0.0:
        tried = W.copy()
        tried[active] = w + t * d
        there = f.scores(tried)
        gained = value - f.value(tried, there)
        if gained >= -SUFFICIENT * t * promised - 8.0 * np.finfo(np.float64).eps * abs(value):
            return tried, there, gained
        t *= 0.5
    return None
