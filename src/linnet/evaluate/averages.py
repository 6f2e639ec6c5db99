"""Averages over classes from a table of counts: macro and weighted precision, recall and F1, balanced accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.evaluate.intervals import Interval, bootstrap_many

__all__ = ["NAMES", "Averages", "averages", "averages_intervals"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

NAMES = ("macro_precision", "macro_recall", "macro_f1", "weighted_precision", "weighted_recall", "weighted_f1",
         "balanced_accuracy")  # fmt: skip


@dataclass(frozen=True)
class Averages:
    """Which cells of a table of counts (rows truth, columns predicted) are what: one vote a class."""

    cells: Indices  # (cells,) counts above zero
    hits: Floats  # (cells, labels)
    truth: Floats
    predicted: Floats

    @classmethod
    def of(cls, table: Indices) -> Averages:
        """Keep the cells that are not empty; the table may have more rows than columns, for unknown labels."""
        t, p = np.nonzero(table)
        labels = np.arange(len(table))
        truth, predicted = (t[:, None] == labels).astype(np.float64), (p[:, None] == labels).astype(np.float64)
        return cls(table[t, p], truth * predicted, truth, predicted)

    def __call__(self, draws: npt.NDArray[Any]) -> Floats:
        """Return the averages of each table, (draws, len(NAMES)), in the order of NAMES.

        Macro means are over the labels in the truth or the predictions, the balanced accuracy over those in the truth.
        """
        hits, support, put = draws @ self.hits, draws @ self.truth, draws @ self.predicted  # (draws, labels)
        precision, recall, f1 = _share(hits, put), _share(hits, support), _share(2 * hits, support + put)
        occurring = (support + put > 0).sum(axis=1)
        n = support.sum(axis=1)
        macro = [score.sum(axis=1) / occurring for score in (precision, recall, f1)]
        weighted = [(score * support).sum(axis=1) / n for score in (precision, recall, f1)]
        return np.stack([*macro, *weighted, recall.sum(axis=1) / (support > 0).sum(axis=1)], axis=1)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)


def averages(table: Indices) -> dict[str, float]:
    """Return every average of one table.

    >>> round(averages(np.array([[1, 0], [1, 2]]))["macro_f1"], 4)
    0.7333
    """
    found = Averages.of(table)
    return dict(zip(NAMES, found(found.cells[None, :].astype(np.float64))[0].tolist(), strict=True))


def averages_intervals(table: Indices, level: float, draws: int, seed: int) -> dict[str, Interval]:
    """Return the bootstrap interval of every average, from one set of resampled tables.

    >>> averages_intervals(np.array([[90, 10], [10, 90]]), 0.95, 500, 0)["macro_f1"][0].__round__(2)
    0.85
    """
    found = Averages.of(table)
    return dict(zip(NAMES, bootstrap_many(found.cells, found, level=level, draws=draws, seed=seed), strict=True))
