"""The checks of the data, one after another, the quick ones first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linnet.checks.checked_data import CheckedData, Finding
from linnet.checks.run_checks import CHECKS, Checkup, applicable
from linnet.data import Dataset
from linnet.errors import DataError, LinnetError
from linnet.text.vocabulary import Zipf

SLOW = ("loopholes", "near-duplicates", "label-errors")


def word_counts(data: Dataset, threads: int | None = None) -> np.ndarray:
    """Return how often each distinct word occurs, by the kernels that count features.

    >>> sorted(word_counts(Dataset.from_lists(["the cat", "The dog"])).tolist())
    [1, 1, 2]
    """
    from linnet.features.blocks import Words
    from linnet.features.buffers import text_buffers
    from linnet.features.counting import count

    rows = count(text_buffers(data.text), (Words(1, 1),), counting=True, threads=threads).rows
    counts = np.zeros(rows.n_columns, dtype=np.int64)
    np.add.at(counts, rows.indices, rows.counts)
    return counts


@dataclass
class DataHealth:
    """What is known of some data so far; `pending` names the checks that are not done yet.

    >>> health = DataHealth(Dataset.from_lists(["good film", "bad film", "good film"], ["pos", "neg", "pos"]))
    >>> health.run()
    >>> health.checkup["duplicates"].says, health.pending, health.words
    ('1 of 3 texts repeats an earlier one', [], 3)
    """

    data: Dataset
    threads: int | None = None
    law: Zipf | None = None
    words: int = 0
    tokens: int = 0
    findings: list[Finding] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    version: int = 0
    material: Any = None

    def __post_init__(self) -> None:
        self.material = CheckedData(self.data, (), 0, self.threads)
        self.pending = sorted(
            applicable(CHECKS, self.material), key=lambda name: SLOW.index(name) if name in SLOW else -1
        )
        self._stop = threading.Event()

    @property
    def lengths(self) -> np.ndarray:
        """The length of each text, in characters."""
        import pyarrow.compute as pc

        return np.asarray(pc.utf8_length(self.data.text).to_numpy())

    @property
    def checkup(self) -> Checkup:
        """The findings so far."""
        return Checkup.of(self.material, self.findings, self.pending)

    def stop(self) -> None:
        """Do not begin another check."""
        self._stop.set()

    def run(self, told: Callable[[], None] | None = None) -> None:
        """Count words, then make the checks, the quick ones first; told after each."""
        self._tell(told)
        counts = word_counts(self.data, self.threads)
        self.words, self.tokens = len(counts), int(counts.sum())
        try:
            self.law = Zipf.fit(counts)
        except DataError:
            self.law = None
        self._tell(told)
        for name in list(self.pending):
            if self._stop.is_set():
                return
            try:
                found = CHECKS[name].finding(name, self.material)
            except LinnetError as error:
                found = Finding(name, "note", f"could not be checked: {error}")
            self.findings.append(found)
            self.pending.remove(name)
            self._tell(told)

    def _tell(self, told: Callable[[], None] | None) -> None:
        self.version += 1
        if told is not None:
            told()

    def suspects(self, most: int = 20) -> list[dict[str, Any]]:
        """Return the labels that may be wrong, with the row of each in the data."""
        found = next((f for f in self.findings if f.check == "label-errors"), None)
        if found is None or "suspects" not in found.arrays:
            return []
        rows = found.arrays["suspects"][:most].tolist()
        return [{**one, "at": row} for one, row in zip(found.examples, rows, strict=False)]

    def repeated(self) -> list[dict[str, Any]]:
        """Return the texts that occur most often."""
        found = next((f for f in self.findings if f.check == "duplicates"), None)
        return [] if found is None else [dict(one) for one in found.examples]

    def relabelled(self, data: Dataset) -> None:
        """Take data with other labels; what was found stays until it is looked at again."""
        self.data = data
        self.material = replace(self.material, data=data)
