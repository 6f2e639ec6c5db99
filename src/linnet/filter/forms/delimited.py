"""CSV and TSV shards: every column as text, with the scores behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa

from linnet.data.arrays import integers
from linnet.data.columns import by_name
from linnet.data.whole import stream_whole
from linnet.data.writing import TableWriter
from linnet.errors import DataError
from linnet.filter.forms.batch import Batch, Form, Kept, Scored, Writer
from linnet.filter.forms.sinks import packed_as

__all__ = ["CSV", "TSV"]


class CSV(Form):
    """Comma separated values; plain, gz or zst."""

    name = "csv"
    endings: ClassVar[tuple[str, ...]] = (".csv",)

    def read(self, path: str, text: str | None, by: str | None, *, whole: bool) -> Iterator[Batch]:
        """Read batches of rows."""
        for batch in stream_whole(path, text=text, format=self.name):
            table = batch.table
            if by is not None and by not in table.column_names:
                by_name(table.column_names, text=by, source=path)
            values = None if by is None else [value or "" for value in table.column(by).to_pylist()]
            texts = table.column(batch.text_column)
            if texts.null_count:
                import pyarrow.compute as pc

                texts = pc.fill_null(texts, "")
            yield Batch(texts, batch.first_row, (table, batch.text_column), batch.malformed, values)

    def writer(self, path: str, sink: Any, scored: Scored) -> Writer:
        """Write rows in the same dialect, compressed in the same way."""
        return _Writer(path, sink, scored, self.name)


class TSV(CSV):
    """Tab separated values."""

    name = "tsv"
    endings = (".tsv", ".tab")


class _Writer(Writer):
    def __init__(self, path: str, sink: Any, scored: Scored, form: str) -> None:
        self.path, self.scored = path, scored
        self.sink = packed_as(path, sink)
        self.rows = TableWriter(self.sink, form)
        self.started = False

    def write(self, batch: Batch, kept: Kept) -> None:
        from linnet.data.arrays import strings
        from linnet.filter.forms.parquet import labels_of

        table, column = batch.raw
        clash = [name for name in (self.scored.label, *self.scored.odds) if name in table.column_names]
        if clash:
            raise DataError(f"{self.path} already has a column '{clash[0]}'; give another --prefix")
        if not len(kept.rows) and self.started:
            return
        part = table.take(integers(kept.rows))
        if kept.texts is not None:
            part = part.set_column(part.column_names.index(column), column, kept.texts)
        part = part.append_column(self.scored.label, pa.chunked_array([labels_of(kept.best, self.scored.classes)]))
        for k, name in enumerate(self.scored.odds):
            part = part.append_column(
                name, pa.chunked_array([strings([f"{p:.6g}" for p in kept.proba[:, k].tolist()])])
            )
        self.rows.write(part)
        self.started = True

    def close(self) -> None:
        self.rows.close()
        self.sink.close()
