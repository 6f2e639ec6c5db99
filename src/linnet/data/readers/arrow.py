"""Arrow in its three forms (file, stream, Feather 2), and Arrow tables in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from linnet.data.input_file import InputFile
from linnet.data.reader import RawBatch, ReadOptions, RecordReader, is_numeric
from linnet.data.readers.header import column_names
from linnet.errors import DataError

__all__ = ["open_arrow", "schema_reader", "sniff_arrow", "table_reader"]


def sniff_arrow(head: bytes) -> bool:
    """Arrow files start with ARROW1; streams with a continuation mark and the length of a schema."""
    return head.startswith(b"ARROW1") or (head.startswith(b"\xff\xff\xff\xff") and 0 < len(head[4:8]) == 4)


def open_arrow(file: InputFile, options: ReadOptions) -> RecordReader:
    """Arrow IPC files (Feather 2 is one) and streams, batch by batch."""
    if file.peek(6) == b"ARROW1":
        opened = pa.ipc.open_file(file.random_access(mapped=options.streaming))
        batches: Iterable[Any] = (opened.get_batch(index) for index in range(opened.num_record_batches))
    else:
        batches = opened = pa.ipc.open_stream(file.forward())
    return schema_reader(opened.schema, lambda keep: batches, file.name)


def table_reader(table: pa.Table, source: str) -> RecordReader:
    """Read a table in memory.

    >>> from linnet.data.arrays import strings
    >>> table_reader(pa.table({"text": strings(["a", "b"])}), "a table").names
    ['text']
    """
    reader = schema_reader(table.schema, lambda keep: [table], "the table")
    reader.source = source
    return reader


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write runs out: few functions of Arrow take them."""
    if not pa.types.is_run_end_encoded(column.type):
        return column
    import pyarrow.compute as pc

    return pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], type=column.type.value_type)


def _check(name: str, column: Any, source: str) -> None:
    """Refuse a column whose offsets point outside of it: reading it would read other memory. Broken UTF-8 is repaired later."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        if "UTF8" not in str(error):
            raise DataError(f"{source}: column '{name}' is damaged: {str(error)[:200]}") from None


def schema_reader(schema: Any, read: Callable[[list[str]], Iterable[Any]], checked: str = "") -> RecordReader:
    """Make a reader of typed columns; `read` gives record batches or tables of the columns with some names.

    checked is the name of a source whose columns may be damaged: they are looked through before they are used.
    """
    shown = column_names(schema.names)

    def batches(names: Sequence[str] | None) -> Iterator[RawBatch]:
        keep = [
            name for name, name_shown in zip(schema.names, shown, strict=True) if names is None or name_shown in names
        ]
        for batch in read(keep):
            for name, column in zip(batch.schema.names, batch.columns, strict=True) if checked else ():
                _check(name, column, checked)
            columns = [_plain(pa.chunked_array([c]) if isinstance(c, pa.Array) else c) for c in batch.columns]
            yield RawBatch(dict(zip(column_names(batch.schema.names), columns, strict=True)), batch.num_rows)

    numbers = frozenset(field.name for field in schema if is_numeric(field.type))
    return RecordReader(shown, batches, not_text=numbers, schema=schema)
