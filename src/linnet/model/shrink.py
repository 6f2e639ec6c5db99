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
from linnet.model.model import Model
from linnet.model.table import Table
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
    influence = np.concatenate([_influence(model.rows[some]) for some in np.array_split(used, len(used) // 50_000 + 1)])
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
    if texts is None or model.norm is None or made.table.steps is None:
        return made
    rows, all_steps = made.rows, made.table.steps.copy()
    codes, all_steps[0] = np.rint(rows[:, 0] / all_steps[0]), all_steps[0] / np.float32(_scale(model, made, texts))
    rows[:, 0] = codes * all_steps[0]
    return replace(made, table=replace(made.table, steps=all_steps))


def _influence(rows: Floats32) -> Floats:
    squares = arithmetic.total(np.square(rows[:, 1:], dtype=np.float64), axis=1)
    return np.asarray(np.sqrt(squares) / np.where(rows[:, 0] > 0.0, rows[:, 0], 1.0))


def _cut(model: Model, kept: Ints, steps: float, named: int) -> Model:
    """Return the model with the features of some slots, but for those whose weights are rounded to zero, and so many names."""
    old = model.table
    norm, W = old.rows[kept, 0], old.rows[kept, 1:]
    if len(old.slots):
        bits = np.uint64(64 - min(old.bits, -(-(len(kept).bit_length() + SPARE_BITS) // 4) * 4))
        # the first of those that would be taken for one another
        first = np.diff(old.slots[kept] >> bits, prepend=np.uint64(0)) != 0
        table = Table.of(old.slots[kept[first]], norm[first], np.ascontiguousarray(W[first]))
        table = replace(table, bits=old.bits).rounded(0, steps, NORM_STEPS, SPARE_BITS)
        left = table.used[table.rows[table.used, 1:].any(axis=1)]
        rows = table.rows[left]
        again = Table.of(table.slots[left], np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1:]))
        table = replace(again, bits=table.bits, steps=table.steps)
        slots = table.find(old.slots[model.name_slots])
    else:
        rows = np.zeros_like(old.rows)
        rows[kept, 0], rows[kept, 1:] = norm, W
        table = replace(old, rows=rows).rounded(0, steps, NORM_STEPS)
        slots = np.where(table.rows[model.name_slots, 1:].any(axis=1), model.name_slots, -1)
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
