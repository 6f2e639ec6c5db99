"""Where CSV records begin and end: a small lexer for the bytes, and a fast cut for blocks of them.

pyarrow parses CSV far faster than Python can, but it must be handed whole records. A newline ends a record unless it
stands inside quotes, so a block of a file is cut at the last newline with an even number of quotes before it. That is
exact as long as quotes open only at the start of a field; where a file has stray ones (`a 5" nail`) the lexer decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from linnet.errors import DataError

__all__ = ["Dialect", "pieces", "records", "whole_lines", "whole_records"]

_QUOTE = 34
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


def unclosed_quote(data: bytes, dialect: Dialect) -> int | None:
    r"""Where a quote opens that is never closed, if one does.

    >>> unclosed_quote(b'a,"b\nc,d\n', Dialect()), unclosed_quote(b'a,"b"\n', Dialect())
    (2, None)
    """
    if not dialect.quoting or _count_quotes(data) % 2 == 0:
        return None
    quotes = quote_positions(data, dialect)
    return None if quotes is None else int(quotes[-1])


def _count_quotes(data: bytes) -> int:
    raw, step = np.frombuffer(data, dtype=np.uint8), 1 << 18  # steps that stay in the cache
    return sum(int(np.count_nonzero(raw[at : at + step] == _QUOTE)) for at in range(0, len(raw), step))


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
