"""The names of features, written to disk as they are first met: at the end a model keeps those of the weightiest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from linnet.features.blocks import Blocks
from linnet.features.buffers import TextBuffer
from linnet.features.counting import Counted, names_of
from linnet.pipeline.cache import writing

__all__ = ["NameFile"]


class NameFile:
    """Chunks of (how many, bytes, columns, lengths, names)."""

    def __init__(self, folder: Path, n_columns: int) -> None:
        self.folder, self.path = folder, folder / "names"
        self.known = np.zeros(n_columns, dtype=bool)
        self.path.touch()

    def add(self, buffers: list[TextBuffer], blocks: Blocks, counted: Counted, columns: npt.NDArray[np.int32]) -> None:
        """Write the names of the features of a batch that are new; columns are theirs in the model, -1 for none."""
        fresh = np.flatnonzero((columns >= 0) & ~self.known[columns])
        if not len(fresh):
            return
        data, offsets = names_of(buffers, blocks, counted.seen.take(fresh), counted.fingerprints[fresh])
        self.known[columns[fresh]] = True
        head = np.array([len(fresh), len(data)], dtype=np.int64)
        with writing(self.folder), self.path.open("ab") as file:
            for piece in (head, columns[fresh].astype(np.int32), np.diff(offsets).astype(np.int32), data):
                file.write(np.ascontiguousarray(piece).data)

    def find(self, columns: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """Return the names of some columns, as UTF-8 bytes and offsets, in their order."""
        place = np.full(len(self.known), -1, dtype=np.int32)
        place[columns] = np.arange(len(columns))
        names: list[bytes] = [b""] * len(columns)
        with self.path.open("rb") as file:
            while raw := file.read(16):
                n, size = np.frombuffer(raw, dtype=np.int64).tolist()
                mine = place[np.frombuffer(file.read(4 * n), dtype=np.int32)]
                ends = np.cumsum(np.frombuffer(file.read(4 * n), dtype=np.int32), dtype=np.int64)
                data = file.read(size)
                for k in np.flatnonzero(mine >= 0).tolist():
                    names[mine[k]] = data[int(ends[k - 1]) if k else 0 : int(ends[k])]
        offsets = np.zeros(len(names) + 1, dtype=np.int64)
        np.cumsum([len(name) for name in names], out=offsets[1:])
        return np.frombuffer(b"".join(names), dtype=np.uint8), offsets
