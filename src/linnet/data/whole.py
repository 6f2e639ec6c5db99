"""Whole rows in: a source of any size in batches, with every column it has, for tools that write rows out again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from linnet.data.blocks import Block, Rows, Wanted
from linnet.data.clean import clean, to_strings
from linnet.data.columns import Choice, by_content, by_name
from linnet.data.reading import opened

__all__ = ["WholeBatch", "stream_whole"]


@dataclass(frozen=True, eq=False, repr=False)
class WholeBatch:
    """Consecutive rows with all their columns; row i of `table` is row `first_row + i` of the source.

    The text column holds strings, "" for null. `malformed` maps rows that could not be taken apart to (reason, raw).
    """

    table: pa.Table
    text_column: str
    first_row: int
    source: str
    malformed: dict[int, tuple[str, str]] = field(default_factory=dict)
    how: str = ""

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def texts(self) -> list[str]:
        """Return the texts."""
        return [value or "" for value in self.table.column(self.text_column).to_pylist()]


def stream_whole(
    source: Any, *, text: str | None = None, format: str | None = None, batch_rows: int = 4096
) -> Iterator[WholeBatch]:
    """Read a source of any size in batches of whole rows; formats and columns are those of `linnet.data.stream`.

    Columns of a typed source (Parquet, Arrow, JSON lines) keep their types; those of a CSV file are strings.

    >>> for batch in stream_whole([{"id": 1, "text": "good"}, {"id": 2, "text": None}], batch_rows=1):
    ...     print(batch.first_row, batch.text_column, batch.table.column_names, batch.texts())
    1 text ['id', 'text'] ['good']
    2 text ['id', 'text'] ['']
    """
    wanted = Wanted(text, None, block_bytes=8 << 20, block_rows=batch_rows, streaming=True)
    with contextlib.ExitStack() as stack:
        rows, name, _ = stack.enter_context(opened(source, format, wanted))
        choice = by_name(rows.names, text=text, source=name, not_text=rows.not_text)
        return _batches(rows, choice, name, batch_rows, stack.pop_all())


def _batches(
    rows: Rows, choice: Choice, name: str, batch_rows: int, stack: contextlib.ExitStack
) -> Iterator[WholeBatch]:
    with stack:
        first = 1
        for raw in rows.blocks(None):
            if choice.text is None:
                columns = clean(raw, rows.names).columns
                choice = by_content(columns, choice, labelled=False, source=name, not_text=rows.not_text)
            how = f"text column '{choice.text}' ({choice.why_text})"
            table = _table(raw, rows.names, choice.text or "")
            for start in range(0, raw.rows, batch_rows):
                part = table.slice(start, batch_rows)
                end = start + part.num_rows
                bad = {k - start: (m.reason, m.raw) for k, m in raw.malformed.items() if start <= k < end}
                yield WholeBatch(part, choice.text or "", first + start, name, bad, how)
            first += raw.rows


def _table(raw: Block, names: list[str], text: str) -> pa.Table:
    """A block as a table: texts as strings, other columns as they are, but for bytes."""
    columns = {}
    for name in [*names, *(name for name in raw.columns if name not in names)]:
        column = raw.columns.get(name)
        if column is None:
            column = pa.chunked_array([pa.nulls(raw.rows, pa.string())])
        columns[name] = to_strings(column)[0] if name == text or not _typed(column.type) else column
    return pa.table(columns)


def _typed(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_primitive(kind) or types.is_boolean(kind) or types.is_temporal(kind) or types.is_decimal(kind)
        or types.is_nested(kind) or types.is_null(kind)
    )  # fmt: skip
