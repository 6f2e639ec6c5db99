"""What the sections of a report are made from: the classifier, the rows, the answers, and a sample of the texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linnet.evaluate import Evaluation

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier
    from linnet.data import Dataset

__all__ = ["Cell", "Material"]

Indices = npt.NDArray[np.int64]

TEXTS = 4000  # that a page holds, all cells together
TEXTS_OF_A_CELL = 40
CHARACTERS = 600  # of a text; the rest is cut


@dataclass(frozen=True)
class Cell:
    """A cell of the confusion matrix: its rows, and those of them whose texts the page holds."""

    truth: int
    predicted: int
    size: int
    shown: Indices  # row numbers, the most confident answer first


@dataclass(frozen=True, eq=False)
class Material:
    """The classifier and what it answered on labelled rows.

    ``result`` is the :class:`~linnet.evaluate.Evaluation`, with class numbers and probabilities of every row; ``names``
    the labels as text, those the classifier does not know after the others; ``extra`` what other parts of linnet add to
    the page (``check``, ``comparison``), objects with ``_repr_html_``.
    """

    clf: TextClassifier
    data: Dataset
    result: Evaluation
    command: str
    seed: int = 0
    trained: bool = False  # on this occasion: the rows are the test rows of the training
    files: Mapping[str, str] = field(default_factory=dict)  # what they are: where they are
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, clf: TextClassifier, data: Dataset, command: str, seed: int = 0, **more: Any) -> Material:
        """Ask the classifier about every row."""
        from linnet.evaluate import evaluate

        classes = [str(c) for c in clf.artefact.classes]
        result = evaluate(data.label_list(), clf.predict_proba(data), classes, seed=seed)
        return cls(clf, data, result, command, seed, **more)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.result.n

    @cached_property
    def names(self) -> list[str]:
        """The labels of the classifier, then those it does not know."""
        return [str(c) for c in (*self.result.classes, *self.result.unknown_labels)]

    @cached_property
    def confidence(self) -> npt.NDArray[np.float64]:
        """The probability of the answer, row by row."""
        P = self.result.proba
        assert P is not None  # noqa: S101 - evaluated with probabilities in `of`
        return np.asarray(P[np.arange(self.n), self.result.predicted])

    @cached_property
    def right(self) -> npt.NDArray[np.bool_]:
        """Whether the answer is the label, row by row."""
        return np.asarray(self.result.truth == self.result.predicted)

    @cached_property
    def table(self) -> Indices:
        """Counts, (labels, classes): rows truth, columns predicted."""
        return np.vstack([self.result.confusion, self.result.unknown_confusion])

    def text(self, row: int) -> str:
        """Return the text of one row."""
        return str(self.data.text[int(row)].as_py())

    def row(self, row: int, characters: int) -> Any:
        """Return the beginning of the text of one row as the classifier takes it: with the columns that it reads."""
        text = self.text(row)[:characters]
        needs = self.clf.artefact.needs
        beside = {name: self.data.take([int(row)]).column(name)[0] for name in needs}
        return {self.clf.artefact.text_column: text, **beside} if needs else text

    @cached_property
    def cells(self) -> dict[tuple[int, int], Cell]:
        """The cells that are not empty, errors first, the largest first; rows are drawn at random where there are many."""
        t, p = self.result.truth, self.result.predicted
        k = self.table.shape[1]
        code = t * k + p
        order = np.random.default_rng(self.seed).permutation(self.n)
        order = order[np.argsort(code[order], kind="stable")]
        codes, starts, sizes = np.unique(code[order], return_index=True, return_counts=True)
        wrong = codes // k != codes % k
        most = max(1, min(TEXTS_OF_A_CELL, TEXTS // len(codes)))
        found: dict[tuple[int, int], Cell] = {}
        left = TEXTS
        for i in np.lexsort((codes, -sizes, ~wrong)):
            rows = order[starts[i] : starts[i] + min(most, left, sizes[i])]
            left -= len(rows)
            rows = rows[np.argsort(-self.confidence[rows], kind="stable")]
            place = (int(codes[i]) // k, int(codes[i]) % k)
            found[place] = Cell(*place, int(sizes[i]), rows)
        return found

    @property
    def errors(self) -> list[Cell]:
        """The cells of wrong answers, the largest first."""
        return [cell for cell in self.cells.values() if cell.truth != cell.predicted]


def cut(text: str, characters: int = CHARACTERS) -> str:
    """Return the beginning of a text, marked where something is missing.

    >>> cut("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= characters else text[: characters - 1] + "…"
