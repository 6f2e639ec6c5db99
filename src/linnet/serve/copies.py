"""Private copies of model files. All workers map the same copy, so it is in memory once.

A file that is mapped must not change: who truncates it ends every process that reads a page behind its new end (SIGBUS). The
server therefore maps a copy that nobody else knows of. It lies in a folder of the server's own, in TMPDIR, which goes when the
server ends; that of a server that was killed goes when the next one starts.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from linnet.errors import LinnetError, ModelFileError
from linnet.files import lock_file
from linnet.units import size_text

__all__ = ["Signature", "private_copy", "remove_others", "server_folder", "signature_of"]

Signature = tuple[int, int, int, int]
PREFIX = "linnet-serve-"
LOCK = "lock"


@contextlib.contextmanager
def server_folder() -> Iterator[Path]:
    """Make a folder for what the processes of a server share; remove those that killed servers have left."""
    try:
        place = Path(tempfile.gettempdir())
        for left in place.glob(f"{PREFIX}*"):
            _remove_left(left)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    except OSError as error:
        raise LinnetError(f"no temporary folder can be made ({error.strerror or error}); set TMPDIR to one") from error
    try:
        with (folder / "locking").open("wb") as held:
            lock_file(held, f"{folder} is in use")
            (folder / "locking").rename(folder / LOCK)  # under its name it is always held
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left(folder: Path) -> None:
    """Remove the folder of a server that is gone: nobody holds its lock, and it is ours."""
    with contextlib.suppress(OSError, LinnetError):
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return
        with (folder / LOCK).open("rb") as held:
            lock_file(held, "in use")
            shutil.rmtree(folder, ignore_errors=True)


def private_copy(path: Path, folder: Path) -> tuple[Path, Signature]:
    """Return the copy of a file as it is now; another process may have made it."""
    try:
        with path.open("rb") as source:
            before = _signature(os.fstat(source.fileno()))
            target = folder / ("-".join(map(str, before)) + ".linnet")
            if target.exists():
                return target, before
            temporary = folder / f"{secrets.token_hex(8)}.tmp"
            try:
                with temporary.open("xb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
                if _signature(os.fstat(source.fileno())) == before and temporary.stat().st_size == before[3]:
                    with contextlib.suppress(FileExistsError):
                        os.link(temporary, target)  # not a rename: the first copy stays, for all
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        size = size_text(path.stat().st_size) if path.is_file() else "the model"
        raise ModelFileError(
            f"{path}: cannot be copied to {folder} ({error.strerror or error}); set TMPDIR to a folder with room for {size}"
        ) from error
    return target, before


def remove_others(folder: Path, used: Iterable[Signature]) -> None:
    """Remove copies that are no longer needed; processes that have mapped one keep it."""
    names = {"-".join(map(str, signature)) + ".linnet" for signature in used}
    for path in folder.glob("*.linnet"):
        if path.name not in names:
            path.unlink(missing_ok=True)


def signature_of(path: Path) -> Signature:
    """Return what tells whether a file is another one, or was written to."""
    try:
        return _signature(path.stat())
    except OSError:  # whoever reads it will say what is wrong
        return 0, 0, 0, 0


def _signature(found: os.stat_result) -> Signature:
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
