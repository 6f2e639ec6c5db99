"""Typed tables: Parquet, and Arrow in its three forms (file, stream, Feather 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from linnet.data.blocks import Block, Rows, Wanted
from linnet.data.header import column_names
from linnet.data.source import Source

__all__ = ["open_arrow", "open_parquet", "rows_of", "sniff_arrow", "sniff_parquet"]

WHOLE_BATCH = 4 << 20  # bytes


def sniff_parquet(head: bytes) -> bool:
    """Parquet files start (and end) with PAR1."""
    return head.startswith(b"PAR1")


def sniff_arrow(head: bytes) -> bool:
    """Arrow files start with ARROW1; streams with a continuation mark and the length of a schema."""
    return head.startswith(b"ARROW1") or (head.startswith(b"\xff\xff\xff\xff") and 0 < len(head[4:8]) == 4)


def open_parquet(source: Source, wanted: Wanted) -> Rows:
    """Parquet, in batches: of about `wanted.block_bytes` for a stream, else a few megabytes (half the memory of a whole)."""
    import pyarrow.parquet as pq

    buffer = 1 << 20 if wanted.streaming else 0
    file = pq.ParquetFile(source.random_access(), buffer_size=buffer, pre_buffer=False)
    schema = file.schema_arrow

    def blocks(names: Sequence[str] | None) -> Iterator[Block]:
        known = zip(schema.names, column_names(schema.names), strict=True)
        keep = [name for name, shown in known if names is None or shown in names]
        most = wanted.block_bytes if wanted.streaming else WHOLE_BATCH
        rows = wanted.block_rows if wanted.streaming else 1 << 30
        for group in range(file.num_row_groups):
            about = file.metadata.row_group(group)
            each = max(1, about.total_byte_size // max(1, about.num_rows))
            size = max(1, min(rows, most // each))
            for batch in file.iter_batches(size, row_groups=[group], columns=keep):
                yield _block(pa.Table.from_batches([batch]))

    return _rows(schema, blocks)


def open_arrow(source: Source, wanted: Wanted) -> Rows:
    """Arrow IPC files (Feather 2 is one) and streams, batch by batch."""
    if source.peek(6) == b"ARROW1":
        file = pa.ipc.open_file(source.random_access(mapped=wanted.streaming))
        schema = file.schema
        batches: Iterator[Any] = (file.get_batch(index) for index in range(file.num_record_batches))
    else:
        reader = pa.ipc.open_stream(source.forward())
        schema, batches = reader.schema, iter(reader)

    def blocks(names: Sequence[str] | None) -> Iterator[Block]:
        for batch in batches:
            yield _block(pa.Table.from_batches([batch]))

    return _rows(schema, blocks)


def rows_of(table: pa.Table) -> Rows:
    """A table in memory as rows.

    >>> from linnet.data.arrays import strings
    >>> rows_of(pa.table({"text": strings(["a", "b"])})).names
    ['text']
    """
    return _rows(table.schema, lambda names: iter([_block(table)]))


def _rows(schema: Any, blocks: Any) -> Rows:
    types = pa.types
    numbers = [
        field.name
        for field in schema
        if types.is_integer(field.type) or types.is_floating(field.type) or types.is_boolean(field.type)
    ]
    return Rows(column_names(schema.names), blocks, not_text=frozenset(numbers))


def _block(table: Any) -> Block:
    return Block(dict(zip(column_names(table.column_names), table.columns, strict=True)), table.num_rows)
