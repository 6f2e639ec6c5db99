"""What a model is fitted to: encoded rows, their classes and weights, threads, and who hears of each epoch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.solvers.callbacks import OnEpoch
from linnet.solvers.distinct import Distinct, as_given, distinct
from linnet.solvers.matrix import Matrix

__all__ = ["TrainingSet"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TrainingSet:
    """Rows of numbers, the class of each, and its weight (None: 1 each).

    Where rows may have several labels y is an indicator matrix, (n_rows, n_classes), and every class has an output;
    weights may then differ from class to class, (n_rows, n_classes).
    """

    X: Matrix
    y: npt.NDArray[Any]
    n_classes: int
    weight: Floats | None = None
    threads: int = 1
    on_epoch: OnEpoch | None = None

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
