"""Where CSV records begin and end: a small lexer for the bytes, and a fast cut for blocks of them.

pyarrow parses CSV far faster than Python can, but it must be handed whole records. A newline ends a record unless it
stands inside quotes, so a block of a file is cut at the last newline with an even number of quotes before it. That is
exact as long as quotes open only at the start of a field; where a file has stray ones (`a 5" nail`) the lexer decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from linnet.errors import DataError

_QUOTE = 34
#: A quoted field of so many lines is looked at: they may be rows that a missing quote has swallowed.
MANY_LINES = 5
_MOST_LOOKED_AT = 2000  # fields of a block
_SAMPLE = 500  # rows that show what rows look like
_QUOTED = re.compile(rb'"([^"]*+(?:""[^"]*+)*+)("?)(.*)', re.DOTALL)
#: A single record larger than this is taken for a missing closing quote.
MAX_RECORD = 512 << 20


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
    if not field.startswith(b'"'):
        return field
    match = re.match(rb'"([^"]*+(?:""[^"]*+)*+)"?(.*)', field, re.DOTALL)
    return field if match is None else match.group(1).replace(b'""', b'"') + match.group(2)


def whole_lines(data: bytes) -> int:
    r"""How many of the bytes are whole lines.

    >>> whole_lines(b"one\ntwo\nthr")
    8
    """
    return data.rfind(b"\n") + 1


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


class SwallowedLines(NamedTuple):
    """A quoted field that took in lines which were meant as rows: where its quote is, in which row, how many lines."""

    row: int  # of the data, from 1
    lines: int
    closed: bool

    def said(self, rows_before: int) -> str:
        """Return what is wrong, and the remedy."""
        what = (
            f"{self.lines:,} lines that look like rows of their own"
            if self.closed
            else f"the last {self.lines:,} lines"
        )
        why = "is closed too late" if self.closed else "is never closed"
        row = f"row {rows_before + self.row:,}"
        return f'{row}: a quote {why}, so {what} became one field; close the quote in that row, or double it ("")'


def swallowed_lines(data: bytes, dialect: Dialect, width: int, n_rows: int | None = None) -> Iterator[SwallowedLines]:
    r"""Find quoted fields that run to the end without a closing quote, or over many lines that look like rows.

    A field looks like rows if text follows its closing quote, or if most of its lines have as many fields as the table and
    begin or end as other rows do.

    >>> [(s.row, s.lines) for s in swallowed_lines(b'a,"b\nc,d\n', Dialect(), 2)]
    [(1, 2)]
    >>> [(s.row, s.lines) for s in swallowed_lines(b'a,b\nc,"d\n' + b"e,f\n" * 7 + b'g,"h"\n', Dialect(), 2)]
    [(2, 9)]
    >>> list(swallowed_lines(b'a,"b\nor, rather,\nc"\n', Dialect(), 2))
    []
    """
    if not dialect.quoting or b'"' not in data:
        return
    if n_rows is not None and data.count(b"\n") - n_rows < MANY_LINES and data.count(b'"') % 2 == 0:
        return  # every row stands on a line of its own
    quotes = quote_positions(data, dialect)
    if quotes is None:
        yield from _swallowed_among_stray(data, dialect, width)
        return
    opening, closing = quotes[::2], np.append(quotes[1::2], len(data)) if len(quotes) % 2 else quotes[1::2]
    newlines = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10)
    breaks = np.searchsorted(newlines, closing) - np.searchsorted(newlines, opening)
    wanted = breaks >= MANY_LINES
    wanted[-1] |= len(quotes) % 2 == 1
    edges = _Edges(data, dialect, width) if wanted.any() else None
    for k in np.flatnonzero(wanted)[:_MOST_LOOKED_AT].tolist():
        begin, end = int(opening[k]), int(closing[k])
        closed = end < len(data)
        if not closed or (edges is not None and edges.found_in(data[begin:end])):
            row = 1 + sum(bool(stop) for _, _, stop in records(data[:begin], dialect))
            yield SwallowedLines(row, _lines(data[begin:end], closed), closed)


def _swallowed_among_stray(data: bytes, dialect: Dialect, width: int) -> Iterator[SwallowedLines]:
    start, edges = 0, _Edges(data, dialect, width)
    for row, (fields, end, stop) in enumerate(records(data, dialect), 1):
        if data.count(b"\n", start, end - len(stop)) >= MANY_LINES or not stop:
            for field in fields:
                match = _QUOTED.match(field)
                if match is None:
                    continue
                closed, after = bool(match[2]), match[3]
                many = field.count(b"\n") >= MANY_LINES
                if (not closed and b"\n" in field) or (many and (after.strip() or edges.found_in(match[1]))):
                    yield SwallowedLines(row, _lines(field, closed), closed)
        start = end


def _lines(field: bytes, closed: bool) -> int:
    return field.count(b"\n") + (closed or not field.endswith(b"\n"))


class _Edges:
    """How rows begin and end: the first and the last cells of the rows that stand on one line, numbers as one kind."""

    def __init__(self, data: bytes, dialect: Dialect, width: int) -> None:
        self.delimiter, self.width = dialect.delimiter.encode(), width
        rows = [fields for fields, _, _ in islice(records(data, dialect), _SAMPLE) if len(fields) == width]
        plain = [fields for fields in rows if not any(b"\n" in field for field in (fields[0], fields[-1]))]
        self.first, self.last = ({_kind(fields[at]) for fields in plain} - {None} for at in (0, -1))

    def found_in(self, field: bytes) -> bool:
        """Whether most lines of a field, but for the first and the last, have the cells of a row, and begin or end like one."""
        lines = [line.rstrip(b"\r") for line in field.split(b"\n")[1:-1] if line.strip()]
        if self.width < 2 or len(lines) < MANY_LINES - 1:
            return False
        return sum(map(self._is_row, lines)) >= 0.8 * len(lines)

    def _is_row(self, line: bytes) -> bool:
        cells = line.split(self.delimiter)
        return len(cells) == self.width and (_kind(cells[0]) in self.first or _kind(cells[-1]) in self.last)


def _kind(cell: bytes) -> bytes | None:
    """What a cell has in common with others: its value where it is short, and that it is a number."""
    cell = unquote(cell).strip()
    return b"0" if cell.replace(b".", b"").isdigit() else cell if 0 < len(cell) <= 40 else None


def pieces(read: Callable[[int], bytes], whole: Callable[[bytes], int], size: int, name: str) -> Iterator[bytes]:
    r"""Read about `size` bytes at a time, each piece cut where `whole` says; a larger record makes a larger piece.

    >>> import io
    >>> list(pieces(io.BytesIO(b"one\nthirteen\nsix\n").read, whole_lines, 6, "-"))
    [b'one\n', b'thirteen\nsix\n']
    """
    carry = b""
    while True:
        wanted = max(size, len(carry))  # doubling: a huge record is looked at a few times only
        block = read(wanted)
        data = carry + block if carry else block
        if len(block) < wanted and not block.endswith(b"\n"):  # the end; a live source pauses after a line
            if data:
                yield data
            return
        end = whole(data)
        if end:
            yield data[:end]
        elif len(data) > MAX_RECORD:
            raise DataError(f"{name}: a row is longer than {MAX_RECORD >> 20} MB; is a closing quote missing?")
        carry = data[end:]
