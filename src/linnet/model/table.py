"""The table of weights, laid out for lookup, as floats; ``linnet.model.coded`` has the rounded weights of a large model.

Is what a model file holds a model? Types, shapes, numbers and places, checked once, when it is loaded.

A checksum says that a file is as it was written, not that a model was written. After these checks the kernels cannot run out of
a table, scores are finite, and what the card says can be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linnet._kernels.text import WeightTable, fill_rows, lay_out
from linnet.array_types import Array, Floats32, Hashes, Hashes32, Ints
from linnet.features.counting import Slots

ONE_RECORD = 6  # outputs: up to here a fingerprint and its row share one record
LARGEST = 1e30  # of a weight: sums and products of such stay finite
_KINDS = {  # name: type and number of axes
    "records": (np.uint32, 2), "slots": (np.uint64, 1), "rows": (np.float32, 2), "b": (np.float64, 1), "names": (np.uint8, 1),
    "steps": (np.float32, 1), "coded": (np.uint16, 2), "codes": (np.int16, 2), "norms": (np.float32, 1), "nonzero": (np.uint8, 1),
    "fingerprints": (np.uint8, 2), "name_sizes": (np.uint32, 1), "name_features": (np.uint32, 1),
    "name_offsets": (np.int64, 1), "name_slots": (np.int64, 1),
    "computed_weights": (np.float32, 2), "training_texts": (np.uint32, 1),
    "decision.thresholds": (np.float64, 1), "decision.costs": (np.float64, 2), "decision.held_out": (np.float64, 2),
    "calibration": (np.float64, 2),
}  # fmt: skip

Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class FloatTable:
    """Slots and rows of floats. With few outputs both are columns of one array of records, a cache line or less each."""

    slots: Hashes
    """Fingerprints by slot, (n_slots,), empty in hash mode; 0 where there is none."""
    rows: Floats32
    """Their rows, (n_slots, 1 + n_outputs): norm weight, then a weight an output."""
    shift: int
    """The home slot of a fingerprint is what is left of it when it is shifted by so many bits."""
    bits: int = 64
    """How many bits of a fingerprint count; the others are ones in the slots."""
    records: Hashes32 | None = None  # (n_slots, words) where slots and rows are one

    @classmethod
    def of_records(cls, records: Hashes32, n_outputs: int, shift: int, bits: int = 64) -> FloatTable:
        """View records as slots and rows."""
        slots = np.ndarray((len(records),), np.uint64, records, 0, (records.strides[0],))
        rows = np.ndarray((len(records), 1 + n_outputs), np.float32, records, 8, (records.strides[0], 4))
        return cls(slots, rows, shift, bits, records=records)

    @classmethod
    def of(cls, fingerprints: Hashes, norm: Floats32, W: Floats32) -> FloatTable:
        """Put the weights of features where the lookup finds them."""
        bits, size = Slots.size_for(len(fingerprints))
        K = W.shape[1]
        if K > ONE_RECORD:
            table = cls(np.zeros(size, np.uint64), np.zeros((size, 1 + K), np.float32), 64 - bits)
        else:
            table = cls.of_records(np.zeros((size, _words(K)), np.uint32), K, 64 - bits)
        if (fingerprints[1:] > fingerprints[:-1]).all():  # as a file has them
            used = np.empty(len(fingerprints), np.int64)
            if lay_out(fingerprints, table.slots, table.shift, norm, W, table.rows, used):
                vars(table)["used"] = used
                return table
        Slots.of(fingerprints, table.slots)
        fill_rows(fingerprints, table.slots, table.shift, norm, W, table.rows)
        return table

    @cached_property
    def used(self) -> Ints:
        """The slots with a feature, in the order of fingerprints; in hash mode all rows."""
        return np.arange(len(self.rows)) if self.hashed else np.flatnonzero(self.slots != 0)

    @property
    def fingerprints(self) -> Hashes:
        """The fingerprints of all features, in order; none in hash mode."""
        return np.asarray(self.slots if self.hashed else self.slots[self.used])

    @property
    def n_outputs(self) -> int:
        """How many weights a row has."""
        return int(self.rows.shape[1]) - 1

    @property
    def n_slots(self) -> int:
        """How many slots there are; in hash mode, columns."""
        return len(self.rows)

    @property
    def hashed(self) -> bool:
        """Whether there are no slots: a feature is the top bits of its fingerprint."""
        return not len(self.slots)

    def at(self, slots: Ints) -> Floats32:
        """Return the rows of some slots."""
        return np.asarray(self.rows[slots])

    def read_by(self, reader: WeightTable) -> WeightTable:
        """Give the kernels the table as it is in memory."""
        return reader.of_floats(self.slots, self.rows, ignored_bits(self.bits))

    def find(self, fingerprints: Hashes) -> Ints:
        """Return the slot of each fingerprint, -1 where it is not known; in hash mode its column."""
        return Slots(self.slots, self.shift).find(fingerprints | np.uint64(ignored_bits(self.bits)))

    def mapped_tensors(self) -> dict[str, Array]:
        """Return the table as it is in memory, for a file that is mapped."""
        return {"records": self.records} if self.records is not None else {"slots": self.slots, "rows": self.rows}

    def tensors(self) -> dict[str, Array]:
        """Return the table in few bytes, for a file with packed arrays: rows in the order of their fingerprints, and those."""
        rows = self.at(self.used)
        return {"norm": rows[:, 0], "weights": rows[:, 1:], **differences(self)}

    def check(self) -> None:
        """Refuse what the kernels could run out of: a row that is not there, or a search without an end."""
        fits = self.rows.ndim == 2 and (self.records is None or self.records.shape[1] == _words(self.n_outputs))
        if not fits or not (self.hashed or (len(self.slots) == len(self.rows) and int(self.slots[-1]) == 0)):
            raise ValueError("its slots and rows do not fit together")


def ignored_bits(bits: int) -> int:
    """Return the bits of a fingerprint that do not count, where so many do."""
    return (1 << (64 - bits)) - 1


def differences(table: Any) -> dict[str, Array]:
    """Return the fingerprints of a table as the file has them: differences byte by byte, (width, n_features), the lowest first."""
    if table.hashed:
        return {}
    gaps = np.diff(table.fingerprints >> np.uint64(64 - table.bits), prepend=np.uint64(0))
    width = -(-int(gaps.max(initial=np.uint64(0))).bit_length() // 8)
    planes = gaps.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T
    return {"fingerprints": np.ascontiguousarray(planes)}


def _words(n_outputs: int) -> int:
    """Return how many numbers of 32 bits a record has: a fingerprint and a row, in whole words of 64 bits."""
    return (3 + n_outputs + 1) // 2 * 2


# ---- is it a model?


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
    _expect(about["tf"], str, "tf")
    _expect(about.get("decision", {}), dict, "decision")
    for name in ("settings", "data", "choice"):
        _expect(card.get(name, {}), dict, name)
    _expect(card.get("settings", {}).get("model", ""), str, "settings, model")


def check_numbers(arrays: Mapping[str, Array]) -> None:
    """Refuse weights that are not finite, or so large that sums of them would not be."""
    for name, array in arrays.items():
        if array.size and not (array.min() >= -LARGEST and array.max() <= LARGEST):  # false for nan, too
            raise ValueError(f"its array {name} holds numbers that are not finite, or too large")


def _expect(value: Any, kind: type, where: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"its card has {value!r:.40} as {where}")
    return value
