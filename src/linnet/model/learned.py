"""What a model file keeps of the training rows: the counts that a counting model goes on from, and numbers of the texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from linnet.array_types import Array, Floats, Hashes32, Ints
from linnet.features.buffers import TextBuffer, text_numbers


@dataclass(frozen=True)
class Learned:
    """Weighted rows of each class, (n_classes,), and what each feature adds up to in each class, (n_features, n_classes).

    Where rows may have several labels, those of all rows follow those of each label.
    Features stand in the order of their slots. Whole numbers are kept in the fewest bytes that hold the largest.

    >>> one = Learned(np.array([2.0, 1.0]), np.array([[1.0, 0.0], [300.0, 1.0]]))
    >>> {name: array.dtype.name for name, array in one.tensors().items()}
    {'learned.rows': 'float64', 'learned.features': 'uint16'}
    """

    rows: Floats
    features: Array

    @property
    def nbytes(self) -> int:
        """What it takes in the file."""
        return sum(array.nbytes for array in self.tensors().values())

    def by_slot(self, slots: Ints | None) -> Learned:
        """Return the features in the order of their slots; None: they are in it."""
        return self if slots is None else replace(self, features=self.features[np.argsort(slots, kind="stable")])

    def tensors(self) -> dict[str, Array]:
        """Return what the model file holds."""
        kinds = (np.uint8, np.uint16, np.uint32)
        most = self.features.max(initial=0.0) if (self.features == np.rint(self.features)).all() else np.inf
        kind = next((kind for kind in kinds if most <= np.iinfo(kind).max), np.float64)
        return {"learned.rows": self.rows, "learned.features": self.features.astype(kind, copy=False)}

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Array], n_features: int, n_classes: int) -> Learned:
        """Read it back."""
        rows, features = tensors["learned.rows"], tensors["learned.features"]
        if "learned.unit" in tensors:  # older files: whole numbers of the weights of blocks
            features = features * tensors["learned.units"][tensors["learned.unit"]][:, None]
        if rows.shape != (n_classes,) or rows.dtype != np.float64 or features.shape != (n_features, n_classes):
            raise ValueError("its counts do not fit its features")
        if not np.isfinite(rows).all() or not np.isfinite(features).all() or (features < 0).any():
            raise ValueError("its counts are not finite")
        return cls(rows, np.asarray(features, dtype=np.float64))


# ---- Which texts a model was trained on, in a few kilobytes: so that an evaluation on them is noticed.
#
# A text is known by its number of 32 bits (``text_numbers``). Long texts of one length that differ in a few letters may share
# it. Kept are the smallest numbers, sorted, at most 65,536 and at most a share of the file; texts with a number above the last
# one kept are not looked at, so the share of known texts is estimated from the others. Where all numbers fit, the list ends
# with 2^32 - 1. Sets can be merged, and do not depend on the order of the texts.


MOST = 1 << 16
SHARE = 0.04  # of the bytes of the model, headers aside
_LAST = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True)
class TextsSeen:
    """How many texts were looked at, and how many of those the model was trained on.

    >>> from linnet.features.buffers import text_buffers
    >>> known = complete(numbers_of(text_buffers(["good film", "bad film"])))
    >>> compare(known, text_buffers(["good film", "another film", "bad film"]))
    TextsSeen(looked_at=3, seen=2)
    """

    looked_at: int
    seen: int

    @property
    def share(self) -> float:
        """The share of texts that the model was trained on."""
        return self.seen / self.looked_at if self.looked_at else 0.0


def numbers_of(pieces: Iterable[TextBuffer]) -> Hashes32:
    """Return the smallest numbers of some texts, each once."""
    found, waiting = [np.zeros(0, np.uint32)], 0
    for piece in pieces:
        found.append(text_numbers(piece))
        waiting += len(piece)
        if waiting > 4 * MOST:  # sorting is what takes time
            found, waiting = [_smallest(found)], 0
    return _smallest(found)


def merged(a: Hashes32, b: Hashes32) -> Hashes32:
    """Return the smallest numbers of two sets of texts."""
    if len(a) <= MOST:
        return _smallest([a, b])
    b = b[b < a[-1]]
    at = np.searchsorted(a, b)
    new = a[at] != b
    return np.insert(a, at[new], b[new])[: MOST + 1]


def _smallest(parts: list[Hashes32]) -> Hashes32:
    return np.unique(np.concatenate(parts))[: MOST + 1]


def complete(numbers: Hashes32) -> Hashes32:
    """Mark a set in which no number had to be left out; cut one that is too large."""
    return numbers[:MOST] if len(numbers) > MOST else np.append(numbers, _LAST)


def fitting(numbers: Hashes32, nbytes: int) -> Hashes32:
    """Return what may be kept in a model of so many bytes."""
    return complete(numbers)[: int(nbytes * SHARE) // 4]


def extended(known: Hashes32, new: Hashes32, nbytes: int) -> Hashes32:
    """Return what may be kept once more texts were learned from; known is what was kept before."""
    if not len(known) or known[-1] == _LAST:
        return fitting(merged(known[:-1], new), nbytes)
    both = merged(known, new)  # some numbers above the last known one were left out, so all are
    return np.asarray(both[both <= known[-1]][: int(nbytes * SHARE) // 4])


def compare(known: Hashes32, pieces: Iterable[TextBuffer]) -> TextsSeen:
    """Count the texts that are known."""
    looked_at = seen = 0
    for piece in pieces if len(known) else ():
        numbers = text_numbers(piece)
        numbers = numbers[numbers <= known[-1]]
        looked_at += len(numbers)
        at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        seen += int(np.count_nonzero(known[at] == numbers))
    return TextsSeen(looked_at, seen)
