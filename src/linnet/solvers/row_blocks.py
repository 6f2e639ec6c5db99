"""Rows that come in blocks: what a solver asks of rows on disk or on the workers of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.solvers.callbacks import OnEpoch
from linnet.solvers.training_set import TrainingSet

__all__ = ["RowBlocks"]

Floats = npt.NDArray[np.float64]


class RowBlocks:
    """Weighted rows in blocks. A function of a block gets its rows as a :class:`TrainingSet`."""

    n_rows: int
    n_features: int
    n_classes: int
    n_outputs: int
    multilabel: bool
    """Whether rows may have several labels."""
    total_weight: float
    gain: npt.NDArray[np.float32] | None  # (n_outputs or 1, n_features)
    threads: int
    local: bool
    """Whether blocks can be visited one after the other here, with a state kept for each row."""

    on_epoch: OnEpoch
    numbers: tuple[int, ...] = ()
    """The blocks there are, where rows are local."""

    def add_up(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of function(rows, *args) over all blocks."""
        raise NotImplementedError

    def with_gain(self, gain: npt.NDArray[np.float32], on_epoch: OnEpoch) -> RowBlocks:
        """Return the same rows with a weight for each feature and class that is not in the values."""
        raise NotImplementedError

    # ---- local rows only

    def visit(self, order: npt.NDArray[Any] | None = None) -> Iterator[tuple[tuple[int, ...], TrainingSet]]:
        """Yield the numbers and the rows of a few blocks at a time, in their order or in another."""
        raise NotImplementedError

    def state(self, group: tuple[int, ...], shape: tuple[int, ...]) -> Floats | None:
        """Return what was kept for the rows of some blocks, shape + (n_rows,); None where nothing was."""
        raise NotImplementedError

    def keep_state(self, group: tuple[int, ...], state: Floats) -> None:
        """Keep numbers for each row, (..., n_rows)."""
        raise NotImplementedError
