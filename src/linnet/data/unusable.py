"""What could not be used: how many rows, why, and which ones, so that nothing disappears silently."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from linnet.files import open_atomic

__all__ = ["Unusable", "UnusableRow"]

#: Rows kept one by one; beyond that only the counts grow.
MAX_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class UnusableRow:
    """One row that was left out.

    `row` counts data rows of the source from 1 (a header is not a data row), `line` is the line of the file where the
    format has one row a line, `detail` says more than `reason` does, and `text` is the raw line where a row could not
    be parsed.
    """

    row: int
    reason: str
    text: str = ""
    label: str = ""
    line: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Unusable:
    """Counts per reason, and the rows themselves (the first 100,000).

    >>> bad = Unusable.of([UnusableRow(3, "empty text", label="pos"), UnusableRow(9, "empty text"),
    ...                    UnusableRow(12, "wrong number of fields", "neg,bad,film", detail="3 instead of 2")])
    >>> len(bad), str(bad)
    (3, '3 unusable rows: 2 empty text (first: row 3), 1 wrong number of fields (first: row 12)')
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[UnusableRow, ...] = ()

    @classmethod
    def of(cls, rows: Iterable[UnusableRow]) -> Unusable:
        """Count rows by reason, in the order in which the reasons appear."""
        found = list(rows)
        return cls(dict(Counter(row.reason for row in found)), tuple(found[:MAX_KEPT]))

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __add__(self, other: Unusable) -> Unusable:
        return Unusable(dict(Counter(self.counts) + Counter(other.counts)), (self.rows + other.rows)[:MAX_KEPT])

    def __str__(self) -> str:
        if not self.counts:
            return "no unusable rows"
        first: dict[str, int] = {}
        for row in self.rows:
            first.setdefault(row.reason, row.row)
        seen = {why: f" (first: row {row:,})" for why, row in first.items()}
        parts = [f"{count:,} {why}{seen.get(why, '')}" for why, count in self.counts.items()]
        return f"{len(self):,} unusable row{'s' if len(self) != 1 else ''}: {', '.join(parts)}"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV (row, line, reason, detail, label, text), whole or not at all."""
        with open_atomic(path, "w") as file:
            rows = csv.writer(file)
            rows.writerow(["row", "line", "reason", "detail", "label", "text"])
            for row in self.rows:
                line = "" if row.line is None else row.line
                rows.writerow([row.row, line, row.reason, row.detail, row.label, row.text])
