"""Parquet shards: typed columns as they are, with the scores behind them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.arrays import integers
from linnet.data.clean import printable, to_strings
from linnet.data.columns import by_content, by_name
from linnet.errors import DataError
from linnet.filter.forms.batch import BATCH_BYTES, Batch, Form, Kept, Scored, Writer

__all__ = ["Parquet", "labels_of", "reals"]

GROUP_BYTES = 32 << 20
MOST_ROWS = 1 << 16


class Parquet(Form):
    """Parquet, row group by row group."""

    name = "parquet"
    endings = (".parquet", ".pq")

    def read(self, path: str, text: str | None, by: str | None, *, whole: bool) -> Iterator[Batch]:
        """Read batches of about 8 MB of text."""
        with _opened(path) as file:
            column = _text_column(file, path, text)
            names = file.schema_arrow.names
            if by is not None and by not in names:
                by_name(names, text=by, source=path)  # says which there are
            wanted = None if whole else list(dict.fromkeys([column, *([by] if by else [])]))
            first = 1
            for group in range(file.num_row_groups):
                size = _batch_rows(file.metadata.row_group(group), column)
                for part in file.iter_batches(size, row_groups=[group], columns=wanted, use_threads=False):
                    yield _batch(part, column, by, first)
                    first += part.num_rows

    def writer(self, path: str, sink: Any, scored: Scored) -> Writer:
        """Write Parquet of the same schema, compressed in the same way."""
        return _Writer(path, sink, scored)

    def rows(self, path: str) -> int | None:
        """Return the rows that the footer promises."""
        with contextlib.suppress(DataError), _opened(path) as file:
            return int(file.metadata.num_rows)
        return None


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.OSFile(path), buffer_size=1 << 20, pre_buffer=False) as file:
            yield file
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, EOFError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
        raise DataError(f"{path} is damaged or cut short: {reason}") from None


def _text_column(file: Any, path: str, text: str | None) -> str:
    schema = file.schema_arrow
    numbers = frozenset(f.name for f in schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type))
    choice = by_name(schema.names, text=text, source=path, not_text=numbers)
    if choice.text is None:
        sample = next(file.iter_batches(512, use_threads=False), None)
        if sample is None:
            raise DataError(f"{path}: no column is called like a text; name it: --text COL")
        columns = {name: to_strings(pa.chunked_array([sample.column(name)]))[0] for name in schema.names}
        choice = by_content(columns, choice, labelled=False, source=path, not_text=numbers)
    return str(choice.text)


def _batch_rows(group: Any, column: str) -> int:
    size = sum(
        group.column(k).total_uncompressed_size
        for k in range(group.num_columns)
        if group.column(k).path_in_schema.split(".")[0] == column
    )
    return int(max(1, min(MOST_ROWS, BATCH_BYTES // max(1, size // max(1, group.num_rows)))))


def _batch(part: Any, column: str, by: str | None, first: int) -> Batch:
    texts = to_strings(pa.chunked_array([part.column(column)]))[0]
    if texts.null_count:
        import pyarrow.compute as pc

        texts = pc.fill_null(texts, "")
    values = None if by is None else [printable(value) or "" for value in part.column(by).to_pylist()]
    return Batch(texts, first, (part, column), values=values)


class _Writer(Writer):
    def __init__(self, path: str, sink: Any, scored: Scored) -> None:
        import pyarrow.parquet as pq

        self.scored = scored
        with _opened(path) as file:
            schema, meta = file.schema_arrow, file.metadata
            clash = [name for name in (scored.label, *scored.odds) if name in schema.names]
            if clash:
                raise DataError(f"{path} already has a column '{clash[0]}'; give another --prefix")
            codec = (
                meta.row_group(0).column(0).compression.lower() if meta.num_row_groups and meta.num_columns else "zstd"
            )
        added = [pa.field(scored.label, pa.string()), *(pa.field(name, pa.float32()) for name in scored.odds)]
        self.schema = pa.schema([*schema, *added], metadata=schema.metadata)
        short = [f.name for f in self.schema if not _long(f.type)] + [scored.label]
        self.file = pq.ParquetWriter(
            sink, self.schema, compression="none" if codec == "uncompressed" else codec, use_dictionary=short,
            write_statistics=short,
        )  # fmt: skip
        self.waiting: list[Any] = []
        self.size = 0

    def write(self, batch: Batch, kept: Kept) -> None:
        part, column = batch.raw
        if not len(kept.rows):
            return
        table = part if len(kept.rows) == part.num_rows else part.take(integers(kept.rows))
        columns = list(table.columns)
        if kept.texts is not None:
            at = table.schema.get_field_index(column)
            columns[at] = kept.texts.combine_chunks().cast(table.schema.field(at).type)
        columns.append(labels_of(kept.best, self.scored.classes))
        columns += [reals(kept.proba[:, k]) for k in range(kept.proba.shape[1])]
        table = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        self.waiting.append(table)
        self.size += table.nbytes
        if self.size >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self.waiting:
            table = pa.Table.from_batches(self.waiting, self.schema)
            self.file.write_table(table, row_group_size=max(1, table.num_rows))
        self.waiting, self.size = [], 0

    def close(self) -> None:
        self._flush()
        self.file.close()


def _long(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
        or types.is_string_view(kind) or types.is_floating(kind) or types.is_nested(kind)
    )  # fmt: skip


def labels_of(best: np.ndarray, classes: tuple[str, ...]) -> pa.Array:
    """The names of classes as an Arrow column.

    >>> labels_of(np.array([1, 0], np.int32), ("neg", "pos")).to_pylist()
    ['pos', 'neg']
    """
    from linnet.data.arrays import strings

    return strings(classes).take(integers(best))


def reals(values: np.ndarray) -> pa.Array:
    """Numpy floats to an Arrow float array without a copy."""
    whole = np.ascontiguousarray(values, dtype=np.float32)
    return pa.Array.from_buffers(pa.float32(), len(whole), [None, pa.py_buffer(whole)])
