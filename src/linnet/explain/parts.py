"""From a model and a text to the parts of its score, walked as the scorer walks them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels import vocab
from linnet.artefact import Artefact
from linnet.errors import LinnetError, nearest
from linnet.explain.explanation import Contribution, Explanation
from linnet.features.buffers import pieces_of
from linnet.features.computed import compute
from linnet.features.names import shown
from linnet.features.rows import Norm
from linnet.features.showing import Emitted
from linnet.features.subwords import by_source, place

__all__ = ["explain"]


def explain(model: Artefact, text: str, label: Any = None) -> Explanation:
    """Explain the score of one label, by default of the predicted one."""
    if not isinstance(text, str):
        raise LinnetError(f"explain takes one text, got {type(text).__name__}")
    known = {c: k for k, c in enumerate(model.classes)}
    if label is not None and label not in known:
        raise LinnetError(nearest("label", str(label), map(str, known)))
    scores = model.scores([text])
    column = known[label] if label is not None else int(model.best(scores)[0])
    sign = -1.0 if model.n_outputs == 1 and column == 0 else 1.0
    output = 0 if model.n_outputs == 1 else column
    slope = None if model.head is None else model.head.slope(model.sums([text])[0], output)
    parts, unknown = _parts(model, text, output, sign, slope)
    score = sign * float(scores[0, output])
    return Explanation(
        text=text,
        label=model.classes[column],
        against=model.classes[1 - column] if model.n_outputs == 1 else None,
        score=score,
        probability=float(model.proba(scores)[0, column]),
        bias=sign * float(model.b[output]) + 0.0 if slope is None else score - sum(c.value for c in parts),  # no -0
        contributions=parts,
        unknown=unknown,
        exact=slope is None,
    )


def _parts(
    model: Artefact, text: str, output: int, sign: float, slope: npt.NDArray[np.float64] | None
) -> tuple[tuple[Contribution, ...], int]:
    """Walk the features of the text as the scorer does, with their places.

    slope is the derivative of the score by the sums, for a model with a head.
    """
    piece = pieces_of([text])[0]
    out = _computed_parts(model, piece, output, sign, slope)
    unknown = 0
    for source, numbers in by_source(model.blocks):  # the original text, and those derived from it
        part = replace(model, blocks=tuple(model.blocks[k] for k in numbers))
        here, at = (piece, None) if source is None else place(source, text)
        found, missing = _counted_parts(part, here, at, output, sign, slope)
        out += found
        unknown += missing
    out.sort(key=lambda c: (-abs(c.value), c.feature))
    return tuple(out), unknown


def _counted_parts(
    model: Artefact,
    piece: Any,
    at: npt.NDArray[np.int64] | None,
    output: int,
    sign: float,
    slope: npt.NDArray[np.float64] | None,
) -> tuple[list[Contribution], int]:
    """Walk the features of one text; at maps its bytes to characters of the original (None: it is the original)."""
    out: list[Contribution] = []
    emitted = Emitted.of(piece, model.blocks)
    found = np.empty(len(emitted.fps), dtype=np.int64)
    vocab.find(emitted.fps, model.slots, model.shift, found)
    places = emitted.spans(at)
    unknown = 0
    for b, block in enumerate(model.blocks):
        part = emitted.part(b)
        slots, first, inverse, counts = np.unique(
            found[part], return_index=True, return_inverse=True, return_counts=True
        )
        missing = slots < 0
        unknown += int(counts[missing].sum())
        rows = model.rows[slots]
        tf = np.ones(len(slots)) if model.tf == "presence" else counts.astype(float)
        if model.tf == "sublinear":
            tf = 1.0 + np.log(tf)
        tf[missing] = 0.0
        norm = _norm(tf * rows[:, 0].astype(np.float64), model.normalise)
        weight = rows[:, 1 + output].astype(np.float64) if slope is None else rows[:, 1:].astype(np.float64) @ slope
        value = sign * block.weight * tf * weight / (norm if norm > 0 else 1.0)
        where = np.argsort(inverse, kind="stable")
        groups = np.split(where, np.cumsum(counts)[:-1])
        known = np.flatnonzero(~missing)
        for k, name in zip(known, emitted.names(part.start + first[known], b), strict=True):
            spans = tuple((int(i), int(j)) for i, j in places[part][groups[k]])
            out.append(Contribution(shown(name), block.name, float(value[k]), int(counts[k]), spans))
    return out, unknown


def _norm(weights: npt.NDArray[np.float64], normalise: Norm) -> float:
    if normalise == "mean":
        return float(weights.sum())
    return float(np.sqrt(np.sum(weights**2))) if normalise else 1.0


def _computed_parts(
    model: Artefact, piece: Any, output: int, sign: float, slope: npt.NDArray[np.float64] | None
) -> list[Contribution]:
    """Return what the computed columns add: value times weight."""
    if not model.computed:
        return []
    values = compute(model.computed, [piece])[0].astype(np.float64)
    weights = model.computed_weights.astype(np.float64)
    added = sign * values * (weights[:, output] if slope is None else weights @ slope)
    kinds = [block.name for block in model.computed for _ in block.columns]
    places = [spans for block in model.computed for spans in block.places(piece.text(0))]
    return [
        Contribution(name, kind, float(value), 1, spans, float(amount))
        for name, kind, value, amount, spans in zip(model.computed_names, kinds, added, values, places, strict=True)
    ]
