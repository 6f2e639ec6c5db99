"""Bytes in: a file or standard input, decompressed, as UTF-8, with a head one may look at before reading.

Nothing here knows formats. Compression and encoding are told from the first bytes, not from the name, and a file is
opened once, so that pipes work like files.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import select
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.errors import DataError, no_such_file
from linnet.files import codec_of, open_atomic

_BOMS = {"utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)}
_HEAD = 1 << 16
_PAUSE = 0.05  # seconds without a byte, after which a live source pauses


class InputFile:
    r"""An opened input.

    >>> import gzip, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "reviews.csv.gz")
    ...     _ = path.write_bytes(gzip.compress("label,text\npos,sch\u00f6n\n".encode("utf-16")))
    ...     with InputFile(path) as source:
    ...         source.compression, source.encoding, source.peek()[:10], len(source.read(100))
    ('gzip', 'utf-16', b'label,text', 22)
    """

    def __init__(self, place: str | os.PathLike[str], *, live: bool = False) -> None:
        self.path = None if place == "-" else Path(place)
        self.name = "standard input" if self.path is None else str(self.path)
        self._file = stdin() if self.path is None else _open(self.path)
        number = _pipe(self._file) if live and self.path is None else None
        if number is None:
            raw = Lookahead(self._file.read, self.name)
        else:
            raw = Lookahead(partial(os.read, number), self.name, idle=partial(_idle, number))
        self.compression = codec_of(raw.peek(4))
        if self.compression is not None:
            raw = self._through(raw, partial(pa.CompressedInputStream, compression=self.compression))
        head = raw.peek(_HEAD)
        self.encoding = next((name for name, marks in _BOMS.items() if head.startswith(marks)), "utf-8")
        if head.startswith(codecs.BOM_UTF8):
            raw.read(len(codecs.BOM_UTF8))
        elif self.encoding != "utf-8":
            decoder = partial(pa.transcoding_input_stream, src_encoding=self.encoding, dest_encoding="utf-8")
            raw = self._through(raw, decoder)
        self._bytes = raw

    def _through(self, raw: Lookahead, decoder: Callable[[Any], Any]) -> Lookahead:
        """Read bytes through a decoder, which does not pause."""
        raw.idle = None
        return Lookahead(decoder(pa.PythonFile(raw, mode="r")).read, self.name)

    def __enter__(self) -> InputFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self.path is not None:
            self._file.close()

    def peek(self, size: int = _HEAD) -> bytes:
        """The first bytes, left in place (fewer than `size` only where the source ends, or pauses after a line)."""
        return self._bytes.peek(size)

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end, and where a live source pauses after a line."""
        return self._bytes.read(size)

    def read_all(self) -> bytes:
        """All bytes to the end."""
        return b"".join(iter(lambda: self.read(1 << 24), b""))

    def wait(self) -> bytes:
        """Wait until a live source goes on, or ends; return its first bytes."""
        return self._bytes.peek(len(self.peek()) + 1, wait=True)

    def random_access(self, *, mapped: bool = False) -> Any:
        """A pyarrow file that can seek, for formats whose index is at the end; a pipe or a gz is read whole."""
        if self.path is not None and self.path.is_file() and self.compression is None:
            return pa.memory_map(str(self.path)) if mapped else pa.OSFile(str(self.path))
        return pa.BufferReader(self.read_all())

    def forward(self) -> Any:
        """A pyarrow file that is read from front to back."""
        return pa.PythonFile(self._bytes, mode="r")


class Lookahead:
    """A `read` function with a memory: bytes peeked at are read again.

    `idle` says whether a live source has nothing to read for now: then what there is must do, if it ends with a line.
    """

    closed = False

    def __init__(self, read: Callable[[int], bytes], name: str, idle: Callable[[], bool] | None = None) -> None:
        self._next, self._name, self._head, self.idle = read, name, b"", idle

    def peek(self, size: int, *, wait: bool = False) -> bytes:
        if len(self._head) < size:
            self._head += self._pull(size - len(self._head), b"" if wait else self._head)
        return self._head[:size]

    def read(self, size: int = -1) -> bytes:
        size = 1 << 62 if size < 0 else size
        head, self._head = self._head[:size], self._head[size:]
        rest = self._pull(size - len(head), head) if len(head) < size else b""
        return head + rest if head else rest

    def close(self) -> None:
        """Closing is the business of the source."""

    def _pull(self, size: int, last: bytes) -> bytes:
        """Read so many bytes; `last` are those that came before."""
        parts: list[bytes] = []
        while size > 0:
            if self.idle is not None and last.endswith(b"\n") and self.idle():
                break
            try:
                part = self._next(min(size, 1 << 26))
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{self._name}: not valid {error.encoding} ({error.reason}); save it as UTF-8"
                ) from None
            except OSError as error:
                reason = error.strerror or str(error)
                raise DataError(f"{self._name} is damaged or cut short ({reason}); fetch or write it again") from None
            if not part:
                break
            parts.append(part)
            last = part
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _open(path: Path) -> io.BufferedIOBase:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise DataError(no_such_file(path)) from None
    except OSError as error:
        raise DataError(f"cannot open {path}: {error.strerror}") from None


def stdin() -> Any:
    if sys.stdin is None or sys.stdin.closed:
        raise DataError("standard input is closed; give a file instead of '-'")
    if hasattr(sys.stdin, "buffer"):
        return sys.stdin.buffer
    return io.BytesIO(sys.stdin.read().encode("utf-8", "surrogateescape"))


def _pipe(file: Any) -> int | None:
    """Return the number of a stream that may pause, a pipe or a terminal; None for a file, and on Windows."""
    try:
        number: int = file.fileno()
        return number if os.name == "posix" and not stat.S_ISREG(os.fstat(number).st_mode) else None
    except (OSError, ValueError, AttributeError):
        return None


def _idle(number: int) -> bool:
    return not select.select([number], [], [], _PAUSE)[0]


# ---- What every reader of a format yields, and everything after it understands: batches of raw rows.
#
# What could not be used: how many rows, why, and which ones, so that nothing disappears silently.


#: A single record larger than this is taken for a missing closing quote.
MAX_RECORD = 512 << 20


def whole_lines(data: bytes) -> int:
    r"""How many of the bytes are whole lines.

    >>> whole_lines(b"one\ntwo\nthr")
    8
    """
    return data.rfind(b"\n") + 1


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


def line_pieces(file: InputFile, options: ReadOptions) -> Iterator[bytes]:
    """Read whole lines, about as many bytes at a time as the options say."""
    return pieces(file.read, whole_lines, options.batch_bytes, file.name)


@dataclass(frozen=True, slots=True)
class Malformed:
    """A row that could not be parsed: why, what exactly, and its raw text."""

    reason: str
    detail: str
    raw: str


@dataclass(slots=True)
class RawBatch:
    """Consecutive rows of a source, column by column, as the reader found them.

    A malformed row has its place in every column, as null, so that row i of a batch is row i of the source. `repairs`
    maps a column to {kind of repair: cells repaired}; `lines` and `files` say where row i stands, where that is known.
    `records` are the bytes before they were parsed, for formats whose rows `linnet filter` writes back unchanged.
    """

    columns: dict[str, pa.ChunkedArray]
    rows: int
    malformed: Mapping[int, Malformed] = field(default_factory=dict)
    lines: Sequence[int] | None = None
    files: Sequence[str] | None = None
    repairs: dict[str, Counter[str]] = field(default_factory=dict)
    records: Any = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the caller asked for: column names, and how much to read at a time."""

    text: str | None = None
    label: str | None = None
    batch_bytes: int = 64 << 20
    batch_rows: int = 1 << 20
    streaming: bool = False
    records: bool = False  # keep the bytes of each row, where the format can write them back


@dataclass(slots=True)
class RecordReader:
    """An opened source: its column names, and its batches of rows.

    `batches(names)` reads the named columns only, or all of them for None; it can be called once. `how` says how the
    names came about, `notes` grows while batches are read, `not_text` are columns that hold numbers. `schema`
    and `page_codec` are known where the format states them. The rest is set when the source is opened.
    """

    names: list[str]
    batches: Callable[[Sequence[str] | None], Iterator[RawBatch]]
    how: str = ""
    notes: list[str] = field(default_factory=list)
    not_text: frozenset[str] = frozenset()
    schema: Any = None
    page_codec: str = "zstd"
    source: str = ""
    encoding: str = "utf-8"
    codec: str | None = None  # of the compressed file
    format: str = ""


def is_numeric(kind: Any) -> bool:
    """Whether an Arrow type holds numbers or truth values, which are never a text."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def grouped(items: Iterable[tuple[Any, int]], options: ReadOptions) -> Iterator[list[Any]]:
    """Collect items, each given with its size in bytes, until they are enough for a batch.

    >>> list(grouped([("a", 3), ("b", 3), ("c", 3)], ReadOptions(batch_bytes=6)))
    [['a', 'b'], ['c']]
    """
    found: list[Any] = []
    total = 0
    for item, size in items:
        found.append(item)
        total += size
        if total >= options.batch_bytes or len(found) >= options.batch_rows:
            yield found
            found, total = [], 0
    if found:
        yield found


def join(batches: Sequence[RawBatch], names: Sequence[str]) -> RawBatch:
    """Concatenate batches of string columns without copying them.

    >>> from linnet.data.arrays import strings
    >>> one = RawBatch({"a": pa.chunked_array([strings(["x", "y"])])}, 2, lines=range(1, 3))
    >>> two = RawBatch({"a": pa.chunked_array([strings([None])])}, 1, {0: Malformed("not JSON", "", "{")}, range(3, 4))
    >>> both = join([one, two], ["a"])
    >>> both.columns["a"].to_pylist(), both.rows, list(both.malformed), both.lines
    (['x', 'y', None], 3, [2], [1, 2, 3])
    """
    first = np.cumsum([0, *(batch.rows for batch in batches)])
    malformed: dict[int, Malformed] = {}
    for at, batch in zip(first.tolist(), batches, strict=False):
        malformed.update({at + row: bad for row, bad in batch.malformed.items()})
    columns = {name: _concat([batch.columns[name] for batch in batches]) for name in names}
    repairs = {name: sum((batch.repairs.get(name, Counter()) for batch in batches), Counter()) for name in names}
    files = [name for batch in batches for name in batch.files or ()]
    known = [batch.lines for batch in batches if batch.lines is not None]
    lines = list(chain.from_iterable(known)) if known and len(known) == len(batches) else None
    return RawBatch(columns, int(first[-1]), malformed, lines, files or None, repairs)


def _concat(columns: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Chunks of all columns as one column; large strings where one of them is."""
    kind = pa.string()
    if any(pa.types.is_large_string(column.type) for column in columns):
        kind = pa.large_string()
        columns = [column.cast(kind) for column in columns]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], type=kind)


#: Rows kept one by one; beyond that only the counts grow.
MAX_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class UnusableRow:
    """One row that was left out.

    `row` counts data rows of the source from 1 (a header is not a data row), `line` is the line of the file where the
    format has one row a line, `detail` says more than `reason` does, and `text` is the raw line where a row could not
    be parsed.
    """

    row: int
    reason: str
    text: str = ""
    label: str = ""
    line: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Unusable:
    """Counts per reason, and the rows themselves (the first 100,000).

    >>> bad = Unusable.of([UnusableRow(3, "empty text", label="pos"), UnusableRow(9, "empty text"),
    ...                    UnusableRow(12, "wrong number of fields", "neg,bad,film", detail="3 instead of 2")])
    >>> len(bad), str(bad)
    (3, '3 unusable rows: 2 empty text (first: row 3), 1 wrong number of fields (first: row 12)')
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[UnusableRow, ...] = ()

    @classmethod
    def of(cls, rows: Iterable[UnusableRow]) -> Unusable:
        """Count rows by reason, in the order in which the reasons appear."""
        found = list(rows)
        return cls(dict(Counter(row.reason for row in found)), tuple(found[:MAX_KEPT]))

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __add__(self, other: Unusable) -> Unusable:
        return Unusable(dict(Counter(self.counts) + Counter(other.counts)), (self.rows + other.rows)[:MAX_KEPT])

    def __str__(self) -> str:
        if not self.counts:
            return "no unusable rows"
        first: dict[str, int] = {}
        for row in self.rows:
            first.setdefault(row.reason, row.row)
        seen = {why: f" (first: row {row:,})" for why, row in first.items()}
        parts = [f"{count:,} {why}{seen.get(why, '')}" for why, count in self.counts.items()]
        return f"{len(self):,} unusable row{'s' if len(self) != 1 else ''}: {', '.join(parts)}"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV (row, line, reason, detail, label, text), whole or not at all."""
        with open_atomic(path, "w") as file:
            rows = csv.writer(file)
            rows.writerow(["row", "line", "reason", "detail", "label", "text"])
            for row in self.rows:
                line = "" if row.line is None else row.line
                rows.writerow([row.row, line, row.reason, row.detail, row.label, row.text])
