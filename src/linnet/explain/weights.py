"""What a model goes by: its features with the largest weights, class by class, and names for hashed columns.

How a line divides labelled rows: whether it separates them, how wide its margin is, and which rows hold it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels.text import NameTable, Scratch
from linnet.array_types import Floats, Ints, Ints32
from linnet.draw.terminal import count
from linnet.errors import LinnetError
from linnet.features.buffers import TextBuffer
from linnet.features.counting import Names, Seen, bounded, emitted_chunks, joined, shown
from linnet.features.derived import by_source, derive
from linnet.model.model import Model
from linnet.values import label_number


def top_features(model: Model, label: Any = None, n: int = 20) -> list[tuple[str, float]]:
    """Return the named features with the largest weights for a label (default: the last class); see Artefact.effects."""
    column = class_number(model, label)
    names, weights = feature_names(model), _named_weights(model, len(model.classes) - 1 if column is None else column)
    best = np.argsort(-weights, kind="stable")[:n]
    return [(names[k], float(weights[k])) for k in best]


def class_number(model: Model, label: Any) -> int | None:
    """Return the number of a label; None where none is given."""
    return None if label is None else label_number(model.classes, label)


def named_weights(model: Model) -> dict[Any, dict[str, float]]:
    """Return the weight of every feature whose name was kept, computed ones included, by label and name."""
    names = feature_names(model)
    return {
        label: dict(zip(names, _named_weights(model, column).tolist(), strict=True))
        for column, label in enumerate(model.classes)
    }


def feature_names(model: Model) -> list[str]:
    """Return the names that were kept, the computed features last."""
    return [" | ".join(map(shown, names)) for names in model.sharing.values()] + model.computed_names


def weight_matrix(model: Model) -> Floats:
    """Return the weights of the named features, (n_outputs, n_features)."""
    slots = np.fromiter(model.sharing, np.int64, len(model.sharing))
    return np.stack([model.effects(slots, output) for output in range(model.n_outputs)])


def _named_weights(model: Model, column: int) -> Floats:
    """Return the weights for a class in the order of ``_named``; two classes share one column."""
    output = 0 if model.n_outputs == 1 else column
    weights = model.effects(np.fromiter(model.sharing, np.int64, len(model.sharing)), output)
    return (-1.0 if model.n_outputs == 1 and column == 0 else 1.0) * weights


# ---- Names for hashed columns: a bounded table of which features of the training texts stand for the weightiest of them.
#
# Hashing forgets names, and two features may fall into one column, where they share a weight. A second walk over the
# training texts keeps, for each of the ``named`` weightiest columns, its commonest features (space saving: Metwally, Agrawal
# and El Abbadi, Efficient computation of frequent and top-k elements in data streams, 2005). However long the texts, the
# table holds at most ``named`` columns, KEPT names each of at most LONGEST characters, and a mark where there were more.


TRACKED = 4  # features of a column that are counted
KEPT = 3  # and written


def name_columns(model: Model, pieces: list[TextBuffer], seen: Ints, named: int) -> Model:
    """Return a hashed model with the names of its weightiest columns, of those seen, from the texts it was trained on."""
    effects = np.stack([model.effects(seen, output)[: len(seen)] for output in range(model.n_outputs)], axis=1)
    if model.n_outputs > 1:
        effects -= effects.mean(axis=1, keepdims=True)
    strength = np.abs(effects).max(axis=1)  # what a column can do to tell classes apart
    order = np.argsort(-strength, kind="stable")[:named]
    columns = seen[order[strength[order] > 0]]
    rank = np.full(model.table.n_slots, -1, np.int32)
    rank[columns] = np.arange(len(columns), dtype=np.int32)
    found: list[list[tuple[int, str]]] = [[] for _ in columns]
    more = np.zeros(len(columns), bool)
    for source, numbers in by_source(model.blocks):
        part = replace(model, blocks=tuple(model.blocks[k] for k in numbers))
        texts = pieces if source is None else derive(source, pieces)
        table = _commonest(part, texts, rank, len(columns))
        at = np.nonzero(table.tally)
        seen_at = Seen(table.document[at].astype(np.int32), table.start[at], table.length[at], table.block[at])
        kept = Names.seen(texts, part.blocks, seen_at, table.fps[at])
        for row, times, name in zip(at[0].tolist(), table.tally[at].tolist(), kept, strict=True):
            found[row].append((-times, bounded(name)))
        more |= table.dropped != 0
    names: list[bytes] = []
    slots: list[int] = []
    for column, some, dropped in zip(columns.tolist(), found, more.tolist(), strict=True):
        different = list(dict.fromkeys(name for _, name in sorted(some, key=lambda item: item[0])))
        written = [name.encode() for name in different[:KEPT]] + [b""] * (dropped or len(different) > KEPT)
        names += written
        slots += [column] * len(written)
    data, offsets = joined(names)
    return replace(model, name_bytes=data, name_offsets=offsets, name_slots=np.array(slots, np.int64))


def _commonest(model: Model, pieces: list[TextBuffer], rank: Ints32, n: int) -> NameTable:
    """Return the commonest features of wanted columns, and where each was met."""
    scratch, table = Scratch(max((p.longest() for p in pieces), default=0)), NameTable(rank, model.shift, n, TRACKED)
    starts = np.cumsum([0, *map(len, pieces)]).tolist()
    every = [(k, 0, len(piece)) for k, piece in enumerate(pieces)]
    for _, k, d, done, ends in emitted_chunks(pieces, every, model.blocks, scratch):
        table.add(scratch, ends, done, len(model.blocks), starts[k] + d)
    return table


ROUNDED = 0.01  # weights of a saved model are rounded, and solvers stop near the optimum


@dataclass(frozen=True)
class Separation:
    """wrong: rows on the wrong side. width: 2 / |w| of each output, in the space of its features. support: rows on the margin or inside.

    With one output the margin is where the score is 1 or -1; with several each class has its own, against the rest.
    """

    rows: int
    wrong: int
    width: list[float]
    support: list[int]

    @property
    def separable(self) -> bool:
        """Whether the line has every row on its side."""
        return self.wrong == 0

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**asdict(self), "separable": self.separable}

    def __str__(self) -> str:
        side = "separates the rows" if self.separable else f"has {count(self.wrong, 'row')} on the wrong side"
        width = ", ".join(f"{w:.3g}" for w in self.width)
        return f"the line {side}; margin {width}; {count(len(self.support), 'row')} of {self.rows:,} on the margin or inside"


def separation(model: Model, texts: Any, labels: Any, threads: int | None = None) -> Separation:
    """Look at rows as the line of a model divides them; scores are those before calibration."""
    if model.head is not None or model.multilabel or model.computed:
        raise LinnetError("only a line of one label a row has a margin, not a net, several labels or computed columns")
    scale = (model.card.get("calibration") or {}).get("scale", 1.0)
    shift = (model.card.get("calibration") or {}).get("shift", [0.0])[0]
    number = {str(c): k for k, c in enumerate(model.classes)}
    rows, y = model.table.at(model.table.used), np.array([number.get(str(label), -1) for label in labels])
    norm = rows[:, :1].astype(np.float64)
    w = rows[:, 1:] / np.where(norm > 0.0, norm, 1.0) / scale  # (n_features, n_outputs)
    scores = (model.scores(texts, threads) - shift) / scale
    two = model.n_outputs == 1
    right: npt.NDArray[Any] = (y == 1)[:, None] if two else y[:, None] == np.arange(model.n_outputs)
    best = (scores[:, 0] > 0.0).astype(np.int64) if two else scores.argmax(axis=1)
    inside = (np.where(right, scores, -scores) <= 1.0 + ROUNDED).any(axis=1)
    width = 2.0 / np.maximum(np.asarray(arithmetic.norm(w, axis=0)), np.finfo(np.float64).tiny)
    return Separation(len(y), int((best != y).sum()), width.tolist(), np.flatnonzero(inside).tolist())
