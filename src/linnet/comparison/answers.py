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
from linnet.features.sharing import Shared
from linnet.pipeline.crossval import Fold, fit_and_predict
from linnet.pipeline.labelled_data import check_two_labels, file_size_of
from linnet.pipeline.rows import encode

__all__ = ["ComparedRows", "FoldAnswers", "answer"]

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
TINY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ComparedRows:
    """The rows of a comparison: texts, the class of each as a number, the group of each, and what was counted of them."""

    data: Dataset
    classes: tuple[str, ...]
    codes: npt.NDArray[np.int64]
    shared: Shared
    groups: Indices | None = None

    @classmethod
    def of(cls, data: Dataset, groups: Any = None) -> ComparedRows:
        """Number the classes, and refuse what cannot be held out."""
        try:
            classes, codes = encode(data.label_list())
        except DataError as error:
            raise DataError(f"{data.source}: {error}") from None
        check_two_labels(data.source, data.counts.values())
        return cls(data, classes, codes.astype(np.int64), Shared(data.text), data.group_numbers(groups))


@dataclass(frozen=True)
class FoldAnswers:
    """What a model answered for the held-out rows of one fold, and what that cost."""

    held: Indices
    predicted: npt.NDArray[np.int64]  # class numbers
    log_p: Floats  # log probability of the true class
    right: int
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
    column = np.full(len(rows.classes), -1, dtype=np.int64)
    column[known] = np.arange(len(known))
    mine = column[rows.codes[held]]  # the column of the true class; -1 where the training part had none of it
    p = np.where(mine >= 0, found.proba[np.arange(len(held)), np.maximum(mine, 0)], 0.0)
    predicted = known[found.predicted]
    return FoldAnswers(
        held, predicted, np.log(np.clip(p, TINY, 1 - TINY)), int(np.sum(predicted == rows.codes[held])), len(fit_on),
        found.train_seconds, found.predict_seconds, file_size_of(clf) if measure else None, _chosen(clf),
    )  # fmt: skip


def _chosen(clf: TextClassifier) -> dict[str, Any]:
    """Return the settings that the search decided on."""
    settings, tried = clf.card["settings"], clf.card["choice"]["tried"]
    names = [name for name in tried[0] if name not in ("accuracy", "rows")]
    return {name: settings[name] for name in names if len({repr(trial.get(name)) for trial in tried}) > 1}
