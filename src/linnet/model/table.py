"""The table of weights: in memory laid out for lookup, in the file in few bytes.

In the file features stand in the order of their fingerprints, which are written as differences. The weights of a large model are whole
numbers of 16 bits times the step of their class, and its fingerprints are cut to the fewest bits that tell its features apart. A
step is a power of two, at least `STEPS` times smaller than the root mean square of the weights of its class, so a weight in memory is
exactly what the file says. A feature that a model does not know is taken for one of n that it knows with probability n / 2^bits, at
most one in a million.

Is what a model file holds a model? Types, shapes, numbers and places, checked once, when it is loaded.

A checksum says that a file is as it was written, not that a model was written. After these checks the kernels cannot run out of
a table, scores are finite, and what the card says can be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from linnet._kernels.text import fill_rows, lay_out, measure_rows, read_keys, round_rows
from linnet.array_types import Array, Bytes, Floats32, Hashes, Hashes32, Ints
from linnet.features.counting import Slots

ONE_RECORD = 6  # outputs: up to here a fingerprint and its row share one record
STEPS = 64  # a root mean square of weights
LARGEST_CODE = 32_767
FEW_WEIGHTS = 1 << 16  # up to here weights stay as they are
SPARE_BITS = 20  # of a fingerprint beyond those that number the features
LARGEST = 1e30  # of a weight: sums and products of such stay finite
_KINDS = {  # name: type and number of axes
    "records": (np.uint32, 2), "slots": (np.uint64, 1), "rows": (np.float32, 2), "b": (np.float64, 1), "names": (np.uint8, 1),
    "steps": (np.float32, 1), "fingerprints": (np.uint8, 2), "name_sizes": (np.uint32, 1),
    "name_features": (np.uint32, 1), "name_offsets": (np.int64, 1), "name_slots": (np.int64, 1),
    "computed_weights": (np.float32, 2), "training_texts": (np.uint32, 1),
    "decision.thresholds": (np.float64, 1), "decision.costs": (np.float64, 2), "decision.held_out": (np.float64, 2),
    "calibration": (np.float64, 2),
}  # fmt: skip

Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Table:
    """Slots and their rows. With few outputs both are columns of one array of records, a cache line or less each."""

    slots: Hashes  # (n_slots,), empty in hash mode
    rows: Floats32  # (n_slots, 1 + n_outputs): norm weight, then a weight an output
    shift: int
    """The home slot of a fingerprint is what is left of it when it is shifted by so many bits."""
    bits: int = 64
    """How many bits of a fingerprint count; the others are ones in the slots."""
    steps: Floats32 | None = None
    """(1 + n_outputs,): the columns of rows are multiples of these, but for the norms where it is 0; None: any floats."""
    records: Hashes32 | None = None  # (n_slots, words) where slots and rows are one

    @classmethod
    def of_records(cls, records: Hashes32, n_outputs: int, shift: int) -> Table:
        """View records as slots and rows."""
        slots = np.ndarray((len(records),), np.uint64, records, 0, (records.strides[0],))
        rows = np.ndarray((len(records), 1 + n_outputs), np.float32, records, 8, (records.strides[0], 4))
        return cls(slots, rows, shift, records=records)

    @classmethod
    def of(cls, fingerprints: Hashes, norm: Floats32, W: Floats32) -> Table:
        """Put the weights of features where the lookup finds them."""
        bits, size = Slots.size_for(len(fingerprints))
        K = W.shape[1]
        if K > ONE_RECORD:
            table = cls(np.zeros(size, np.uint64), np.zeros((size, 1 + K), np.float32), 64 - bits)
        else:
            table = cls.of_records(np.zeros((size, (3 + K + 1) // 2 * 2), np.uint32), K, 64 - bits)
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
        return np.flatnonzero(self.slots != 0) if len(self.slots) else np.arange(len(self.rows))

    @property
    def ignored(self) -> int:
        """The bits of a fingerprint that do not count."""
        return (1 << (64 - self.bits)) - 1

    def find(self, fingerprints: Hashes) -> Ints:
        """Return the slot of each fingerprint, -1 where it is not known; in hash mode its column."""
        return Slots(self.slots, self.shift).find(fingerprints | np.uint64(self.ignored))

    def rounded(
        self, few: int = FEW_WEIGHTS, steps: float = STEPS, norm_steps: float = 0.0, spare: int = SPARE_BITS
    ) -> Table:
        """Round the weights and cut the fingerprints, in place; so few weights stay as they are.

        steps is how many there are to the root mean square of a column at least; with norm_steps, the norms are rounded too.
        """
        used, wanted = self.used, np.full(self.rows.shape[1], float(steps))
        n, wanted[0] = len(used), norm_steps
        if n * (len(wanted) - 1) <= few:
            return self
        squares, most = np.zeros(len(wanted)), np.zeros(len(wanted))
        measure_rows(self.rows, squares, most)
        fine = np.frexp(np.sqrt(squares / n) / np.maximum(wanted, 1e-9))[1] - 1  # rounded down to a power of two
        least = np.frexp(most / LARGEST_CODE)[1]  # rounded up
        step = np.ldexp(1.0, np.maximum(np.maximum(fine, least), -100)).astype(np.float32)
        if not norm_steps:
            step[0] = 0.0
        round_rows(self.rows, step)
        if not len(self.slots):
            return self._with(steps=step)
        keys, bits = self.slots[used], min(self.bits, -(-(n.bit_length() + spare) // 4) * 4)
        while bits < self.bits and (np.diff(keys >> np.uint64(64 - bits)) == 0).any():
            bits += 4
        made = self._with(bits=bits, steps=step)
        made.slots[used] = keys | np.uint64(made.ignored)
        return made

    def mapped_tensors(self) -> dict[str, Array]:
        """Return the table as it is in memory, for a file that is mapped."""
        return {"records": self.records} if self.records is not None else {"slots": self.slots, "rows": self.rows}

    def tensors(self) -> dict[str, Array]:
        """Return the table in few bytes, for a file with packed arrays."""
        used = self.used
        out: dict[str, Array] = {"norm": self.rows[used, 0], "weights": self.rows[used, 1:]}
        if self.steps is not None:
            out = {"norm": _codes(out["norm"], self.steps[0]), "weights": _codes(out["weights"], self.steps[1:])}
            out["steps"] = self.steps
        if len(self.slots):
            keys = self.slots[used] >> np.uint64(64 - self.bits)
            gaps = np.diff(keys, prepend=np.uint64(0))
            width = -(-int(gaps.max(initial=np.uint64(0))).bit_length() // 8)
            planes = gaps.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T
            out["fingerprints"] = np.ascontiguousarray(planes)  # (width, n_features), the lowest byte first
        return out

    @classmethod
    def of_tensors(cls, tensors: Arrays, n_outputs: int, shift: int, bits: int) -> Table:
        """Read a table of a file, of either kind."""
        if "records" in tensors:
            return replace(cls.of_records(tensors["records"], n_outputs, shift), bits=bits)
        if "slots" in tensors:
            return cls(tensors["slots"], tensors["rows"], shift, bits)
        norm, weights = tensors["norm"], tensors["weights"]
        steps = tensors.get("steps", np.zeros(1 + n_outputs, np.float32))
        if weights.shape != (len(norm), n_outputs) or steps.shape != (1 + n_outputs,):
            raise ValueError("its weights do not fit together")
        if not ((steps >= 0.0) & (steps <= LARGEST / LARGEST_CODE)).all():
            raise ValueError("the steps of its weights are below zero, or too large")
        norm, weights = _decoded(norm, steps[0]), _decoded(weights, steps[1:])
        if "fingerprints" in tensors:
            made = cls.of(_keys(tensors["fingerprints"], len(norm), bits), norm, np.ascontiguousarray(weights))
        else:
            made = cls(np.zeros(0, np.uint64), np.concatenate([norm[:, None], weights], axis=1), shift)
        return made._with(bits=bits, steps=tensors.get("steps"))

    def _with(self, **changes: Any) -> Table:
        """Return a table with the same slots."""
        made = replace(self, **changes)
        if "used" in vars(self):
            vars(made)["used"] = self.used
        return made


def _codes(values: Floats32, steps: Any) -> Array:
    """Return values as multiples of their steps, in 8 or 16 bits; without steps as they are."""
    if not np.all(steps):
        return values
    codes: Array = np.rint(values / steps)
    return codes.astype(np.int8 if np.abs(codes).max(initial=0.0) <= 127 else np.int16)


def _decoded(codes: Array, steps: Any) -> Floats32:
    if codes.dtype == np.float32:
        check_numbers({"weights": codes})
        return codes
    if codes.dtype.kind != "i" or codes.dtype.itemsize > 2 or not np.all(steps):
        raise ValueError(f"its weights are of type {codes.dtype}, or have no steps")
    return codes * np.float32(steps)


def _keys(planes: Bytes, n: int, bits: int) -> Hashes:
    """Read fingerprints back from the bytes of their differences."""
    if len(planes) > 8 or planes.shape[1] != n or not 8 <= bits <= 64:
        raise ValueError("its fingerprints do not fit its weights")
    keys = np.empty(n, np.uint64)
    if not read_keys(planes, 64 - bits, keys):
        raise ValueError("its fingerprints are not in order")
    return keys


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
