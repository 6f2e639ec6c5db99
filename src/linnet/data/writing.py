"""Rows out: tables to CSV, TSV, JSON lines or Parquet by the name of the file, whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from linnet.data.clean import printable, to_strings
from linnet.errors import DataError

__all__ = ["ENDINGS", "TableWriter", "form_of", "writing"]

ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet"}
_PACKED = {".gz": "gzip", ".zst": "zstd"}


def form_of(name: str) -> str:
    """Return the form that the name of a file asks for.

    >>> form_of("kept.jsonl.gz"), form_of("kept.parquet")
    ('jsonl', 'parquet')
    """
    path = Path(name.lower())
    ending = Path(path.stem).suffix if path.suffix in _PACKED else path.suffix
    if ending not in ENDINGS or (ENDINGS[ending] == "parquet" and path.suffix in _PACKED):
        raise DataError(
            f"cannot tell how to write '{name}'; end its name in {', '.join(ENDINGS)} (text forms also .gz, .zst)"
        )
    return ENDINGS[ending]


class TableWriter:
    """Writes tables one after the other; the first one names the columns of CSV and Parquet."""

    def __init__(self, sink: Any, form: str) -> None:
        self.sink, self.form = sink, form
        self.schema: Any = None
        self.left_out: set[str] = set()
        self.rows = 0
        self._parquet: Any = None

    def write(self, table: pa.Table) -> None:
        """Write the rows of a table."""
        self.rows += table.num_rows
        if self.form == "jsonl":
            lines = [json.dumps(row, ensure_ascii=False, default=str) for row in table.to_pylist()]
            self.sink.write("".join([line + "\n" for line in lines]).encode("utf-8", "replace"))
            return
        first = self.schema is None
        table = self._aligned(table)
        if self.form == "parquet":
            self._write_parquet(table)
        elif table.num_columns:
            self.sink.write(self._cells(table, first).encode("utf-8", "replace"))

    def close(self) -> None:
        """Write what is still to be written."""
        if self.form == "parquet" and self._parquet is None:  # no rows at all
            self._write_parquet(pa.table({"text": pa.nulls(0, pa.string())}))
        if self._parquet is not None:
            self._parquet.close()

    def _aligned(self, table: pa.Table) -> pa.Table:
        """The columns of the first table, in its types."""
        if self.schema is None:
            self.schema = pa.schema(
                [pa.field(f.name, pa.string() if pa.types.is_null(f.type) else f.type) for f in table.schema]
            )
        self.left_out.update(name for name in table.column_names if name not in self.schema.names)
        columns = {}
        for field in self.schema:
            if field.name not in table.column_names:
                columns[field.name] = pa.chunked_array([pa.nulls(table.num_rows, field.type)])
                continue
            columns[field.name] = self._cast(table.column(field.name), field)
        return pa.table(columns, schema=self.schema if self.form == "parquet" else None)

    def _cast(self, column: Any, field: Any) -> Any:
        if column.type == field.type or self.form != "parquet":
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

    def _write_parquet(self, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        if self._parquet is None:
            self._parquet = pq.ParquetWriter(self.sink, table.schema, compression="zstd")
        self._parquet.write_table(table)

    def _cells(self, table: pa.Table, head: bool) -> str:
        out = io.StringIO()
        rows = csv.writer(out, delimiter="," if self.form == "csv" else "\t", lineterminator="\n")
        if head:
            rows.writerow(table.column_names)
        columns = [[printable(value) for value in column.to_pylist()] for column in table.columns]
        if len(columns) == 1:  # an empty only cell would read as a blank line
            out.write("".join([f'"{(value or "").replace(chr(34), chr(34) * 2)}"\n' for value in columns[0]]))
        else:
            rows.writerows(zip(*columns, strict=True))
        return out.getvalue()


@contextlib.contextmanager
def writing(out: str | None, form: str | None = None) -> Iterator[TableWriter]:
    """Open standard output (None or "-") as JSON lines, or a file that appears only when it is whole."""
    if out is None or out == "-":
        writer = TableWriter(sys.stdout.buffer, form or "jsonl")
        yield writer
        writer.close()
        sys.stdout.buffer.flush()
        return
    target = Path(out)
    kind = form or form_of(out)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _sink(part, _PACKED.get(target.suffix.lower())) as sink:
            writer = TableWriter(sink, kind)
            yield writer
            writer.close()
        part.replace(target)
    except OSError as error:
        raise DataError(f"{out}: cannot write ({error.strerror or error}); choose another name") from error
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def _sink(part: Path, codec: str | None) -> Iterator[Any]:
    with part.open("wb", buffering=1 << 20) as file:
        if codec is None:
            yield file
        else:
            with pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), codec) as packed:
                yield packed
