"""What a model is fitted to: encoded rows, their classes and weights, threads, and who hears of each epoch.

Rows that come in blocks: what a solver asks of rows on disk or on the workers of an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.solvers.callbacks import OnEpoch, ignore
from linnet.solvers.matrix import Distinct, Matrix, as_given, distinct

Floats = npt.NDArray[np.float64]
LEAST = 1e-9  # of the weight of a row: what a class weighs that it does not have


@dataclass(frozen=True)
class TrainingSet:
    """Rows of numbers, the class of each, and its weight (None: 1 each).

    Where rows may have several labels y is an indicator matrix, (n_rows, n_classes), and every class has an output;
    weights may then differ from class to class, (n_rows, n_classes).

    Soft labels: with one class a row and weights for every class, (n_rows, n_classes), a row stands for as many rows as
    it has weights above 0, one of each class; y is the class of the largest.
    """

    X: Matrix
    y: npt.NDArray[Any]
    n_classes: int
    weight: Floats | None = None
    threads: int = 1
    on_epoch: OnEpoch = ignore

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_outputs(self) -> int:
        """One score for two classes, else one a class."""
        return 1 if self.n_classes == 2 and not self.multilabel else self.n_classes

    @property
    def multilabel(self) -> bool:
        """Whether rows may have several labels."""
        return self.y.ndim == 2

    @property
    def soft(self) -> bool:
        """Whether rows have a weight for every class, of which y is one."""
        return not self.multilabel and self.weight is not None and self.weight.ndim == 2

    def as_class(self, c: int) -> TrainingSet:
        """Return the rows as they are of one class, with the weights that they have as such."""
        assert self.weight is not None  # noqa: S101 - soft
        weight = np.ascontiguousarray(self.weight[:, c])
        return replace(self, y=np.full(len(self.y), c, dtype=np.int32), weight=weight)

    def repeated(self) -> TrainingSet:
        """Return soft rows with one label each: a copy of the row for each class that it has a weight for."""
        assert self.weight is not None  # noqa: S101 - soft
        rows, classes = np.nonzero(self.weight)
        return replace(self, X=self.X.take(rows), y=classes.astype(np.int32), weight=self.weight[rows, classes])

    def doubled(self) -> TrainingSet:
        """Return soft rows for models that take each class against the rest: once with the class, once without.

        Two copies do for any number of classes: their weights differ from class to class.
        """
        assert self.weight is not None  # noqa: S101 - soft
        n, total = len(self.y), arithmetic.total(self.weight, axis=1)[:, None]
        with_class = self.weight[:, 1:] if self.n_classes == 2 else self.weight
        weight = np.maximum(np.concatenate([with_class, total - with_class]), LEAST * np.tile(total, (2, 1)))
        first = np.repeat([True, False], n)
        X = self.X.take(np.tile(np.arange(n), 2))
        if self.n_classes == 2:
            return replace(self, X=X, y=first.astype(np.int32), weight=np.ascontiguousarray(weight[:, 0]))
        return replace(self, X=X, y=np.repeat(first[:, None], self.n_classes, axis=1), weight=weight)

    def one_label(self, c: int) -> TrainingSet:
        """Return the rows as a problem of two classes: with label c, and without."""
        gain = None if self.X.gain is None else self.X.gain[c : c + 1]
        weight = (
            self.weight if self.weight is None or self.weight.ndim == 1 else np.ascontiguousarray(self.weight[:, c])
        )
        return replace(self, X=replace(self.X, gain=gain), y=self.y[:, c].astype(np.int32), n_classes=2, weight=weight)

    @property
    def weights(self) -> Floats:
        """The weight of each row, written out."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    def distinct(self, shuffle: bool = True) -> Distinct:
        """Return the distinct rows, in an order that their content decides; without shuffle, all rows as given."""
        return distinct(self.X, self.y, self.weight) if shuffle else as_given(len(self.X), self.weight)


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
