"""The rounded weights of a large model: few bytes in memory and in the file, and the same numbers in both.

Weights are whole numbers of 16 bits times the step of their class, and fingerprints are cut to the fewest bits that tell the features
apart. A step is a power of two, at least `STEPS` times smaller than the root mean square of the weights of its class. Of several classes
each feature's mean is taken off first: naive Bayes has large weights that are nearly the same for all. A feature that a model does not know
is taken for one of n that it knows with probability n / 2^bits, at most one in a million.

In the file features stand in the order of their fingerprints, which are written as differences. In memory each slot has the lowest 32
bits of its fingerprint, which with the place of the slot say the rest, and the number of its norm weight: there are few different ones.
Then come the codes of its weights or, with many outputs, the number of their row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from linnet._kernels.text import WeightTable, encode_rows, measure_rows, read_keys, record_width, spread
from linnet.array_types import Array, Bytes, Floats32, Hashes, Ints
from linnet.features.counting import Slots
from linnet.model.table import LARGEST, ONE_RECORD, Arrays, FloatTable, check_numbers, differences, ignored_bits

STEPS = 64  # a root mean square of weights
LARGEST_CODE = 32_767
FEW_WEIGHTS = 1 << 16  # up to here weights stay as they are
SPARE_BITS = 20  # of a fingerprint beyond those that number the features
NORMS = 1 << 16  # different norm weights
MOST_REST = 26  # bits of a fingerprint below its home
SPARED = (0, 8, 13)  # bits of norm weights, until they are few enough


@dataclass(frozen=True)
class CodedTable:
    """Keys and codes by slot, as `linnet._kernels.text.encode_rows` writes them."""

    records: Array  # (n_slots, width) of 16 bits, (0, width) in hash mode
    codes: Array  # (n_features + 1, 1 + n_outputs), by column in hash mode: the number of the norm weight, then a code an output
    norms: Floats32  # (NORMS,)
    steps: Floats32  # (1 + n_outputs,); that of the norms is 0 where they are not rounded
    shift: int
    bits: int

    @classmethod
    def of(cls, keys: Hashes, norm: Floats32, W: Array, steps: Floats32, shift: int, bits: int) -> CodedTable | None:
        """Encode the rows of ascending fingerprints, those that are 0 left out; none in hash mode. None: they must stay floats."""
        (n, K), hashed = W.shape, len(keys) < len(W)
        home, size = 64 - shift, 0
        if not hashed:
            n = int(np.count_nonzero(keys))
            home, size = Slots.size_for(n)
        records = np.zeros((size, record_width(K)), np.uint16)
        codes = np.zeros((n if hashed else 0 if K <= ONE_RECORD else n + 1, 1 + K), np.int16)
        used, norms = np.arange(n), np.zeros(NORMS, np.float32)
        if not encode_rows(keys, norm, W, steps, 64 - home, bits, records, codes, norms, used):
            return None
        made = cls(records, codes, norms, steps, 64 - home, bits)
        vars(made)["used"] = used
        return made

    @property
    def n_outputs(self) -> int:
        """How many weights a row has."""
        return len(self.steps) - 1

    @property
    def n_slots(self) -> int:
        """How many slots there are; in hash mode, columns."""
        return len(self.codes) if self.hashed else len(self.records)

    @property
    def hashed(self) -> bool:
        """Whether there are no slots: a feature is the top bits of its fingerprint."""
        return not len(self.records)

    @property
    def _words(self) -> Array:
        """The key of each slot and, with many outputs, the number of its row, 0 where there is no feature."""
        words: Array = self.records.view(np.uint32)
        return words

    @cached_property
    def used(self) -> Ints:
        """The slots with a feature, in the order of fingerprints; in hash mode all rows."""
        if self.hashed:
            return np.arange(len(self.codes))
        return np.flatnonzero(self._words[:, 1] if len(self.codes) else self.records[:, 2])

    @cached_property
    def fingerprints(self) -> Hashes:
        """The fingerprints of all features, in order; none in hash mode."""
        if self.hashed:
            return np.zeros(0, np.uint64)
        ends = (self.used + 1).astype(np.uint64) << np.uint64(self.bits - 64 + self.shift)
        above = ends - np.uint64(1)  # the largest that could be there
        below = above.astype(np.uint32) - self._words[self.used, 0]
        found: Hashes = (above - below) << np.uint64(64 - self.bits) | np.uint64(ignored_bits(self.bits))
        return found

    @cached_property
    def slots(self) -> Hashes:
        """Fingerprints by slot, empty in hash mode; 0 where there is none."""
        out = np.zeros(len(self.records), np.uint64)
        if not self.hashed:
            out[self.used] = self.fingerprints
        return out

    @cached_property
    def rows(self) -> Floats32:
        """The rows of all slots, as floats."""
        return self.at(np.arange(self.n_slots))

    def at(self, slots: Ints) -> Floats32:
        """Return the rows of some slots."""
        codes = self._codes(slots)
        rows: Floats32 = codes * self.steps
        rows[:, 0] = self.norms[codes[:, 0].view(np.uint16)]
        return rows

    def without_zeros(self) -> Table:
        """Return the table without the features whose weights are all rounded to zero."""
        codes = self._codes(self.used)
        left = codes[:, 1:].any(axis=1)
        rows = codes[left]
        norm = self.norms[rows[:, 0].view(np.uint16)]
        return CodedTable.of(self.fingerprints[left], norm, rows[:, 1:], self.steps, self.shift, self.bits) or self

    def _codes(self, slots: Ints) -> Array:
        """Return the number of the norm weight and the codes of some slots."""
        if len(self.codes):
            return np.asarray(self.codes[slots if self.hashed else self._words[slots, 1]])
        codes: Array = self.records[slots, 2 : 3 + self.n_outputs].view(np.int16)
        return codes

    def find(self, fingerprints: Hashes) -> Ints:
        """Return the slot of each fingerprint, -1 where it is not known; in hash mode its column."""
        out = np.empty(len(fingerprints), np.int64)
        self.read_by(WeightTable(np.zeros(self.n_outputs), 0, 0, self.shift)).find(fingerprints, out)
        return out

    def read_by(self, reader: WeightTable) -> WeightTable:
        """Give the kernels the table as it is in memory."""
        return reader.of_codes(self.records, self.codes, self.norms, self.steps, self.bits)

    def mapped_tensors(self) -> dict[str, Array]:
        """Return the table as it is in memory, for a file that is mapped."""
        return {"coded": self.records, "codes": self.codes, "norms": self.norms, "steps": self.steps}

    def tensors(self) -> dict[str, Array]:
        """Return the table in few bytes, for a file with packed arrays: rows in the order of their fingerprints, and those."""
        codes = self._codes(self.used)
        norm: Array = self.norms[codes[:, 0].view(np.uint16)]
        if self.steps[0]:
            norm = _narrow(np.rint(norm / self.steps[0]))
        return {"norm": norm, **_sparse(codes[:, 1:]), "steps": self.steps, **differences(self)}

    def check(self) -> None:
        K, n, rest = self.n_outputs, len(self.records), self.bits - 64 + self.shift
        fits = (
            self.norms.shape == (NORMS,)
            and self.codes.shape[1] == 1 + K
            and self.records.shape[1] == record_width(K)
            and (self.hashed or (0 <= rest <= MOST_REST and (len(self.codes) > 0) == (K > ONE_RECORD)))
        )
        if fits and not self.hashed:  # the last slot is empty, so that every search ends
            fits = not self.records[-1, 2:].any() and int(self._words[-1, 0]) == ((n << rest) - 1) % (1 << 32)
            fits = fits and (K <= ONE_RECORD or int(self._words[:, 1].max()) < len(self.codes))
        if not fits:
            raise ValueError("its codes do not fit together")
        check_numbers({"norms": self.norms})


Table: TypeAlias = FloatTable | CodedTable


def rounded(
    table: Table, few: int = FEW_WEIGHTS, steps: float = STEPS, norm_steps: float = 0.0, spare: int = SPARE_BITS
) -> Table:
    """Return a table with rounded weights and short fingerprints; so few weights stay as they are.

    steps is how many there are to the root mean square of a column at least; with norm_steps, the norms are rounded too.
    """
    rows, used, wanted = table.rows, table.used, np.full(1 + table.n_outputs, float(steps))
    n, wanted[0] = len(used), norm_steps
    if n * table.n_outputs <= few:
        return table
    squares, most = np.zeros(len(wanted)), np.zeros(len(wanted))
    measure_rows(rows, squares, most)
    fine = np.frexp(np.sqrt(squares / n) / np.maximum(wanted, 1e-9))[1] - 1  # rounded down to a power of two
    least = np.frexp(most / LARGEST_CODE)[1]  # rounded up
    step = np.ldexp(1.0, np.maximum(np.maximum(fine, least), -100)).astype(np.float32)
    if not norm_steps:
        step[0] = 0.0
    bits = table.bits
    if not table.hashed:
        keys, bits = table.fingerprints, min(bits, n.bit_length() + spare)
        while bits < table.bits and (np.diff(keys >> np.uint64(64 - bits)) == 0).any():
            bits += 1
    for spared in SPARED:
        norm = _shorter(rows[:, 0], spared)
        if made := CodedTable.of(table.slots, norm, rows[:, 1:], step, table.shift, bits):
            return made
    return table


def read_table(tensors: Arrays, n_outputs: int, shift: int, bits: int) -> Table:
    """Read a table of a file, of any kind."""
    if "records" in tensors:
        return FloatTable.of_records(tensors["records"], n_outputs, shift, bits)
    if "slots" in tensors:
        return FloatTable(tensors["slots"], tensors["rows"], shift, bits)
    steps = tensors.get("steps", np.zeros(1 + n_outputs, np.float32))
    if not ((steps >= 0.0) & (steps <= LARGEST / LARGEST_CODE)).all():
        raise ValueError("the steps of its weights are below zero, or too large")
    if "coded" in tensors:
        return CodedTable(tensors["coded"], tensors["codes"], tensors["norms"], steps, shift, bits)
    norm, hashed = tensors["norm"], "fingerprints" not in tensors
    weights = _dense(tensors, (len(norm), n_outputs))
    if weights.shape != (len(norm), n_outputs) or steps.shape != (1 + n_outputs,):
        raise ValueError("its weights do not fit together")
    norm = _decoded(norm, steps[0])
    keys = np.zeros(0, np.uint64) if hashed else _keys(tensors["fingerprints"], len(norm), bits)
    coded = weights.dtype != np.float32 and bool(steps[1:].all())
    if coded and (made := CodedTable.of(keys, norm, weights, steps, shift, bits)):
        return made
    weights = _decoded(weights, steps[1:])
    if hashed:
        return FloatTable(keys, np.concatenate([norm[:, None], weights], axis=1), shift)
    floats = FloatTable.of(keys, norm, np.ascontiguousarray(weights))
    return FloatTable(floats.slots, floats.rows, floats.shift, bits, floats.records)


def _shorter(norm: Floats32, bits: int) -> Floats32:
    """Round numbers to so many bits less."""
    if not bits:
        return norm
    whole = np.ascontiguousarray(norm).view(np.uint32) + np.uint32(1 << (bits - 1))
    return (whole >> np.uint32(bits) << np.uint32(bits)).view(np.float32)


def _sparse(codes: Array) -> dict[str, Array]:
    """Return codes as the file has them: where most are 0 the others, and a bit for each that says which it is."""
    others = codes != 0
    if 2 * np.count_nonzero(others) > codes.size:
        return {"weights": _narrow(codes)}
    return {"weights": _narrow(codes[others]), "nonzero": np.packbits(others)}


def _dense(tensors: Arrays, shape: tuple[int, int]) -> Array:
    """Return the weights of a file, features by outputs."""
    weights = tensors["weights"]
    if "nonzero" not in tensors:
        return weights
    bits = tensors["nonzero"]
    if len(bits) == -(-shape[0] * shape[1] // 8) and weights.dtype != np.float32:
        out = np.zeros(shape, weights.dtype)
        if spread(bits, weights, out.ravel()):
            return out
    raise ValueError("its weights are not as many as it says")


def _narrow(codes: Array) -> Array:
    """Return whole numbers in 8 or 16 bits."""
    return codes.astype(np.int8 if np.abs(codes).max(initial=0) <= 127 else np.int16)


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
