"""Some documents with the parts of their scores as arrays, and one of them as the parts of an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels import parts
from linnet.artefact import Artefact
from linnet.explain.explanation import Contribution, Explanation, add
from linnet.explain.walk import Walked, walk
from linnet.features.buffers import Piece
from linnet.features.computed import compute
from linnet.features.names import shown

__all__ = ["Chunk"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Chunk:
    """Documents, the class that is explained of each, and what every feature adds to its score."""

    walked: Walked
    values: Floats  # (n_features,)
    bias: Floats  # (n_documents,)
    amounts: Floats  # (n_documents, n_computed): what the computed columns came to
    added: Floats  # and what they add

    def __init__(
        self, model: Artefact, piece: Piece, label: int | None, against: int | None, texts: Sequence[str] | None = None
    ) -> None:
        self.model, self.piece, self.texts = model, piece, texts
        self.two = model.n_outputs == 1
        self._ranked: dict[int, tuple[Ints, bytes, list[int]]] = {}
        sums = model.sums(piece)
        scores = sums if model.head is None else model.scores(piece)
        proba = model.proba(scores)
        if self.two:
            scores = np.concatenate([-scores, scores], axis=1)
        each = np.arange(len(scores))
        self.label, self.against = self._classes(scores, label, against)
        own = scores[each, self.label]
        self.score = own if self.two or self.against is None else own - scores[each, self.against]
        self.probability = proba[each, self.label].tolist()
        self.other = None if self.against is None else proba[each, self.against].tolist()
        self._weigh(sums, each)

    def _classes(self, scores: Floats, label: int | None, against: int | None) -> tuple[Ints, Ints | None]:
        """Return the class that is explained, and the one it is compared with, of each document."""
        n = len(scores)
        if label is not None:
            mine = np.full(n, label, np.int64)
        elif against is None:
            mine = self.model.best(scores[:, 1:] if self.two else scores)
        else:  # the best of the others
            rest = scores.copy()
            rest[:, against] = -np.inf
            mine = np.asarray(rest.argmax(axis=1), np.int64)
        if self.two:
            return mine, 1 - mine
        return mine, None if against is None else np.full(n, against, np.int64)

    def _weigh(self, sums: Floats, each: Ints) -> None:
        """Work out what every feature adds: its factor times its weight, or times the slope of a head."""
        model, n, k = self.model, len(each), len(self.model.computed_weights)
        slopes = None if model.head is None else self._slopes(sums)
        self.walked = w = walk(model, self.piece)
        self.values = w.factor * self._weights(model.rows[:, 1:], w.slot, w.document, slopes)
        self.amounts = compute(model.computed, [self.piece]).astype(np.float64) if k else np.zeros((n, 0))
        columns, documents = np.tile(np.arange(k), n), np.repeat(each, k)
        self.added = self.amounts * self._weights(model.computed_weights, columns, documents, slopes).reshape(n, k)
        if slopes is None:
            self.bias = self._weights(model.b[None, :], np.zeros(n, np.int64), each, None) + 0.0  # no -0
        else:
            total = np.bincount(w.document, weights=self.values, minlength=n)
            self.bias = self.score - total - self.added.sum(axis=1)

    def _weights(self, W: npt.NDArray[Any], rows: Ints, documents: Ints, slopes: Floats | None) -> Floats:
        """Return the weight of some rows of W for the class that is explained of some documents."""
        if not len(rows):
            return np.zeros(0)
        if slopes is not None:
            return np.asarray(np.einsum("nk,nk->n", W[rows].astype(np.float64), slopes[documents]))
        if self.two:
            return np.asarray(W[rows, 0] * np.array([-1.0, 1.0])[self.label[documents]])
        out: Floats = W[rows, self.label[documents]].astype(np.float64)
        return out if self.against is None else out - W[rows, self.against[documents]].astype(np.float64)

    def _slopes(self, sums: Floats) -> Floats:
        """Return the derivative of each score by the sums that a head reads."""
        head = self.model.head
        assert head is not None
        out = np.empty_like(sums)
        for d, c in enumerate(self.label.tolist()):
            if self.two:
                out[d] = head.slope(sums[d], 0) * (1.0 if c else -1.0)
            else:
                out[d] = head.slope(sums[d], c)
                if self.against is not None:
                    out[d] -= head.slope(sums[d], int(self.against[d]))
        return out

    def explanation(self, d: int) -> Explanation:
        """Return one explanation; its parts are made when they are asked for."""
        classes = self.model.classes
        return Explanation(
            self.text(d),
            classes[self.label[d]],
            None if self.against is None else classes[self.against[d]],
            float(self.score[d]),
            self.probability[d],
            float(self.bias[d]),
            Cut(self, d),
            int(self.walked.unknown[d]),
            self.model.head is None,
            None if self.other is None else self.other[d],
        )

    def text(self, d: int) -> str:
        """Return one document as it was given."""
        return self.piece.text(d) if self.texts is None else self.texts[d]

    def ranked(self, n: int) -> tuple[Ints, bytes, list[int]]:
        """Return the n largest features of every document, (n_documents, n), -1 for none, and their names."""
        if n not in self._ranked:
            top = np.empty((len(self.piece), n), np.int64)
            parts.largest(self.values, self.walked.ptr, top)
            self._ranked[n] = (top, *self.walked.names(np.maximum(top, 0).ravel()))
        return self._ranked[n]

    def made(self, features: list[int], names: Sequence[str]) -> list[Contribution]:
        """Make contributions of some features of a document."""
        w, blocks = self.walked, self.model.blocks
        out = []
        for f, name in zip(features, names, strict=True):
            a, n = int(w.first[f]), int(w.count[f])
            if n == 1:
                spans: tuple[tuple[int, int], ...] = ((int(w.begin[a]), int(w.end[a])),)
            else:
                spans = tuple(zip(w.begin[a : a + n].tolist(), w.end[a : a + n].tolist(), strict=True))
            kind = blocks[w.block[f]].name
            out.append(Contribution(shown(name), kind, float(self.values[f]), n, spans, None, self._also(f, name)))
        return out

    def _also(self, f: int, name: str) -> tuple[str, ...]:
        """Return what else stands for the column of a hashed feature: in this text, and in the training texts."""
        if len(self.model.slots):
            return ()
        w = self.walked
        places = np.arange(w.first[f], w.first[f] + w.count[f])
        _, first = np.unique(w.fps[places], return_index=True)
        here = w.named(np.full(len(first), f), places[first])
        there = self.model.sharing.get(int(w.slot[f]), ())
        return tuple(dict.fromkeys(shown(other) for other in (*here, *there) if other != name))


class Cut:
    """The parts of one document of a chunk."""

    def __init__(self, chunk: Chunk, d: int) -> None:
        self.chunk, self.d = chunk, d
        self.range = int(chunk.walked.ptr[d]), int(chunk.walked.ptr[d + 1])

    def top(self, n: int | None) -> tuple[Contribution, ...]:
        """Return the n largest contributions."""
        chunk, (a, b) = self.chunk, self.range
        if n is not None and n > 0 and not chunk.added.shape[1]:
            top, data, at = chunk.ranked(n)
            features = [f for f in top[self.d].tolist() if f >= 0]
            k = self.d * n
            names = [data[at[k + i] : at[k + i + 1]].decode("utf-8", "replace") for i in range(len(features))]
            return tuple(chunk.made(features, names))
        every = self._computed() + chunk.made(list(range(a, b)), chunk.walked.named(np.arange(a, b)))
        every.sort(key=lambda c: -abs(c.value))  # stable: ties stay in the order of the text
        return tuple(every[:n])

    def _computed(self) -> list[Contribution]:
        chunk, model = self.chunk, self.chunk.model
        if not model.computed:
            return []
        kinds = [block.name for block in model.computed for _ in block.columns]
        text = chunk.piece.text(self.d)
        places = [spans for block in model.computed for spans in block.places(text)]
        added, amounts = chunk.added[self.d].tolist(), chunk.amounts[self.d].tolist()
        return [
            Contribution(*row[:3], 1, *row[3:])
            for row in zip(model.computed_names, kinds, added, places, amounts, strict=True)
        ]

    def characters(self, text: str) -> tuple[Floats, float]:
        """Share every contribution between its places and their characters."""
        w, (a, b) = self.chunk.walked, self.range
        out = np.zeros(len(text))
        blank = np.frombuffer(bytes(map(str.isspace, text)), np.uint8)
        left = parts.spread(self.chunk.values[a:b], w.first[a:b], w.count[a:b], w.begin, w.end, blank, out)
        for c in self._computed():
            left += add(out, text, c.value, c.spans)
        return out, left

    def placeless(self) -> tuple[Contribution, ...]:
        """Return what has no place in the text."""
        found = [c for c in self._computed() if not any(b > a for a, b in c.spans)]
        w, (a, b) = self.chunk.walked, self.range
        empty = w.end[w.first[a:b]] <= w.begin[w.first[a:b]]  # few or none: pieces that stand for no character
        odd = [
            f
            for f in (np.flatnonzero(empty) + a).tolist()
            if np.all((w.end <= w.begin)[w.first[f] : w.first[f] + w.count[f]])
        ]
        return tuple(found + (self.chunk.made(odd, w.named(np.array(odd))) if odd else []))
