"""Logistic regression: the linear model of probabilities.

The scores of the classes are turned into probabilities by the softmax,

    P(y | x) = exp(w_y.x + b_y) / sum_y' exp(w_y'.x + b_y')

and the weights are those under which the labels seen are most probable, held back by a penalty:

    min_{W, b}  1/2 |W|^2 + C sum_i s_i (-log P(y_i | x_i)),      s_i the weight of the row, b not penalised

Two classes need one score: P(1 | x) = sigmoid(w.x + b). This is scikit-learn's LogisticRegression with an L2 penalty.
The problem is smooth and strictly convex, so Newton's method reaches the optimum to the last digits in a few steps.

solver="sgd" takes the update of the lecture notes, one row at a time: "more like the right answer, less like what the
model believes", theta += rate (f(x, y) - sum_y' P(y' | x) f(x, y')), with weight decay.

References: Eisenstein, sections 2.5 and 2.6; Lin, Weng, Keerthi: Trust Region Newton Method for Large-Scale Logistic
Regression, 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError
from linnet.features.recipe import Recipe
from linnet.models.estimator import DecisionModel, ProbabilityModel
from linnet.models.inputs import seed_of
from linnet.models.settings import above_zero, truth, whole
from linnet.models.solving import Task, fit_sgd, solver_of
from linnet.solvers import dual_logistic
from linnet.solvers.columns import Compact, compact
from linnet.solvers.distinct import distinct
from linnet.solvers.losses import Logistic, Loss, Softmax
from linnet.solvers.matrix import Matrix
from linnet.solvers.newton import Minimum, inner, minimise
from linnet.solvers.objective import Objective
from linnet.solvers.online import SGD
from linnet.solvers.report import OnPass, Pass, Weights, warn_unfinished

__all__ = ["LogisticRegression"]

Floats = npt.NDArray[np.float64]

PASSES = {"dual": 200, "newton": 100, "sgd": 20}


class LogisticRegression(DecisionModel, ProbabilityModel):
    """Probabilities from a line: log-odds are w.x + b.

    Parameters: ``C`` weighs the loss against the penalty (smaller: simpler, and less sure). ``solver`` is "newton",
    "sgd" or an :class:`~linnet.solvers.online.SGD` with its own rate, schedule and decay. ``tol`` bounds |gradient| /
    |gradient at zero| (newton); ``max_iter`` the Newton steps (None: 100) or the passes of sgd (None: 20).
    ``fit_intercept``. ``class_weight`` None, "balanced" or {label: factor}. ``random_state`` (sgd only). ``threads``
    (newton only) do not change the answer.

    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict_proba([[1.5], [3.0]]).round(3).tolist()
    [[0.5, 0.5], [0.192, 0.808]]
    """

    recipe: ClassVar[Recipe] = Recipe(grid=(("C", (10.0, 1.0, 3.0, 30.0, 100.0)),), fixed=(("tol", 1e-4),))

    n_iter_: int

    def __init__(
        self,
        C: float = 1.0,
        *,
        solver: str | SGD | None = None,
        tol: float = 1e-8,
        max_iter: int | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = 0,
        threads: int = 1,
    ) -> None:
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.threads = threads

    def fit_matrix(
        self,
        X: Matrix,
        y: npt.NDArray[np.int32],
        n_classes: int,
        *,
        sample_weight: Floats | None = None,
        threads: int = 1,
        on_pass: OnPass | None = None,
    ) -> Weights:
        """Fit to encoded rows."""
        if X.gain is not None:
            raise DataError("LogisticRegression takes plain features; a gain per class is for LinearSVM")
        task = Task(X.explicit(), y, n_classes, sample_weight, threads, on_pass)
        chosen = ("dual" if n_classes == 2 else "newton") if self.solver is None else self.solver
        solver, sgd = solver_of(chosen, PASSES)
        if solver == "dual" and n_classes > 2:
            raise DataError(f"solver 'dual' is for two classes, got {n_classes}; choose 'newton' or 'sgd', or leave it out")
        passes = PASSES[solver] if self.max_iter is None else whole("max_iter", self.max_iter)
        W, b = self._descend(task, solver, passes) if sgd is None else self._take_steps(task, sgd, passes)
        return W.astype(X.values.dtype), b

    def _take_steps(self, task: Task, sgd: SGD, passes: int) -> tuple[Floats, Floats]:
        run = fit_sgd(
            task, sgd, loss="softmax", C=above_zero("C", self.C), max_passes=passes, seed=seed_of(self.random_state),
            bias_scale=float(truth("fit_intercept", self.fit_intercept)),
        )  # fmt: skip
        self.n_iter_ = run.passes
        self.interrupted_ = run.passes < passes and not run.settled
        return run.W, run.b

    def _descend(self, task: Task, solver: str, passes: int) -> tuple[Floats, Floats]:
        """Coordinate descent on the dual where asked for, then Newton steps: none where that was enough."""
        tol, C = above_zero("tol", self.tol), above_zero("C", self.C)
        of = distinct(task.X, task.y, task.weight)
        small = compact(task.X, of.rows)
        loss: Loss = Logistic() if task.n_classes == 2 else Softmax()
        intercept = truth("fit_intercept", self.fit_intercept)
        y, c = task.y[of.rows], C * of.weight
        pool = ThreadPoolExecutor(task.threads) if task.threads > 1 else None
        try:
            f = Objective(
                small.X, y, c, loss, task.n_outputs, fit_intercept=intercept, pool=pool, threads=task.threads
            )

            def weights(w: Floats) -> tuple[Floats, Floats]:
                W, b = f.unpack(w)
                shared = b.mean() if task.n_outputs > 1 else 0.0  # a common shift changes no probability
                return small.expand(W), b - shared

            start, made, done = np.zeros(f.size), 0, False
            gradient = f.first_gradient()
            first = float(np.sqrt(inner(gradient, gradient)))
            if solver == "dual" and first > 0.0:
                run = self._passes(task, f, small, gradient, passes, weights)
                start, made = np.append(run.w, run.b)[: f.size], run.passes
                done = run.interrupted or run.violation <= tol

            def each_step(number: int, value: float, violation: float, w: Floats) -> None:
                if task.on_pass is not None:
                    W, _ = f.unpack(w)
                    data = value - 0.5 * float(np.vdot(W, W))
                    task.on_pass(Pass(made + number, data, violation, len(task.X)), lambda: weights(w))

            if done:
                found = Minimum(start, 0, 0, run.violation, run.violation <= tol)
            else:
                found = minimise(f, start, tol=tol, max_steps=passes - made, scale=first, on_step=each_step)
        finally:
            if pool is not None:
                pool.shutdown()
        self.n_iter_ = max(1, made + found.steps)
        self.interrupted_ = not found.converged and self.n_iter_ < passes
        if self.n_iter_ == passes and not found.converged:
            warn_unfinished(type(self).__name__, passes, found.violation, tol)
        return weights(found.w)

    def _passes(
        self, task: Task, f: Objective, small: Compact, at_zero: Floats, passes: int, weights: Callable[[Floats], Weights]
    ) -> dual_logistic.Found:
        """Dual coordinate descent on the problem f, whose gradient at zero is known."""
        first = float(np.sqrt(inner(at_zero, at_zero)))

        def each_pass(report: Pass, found: Callable[[], tuple[Floats, float]]) -> None:
            if task.on_pass is not None:
                task.on_pass(report, lambda: weights(np.append(*found())[: f.size]))

        def violation(w: Floats, b: float) -> float:
            g = f(np.append(w, b)[: f.size]).gradient()
            return float(np.sqrt(inner(g, g))) / first

        return dual_logistic.solve(
            small.X, small.norms, np.where(f.y == 1, 1, -1).astype(np.int8), f.c, violation=violation, gradient=at_zero,
            fit_intercept=f.fit_intercept, tol=float(self.tol), max_passes=passes, seed=seed_of(self.random_state),
            on_pass=each_pass,
        )  # fmt: skip
