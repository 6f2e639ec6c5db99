"""How much a document weighs in a share: 1, its characters, or its words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.data.arrays import data_bytes, offsets

__all__ = ["weigh"]

_SPACE = np.zeros(256, dtype=bool)
_SPACE[[9, 10, 11, 12, 13, 32]] = True


def weigh(texts: Any, unit: str) -> npt.NDArray[np.int64]:
    """Return the weights of the texts of an Arrow column.

    >>> import pyarrow as pa
    >>> texts = pa.chunked_array([["a small world", "", " naïve"]])
    >>> [weigh(texts, unit).tolist() for unit in ("documents", "characters", "tokens")]
    [[1, 1, 1], [13, 0, 6], [3, 0, 1]]
    """
    if unit == "documents":
        return np.ones(len(texts), np.int64)
    count = _characters if unit == "characters" else _words
    return np.concatenate([np.zeros(0, np.int64), *(count(chunk) for chunk in texts.chunks if len(chunk))])


def _characters(chunk: Any) -> npt.NDArray[np.int64]:
    return _sums((data_bytes(chunk) & 0xC0) != 0x80, chunk)  # every byte but those that continue a character


def _words(chunk: Any) -> npt.NDArray[np.int64]:
    data = data_bytes(chunk)
    inside = ~_SPACE[data]
    starts = inside.copy()
    starts[1:] &= ~inside[:-1]
    ends = offsets(chunk).astype(np.int64)
    first = ends[:-1][np.diff(ends) > 0] - ends[0]
    starts[first] = inside[first]  # a document begins: the last word of the one before is not this one
    return _sums(starts, chunk)


def _sums(marks: npt.NDArray[np.bool_], chunk: Any) -> npt.NDArray[np.int64]:
    ends = offsets(chunk).astype(np.int64)
    total = np.concatenate([[0], np.cumsum(marks, dtype=np.int64)])
    found: npt.NDArray[np.int64] = total[ends[1:] - ends[0]] - total[ends[:-1] - ends[0]]
    return found
