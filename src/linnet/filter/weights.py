"""How much a document weighs in a share: 1, its characters, or its words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.data.arrays import data_bytes, offsets, to_numbers

__all__ = ["weigh"]


def weigh(texts: Any, unit: str) -> npt.NDArray[np.int64]:
    """Return the weights of the texts of an Arrow column; words are what stands between ASCII white space.

    >>> import pyarrow as pa
    >>> texts = pa.chunked_array([["a small world", "", " naïve"]])
    >>> [weigh(texts, unit).tolist() for unit in ("documents", "characters", "tokens")]
    [[1, 1, 1], [13, 0, 6], [3, 0, 1]]
    """
    if unit == "documents":
        return np.ones(len(texts), np.int64)
    count = _characters if unit == "characters" else _words
    return np.concatenate([np.zeros(0, np.int64), *(count(chunk) for chunk in texts.chunks)])


def _characters(chunk: Any) -> npt.NDArray[np.int64]:
    import pyarrow.compute as pc

    return to_numbers(pc.utf8_length(chunk)).astype(np.int64)


def _words(chunk: Any) -> npt.NDArray[np.int64]:
    data, ends = data_bytes(chunk), offsets(chunk).astype(np.int64)
    ends -= ends[0]
    space = (data - np.uint8(9) < 5) | (data == 32)
    starts = ~space
    starts[1:] &= space[:-1]
    first = ends[:-1][np.diff(ends) > 0]
    starts[first] = ~space[first]  # a document begins: the last word of the one before is not this one
    return np.diff(np.searchsorted(np.flatnonzero(starts), ends))
