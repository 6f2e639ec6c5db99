"""Parquet, in batches of a few megabytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linnet.data.input_file import InputFile
from linnet.data.reader import ReadOptions, RecordReader
from linnet.data.readers.arrow import schema_reader

__all__ = ["open_parquet", "sniff_parquet"]

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
