"""Which texts are in scripts that put no blanks between words: Chinese, Japanese, Thai and others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linnet._kernels.text import scripts

BEGINNING = 400  # bytes


def scripts_of(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], rows: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.uint8]:
    """Return 2 for a text whose script needs no blanks, 1 for one whose script does, 0 for an empty one.

    Text d is data[offsets[d]:offsets[d + 1]]; its first 400 bytes are looked at.

    >>> scripts_of(np.frombuffer("好看good".encode(), np.uint8), np.array([0, 6, 10, 10])).tolist()
    [2, 1, 0]
    """
    rows = np.arange(len(offsets) - 1) if rows is None else rows
    out = np.empty(len(rows), np.uint8)
    scripts(data, offsets, rows, BEGINNING, out)
    return out
