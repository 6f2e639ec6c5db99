"""CSV and TSV: pyarrow's parser, with what it leaves out.

Added to it: the delimiter and a missing header row are found, every byte sequence is accepted, rows with the wrong
number of fields keep their place and their raw text, and a field may be larger than a batch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.arrays import binaries, cast, integers, printable
from linnet.data.columns import column_names, has_header, is_name_row
from linnet.data.input_file import InputFile, Malformed, RawBatch, ReadOptions, RecordReader, pieces

# ---- Where CSV records begin and end: a small lexer for the bytes, and a fast cut for blocks of them.
#
# pyarrow parses CSV far faster than Python can, but it must be handed whole records. A newline ends a record unless it
# stands inside quotes, so a block of a file is cut at the last newline with an even number of quotes before it. That is
# exact as long as quotes open only at the start of a field; where a file has stray ones (`a 5" nail`) the lexer decides.


_QUOTE = 34
#: A quoted field of so many lines is looked at: they may be rows that a missing quote has swallowed.
MANY_LINES = 5
_QUOTED = re.compile(rb'"([^"]*+(?:""[^"]*+)*+)("?)(.*)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How fields are kept apart: the delimiter, and whether quotes protect delimiters and newlines."""

    delimiter: str = ","
    quoting: bool = True

    def pattern(self) -> re.Pattern[bytes]:
        """One field and what ends it, in group 1."""
        stop = re.escape(self.delimiter).encode()
        quoted = rb'(?:"[^"]*+(?:""[^"]*+)*+(?:"|\Z))?+' if self.quoting else b""
        return re.compile(quoted + rb"[^" + stop + rb"\r\n]*+(" + stop + rb"|\r\n|\r|\n|\Z)")


def records(data: bytes, dialect: Dialect) -> Iterator[tuple[list[bytes], int, bytes]]:
    r"""The records of `data`: raw fields, where the record ends, and the newline that ended it (b"" at the end).

    >>> [(fields, end) for fields, end, _ in records(b'a,"x\ny"\n\nb,c', Dialect())]
    [([b'a', b'"x\ny"'], 8), ([b'b', b'c'], 12)]
    """
    fields: list[bytes] = []
    for match in dialect.pattern().finditer(data):
        start, end = match.span()
        if start == len(data) and not fields:
            return
        stop = match.group(1)
        fields.append(data[start : end - len(stop)])
        if stop == dialect.delimiter.encode():
            continue
        if fields != [b""]:  # a blank line is not a record
            yield fields, end, stop
        fields = []
        if not stop:
            return


def unquote(field: bytes) -> bytes:
    """A raw field without its quotes.

    >>> unquote(b'"say ""hi"" twice"'), unquote(b'5" nail')
    (b'say "hi" twice', b'5" nail')
    """
    match = _QUOTED.match(field)
    return field if match is None else match[1].replace(b'""', b'"') + match[3]


def whole_records(data: bytes, dialect: Dialect) -> int:
    r"""How many of the bytes are whole records; `data` starts with a record.

    >>> whole_records(b'a,b\nc,"d\ne', Dialect()), whole_records(b'a,5" nail\nb,"d\ne', Dialect())
    (4, 10)
    """
    cut = _newline(data, len(data))
    if not dialect.quoting or b'"' not in data:
        return cut
    quotes = quote_positions(data, dialect)
    if quotes is None:
        return max((end for _, end, stop in records(data, dialect) if stop and end <= cut), default=0)
    while cut:
        before = int(np.searchsorted(quotes, cut))
        if before % 2 == 0:
            break
        cut = _newline(data, int(quotes[before - 1]))
    return cut


def _newline(data: bytes, end: int) -> int:
    return (data.rfind(b"\n", 0, end) + 1) or (data.rfind(b"\r", 0, end) + 1)


def quote_positions(data: bytes, dialect: Dialect) -> np.ndarray | None:
    """Where the quotes are, or None if one of them is stray, so that counting them proves nothing."""
    raw = np.frombuffer(data, dtype=np.uint8)
    quotes: np.ndarray = np.flatnonzero(raw == _QUOTE)
    opening = quotes[::2]
    before = raw[opening[opening > 0] - 1]
    allowed = (before == ord(dialect.delimiter)) | (before == 10) | (before == 13) | (before == _QUOTE)
    return quotes if allowed.all() else None


def swallowed_lines(data: bytes, dialect: Dialect, before: int = 0, n_rows: int | None = None) -> Iterator[str]:
    r"""Describe quoted fields that run to the end without a closing quote, or over many lines with text behind that quote.

    >>> [note[:45] for note in swallowed_lines(b'a,"b\nc,d\n', Dialect())]
    ['row 1: a quote is never closed, so the last 2']
    >>> [note[:45] for note in swallowed_lines(b'a,b\nc,"d\n' + b"e,f\n" * 7 + b'g,"h"\n', Dialect())]
    ['row 2: a quote is closed too late, so 9 lines']
    >>> list(swallowed_lines(b'a,"b\nor, rather,\nc"\n', Dialect()))
    []
    """
    if not dialect.quoting or b'"' not in data:
        return
    if n_rows is not None and data.count(b"\n") - n_rows < MANY_LINES and data.count(b'"') % 2 == 0:
        return  # every row stands on a line of its own
    quotes = quote_positions(data, dialect)
    if quotes is not None and len(quotes) % 2 == 0:
        return  # every quote opens or closes a field
    for row, (fields, _, _) in enumerate(records(data, dialect), before + 1):
        for match in filter(None, map(_QUOTED.match, fields)):
            lines, closed = match[0].count(b"\n"), bool(match[2])
            if lines and not (closed and (lines < MANY_LINES or not match[3].strip())):
                n = lines + (closed or not match[0].endswith(b"\n"))
                what = f"closed too late, so {n:,} lines" if closed else f"never closed, so the last {n:,} lines"
                yield f'row {row:,}: a quote is {what} became one field; close the quote in that row, or double it ("")'


_HEAD = 1 << 18
_SAMPLE = 1000
_DELIMITERS = ",\t;|"
_THREAD_BLOCK = 1 << 20
_MOST_NOTES = 5  # on missing quotes in a block


def open_csv(file: InputFile, options: ReadOptions) -> RecordReader:
    """Comma-separated values; a semicolon, a tab or a bar in place of the comma is noticed."""
    return _open(file, options, Dialect(_delimiter(_head(file, Dialect()))))


def open_tsv(file: InputFile, options: ReadOptions) -> RecordReader:
    r"""Tab-separated values. Quotes are taken as quotes only if all of them are: many TSV files just contain them."""
    head = _head(file, Dialect("\t"))
    return _open(file, options, Dialect("\t", _well_quoted(head, Dialect("\t"))))


def sniff_csv(head: bytes) -> bool:
    """At least two rows, all of the same width, and names or quotes that prose would not have."""
    rows = _sample(head, Dialect(_delimiter(head)))
    even = len(rows) > 1 and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows)
    return even and (is_name_row(rows[0]) or b',"' in head or head.startswith(b'"'))


def is_header_alone(head: bytes) -> bool:
    r"""Whether there is one line so far, and it could be the header of a table.

    >>> is_header_alone(b"text,label\n"), is_header_alone(b"warm, funny\n"), is_header_alone(b"text,label\nwarm,pos\n")
    (True, False, False)
    """
    line, _, rest = head[:_HEAD].partition(b"\n")
    if rest or not line:
        return False
    rows = _sample(line, Dialect(_delimiter(line)))
    return len(rows) == 1 and len(rows[0]) > 1 and is_name_row(rows[0])


def sniff_tsv(head: bytes) -> bool:
    """At least one tab a line, the same number in all lines."""
    rows = _sample(head, Dialect("\t", quoting=False))
    return bool(rows) and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows)


def _head(file: InputFile, dialect: Dialect) -> bytes:
    """The first bytes, as many as one whole record takes."""
    size = _HEAD
    while len(head := file.peek(size)) == size and not whole_records(head, dialect):
        size *= 4
    return head


def _sample(head: bytes, dialect: Dialect, limit: int = 100) -> list[list[str]]:
    """The first records as strings; the last one only if nothing can be missing from it."""
    complete = len(head) < _HEAD
    rows: list[list[str]] = []
    for fields, _, stop in islice(records(head, dialect), limit):
        if stop or complete or not rows:
            rows.append([printable(unquote(field) if dialect.quoting else field) or "" for field in fields])
    return rows


def _delimiter(head: bytes) -> str:
    r"""The delimiter that splits the first row, and then most rows the same way.

    >>> _delimiter(b"text;label\ngood, really;1\n"), _delimiter(b"text\nwell, yes\n")
    (';', ',')
    """
    able = [mark for mark in _DELIMITERS if any(len(row) > 1 for row in _sample(head, Dialect(mark), 1))]
    if len(able) < 2:
        return able[0] if able else ","
    widths = {mark: [len(row) for row in _sample(head, Dialect(mark))] for mark in able}
    return max(able, key=lambda mark: widths[mark].count(widths[mark][0]) / len(widths[mark]))


def _well_quoted(head: bytes, dialect: Dialect) -> bool:
    r"""Whether quotes open at the start of a field, close at its end, and nowhere else.

    >>> _well_quoted(b'a\t"x\ty"\n', Dialect("\t")), _well_quoted(b'a\t"Yes" he said\n', Dialect("\t"))
    (True, False)
    """
    quotes = quote_positions(head, dialect)
    if quotes is None:
        return False
    raw = np.frombuffer(head + b"\n", dtype=np.uint8)
    after = raw[quotes[1::2] + 1]
    allowed = (after == ord(dialect.delimiter)) | (after == 10) | (after == 13) | (after == 34)
    return bool(allowed.all()) and (len(quotes) % 2 == 0 or len(head) >= _HEAD)


def _open(file: InputFile, options: ReadOptions, dialect: Dialect) -> RecordReader:
    head = _head(file, dialect)
    sample = _sample(head, dialect, 1)
    if not sample:
        return RecordReader([], lambda names: iter(()))
    given = [name for name in (options.text, options.label) if name is not None]
    if is_name_row(sample[0]) or has_header(_sample(head, dialect, _SAMPLE), given):
        _, end, _ = next(records(head, dialect))
        file.read(end)
        names, how = column_names(sample[0]), ""
    else:
        names = [f"column_{number}" for number in range(1, len(sample[0]) + 1)]
        how = f"no header row (columns are called {names[0] if len(names) == 1 else f'{names[0]} to {names[-1]}'})"
    reader = RecordReader(names, lambda names: iter(()), how)
    reader.batches = partial(_batches, file, options, dialect, reader)
    return reader


def _batches(
    file: InputFile, options: ReadOptions, dialect: Dialect, reader: RecordReader, names: Sequence[str] | None
) -> Iterator[RawBatch]:
    wanted = None if names is None else set(names)
    keep = [index for index, name in enumerate(reader.names) if wanted is None or name in wanted]
    rows_before = 0
    for data in pieces(file.read, partial(whole_records, dialect=dialect), options.batch_bytes, file.name):
        columns, bad, n_rows = _parse(data, dialect, len(reader.names), keep, threads=not options.streaming)
        reader.notes += islice(swallowed_lines(data, dialect, rows_before, n_rows), _MOST_NOTES)
        rows_before += n_rows
        if n_rows:
            kept = [reader.names[index] for index in keep]
            yield RawBatch(dict(zip(kept, columns, strict=True)), n_rows, bad)


Parsed = tuple[list[pa.ChunkedArray], dict[int, Malformed], int]


def _parse(data: bytes, dialect: Dialect, width: int, keep: list[int], *, threads: bool) -> Parsed:
    """Whole records to columns: fast, else in one go with bad rows noted, else by the"""
    if not data[:1].strip() and not data.strip(b"\r\n"):
        return [], {}, 0
    columns, bad = _arrow_csv(data, dialect, width, keep, block=_THREAD_BLOCK if threads else len(data) + 1)
    if columns is None and _is_utf8(data):  # pyarrow cannot hand over a bad row that is not
        columns, bad = _arrow_csv(data, dialect, width, keep, block=len(data) + 1, note_bad=True)
    if columns is None:
        return _lexed(data, dialect, width, keep)
    if not bad:
        return columns, {}, len(columns[0])
    malformed = {number - 1: _wrong_width(actual, width, raw) for number, actual, raw in bad}
    return [_spread(column, sorted(malformed)) for column in columns], malformed, len(columns[0]) + len(malformed)


def _is_utf8(data: bytes) -> bool:
    try:
        cast(binaries([data]), pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _arrow_csv(
    data: bytes, dialect: Dialect, width: int, keep: list[int], block: int, note_bad: bool = False
) -> tuple[list[pa.ChunkedArray] | None, list[tuple[int, int, str]]]:
    """What pyarrow's parser finds; None where it gives up (a field over a block long, a row of the wrong width)."""
    import pyarrow.csv as pacsv

    bad: list[tuple[int, int, str]] = []

    def note(row: Any) -> str:
        bad.append((row.number, row.actual_columns, row.text))
        return "skip"

    names = list(map(str, range(width)))
    quote, on_bad = '"' if dialect.quoting else False, note if note_bad else None
    kinds, wanted = dict.fromkeys(names, pa.binary()), [names[index] for index in keep]
    read = pacsv.ReadOptions(use_threads=block == _THREAD_BLOCK, block_size=min(block, 2**31 - 1), column_names=names)
    parse = pacsv.ParseOptions(
        delimiter=dialect.delimiter, quote_char=quote, newlines_in_values=dialect.quoting, invalid_row_handler=on_bad
    )
    convert = pacsv.ConvertOptions(column_types=kinds, include_columns=wanted, strings_can_be_null=False)
    try:
        table = pacsv.read_csv(pa.BufferReader(data), read, parse, convert)
    except pa.ArrowInvalid:
        return None, []
    return table.columns, bad


def _lexed(data: bytes, dialect: Dialect, width: int, keep: list[int]) -> Parsed:
    """The same result record by record, for what pyarrow refuses."""
    values: list[list[bytes | None]] = [[] for _ in keep]
    malformed: dict[int, Malformed] = {}
    start = row = 0
    for row, (fields, end, stop) in enumerate(records(data, dialect), 1):
        if len(fields) == width:
            for column, index in zip(values, keep, strict=True):
                column.append(unquote(fields[index]) if dialect.quoting else fields[index])
        else:
            raw = printable(data[start : end - len(stop)].lstrip(b"\r\n")) or ""
            malformed[row - 1] = _wrong_width(len(fields), width, raw)
            for column in values:
                column.append(None)
        start = end
    return [pa.chunked_array([binaries(column)]) for column in values], malformed, row


def _wrong_width(actual: int, width: int, raw: str) -> Malformed:
    return Malformed("wrong number of fields", f"{actual} instead of {width}", raw)


def _spread(column: pa.ChunkedArray, gaps: list[int]) -> pa.ChunkedArray:
    """The column with a null at each of the given places."""
    filled = pa.chunked_array([*column.chunks, pa.nulls(1, column.type)])
    order = np.insert(np.arange(len(column)), np.array(gaps) - np.arange(len(gaps)), len(column))
    return filled.take(integers(order))
