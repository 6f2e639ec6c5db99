"""What the sections of a report are made from: the predictions, a sample of the texts, and results from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from linnet.report.predictions import Indices, Predictions

__all__ = ["MatrixCell", "ReportInputs"]

TEXTS = 4000  # in one page, all cells together
TEXTS_OF_A_CELL = 40
CHARACTERS = 600  # of a text; the rest is cut


@dataclass(frozen=True)
class MatrixCell:
    """A cell of the confusion matrix: how many rows it has, and the rows whose texts are in the page."""

    truth: int
    predicted: int
    size: int
    shown: Indices  # row numbers, the most confident first


@dataclass(frozen=True, eq=False)
class ReportInputs(Predictions):
    """Predictions for labelled rows, and what else goes into the page.

    ``extra`` holds results of other parts of linnet: ``check`` and ``comparison`` (objects with ``_repr_html_``),
    ``curve`` and ``seal``.
    """

    command: str = ""
    seed: int = 0
    files: Mapping[str, str] = field(default_factory=dict)  # what they are: where they are
    extra: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def cells(self) -> dict[tuple[int, int], MatrixCell]:
        """The cells that are not empty, errors first, the largest first; texts are sampled where there are many."""
        k = self.table.shape[1]
        code = self.result.truth * k + self.result.predicted
        order = np.random.default_rng(self.seed).permutation(self.n)
        order = order[np.argsort(code[order], kind="stable")]
        codes, starts, sizes = np.unique(code[order], return_index=True, return_counts=True)
        wrong = codes // k != codes % k
        most = max(1, min(TEXTS_OF_A_CELL, TEXTS // len(codes)))
        found: dict[tuple[int, int], MatrixCell] = {}
        left = TEXTS
        for i in np.lexsort((codes, -sizes, ~wrong)):
            rows = order[starts[i] : starts[i] + min(most, left, sizes[i])]
            left -= len(rows)
            rows = rows[np.argsort(-self.confidence[rows], kind="stable")]
            place = (int(codes[i]) // k, int(codes[i]) % k)
            found[place] = MatrixCell(*place, int(sizes[i]), rows)
        return found

    @property
    def errors(self) -> list[MatrixCell]:
        """The cells of wrong predictions, the largest first."""
        return [cell for cell in self.cells.values() if cell.truth != cell.predicted]

    def share(self, cell: MatrixCell) -> float:
        """Return the share of the rows of a true class that are in a cell."""
        return cell.size / int(self.table[cell.truth].sum())
