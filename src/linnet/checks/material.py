"""What the checks look at: the data, other sets beside it, and what several checks need, made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linnet.data import Dataset
from linnet.features.blocks import Blocks
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import Counted
from linnet.features.sharing import Shared

__all__ = ["Material", "same_texts"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Material:
    """The data to check, and other sets (dev, test) that must not share texts with it."""

    data: Dataset
    others: tuple[Dataset, ...] = ()
    seed: int = 0
    threads: int | None = None

    def __len__(self) -> int:
        return len(self.data)

    @cached_property
    def starts(self) -> list[int]:
        """Where each set begins when all stand behind one another, and the end."""
        return [0, *np.cumsum([len(data) for data in (self.data, *self.others)]).tolist()]

    @cached_property
    def texts(self) -> pa.ChunkedArray:
        """The texts of all sets."""
        columns = [data.text for data in (self.data, *self.others)]
        if len({column.type for column in columns}) > 1:
            columns = [column.cast(pa.large_string()) for column in columns]
        return pa.chunked_array([chunk for column in columns for chunk in column.chunks], type=columns[0].type)

    @cached_property
    def pieces(self) -> list[TextBuffer]:
        """The same as bytes."""
        return text_buffers(self.texts)

    @cached_property
    def exact(self) -> Ints:
        """A group number for each row of all sets: rows with the very same text have the same."""
        return same_texts(self.pieces)

    @cached_property
    def near(self) -> Ints:
        """The same for near duplicates."""
        from linnet.text.duplicates import near_groups

        return near_groups(self.texts, threads=self.threads)

    @cached_property
    def codes(self) -> npt.NDArray[np.int32]:
        """The class of each row of the data, as a number in the order of its labels."""
        return self.data._codes().astype(np.int32)

    @cached_property
    def labels(self) -> list[str]:
        """The labels of the data, sorted."""
        return self.data.labels

    @cached_property
    def shared(self) -> Shared:
        """What was counted of the texts of all sets."""
        return Shared(self.texts)

    def counted(self, blocks: Blocks) -> Counted:
        """Return the features of all sets, counted once."""
        return self.shared.counted(blocks, None, False, self.threads)[0]

    @cached_property
    def source_rows(self) -> Ints:
        """The number of each row of the data in its source, from 1; rows that were left out are counted too."""
        return _source_rows(self.data)

    def text(self, row: int) -> str:
        """Return one text of all sets."""
        found: str = self.texts[row].as_py()
        return found

    def label(self, row: int) -> str:
        """Return the label of one row of the data."""
        name: str = self.labels[self.codes[row]]
        return name

    def where(self, rows: Sequence[int] | Ints) -> list[int]:
        """Return the source rows of some rows of the data."""
        return [int(self.source_rows[row]) for row in rows]


def _source_rows(data: Dataset) -> Ints:
    bad = np.array([row.row for row in data.unusable.rows], dtype=np.int64)
    every = np.arange(1, len(data) + len(bad) + 1)
    return every if not len(bad) else np.setdiff1d(np.arange(1, len(data) + len(bad) + 1), bad)[: len(data)]


_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))


def same_texts(pieces: list[TextBuffer]) -> Ints:
    """Return a group number for each text, in the order of first sight; equal texts have the same.

    Texts of the same length with the same bytes at the beginning, in the middle and at the end are compared whole; the
    others, nearly all, are told apart without reading them.

    >>> same_texts(text_buffers(["good film", "bad", "good film", ""])).tolist()
    [0, 1, 0, 2]
    """
    keys = np.concatenate([np.zeros(0, np.uint64), *(_sketch(piece) for piece in pieces if len(piece))])
    order = np.argsort(keys, kind="stable")
    meets = np.zeros(len(keys), dtype=bool)
    meets[1:] = keys[order[1:]] == keys[order[:-1]]
    meets[:-1] |= meets[1:]
    alike = np.sort(order[meets])
    root = np.arange(len(keys))
    ends = np.cumsum([0, *(len(piece) for piece in pieces)])
    seen: dict[bytes, int] = {}
    for row in alike.tolist():
        k = int(np.searchsorted(ends, row, side="right")) - 1
        a, b = pieces[k].offsets[row - ends[k] : row - ends[k] + 2].tolist()
        root[row] = seen.setdefault(pieces[k].data[a:b].tobytes(), row)
    numbers = np.cumsum(root == np.arange(len(root))) - 1
    groups: Ints = numbers[root].astype(np.int64)
    return groups


def _sketch(piece: TextBuffer) -> npt.NDArray[np.uint64]:
    """Return a hash of the length and of three runs of eight bytes of each text."""
    begin, end = piece.offsets[:-1], piece.offsets[1:]
    size = end - begin
    key = size.astype(np.uint64) * np.uint64(0xFF51AFD7ED558CCD)
    long = np.flatnonzero(size >= 8)
    if len(long):
        runs = np.ndarray((len(piece.data) - 7,), np.dtype("<u8"), np.ascontiguousarray(piece.data), 0, (1,))
        first, last = begin[long], end[long] - 8
        mixed = key[long]
        for start, mix in zip((first, (first + last) // 2, last), _MIX, strict=True):
            mixed = (mixed ^ runs[start]) * mix
            mixed ^= mixed >> np.uint64(31)
        key[long] = mixed
    for row in np.flatnonzero((size > 0) & (size < 8)).tolist():
        key[row] ^= np.uint64(int.from_bytes(piece.data[begin[row] : end[row]].tobytes(), "little"))
    found: npt.NDArray[np.uint64] = key
    return found


def rows_like(groups: Ints, n: int) -> Any:
    """Return which of the first n rows are not the first of their group; groups are numbered by first sight."""
    before = np.concatenate([[-1], np.maximum.accumulate(groups[:n])[:-1]]) if n else groups[:0]
    return groups[:n] <= before
