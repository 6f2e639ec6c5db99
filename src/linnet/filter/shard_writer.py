"""The kept rows of a shard: in the format of the shard, as they came, with the label and the probabilities added."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linnet.data.arrays import floats, integers, strings
from linnet.data.formats import FORMATS
from linnet.data.reader import RecordReader
from linnet.data.streaming import RowBatch
from linnet.data.writers import KEPT, WRITERS, compressed, writer_like
from linnet.errors import DataError


@dataclass(frozen=True)
class AddedColumns:
    """The columns that are added: the name of the label's, those of the probabilities, and the classes, "" (no answer) the last."""

    label: str
    probabilities: tuple[str, ...]
    classes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all of them."""
        return (self.label, *self.probabilities)


@dataclass(eq=False)
class KeptRows:
    """Rows of a batch to write: which, their best labels, their probabilities, and their texts where those changed."""

    rows: npt.NDArray[np.int64]
    best: npt.NDArray[np.int32]
    proba: npt.NDArray[np.float32]  # (n, n_columns)
    texts: Any = None  # an Arrow column of the clean texts, or None


def keeps_format(format: str) -> bool:
    """Whether rows of a format are written back in it; else they become JSON lines.

    >>> keeps_format("parquet"), keeps_format("warc"), keeps_format("fasttext")
    (True, True, False)
    """
    return format in KEPT or (format in FORMATS and FORMATS[format].rewrite is not None)


@contextlib.contextmanager
def open_shard_writer(reader: RecordReader, file: Any, name: str, added: AddedColumns) -> Iterator[ShardWriter]:
    """Write to a file that is compressed as the shard is."""
    codec = reader.codec if keeps_format(reader.format) else None
    if reader.format in FORMATS and FORMATS[reader.format].members and codec == "gzip":
        codec = None  # every record is compressed by itself
    with compressed(file, codec) as sink:
        writer = ShardWriter(reader, sink, name, added)
        yield writer
        writer.tables.close()


class ShardWriter:
    """Writes the kept rows of a shard; given them in order, in any number of batches.

    Rows of JSON lines and web archives stay what they were, byte for byte; those of other formats are written from their
    columns, which keep their types.
    """

    def __init__(self, reader: RecordReader, sink: Any, name: str, added: AddedColumns) -> None:
        self.reader, self.sink, self.added = reader, sink, added
        self.format = FORMATS.get(reader.format)
        self.schema = None
        kind = writer_like(name, reader.format)
        if reader.schema is not None and WRITERS[kind].typed:
            self._refuse_clash(reader.names)
            fields = [pa.field(added.label, pa.string()), *(pa.field(p, pa.float32()) for p in added.probabilities)]
            self.schema = pa.schema([*reader.schema, *fields], metadata=reader.schema.metadata)
        self.tables = WRITERS[kind](sink, self.schema, reader.page_codec)
        self.tables.short = (added.label,)
        self.plain = kind in ("csv", "tsv")

    def write(self, batch: RowBatch, kept: KeptRows) -> None:
        """Write rows of a batch."""
        self._refuse_clash(batch.raw.columns)
        if self.format is not None and self.format.rewrite is not None and batch.raw.records is not None:
            values = [[self.added.classes[k] for k in kept.best.tolist()], *kept.proba.T.tolist()]
            records = self.format.rewrite(
                batch.raw, kept.rows.tolist(), batch.text_column, None if kept.texts is None else kept.texts.to_pylist(),
                dict(zip(self.added.names, values, strict=True)),
            )  # fmt: skip
            if self.format.members and self.reader.codec == "gzip":
                records = (gzip.compress(record, 6, mtime=0) for record in records)
            self.sink.write(b"".join(records))
        elif len(kept.rows) or self.tables.schema is None:
            self.tables.write(self._table(batch, kept))

    def _table(self, batch: RowBatch, kept: KeptRows) -> pa.Table:
        table = pa.table(batch.raw.columns) if self.schema is not None else batch.table
        if len(kept.rows) < len(batch):
            table = table.take(integers(kept.rows))
        columns = list(table.columns)
        if kept.texts is not None:
            at = table.column_names.index(batch.text_column)
            columns[at] = kept.texts.cast(columns[at].type)
        columns += [
            strings(self.added.classes).take(integers(kept.best % len(self.added.classes))),
            *map(self._numbers, kept.proba.T),
        ]
        if self.schema is not None:
            return pa.Table.from_arrays(columns, schema=self.schema)
        return pa.Table.from_arrays(columns, names=[*table.column_names, *self.added.names])

    def _numbers(self, values: npt.NDArray[np.float32]) -> pa.Array:
        """Probabilities: 32-bit numbers where the format has types, else six digits."""
        if self.schema is not None:
            return floats(values)
        digits = [f"{p:.6g}" for p in values.tolist()]
        return strings(digits) if self.plain else floats(np.array(digits, np.float64))

    def _refuse_clash(self, names: Collection[str]) -> None:
        clash = [name for name in self.added.names if name in names]
        if clash:
            raise DataError(f"{self.reader.source} already has a column '{clash[0]}'; give another --prefix")
