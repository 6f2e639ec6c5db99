r"""Files: the endings of compressed files, checksums, and writing a file so that it is complete or not there at all.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     with open_atomic(Path(folder, "a.txt"), "w") as file:
...         _ = file.write("good film\n")
...         before = os.listdir(folder) == ["a.txt"]
...     before, os.listdir(folder), Path(folder, "a.txt").read_text()
(False, ['a.txt'], 'good film\n')
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import hashlib
import io
import os
import platform
import re
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any

from linnet.errors import DataError, LinnetError

#: Endings of compressed files, and the codec that pyarrow knows for each.
COMPRESSED = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2"}
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}


class OutputError(DataError):
    """A file cannot be written: the disk is full, the folder is missing, or there is no permission."""


def split_ending(name: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Return the ending that tells the format of a file, and the codec of its compression.

    >>> split_ending("reviews.CSV.gz"), split_ending("crawl.warc.wet.zst"), split_ending("notes")
    (('.csv', 'gzip'), ('.wet', 'zstd'), ('', None))
    """
    path = Path(os.fspath(name).lower())
    codec = COMPRESSED.get(path.suffix)
    return (path if codec is None else Path(path.stem)).suffix, codec


def codec_of(head: bytes) -> str | None:
    r"""Return the codec of a compressed file from its first four bytes; None where it is not compressed.

    >>> codec_of(b"\x1f\x8b\x08\x00"), codec_of(b"text")
    ('gzip', None)
    """
    return next((codec for magic, codec in _MAGIC.items() if head.startswith(magic)), None)


# How files begin that are handed in by mistake, as data or as models. None of these can begin a model file: its first byte
# is the low byte of a header length that leaves 56 when divided by 64, that is 8, x, 0xb8 or 0xf8.
_FOREIGN = {
    b"\x89PNG": "a PNG image",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a zip archive (as Excel, Word, .npz and PyTorch files are)",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file",
    b"\x1f\x8b": "a gzip archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\xba\x16\x4f\x2f": "a fastText model",
    **{bytes([0x80, protocol]): "a pickle, which linnet never loads" for protocol in range(2, 6)},
}


def foreign(head: bytes) -> str | None:
    r"""Return what a file is that is neither a text nor a model of linnet, from its first bytes; None where they do not say.

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


#: The kinds of files that linnet writes, by the ending of the name.
KINDS = {
    **dict.fromkeys((".json", ".jsonl", ".ndjson", ".jsonlines"), "json"), **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), "text"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"), **dict.fromkeys((".arrow", ".feather", ".ipc", ".arrows"), "arrow"),
    ".linnet": "model", ".html": "html", ".htm": "html", ".svg": "svg", ".png": "png",
}  # fmt: skip
_CONTENT = {
    b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow", b"\x89PNG": "png", b"<!doctype html": "html", b"<html": "html",
    b"<svg": "svg", b"<?xml": "svg", b"{": "json", b"[": "json",
}  # fmt: skip


def kind_of_name(name: str | os.PathLike[str]) -> str | None:
    """Return the kind of file that a name asks for; None where its ending says nothing.

    >>> kind_of_name("kept.jsonl"), kind_of_name("kept.csv.gz"), kind_of_name("notes")
    ('json', 'gzip', None)
    """
    ending, codec = split_ending(name)
    return codec or KINDS.get(ending)


def content_kind(path: str | os.PathLike[str]) -> str | None:
    """Return the kind of what a file holds: one of KINDS, a codec, "empty" or "binary"; None where there is no file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.linnet").write_text("label,text")
    ...     content_kind(Path(folder, "a.linnet")), content_kind(Path(folder, "b"))
    ('text', None)
    """
    try:
        with Path(path).open("rb") as file:
            head = file.read(4096) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except (OSError, ValueError):
        return None
    if not head:
        return "empty"
    if head[8:9] == b"{" and b'"format":"linnet"' in head:
        return "model"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    known = (kind for magic, kind in _CONTENT.items() if head.startswith(magic) or start.startswith(magic))
    return codec_of(head) or next(known, None) or ("binary" if b"\0" in head else "text")


def digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {os.fspath(path)}: {error.strerror or error}") from error


def read_text(path: str | os.PathLike[str], what: str) -> str:
    """Return the UTF-8 text of a small file; `what` says in an error what it should have been."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or f"it is not UTF-8 ({error})"
        raise DataError(f"cannot read {what} {os.fspath(path)}: {reason}") from None


@contextlib.contextmanager
def open_atomic(
    target: str | os.PathLike[str], mode: str = "wb", *, staging: Path | None = None, mkdir: bool = False
) -> Iterator[Any]:
    """Open a file for bytes ("wb") or UTF-8 text ("w") that gets its name when the block ends without an error.

    The bytes go to a temporary file beside the target, or in the folder `staging` of the same disk. At the end they are
    flushed to the disk and the file is renamed, so a crash leaves the old file or the new one. After an error, Ctrl-C
    included, nothing is left behind. A file that is replaced keeps its permissions. `mkdir` creates missing folders.
    Errors of writing raise OutputError; its cause is the OSError.
    """
    target = Path(target)
    folder = target.parent if staging is None else staging
    temporary = folder / f".{_own_name()}.tmp"
    file = None
    try:
        with writing(target):
            _refuse(target)
            if mkdir:
                folder.mkdir(parents=True, exist_ok=True)
                target.parent.mkdir(parents=True, exist_ok=True)
            _remove_stale(folder, ".linnet-*.tmp")
            file = _Output(temporary, target)
        if mode == "wb":
            yield file
        else:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            yield text
            text.flush()
        with writing(target):
            file.finish()
            with contextlib.suppress(OSError):
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)
    except BaseException:
        if file is not None:
            file.raw.close()
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise
    _flush_folder(target.parent)


def write_atomic(target: str | os.PathLike[str], content: str | bytes | memoryview, **how: Any) -> None:
    """Write a whole file with `open_atomic`; text as UTF-8, with escapes for what UTF-8 cannot hold."""
    with open_atomic(target, **how) as file:
        file.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)


@contextlib.contextmanager
def temporary_folder(parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Make a folder that is gone at the end; what processes that were killed have left there is removed, too.

    >>> with temporary_folder() as folder:
    ...     inside = folder.is_dir()
    >>> inside, folder.exists()
    (True, False)
    """
    import shutil
    import tempfile

    place = Path(tempfile.gettempdir() if parent is None else parent)
    _remove_stale(place, "linnet-*")
    folder = place / _own_name()
    try:  # from here on, so that no signal comes between
        with writing(folder):
            folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_NAME = re.compile(r"\.?linnet-(?P<host>[0-9a-f]{8})-(?P<pid>\d+)-[0-9a-f]{16}(\.tmp)?")


def _own_name() -> str:
    """Name something temporary after this machine and process, so that a later run can tell whether it is in use."""
    return f"linnet-{_host()}-{os.getpid()}-{os.urandom(8).hex()}"


@cache
def _host() -> str:
    """Tell machines, and containers with process numbers of their own, apart."""
    space = ""
    with contextlib.suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]


def _remove_stale(folder: Path, pattern: str) -> None:
    """Remove temporary files and folders of processes of this machine that no longer run."""
    with contextlib.suppress(OSError):
        for path in folder.glob(pattern):
            named = _NAME.fullmatch(path.name)
            if named and named["host"] == _host() and not _runs(int(named["pid"])):
                import shutil

                with contextlib.suppress(OSError):
                    if path.is_dir() and not path.is_symlink():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink()


def _runs(pid: int) -> bool:
    if os.name != "posix":
        return True  # os.kill would end the process there
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        return True
    return True


def lock_file(file: IO[Any], busy: str | None = None) -> None:
    """Lock an open file for this process until it is closed; where another holds it, raise LinnetError(busy) or (None) wait.

    Nothing is locked where the system or the file system has no such locks.
    """
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if busy is None else fcntl.LOCK_NB))
    except BlockingIOError:
        raise LinnetError(busy) from None
    except (ImportError, OSError):
        return


class _Output(io.BufferedWriter):
    """The temporary file. Its errors name the target. `close` does nothing: writers such as Parquet's close their sink."""

    def __init__(self, path: Path, target: Path) -> None:
        super().__init__(io.FileIO(path, "xb"), 1 << 20)
        self.target = target

    def write(self, data: Any) -> int:
        with writing(self.target):
            return super().write(data)

    def flush(self) -> None:
        with writing(self.target):
            super().flush()

    def close(self) -> None:
        pass

    def finish(self) -> None:
        self.flush()
        os.fsync(self.fileno())
        self.raw.close()


@contextlib.contextmanager
def writing(target: Path) -> Iterator[None]:
    """Say in one line where something could not be written."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error


def _refuse(target: Path) -> None:
    """Refuse what a rename would replace, but opening for writing would not."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder; add a file name")
    if target.exists() and not target.is_file():  # /dev/null
        raise OSError(errno.EINVAL, "it is not a regular file")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is read-only")


def _flush_folder(folder: Path) -> None:
    """Flush the rename itself; not every system can flush a folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
