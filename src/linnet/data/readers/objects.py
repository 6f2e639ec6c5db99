"""Python objects as rows: lists, pairs, dictionaries, numpy, pandas, polars, and anything that speaks Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from linnet.data.decode import cells, decoded, printable
from linnet.data.reader import RawBatch, ReadOptions, RecordReader
from linnet.data.readers.arrow import table_reader
from linnet.data.readers.jsonlines import columns_of
from linnet.errors import DataError

if TYPE_CHECKING:
    from linnet.data.dataset import Dataset


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
        batch = RawBatch(columns_of(value), len(value))
        return RecordReader(list(batch.columns), lambda names: iter([batch]), source=_counted(len(value), "object"))
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
    from linnet.data.reading import finish

    column = _column(texts, "text")
    columns = {"text": column}
    if labels is not None:
        columns["label"] = _column(labels, "label")
        if len(columns["label"]) != len(column):
            raise DataError(f"{len(column):,} texts but {len(columns['label']):,} labels: one label a text is needed")
    how = "texts and labels as given" if labels is not None else "texts as given, no labels"
    name = _counted(len(column), "text")
    batch = decoded(RawBatch(columns, len(column)), list(columns))
    return finish(batch, "text", "label" if labels is not None else None, name, how)
