"""One model on one fold: fit on the training part, ask about the held-out rows, note time and size."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.classifier import TextClassifier
from linnet.comparison.specs import Spec
from linnet.data import Dataset
from linnet.errors import DataError
from linnet.features.sharing import Shared
from linnet.training import train

__all__ = ["Answers", "Labelled", "ask"]

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
TINY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Labelled:
    """The rows of a comparison: texts, the class of each as a number, and what was counted of them."""

    data: Dataset
    classes: tuple[str, ...]
    codes: npt.NDArray[np.int64]
    shared: Shared

    @classmethod
    def of(cls, data: Dataset) -> Labelled:
        """Number the classes, and refuse what cannot be held out."""
        labels = data.label_list()
        classes = tuple(data.labels)
        if not classes:
            raise DataError(f"{data.source}: there are no labelled rows to compare models on")
        if len(classes) < 2:
            raise DataError(f"{data.source}: every row has the label {classes[0]!r}; a classifier needs at least two")
        if sum(count > 1 for count in data.counts.values()) < 2:
            raise DataError(
                f"{data.source}: fewer than two labels have two rows or more, so none can be held out and learned as "
                "well; give more rows"
            )
        number = {label: k for k, label in enumerate(classes)}
        codes = np.fromiter((number[label] for label in labels), np.int64, len(labels))
        return cls(data, classes, codes, Shared(data.text))


@dataclass(frozen=True)
class Answers:
    """What a model said of the held-out rows of one fold, and what that cost."""

    held: Indices
    predicted: npt.NDArray[np.int64]  # class numbers
    log_p: Floats  # log probability of the true class
    right: int
    train_rows: int
    train_seconds: float
    predict_seconds: float
    size: int | None  # bytes of the model file, where it was asked for
    settings: dict[str, Any] = field(default_factory=dict)


def ask(
    spec: Spec,
    rows: Labelled,
    fit_on: Indices,
    held: Indices,
    *,
    share: bool,
    measure: bool,
    on_event: Callable[[Any], None] | None = None,
) -> Answers:
    """Fit on some rows, settings chosen among them alone, and ask about the held-out ones."""
    clf = spec.make()
    fit_data, held_rows = rows.data.take(fit_on), rows.data.take(held)
    part = rows.shared.part(fit_on) if share else None
    began = time.perf_counter()
    clf.model_, clf.history_ = train(clf, fit_data, None, None, None, on_event, part)
    trained = time.perf_counter()
    scores = clf.artefact.scores(held_rows, clf.threads)
    best, proba = clf.artefact.best(scores), clf.artefact.proba(scores)
    asked = time.perf_counter()
    number = {label: k for k, label in enumerate(rows.classes)}
    known = np.array([number[str(c)] for c in clf.artefact.classes], dtype=np.int64)
    column = np.full(len(rows.classes), -1, dtype=np.int64)
    column[known] = np.arange(len(known))
    mine = column[rows.codes[held]]  # the column of the true class; -1 where the training part had none of it
    p = np.where(mine >= 0, proba[np.arange(len(held)), np.maximum(mine, 0)], 0.0)
    predicted = known[best]
    return Answers(
        held, predicted, np.log(np.clip(p, TINY, 1 - TINY)), int(np.sum(predicted == rows.codes[held])), len(fit_on),
        trained - began + (part.saved if part is not None else 0.0), asked - trained,
        _size(clf) if measure else None, _chosen(clf),
    )  # fmt: skip


def _size(clf: TextClassifier) -> int:
    with tempfile.TemporaryDirectory(prefix="linnet-compare-") as folder:
        path = Path(folder) / "model.linnet"
        clf.save(path)
        return path.stat().st_size


def _chosen(clf: TextClassifier) -> dict[str, Any]:
    """Return the settings that the search decided on."""
    recipe = clf.recipe()[1]
    settings = clf.card["settings"]
    tried = [name for name, values in (*recipe.grid, ("ratio", recipe.ratio)) if len(values) > 1]
    return {name: settings[name] for name in tried if name in settings}
