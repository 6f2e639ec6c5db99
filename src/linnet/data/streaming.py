"""`stream`: a source of any size in batches, for prediction at constant memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.arrays import offsets, strings
from linnet.data.blocks import Block, Rows, Wanted
from linnet.data.clean import as_labels, blank, clean, repair_counts, repair_notes
from linnet.data.columns import Choice, by_content, by_name, given
from linnet.data.dataset import Dataset
from linnet.data.reading import account, opened
from linnet.data.unusable import Unusable
from linnet.errors import DataError

__all__ = ["Batch", "stream"]

_BATCH_BYTES = 8 << 20


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Consecutive rows of a stream; row i of `text` is row `first_row + i` of the source (rows count from 1).

    No row is left out: an empty, missing or malformed text is "" here, and is listed in `unusable`. `label` is None
    without a label column, and null where a row has none. `notes`, `how` and `also` are as in a Dataset, for this batch.
    """

    text: pa.Array
    label: pa.Array | None
    first_row: int
    unusable: Unusable = field(default_factory=Unusable)
    notes: tuple[str, ...] = ()
    how: str = ""
    also: Mapping[str, pa.Array] = field(default_factory=dict)

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
) -> Iterator[Batch]:
    """Read a source of any size in batches of at most `batch_rows` rows and about 8 MB.

    Sources, formats and columns are those of `read`, with three differences. Nothing is dropped, so that results can
    be written beside the rows. Columns are chosen from the first block, labels only as given or by name. A source
    without rows is no error: there are no batches. Memory stays constant for every format that can be cut: not for a
    JSON array, nor for Parquet from a pipe or inside gz, whose index is at the end. `also` names further columns to keep,
    as in `read`.

    >>> for batch in stream(["good film", "", "bad film"], batch_rows=2):
    ...     print(batch.first_row, batch.text.to_pylist(), len(batch.unusable))
    1 ['good film', ''] 1
    3 ['bad film'] 0
    """
    if batch_rows < 1:
        raise DataError(f"batch_rows must be at least 1; got {batch_rows}")
    if isinstance(source, Dataset):
        for column in also:
            source.column(column)
        text, label = source.text_column, source.label_column if source.label is not None else None
        columns = {**source.also, text: source.text} | ({} if label is None else {label: source.label})
        source = pa.table(columns)
    wanted = Wanted(text, label, block_bytes=_BATCH_BYTES, block_rows=batch_rows, streaming=True)
    with contextlib.ExitStack() as stack:
        rows, name, encoding = stack.enter_context(opened(source, format, wanted))
        more = [given(column, rows.names, name) for column in also]
        free = [column for column in rows.names if column not in more or column in (text, label)]
        choice = by_name(free, text=text, label=label, source=name, not_text=rows.not_text)
        if encoding != "utf-8":
            rows.notes.append(f"decoded as {encoding.upper()}")
        return _batches(rows, choice, name, batch_rows, more, stack.pop_all())


def _batches(
    rows: Rows, choice: Choice, name: str, batch_rows: int, more: list[str], stack: contextlib.ExitStack
) -> Iterator[Batch]:
    with stack:
        chosen = [column for column in (choice.text, choice.label) if column]
        names = list(dict.fromkeys([*chosen, *more])) if choice.text else None
        first = 1
        for raw in rows.blocks(names):
            if choice.text is None:
                free = [column for column in rows.names if column not in more]
                every = {column: found for column, found in clean(raw, free).columns.items() if column in free}
                choice = by_content(every, choice, labelled=False, source=name, not_text=rows.not_text)
            how = "; ".join(part for part in (rows.how, choice.how) if part)
            for batch in _cut(raw, choice, batch_rows, first, how, more):
                notes, rows.notes[:] = tuple(rows.notes), []
                yield replace(batch, notes=(*notes, *batch.notes)) if notes else batch
            first += raw.rows


def _cut(raw: Block, choice: Choice, batch_rows: int, first: int, how: str, more: list[str]) -> Iterator[Batch]:
    """One block as batches."""
    names = [column for column in (choice.text, choice.label) if column]
    block = clean(raw, list(dict.fromkeys([*names, *more])))
    text = block.columns[names[0]]
    label = as_labels(block.columns[choice.label]) if choice.label else None
    empty = blank(text)
    broken = empty.copy()
    broken[list(block.malformed)] = True
    bad = np.flatnonzero(broken)
    columns = [_filled(text), *([] if label is None else [label]), *(block.columns[column] for column in more)]
    start = 0
    for part in pa.table(columns, names=[str(k) for k in range(len(columns))]).to_batches(max_chunksize=batch_rows):
        for piece in _by_bytes(part):
            stop = start + piece.num_rows
            mine = bad[np.searchsorted(bad, start) : np.searchsorted(bad, stop)]
            unusable = account(block, mine, empty, text, label, first) if len(mine) else Unusable()
            notes = tuple(repair_notes(repair_counts(block, names, start, stop)))
            labels = None if label is None else piece.column(1)
            also = {column: piece.column(len(columns) - len(more) + k) for k, column in enumerate(more)}
            yield Batch(piece.column(0), labels, first + start, unusable, notes, how, also)
            start = stop


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with "" for null."""
    if column.null_count == 0:
        return column
    import pyarrow.compute as pc

    return pc.fill_null(column, strings([""]).cast(column.type)[0])


def _by_bytes(part: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Slices of about 8 MB of text, of one row at least."""
    ends = offsets(part.column(0)).astype(np.int64)
    start = 0
    while start < part.num_rows:
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] + _BATCH_BYTES, side="right")) - 1)
        yield part.slice(start, stop - start)
        start = stop
