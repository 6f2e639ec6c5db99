"""What one pass over a stream adds up to, in the place of the rows: class counts for weights, weights of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.training import class_weighted

__all__ = ["Totals", "per_class"]


@dataclass(frozen=True)
class Totals:
    """What weights are learned from: the documents of each class that hold each feature."""

    counts: npt.NDArray[np.int32]
    n_rows: int
    computed = None

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_columns(self) -> int:
        """How many features there are."""
        return len(self.counts)

    def document_frequency(self) -> npt.NDArray[np.int32]:
        """In how many documents each feature is."""
        return np.asarray(self.counts.sum(axis=1, dtype=np.int32))

    def class_counts(self, y: npt.NDArray[np.int32], n_classes: int) -> npt.NDArray[np.int32]:
        """In how many of each class."""
        return self.counts


def per_class(rows: Any, classes: tuple[Any, ...], class_weight: Any) -> npt.NDArray[np.float64] | None:
    """Return the weight of a row of each class, as ordinary training has it."""
    if class_weight is None:
        return None
    if class_weight == "balanced":
        totals = np.asarray(rows, dtype=np.float64)
        return np.asarray(arithmetic.total(totals) / (len(classes) * np.maximum(totals, 1e-300)))
    return class_weighted(None, np.arange(len(classes), dtype=np.int32), classes, class_weight)
