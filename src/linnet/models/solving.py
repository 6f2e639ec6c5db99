"""What the models of this package share on the way to a solver: the rows, the choice of solver, stochastic steps.

Fit a linear model with an optimiser given as its ``solver``: a value such as ``Adam(learning_rate=0.1)``, or its name.

    min_{W, b}  1/2 |W|^2 + C sum_i s_i loss(W^T x_i + b, y_i)          (|W|_1 in place of 1/2 |W|^2 for penalty "l1")

is what the exact solvers of the model minimise too, so an optimiser that converges gives their answer. Rows are the
distinct ones, in an order that their content decides: the order of the data does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.data.splitting import split_indices
from linnet.errors import DataError
from linnet.estimator import above_zero, not_negative, one_of, truth, whole
from linnet.models.inputs import seed_of
from linnet.solvers import coordinate
from linnet.solvers.callbacks import Callback, Epoch, SolverResult, Weights, showing, warn_unfinished
from linnet.solvers.descent import OPTIMISERS, EarlyStopping, optimise
from linnet.solvers.losses import Logistic, Loss, Softmax, SquaredHinge
from linnet.solvers.matrix import Matrix
from linnet.solvers.online import SGD, descend
from linnet.solvers.optimisers import Optimiser
from linnet.solvers.problem import LinearProblem
from linnet.solvers.training_set import TrainingSet

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Support:
    """What a solver of a model can do, the first of each its default, and how many passes it makes at most by default."""

    passes: int
    penalties: tuple[str, ...] = ("l2",)
    losses: tuple[str, ...] = ()

    def check(self, solver: str, known: Mapping[str, Support], **asked: str) -> None:
        """Refuse what the solver cannot do, and say which can.

        >>> Support(20).check("sgd", {"sgd": Support(20), "coordinate": Support(9, ("l1",))}, penalty="l1")
        Traceback (most recent call last):
        linnet.errors.DataError: solver 'sgd' has penalty l2 only, got 'l1'; that is for solver 'coordinate'
        """
        for what, got in asked.items():
            field = {"penalty": "penalties", "loss": "losses"}[what]
            if got not in getattr(self, field):
                others = [repr(name) for name, other in known.items() if got in getattr(other, field)]
                raise DataError(
                    f"solver {solver!r} has {what} {', '.join(getattr(self, field))} only, got {got!r}; "
                    f"that is for solver {' or '.join(others)}"
                )


PENALTIES = {"l2": "dual", "l1": "coordinate"}
"""Each penalty and the solver that is taken where none is given."""


def read_solver(
    model: Any, known: Mapping[str, Support], losses: tuple[str, ...] = ()
) -> tuple[str, SGD | None, str, int]:
    """Read a model's solver, penalty, loss, decay and max_iter; returns the solver, SGD's settings, the loss and the epochs."""
    penalty = one_of("penalty", model.penalty, PENALTIES)
    setting = PENALTIES[penalty] if model.solver is None else model.solver
    name = "sgd" if isinstance(setting, SGD) else one_of("solver", setting, dict.fromkeys([*known, *OPTIMISERS]))
    support, asked = known[name], {"penalty": penalty}
    if losses:
        asked["loss"] = support.losses[0] if model.loss is None else one_of("loss", model.loss, losses)
    support.check(name, known, **asked)
    passes = support.passes if model.max_iter is None else whole("max_iter", model.max_iter)
    sgd = setting if isinstance(setting, SGD) else SGD() if name == "sgd" else None
    return name, with_decay(sgd, model.decay), asked.get("loss", ""), passes


def fit_l1(model: Any, rows: TrainingSet, loss: Loss, passes: int) -> SolverResult:
    """Minimise sum |W| + C sum_i s_i loss_i over the distinct rows; reads the model's settings, sets n_iter_ and interrupted_."""
    if rows.X.gain is not None:
        raise DataError("solver='coordinate' takes plain features; a gain per class is for the SVM's solver='dual'")
    of = rows.distinct()

    def watch(number: int, value: float, violation: float, W: Floats, b: Floats) -> None:
        rows.on_epoch(Epoch(number, value, violation, len(of.rows)), lambda: (W.copy(), b.copy()))

    found = coordinate.solve(
        rows.X.take(of.rows), rows.y[of.rows], above_zero("C", model.C) * of.weight, loss, rows.n_outputs,
        fit_intercept=truth("fit_intercept", model.fit_intercept), tol=above_zero("tol", model.tol), max_steps=passes,
        seed=seed_of(model.random_state), on_step=watch,
    )  # fmt: skip
    model._finish(found.epochs, passes, found.violation, found.converged)
    return found


def with_decay(sgd: SGD | None, decay: Any) -> SGD | None:
    """Fill in a model's ``decay``: the weight decay of stochastic steps, in place of the one that C stands for.

    >>> with_decay(SGD(), 0.1).decay
    0.1
    """
    if decay is None:
        return sgd
    if sgd is None:
        raise DataError(f"decay belongs to solver='sgd', got decay={decay!r}; other solvers take C")
    if sgd.decay is not None:
        raise DataError(f"decay is given twice: decay={decay!r} and solver={sgd!r}; leave one out")
    return replace(sgd, decay=not_negative("decay", decay))


def fit_sgd(
    model: Any, rows: TrainingSet, sgd: SGD, loss: str, passes: int, *, cost: Floats | None = None, bias_scale: float
) -> Weights:
    """Descend on 1/2 |W|^2 + C sum_i s_i loss_i; returns one column for two classes.

    Divided by C sum s this is the mean loss and a decay of 1 / (C sum s). Two classes have two columns while the steps
    are taken, v_1 = -v_0 and w = v_1 - v_0, so that |v_0|^2 + |v_1|^2 = |w|^2 / 2: the decay is doubled.
    """
    if rows.X.gain is not None:
        raise DataError("solver='sgd' takes plain features; a gain per class is for the SVM's solver='dual'")
    of, C = rows.distinct(), above_zero("C", model.C)
    decay = sgd.decay
    if decay is None:
        decay = (2.0 if rows.n_classes == 2 else 1.0) / (C * arithmetic.total(of.weight))
    told = showing(rows.on_epoch, outputs)
    run = descend(
        rows.X, rows.y, rows.n_classes, of, loss=loss, sgd=sgd, decay=decay, cost=cost, bias_scale=bias_scale,
        max_epochs=passes, seed=seed_of(model.random_state),
        on_epoch=lambda report, weights: told(replace(report, loss=C * report.loss), weights),
    )  # fmt: skip
    model.n_iter_, model.interrupted_ = run.passes, run.passes < passes and not run.settled
    return outputs(run.W, run.b)


def outputs(W: Floats, b: Floats) -> Weights:
    """One score for two classes: how much better the second is."""
    return (W[:, 1:] - W[:, :1], b[1:] - b[:1]) if W.shape[1] == 2 else (W, b)


def halves(W: Floats, b: Floats) -> Weights:
    """Undo ``outputs``: half of the one score of two classes for the second, half against the first."""
    return np.concatenate([-W, W], axis=1) / 2.0, np.concatenate([-b, b]) / 2.0


def optimiser_of(setting: Any, own: Iterable[str]) -> Optimiser | None:
    """Read a model's ``solver``: an optimiser value or the name of one; None where it is one of the model's own.

    >>> optimiser_of("lbfgs", ["newton", "sgd"])
    LBFGS(tol=1e-08, history=10)
    >>> optimiser_of("newton", ["newton", "sgd"]) is None
    True
    """
    if isinstance(setting, Optimiser):
        return setting
    if isinstance(setting, str) and setting in OPTIMISERS and setting not in own:
        return OPTIMISERS[setting]()
    return None


def fit_logistic(model: Any, rows: TrainingSet, optimiser: Optimiser) -> Weights:
    """Fit a LogisticRegression: its intercept is not penalised."""
    loss: Loss = Logistic() if rows.n_classes == 2 else Softmax()
    W, b, _ = fit_optimised(model, rows, optimiser, loss, fit_intercept=truth("fit_intercept", model.fit_intercept))
    return W.astype(rows.X.values.dtype), b


def fit_svm(model: Any, rows: TrainingSet, optimiser: Optimiser) -> Weights:
    """Fit a LinearSVM by its squared hinge: under L2 the intercept is penalised, as by the dual solver."""
    if one_of("loss", "squared_hinge" if model.loss is None else model.loss, ("squared_hinge", "hinge")) == "hinge":
        raise DataError(
            "the hinge is not smooth: optimisers take loss='squared_hinge'; for 'hinge' use 'dual' or 'sgd'"
        )
    if model.cost is not None:
        raise DataError("cost belongs to solver='sgd'; elsewhere use class_weight or sample_weight")
    scale = above_zero("intercept_scaling", model.intercept_scaling)
    intercept = truth("fit_intercept", model.fit_intercept)
    constant = (scale if intercept else 0.0) if _penalty(model) == "l2" else None
    W, b, lengths = fit_optimised(model, rows, optimiser, SquaredHinge(), fit_intercept=intercept, constant=constant)
    for name in ("support_", "dual_coef_", "slack_"):  # what only the dual solver knows
        vars(model).pop(name, None)
    model.margin_ = 2.0 / np.maximum(lengths, np.finfo(np.float64).tiny)
    return W.astype(rows.X.values.dtype), b


def _penalty(model: Any) -> str:
    return one_of("penalty", getattr(model, "penalty", "l2"), ("l2", "l1"))


def fit_optimised(
    model: Any,
    rows: TrainingSet,
    optimiser: Optimiser,
    loss: Loss,
    *,
    fit_intercept: bool = True,
    constant: float | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Minimise the model's objective; returns W, b, and |w| of each output.

    Reads the model's C, max_iter, random_state and penalty; sets n_iter_ and interrupted_. constant is that of
    :class:`~linnet.solvers.problem.LinearProblem`: for intercepts that are penalised.
    """
    if getattr(model, "decay", None) is not None:
        raise DataError(f"decay belongs to solver='sgd', got decay={model.decay!r}; other solvers take C")
    C, seed = above_zero("C", model.C), seed_of(model.random_state)
    passes = None if model.max_iter is None else whole("max_iter", model.max_iter)
    of = rows.distinct()
    X, y, weight = rows.X.take(of.rows), rows.y[of.rows], of.weight
    judge, patience = None, None
    if isinstance(optimiser, EarlyStopping):
        kept, held = split_indices(y, seed, (1.0 - optimiser.validation_fraction, optimiser.validation_fraction))
        judge, patience = accuracy_on(X.take(held), y[held], weight[held]), optimiser.patience
        X, y, weight, optimiser = X.take(kept), y[kept], weight[kept], optimiser.optimiser
    l1 = _penalty(model) == "l1"

    def shown(W: Floats, b: Floats) -> Weights:
        return W, b - arithmetic.mean(b) if isinstance(loss, Softmax) else b  # a common shift changes no probability

    with ThreadPoolExecutor(rows.threads) if rows.threads > 1 else nullcontext() as pool:
        problem = LinearProblem(
            X, y, C * weight, loss, rows.n_outputs, fit_intercept=fit_intercept, constant=constant,
            l2=float(not l1), l1=float(l1), pool=pool, threads=rows.threads,
        )  # fmt: skip
        watch = Callback(showing(rows.on_epoch, shown), judge=judge, patience=patience)
        found = optimise(problem, optimiser, max_epochs=passes, watch=watch, seed=seed)
    model.n_iter_ = max(1, found.passes)
    model.interrupted_ = found.interrupted
    if not found.converged and not found.stopped and not found.interrupted and _promises(optimiser):
        warn_unfinished(type(model).__name__, found.passes, found.violation, optimiser.tol)
    return *shown(*problem.weights(found.w)), problem.lengths(found.w)


def _promises(optimiser: Optimiser) -> bool:
    """Say whether an optimiser means to reach its tolerance: those with batches make their passes."""
    return getattr(optimiser, "batch_size", None) is None


def accuracy_on(X: Matrix, y: npt.NDArray[np.int32], weight: Floats) -> Callable[[Weights], float]:
    """Return the accuracy of weights on held-out rows."""

    def accuracy(weights: Weights) -> float:
        W, b = weights
        S = X.dot(W) + b
        right = (S[:, 0] > 0.0) == (y == 1) if S.shape[1] == 1 else S.argmax(axis=1) == y
        return arithmetic.mean(right, weights=weight)

    return accuracy
