"""Arrow in its three forms (file, stream, Feather 2), Parquet, Arrow tables in memory, and Python objects.

Python objects as rows: lists, pairs, dictionaries, numpy, pandas, polars, and anything that speaks Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from linnet.data.arrays import cells, printable
from linnet.data.columns import column_names
from linnet.data.input_file import InputFile, RawBatch, ReadOptions, RecordReader, is_numeric
from linnet.data.readers.jsonlines import columns_of
from linnet.errors import DataError

if TYPE_CHECKING:
    from linnet.data.dataset import Dataset


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
    return replace(schema_reader(table.schema, lambda keep: [table], "the table"), source=source)


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
        pairs = zip(schema.names, shown, strict=True)
        keep = [name for name, name_shown in pairs if names is None or name_shown in names]
        for batch in read(keep):
            for name, column in zip(batch.schema.names, batch.columns, strict=True) if checked else ():
                _check(name, column, checked)
            columns = [_plain(pa.chunked_array([c]) if isinstance(c, pa.Array) else c) for c in batch.columns]
            yield RawBatch(dict(zip(column_names(batch.schema.names), columns, strict=True)), batch.num_rows)

    numbers = frozenset(field.name for field in schema if is_numeric(field.type))
    return RecordReader(shown, batches, not_text=numbers, schema=schema)


_BATCH_BYTES = 4 << 20  # of a file that is read whole: half the memory of larger ones


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
    if meta.num_row_groups and meta.num_columns:
        reader.page_codec = meta.row_group(0).column(0).compression.lower()
    return reader


def open_object(value: Any, options: ReadOptions) -> RecordReader:
    """Read a Python object.

    >>> open_object([{"text": "good", "stars": 5}], ReadOptions()).source
    '1 Python object'
    """
    if isinstance(value, str | bytes) or value is None:
        raise DataError(f"cannot read {type(value).__name__}; give a path, a list of texts or a table")
    if isinstance(value, pa.Table | pa.RecordBatch):
        return table_reader(pa.table(value), f"Arrow {type(value).__name__}")
    if isinstance(value, pa.Array | pa.ChunkedArray) or _is_series(value) or isinstance(value, np.ndarray):
        column = _column(value, "text")
        return table_reader(pa.table({"text": column}), _counted(len(column), "text"))
    if type(value).__module__.split(".")[0] == "pandas" and hasattr(value, "columns"):
        return table_reader(_from_pandas(value), "pandas DataFrame")
    if hasattr(value, "__arrow_c_stream__"):
        return table_reader(pa.table(value), f"{type(value).__module__.split('.')[0]} {type(value).__name__}")
    if isinstance(value, list | tuple):
        return _from_list(value)
    if isinstance(value, Iterator):
        return RecordReader(["text"], lambda names: _batches(value, options.batch_rows), source="Python iterator")
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    raise DataError(f"cannot read {kind}; give a path, a list of texts, (text, label) pairs or dicts, or a table")


def _is_series(value: Any) -> bool:
    return type(value).__name__ == "Series" and type(value).__module__.split(".")[0] in ("pandas", "polars")


def _from_pandas(frame: Any) -> pa.Table:
    """Column by column: one odd column must not spoil the frame."""
    return pa.table([_column(frame.iloc[:, index], "cell") for index in range(frame.shape[1])],
                    names=[str(name) for name in frame.columns])  # fmt: skip


def _from_list(value: Sequence[Any]) -> RecordReader:
    first = next((item for item in value if item is not None), None)
    if isinstance(first, dict):
        for row, item in enumerate(value, 1):
            if not isinstance(item, dict):
                raise DataError(f"row {row:,} is {type(item).__name__} where the rows before are dicts")
        return table_reader(pa.table(columns_of(value)), _counted(len(value), "object"))
    if isinstance(first, list | tuple):
        for row, item in enumerate(value, 1):
            if not isinstance(item, list | tuple) or len(item) != 2:
                raise DataError(
                    f"row {row:,} is not a (text, label) pair but {item!r:.60}; "
                    "for a list of texts and a list of labels use Dataset.from_lists(texts, labels)"
                )
        texts, labels = ([pair[k] for pair in value] for k in (0, 1))
        columns = {"text": _column(texts, "text"), "label": _column(labels, "label")}
        return table_reader(pa.table(columns), _counted(len(value), "pair"))
    return table_reader(pa.table({"text": _column(value, "text")}), _counted(len(value), "text"))


def _counted(number: int, what: str) -> str:
    return f"{number:,} Python {what}{'s' if number != 1 else ''}"


def _batches(values: Iterator[Any], size: int) -> Iterator[RawBatch]:
    while batch := list(islice(values, size)):
        yield RawBatch({"text": pa.chunked_array([_column(batch, "text")])}, len(batch))


def _column(values: Any, what: str) -> pa.ChunkedArray:
    """A column of texts (what = "text": anything but strings and None is refused) or of any cells."""
    if isinstance(values, pa.ChunkedArray):
        return values
    if isinstance(values, pa.Array):
        return pa.chunked_array([values])
    if _is_series(values) or hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        try:
            if type(values).__module__.split(".")[0] == "pandas":
                found = pa.array(values, from_pandas=True)
                return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
            return pa.chunked_array(values)
        except (pa.ArrowException, TypeError, ValueError):
            values = values.to_list()
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if what == "text":
        for row, value in enumerate(plain, 1):
            if not isinstance(value, str) and printable(value) is not None:
                raise DataError(f"row {row:,} is not a text but {type(value).__name__}: {value!r:.60}")
    return pa.chunked_array([cells(plain)])


def from_lists(texts: Any, labels: Any = None) -> Dataset:
    """See `Dataset.from_lists`."""
    from linnet.data.reading import read

    columns = {"text": _column(texts, "text")}
    n = len(columns["text"])
    if labels is not None:
        columns["label"] = _column(labels, "label")
        if len(columns["label"]) != n:
            raise DataError(f"{n:,} texts but {len(columns['label']):,} labels: one label a text is needed")
    how = "texts as given, no labels" if labels is None else "texts and labels as given"
    named = {"labelled": False} if labels is None else {"label": "label"}
    return replace(read(table_reader(pa.table(columns), _counted(n, "text")), text="text", **named), how=how)
