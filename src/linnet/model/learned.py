"""What a counting model goes on learning from: its counts, kept in the model file in as few bytes as they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Learned"]


@dataclass(frozen=True)
class Learned:
    """Weighted rows of each class, (n_classes,), and what each feature adds up to in each class, (n_features, n_classes).

    Features stand in the order of their slots. ``units`` are the weights of the blocks: a total is a whole number of one of them,
    and is kept as that number, in the fewest bytes that hold the largest.

    >>> one = Learned(np.array([2.0, 1.0]), np.array([[1.0, 0.0], [300.0, 1.0]]))
    >>> {name: array.dtype.name for name, array in one.tensors().items()}
    {'learned.rows': 'float64', 'learned.features': 'uint16'}
    """

    rows: npt.NDArray[np.float64]
    features: npt.NDArray[Any]
    units: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, rows: npt.NDArray[np.float64], features: npt.NDArray[Any], weights: Iterable[float]) -> Learned:
        """Return the counts of a model whose blocks have these weights."""
        return cls(rows, features, tuple(dict.fromkeys(float(np.float32(weight)) for weight in (1.0, *weights))))

    @property
    def nbytes(self) -> int:
        """What it takes in the file."""
        return sum(array.nbytes for array in self.tensors().values())

    def by_slot(self, slots: npt.NDArray[np.int64] | None) -> Learned:
        """Return the features in the order of their slots; None: they are in it."""
        return self if slots is None else replace(self, features=self.features[np.argsort(slots, kind="stable")])

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return what the model file holds."""
        whole, unit = np.full(self.features.shape, -1.0), np.zeros(len(self.features), np.uint8)
        for k, size in enumerate(self.units):
            times = np.rint(self.features / size)
            mine = (times * size == self.features).all(axis=1) & (whole < 0.0).all(axis=1)
            whole[mine], unit[mine] = times[mine], k
        most = whole.max(initial=0.0)
        if whole.min(initial=0.0) < 0.0 or most >= 1 << 32:
            return {"learned.rows": self.rows, "learned.features": self.features}
        kind = next(kind for kind in (np.uint8, np.uint16, np.uint32) if most <= np.iinfo(kind).max)
        units = {"learned.units": np.array(self.units), "learned.unit": unit} if len(self.units) > 1 else {}
        return {"learned.rows": self.rows, "learned.features": whole.astype(kind), **units}

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
        if "learned.unit" in tensors:
            units, unit = tensors["learned.units"], tensors["learned.unit"]
            if unit.shape != (n_features,) or unit.max(initial=0) >= len(units) or not (units > 0).all():
                raise ValueError("its counts do not fit its features")
            return cls(rows, features * units[unit][:, None], tuple(units.tolist()))
        return cls(rows, np.asarray(features, dtype=np.float64))
