"""The linear support vector machine.

A line that separates two classes can be moved about; the one furthest from both is the safest. The SVM asks every row
to be on its side by a margin of 1, charges for what is missing, and keeps the weights small: the street between the
classes is 2 / |w| wide.

solver="dual" solves one binary problem a class, that class against the rest, exactly as LIBLINEAR does:

    min_w  1/2 |w|^2 + C sum_i s_i loss(t_i w.x_i),   loss(z) = max(0, 1 - z)^2 (squared hinge) or max(0, 1 - z) (hinge)

with t_i = 1 for the class and -1 for the rest, s_i the weight of the row, and the intercept the weight of one more
feature that is always ``intercept_scaling``, penalised like the others. This is scikit-learn's LinearSVC.

solver="sgd" takes one row at a time, over all classes together:

    y^ = argmax_y w_y.x + cost(right, y);    w_right += rate x,  w_y^ -= rate x,  after w <- (1 - rate decay) w

which descends on 1/2 |W|^2 + C sum_i s_i max_y (w_y.x_i + cost(y_i, y) - w_{y_i}.x_i) (Crammer and Singer), with
decay = 1 / (C sum_i s_i). A cost matrix says which errors are worse. The intercept is not penalised.

solver="coordinate" puts an L1 penalty in place of the L2 one, sum_j |w_j| + C sum_i s_i max(0, 1 - t_i f(x_i))^2: most
weights become zero, exactly. Here the intercept is not penalised.

References: Hsieh et al., A Dual Coordinate Descent Method for Large-scale Linear SVM, 2008; Crammer and Singer, On the
Algorithmic Implementation of Multiclass Kernel-based Vector Machines, 2001; Eisenstein, chapter 2.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic, solvers
from linnet.array_types import Array, Floats
from linnet.errors import DataError, LinnetError
from linnet.estimator import above_zero, one_of, truth, whole
from linnet.features.plan import FeaturePlan
from linnet.models import solving
from linnet.models.estimator import EpochState, Seed, StepModel, Traits
from linnet.models.inputs import seed_of
from linnet.solvers import dual
from linnet.solvers.callbacks import Weights, showing
from linnet.solvers.dual import signs_of
from linnet.solvers.losses import SquaredHinge
from linnet.solvers.matrix import Compact, Distinct, Matrix, RowBlocks, TrainingSet, compact, compact_gain

SOLVERS = {
    "dual": solving.Support(1000, ("l2",), ("squared_hinge", "hinge")),
    "coordinate": solving.Support(200, ("l1",), ("squared_hinge",)),
    "sgd": solving.Support(20, ("l2",), ("hinge",)),
}
LOSSES = ("squared_hinge", "hinge")
LARGE = 1 << 21  # entries: passes over more wait for weights that are not in the processor's cache
STEPS = 3  # passes over each batch of partial_fit


@dataclass(eq=False, repr=False)
class LinearSVM(StepModel):
    """A wide-margin line: the best single linear model for most text.

    Parameters: ``C`` weighs the loss against the penalty (smaller: simpler). ``penalty`` is "l2" or "l1", which leaves
    few weights that are not zero. ``loss`` is "squared_hinge" or "hinge"; None takes the solver's own (dual and
    coordinate: squared hinge; sgd: hinge). ``solver`` is "dual" (L2), "coordinate" (L1), "sgd" or an
    :class:`~linnet.solvers.online.SGD` with its own rate, schedule and decay; None takes the one for the penalty.
    ``tol`` bounds the spread of the projected gradient (dual), or how far the weights are from the conditions of the
    optimum, relative to weights of zero (coordinate); ``max_iter`` the passes (None: 1000 for dual, 200 steps for
    coordinate, 20 for sgd). ``fit_intercept``, ``intercept_scaling`` (dual, sgd). ``class_weight`` None, "balanced" or
    {label: factor}. ``cost`` (sgd only): ``cost[i][j]`` is the price of answering class j where class i is right, classes
    sorted; None charges 1 for every error. ``decay`` (sgd only): the weight decay; None takes that which C stands for.
    ``random_state``, ``n_jobs``.

    ``solver`` may also be an optimiser of :mod:`linnet.solvers`, such as ``LBFGS()``, or its name, "lbfgs": it minimises
    what "dual" does with the squared hinge, and has a tol of its own.

    The order of the rows never matters, and a row given twice is a row of weight 2, exactly. Threads share out classes
    and do not change the answer.

    Learned, beside the usual: ``margin_``, the width 2 / |w| of each output. By solver="dual" also ``support_``, the
    rows that hold the line: those on the wrong side of their margin, or on it; ``dual_coef_``, (n_outputs, n_support),
    what each of them adds: w = sum_i dual_coef_i x_i, dual_coef_i = alpha_i t_i; and ``slack_``, max(0, 1 - t f(x)) of
    every row: (n_rows,) or (n_rows, n_outputs); 0 for rows of weight zero.

    >>> model = LinearSVM().fit([[0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [2.0, 0.0]], ["cold", "cold", "hot", "hot"])
    >>> model.predict([[3.0, 0.5]]).tolist()
    ['hot']
    >>> round(float(model.margin_[0]), 3)
    2.121
    """

    plan = FeaturePlan(
        ratio=(0.5, 0.0, 0.25, 0.75, 1.0),
        grid=(("C", (1.5, 0.1, 0.3, 6.0)),),
        few=(("tf", "sublinear"),),
        fixed=(("tol", 0.3),),
        trial=(("tol", 1.0),),
        other_tf=("sublinear",),
        widths=True,
    )
    traits = Traits(sums="problem", gain_per_class=True, incremental=True, warm_start=True, bytes_per_weight=24)

    C: float = 1.0
    _: KW_ONLY
    penalty: str = "l2"
    loss: str | None = None
    solver: str | solvers.SGD | solvers.Optimiser | None = None
    tol: float = 0.01
    max_iter: int | None = None
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    class_weight: Any = None
    cost: npt.ArrayLike | None = None
    decay: float | None = None
    random_state: Any = 0
    n_jobs: int | None = 1

    def one_vs_rest(self, rows: TrainingSet) -> Weights:
        """Fit all labels side by side where the solver is the dual's."""
        return self.solve(rows) if self._by_dual else super().one_vs_rest(rows)

    @property
    def _by_dual(self) -> bool:
        return self.solver in (None, "dual") and self.penalty == "l2"

    @property
    def own_gain(self) -> bool:
        """Whether the solver takes a gain a class: stochastic steps and L1 take plain features."""
        solver = solving.stopping_of(self.solver)[0]
        steps = solver in ("sgd", "coordinate") or (solver is not None and isinstance(solver, solvers.SGD))
        return self.penalty == "l2" and not steps

    def solve_soft(self, rows: TrainingSet) -> Weights:
        """Fit to two copies of the rows where the solver takes each class against the rest."""
        return self.solve(rows.doubled()) if self._by_dual else super().solve_soft(rows)

    def solve(self, rows: TrainingSet) -> Weights:
        """Fit to encoded rows. With X.gain the weights returned are folded: they apply to the values without it."""
        rows = replace(rows, on_epoch=self._recorded(rows.on_epoch))
        optimiser, scale = solving.optimiser_of(self.solver, SOLVERS), self._bias_scale()
        for name in ("support_", "dual_coef_", "slack_"):  # what only the dual solver knows
            vars(self).pop(name, None)
        if optimiser is not None:
            if not self._squared():
                raise DataError("optimisers take the smooth loss='squared_hinge'; for 'hinge' use 'dual' or 'sgd'")
            self._no_cost()
            constant = scale if self.penalty == "l2" else None  # under L2 the intercept is penalised, as by the dual
            return solving.fit_optimised(
                self, rows, optimiser, SquaredHinge(), fit_intercept=truth("fit_intercept", self.fit_intercept), constant=constant
            )  # fmt: skip
        solver, sgd, loss, passes = solving.read_solver(self, SOLVERS, LOSSES)
        if sgd is not None:
            cost = _cost(self.cost, rows.n_classes)
            W, b = solving.fit_sgd(self, rows, sgd, "hinge", passes, cost=cost, bias_scale=scale)
            return W.astype(rows.X.values.dtype), b
        self._no_cost()
        if solver == "dual":
            return self._solve_dual(rows, loss, passes)
        found = solving.fit_l1(self, rows, SquaredHinge(), passes)
        return found.W.astype(rows.X.values.dtype), found.b

    @property
    def margin_(self) -> Floats:
        """The width 2 / |w| of each output."""
        lengths = np.asarray(arithmetic.norm(self.coef_.T.astype(np.float64), axis=0))
        return np.asarray(2.0 / np.maximum(lengths, np.finfo(np.float64).tiny))

    def _squared(self) -> bool:
        return one_of("loss", self.loss or "squared_hinge", LOSSES) == "squared_hinge"

    def _no_cost(self) -> None:
        if self.cost is not None:
            raise DataError("cost belongs to solver='sgd'; elsewhere use class_weight or sample_weight")

    def fit_blocks(self, rows: RowBlocks) -> Weights:
        """Fit to rows in blocks by dual coordinate descent."""
        rows = rows.doubled() if rows.soft else rows
        if not self._by_dual or self.cost is not None:
            raise LinnetError("on streams the svm is solved by its dual: leave out --solver, penalty and cost")
        most = dual.MOST_ROUNDS if self.max_iter is None else whole("max_iter", self.max_iter)
        found = dual.solve_blocks(
            rows, squared=self._squared(), C=above_zero("C", self.C), tol=above_zero("tol", self.tol),
            bias_scale=self._bias_scale(), max_epochs=most, seed=seed_of(self.random_state),
        )  # fmt: skip
        self._finish(found.epochs, most, found.violation, found.converged)
        return found.W, found.b

    def epoch(self, rows: TrainingSet, start: EpochState, seed: Seed) -> EpochState:
        """Move the weights as little as the rows ask for: a few passes over the dual of 1/2 |W - W_0|^2 + C sum_i s_i loss_i."""
        if self.cost is not None:
            raise DataError("cost belongs to fit with solver='sgd'; partial_fit takes class_weight or sample_weight")
        C, scale = above_zero("C", self.C), self._bias_scale()
        return solving.hinge_epoch(C, rows, start, seed, STEPS, squared=self._squared(), bias_scale=scale)

    def _bias_scale(self) -> float:
        scale = above_zero("intercept_scaling", self.intercept_scaling)
        return scale if truth("fit_intercept", self.fit_intercept) else 0.0

    def _solve_dual(self, rows: TrainingSet, loss: str, passes: int) -> Weights:
        tol, of = above_zero("tol", self.tol), rows.distinct()
        problem, small = self._problem(rows, of)

        def outputs(W: Array, b: Floats) -> Weights:
            return (W if small is None else small.expand(W, rows.X.values.dtype)), b

        found = dual.solve(
            problem, squared=loss == "squared_hinge", bias_scale=self._bias_scale(), tol=tol, max_epochs=passes,
            seed=seed_of(self.random_state), threads=rows.threads, on_epoch=showing(rows.on_epoch, outputs),
        )  # fmt: skip
        self._finish(found.epochs, passes, found.violation, found.converged)
        if small is not None and rows.X.gain is None:
            self._keep_dual(rows, of, found, small.X)
        elif self.warm is not None:
            self.left = found.signed.astype(np.float32)
        return outputs(found.W, found.b)

    def _problem(self, rows: TrainingSet, of: Distinct) -> tuple[dual.SVMProblem, Compact | None]:
        """Return the problem over the distinct rows: on fewer columns, or as it is where that would not pay."""
        X, C = rows.X, above_zero("C", self.C) * of.weight
        signs = signs_of(rows.y, rows.n_classes)
        if X.gain is None:
            X = X.explicit()
            fewer = compact(replace(X, values=X.values.astype(np.float64, copy=False)), of.rows)
            return dual.SVMProblem(fewer.X, signs[of.rows], C), fewer
        cost, start = np.zeros((len(X), *C.shape[1:])), None
        cost[of.rows] = C
        if self.warm is not None and self.warm.shape == signs.shape:
            start = np.zeros(signs.shape)
            start[of.rows] = self.warm[of.rows]
        small = compact_gain(X) if signs.shape[1] == 1 and len(X.indices) > LARGE else None
        return dual.SVMProblem(small.X if small else X, signs, cost, of.rows, start), small

    def _keep_dual(self, rows: TrainingSet, of: Distinct, found: dual.Solution, X: Matrix) -> None:
        """Keep the rows that hold the line and what each adds to the weights: w = sum_i dual_coef_i x_i."""
        share, signed = rows.weights, found.signed
        held = (of.place >= 0) & (np.abs(signed).max(axis=1) > 0.0)[of.place]
        self.support_ = np.flatnonzero(held)
        place = of.place[held]
        self.dual_coef_ = signed[place].T * (share[held] / of.weight[place]).T
        signs = signs_of(rows.y[of.rows], rows.n_classes)
        slack = np.maximum(0.0, 1.0 - signs * (X.dot(found.W) + found.b))[of.place]
        slack[of.place < 0] = 0.0
        self.slack_ = slack[:, 0] if slack.shape[1] == 1 else slack


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
