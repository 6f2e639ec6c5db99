"""Files that appear under their name only when they are whole, and say so in one line when a disk is full."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linnet.errors import LinnetError

__all__ = ["OutputError", "appearing", "packed_as"]

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}


class OutputError(LinnetError):
    """The output cannot be written: a disk is full, or may not be written to."""


class _File:
    """A file whose errors are errors of the output."""

    closed = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = self._try(path.open, "wb", buffering=1 << 20)

    def write(self, data: Any) -> int:
        return int(self._try(self._file.write, data))

    def tell(self) -> int:
        return int(self._file.tell())

    def flush(self) -> None:
        self._try(self._file.flush)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Closing is the business of `appearing`: a Parquet writer may close its sink."""

    def finish(self) -> None:
        self._try(self._file.flush)
        self._try(os.fsync, self._file.fileno())
        self._try(self._file.close)

    def drop(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()

    def _try(self, do: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return do(*args, **kwargs)
        except OSError as error:
            raise OutputError(f"cannot write {self.path.parent}: {error.strerror or error}") from None


@contextlib.contextmanager
def appearing(target: Path, parts: Path) -> Iterator[Any]:
    """Open a file for bytes in the folder `parts`; move it to its name when the block has ended without an error."""
    part = parts / f"{uuid.uuid4().hex}.part"
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {target.parent}: {error.strerror or error}") from None
    file = _File(part)
    try:
        yield file
        file.finish()
        try:
            part.replace(target)
        except OSError as error:
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from None
    except BaseException:
        file.drop()
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


class _Plain:
    def __init__(self, sink: Any) -> None:
        self.write = sink.write

    def close(self) -> None:
        pass


def packed_as(path: str, sink: Any) -> Any:
    """Give a sink that compresses as the file at `path` is compressed, told by its first bytes."""
    import pyarrow as pa

    with Path(path).open("rb") as file:
        head = file.read(4)
    for magic, codec in _MAGIC.items():
        if head.startswith(magic):
            return pa.CompressedOutputStream(pa.PythonFile(sink, mode="w"), codec)
    return _Plain(sink)
