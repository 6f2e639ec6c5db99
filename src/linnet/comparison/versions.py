"""Two models on the same rows: whether the new one is better than the old one, and which answers change."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.classifier import TextClassifier, load
from linnet.data import Dataset
from linnet.errors import DataError
from linnet.evaluate.intervals import Interval, wilson
from linnet.evaluate.significance import PairedTest, mcnemar
from linnet.pipeline.labelled_data import labelled_data
from linnet.values import to_plain

__all__ = ["VersionComparison", "compare_versions"]

LEVEL = 0.05


@dataclass(frozen=True)
class ChangedAnswer:
    """A row that the two models answer differently; rows count from 1, among those that could be used."""

    row: int
    label: str
    old: str
    new: str
    text: str


@dataclass(frozen=True)
class VersionComparison:
    """What two models make of the same labelled rows.

    ``gained`` rows are right now and were wrong, ``lost`` were right and are wrong now; ``changed`` are all rows with
    another answer, these included. ``test`` is McNemar's.
    """

    old: str
    new: str
    source: str
    n: int
    old_accuracy: float
    old_interval: Interval
    new_accuracy: float
    new_interval: Interval
    gained: int
    lost: int
    test: PairedTest
    changed: tuple[ChangedAnswer, ...]

    @property
    def verdict(self) -> str:
        """better, worse, or "not clear": the difference may be chance."""
        if self.test.p >= LEVEL or self.gained == self.lost:
            return "not clear"
        return "better" if self.gained > self.lost else "worse"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**dict(to_plain(self)), "verdict": self.verdict}

    def lines(self, most: int = 10) -> Iterator[str]:
        """Yield the comparison as text: the scores, the test, the first changed answers."""
        yield f"{self.n:,} rows of {self.source}"
        for name, value, (low, high) in (
            (self.old, self.old_accuracy, self.old_interval),
            (self.new, self.new_accuracy, self.new_interval),
        ):
            yield f"{name}: accuracy {value:.4f} [{low:.4f}, {high:.4f}]"
        words = {
            "better": "The new model is better",
            "worse": "The new model is worse",
            "not clear": "No clear difference",
        }
        yield f"{words[self.verdict]}: {self.gained:,} rows gained, {self.lost:,} lost, p = {self.test.p:.3g} ({self.test.test})."
        yield f"{len(self.changed):,} answers change ({len(self.changed) / self.n:.1%})" + (
            ":" if self.changed else "."
        )
        for one in self.changed[:most]:
            mark = "+" if one.new == one.label else "-" if one.old == one.label else " "
            yield f"  {mark} row {one.row:,}: {one.old} -> {one.new} (label {one.label})  {' '.join(one.text.split())[:70]}"
        if len(self.changed) > most:
            yield f"  and {len(self.changed) - most:,} more"


def compare_versions(
    old: str | os.PathLike[str] | TextClassifier, new: str | os.PathLike[str] | TextClassifier, data: Any, y: Any = None
) -> VersionComparison:
    """Compare two fitted models, or model files, on labelled rows that neither was trained on.

    >>> texts, labels = ["good", "fine", "bad", "poor"] * 3, ["pos", "pos", "neg", "neg"] * 3
    >>> one = TextClassifier("nb", features="words:1").fit(texts[:9], labels[:9])
    >>> two = TextClassifier("svm", features="words:1").fit(texts, labels)
    >>> found = compare_versions(one, two, texts, labels)
    >>> found.verdict, found.n, found.new_accuracy
    ('not clear', 12, 1.0)
    """
    names = [
        str(one) if isinstance(one, str | os.PathLike) else f"the {when} model"
        for one, when in ((old, "old"), (new, "new"))
    ]
    first, second = (load(one) if isinstance(one, str | os.PathLike) else one for one in (old, new))
    needs = tuple(dict.fromkeys([*first.artefact.needs, *second.artefact.needs]))
    rows: Dataset = labelled_data(data, y, "compare", extra=needs)
    truth = np.array(rows.label_list(), dtype=object)
    answers = [np.array([str(label) for label in one.predict(rows)], dtype=object) for one in (first, second)]
    if not set(truth) & {str(c) for one in (first, second) for c in one.artefact.classes}:
        raise DataError(f"{rows.source}: no label of these rows is known to the models; is the label column right?")
    right = [found == truth for found in answers]
    n, texts = len(rows), rows.text
    scores = [(float(one.mean()), wilson(int(one.sum()), n)) for one in right]
    changed = tuple(
        ChangedAnswer(k + 1, truth[k], answers[0][k], answers[1][k], texts[k].as_py())
        for k in np.flatnonzero(answers[0] != answers[1]).tolist()
    )
    return VersionComparison(
        names[0], names[1], rows.source, n, *scores[0], *scores[1], int((right[1] & ~right[0]).sum()),
        int((right[0] & ~right[1]).sum()), mcnemar(right[1], right[0]), changed,
    )  # fmt: skip
