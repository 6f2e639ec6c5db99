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

import numpy as np
import numpy.typing as npt

from linnet._kernels import dual
from linnet.solvers.matrix import Matrix
from linnet.solvers.report import Pass

__all__ = ["Found", "solve"]

Floats = npt.NDArray[np.float64]

FIRST_INNER = 1e-2  # slope at which a single variable is solved, at first
LAST_INNER = 1e-10
PATIENCE = 8  # passes in which the estimate must have halved


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
    first: float,
    fit_intercept: bool = True,
    tol: float = 1e-4,
    max_passes: int = 100,
    seed: int = 0,
    on_pass: Callable[[Pass, Callable[[], tuple[Floats, float]]], None] | None = None,
) -> Found:
    """Make passes until the violation is at most tol, or passes bring little; norms are |x_i|^2.

    violation(w, b) is |gradient| / first, first being |gradient| at zero.

    >>> X = Matrix.from_dense(np.array([[0.0], [1.0], [2.0], [3.0]]))
    >>> t = np.array([-1, -1, 1, 1], dtype=np.int8)
    >>> found = solve(X, np.array([0.0, 1.0, 4.0, 9.0]), t, np.ones(4), violation=lambda w, b: 0.0, first=1.0, tol=1e-6)
    >>> round(float(found.w[0]), 3), round(found.b, 3)
    (0.958, -1.437)
    """
    n = len(signs)
    rho = (float(norms.mean()) or 1.0) if fit_intercept else 0.0
    alpha = np.minimum(1e-3 * C, 1e-8)
    rest, q, w = C - alpha, norms + rho, np.zeros(X.n_features)
    bias, stats, offset = np.zeros(1), np.zeros(2), 0.0
    root = float(np.sqrt(rho))
    rng = np.random.Generator(np.random.PCG64(seed))
    rows, inner, passes = np.arange(n, dtype=np.int32), FIRST_INNER, 0
    history, target = [np.inf], tol
    found, interrupted = np.inf, False
    try:
        while passes < max_passes:
            order = rng.permutation(rows)
            steps = dual.logistic_pass(
                X.indptr, X.indices, X.values, signs, order, w, bias, root, offset, alpha, rest, q, inner, stats
            )
            passes += 1
            b = offset + float(bias[0]) * root
            offset = b
            history.append(float(np.sqrt(stats[1] + rho * bias[0] ** 2)) / first)
            if on_pass is not None:
                on_pass(Pass(passes, float(stats[0]), history[-1], n), lambda b=b: (w, b))  # type: ignore[misc]
            if history[-1] <= target:
                found = violation(w, b)
                if found <= tol:
                    break
                target = 0.5 * history[-1] * tol / found
            if history[-1] > 0.5 * history[-1 - min(PATIENCE, passes)]:
                break
            if steps <= n // 2:
                inner = max(LAST_INNER, 0.1 * inner)
    except KeyboardInterrupt:
        interrupted = True
    return Found(w, offset, passes, found, interrupted)
