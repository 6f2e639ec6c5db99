"""Bytes in: a file or standard input, decompressed, as UTF-8, with a head one may look at before reading.

Nothing here knows formats. Compression and encoding are told from the first bytes, not from the name, and a file is
opened once, so that pipes work like files.
"""

from __future__ import annotations

import codecs
import difflib
import io
import os
import select
import stat
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from linnet.errors import DataError
from linnet.files import codec_of

_FOREIGN = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document: extract its text first",
    b"PK\x03\x04": "a ZIP archive (or an Excel or Word file): unpack it, or export it as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file: export it as CSV",
    b"SQLite format 3": "an SQLite database: export a table as CSV",
    b"\xfd7zXZ": "an xz archive: unpack it first",
    b"7z\xbc\xaf": "a 7z archive: unpack it first",
    b"\x7fELF": "a program",
    b"FEA1": "a Feather version 1 file: write it again as Parquet or Feather 2",
    b"\x80\x04\x95": "a pickle: pickles can run code, so linnet does not open them; write CSV or Parquet",
    b"\x80\x05\x95": "a pickle: pickles can run code, so linnet does not open them; write CSV or Parquet",
}
_BOMS = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]
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
        self.compression: str | None = None
        self.encoding = "utf-8"
        self._file = stdin() if self.path is None else _open(self.path)
        regular = self.path is not None and self._file.seekable()
        number = _pipe(self._file) if live and self.path is None else None
        if number is not None:
            raw = Lookahead(partial(os.read, number), self.name, idle=partial(_idle, number))
        elif regular:
            raw = Lookahead(self._read_file, self.name, self._file.seek)
        else:
            raw = Lookahead(self._file.read, self.name)
        self._bytes = self._decode(self._decompress(raw))

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

    def wait(self) -> bytes:
        """Wait until a live source goes on, or ends; return its first bytes."""
        before = len(self.peek())
        return self._bytes.peek(before + 1, wait=True)

    def random_access(self, *, mapped: bool = False) -> Any:
        """A pyarrow file that can seek, for formats whose index is at the end; a pipe or a gz is read whole."""
        if self.path is not None and self.path.is_file() and self.compression is None:
            return pa.memory_map(str(self.path)) if mapped else pa.OSFile(str(self.path))
        whole = []
        while block := self.read(1 << 24):
            whole.append(block)
        return pa.BufferReader(b"".join(whole))

    def forward(self) -> Any:
        """A pyarrow file that is read from front to back."""
        return pa.PythonFile(self._bytes, mode="r")

    def _read_file(self, size: int) -> bytes:
        """No more than there is: Python takes long to shrink a large buffer."""
        left = os.fstat(self._file.fileno()).st_size - self._file.tell()
        found: bytes = self._file.read(max(1, min(size, left)))
        return found

    def _decompress(self, raw: Lookahead) -> Lookahead:
        self.compression = codec_of(raw.peek(4))
        if self.compression is None:
            return raw
        raw.idle = None
        opened = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), self.compression)
        return Lookahead(opened.read, self.name)

    def _decode(self, raw: Lookahead) -> Lookahead:
        head = raw.peek(_HEAD)
        for mark, encoding in _BOMS:
            if head.startswith(mark):
                self.encoding = encoding
                if encoding == "utf-8":
                    raw.read(len(mark))
                    return raw
                return self._transcode(raw, encoding)
        bare = _utf16_without_mark(head)
        if bare is not None:
            self.encoding = bare
            return self._transcode(raw, bare)
        return raw

    def _transcode(self, raw: Lookahead, encoding: str) -> Lookahead:
        raw.idle = None
        opened = pa.transcoding_input_stream(pa.PythonFile(raw, mode="r"), encoding, "utf-8")
        return Lookahead(opened.read, self.name)


class Lookahead:
    """A `read` function with a memory: bytes peeked at are read again (from the file itself where one can `seek`).

    `idle` says whether a live source has nothing to read for now: then what there is must do, if it ends with a line.
    """

    closed = False

    def __init__(
        self, read: Callable[[int], bytes], name: str, seek: Callable[[int], int] | None = None,
        idle: Callable[[], bool] | None = None,
    ) -> None:  # fmt: skip
        self._next, self._name, self._head = read, name, b""
        self._seek, self._at = seek, 0
        self.idle = idle

    def peek(self, size: int, *, wait: bool = False) -> bytes:
        if len(self._head) < size:
            self._head += self._pull(size - len(self._head), b"" if wait else self._head)
        return self._head[:size]

    def read(self, size: int = -1) -> bytes:
        size = 1 << 62 if size < 0 else size
        head, self._head = self._head[:size], self._head[size:]
        if head and len(head) < size and self._seek is not None:
            self._seek(self._at)
            head = b""
        rest = self._pull(size - len(head), head) if len(head) < size else b""
        self._at += len(head) + len(rest)
        return head + rest if head else rest

    def readable(self) -> bool:
        return True

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
    if path.is_dir():
        raise IsADirectoryError(path)
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise DataError(_missing(path)) from None
    except OSError as error:
        raise DataError(f"cannot open {path}: {error.strerror}") from None


def _missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"no file '{path}': the folder '{folder}' does not exist"
    close = difflib.get_close_matches(path.name, sorted(entry.name for entry in folder.iterdir()), n=1, cutoff=0.5)
    hint = f"; did you mean '{folder / close[0]}'?" if close else ""
    return f"no file '{path}'{hint}"


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


def foreign(head: bytes) -> str | None:
    r"""What a file is that is certainly not data for linnet, told from its first bytes.

    >>> foreign(b"\x89PNG\r\n\x1a\n")
    'a PNG image'
    """
    return next((what for magic, what in _FOREIGN.items() if head.startswith(magic)), None)


def looks_binary(head: bytes) -> bool:
    r"""Whether bytes are not text in any encoding: mostly control characters, or some and no UTF-8.

    >>> looks_binary(bytes(range(256)) * 4), looks_binary("naïve\0 text".encode("cp1252"))
    (True, False)
    """
    count = sum(head.count(byte) for byte in range(32) if byte not in b"\t\n\v\f\r\x1b")
    if count < 16:  # a few may stray into any text
        return False
    control = count / len(head)
    if control > 0.3:
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        high = sum(byte > 127 for byte in head) / len(head)
        return control > 0.05 and high > 0.2
    return False


def _utf16_without_mark(head: bytes) -> str | None:
    """UTF-16 that lost its byte order mark: Latin text has a NUL in every second byte."""
    pairs = len(head) // 2
    if pairs < 8:
        return None
    even, odd = head[0 : 2 * pairs : 2].count(0), head[1 : 2 * pairs : 2].count(0)
    if odd > 0.6 * pairs and even < 0.02 * pairs:
        return "utf-16-le"
    if even > 0.6 * pairs and odd < 0.02 * pairs:
        return "utf-16-be"
    return None
