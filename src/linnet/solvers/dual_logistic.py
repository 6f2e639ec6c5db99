"""Two-class logistic regression by dual coordinate descent, with an intercept that is not penalised.

Problem   min_{w, b}  1/2 |w|^2 + sum_i C_i log(1 + exp(-t_i (w.x_i + b)))
Passes    the kernel solves for one dual variable a row, a_i = C_i P(wrong label of x_i) at the optimum, w = sum a_i t_i x_i
Intercept b is the multiplier of the constraint sum_i a_i t_i = 0. The passes see a penalised intercept around an offset,
          1/(2 rho) (b - offset)^2 with rho = mean |x|^2, and after each pass the offset moves on to b: the proximal point
          method in one variable, whose fixed point is the constraint.
Stop      |gradient| / |gradient at zero| is at most tol: computed when an estimate, which costs nothing, says so; or
          passes bring little (very large C): Newton's method finishes what is left.
Paper     Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import dual
from linnet.solvers.callbacks import Epoch
from linnet.solvers.matrix import Matrix
from linnet.solvers.newton import inner
from linnet.solvers.numerics import sigmoid

__all__ = ["LogisticSolution", "LogisticProblem", "solve", "start_at"]

Floats = npt.NDArray[np.float64]

FIRST_SLOPE = 1e-2  # slope at which a single variable is solved, at first
LAST_SLOPE = 1e-10
PATIENCE = 5  # passes in which the estimate must have halved


@dataclass(frozen=True)
class LogisticSolution:
    """The weights, the intercept, the passes made, the last violation or its estimate, and how the passes ended."""

    w: Floats
    b: float
    passes: int
    violation: float
    done: bool
    interrupted: bool


@dataclass(frozen=True)
class LogisticProblem:
    """Rows with their signs and costs; gradient is that at zero, -sum_i C_i t_i x_i / 2, then that of the intercept."""

    X: Matrix
    norms: Floats  # (n_rows,), squared
    signs: npt.NDArray[np.int8]  # (n_rows,)
    C: Floats  # (n_rows,)
    gradient: Floats  # (n_features + 1,) or (n_features,) without an intercept

    @property
    def fit_intercept(self) -> bool:
        """Whether there is an intercept."""
        return len(self.gradient) > self.X.n_features

    @property
    def first(self) -> float:
        """|gradient| at zero."""
        return sqrt(inner(self.gradient, self.gradient))

    def violation(self, w: Floats, b: float) -> float:
        """Return |gradient| / |gradient at zero|."""
        X, g, rows = self.X, w.copy(), np.arange(len(self.C), dtype=np.int32)
        drift = dual.logistic_gradient(X.indptr, X.indices, X.values, self.signs, rows, self.C, w, b, g)
        return sqrt(inner(g, g) + (drift * drift if self.fit_intercept else 0.0)) / self.first


def solve(
    p: LogisticProblem,
    *,
    tol: float = 1e-4,
    max_epochs: int = 100,
    seed: int = 0,
    on_epoch: Callable[[Epoch, Callable[[], tuple[Floats, float]]], None] | None = None,
) -> LogisticSolution:
    """Make passes until the violation is at most tol, or passes bring little.

    >>> X = Matrix.from_dense(np.array([[0.0], [1.0], [2.0], [3.0]]))
    >>> t = np.array([-1, -1, 1, 1], dtype=np.int8)
    >>> p = LogisticProblem(X, np.array([0.0, 1.0, 4.0, 9.0]), t, np.ones(4), np.array([-2.0, 0.0]))
    >>> found = solve(p, tol=1e-6)
    >>> round(float(found.w[0]), 3), round(found.b, 3)
    (0.958, -1.437)
    """
    X, n = p.X, len(p.C)
    rho = (arithmetic.mean(p.norms) or 1.0) if p.fit_intercept else 0.0
    root, first = sqrt(rho), p.first
    of_intercept = float(p.gradient[-1]) if p.fit_intercept else 0.0
    share = start_at(4.0 * (first * first + (rho - 1.0) * of_intercept * of_intercept), arithmetic.total(p.C))
    w, offset = -2.0 * share * p.gradient[: X.n_features], 0.0
    bias, alpha, rest = -2.0 * share * of_intercept * root, share * p.C, (1.0 - share) * p.C
    of = dual.LogisticDual(p.signs, alpha, rest, p.norms + rho, bias_scale=root, bias=bias)
    rng = np.random.Generator(np.random.PCG64(seed))
    rows = np.arange(n, dtype=np.int32)
    slope, passes, target, violation = FIRST_SLOPE, 0, tol, np.inf
    history = [np.inf]
    done = interrupted = False
    try:
        while passes < max_epochs:
            steps = dual.logistic_pass(X.indptr, X.indices, X.values, rng.permutation(rows), w, of, offset, slope)
            passes += 1
            offset += of.bias * root
            violation = sqrt(of.square + (of.drift * of.drift if p.fit_intercept else 0.0)) / first
            history.append(violation)
            if on_epoch is not None:
                on_epoch(Epoch(passes, of.loss, violation, n), lambda b=offset: (w, b))  # type: ignore[misc]
            if violation <= target:
                estimate, violation = violation, p.violation(w, offset)
                done = violation <= tol
                target = estimate * max(0.1, 0.7 * tol / violation) if not done else target
            if done or history[-1] > 0.5 * history[-1 - min(PATIENCE, passes)]:
                break
            if steps <= n // 2:
                slope = max(LAST_SLOPE, 0.1 * slope)
    except KeyboardInterrupt:
        interrupted = True
    return LogisticSolution(w, offset, passes, violation, done, interrupted)


def start_at(curvature: float, total: float) -> float:
    """Return the share s that minimises the dual where all a_i = s C_i: curvature s + total log(s / (1 - s)) = 0.

    >>> start_at(0.0, 1.0)
    0.5
    >>> round(start_at(10.0, 1.0), 4)
    0.1634
    """
    low, high = -300.0, 0.0  # of log(s / (1 - s))
    for _ in range(60):
        middle = 0.5 * (low + high)
        if curvature * float(sigmoid(middle)) + total * middle < 0.0:
            low = middle
        else:
            high = middle
    return float(sigmoid(high))
