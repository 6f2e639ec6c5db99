"""Names for the kinds of arrays that functions take and return."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float64]
Floats32: TypeAlias = npt.NDArray[np.float32]
Hashes: TypeAlias = npt.NDArray[np.uint64]
Hashes32: TypeAlias = npt.NDArray[np.uint32]
Ints: TypeAlias = npt.NDArray[np.int64]
Ints32: TypeAlias = npt.NDArray[np.int32]
Labels: TypeAlias = npt.NDArray[np.int32]
"""Class numbers."""
Signs: TypeAlias = npt.NDArray[np.int8]
"""+1 or -1."""
