"""Which keys of a long sequence occurred before, in bounded memory: the sequence may be larger than memory.

Keys are 64-bit fingerprints. They are written to disk with their positions, parted by their leading bits into files,
so that equal keys are in the same file; a file that is still too large is parted by the next bits. Each file is then
sorted in memory, and all but the first of each key are marked. The answer does not depend on the memory allowed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from linnet.files import temporary_folder

__all__ = ["Repeats"]

_RECORD = np.dtype([("key", "<u8"), ("at", "<i8")])
_BITS = 5  # 32 files a level
_LEAST = 1 << 12  # records in memory at once, at least


class Repeats:
    """Collect keys, then say of each whether it occurred before.

    About `max_memory` bytes are used (and never less than 64 kB), and 17 bytes of disk a key.

    >>> with Repeats(max_memory=1 << 20) as seen:
    ...     seen.add(np.array([5, 7, 5], dtype=np.uint64))
    ...     seen.add(np.array([7, 9], dtype=np.uint64))
    ...     seen.marks().tolist()
    [False, False, True, True, False]
    """

    def __init__(self, max_memory: int = 1 << 28, folder: str | None = None) -> None:
        self._room = max(_LEAST, max_memory // (4 * _RECORD.itemsize))  # a sort takes four times its input
        self._stack = contextlib.ExitStack()
        self._folder = self._stack.enter_context(temporary_folder(folder))
        self._whole = Path(self._folder, "keys")
        self._sink = self._whole.open("wb")
        self.n = 0

    def __enter__(self) -> Repeats:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the files."""
        self._sink.close()
        self._stack.close()

    def add(self, keys: npt.NDArray[np.uint64]) -> None:
        """Add keys to the end of the sequence."""
        records = np.empty(len(keys), dtype=_RECORD)
        records["key"] = keys
        records["at"] = np.arange(self.n, self.n + len(keys))
        self._sink.write(records.tobytes())
        self.n += len(keys)

    def marks(self) -> npt.NDArray[np.bool_]:
        """Return, for each key in order, whether an equal one came before; a map of a file, not memory."""
        self._sink.close()
        if self.n == 0:
            return np.zeros(0, dtype=bool)
        out: npt.NDArray[np.bool_] = np.memmap(Path(self._folder, "marks"), dtype=bool, mode="w+", shape=(self.n,))
        self._mark(self._whole, 0, out)
        return out

    def _mark(self, file: Path, level: int, out: npt.NDArray[np.bool_]) -> None:
        if file.stat().st_size <= self._room * _RECORD.itemsize:
            records = np.fromfile(file, dtype=_RECORD)
            order = np.argsort(records["key"], kind="stable")  # positions rise within a file
            key = records["key"][order]
            out[records["at"][order[1:][key[1:] == key[:-1]]]] = True
        elif level * _BITS >= 64:  # all bits are used up: all keys are equal
            for number, records in enumerate(self._pieces(file)):
                out[records["at"][1 if number == 0 else 0 :]] = True
        else:
            for part in self._parted(file, level):
                self._mark(part, level + 1, out)
        file.unlink()

    def _parted(self, file: Path, level: int) -> list[Path]:
        """Share the records of a file out by the next bits of their keys."""
        shift, used = np.uint64(max(0, 64 - _BITS * (level + 1))), (1 << _BITS) - 1
        paths = [file.with_name(f"{file.name}-{part:02d}") for part in range(used + 1)]
        sinks = [path.open("wb") for path in paths]
        try:
            for records in self._pieces(file):
                part = (records["key"] >> shift) & np.uint64(used)
                order = np.argsort(part, kind="stable")
                cuts = np.searchsorted(part[order], np.arange(used + 2, dtype=np.uint64))
                for k, sink in enumerate(sinks):
                    sink.write(records[order[cuts[k] : cuts[k + 1]]].tobytes())
        finally:
            for sink in sinks:
                sink.close()
        return paths

    def _pieces(self, file: Path) -> Iterator[npt.NDArray[np.void]]:
        with file.open("rb") as source:
            while len(records := np.fromfile(source, dtype=_RECORD, count=self._room)):
                yield records
