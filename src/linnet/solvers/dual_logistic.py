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

from linnet._kernels import dual
from linnet.solvers.columns import Numbering, numbering
from linnet.solvers.matrix import Matrix
from linnet.solvers.newton import inner
from linnet.solvers.report import Pass

__all__ = ["Found", "Problem", "solve"]

Floats = npt.NDArray[np.float64]

FIRST_SLOPE = 1e-2  # slope at which a single variable is solved, at first
LAST_SLOPE = 1e-10
SMALL_SHARE = 1e-12  # of C: where dual variables begin; w begins at zero, which is off by as little
ROW_SAMPLE = 64  # one row in so many tells how long rows are
NONE = np.zeros(0, dtype=np.int32)
PATIENCE = 5  # passes in which the estimate must have halved


@dataclass(frozen=True)
class Found:
    """The weights, the intercept, the passes made, the last violation or its estimate, and how the passes ended."""

    w: Floats
    b: float
    passes: int
    violation: float
    done: bool
    interrupted: bool


@dataclass
class Problem:
    """The rows to visit, over all rows; the first pass numbers the columns and finds the gradient at zero."""

    new: Numbering
    rows: npt.NDArray[np.int32]
    signs: npt.NDArray[np.int8]  # (n_rows,)
    C: Floats  # (n_rows,)
    fit_intercept: bool = True
    first: float = 0.0  # |gradient at zero|, known after the first pass

    def violation(self, w: Floats, b: float) -> float:
        """Return |gradient| / |gradient at zero|."""
        X, g = self.new.X, w.copy()
        drift = dual.logistic_gradient(X.indptr, X.indices, X.values, self.signs, self.rows, self.C, w, b, g)
        return sqrt(inner(g, g) + (drift * drift if self.fit_intercept else 0.0)) / self.first

    def row_size(self) -> float:
        """Return the mean squared norm of a sample of the rows, or 1 where they are empty."""
        sample = np.ascontiguousarray(self.rows[::ROW_SAMPLE])
        return float(np.sum(np.square(self.new.X.take(sample).values, dtype=np.float64))) / len(sample) or 1.0


def solve(
    p: Problem,
    *,
    tol: float = 1e-4,
    max_passes: int = 100,
    seed: int = 0,
    on_pass: Callable[[Pass, Callable[[], tuple[Floats, float]]], None] | None = None,
) -> Found:
    """Make passes until the violation is at most tol, or passes bring little.

    >>> X = Matrix.from_dense(np.array([[0.0], [1.0], [2.0], [3.0]]))
    >>> t, rows = np.array([-1, -1, 1, 1], dtype=np.int8), np.arange(4, dtype=np.int32)
    >>> found = solve(Problem(numbering(X, rows), rows, t, np.ones(4)), tol=1e-6)
    >>> round(float(found.w[0]), 3), round(found.b, 3)
    (0.958, -1.437)
    """
    X, new, n = p.new.X, p.new, len(p.rows)
    rho = p.row_size() if p.fit_intercept else 0.0
    root = sqrt(rho)
    alpha, rest = SMALL_SHARE * p.C, (1.0 - SMALL_SHARE) * p.C
    w, bias, q, sums = np.zeros(X.n_features), np.zeros(1), np.zeros(len(p.C)), np.zeros(X.n_features)
    stats, offset = np.zeros(3), 0.0
    rng = np.random.Generator(np.random.PCG64(seed))
    slope, passes, target, violation = FIRST_SLOPE, 0, tol, np.inf
    history = [np.inf]
    done = interrupted = False
    try:
        while passes < max_passes:
            steps = dual.logistic_pass(
                X.indptr, X.indices, X.values, p.signs, rng.permutation(p.rows), w, bias, root, offset, alpha, rest, q,
                slope, stats, new.old, NONE if passes else new.place, new.n_columns, sums,
            )  # fmt: skip
            passes += 1
            if passes == 1:
                p.first = 0.5 * sqrt(inner(sums, sums) + (float(p.C @ p.signs) ** 2 if p.fit_intercept else 0.0)) or 1.0
            offset += float(bias[0]) * root
            violation = sqrt(stats[1] + (stats[2] ** 2 if p.fit_intercept else 0.0)) / p.first
            history.append(violation)
            if on_pass is not None:
                on_pass(Pass(passes, float(stats[0]), violation, n), lambda b=offset: (w, b))  # type: ignore[misc]
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
    return Found(w, offset, passes, violation, done, interrupted)

