"""What the sections of a report are made from: the predictions, a sample of the texts, and results from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from linnet.array_types import Bools, Floats, Ints
from linnet.classifier import TextClassifier
from linnet.data import Dataset
from linnet.draw.markup import marked, safe
from linnet.draw.terminal import percent
from linnet.errors import LinnetError
from linnet.evaluate import Evaluation, evaluate_answers

# ---- What a classifier predicts for labelled rows: confidence, confusions, the texts behind them and the words that decided.


LONGEST = 20_000  # characters that are explained


@dataclass(frozen=True, eq=False)
class Predictions:
    """A classifier, labelled rows, and what it predicts for them.

    ``result`` is the :class:`~linnet.evaluate.Evaluation`, with class numbers and probabilities of every row.

    >>> import linnet
    >>> data = linnet.Dataset.from_lists(["good", "so good", "bad", "so bad", "not good"], ["pos", "pos", "neg", "neg", "neg"])
    >>> clf = linnet.TextClassifier("nb", features="words:1").fit(data)
    >>> found = Predictions.of(clf, data)
    >>> found.table.shape, int(found.table.sum())
    ((2, 2), 5)
    >>> sorted(found.rows(word="good", wrong=False).tolist())
    [0, 1, 4]
    """

    clf: TextClassifier
    data: Dataset
    result: Evaluation

    @classmethod
    def of(cls, clf: TextClassifier, data: Dataset, **more: Any) -> Self:
        """Predict every row; more are the other fields."""
        classes = [str(c) for c in clf.artefact.classes]
        answers = clf.artefact.answers(clf.artefact.scores(data, clf.n_jobs))
        costs, seed = clf.artefact.decision.costs, more.get("seed", 0)
        result = evaluate_answers(data.label_list(), answers, classes, costs=costs, seed=seed)
        if result.abstained:
            data = data.take(np.flatnonzero(answers.best >= 0))
        return cls(clf, data, result, **more)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.result.n

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The labels of the classifier, then those it does not know."""
        return tuple(str(c) for c in (*self.result.classes, *self.result.unknown_labels))

    @cached_property
    def confidence(self) -> Floats:
        """The probability of the predicted label, row by row."""
        P = self.result.proba
        assert P is not None  # noqa: S101 - evaluated with probabilities in `of`
        return np.asarray(P[np.arange(self.n), self.result.predicted])

    @cached_property
    def right(self) -> Bools:
        """Whether the prediction is the label, row by row."""
        return np.asarray(self.result.truth == self.result.predicted)

    @property
    def table(self) -> Ints:
        """The confusion matrix, (labels, classes): rows true, columns predicted."""
        return self.result.table

    def rows(
        self,
        truth: int | None = None,
        predicted: int | None = None,
        *,
        word: str = "",
        least: float = 0.0,
        most: float = 1.0,
        wrong: bool = True,
    ) -> Ints:
        """Return the rows of a cell of the matrix, or all errors, the most confident first.

        word keeps texts that contain it (in any case); least and most bound the confidence.
        """
        keep = (self.confidence >= least) & (self.confidence <= most)
        if truth is not None:
            keep &= self.result.truth == truth
        if predicted is not None:
            keep &= self.result.predicted == predicted
        if truth is None and predicted is None and wrong:
            keep &= ~self.right
        if word.strip():
            import pyarrow.compute as pc

            from linnet.data.arrays import to_mask

            keep &= to_mask(pc.match_substring(self.data.text, word.strip(), ignore_case=True))
        found = np.flatnonzero(keep)
        return found[np.argsort(-self.confidence[found], kind="stable")]

    def worst_classes(self, most: int) -> list[int]:
        """Return all classes, or where there are more than `most` those with the most errors."""
        if len(self.names) <= most:
            return list(range(len(self.names)))
        errors = np.zeros(len(self.names), np.int64)
        for truth, predicted, rows in self.result.error_cells:
            errors[[truth, predicted]] += rows
        return sorted(np.argsort(-errors, kind="stable")[:most].tolist())

    def text(self, row: int) -> str:
        """Return the text of one row."""
        return str(self.data.text[int(row)].as_py())

    def marked_text(self, row: int, characters: int) -> str:
        """Return the text of a row as HTML; words for the prediction are blue, words for the true label orange."""
        text, model = self.text(row)[:LONGEST], self.clf.artefact
        given: Any = text
        if model.needs:
            others = {name: self.data.take([int(row)]).column(name)[0] for name in model.needs}
            given = {model.text_column: text, **others}
        truth, predicted = int(self.result.truth[row]), int(self.result.predicted[row])
        known = truth < len(model.classes) and truth != predicted
        try:
            against = model.classes[truth] if known else None
            return marked(self.clf.explain(given, model.classes[predicted], against).words(), characters)
        except LinnetError:  # a model that has no contributions to show
            return safe(text[:characters])


TEXTS = 4000  # in one page, all cells together
TEXTS_OF_A_CELL = 40
CHARACTERS = 600  # of a text; the rest is cut


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
    def shown(self) -> dict[tuple[int, int], Ints]:
        """The rows of each cell whose texts are in the page, the most confident first; errors come first, large cells first."""
        cells = sorted(np.argwhere(self.table).tolist(), key=lambda cell: (cell[0] == cell[1], -self.table[*cell]))
        most = max(1, min(TEXTS_OF_A_CELL, TEXTS // len(cells)))
        return {(t, p): self.rows(t, p)[: most if place < TEXTS else 0] for place, (t, p) in enumerate(cells)}

    def share(self, truth: int, predicted: int) -> tuple[str, str]:
        """Return the share of the rows of a true class that are in a cell, and its interval, both as text."""
        low, high = self.result.confusion_interval(truth, predicted)
        return percent(self.table[truth, predicted] / self.table[truth].sum()), f"{percent(low)} to {percent(high)}"
