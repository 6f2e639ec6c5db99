"""Arrow in its three forms (file, stream, Feather 2), and Arrow tables in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from linnet.data.columns import column_names
from linnet.data.input_file import InputFile
from linnet.data.reader import RawBatch, ReadOptions, RecordReader, is_numeric
from linnet.errors import DataError


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


_BATCH_BYTES = 4 << 20  # of a file that is read whole: half the memory of larger ones


def sniff_parquet(head: bytes) -> bool:
    """Parquet files start (and end) with PAR1."""
    return head.startswith(b"PAR1")


def open_parquet(file: InputFile, options: ReadOptions) -> RecordReader:
    """Parquet, row group by row group, in batches of about `options.batch_bytes` for a stream."""
    import pyarrow.parquet as pq

    buffer = 1 << 20 if options.streaming else 0
    opened = pq.ParquetFile(file.random_access(), buffer_size=buffer, pre_buffer=False)
    most, most_rows = (options.batch_bytes, options.batch_rows) if options.streaming else (_BATCH_BYTES, 1 << 30)

    def read(keep: list[str]) -> Iterator[Any]:
        for group in range(opened.num_row_groups):
            about = opened.metadata.row_group(group)
            each = max(1, about.total_byte_size // max(1, about.num_rows))
            size = max(1, min(most_rows, most // each))
            yield from opened.iter_batches(size, row_groups=[group], columns=keep, use_threads=not options.streaming)

    meta = opened.metadata
    reader = schema_reader(opened.schema_arrow, read)
    reader.total_rows = meta.num_rows
    if meta.num_row_groups and meta.num_columns:
        reader.page_codec = meta.row_group(0).column(0).compression.lower()
    return reader
