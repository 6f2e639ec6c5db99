"""A model in a file of at most so many bytes: coarser weights first, then fewer features.

The influence of a feature is |W_j| / n_j, the length of its weights before they were multiplied by its weight in the row norm. Features
with the least influence are dropped until the file is small enough. Rows then have fewer features and a smaller norm, so scores
grow: with texts at hand, the norms of the features that are left are divided by the number that brings the scores back to those of the
model before (least squares).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Floats, Floats32, Ints
from linnet.errors import LinnetError
from linnet.model.coded import CodedTable, rounded
from linnet.model.model import Model
from linnet.model.table import FloatTable
from linnet.values import size_text

COARSER = (16.0, 4.0, 1.0)  # steps to the root mean square of the weights of a class
NORM_STEPS = 8.0
SPARE_BITS = 12  # of a fingerprint: at most one unknown feature in 4,096 is taken for a known one
BYTES_A_NAME = 500  # of the file


def shrink(model: Model, max_size: int, texts: Any = None) -> Model:
    """Return a model whose file has at most max_size bytes; it keeps no counts to go on from and no note of its texts."""
    if model.file_size <= max_size:
        return model
    used = model.table.used
    influence = np.concatenate(
        [_influence(model.table.at(some)) for some in np.array_split(used, len(used) // 50_000 + 1)]
    )
    order = used[np.argsort(-influence, kind="stable")]
    bare = replace(model, learned=None, training_texts=model.training_texts[:0])

    def cut(n: int, steps: float) -> Model:
        return _cut(bare, np.sort(order[:n]), steps, max_size // BYTES_A_NAME)

    n = len(order)
    for steps in COARSER:
        made = cut(n, steps)
        if made.file_size <= max_size:
            break
    else:
        n, high = 0, len(order)
        while high - n > max(1, high // 200):
            middle = (n + high) // 2
            n, high = (middle, high) if cut(middle, steps).file_size <= max_size else (n, middle)
        made = cut(n, steps)
    if not n:
        raise LinnetError(
            f"no model fits into {size_text(max_size)}: without any feature it has {size_text(made.file_size)}"
        )
    table = made.table
    if texts is None or model.norm is None or not isinstance(table, CodedTable):
        return made
    steps_after = table.steps.copy()
    steps_after[0] /= np.float32(_scale(model, made, texts))
    norms = np.rint(table.norms / table.steps[0]) * steps_after[0]
    return replace(made, table=replace(table, norms=norms, steps=steps_after))


def _influence(rows: Floats32) -> Floats:
    squares = arithmetic.total(np.square(rows[:, 1:], dtype=np.float64), axis=1)
    return np.asarray(np.sqrt(squares) / np.where(rows[:, 0] > 0.0, rows[:, 0], 1.0))


def _cut(model: Model, kept: Ints, steps: float, named: int) -> Model:
    """Return the model with the features of some slots, but for those whose weights are rounded to zero, and so many names."""
    old = model.table
    rows = old.at(kept)
    norm, W = np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1:])
    if not old.hashed:
        bits = np.uint64(64 - min(old.bits, len(kept).bit_length() + SPARE_BITS))
        # the first of those that would be taken for one another
        first = np.diff(old.slots[kept] >> bits, prepend=np.uint64(0)) != 0
        floats = FloatTable.of(old.slots[kept[first]], norm[first], W[first])
        table = rounded(replace(floats, bits=old.bits), 0, steps, NORM_STEPS, SPARE_BITS)
        if isinstance(table, CodedTable):
            table = table.without_zeros()
        slots = table.find(old.slots[model.name_slots])
    else:
        every = np.zeros((old.n_slots, 1 + old.n_outputs), np.float32)
        every[kept] = rows
        table = rounded(FloatTable(old.slots, every, old.shift), 0, steps, NORM_STEPS)
        slots = np.where(table.at(model.name_slots)[:, 1:].any(axis=1), model.name_slots, -1)
    some = np.flatnonzero(slots >= 0)[:named]
    sizes = np.diff(model.name_offsets)[some]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    at = np.repeat(model.name_offsets[some] - offsets[:-1], sizes) + np.arange(offsets[-1])
    small = replace(model, name_bytes=model.name_bytes[at], name_offsets=offsets, name_slots=slots[some])
    return small.with_table(
        table, weights=f"8 or 16 bits, {steps:g} steps to the root mean square", shrunk_from=model.n_features
    )


def _scale(model: Model, small: Model, texts: Any) -> float:
    """Return by how much the scores of the small model must be multiplied to be most like those of the model."""
    none: dict[str, Any] = {"computed": (), "computed_weights": np.zeros((0, 0), np.float32)}
    pieces = model.pieces(texts)
    wanted, found = (replace(one, **none).sums(pieces) - one.b for one in (model, small))
    squares = arithmetic.total(found * found)
    scale = arithmetic.total(wanted * found) / squares if squares > 0.0 else 1.0
    return scale if scale > 0.0 else 1.0
