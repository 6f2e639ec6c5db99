"""Is what a model file holds a model? Types, shapes, numbers and places, checked once, when it is loaded.

A checksum says that a file is as it was written, not that a model was written. After these checks the kernels cannot run out of
a table, scores are finite, and what the card says can be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linnet.array_types import Array, Bytes, Ints

Arrays = Mapping[str, Array]

LARGEST = 1e30  # of a weight: sums and products of such stay finite
_KINDS = {  # name: type and number of axes
    "records": (np.uint32, 2), "slots": (np.uint64, 1), "rows": (np.float32, 2), "b": (np.float64, 1), "names": (np.uint8, 1),
    "steps": (np.float32, 1), "fingerprints": (np.uint8, 2), "name_sizes": (np.uint32, 1),
    "name_features": (np.uint32, 1), "name_offsets": (np.int64, 1), "name_slots": (np.int64, 1),
    "computed_weights": (np.float32, 2), "training_texts": (np.uint32, 1),
    "decision.thresholds": (np.float64, 1), "decision.costs": (np.float64, 2), "decision.held_out": (np.float64, 2),
    "calibration": (np.float64, 2),
}  # fmt: skip
_STEP = 1 << 20  # numbers that are looked at together


def check_arrays(arrays: Arrays) -> None:
    """Refuse arrays of another type or shape than the model reads."""
    for name, (kind, axes) in _KINDS.items():
        array = arrays.get(name)
        if array is not None and (array.dtype != kind or array.ndim != axes):
            raise ValueError(f"its array {name} is of type {array.dtype} with {array.ndim} axes")


def check_card(about: Any, card: Mapping[str, Any]) -> None:
    """Refuse a card whose entries are not what they should be; entries may be missing, but for the model's own."""
    _expect(about, dict, "model")
    classes = _expect(about["classes"], list, "classes")
    if len(classes) < 2 or not all(isinstance(c, str | int | float) for c in classes):
        raise ValueError("its classes are not two or more labels")
    if len({(isinstance(c, bool), c) for c in classes}) < len(classes):
        raise ValueError("two of its classes are the same")
    for name in ("blocks", "computed"):
        for block in _expect(about.get(name, []), list, name):
            _expect(block, dict, f"{name}, block")
            weight = block.get("weight", 1.0)
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= LARGEST:
                raise ValueError(f"the weight of a block is {weight!r:.40}")
    for name in ("tf",):
        _expect(about[name], str, name)
    _expect(about.get("decision", {}), dict, "decision")
    for name in ("settings", "data", "choice"):
        _expect(card.get(name, {}), dict, name)
    _expect(card.get("settings", {}).get("model", ""), str, "settings, model")


def check_numbers(arrays: Mapping[str, Array]) -> None:
    """Refuse weights that are not finite, or so large that sums of them would not be."""
    for name, array in arrays.items():
        rows = max(1, _STEP // max(1, array.shape[1] if array.ndim > 1 else 1))
        for at in range(0, len(array), rows):
            part = array[at : at + rows]
            if part.size and not (part.min() >= -LARGEST and part.max() <= LARGEST):  # false for nan, too
                raise ValueError(f"its array {name} holds numbers that are not finite, or too large")


def check_names(names: Bytes, offsets: Ints, slots: Ints, n_slots: int) -> None:
    """Refuse names that do not lie in their bytes, or belong to slots that are not there."""
    fits = (
        len(offsets) == len(slots) + 1
        and int(offsets[0]) == 0
        and int(offsets[-1]) == len(names)
        and bool((np.diff(offsets) >= 0).all())
        and (not len(slots) or (int(slots.min()) >= 0 and int(slots.max()) < n_slots))
    )
    if not fits:
        raise ValueError("its names do not fit together")


def _expect(value: Any, kind: type, where: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"its card has {value!r:.40} as {where}")
    return value
