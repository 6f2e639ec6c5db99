r"""The state file of a search: a line for every result, so that a search that was killed goes on where it was.

The first line says what the search is for: data, seed, metric, limits. Every further line is one candidate on one level,
with its answers. Lines are appended, flushed and forced to the disk; a line that was cut short is dropped when the file is
opened again. Because candidates are drawn in the same order for the same seed, going on means: draw again, and look up
what is known already.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     state = SearchState(Path(folder) / "a.tune.jsonl", {"seed": 0})
...     state.add("k", {"score": 0.5})
...     state.close()
...     SearchState(Path(folder) / "a.tune.jsonl", {"seed": 0}).known
{'k': {'score': 0.5}}
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError, LinnetError
from linnet.files import lock_file

__all__ = ["SearchState", "packed", "unpacked"]

VERSION = 1


def packed(answers: npt.NDArray[np.int64]) -> str:
    """Write class numbers as a short text.

    >>> unpacked(packed(np.array([0, 1, 300]))).tolist()
    [0, 1, 300]
    """
    return base64.b64encode(zlib.compress(answers.astype("<u4").tobytes(), 9)).decode("ascii")


def unpacked(text: str) -> npt.NDArray[np.int64]:
    """Read back what ``packed`` wrote."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<u4").astype(np.int64)


class SearchState:
    """Results by key. Without a path they are kept in memory only.

    A file of another search (other data, seed, metric, limits or version) is started anew; ``replaced`` says so.
    """

    def __init__(self, path: Path | None, about: Mapping[str, Any], *, fresh: bool = False) -> None:
        self.path, self.known, self.replaced = path, {}, False  # type: Path | None, dict[str, dict[str, Any]], bool
        self._file: BinaryIO | None = None
        self.about = json.loads(json.dumps({"linnet_tune": VERSION, **about}))
        if path is not None:
            self._open(path, fresh)

    def _open(self, path: Path, fresh: bool) -> None:
        try:
            file = path.open("a+b")
        except OSError as error:
            raise DataError(f"cannot write the state of the search to {path}: {error.strerror}") from None
        _lock(file, path)
        try:
            whole = self._read(file)
        except DataError:
            file.close()
            raise
        if fresh or not whole:
            whole = 0
            self.known = {}
        file.truncate(whole)
        self._file = file
        if not whole:
            self._line(self.about)

    def _read(self, file: BinaryIO) -> int:
        """Take in what is there; returns how many bytes of it are good, 0 where it is another search's."""
        file.seek(0)
        good = 0
        for number, line in enumerate(file):
            entry = _parsed(line)
            if number == 0 and (entry is None or "linnet_tune" not in entry):
                raise DataError(
                    f"{self.path}: is not a file of results of linnet tune, and would be lost; give another --resume"
                )
            if entry is None:
                break
            if number == 0:
                if entry != self.about:
                    self.replaced = True
                    return 0
            elif not isinstance(entry.get("key"), str):
                break
            else:
                self.known[entry.pop("key")] = entry
            good += len(line)
        return good

    def add(self, key: str, entry: Mapping[str, Any]) -> None:
        """Keep a result, on the disk before this returns."""
        self.known[key] = dict(entry)
        self._line({"key": key, **entry})

    def _line(self, entry: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(entry, ensure_ascii=False).encode("utf-8") + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise DataError(f"cannot write the state of the search to {self.path}: {error.strerror}") from None

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _parsed(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        return found if isinstance(found, dict) else None
    return None


def _lock(file: BinaryIO, path: Path) -> None:
    """Refuse a file that another search is writing."""
    try:
        lock_file(file, f"{path} is in use by another linnet tune; wait for it, or give another --out")
    except LinnetError:
        file.close()
        raise
