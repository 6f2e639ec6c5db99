"""The report on rows that may have several labels: scores, scores for each label with its threshold, and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linnet.draw.formatting import score
from linnet.draw.markup import bar, note, safe, table
from linnet.evaluate.multilabel import MultilabelEvaluation

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier
    from linnet.data import Dataset

__all__ = ["LabelSetInputs", "set_errors", "set_scores"]

SHOWN = 60  # rows
CHARACTERS = 400


@dataclass(frozen=True, eq=False)
class LabelSetInputs:
    """A classifier, rows with several labels, and what it predicts for them."""

    clf: TextClassifier
    data: Dataset
    result: MultilabelEvaluation
    answers: tuple[tuple[str, ...], ...] = ()
    command: str = ""
    seed: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, clf: TextClassifier, data: Dataset, **more: Any) -> Self:
        """Predict every row."""
        chosen = clf.artefact.chosen(clf.artefact.scores(data, clf.n_jobs))
        names = [str(c) for c in clf.artefact.classes]
        answers = tuple(tuple(names[k] for k in np.flatnonzero(row)) for row in chosen)
        return cls(clf, data, clf.evaluate(data), answers, **more)


def set_scores(inputs: LabelSetInputs) -> str:
    """Write two tables: one score a row, one label a row."""
    result = inputs.result
    rows = [
        [safe(name.replace("_", " ")), score(value, 4), f"{low:.4f} to {high:.4f}"]
        for name, (value, (low, high)) in result.scores.items()
    ]
    ranked = sorted(result.per_label, key=lambda one: (-one.support, str(one.label)))
    labels = [
        [safe(one.label), score(one.precision), score(one.recall), score(one.f1), bar(one.f1), f"{one.support:,}"]
        for one in ranked
    ]
    return (
        table(["score", "value", "95 % interval"], rows)
        + f"<h3>Scores for each label</h3>{table(['label', 'precision', 'recall', 'F1', '', 'rows'], labels, 'classes')}"
        + note(
            "Subset accuracy: all labels of a row are right. Hamming loss: the share of wrong cells; lower is better."
        )
    )


def set_errors(inputs: LabelSetInputs) -> str | None:
    """List rows with a label too few or too many, those with the most first."""
    truth = inputs.data.label_sets()
    wrong = [len(set(a) ^ set(b)) for a, b in zip(truth, inputs.answers, strict=True)]
    order = [int(k) for k in np.argsort(-np.array(wrong), kind="stable") if wrong[k]]
    if not order:
        return None
    rows = [
        [
            safe(", ".join(truth[k])),
            safe(", ".join(inputs.answers[k])),
            safe(str(inputs.data.text[k].as_py())[:CHARACTERS]),
        ]
        for k in order[:SHOWN]
    ]
    return note(f"{len(order):,} of {len(truth):,} rows have a label too few or too many.") + table(
        ["labels", "predicted", "text"], rows
    )
