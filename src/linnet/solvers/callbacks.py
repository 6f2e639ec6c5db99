"""What every iterative solver reports after a pass over the data: one interface for bars, histories and plots."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linnet.solvers.curves import History

__all__ = ["ConvergenceWarning", "OnEpoch", "Epoch", "Callback", "Weights", "warn_unfinished"]

Weights: TypeAlias = tuple[npt.NDArray[Any], Any]
"""W, (n_features, n_outputs), and b, (n_outputs,); a net has embeddings and a Head in their place."""


@dataclass(frozen=True)
class Epoch:
    """One pass over the rows, or one step of a solver that looks at all rows at once.

    loss is C times the training loss, without the penalty; some solvers sum it while the weights move. violation is
    what ``tol`` bounds: the spread of the projected gradient (dual), |gradient| / |first gradient| (newton), the share
    of rows that changed the weights (sgd). active counts rows: still in play, all, or those that changed the weights.
    score is the accuracy on held-out rows, where some are held out.
    """

    number: int
    loss: float
    violation: float
    active: int
    score: float | None = None


OnEpoch: TypeAlias = Callable[[Epoch, Callable[[], Any]], Any]
"""Called after each pass with the report and a function that gives the weights so far."""


class Callback:
    """What happens between two passes: held-out rows are scored, the best weights are kept, the report goes out.

    judge(weights) is the accuracy on held-out rows. With patience, a call returns True once that many passes in a row
    were no better than the best before them: time to stop. ``best`` holds the weights of the best pass; a solver that
    is interrupted or stopped returns those where there are any. ``history`` holds every report.

    >>> scores = iter([0.5, 0.7, 0.6, 0.7])
    >>> watch = Callback(judge=lambda weights: next(scores), patience=2)
    >>> [watch(Epoch(k, 1.0, 1.0, 1), lambda k=k: f"weights {k}") for k in range(1, 5)]
    [False, False, False, True]
    >>> watch.best
    'weights 2'
    """

    def __init__(
        self,
        on_epoch: OnEpoch | None = None,
        *,
        judge: Callable[[Any], float] | None = None,
        patience: int | None = None,
    ) -> None:
        self.on_epoch, self.judge, self.patience = on_epoch, judge, patience
        self.best: Any = None
        self.best_score = -np.inf
        self.history: list[Epoch] = History()
        self._since = 0

    def __call__(self, report: Epoch, weights: Callable[[], Any]) -> bool:
        """Take the report of a pass; returns whether to stop."""
        if self.judge is not None:
            found = weights()
            report = replace(report, score=self.judge(found))
            better = report.score is not None and report.score > self.best_score
            if better and report.score is not None:
                self.best, self.best_score, self._since = found, report.score, 0
            else:
                self._since += 1
        self.history.append(report)
        if self.on_epoch is not None:
            self.on_epoch(report, weights)
        return self.judge is not None and self.patience is not None and self._since >= self.patience


class ConvergenceWarning(UserWarning):
    """A solver ran out of passes before it met its tolerance."""


def warn_unfinished(model: str, passes: int, violation: float, tol: float) -> None:
    """Say that a solver stopped early, and what to do."""
    warnings.warn(
        f"{model} stopped after max_iter={passes} passes at a violation of {violation:.1e}, above tol={tol:g}; "
        "scale the features, or raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=5,  # where fit was called
    )
