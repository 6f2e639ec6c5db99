"""Which texts a model was trained on, in a few kilobytes: so that an evaluation on them is noticed.

A text is known by its CRC-32. Kept are the smallest of these numbers, sorted, at most 65,536 and at most a share of the file;
texts with a number above the last one kept are not looked at, so the share of known texts is estimated from the others. Where
all numbers fit, the list ends with 2^32 - 1. Sets can be merged, and do not depend on the order of the texts.

>>> from linnet.features.buffers import text_buffers
>>> known = complete(numbers_of(text_buffers(["good film", "bad film"])))
>>> compare(known, text_buffers(["good film", "another film", "bad film"]))
TextsSeen(looked_at=3, seen=2)
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from linnet.features.buffers import TextBuffer

__all__ = ["TextsSeen", "compare", "complete", "fitting", "merged", "numbers_of"]

Numbers = npt.NDArray[np.uint32]

MOST = 1 << 16
SHARE = 0.04  # of the bytes of the model, headers aside
_LAST = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True)
class TextsSeen:
    """How many texts were looked at, and how many of those the model was trained on."""

    looked_at: int
    seen: int

    @property
    def share(self) -> float:
        """The share of texts that the model was trained on."""
        return self.seen / self.looked_at if self.looked_at else 0.0


def numbers_of(pieces: Iterable[TextBuffer]) -> Numbers:
    """Return the smallest numbers of some texts, each once."""
    found = np.zeros(0, np.uint32)
    for piece in pieces:
        found = merged(found, _numbers(piece))
    return found


def merged(a: Numbers, b: Numbers) -> Numbers:
    """Return the smallest numbers of two sets of texts."""
    return np.unique(np.concatenate([a, b]))[: MOST + 1]


def complete(numbers: Numbers) -> Numbers:
    """Mark a set in which no number had to be left out; cut one that is too large."""
    return numbers[:MOST] if len(numbers) > MOST else np.append(numbers, _LAST)


def fitting(numbers: Numbers, nbytes: int) -> Numbers:
    """Return what may be kept in a model of so many bytes."""
    whole, room = complete(numbers), int(nbytes * SHARE) // 4
    return whole if len(whole) <= room else whole[:room]


def compare(known: Numbers, pieces: Iterable[TextBuffer]) -> TextsSeen:
    """Count the texts that are known."""
    looked_at = seen = 0
    for piece in pieces if len(known) else ():
        numbers = _numbers(piece)
        numbers = numbers[numbers <= known[-1]]
        looked_at += len(numbers)
        at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        seen += int(np.count_nonzero(known[at] == numbers))
    return TextsSeen(looked_at, seen)


def _numbers(piece: TextBuffer) -> Numbers:
    data, crc = np.ascontiguousarray(piece.data).data, zlib.crc32
    return np.fromiter((crc(data[a:b]) for a, b in pairwise(piece.offsets.tolist())), np.uint32, len(piece))
