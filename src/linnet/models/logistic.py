"""Logistic regression: the linear model of probabilities.

The scores of the classes are turned into probabilities by the softmax,

    P(y | x) = exp(w_y.x + b_y) / sum_y' exp(w_y'.x + b_y')

and the weights are those under which the labels seen are most probable, held back by a penalty:

    min_{W, b}  1/2 |W|^2 + C sum_i s_i (-log P(y_i | x_i)),      s_i the weight of the row, b not penalised

Two classes need one score: P(1 | x) = sigmoid(w.x + b). This is scikit-learn's LogisticRegression with an L2 penalty.
The problem is smooth and strictly convex, so Newton's method reaches the optimum to the last digits in a few steps.
Coordinate descent on the dual is faster at first, and often to the end; Newton steps finish the rest.

penalty="l1" puts sum |W| in place of 1/2 |W|^2: most weights become zero, exactly (solver="coordinate").

solver="sgd" takes one row at a time: "more like the right answer, less like what the
model believes", theta += rate (f(x, y) - sum_y' P(y' | x) f(x, y')), with weight decay.

References: Eisenstein, sections 2.5 and 2.6; Lin, Weng, Keerthi: Trust Region Newton Method for Large-Scale Logistic
Regression, 2008; Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models,
2011; Yuan, Ho, Lin: An Improved GLMNET for L1-regularized Logistic Regression, 2012.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Floats
from linnet.errors import LinnetError
from linnet.estimator import above_zero, truth, whole
from linnet.features.plan import FeaturePlan
from linnet.models import solving
from linnet.models.estimator import EpochState, ProbabilityModel, Seed, StepModel, Traits
from linnet.models.inputs import seed_of
from linnet.solvers import dual_logistic
from linnet.solvers.callbacks import Weights, showing
from linnet.solvers.dual_logistic import Passes, SoftmaxPasses, TwoClassPasses
from linnet.solvers.losses import Logistic, Loss, Softmax
from linnet.solvers.matrix import RowBlocks, TrainingSet, compact
from linnet.solvers.newton import fit_sum, newton_steps
from linnet.solvers.online import SGD, descend
from linnet.solvers.optimisers import Optimiser
from linnet.solvers.problem import LinearProblem, SmoothObjective

STEPS = 10  # epochs over each batch of partial_fit
SOLVERS = {
    "dual": solving.Support(200),
    "newton": solving.Support(100),
    "coordinate": solving.Support(200, ("l1",)),
    "sgd": solving.Support(20),
}


@dataclass(eq=False, repr=False)
class LogisticRegression(StepModel, ProbabilityModel):
    """Probabilities from a line: log-odds are w.x + b.

    Parameters: ``C`` weighs the loss against the penalty (smaller: simpler, and less sure). ``penalty`` is "l2" or "l1",
    which leaves few weights that are not zero. ``solver`` is "dual" (L2), "newton" (L2), "coordinate" (L1),
    "sgd" or an :class:`~linnet.solvers.online.SGD` with its own rate, schedule and decay; None takes the first that does
    what is asked. All but sgd end at the same optimum. ``tol`` bounds |gradient| / |gradient at zero| (dual, newton), or
    the same of the conditions of the optimum (coordinate); ``max_iter`` the passes of dual and Newton steps together
    (None: 200), Newton steps (100), steps of coordinate (200) or passes of sgd (20). ``fit_intercept``.
    ``class_weight`` None, "balanced" or {label: factor}. ``decay`` (sgd only): the weight decay; None takes that which
    C stands for. ``random_state`` (all but newton). ``n_jobs`` (Newton steps only) do not change the answer.

    ``solver`` may also be an optimiser of :mod:`linnet.solvers`, such as ``Adam(learning_rate=0.1)``, or its name, "adam": it
    minimises the same, and has a tol of its own.

    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict_proba([[1.5], [3.0]]).round(3).tolist()
    [[0.5, 0.5], [0.192, 0.808]]
    """

    plan = FeaturePlan(
        ratio=(0.5, 0.0),
        grid=(("C", (10.0, 3.0, 30.0, 100.0)),),
        few=(("tf", "sublinear"),),
        fixed=(("tol", 3e-3),),
        trial=(("tol", 3e-2),),
        rough_from=50,
        other_tf=("sublinear",),
        widths=True,
    )

    traits = Traits(sums="problem", incremental=True, bytes_per_weight=40)

    C: float = 1.0
    _: KW_ONLY
    penalty: str = "l2"
    solver: str | SGD | Optimiser | None = None
    tol: float = 1e-8
    max_iter: int | None = None
    fit_intercept: bool = True
    class_weight: Any = None
    decay: float | None = None
    random_state: Any = 0
    n_jobs: int | None = 1

    def solve_soft(self, rows: TrainingSet) -> Weights:
        """Fit to the rows as they are where Newton's method is asked for: the softmax takes weights for every class."""
        own = self.solver == "newton" and self.penalty == "l2" and rows.n_classes > 2
        return self.solve(rows) if own else super().solve_soft(rows)

    def solve(self, rows: TrainingSet) -> Weights:
        """Fit to encoded rows."""
        rows = replace(rows, on_epoch=self._recorded(rows.on_epoch))
        optimiser = solving.optimiser_of(self.solver, SOLVERS)
        intercept = truth("fit_intercept", self.fit_intercept)
        if optimiser is not None:
            loss: Loss = Logistic() if rows.n_classes == 2 else Softmax()
            return solving.fit_optimised(self, rows, optimiser, loss, fit_intercept=intercept)
        solver, sgd, _, passes = solving.read_solver(self, SOLVERS)
        if sgd is not None:
            W, b = solving.fit_sgd(self, rows, sgd, "softmax", passes, cost=None, bias_scale=float(intercept))
        elif solver == "coordinate":
            found = solving.fit_l1(self, rows, Logistic() if rows.n_classes == 2 else Softmax(), passes)
            W, b = found.W, found.b
            if rows.n_outputs > 1:
                W, b = _sparsest(W), b - arithmetic.mean(b)
        else:
            W, b = self._solve(rows, passes, newton=solver == "newton")
        return W.astype(rows.X.values.dtype, copy=False), b

    def fit_blocks(self, rows: RowBlocks) -> Weights:
        """Fit to rows in blocks: two classes by the dual first, the rest by Newton's method on sums."""
        if self.penalty != "l2" or self.solver not in (None, "dual", "newton") or self.decay is not None:
            raise LinnetError(
                "where rows are in blocks on disk, logistic takes no --solver, penalty or decay; leave them out"
            )
        loss: Loss = Logistic() if rows.n_outputs == 1 or rows.multilabel else Softmax()
        intercept = truth("fit_intercept", self.fit_intercept)
        objective = SmoothObjective(loss, above_zero("C", self.C), fit_intercept=intercept)
        rows = rows.doubled() if rows.soft and rows.n_outputs == 1 else rows
        most = dual_logistic.MOST_ROUNDS if self.max_iter is None else whole("max_iter", self.max_iter)
        tol, start, made = above_zero("tol", self.tol), None, 0
        if rows.n_outputs == 1 and self.solver != "newton":
            seed = seed_of(self.random_state)
            passes = dual_logistic.BlockPasses(rows, objective, seed)
            run = dual_logistic.solve(passes, tol=tol, max_epochs=most, seed=[seed, 5], on_epoch=rows.on_epoch)
            self.n_iter_, self.interrupted_ = max(1, run.epochs), run.interrupted
            if run.converged or run.interrupted or run.epochs >= most:
                return run.W, run.b
            start, made = passes.vector(), run.epochs
        return fit_sum(self, objective, rows, tol=tol, most=most, start=start, made=made)

    def epoch(self, rows: TrainingSet, start: EpochState, seed: Seed) -> EpochState:
        """Take stochastic steps over the rows, a few times, from the weights that are there; the rate falls within a batch."""
        solver = solving.stopping_of(self.solver)[0]
        sgd = solver if isinstance(solver, SGD) else SGD()
        W, b = solving.halves(start.W, start.b) if rows.n_classes == 2 else (start.W, start.b)
        of = rows.distinct()
        run = descend(
            rows.X, rows.y, rows.n_classes, of, loss="softmax", sgd=sgd, decay=sgd.decay or 0.0, max_epochs=STEPS, seed=seed,
            start=(W, b), bias_scale=float(truth("fit_intercept", self.fit_intercept)),
        )  # fmt: skip
        return EpochState(*solving.outputs(*run.last), *solving.outputs(run.W, run.b), len(of.rows))

    def _solve(self, rows: TrainingSet, passes: int, *, newton: bool) -> Weights:
        """Coordinate descent on the dual, then Newton steps where its passes bring too little, or from the start.

        All over the distinct rows and fewer columns.
        """
        of, tol, n_outputs = rows.distinct(), above_zero("tol", self.tol), rows.n_outputs
        y, c = rows.y[of.rows], above_zero("C", self.C) * of.weight
        small = compact(rows.X, of.rows)

        def shown(W: Array, b: Any) -> Weights:
            b = np.atleast_1d(b)  # a common shift changes no probability
            return small.expand(W.reshape(-1, n_outputs), rows.X.values.dtype), b - (
                arithmetic.mean(b) if n_outputs > 1 else 0.0
            )

        with ThreadPoolExecutor(rows.threads) if n_outputs > 1 and rows.threads > 1 else nullcontext() as pool:
            f = LinearProblem(
                small.X, y, c, Logistic() if n_outputs == 1 else Softmax(), n_outputs,
                fit_intercept=truth("fit_intercept", self.fit_intercept), pool=pool, threads=rows.threads,
            )  # fmt: skip
            start, scale, made = None, None, 0
            if not newton:
                p: Passes = (SoftmaxPasses if n_outputs > 1 else TwoClassPasses)(f, small.norms)
                if not p.first:  # nothing to learn
                    self._finish(0, passes, 0.0, True)
                    return shown(*f.unpack(np.zeros(f.size)))
                seed, told = seed_of(self.random_state), showing(rows.on_epoch, shown)
                run = dual_logistic.solve(p, tol=tol, max_epochs=passes, seed=seed, on_epoch=told)
                if run.converged or run.interrupted or run.epochs == passes:
                    self._finish(run.epochs, passes, run.violation, run.converged)
                    return shown(run.W, run.b)
                start = np.append(run.W.astype(np.float64), run.b)[: f.size]
                scale, made = p.first, run.epochs
            return newton_steps(
                self, f, start, rows.on_epoch, len(rows.X), tol=tol, most=passes, scale=scale, made=made, shown=shown
            )


def _sparsest(W: Floats) -> Floats:
    """Shift the weights of each feature, which changes no probability, to where sum |w| is as small and zeros are more.

    Any shift that leaves as many weights above zero as below is as good; where none is zero, one of the two in the
    middle can be.

    >>> _sparsest(np.array([[3.0, 1.0, -0.5, -2.0], [0.0, 1.0, 0.0, 0.0]])).tolist()
    [[3.5, 1.5, 0.0, -1.5], [0.0, 1.0, 0.0, 0.0]]
    """
    if W.shape[1] % 2:
        return W
    rows = np.flatnonzero(W.all(axis=1))
    middle = np.sort(W[rows], axis=1)[:, W.shape[1] // 2 - 1 : W.shape[1] // 2 + 1]
    shift = np.where(-middle[:, 0] <= middle[:, 1], middle[:, 0], middle[:, 1])
    out = W.copy()
    out[rows] -= np.where((middle[:, 0] < 0.0) & (middle[:, 1] > 0.0), shift, 0.0)[:, None]
    return out
