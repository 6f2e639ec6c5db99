"""What every iterative solver reports after a pass over the data: one interface for bars, histories and plots."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["ConvergenceWarning", "OnPass", "Pass", "Weights", "warn_unfinished"]

Weights: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[np.float64]]
"""W, (n_features, n_outputs), and b, (n_outputs,)."""


@dataclass(frozen=True)
class Pass:
    """One pass over the rows, or one step of a solver that looks at all rows at once.

    loss is C times the training loss, without the penalty; some solvers sum it while the weights move. violation is
    what ``tol`` bounds: the spread of the projected gradient (dual), |gradient| / |first gradient| (newton), the share
    of rows that changed the weights (sgd). active counts rows: still in play, all, or those that changed the weights.
    """

    number: int
    loss: float
    violation: float
    active: int


OnPass: TypeAlias = Callable[[Pass, Callable[[], Weights]], None]
"""Called after each pass with the report and a function that gives the weights so far."""


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
