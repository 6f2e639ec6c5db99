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
from math import exp, sqrt

import numpy as np
import numpy.typing as npt

from linnet._kernels import dual
from linnet.solvers.matrix import Matrix
from linnet.solvers.newton import inner
from linnet.solvers.report import Pass

__all__ = ["Found", "solve"]

Floats = npt.NDArray[np.float64]

FIRST_SLOPE = 1e-2  # slope at which a single variable is solved, at first
LAST_SLOPE = 1e-10
PATIENCE = 5  # passes in which the estimate must have halved


@dataclass(frozen=True)
class Found:
    """The weights, the intercept, the passes made, the violation where it is known, and whether Ctrl-C ended them."""

    w: Floats
    b: float
    passes: int
    violation: float
    interrupted: bool


def solve(
    X: Matrix,
    norms: Floats,
    signs: npt.NDArray[np.int8],
    C: Floats,
    *,
    violation: Callable[[Floats, float], float],
    gradient: Floats,
    fit_intercept: bool = True,
    tol: float = 1e-4,
    max_passes: int = 100,
    seed: int = 0,
    on_pass: Callable[[Pass, Callable[[], tuple[Floats, float]]], None] | None = None,
) -> Found:
    """Make passes until the violation is at most tol, or passes bring little; norms are |x_i|^2.

    gradient is that of the problem at zero, -sum_i C_i t_i x_i / 2, and below it that of the intercept where there is
    one. violation(w, b) is |gradient at w, b| / |gradient at zero|.

    >>> X = Matrix.from_dense(np.array([[0.0], [1.0], [2.0], [3.0]]))
    >>> t = np.array([-1, -1, 1, 1], dtype=np.int8)
    >>> found = solve(X, np.array([0.0, 1.0, 4.0, 9.0]), t, np.ones(4), violation=lambda w, b: 0.0, gradient=np.array([-2.0, 0.0]), tol=1e-6)
    >>> round(float(found.w[0]), 3), round(found.b, 3)
    (0.958, -1.437)
    """
    n = len(signs)
    rho = (float(norms.mean()) or 1.0) if fit_intercept else 0.0
    root, first = sqrt(rho), sqrt(inner(gradient, gradient))
    share = _start(4.0 * (first * first + (rho - 1.0) * gradient[-1] ** 2 * fit_intercept), float(C.sum()))
    alpha, rest = share * C, (1.0 - share) * C
    w = -2.0 * share * gradient[: X.n_features]
    bias = np.array([-2.0 * share * gradient[-1] * root if fit_intercept else 0.0])
    q, stats, offset = norms + rho, np.zeros(3), 0.0
    rng = np.random.Generator(np.random.PCG64(seed))
    rows, slope, passes = np.arange(n, dtype=np.int32), FIRST_SLOPE, 0
    history, target = [np.inf], tol
    found, interrupted = np.inf, False
    try:
        while passes < max_passes:
            order = rng.permutation(rows)
            steps = dual.logistic_pass(
                X.indptr, X.indices, X.values, signs, order, w, bias, root, offset, alpha, rest, q, slope, stats
            )
            passes += 1
            b = offset + float(bias[0]) * root
            offset = b
            history.append(sqrt(stats[1] + (stats[2] ** 2 if fit_intercept else 0.0)) / first)
            if on_pass is not None:
                on_pass(Pass(passes, float(stats[0]), history[-1], n), lambda b=b: (w, b))  # type: ignore[misc]
            if history[-1] <= target:
                found = violation(w, b)
                if found <= tol:
                    break
                target = history[-1] * max(0.1, 0.7 * tol / found)
            if history[-1] > 0.5 * history[-1 - min(PATIENCE, passes)]:
                break
            if steps <= n // 2:
                slope = max(LAST_SLOPE, 0.1 * slope)
    except KeyboardInterrupt:
        interrupted = True
    return Found(w, offset, passes, found, interrupted)


def _start(curvature: float, total: float) -> float:
    """Return the share s that minimises the dual where all a_i = s C_i: curvature s + total log(s / (1 - s)) = 0.

    >>> _start(0.0, 1.0)
    0.5
    >>> round(_start(10.0, 1.0), 4)
    0.1634
    """
    low, high = -300.0, 0.0  # of log(s / (1 - s))
    for _ in range(60):
        middle = 0.5 * (low + high)
        if curvature / (1.0 + exp(-middle)) + total * middle < 0.0:
            low = middle
        else:
            high = middle
    return 1.0 / (1.0 + exp(-high))
