"""Where a model is wrong: a table of truth by answer, and the texts behind each cell, filtered and ordered.

>>> import linnet
>>> data = Dataset.from_lists(["good", "so good", "bad", "so bad", "not good"], ["pos", "pos", "neg", "neg", "neg"])
>>> clf = linnet.TextClassifier("nb", features="words:1").fit(data)
>>> found = Mistakes.of(clf, data)
>>> found.table.shape, int(found.table.sum())
((2, 2), 5)
>>> sorted(found.rows(word="good", wrong=False).tolist())
[0, 1, 4]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.classifier import TextClassifier
from linnet.data import Dataset
from linnet.data.arrays import to_mask

__all__ = ["Mistakes"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Mistakes:
    """The answers of a model to labelled rows."""

    clf: TextClassifier
    data: Dataset
    names: tuple[str, ...]  # the model's classes, then labels it does not know
    truth: Ints
    answer: Ints
    confidence: npt.NDArray[np.float64]
    table: Ints  # rows truth, columns answer

    @classmethod
    def of(cls, clf: TextClassifier, data: Dataset) -> Mistakes:
        """Ask a model about every row."""
        proba = clf.predict_proba(data.text)
        known = [str(c) for c in clf.classes_.tolist()]
        names = (*known, *(label for label in data.labels if label not in known))
        number = {name: k for k, name in enumerate(names)}
        labels: Sequence[Any] = data.label_list()
        truth = np.fromiter((number[str(v)] for v in labels), np.int64, len(labels))
        answer = proba.argmax(axis=1).astype(np.int64)
        table = np.zeros((len(names), len(names)), dtype=np.int64)
        np.add.at(table, (truth, answer), 1)
        return cls(clf, data, names, truth, answer, proba.max(axis=1), table)

    @property
    def wrong(self) -> int:
        """How many rows are answered wrongly."""
        return int((self.truth != self.answer).sum())

    def rows(
        self,
        truth: int | None = None,
        answer: int | None = None,
        *,
        word: str = "",
        least: float = 0.0,
        most: float = 1.0,
        wrong: bool = True,
    ) -> Ints:
        """Return the rows of a cell, or all errors, the most confident answers first.

        word keeps texts that hold it (as part of a word too, in any case); least and most bound the confidence.
        """
        keep = np.ones(len(self.truth), dtype=bool)
        if truth is not None:
            keep &= self.truth == truth
        if answer is not None:
            keep &= self.answer == answer
        if truth is None and answer is None and wrong:
            keep &= self.truth != self.answer
        keep &= (self.confidence >= least) & (self.confidence <= most)
        if word.strip():
            import pyarrow.compute as pc

            keep &= to_mask(pc.match_substring(self.data.text, word.strip(), ignore_case=True))
        found = np.flatnonzero(keep)
        return found[np.argsort(-self.confidence[found], kind="stable")]

    def classes(self, most: int = 12) -> list[int]:
        """Return the classes to draw: all, or those with the most errors."""
        if len(self.names) <= most:
            return list(range(len(self.names)))
        off = self.table - np.diag(np.diag(self.table))
        errors = off.sum(axis=0) + off.sum(axis=1)
        return sorted(np.argsort(-errors, kind="stable")[:most].tolist())

    def largest(self, most: int = 8) -> list[tuple[int, int, int]]:
        """Return the largest confusions as (truth, answer, rows)."""
        off = self.table - np.diag(np.diag(self.table))
        order = np.argsort(-off, axis=None, kind="stable")[:most]
        cells = [(int(k // len(self.names)), int(k % len(self.names))) for k in order]
        return [(t, a, int(off[t, a])) for t, a in cells if off[t, a]]
