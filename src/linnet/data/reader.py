"""What every reader of a format yields, and everything after it understands: batches of raw rows.

What could not be used: how many rows, why, and which ones, so that nothing disappears silently.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.files import open_atomic


@dataclass(frozen=True, slots=True)
class Malformed:
    """A row that could not be parsed: why, what exactly, and its raw text."""

    reason: str
    detail: str
    raw: str


@dataclass(slots=True)
class RawBatch:
    """Consecutive rows of a source, column by column, as the reader found them.

    A malformed row has its place in every column, as null, so that row i of a batch is row i of the source. `repairs`
    maps a column to {kind of repair: rows repaired}; `lines` and `files` say where row i stands, where that is known.
    `records` are the bytes before they were parsed, for formats whose rows `linnet filter` writes back unchanged.
    """

    columns: dict[str, pa.ChunkedArray]
    rows: int
    malformed: Mapping[int, Malformed] = field(default_factory=dict)
    lines: Sequence[int] | None = None
    files: Sequence[str] | None = None
    repairs: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    records: Any = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the caller asked for: column names, and how much to read at a time."""

    text: str | None = None
    label: str | None = None
    batch_bytes: int = 64 << 20
    batch_rows: int = 1 << 20
    streaming: bool = False
    records: bool = False  # keep the bytes of each row, where the format can write them back


@dataclass(slots=True)
class RecordReader:
    """An opened source: its column names, and its batches of rows.

    `batches(names)` reads the named columns only, or all of them for None; it can be called once. `how` says how the
    names came about, `notes` grows while batches are read, `not_text` are columns that hold numbers. `schema`,
    `page_codec` and `total_rows` are known where the format states them. The rest is set when the source is opened.
    """

    names: list[str]
    batches: Callable[[Sequence[str] | None], Iterator[RawBatch]]
    how: str = ""
    notes: list[str] = field(default_factory=list)
    not_text: frozenset[str] = frozenset()
    schema: Any = None
    page_codec: str = "zstd"
    total_rows: int | None = None
    source: str = ""
    encoding: str = "utf-8"
    codec: str | None = None  # of the compressed file
    format: str = ""


def is_numeric(kind: Any) -> bool:
    """Whether an Arrow type holds numbers or truth values, which are never a text."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def grouped(items: Iterable[tuple[Any, int]], options: ReadOptions) -> Iterator[list[Any]]:
    """Collect items, each given with its size in bytes, until they are enough for a batch.

    >>> list(grouped([("a", 3), ("b", 3), ("c", 3)], ReadOptions(batch_bytes=6)))
    [['a', 'b'], ['c']]
    """
    found: list[Any] = []
    total = 0
    for item, size in items:
        found.append(item)
        total += size
        if total >= options.batch_bytes or len(found) >= options.batch_rows:
            yield found
            found, total = [], 0
    if found:
        yield found


def join(batches: Sequence[RawBatch], names: Sequence[str]) -> RawBatch:
    """Concatenate batches of string columns without copying them.

    >>> from linnet.data.arrays import strings
    >>> one = RawBatch({"a": pa.chunked_array([strings(["x", "y"])])}, 2, lines=range(1, 3))
    >>> two = RawBatch({"a": pa.chunked_array([strings([None])])}, 1, {0: Malformed("not JSON", "", "{")}, range(3, 4))
    >>> both = join([one, two], ["a"])
    >>> both.columns["a"].to_pylist(), both.rows, list(both.malformed), both.lines
    (['x', 'y', None], 3, [2], range(1, 4))
    """
    first = np.cumsum([0, *(batch.rows for batch in batches)])
    malformed: dict[int, Malformed] = {}
    repairs: dict[str, dict[str, np.ndarray]] = {}
    for at, batch in zip(first.tolist(), batches, strict=False):
        malformed.update({at + row: bad for row, bad in batch.malformed.items()})
        for name in names:
            for kind, rows in batch.repairs.get(name, {}).items():
                before = repairs.setdefault(name, {}).get(kind, np.zeros(0, dtype=np.int64))
                repairs[name][kind] = np.concatenate([before, rows + at])
    columns = {name: _concat([batch.columns[name] for batch in batches]) for name in names}
    files = [name for batch in batches for name in batch.files or ()]
    return RawBatch(columns, int(first[-1]), malformed, _join_lines(batches), files or None, repairs)


def _concat(columns: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Chunks of all columns as one column; large strings where one of them is."""
    kind = pa.string()
    if any(pa.types.is_large_string(column.type) for column in columns):
        kind = pa.large_string()
        columns = [column.cast(kind) for column in columns]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], type=kind)


def _join_lines(batches: Sequence[RawBatch]) -> Sequence[int] | None:
    parts = [batch.lines for batch in batches if batch.lines is not None]
    if len(parts) < len(batches) or not parts:
        return None
    start = parts[0][0] if len(parts[0]) else 1
    every = range(start, start + sum(map(len, parts)))
    if all(isinstance(part, range) for part in parts) and (not parts[-1] or parts[-1][-1] == every[-1]):
        return every
    return np.concatenate([np.asarray(part, dtype=np.int64) for part in parts]).tolist()  # type: ignore[no-any-return]


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
