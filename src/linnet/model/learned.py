"""What a counting model goes on learning from: its counts, kept in the model file in as few bytes as they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Learned"]


@dataclass(frozen=True)
class Learned:
    """Weighted rows of each class, (n_classes,), and what each feature adds up to in each class, (n_features, n_classes).

    Features stand in the order of their slots. Whole numbers are kept in the fewest bytes that hold the largest.

    >>> one = Learned(np.array([2.0, 1.0]), np.array([[1.0, 0.0], [300.0, 1.0]]))
    >>> {name: array.dtype.name for name, array in one.tensors().items()}
    {'learned.rows': 'float64', 'learned.features': 'uint16'}
    """

    rows: npt.NDArray[np.float64]
    features: npt.NDArray[Any]

    @property
    def nbytes(self) -> int:
        """What it takes in the file."""
        return sum(array.nbytes for array in self.tensors().values())

    def by_slot(self, slots: npt.NDArray[np.int64] | None) -> Learned:
        """Return the features in the order of their slots; None: they are in it."""
        return self if slots is None else Learned(self.rows, self.features[np.argsort(slots, kind="stable")])

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return what the model file holds."""
        features, most = self.features, self.features.max(initial=0)
        if features.dtype.kind == "f" and most < 1 << 32 and (features == np.rint(features)).all():
            kind = next(kind for kind in (np.uint8, np.uint16, np.uint32) if most <= np.iinfo(kind).max)
            features = features.astype(kind)
        return {"learned.rows": self.rows, "learned.features": features}

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]], n_features: int, n_classes: int) -> Learned | None:
        """Read it back; None where the file has none."""
        if "learned.features" not in tensors:
            return None
        rows, features = tensors["learned.rows"], tensors["learned.features"]
        if rows.shape != (n_classes,) or rows.dtype != np.float64 or features.shape != (n_features, n_classes):
            raise ValueError("its counts do not fit its features")
        if not np.isfinite(rows).all() or not np.isfinite(features).all() or (features < 0).any():
            raise ValueError("its counts are not finite")
        return cls(rows, features)
