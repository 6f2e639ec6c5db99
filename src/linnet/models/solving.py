"""What the models of this package share on the way to a solver: the task, the choice of solver, stochastic steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError
from linnet.models.settings import one_of
from linnet.solvers.distinct import distinct
from linnet.solvers.matrix import Matrix
from linnet.solvers.online import SGD, Run, descend
from linnet.solvers.report import OnPass, Pass, Weights

__all__ = ["Task", "fit_sgd", "solver_of", "with_decay"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """What fit_matrix was asked: rows, their classes and weights, threads, and whom to tell."""

    X: Matrix
    y: npt.NDArray[np.int32]
    n_classes: int
    weight: Floats | None
    threads: int
    on_pass: OnPass | None

    @property
    def n_outputs(self) -> int:
        """One score for two classes, else one a class."""
        return 1 if self.n_classes == 2 else self.n_classes


def solver_of(setting: Any, known: Iterable[str]) -> tuple[str, SGD | None]:
    """Read a model's ``solver``: a name, or an SGD value; returns the name and, for "sgd", how steps are taken.

    >>> solver_of(SGD(rate=0.1, decay=0.0), ["newton", "sgd"])[0]
    'sgd'
    """
    if isinstance(setting, SGD):
        return "sgd", setting
    name = one_of("solver", setting, known)
    return name, SGD() if name == "sgd" else None


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
    task: Task,
    sgd: SGD,
    *,
    loss: str,
    C: float,
    cost: Floats | None = None,
    bias_scale: float = 1.0,
    max_passes: int = 20,
    seed: int = 0,
) -> Run:
    """Descend on 1/2 |W|^2 + C sum_i s_i loss_i; returns one column for two classes.

    Divided by C sum s this is the mean loss and a decay of 1 / (C sum s). Two classes have two columns while the steps
    are taken, v_1 = -v_0 and w = v_1 - v_0, so that |v_0|^2 + |v_1|^2 = |w|^2 / 2: the decay is doubled.
    """
    if task.X.gain is not None:
        raise DataError("solver='sgd' takes plain features; a gain per class is for the SVM's solver='dual'")
    of = distinct(task.X, task.y, task.weight)
    decay = sgd.decay
    if decay is None:
        decay = (2.0 if task.n_classes == 2 else 1.0) / (C * float(of.weight.sum()))

    def watch(report: Pass, weights: Callable[[], tuple[Floats, Floats]]) -> None:
        if task.on_pass is not None:
            scaled = Pass(report.number, C * report.loss, report.violation, report.active)
            task.on_pass(scaled, lambda: _outputs(*weights()))

    run = descend(
        task.X, task.y, task.n_classes, of, loss=loss, sgd=sgd, decay=decay, cost=cost, bias_scale=bias_scale,
        max_passes=max_passes, seed=seed, on_pass=watch,
    )  # fmt: skip
    W, b = _outputs(run.W, run.b)
    return Run(W, b, run.passes, run.settled)


def _outputs(W: Floats, b: Floats) -> Weights:
    """One score for two classes: how much better the second is."""
    return (W[:, 1:] - W[:, :1], b[1:] - b[:1]) if W.shape[1] == 2 else (W, b)
