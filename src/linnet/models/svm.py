"""The linear support vector machine.

A line that separates two classes can be moved about; the one furthest from both is the safest. The SVM asks every row
to be on its side by a margin of 1, charges for what is missing, and keeps the weights small: the street between the
classes is 2 / |w| wide.

solver="dual" solves one binary problem a class, that class against the rest, exactly as LIBLINEAR does:

    min_w  1/2 |w|^2 + C sum_i s_i loss(t_i w.x_i),   loss(z) = max(0, 1 - z)^2 (squared hinge) or max(0, 1 - z) (hinge)

with t_i = 1 for the class and -1 for the rest, s_i the weight of the row, and the intercept the weight of one more
feature that is always ``intercept_scaling``, penalised like the others. This is scikit-learn's LinearSVC.

solver="sgd" takes the update of the lecture notes, one row at a time, over all classes together:

    y^ = argmax_y w_y.x + cost(right, y);    w_right += rate x,  w_y^ -= rate x,  after w <- (1 - rate decay) w

which descends on 1/2 |W|^2 + C sum_i s_i max_y (w_y.x_i + cost(y_i, y) - w_{y_i}.x_i) (Crammer and Singer), with
decay = 1 / (C sum_i s_i). A cost matrix says which errors are worse. The intercept is not penalised.

References: Hsieh et al., A Dual Coordinate Descent Method for Large-scale Linear SVM, 2008; Crammer and Singer, On the
Algorithmic Implementation of Multiclass Kernel-based Vector Machines, 2001; Eisenstein, chapter 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError
from linnet.features.recipe import Recipe
from linnet.models.estimator import DecisionModel
from linnet.models.inputs import seed_of
from linnet.models.optimised import fit_svm, optimiser_of
from linnet.models.settings import above_zero, one_of, truth, whole
from linnet.models.solving import Task, fit_sgd, solver_of
from linnet.solvers import dual
from linnet.solvers.distinct import distinct
from linnet.solvers.matrix import Matrix
from linnet.solvers.online import SGD
from linnet.solvers.optimisers import Optimiser
from linnet.solvers.report import OnPass, Pass, Weights, warn_unfinished

__all__ = ["LinearSVM"]

Floats = npt.NDArray[np.float64]

LOSSES = {"dual": ("squared_hinge", "hinge"), "sgd": ("hinge",)}
"""What each solver can minimise; the first is its default."""
PASSES = {"dual": 1000, "sgd": 20}


class LinearSVM(DecisionModel):
    """A wide-margin line: the best single linear model for most text.

    Parameters: ``C`` weighs the loss against the penalty (smaller: simpler). ``loss`` is "squared_hinge" or "hinge";
    None takes the solver's own (dual: squared hinge; sgd: hinge). ``solver`` is "dual", "sgd" or an
    :class:`~linnet.solvers.online.SGD` with its own rate, schedule and decay. ``tol`` bounds the spread of the
    projected gradient (dual); ``max_iter`` the passes (None: 1000 for dual, 20 for sgd). ``fit_intercept``,
    ``intercept_scaling``. ``class_weight`` None, "balanced" or {label: factor}. ``cost`` (sgd only): cost[i][j] is the
    price of answering class j where class i is right, classes sorted; None charges 1 for every error.
    ``random_state``, ``threads``.

    ``solver`` may also be an optimiser of :mod:`linnet.solvers`, such as ``LBFGS()``, or its name, "lbfgs": it minimises
    what "dual" does with the squared hinge, and has a tol of its own.

    The order of the rows never matters, and a row given twice is a row of weight 2, exactly. Threads share out classes
    and do not change the answer.

    Learned, beside the usual: ``margin_``, the width 2 / |w| of each output; ``support_`` (dual only), the rows that
    hold the line: those on the wrong side of their margin, or on it.

    >>> model = LinearSVM().fit([[0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [2.0, 0.0]], ["cold", "cold", "hot", "hot"])
    >>> model.predict([[3.0, 0.5]]).tolist()
    ['hot']
    >>> round(float(model.margin_[0]), 3)
    2.122
    """

    recipe: ClassVar[Recipe] = Recipe(
        ratio=(0.5, 0.0, 0.25, 0.75, 1.0),
        grid=(("C", (0.3, 0.1, 1.5, 6.0)),),
        many=(("C", 1.5),),
        fixed=(("tol", 0.3),),
    )
    uses_gain: ClassVar[bool] = True

    n_iter_: int
    margin_: Floats  # (n_outputs,)
    support_: npt.NDArray[np.int64]

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str | None = None,
        solver: str | SGD | Optimiser = "dual",
        tol: float = 0.01,
        max_iter: int | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        cost: npt.ArrayLike | None = None,
        random_state: Any = 0,
        threads: int = 1,
    ) -> None:
        self.C = C
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.cost = cost
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
        """Fit to encoded rows. With X.gain the weights returned are folded: they apply to the values without it."""
        task = Task(X, y, n_classes, sample_weight, threads, self._recorded(on_pass))
        optimiser = optimiser_of(self.solver, LOSSES)
        if optimiser is not None:
            return fit_svm(self, task, optimiser)
        solver, sgd = solver_of(self.solver, LOSSES)
        passes = PASSES[solver] if self.max_iter is None else whole("max_iter", self.max_iter)
        loss = LOSSES[solver][0] if self.loss is None else one_of("loss", self.loss, LOSSES["dual"])
        if loss not in LOSSES[solver]:
            raise DataError(f"solver {solver!r} has loss {', '.join(LOSSES[solver])} only, got {loss!r}")
        vars(self).pop("support_", None)
        return self._solve_dual(task, loss, passes) if sgd is None else self._take_steps(task, sgd, passes)

    def _bias_scale(self) -> float:
        scale = above_zero("intercept_scaling", self.intercept_scaling)
        return scale if truth("fit_intercept", self.fit_intercept) else 0.0

    def _take_steps(self, task: Task, sgd: SGD, passes: int) -> Weights:
        run = fit_sgd(
            task, sgd, loss="hinge", C=above_zero("C", self.C), cost=_cost(self.cost, task.n_classes),
            bias_scale=self._bias_scale(), max_passes=passes, seed=seed_of(self.random_state),
        )  # fmt: skip
        self.n_iter_ = run.passes
        self.interrupted_ = run.passes < passes and not run.settled
        self.margin_ = 2.0 / np.maximum(np.linalg.norm(run.W, axis=0), np.finfo(np.float64).tiny)
        return run.W.astype(task.X.values.dtype), run.b

    def _solve_dual(self, task: Task, loss: str, passes: int) -> Weights:
        if self.cost is not None:
            raise DataError("cost belongs to solver='sgd'; for solver='dual' use class_weight or sample_weight")
        X, y, tol = task.X, task.y, above_zero("tol", self.tol)
        of = distinct(X, y, task.weight)
        C = np.zeros((1, len(X)))
        C[0, of.rows] = above_zero("C", self.C) * of.weight
        positive = (y == 1)[None, :] if task.n_classes == 2 else y[None, :] == np.arange(task.n_classes)[:, None]
        problem = dual.Problem(
            X.indptr, X.indices, X.values, np.where(positive, 1, -1).astype(np.int8), X.n_features, C,
            weight=X.gain, scale=X.scale, n_blocks=X.n_blocks, rows=of.rows,
        )  # fmt: skip
        last = Pass(0, np.inf, np.inf, 0)

        def watch(report: Pass, weights: Callable[[], tuple[npt.NDArray[Any], Floats]]) -> None:
            nonlocal last
            last = report
            if task.on_pass is not None:
                task.on_pass(report, lambda: _feature_major(*weights()))

        W, b, states = dual.solve(
            problem, squared=loss == "squared_hinge", bias_scale=self._bias_scale(), tol=tol, max_passes=passes,
            seed=seed_of(self.random_state), threads=task.threads, on_pass=watch,
        )  # fmt: skip
        self.n_iter_ = last.number
        unfinished = not all(s.done for s in states)
        self.interrupted_ = unfinished and last.number < passes
        if unfinished and last.number == passes:
            warn_unfinished(type(self).__name__, passes, last.violation, tol)
        held = np.any([s.alpha[of.rows] > 0.0 for s in states], axis=0)
        self.support_ = np.flatnonzero((of.place >= 0) & held[of.place])
        self.margin_ = np.array([2.0 / max(_length(s), np.finfo(np.float64).tiny) for s in states])
        return _feature_major(W, b)


def _feature_major(W: npt.NDArray[Any], b: Floats) -> Weights:
    return np.ascontiguousarray(W.T), b


def _length(state: dual.State) -> float:
    """|w| of one problem, from u = g w and g^2; in pieces, because the tables may be large."""
    total = 0.0
    for k in range(0, len(state.pair), 1 << 16):
        u, squares = state.pair[k : k + (1 << 16)].T.astype(np.float64)
        total += float(np.sum(u * u / np.where(squares > 0.0, squares, 1.0)))
    return float(np.sqrt(total))


def _cost(cost: npt.ArrayLike | None, n_classes: int) -> Floats:
    """Return the price of each answer for each right class; 1 for every error where none is given."""
    if cost is None:
        return 1.0 - np.eye(n_classes)
    prices = np.array(cost, dtype=np.float64)
    if prices.shape != (n_classes, n_classes):
        raise DataError(f"cost must have a row and a column for each of {n_classes} classes, got shape {prices.shape}")
    if not np.isfinite(prices).all() or (prices < 0.0).any() or np.diagonal(prices).any():
        raise DataError("cost must hold finite prices, none negative, and 0 for right answers (the diagonal)")
    return prices
