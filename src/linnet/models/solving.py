"""What the models of this package share on the way to a solver: the rows, the choice of solver, stochastic steps.

Fit a linear model with an optimiser given as its ``solver``: a value such as ``Adam(learning_rate=0.1)``, or its name.

    min_{W, b}  1/2 |W|^2 + C sum_i s_i loss(W^T x_i + b, y_i)          (|W|_1 in place of 1/2 |W|^2 for penalty "l1")

is what the exact solvers of the model minimise too, so an optimiser that converges gives their answer. Rows are the
distinct ones, in an order that their content decides: the order of the data does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linnet import arithmetic, solvers
from linnet.array_types import Floats
from linnet.data.splitting import split_indices
from linnet.errors import DataError
from linnet.estimator import above_zero, not_negative, one_of, truth, whole
from linnet.models.estimator import EpochState, Seed
from linnet.models.inputs import seed_of
from linnet.solvers.callbacks import Callback, SolverResult, Weights, showing, warn_unfinished
from linnet.solvers.dual import hinge_steps, signs_of
from linnet.solvers.losses import Loss, Softmax
from linnet.solvers.matrix import Distinct, TrainingSet


@dataclass(frozen=True)
class Support:
    """What a solver of a model can do, the first of each its default, and how many passes it makes at most by default."""

    passes: int
    penalties: tuple[str, ...] = ("l2",)
    losses: tuple[str, ...] = ()


PENALTIES = {"l2": "dual", "l1": "coordinate"}
"""Each penalty and the solver that is taken where none is given."""


def read_solver(
    model: Any, known: Mapping[str, Support], losses: tuple[str, ...] = ()
) -> tuple[str, solvers.SGD | None, str, int]:
    """Read a model's solver, penalty, loss, decay and max_iter; returns the solver, SGD's settings, the loss and the epochs.

    What the solver cannot do is refused, and the error says which can. A ``decay`` is the weight decay of stochastic steps,
    in place of the one that C stands for.
    """
    penalty = one_of("penalty", model.penalty, PENALTIES)
    setting: Any = PENALTIES[penalty] if model.solver is None else stopping_of(model.solver)[0]
    name = setting if isinstance(setting, str) and setting in known else "sgd"
    if name != setting and not isinstance(setting, solvers.SGD):
        one_of("solver", setting, dict.fromkeys([*known, *solvers.OPTIMISERS]))
    support, loss = known[name], ""
    if losses:
        loss = support.losses[0] if model.loss is None else one_of("loss", model.loss, losses)
    for what, field, got in (("penalty", "penalties", penalty), ("loss", "losses", loss)):
        if got and got not in getattr(support, field):
            others = [repr(other) for other, can in known.items() if got in getattr(can, field)]
            raise DataError(
                f"solver {name!r} has {what} {', '.join(getattr(support, field))} only, got {got!r}; "
                f"that is for solver {' or '.join(others)}"
            )
    passes = support.passes if model.max_iter is None else whole("max_iter", model.max_iter)
    sgd = None if name != "sgd" else solvers.SGD() if name == setting else setting
    if model.decay is not None:
        if sgd is None:
            raise DataError(f"decay belongs to solver='sgd', got decay={model.decay!r}; other solvers take C")
        if sgd.decay is not None:
            raise DataError(f"decay is given twice: decay={model.decay!r} and solver={sgd!r}; leave one out")
        sgd = replace(sgd, decay=not_negative("decay", model.decay))
    return name, sgd, loss, passes


def fit_l1(model: Any, rows: TrainingSet, loss: Loss, passes: int) -> SolverResult:
    """Minimise sum |W| + C sum_i s_i loss_i over the distinct rows; reads the model's settings, sets n_iter_ and interrupted_."""
    from linnet.solvers import coordinate

    of = rows.distinct()
    found = coordinate.solve(
        rows.X.take(of.rows), rows.y[of.rows], above_zero("C", model.C) * of.weight, loss, rows.n_outputs,
        fit_intercept=truth("fit_intercept", model.fit_intercept), tol=above_zero("tol", model.tol), max_steps=passes,
        seed=seed_of(model.random_state), on_epoch=rows.on_epoch,
    )  # fmt: skip
    model._finish(found.epochs, passes, found.violation, found.converged)
    return found


def fit_sgd(
    model: Any, rows: TrainingSet, sgd: solvers.SGD, loss: str, passes: int, *, cost: Floats | None, bias_scale: float
) -> Weights:
    """Descend on 1/2 |W|^2 + C sum_i s_i loss_i; returns one column for two classes.

    Divided by C sum s this is the mean loss and a decay of 1 / (C sum s). Two classes have two columns while the steps
    are taken, v_1 = -v_0 and w = v_1 - v_0, so that |v_0|^2 + |v_1|^2 = |w|^2 / 2: the decay is doubled.
    """
    from linnet.solvers.online import descend

    C, seed = above_zero("C", model.C), seed_of(model.random_state)
    watch, of = watched(rows, rows.distinct(), seed, stopping_of(model.solver)[1])
    told, decay = showing(watch, outputs), sgd.decay
    if sgd.learning_rate == "find":
        model.sweep_ = solvers.find_rate(rows.X.take(of.rows), rows.y[of.rows], sgd, loss=loss, seed=seed)
        sgd = replace(sgd, learning_rate=model.sweep_.suggestion)
    if decay is None:
        decay = (2.0 if rows.n_classes == 2 else 1.0) / (C * arithmetic.total(of.weight))
    run = descend(
        rows.X, rows.y, rows.n_classes, of, loss=loss, sgd=sgd, decay=decay, cost=cost, bias_scale=bias_scale,
        max_epochs=passes, seed=seed, on_epoch=lambda report, weights: told(replace(report, loss=C * report.loss), weights),
    )  # fmt: skip
    model.n_iter_, model.interrupted_ = run.epochs, run.interrupted
    return outputs(run.W, run.b) if watch.best is None else watch.best


def hinge_epoch(
    C: float, rows: TrainingSet, start: EpochState, seed: Seed, passes: int, *, squared: bool, bias_scale: float
) -> EpochState:  # fmt: skip
    """Pass over the distinct rows, each a step on the dual of 1/2 |W - W_0|^2 + C sum_i s_i loss_i; returns the state after them."""
    rng, of, cost = np.random.Generator(np.random.PCG64(seed)), rows.distinct(), np.zeros(len(rows))
    cost[of.rows] = C * of.weight
    W, b, loss, moved = hinge_steps(
        rows.X.explicit(), signs_of(rows.y, rows.n_classes), cost, start.W, start.b,
        [rng.permutation(of.rows).astype(np.int32) for _ in range(passes)], squared=squared, bias_scale=bias_scale,
    )  # fmt: skip
    return EpochState.at(W, b, len(of.rows), loss, moved)


def stopping_of(solver: Any) -> tuple[Any, solvers.EarlyStopping | None]:
    """Return the solver inside :class:`~linnet.solvers.descent.EarlyStopping`, and that; another one as it is."""
    plain = solver is None or isinstance(solver, str) or not isinstance(solver, solvers.EarlyStopping)
    return (solver, None) if plain else (solver.optimiser, solver)


def watched(
    rows: TrainingSet, of: Distinct, seed: int, early: solvers.EarlyStopping | None
) -> tuple[Callback, Distinct]:
    """Return what is told of each pass, and the rows to learn from: with early stopping some are held out to judge by."""
    if early is None:
        return Callback(rows.on_epoch), of
    part = early.validation_fraction
    kept, held = split_indices(rows.y[of.rows], seed, (1.0 - part, part))
    if not len(held) or not len(kept):
        raise DataError(f"validation_fraction={part:g} of {len(of.rows)} rows leaves none to learn from or to judge by")
    X, y, weight = rows.X.take(of.rows[held]), rows.y[of.rows[held]], of.weight[held]

    def accuracy(weights: Weights) -> float:
        S = X.dot(weights[0]) + weights[1]
        right = (S[:, 0] > 0.0) == (y == 1) if S.shape[1] == 1 else S.argmax(axis=1) == y
        return arithmetic.mean(right, weights=weight)

    learned_from = Distinct(of.rows[kept], of.weight[kept], of.place)
    return Callback(rows.on_epoch, judge=accuracy, patience=early.patience), learned_from


def outputs(W: Floats, b: Floats) -> Weights:
    """One score for two classes: how much better the second is."""
    return (W[:, 1:] - W[:, :1], b[1:] - b[:1]) if W.shape[1] == 2 else (W, b)


def halves(W: Floats, b: Floats) -> Weights:
    """Undo ``outputs``: half of the one score of two classes for the second, half against the first."""
    return np.concatenate([-W, W], axis=1) / 2.0, np.concatenate([-b, b]) / 2.0


def optimiser_of(setting: Any, own: Iterable[str]) -> solvers.Optimiser | None:
    """Read a model's ``solver``: an optimiser value or the name of one; None where it is one of the model's own.

    >>> optimiser_of("lbfgs", ["newton", "sgd"])
    LBFGS(tol=1e-08, history=10)
    >>> optimiser_of("newton", ["newton", "sgd"]) is None
    True
    """
    if setting is None or (isinstance(setting, str) and setting in own):
        return None
    if isinstance(setting, str) and setting in solvers.OPTIMISERS:
        return solvers.OPTIMISERS[setting]()
    return setting if isinstance(stopping_of(setting)[0], solvers.Optimiser) else None


def fit_optimised(
    model: Any, rows: TrainingSet, optimiser: solvers.Optimiser, loss: Loss, *, fit_intercept: bool, constant: float | None = None
) -> Weights:  # fmt: skip
    """Minimise the model's objective; returns W and b.

    Reads the model's C, max_iter, random_state, penalty and decay; sets n_iter_ and interrupted_. constant is that of
    :class:`~linnet.solvers.problem.LinearProblem`: for intercepts that are penalised.
    """
    from linnet.solvers.optimisers import Stepwise, with_settings

    if model.decay is not None:
        raise DataError(f"decay belongs to solver='sgd', got decay={model.decay!r}; other solvers take C")
    C, seed = above_zero("C", model.C), seed_of(model.random_state)
    passes = None if model.max_iter is None else whole("max_iter", model.max_iter)
    optimiser, early = stopping_of(optimiser)
    l1 = one_of("penalty", model.penalty, PENALTIES) == "l1"

    def shown(W: Floats, b: Floats) -> Weights:
        return W, b - arithmetic.mean(b) if isinstance(loss, Softmax) else b  # a common shift changes no probability

    watch, of = watched(replace(rows, on_epoch=showing(rows.on_epoch, shown)), rows.distinct(), seed, early)
    X, y, weight = rows.X.take(of.rows), rows.y[of.rows], of.weight
    if isinstance(optimiser, Stepwise) and optimiser.learning_rate == "find":
        model.sweep_ = solvers.find_rate(X, y, optimiser, loss=loss, C=C, seed=seed)
        optimiser = with_settings(optimiser, learning_rate=model.sweep_.suggestion)
    with ThreadPoolExecutor(rows.threads) if rows.threads > 1 else nullcontext() as pool:
        problem = solvers.LinearProblem(
            X, y, C * weight, loss, rows.n_outputs, fit_intercept=fit_intercept, constant=constant,
            l2=float(not l1), l1=float(l1), pool=pool, threads=rows.threads,
        )  # fmt: skip
        found = solvers.optimise(problem, optimiser, max_epochs=passes, watch=watch, seed=seed)
    model.n_iter_ = max(1, found.passes)
    model.interrupted_ = found.interrupted
    promised = getattr(optimiser, "batch_size", None) is None  # those with batches make their passes, and no more
    if promised and model.warns and not found.converged and not found.stopped and not found.interrupted:
        warn_unfinished(type(model).__name__, found.passes, found.violation, optimiser.tol)
    W, b = shown(*problem.weights(found.w))
    return W.astype(rows.X.values.dtype), b
