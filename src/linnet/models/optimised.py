"""Fit a linear model with an optimiser given as its ``solver``: a value such as ``Adam(learning_rate=0.1)``, or its name.

    min_{W, b}  1/2 |W|^2 + C sum_i s_i loss(W^T x_i + b, y_i)          (|W|_1 in place of 1/2 |W|^2 for penalty "l1")

is what the exact solvers of the model minimise too, so an optimiser that converges gives their answer. Rows are the
distinct ones, in an order that their content decides: the order of the data does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.data.splitting import split_indices
from linnet.errors import DataError
from linnet.models.inputs import seed_of
from linnet.models.settings import above_zero, one_of, truth, whole
from linnet.solvers.callbacks import Callback, Epoch, Weights, warn_unfinished
from linnet.solvers.descent import OPTIMISERS, EarlyStopping, optimise
from linnet.solvers.losses import Logistic, Loss, Softmax, SquaredHinge
from linnet.solvers.matrix import Matrix
from linnet.solvers.optimisers import Optimiser
from linnet.solvers.problem import LinearProblem
from linnet.solvers.training_set import TrainingSet

__all__ = ["fit_logistic", "fit_optimised", "fit_svm", "optimiser_of"]

Floats = npt.NDArray[np.float64]


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
        judge, patience = _judge(X.take(held), y[held], weight[held]), optimiser.patience
        X, y, weight, optimiser = X.take(kept), y[kept], weight[kept], optimiser.optimiser
    l1 = _penalty(model) == "l1"

    def shown(weights: Weights) -> Weights:
        W, b = weights
        return (
            (W, b - arithmetic.mean(b)) if isinstance(loss, Softmax) else (W, b)
        )  # a common shift changes no probability

    def told(report: Epoch, weights: Callable[[], Weights]) -> None:
        if rows.on_epoch is not None:
            rows.on_epoch(report, lambda: shown(weights()))

    pool = ThreadPoolExecutor(rows.threads) if rows.threads > 1 else None
    try:
        problem = LinearProblem(
            X, y, C * weight, loss, rows.n_outputs, fit_intercept=fit_intercept, constant=constant,
            l2=float(not l1), l1=float(l1), pool=pool, threads=rows.threads,
        )  # fmt: skip
        watch = Callback(told, judge=judge, patience=patience)
        found = optimise(problem, optimiser, max_epochs=passes, watch=watch, seed=seed)
    finally:
        if pool is not None:
            pool.shutdown()
    model.n_iter_ = max(1, found.passes)
    model.interrupted_ = found.interrupted
    if not found.converged and not found.stopped and not found.interrupted and _promises(optimiser):
        warn_unfinished(type(model).__name__, found.passes, found.violation, optimiser.tol)
    return *shown(problem.weights(found.w)), problem.lengths(found.w)


def _promises(optimiser: Optimiser) -> bool:
    """Say whether an optimiser means to reach its tolerance: those with batches make their passes."""
    return getattr(optimiser, "batch_size", None) is None


def _judge(X: Matrix, y: npt.NDArray[np.int32], weight: Floats) -> Callable[[Weights], float]:
    """Return the accuracy of weights on held-out rows."""

    def accuracy(weights: Weights) -> float:
        W, b = weights
        S = X.dot(W) + b
        right = (S[:, 0] > 0.0) == (y == 1) if S.shape[1] == 1 else S.argmax(axis=1) == y
        return arithmetic.mean(right, weights=weight)

    return accuracy
