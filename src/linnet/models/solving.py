"""What the models of this package share on the way to a solver: the rows, the choice of solver, stochastic steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError
from linnet.models.settings import one_of
from linnet.solvers import coordinate
from linnet.solvers.callbacks import Epoch, Weights
from linnet.solvers.descent import OPTIMISERS
from linnet.solvers.losses import Loss
from linnet.solvers.online import SGD, Run, descend
from linnet.solvers.training_set import TrainingSet

__all__ = ["Support", "fit_l1", "fit_sgd", "halves", "outputs", "solver_of", "with_decay"]

Floats = npt.NDArray[np.float64]


def solver_of(setting: Any, known: Iterable[str]) -> tuple[str, SGD | None]:
    """Read a model's ``solver``: a name, or an SGD value; returns the name and, for "sgd", how steps are taken.

    >>> solver_of(SGD(learning_rate=0.1, decay=0.0), ["newton", "sgd"])[0]
    'sgd'
    """
    if isinstance(setting, SGD):
        return "sgd", setting
    name = one_of("solver", setting, dict.fromkeys([*known, *OPTIMISERS]))
    return name, SGD() if name == "sgd" else None


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


def fit_l1(
    rows: TrainingSet, loss: Loss, *, C: float, fit_intercept: bool, tol: float, max_steps: int, seed: int
) -> coordinate.Sparse:
    """Minimise sum |W| + C sum_i s_i loss_i over the distinct rows."""
    if rows.X.gain is not None:
        raise DataError("solver='coordinate' takes plain features; a gain per class is for the SVM's solver='dual'")
    of = rows.distinct()
    n = len(of.rows)

    def watch(number: int, value: float, violation: float, W: Floats, b: Floats) -> None:
        if rows.on_epoch is not None:
            rows.on_epoch(Epoch(number, value, violation, n), lambda: (W.copy(), b.copy()))

    return coordinate.solve(
        rows.X.take(of.rows), rows.y[of.rows], C * of.weight, loss, rows.n_outputs, fit_intercept=fit_intercept,
        tol=tol, max_steps=max_steps, seed=seed, on_step=watch,
    )  # fmt: skip


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
    if not isinstance(decay, int | float | np.number) or isinstance(decay, bool) or not 0 <= float(decay) < np.inf:
        raise DataError(f"decay must be a number from 0, got {decay!r}")
    return replace(sgd, decay=float(decay))


def fit_sgd(
    rows: TrainingSet,
    sgd: SGD,
    *,
    loss: str,
    C: float,
    cost: Floats | None = None,
    bias_scale: float = 1.0,
    max_epochs: int = 20,
    seed: int = 0,
) -> Run:
    """Descend on 1/2 |W|^2 + C sum_i s_i loss_i; returns one column for two classes.

    Divided by C sum s this is the mean loss and a decay of 1 / (C sum s). Two classes have two columns while the steps
    are taken, v_1 = -v_0 and w = v_1 - v_0, so that |v_0|^2 + |v_1|^2 = |w|^2 / 2: the decay is doubled.
    """
    if rows.X.gain is not None:
        raise DataError("solver='sgd' takes plain features; a gain per class is for the SVM's solver='dual'")
    of = rows.distinct()
    decay = sgd.decay
    if decay is None:
        decay = (2.0 if rows.n_classes == 2 else 1.0) / (C * arithmetic.total(of.weight))

    def watch(report: Epoch, weights: Callable[[], tuple[Floats, Floats]]) -> None:
        if rows.on_epoch is not None:
            scaled = Epoch(report.number, C * report.loss, report.violation, report.active)
            rows.on_epoch(scaled, lambda: outputs(*weights()))

    run = descend(
        rows.X, rows.y, rows.n_classes, of, loss=loss, sgd=sgd, decay=decay, cost=cost, bias_scale=bias_scale,
        max_epochs=max_epochs, seed=seed, on_epoch=watch,
    )  # fmt: skip
    W, b = outputs(run.W, run.b)
    return Run(W, b, run.passes, run.settled)


def outputs(W: Floats, b: Floats) -> Weights:
    """One score for two classes: how much better the second is."""
    return (W[:, 1:] - W[:, :1], b[1:] - b[:1]) if W.shape[1] == 2 else (W, b)


def halves(W: Floats, b: Floats) -> Weights:
    """Undo ``outputs``: half of the one score of two classes for the second, half against the first."""
    return np.concatenate([-W, W], axis=1) / 2.0, np.concatenate([-b, b]) / 2.0
