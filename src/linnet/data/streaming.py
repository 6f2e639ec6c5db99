"""`stream`: a source of any size in batches, for prediction at constant memory. `stream_rows`: with every column."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.arrays import byte_slices
from linnet.data.columns import ColumnChoice, by_content, given
from linnet.data.decode import as_labels, blank, column_strings, decoded, filled, missing, repair_counts, repair_notes
from linnet.data.reader import Malformed, RawBatch, ReadOptions, RecordReader, Unusable
from linnet.data.reading import account, choose, open_reader
from linnet.errors import DataError

_BATCH_BYTES = 8 << 20


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Consecutive rows of a stream; row i of `text` is row `first_row + i` of the source (rows count from 1).

    No row is left out: an empty, missing or malformed text is "" here, and is listed in `unusable`. `label` is None
    without a label column, and null where a row has none. `notes`, `how` and `also` are as in a Dataset, for this batch;
    `kept` are the columns that were asked for with `keep`, in their own types.
    """

    text: pa.Array
    label: pa.Array | None
    first_row: int
    unusable: Unusable = field(default_factory=Unusable)
    notes: tuple[str, ...] = ()
    how: str = ""
    also: Mapping[str, pa.Array] = field(default_factory=dict)
    kept: pa.Table | None = None
    multilabel: bool = False
    """Whether rows have several labels; they are joined by '|' here."""

    def __len__(self) -> int:
        return len(self.text)

    def __repr__(self) -> str:
        return f"<Batch: rows {self.first_row:,} to {self.first_row + len(self) - 1:,}>"


def stream(
    source: Any,
    *,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    batch_rows: int = 8192,
    also: Sequence[str] = (),
    keep: Sequence[str] | bool = False,
    labelled: bool = False,
) -> Iterator[Batch]:
    """Read a source of any size in batches of at most `batch_rows` rows and about 8 MB.

    Sources, formats and columns are those of `read`, with three differences. Nothing is dropped, so that results can
    be written beside the rows. Columns are chosen from the first batch, labels only as given or by name. A source
    without rows is no error: there are no batches. Memory stays constant for every format that can be cut: not for a
    JSON array, nor for Parquet from a pipe or inside gz, whose index is at the end. `also` names further columns to keep,
    as in `read`; `keep` names columns to hand through as they are (True: all). With `labelled`, rows without a label are unusable.

    >>> for batch in stream(["good film", "", "bad film"], batch_rows=2):
    ...     print(batch.first_row, batch.text.to_pylist(), len(batch.unusable))
    1 ['good film', ''] 1
    3 ['bad film'] 0
    """
    if batch_rows < 1:
        raise DataError(f"batch_rows must be at least 1; got {batch_rows}")
    if not isinstance(source, str | os.PathLike):
        from linnet.data.dataset import Dataset

        if isinstance(source, Dataset):
            for column in also:
                source.column(column)
            text, label = source.text_column, source.label_column if source.label is not None else None
            columns = {**source.also, text: source.text} | ({} if label is None else {label: source.label})
            source = pa.table(columns)
    reader, rows = open_rows(
        source, text=text, label=label, format=format, also=also, batch_rows=batch_rows, every=keep is not False,
        labelled=labelled,
    )  # fmt: skip
    names = reader.names if isinstance(keep, bool) else [given(name, reader.names, reader.source) for name in keep]
    if reader.encoding != "utf-8":
        reader.notes.append(f"decoded as {reader.encoding.upper()}")
    return _batches(rows, batch_rows, None if keep is False else names)


def _batches(rows: Iterator[RowBatch], batch_rows: int, keep: Sequence[str] | None) -> Iterator[Batch]:
    for row_batch in rows:
        table = None if keep is None else row_batch.table_of(keep)
        for batch in _cut(row_batch, batch_rows):
            notes, row_batch.reader.notes[:] = tuple(row_batch.reader.notes), []
            kept = None if table is None else table.slice(batch.first_row - row_batch.first_row, len(batch))
            yield batch if kept is None and not notes else replace(batch, notes=(*notes, *batch.notes), kept=kept)


def _cut(rows: RowBatch, batch_rows: int) -> Iterator[Batch]:
    """Cut a batch of rows to at most so many rows and 8 MB of text."""
    choice, more, first = rows.choice, rows.also, rows.first_row
    names = [column for column in (choice.text, choice.label) if column is not None]
    raw = decoded(rows.raw, list(dict.fromkeys([*names, *more])))
    text = raw.columns[names[0]]
    label = as_labels(raw.columns[choice.label]) if choice.label is not None else None
    empty = blank(text)
    broken = empty | missing(label) if rows.labelled and label is not None else empty.copy()
    broken[list(raw.malformed)] = True
    bad = np.flatnonzero(broken)
    columns = [filled(text), *([] if label is None else [label]), *(raw.columns[column] for column in more)]
    start = 0
    for part in pa.table(columns, names=[str(k) for k in range(len(columns))]).to_batches(max_chunksize=batch_rows):
        for piece in (part[cut] for cut in byte_slices(part.column(0), _BATCH_BYTES)):
            stop = start + piece.num_rows
            mine = bad[np.searchsorted(bad, start) : np.searchsorted(bad, stop)]
            unusable = account(raw, mine, empty, text, label, first) if len(mine) else Unusable()
            notes = tuple(repair_notes(repair_counts(raw, names, start, stop)))
            labels = None if label is None else piece.column(1)
            also = {column: piece.column(len(columns) - len(more) + k) for k, column in enumerate(more)}
            multilabel = choice.label is not None and "lists" in raw.repairs.get(choice.label, {})
            yield Batch(piece.column(0), labels, first + start, unusable, notes, rows.how, also, multilabel=multilabel)
            start = stop


@dataclass(eq=False, repr=False)
class RowBatch:
    """Consecutive rows with their columns, for tools that write rows again; row 0 is row `first_row` of the source."""

    raw: RawBatch
    choice: ColumnChoice
    first_row: int
    reader: RecordReader
    also: Sequence[str] = ()
    labelled: bool = False  # whether a row without a label is unusable

    def __len__(self) -> int:
        return self.raw.rows

    @property
    def source(self) -> str:
        """The name of the source."""
        return self.reader.source

    @property
    def how(self) -> str:
        """How the columns were chosen."""
        return "; ".join(part for part in (self.reader.how, self.choice.how) if part)

    @property
    def malformed(self) -> Mapping[int, Malformed]:
        """The rows that could not be parsed."""
        return self.raw.malformed

    @property
    def text_column(self) -> str:
        """The name of the text column."""
        return self.choice.text or ""

    @cached_property
    def text(self) -> pa.ChunkedArray:
        """The texts, "" for null."""
        return filled(column_strings(self.raw, self.text_column))

    def values(self, name: str) -> list[str]:
        """Return a column as strings, "" for null."""
        found: list[str] = filled(column_strings(self.raw, name)).to_pylist()
        return found

    @cached_property
    def table(self) -> pa.Table:
        """All columns: texts and bytes as strings, other columns in their own types."""
        return self.table_of(list(dict.fromkeys([*self.reader.names, *self.raw.columns])))

    def table_of(self, names: Sequence[str]) -> pa.Table:
        """Some columns, as in `table`."""
        return pa.table({name: self._column(name) for name in names})

    def _column(self, name: str) -> pa.ChunkedArray:
        column = self.raw.columns.get(name)
        if column is None or name == self.text_column or not _typed(column.type):
            return column_strings(self.raw, name)
        return column

    def slices(self, rows: int) -> Iterator[RowBatch]:
        """Cut into batches of so many rows; without their records."""
        if len(self) <= rows:
            yield self
            return
        for start in range(0, len(self), rows):
            columns = {name: column.slice(start, rows) for name, column in self.raw.columns.items()}
            stop = min(start + rows, len(self))
            bad = {row - start: why for row, why in self.malformed.items() if start <= row < stop}
            yield replace(self, raw=RawBatch(columns, stop - start, bad), first_row=self.first_row + start)


def _typed(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_primitive(kind) or types.is_boolean(kind) or types.is_temporal(kind) or types.is_decimal(kind)
        or types.is_nested(kind) or types.is_null(kind)
    )  # fmt: skip


def stream_rows(
    source: Any, *, text: str | None = None, format: str | None = None, batch_rows: int = 4096
) -> Iterator[RowBatch]:
    """Read a source of any size in batches of rows with all their columns; formats and columns are those of `stream`.

    Columns of a typed source (Parquet, Arrow, JSON lines) keep their types; those of a CSV file are strings.

    >>> for batch in stream_rows([{"id": 1, "text": "good"}, {"id": 2, "text": None}], batch_rows=1):
    ...     print(batch.first_row, batch.text_column, batch.table.column_names, batch.text.to_pylist())
    1 text ['id', 'text'] ['good']
    2 text ['id', 'text'] ['']
    """
    _, rows = open_rows(source, text=text, format=format, batch_rows=batch_rows, every=True)
    return (part for batch in rows for part in batch.slices(batch_rows))


def open_rows(
    source: Any,
    *,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    also: Sequence[str] = (),
    batch_rows: int = 1 << 16,
    every: bool = False,
    labelled: bool = False,
    records: bool = False,
) -> tuple[RecordReader, Generator[RowBatch, None, None]]:
    """Open a source and choose its columns, by name or by the content of its first batch; return its batches of rows.

    With `every`, all columns are read, else those that are chosen and `also`. `labelled` asks for a label column, which
    is then found by content, too. `records` keeps the bytes of rows that can be written back. The source is closed when
    the batches end or are abandoned.
    """
    options = ReadOptions(text, label, _BATCH_BYTES, batch_rows, streaming=True, records=records)
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(open_reader(source, format, options))
        choice, more, free = choose(reader, text, label, also)
        return reader, _row_batches(reader, choice, free, more, every, labelled, stack.pop_all())


def _row_batches(
    reader: RecordReader, choice: ColumnChoice, free: list[str], more: list[str], every: bool, labelled: bool,
    stack: contextlib.ExitStack,
) -> Generator[RowBatch, None, None]:  # fmt: skip
    with stack:
        decided = choice.text is not None and (choice.label is not None or not labelled)
        chosen = [column for column in (choice.text, choice.label, *more) if column]
        first = 1
        for raw in reader.batches(None if every or not decided else list(dict.fromkeys(chosen))):
            if not raw.rows:
                continue
            if not decided:
                columns = decoded(raw, free).columns
                choice = by_content(columns, choice, labelled=labelled, source=reader.source, not_text=reader.not_text)
                decided = True
            yield RowBatch(raw, choice, first, reader, more, labelled)
            first += raw.rows
