"""Rows out: tables to CSV, TSV, JSON lines, Parquet, Arrow or lines of text, by the name of the file, whole or not at all.

A new format to write is one class with `write_rows` and one row of `WRITERS`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.arrays import call, cast, data_bytes, filled, printable, strings, to_strings
from linnet.errors import DataError
from linnet.files import open_atomic, split_ending

ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".jsonlines": "jsonl",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".arrows": "arrow-stream", ".vw": "vw",
}  # fmt: skip
KEPT = {*ENDINGS.values()} - {"vw"}  # formats that are written back as they are read: all columns, with their names
GROUP_BYTES = 32 << 20  # of a row group of Parquet


def format_to_write(name: str | os.PathLike[str]) -> str:
    """Return the format that the name of a file asks for.

    >>> format_to_write("kept.jsonl.gz"), format_to_write("kept.parquet")
    ('jsonl', 'parquet')
    """
    ending, codec = split_ending(name)
    format = ENDINGS.get(ending)
    if format is None or (codec and issubclass(WRITERS[format], ArrowWriter)):
        raise DataError(
            f"cannot tell how to write '{os.fspath(name)}'; end its name in {', '.join(ENDINGS)} (text formats also .gz, .zst)"
        )
    return format


class TableWriter:
    """Writes tables one after the other; the first one, or `schema`, names the columns.

    `left_out` are columns that came later and were not written.
    """

    typed = False  # whether values keep their types
    short: tuple[str, ...] = ()  # names of columns of strings with few distinct values

    def __init__(self, sink: Any, schema: Any = None, page_codec: str = "zstd") -> None:
        self.sink, self.schema, self.page_codec = sink, schema, page_codec
        self.left_out: set[str] = set()

    def write(self, table: pa.Table) -> None:
        """Write the rows of a table."""
        first = self.schema is None
        if first:
            kinds = [pa.field(f.name, pa.string() if pa.types.is_null(f.type) else f.type) for f in table.schema]
            self.schema = pa.schema(kinds)
        if table.num_columns:
            self.write_rows(table if table.schema.equals(self.schema) else self._aligned(table), first)

    def write_rows(self, table: pa.Table, first: bool) -> None:
        """Write rows with the columns of `schema`."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what is still to be written."""

    def _aligned(self, table: pa.Table) -> pa.Table:
        """The columns of the first table, in its types where the format has types."""
        self.left_out.update(name for name in table.column_names if name not in self.schema.names)
        columns = [
            self._cast(table.column(field.name), field)
            if field.name in table.column_names
            else pa.chunked_array([pa.nulls(table.num_rows, field.type)])
            for field in self.schema
        ]
        if self.typed:
            return pa.Table.from_arrays(columns, schema=self.schema)
        return pa.Table.from_arrays(columns, names=self.schema.names)

    def _cast(self, column: Any, field: Any) -> Any:
        if column.type == field.type or not self.typed:
            return column
        try:
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                return to_strings(column)[0].cast(field.type)
            return column.cast(field.type)
        except pa.ArrowException as error:
            reason = str(error).splitlines()[0]
            raise DataError(
                f"column '{field.name}' changes its type from {field.type} to {column.type} ({reason}); write .jsonl or .csv instead"
            ) from None


class CSVWriter(TableWriter):
    """Comma-separated values, quoted where they must be."""

    delimiter = ","

    def write_rows(self, table: pa.Table, first: bool) -> None:
        """Write rows, the first time below a header."""
        if first:
            out = io.StringIO()
            csv.writer(out, delimiter=self.delimiter, lineterminator="\n").writerow(table.column_names)
            self.sink.write(out.getvalue().encode("utf-8", "replace"))
        alone = table.num_columns == 1  # an empty only cell would read as a blank line
        pattern = "" if alone else f'["{self.delimiter}\r\n]'
        _write_lines(self.sink, [_quoted(column, pattern) for column in table.columns], self.delimiter)


class TSVWriter(CSVWriter):
    """Tab-separated values."""

    delimiter = "\t"


class TextWriter(TableWriter):
    """The first column, one value a line."""

    def write_rows(self, table: pa.Table, first: bool) -> None:
        """Write lines; line breaks inside a value become spaces."""
        lines = _strings(table.column(0))
        if any(np.isin(data_bytes(chunk), (10, 13)).any() for chunk in lines.chunks):
            from pyarrow._compute import ReplaceSubstringOptions

            lines = call("replace_substring_regex", lines, options=ReplaceSubstringOptions("[\r\n]", " "))
        _write_lines(self.sink, [lines], "")


def _strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as large strings."""
    types, kind = pa.types, column.type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_boolean(kind)):
        column = pa.chunked_array([strings([printable(value) for value in column.to_pylist()])])
    return filled(cast(column, pa.large_string()))


def _quoted(column: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    """A column as strings, in quotes where a value has what the pattern finds."""
    from pyarrow._compute import MatchSubstringOptions, ReplaceSubstringOptions

    found = _strings(column)
    mask = call("match_substring_regex", found, options=MatchSubstringOptions(pattern))
    if not call("any", mask).as_py():
        return found
    quote, nothing = _mark('"'), _mark("")
    doubled = call("replace_substring", found, options=ReplaceSubstringOptions('"', '""'))
    return call("if_else", mask, call("binary_join_element_wise", quote, doubled, quote, nothing), found)


def _mark(text: str) -> Any:
    return cast(strings([text]), pa.large_string())[0]


def _write_lines(sink: Any, columns: list[pa.ChunkedArray], delimiter: str) -> None:
    """Write columns of strings side by side, one row a line."""
    join = partial(call, "binary_join_element_wise")
    lines = columns[0] if len(columns) == 1 else join(*columns, _mark(delimiter))
    for chunk in join(lines, _mark(""), _mark("\n")).chunks:
        sink.write(data_bytes(chunk))


class JSONLinesWriter(TableWriter):
    """One JSON object a line; columns may come and go."""

    def write(self, table: pa.Table) -> None:
        """Write the rows of a table."""
        self.sink.write("".join([_json(row) + "\n" for row in table.to_pylist()]).encode("utf-8", "replace"))


class VowpalWabbitWriter(TableWriter):
    """Vowpal Wabbit's text format: the columns label and weight, then one namespace a column: words, or a number as name:value.

    Several labels are joined by commas. The format has no quotes: a colon or a bar inside a word becomes an underscore.
    """

    def write_rows(self, table: pa.Table, first: bool) -> None:
        """Write lines."""
        self.sink.write("".join(map(_vw_line, table.to_pylist())).encode("utf-8", "replace"))


def _vw_line(row: dict[str, Any]) -> str:
    r"""A row as a line of Vowpal Wabbit.

    >>> _vw_line({"label": ["a", "b c"], "weight": 2.0, "text": "so: good|bad", "stars": 4, "note": None})
    'a,b_c 2.0 |text so_ good_bad |stars stars:4\n'
    """
    labels, weight, tag = (row.pop(name, None) for name in ("label", "weight", "id"))
    several = labels if isinstance(labels, list) else [] if labels is None else [labels]
    head = ",".join("_".join(re.split(r"[\s:|,]+", str(one))) for one in several)
    parts = [head] if head else []
    if head and weight is not None:
        parts.append(str(weight))
    if tag is not None:
        parts.append("'" + re.sub(r"[\s|]", "_", str(tag)))
    for name, value in row.items():
        space = re.sub(r"[\s:|]", "_", name)
        if isinstance(value, int | float):
            parts.append(f"|{space} {space}:{float(value):g}")
        elif value is not None:
            words = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            parts.append(" ".join([f"|{space}", *re.sub("[:|]", "_", words).split()]))
    return " ".join(parts) + "\n"


class ArrowWriter(TableWriter):
    """An Arrow file (Feather 2)."""

    typed = True
    new_file: Any = staticmethod(pa.ipc.new_file)

    @cached_property
    def file(self) -> Any:
        """The writer of pyarrow, made when the columns are known."""
        self.schema = self.schema or pa.schema([("text", pa.string())])  # there were no rows
        return self.new_file(self.sink, self.schema)

    def write_rows(self, table: pa.Table, first: bool) -> None:
        """Write record batches."""
        self.file.write_table(table)

    def close(self) -> None:
        """Write the end of the file."""
        self.file.close()


class ArrowStreamWriter(ArrowWriter):
    """An Arrow stream."""

    new_file = staticmethod(pa.ipc.new_stream)


class ParquetWriter(ArrowWriter):
    """Parquet in row groups of about 32 MB; dictionaries and statistics for short values only."""

    waiting: tuple[pa.Table, ...] = ()

    def write_rows(self, table: pa.Table, first: bool) -> None:
        """Collect rows until they make a row group."""
        self.waiting += (table,)
        if sum(waiting.nbytes for waiting in self.waiting) >= GROUP_BYTES:
            self._flush()

    def new_file(self, sink: Any, schema: Any) -> Any:
        """Make the writer of pyarrow."""
        import pyarrow.parquet as pq

        short = [field.name for field in schema if field.name in self.short or not _long(field.type)]
        codec = "none" if self.page_codec == "uncompressed" else self.page_codec
        return pq.ParquetWriter(sink, schema, compression=codec, use_dictionary=short, write_statistics=short)

    def _flush(self) -> None:
        group, self.waiting = pa.concat_tables(self.waiting), ()
        if group.num_rows:
            self.file.write_table(group, row_group_size=group.num_rows)

    def close(self) -> None:
        """Write the last row group and the footer."""
        if self.waiting:
            self._flush()
        super().close()


def _long(kind: Any) -> bool:
    t = pa.types
    texts = (t.is_string, t.is_large_string, t.is_string_view, t.is_binary, t.is_large_binary)
    return any(test(kind) for test in (*texts, t.is_floating, t.is_nested))


def _json(row: dict[str, Any]) -> str:
    """A row as JSON, which has no word for a number that is none.

    >>> _json({"text": "é", "score": float("nan")})
    '{"text": "é", "score": null}'
    """
    try:
        return json.dumps(row, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:
        known = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
        return json.dumps(known, ensure_ascii=False, default=str)


WRITERS: dict[str, type[TableWriter]] = {
    "csv": CSVWriter, "tsv": TSVWriter, "jsonl": JSONLinesWriter, "parquet": ParquetWriter, "arrow": ArrowWriter,
    "arrow-stream": ArrowStreamWriter, "text": TextWriter, "vw": VowpalWabbitWriter,
}  # fmt: skip


def writer_like(name: str, format: str) -> str:
    """Return the writer for the rows of a file, in its own format where that can be written, else as JSON lines.

    >>> writer_like("part.parquet", "parquet"), writer_like("part.arrows", "arrow"), writer_like("notes.txt", "text")
    ('parquet', 'arrow-stream', 'jsonl')
    """
    if format == "arrow" and split_ending(name)[0] == ".arrows":
        return "arrow-stream"
    return format if format in KEPT else "jsonl"


@contextlib.contextmanager
def open_writer(out: str | os.PathLike[str] | None, format: str | None = None) -> Iterator[TableWriter]:
    """Open standard output (None or "-"), as JSON lines if not told otherwise, or a file by the ending of its name."""
    if out is None or out == "-":
        writer = WRITERS[format or "jsonl"](sys.stdout.buffer)
        yield writer
        writer.close()
        sys.stdout.buffer.flush()
        return
    kind = format or format_to_write(out)
    with open_atomic(out) as file, compressed(file, split_ending(out)[1]) as sink:
        writer = WRITERS[kind](sink)
        yield writer
        writer.close()


def compressed(file: Any, codec: str | None) -> Any:
    """Give a context with a sink that compresses what it is given, or with the file itself."""
    if codec is None:
        return contextlib.nullcontext(file)
    return pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), codec)
