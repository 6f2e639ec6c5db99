"""One model on one fold: what it answers for the held-out rows, and what that costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.classifier import TextClassifier
from linnet.comparison.specs import Spec
from linnet.data import Dataset
from linnet.errors import DataError
from linnet.evaluate.multilabel import row_f1
from linnet.features.sharing import Shared
from linnet.pipeline.crossval import Fold, HeldOut, fit_and_predict, strata
from linnet.pipeline.labelled_data import check_two_labels, file_size_of
from linnet.pipeline.rows import encode

__all__ = ["ComparedRows", "FoldAnswers", "answer"]

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
TINY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ComparedRows:
    """The rows of a comparison: texts, the class of each as a number, the group of each, and what was counted of them.

    Where rows may have several labels these are in sets, (n_rows, n_classes), and codes are what folds are balanced by.
    """

    data: Dataset
    classes: tuple[str, ...]
    codes: npt.NDArray[np.int64]
    shared: Shared
    groups: Indices | None = None
    sets: npt.NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, data: Dataset, groups: Any = None) -> ComparedRows:
        """Number the classes, and refuse what cannot be held out."""
        try:
            classes, codes = encode(data.label_list() if data.separator is None else data.label_sets())
        except DataError as error:
            raise DataError(f"{data.source}: {error}") from None
        check_two_labels(data.source, data.counts.values())
        sets = codes if codes.ndim == 2 else None
        return cls(data, classes, strata(codes).astype(np.int64), Shared(data.text), data.group_numbers(groups), sets)

    def counts(self) -> npt.NDArray[np.int64]:
        """Return how many rows each class has."""
        return np.asarray(np.bincount(self.codes) if self.sets is None else self.sets.sum(axis=0))

    def scores(self, held: Indices, predicted: npt.NDArray[Any]) -> Floats:
        """Return how right the answers for some rows are: 0 or 1; of several labels, their F1."""
        if self.sets is not None:
            return row_f1(self.sets[held], predicted)
        return np.asarray(predicted == self.codes[held], dtype=np.float64)

    def baseline(self) -> tuple[str, float]:
        """Return the most frequent label, and the mean score of always predicting it alone."""
        top, rows = int(self.counts().argmax()), np.arange(len(self.codes))
        if self.sets is None:
            return self.classes[top], float(self.scores(rows, np.full(len(rows), top)).mean())
        return self.classes[top], float(
            self.scores(rows, np.arange(len(self.classes)) == top + 0 * rows[:, None]).mean()
        )


@dataclass(frozen=True)
class FoldAnswers:
    """What a model answered for the held-out rows of one fold, and what that cost."""

    held: Indices
    predicted: npt.NDArray[Any]  # class numbers; of several labels an indicator matrix
    log_p: Floats  # log probability of the true class; of several labels, its mean over all labels
    right: float  # sum of the scores of rows
    train_rows: int
    train_seconds: float
    predict_seconds: float
    size: int | None  # bytes of the model file, where it was asked for
    settings: dict[str, Any] = field(default_factory=dict)


def answer(
    spec: Spec,
    rows: ComparedRows,
    fit_on: Indices,
    held: Indices,
    *,
    share: bool,
    measure: bool,
    on_event: Callable[[Any], None] | None = None,
) -> FoldAnswers:
    """Fit on some rows, settings chosen among them alone, and predict the held-out ones."""
    clf = spec.make()
    part = rows.shared.part(fit_on) if share else None
    found = fit_and_predict(clf, rows.data, Fold(fit_on, held), groups=rows.groups, part=part, on_event=on_event)
    number = {label: k for k, label in enumerate(rows.classes)}
    known = np.array([number[str(c)] for c in clf.model_.classes], dtype=np.int64)
    if rows.sets is not None:
        predicted, p = np.zeros((len(held), len(rows.classes)), bool), np.full((len(held), len(rows.classes)), TINY)
        predicted[:, known], p[:, known] = found.predicted, found.proba
        log_p = np.log(np.clip(np.where(rows.sets[held], p, 1.0 - p), TINY, 1 - TINY)).mean(axis=1)
    else:
        predicted, log_p = _of_one(rows.codes[held], known, len(rows.classes), found)
    return FoldAnswers(
        held, predicted, log_p, float(rows.scores(held, predicted).sum()), len(fit_on), found.train_seconds,
        found.predict_seconds, file_size_of(clf) if measure else None, _chosen(clf),
    )  # fmt: skip


def _of_one(truth: Indices, known: Indices, n_classes: int, found: HeldOut) -> tuple[Indices, Floats]:
    """Return the answers as class numbers, and the log probability of the true class."""
    column = np.full(n_classes, -1, dtype=np.int64)
    column[known] = np.arange(len(known))
    mine = column[truth]  # the column of the true class; -1 where the training part had none of it
    p = np.where(mine >= 0, found.proba[np.arange(len(truth)), np.maximum(mine, 0)], 0.0)
    return known[found.predicted], np.log(np.clip(p, TINY, 1 - TINY))


def _chosen(clf: TextClassifier) -> dict[str, Any]:
    """Return the settings that the search decided on."""
    settings, tried = clf.card["settings"], clf.card["choice"]["tried"]
    names = [name for name in tried[0] if name not in ("accuracy", "rows")]
    return {name: settings[name] for name in names if len({repr(trial.get(name)) for trial in tried}) > 1}
