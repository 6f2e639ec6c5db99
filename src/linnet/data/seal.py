r"""A blind test set: a seal beside the file counts every look at it.

A test set is honest as long as nothing is chosen by it, and every look is a chance to choose. The seal is a small JSON
file, ``test.csv.seal.json``: what the file was when it was sealed (SHA-256, rows), and the list of looks (when, which
command, which model). A file that changed after it was sealed is refused.

>>> import tempfile
>>> from pathlib import Path
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "test.csv"
...     _ = path.write_text("text,label\ngood,pos\n")
...     _ = seal(path, rows=1)
...     look(path, "evaluate", "a model").words, seal_of(path).words
('looked at 1 time', 'looked at 1 time')
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from linnet.errors import DataError
from linnet.files import digest, lock_file, write_atomic
from linnet.values import to_plain

VERSION = 1


@dataclass(frozen=True)
class Seal:
    """What was sealed, and every look since."""

    file: str
    sha256: str
    rows: int
    sealed: str
    looks: tuple[Mapping[str, str], ...] = ()

    @property
    def words(self) -> str:
        """How often the file was looked at, in words."""
        return f"looked at {len(self.looks):,} time{'' if len(self.looks) == 1 else 's'}"

    def to_dict(self) -> dict[str, Any]:
        """Return what the seal file holds."""
        return {"linnet_seal": VERSION, **to_plain(self)}


def seal(path: str | os.PathLike[str], rows: int) -> Seal:
    """Seal a file; one that is sealed already is refused, so that no look is forgotten."""
    target = Path(path)
    with _locked(target):
        if _place(target).exists():
            raise DataError(
                f"{target} is sealed already ({_read(target).words}); keep it, or remove {_place(target)} and start anew"
            )
        made = Seal(target.name, digest(target), rows, _now())
        _write(target, made)
    return made


def seal_of(path: str | os.PathLike[str]) -> Seal | None:
    """Return the seal of a file, None where it has none; a file that changed since is refused."""
    target = Path(path)
    if os.fspath(path) == "-" or not _place(target).exists():
        return None
    found = _read(target)
    if digest(target) != found.sha256:
        raise DataError(
            f"{target} has changed since it was sealed on {found.sealed[:10]} ({found.words}); bring the old file back, or "
            f"remove {_place(target)} and say in your report that the test set is a new one"
        )
    return found


def look(path: str | os.PathLike[str], command: str, model: str | Path) -> Seal | None:
    """Record one look at a sealed file and return its seal, that look included; None where there is no seal.

    model is a file, of which the SHA-256 is noted, or text to note as it is.

    Safe where several processes look at once: each look is counted. The seal is written before the look's results are
    shown, so a look cannot be lost by stopping the program at the right moment.
    """
    target = Path(path)
    if seal_of(path) is None:
        return None
    which = digest(model) if isinstance(model, Path) else model
    with _locked(target):
        before = _read(target)
        after = replace(before, looks=(*before.looks, {"when": _now(), "command": command, "model": which}))
        _write(target, after)
    return after


def refuse_sealed(path: str | os.PathLike[str], purpose: str) -> None:
    """Refuse a sealed file for anything but a test."""
    if os.fspath(path) != "-" and _place(Path(path)).exists():
        raise DataError(
            f"{os.fspath(path)} is sealed as a blind test set and cannot be used {purpose}; use it with linnet evaluate or "
            f"--test, or remove {_place(Path(path))}"
        )


def _place(target: Path) -> Path:
    return target.with_name(f"{target.name}.seal.json")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(target: Path) -> Seal:
    place = _place(target)
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        if found["linnet_seal"] != VERSION:
            raise DataError(f"{place} was written by another version of linnet ({found['linnet_seal']}); update linnet")
        looks = tuple({key: str(one[key]) for key in ("when", "command", "model")} for one in found["looks"])
        return Seal(found["file"], found["sha256"], int(found["rows"]), found["sealed"], looks)
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{place} is not a whole seal ({error}); bring it back from a copy") from error


def _write(target: Path, found: Seal) -> None:
    write_atomic(_place(target), json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Wait until no other process changes the seal of a file, and keep others out."""
    try:
        file = target.open("rb")
    except OSError as error:
        raise DataError(f"cannot open {target}: {error.strerror or error}") from error
    with file:
        lock_file(file)
        yield
