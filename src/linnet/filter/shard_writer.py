"""The kept rows of a shard: in the format of the shard, as they came, with the label and the probabilities added."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linnet.data.arrays import floats, integers, strings
from linnet.data.formats import FORMATS
from linnet.data.reader import RecordReader
from linnet.data.streaming import RowBatch
from linnet.data.writers import WRITERS, compressed, writer_like
from linnet.errors import DataError
from linnet.filter.output_folder import OutputFolder
from linnet.filter.settings import FilterSettings, Shard, keeps_format


@contextlib.contextmanager
def open_shard_writer(
    folder: OutputFolder, shard: Shard, settings: FilterSettings, reader: RecordReader
) -> Iterator[ShardWriter]:
    """Write the kept rows of a shard to a file that is compressed as the shard is."""
    codec = reader.codec if keeps_format(reader.format) else None
    if reader.format in FORMATS and FORMATS[reader.format].members and codec == "gzip":
        codec = None  # every record is compressed by itself
    with folder.open_atomic(folder.output(shard.name)) as file, compressed(file, codec) as sink:
        writer = ShardWriter(reader, sink, shard.name, settings)
        yield writer
        writer.tables.close()


class ShardWriter:
    """Writes the kept rows of a shard; given them in order, in any number of batches.

    Rows of JSON lines and web archives stay what they were, byte for byte; those of other formats are written from their
    columns, which keep their types.
    """

    def __init__(self, reader: RecordReader, sink: Any, name: str, settings: FilterSettings) -> None:
        self.reader, self.sink, self.names, self.classes = reader, sink, settings.names, settings.classes
        self.format = FORMATS.get(reader.format)
        self.schema = None
        kind = writer_like(name, reader.format)
        if reader.schema is not None and WRITERS[kind].typed:
            self._refuse_clash(reader.names)
            kinds = [pa.string(), *[pa.float32()] * (len(self.names) - 1)]
            fields = map(pa.field, self.names, kinds)
            self.schema = pa.schema([*reader.schema, *fields], metadata=reader.schema.metadata)
        self.tables = WRITERS[kind](sink, self.schema, reader.page_codec)
        self.tables.short = self.names[:1]
        self.plain = kind in ("csv", "tsv")

    def write(
        self, batch: RowBatch, rows: npt.NDArray[np.int64], best: npt.NDArray[np.int32], proba: npt.NDArray[np.float32],
        texts: Any = None,
    ) -> None:  # fmt: skip
        """Write rows of a batch: their best labels, their probabilities, and their texts where those changed."""
        self._refuse_clash(batch.raw.columns)
        if self.format is not None and self.format.rewrite is not None and batch.raw.records is not None:
            values = [[self.classes[k] for k in best.tolist()], *proba.T.tolist()]
            records = self.format.rewrite(
                batch.raw, rows.tolist(), batch.text_column, None if texts is None else texts.to_pylist(),
                dict(zip(self.names, values, strict=True)),
            )  # fmt: skip
            if self.format.members and self.reader.codec == "gzip":
                records = (gzip.compress(record, 6, mtime=0) for record in records)
            self.sink.write(b"".join(records))
        elif len(rows) or self.tables.schema is None:
            table = pa.table(batch.raw.columns) if self.schema is not None else batch.table
            if len(rows) < len(batch):
                table = table.take(integers(rows))
            columns = list(table.columns)
            if texts is not None:
                at = table.column_names.index(batch.text_column)
                columns[at] = texts.cast(columns[at].type)
            labels = strings(self.classes).take(integers(best % len(self.classes)))
            columns += [labels, *map(self._numbers, proba.T)]
            named = (
                {"schema": self.schema} if self.schema is not None else {"names": [*table.column_names, *self.names]}
            )
            self.tables.write(pa.Table.from_arrays(columns, **named))

    def _numbers(self, values: npt.NDArray[np.float32]) -> pa.Array:
        """Probabilities: 32-bit numbers where the format has types, else six digits."""
        if self.schema is not None:
            return floats(values)
        digits = [f"{p:.6g}" for p in values.tolist()]
        return strings(digits) if self.plain else floats(np.array(digits, np.float64))

    def _refuse_clash(self, names: Collection[str]) -> None:
        clash = [name for name in self.names if name in names]
        if clash:
            raise DataError(f"{self.reader.source} already has a column '{clash[0]}'; give another --prefix")
