"""Least squares: give every class a number, and draw the plane that comes closest to the numbers.

With features A, (n_rows, n_features), and labels B in numbers, a linear model is A W = B. More rows than features leave
no exact W, so one takes the W of least squared error, W = (A^T A)^-1 A^T B: the pseudo-inverse of A times B.

    min_{W, b}  sum_i s_i |x_i W + b - t_i|^2 + alpha |W|^2

Two classes are the numbers -1 and 1 and share one score; more classes have one score each, 1 for the right class and 0
for the others, and the largest wins. b is the weight of a column of ones, and is not penalised.

No iteration and no rate, and the answer is a formula. But the error of a row that is right by far (a score of 5 where 1
was asked) counts as much as that of a row that is wrong, so rows far from the line pull it towards them: the losses of
the perceptron, the SVM and logistic regression do not have this fault. With some alpha the fault is small on text.

Reference: Hastie, Tibshirani, Friedman: The Elements of Statistical Learning, section 4.2.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from linnet.array_types import Floats, Ints32
from linnet.estimator import above_zero, not_negative, one_of, truth, whole
from linnet.features.plan import FeaturePlan
from linnet.models.estimator import DecisionModel
from linnet.solvers.callbacks import Weights
from linnet.solvers.matrix import TrainingSet
from linnet.solvers.squares import Squares, lsqr, normal, pinv

SOLVERS = ("pinv", "normal", "lsqr")
SMALL = 3e8  # multiplications that are quickly done
FEW = 3e7  # rows * features * the smaller of both: singular values take some fifty times as many
PASSES = 1000


@dataclass(eq=False, repr=False)
class LeastSquares(DecisionModel):
    """The plane of least squared error through -1 and 1, or through one-hot labels.

    Parameters: ``alpha`` is the penalty (ridge); with 0, of many W that do equally well the shortest is taken.
    ``solver`` is "pinv" (singular values: exact, for small data), "normal" (the normal equations: exact, for few
    features; columns must not depend on each other, or alpha be above 0), "lsqr" (passes over sparse rows: for anything
    large), or None to choose by size. ``tol`` bounds |gradient| / |gradient at zero| and ``max_iter`` the passes of
    lsqr. ``fit_intercept``, ``class_weight``.

    Learned, beside the usual: ``solver_``, which of the three it was; ``n_iter_``, the passes of lsqr (else 1).

    >>> model = LeastSquares().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([[0.8]], [-1.2])
    >>> model.decision_function([[1.5], [2.0]]).round(3).tolist()
    [0.0, 0.4]
    """

    plan: ClassVar[FeaturePlan] = FeaturePlan(
        ratio=(0.5, 0.0), grid=(("alpha", (1.0, 0.3, 3.0, 10.0)),), fixed=(("solver", "lsqr"), ("tol", 1e-2))
    )

    alpha: float = 0.0
    _: KW_ONLY
    solver: str | None = None
    tol: float = 1e-8
    max_iter: int | None = None
    fit_intercept: bool = True
    class_weight: Any = None

    def solve(self, rows: TrainingSet) -> Weights:
        """Fit to encoded rows. Only lsqr has passes to report."""
        problem = Squares(
            rows.X, targets(rows.y, rows.n_classes), rows.weights, alpha=not_negative("alpha", self.alpha),
            intercept=truth("fit_intercept", self.fit_intercept),
        )  # fmt: skip
        self.solver_ = self._solver(problem)
        self.n_iter_, self.interrupted_ = 1, False
        if self.solver_ == "lsqr":
            tol = above_zero("tol", self.tol)
            most = PASSES if self.max_iter is None else whole("max_iter", self.max_iter)
            found = lsqr(problem, tol=tol, max_epochs=most, on_epoch=rows.on_epoch)
            self._finish(found.epochs, most, found.violation, found.converged)
            W, b = found.W, found.b
        else:
            W, b = problem.weights(pinv(problem) if self.solver_ == "pinv" else normal(problem))
        return np.ascontiguousarray(W, dtype=rows.X.values.dtype), b

    def _solver(self, problem: Squares) -> str:
        if self.solver is not None:
            return one_of("solver", self.solver, SOLVERS)
        n, d = len(problem.X), problem.X.n_features
        if float(n) * d * min(n, d) <= FEW:
            return "pinv"
        quick = float(len(problem.X.values)) * d <= SMALL and float(d) ** 3 <= SMALL
        return "normal" if problem.alpha > 0.0 and quick else "lsqr"


def targets(y: Ints32, n_classes: int) -> Floats:
    """Return the numbers that stand for the classes: -1 and 1 for two, one-hot for more, (n_rows, n_outputs).

    >>> targets(np.array([0, 1, 2]), 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if n_classes == 2:
        return np.where(y == 1, 1.0, -1.0)[:, None]
    return np.asarray(y[:, None] == np.arange(n_classes), dtype=np.float64)
