"""From a model and texts to explanations: many at a time, in arrays; Python objects are made when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from linnet._kernels import text as kernels
from linnet.array_types import Array, Bytes, Floats, Floats32, Hashes, Ints, Ints32
from linnet.errors import LinnetError
from linnet.explain.explanation import Contribution, Explanation
from linnet.explain.weights import class_number
from linnet.features.blocks import Blocks, compute
from linnet.features.buffers import TextBuffer
from linnet.features.counting import LENGTH, Names, Seen, bounded, shown
from linnet.features.derived import by_source, character_places, place
from linnet.model.model import Model

if TYPE_CHECKING:
    from linnet.solvers.network import DenseLayers

# ---- Texts to the features that a model finds in them, with factors and places: the arrays behind every explanation.


@dataclass(frozen=True)
class Walked:
    """The known features of some documents, in the order of document, block and first sight.

    Feature f adds ``factor[f] * W[slot[f], c]`` to the score of class c and stands at the places first[f] ... first[f] +
    count[f] - 1, each a fingerprint, a first byte and a length (with flags) in the text that its block reads.
    """

    blocks: Blocks
    ptr: Ints  # (n_documents + 1,): the features of each document
    block: Bytes  # (n_features,)
    slot: Ints
    factor: Floats
    first: Ints
    count: Ints
    fps: Hashes  # (n_places,)
    start: Ints32
    length: Ints32
    begin: Ints32  # in characters of the original text
    end: Ints32
    unknown: Ints  # (n_documents,)
    texts: tuple[TextBuffer, ...]  # one a block

    @cached_property
    def document(self) -> Ints:
        """The document of each feature."""
        return np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))

    def named(self, features: Ints, places: Ints | None = None) -> list[str]:
        """Return the names of features, or of what stands at some of their places."""
        at = self.first[features] if places is None else places
        block = self.block[features]
        where = np.searchsorted(self.ptr, features, side="right") - 1
        seen = Seen(where.astype(np.int32), self.start[at], self.length[at], block)
        out = np.empty(len(features), object)
        for text in {id(t): t for t in self.texts}.values():
            mine = np.flatnonzero(np.array([t is text for t in self.texts])[block])
            out[mine] = list(Names.seen([text], self.blocks, seen.take(mine), self.fps[at[mine]]))
        return list(out.tolist())


def walk(model: Model, piece: TextBuffer) -> Walked:
    """Walk documents as the scorer does: the original texts, and those derived from them."""
    if not model.blocks:
        return _nothing(len(piece))
    found, groups, texts = [], by_source(model.blocks), [piece] * len(model.blocks)
    for source, numbers in groups:
        mine, at = (piece, character_places(piece)) if source is None else place(source, piece)
        for k in numbers:
            texts[k] = mine
        part = model if len(groups) == 1 else replace(model, blocks=tuple(model.blocks[k] for k in numbers))
        found.append(_walk(part, mine, at, np.asarray(numbers, np.uint8)))
    return _merged(found, model.blocks, tuple(texts))


def _walk(model: Model, piece: TextBuffer, at: Ints, numbers: Bytes) -> Walked:
    """Walk the texts that some blocks read, of these numbers; at maps bytes of the texts to characters of the original ones."""
    n, n_blocks = len(piece), len(model.blocks)
    spread = sum((b.high - b.low + 1) * b.density for b in model.blocks)
    size = int(piece.offsets[-1] - piece.offsets[0])
    found = kernels.FoundFeatures(n, n_blocks, max(1 << 10, size * spread // 3))
    kernels.walk_documents(
        piece.data, piece.offsets, model.compiled, model.weights, kernels.Scratch(piece.longest(), 1 << 12), found
    )
    slot, factor, first, count = found.features
    fps, start, length = found.places
    ptr = np.concatenate([np.zeros(1, np.int64), found.ends[n_blocks - 1 :: n_blocks]])
    block = np.repeat(np.tile(numbers, n), np.diff(found.ends, prepend=0))
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])
    byte = np.repeat(piece.offsets[:-1] - piece.offsets[0] + np.arange(n), np.diff(total[ptr])) + start
    begin, end = at[byte].astype(np.int32), at[byte + (length & LENGTH)].astype(np.int32)
    return Walked(
        model.blocks, ptr, block, slot, factor, first, count, fps, start, length, begin, end, found.unknown, (piece,)
    )


def _merged(walks: list[Walked], blocks: Blocks, texts: tuple[TextBuffer, ...]) -> Walked:
    """Put the features of each document side by side, group by group; places stay where they are."""
    order = np.argsort(np.concatenate([w.document for w in walks]), kind="stable")
    moved = np.cumsum([0, *(len(w.fps) for w in walks)]).tolist()

    def joined(names: str) -> dict[str, Array]:
        return {name: np.concatenate([getattr(w, name) for w in walks]) for name in names.split()}

    return Walked(
        blocks, np.asarray(np.sum([w.ptr for w in walks], axis=0)),
        first=np.concatenate([w.first + k for w, k in zip(walks, moved, strict=False)])[order],
        **{name: column[order] for name, column in joined("block slot factor count").items()},
        **joined("fps start length begin end"), unknown=np.sum([w.unknown for w in walks], axis=0), texts=texts,
    )  # fmt: skip


def _nothing(n: int) -> Walked:
    """Return documents without features, for models whose columns are all computed."""
    none, ints = np.zeros(0, np.int64), np.zeros(0, np.int32)
    return Walked(
        (), np.zeros(n + 1, np.int64), np.zeros(0, np.uint8), none, np.zeros(0), none, none, np.zeros(0, np.uint64),
        ints, ints, ints, ints, np.zeros(n, np.int64), (),
    )  # fmt: skip


# ---- Some documents with the parts of their scores as arrays, and one of them as the parts of an explanation.


class DocumentChunk:
    """Documents, the class that is explained of each, and what every feature adds to its score."""

    def __init__(
        self, model: Model, piece: TextBuffer, label: int | None, against: int | None, texts: Sequence[str] | None = None
    ) -> None:  # fmt: skip
        self.model, self.piece, self.texts = model, piece, texts
        self.two = model.n_outputs == 1
        self._ranked: dict[int, list[list[Contribution]]] = {}
        sums = model.sums(piece)
        scores = sums if model.head is None else model.scores(piece)
        self.proba = model.proba(scores)
        if self.two:
            scores = np.concatenate([-scores, scores], axis=1)
        each = np.arange(len(scores))
        self.label, self.against = self._classes(scores, label, against)
        own = scores[each, self.label]
        self.score = own if self.two or self.against is None else own - scores[each, self.against]
        self._weigh(sums, len(scores))

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

    def _weigh(self, sums: Floats, n: int) -> None:
        """Work out what every feature adds: its factor times its weight, or times the slope of a head."""
        model, k = self.model, len(self.model.computed_weights)
        slopes = None if model.head is None else self._slopes(model.head, sums)
        self.walked = w = walk(model, self.piece)
        self.amounts = compute(model.computed, [self.piece]).astype(np.float64) if k else np.zeros((n, 0))
        columns = np.tile(np.arange(k), n)
        self.values = self._added(model.table.at(w.slot)[:, 1:], w.ptr, np.arange(len(w.slot)), w.factor, slopes)
        ends = k * np.arange(n + 1)
        self.added = self._added(model.computed_weights, ends, columns, self.amounts.ravel(), slopes).reshape(n, k)
        if slopes is None:
            b, (plus, minus, sign) = np.append(model.b, 0.0), self._columns()  # minus is -1 where nothing is taken off
            self.bias = sign * (b[plus] - b[minus]) + 0.0
        else:
            total = np.bincount(w.document, weights=self.values, minlength=n)
            self.bias = self.score - total - self.added.sum(axis=1)

    def _columns(self) -> tuple[Ints, Ints, Floats]:
        """Return the output that counts of each document, the one that is taken from it (-1: none), and the sign."""
        n = len(self.label)
        none = np.full(n, -1, np.int64)
        if self.two:
            return np.zeros(n, np.int64), none, np.asarray(2.0 * self.label - 1.0, np.float64)
        return self.label, none if self.against is None else self.against, np.ones(n)

    def _added(self, W: Floats32, ptr: Ints, rows: Ints, factor: Floats, slopes: Floats | None) -> Floats:
        """Return factor times the weight of some rows of W; those of document d are ptr[d] ... ptr[d + 1] - 1."""
        out = np.empty(len(rows))
        if len(rows) and slopes is None:
            kernels.weigh_features(ptr, rows, factor, W, *self._columns(), out)
        elif len(rows) and slopes is not None:
            documents = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
            np.einsum("nk,nk->n", W[rows].astype(np.float64), slopes[documents], out=out)
            out *= factor
        return out

    def _slopes(self, head: DenseLayers, sums: Floats) -> Floats:
        """Return the derivative of each score by the sums that a head reads."""
        out = np.empty_like(sums)
        for d, (plus, minus, sign) in enumerate(zip(*(c.tolist() for c in self._columns()), strict=True)):
            out[d] = sign * head.slope(sums[d], plus)
            if minus >= 0:
                out[d] -= head.slope(sums[d], minus)
        return out

    def explanation(self, d: int) -> Explanation:
        """Return one explanation; its parts are made when they are asked for."""
        classes, proba, label = self.model.classes, self.proba[d].tolist(), int(self.label[d])
        against = other = None
        if self.against is not None:
            against, other = classes[self.against[d]], proba[self.against[d]]
        return Explanation(
            self.text(d), classes[label], against, float(self.score[d]), proba[label], float(self.bias[d]),
            self, d, int(self.walked.unknown[d]), self.model.head is None, other,
        )  # fmt: skip

    def text(self, d: int) -> str:
        """Return one document as it was given."""
        return self.piece.text(d) if self.texts is None else self.texts[d]

    def ranked(self, n: int) -> list[list[Contribution]]:
        """Return the n largest features of every document."""
        if n not in self._ranked:
            top = np.empty((len(self.piece), n), np.int64)
            kernels.largest_of_runs(self.values, self.walked.ptr, top)
            made = self.contributions(top[top >= 0])
            ends = np.cumsum([0, *(top >= 0).sum(axis=1)]).tolist()
            self._ranked[n] = [made[a:b] for a, b in pairwise(ends)]
        return self._ranked[n]

    def contributions(self, features: Ints) -> list[Contribution]:
        """Make the contributions of some features."""
        w, hashing, out = self.walked, self.model.table.hashed, []
        kinds = [block.name for block in self.model.blocks]
        first = w.first[features]
        columns = (w.block[features], self.values[features], first, w.count[features], w.begin[first], w.end[first])
        rows = zip(features.tolist(), w.named(features), *(column.tolist() for column in columns), strict=True)
        for f, name, block, value, p, n, begin, end in rows:
            spans: tuple[tuple[int, int], ...] = ((begin, end),)
            if n > 1:
                spans = tuple(zip(w.begin[p : p + n].tolist(), w.end[p : p + n].tolist(), strict=True))
            also = self._also(f, name) if hashing else ()
            if name[:1] == " " or name[-1:] == " ":
                name = shown(name)
            out.append(Contribution(name, kinds[block], value, n, spans, None, also))
        return out

    def _also(self, f: int, name: str) -> tuple[str, ...]:
        """Return what else stands for the column of a hashed feature: in this text, and in the training texts."""
        w = self.walked
        places = np.arange(w.first[f], w.first[f] + w.count[f])
        _, first = np.unique(w.fps[places], return_index=True)
        here = w.named(np.full(len(first), f), places[first])
        there = self.model.sharing.get(int(w.slot[f]), ())
        return tuple(dict.fromkeys(shown(other) for other in (*here, *there) if bounded(other) != bounded(name)))

    def top(self, d: int, n: int | None) -> tuple[Contribution, ...]:
        """Return the n largest contributions to one document."""
        if n is not None and n > 0 and not self.added.shape[1]:
            return tuple(self.ranked(n)[d])
        every = self._computed(d) + self.contributions(np.arange(*self.walked.ptr[d : d + 2].tolist()))
        every.sort(key=lambda c: -abs(c.value))  # stable: ties stay in the order of the text
        return tuple(every[:n])

    def _computed(self, d: int) -> list[Contribution]:
        """Return what the computed columns add."""
        out = []
        text, one = self.piece.text(d), self.piece.slice(d, d + 1)
        numbers = zip(self.added[d].tolist(), self.amounts[d].tolist(), strict=True)
        for block in self.model.computed:
            for name, spans, said in zip(block.columns, block.places(text), block.said(one), strict=True):
                value, amount = next(numbers)
                if amount != 0 or not block.indicators:
                    out.append(Contribution(name, block.name, value, 1, spans, amount, (), said))
        return out

    def characters(self, d: int, text: str) -> tuple[Floats, float]:
        """Share every contribution between its places and their characters; returns what had no place, too."""
        w, mine = self.walked, slice(*self.walked.ptr[d : d + 2].tolist())
        out = np.zeros(len(text))
        blank = np.frombuffer(bytes(map(str.isspace, text)), np.uint8)
        left = kernels.spread_over_characters(
            self.values[mine], w.first[mine], w.count[mine], w.begin, w.end, blank, out
        )
        for c in self._computed(d):
            places = c.places()
            for a, b in places:
                here = [k for k in range(a, b) if not text[k].isspace()] or list(range(a, b))
                out[here] += c.value / (len(places) * len(here))
            left += 0.0 if places else c.value
        return out, left


CHUNK = 1 << 15  # bytes of text that are explained together


def explain(model: Model, text: str | Mapping[str, Any], label: Any = None, against: Any = None) -> Explanation:
    """Explain the score of one label, by default of the predicted one; with against, how far it is ahead of that one.

    text is a text, or a row with other columns.
    """
    if not isinstance(text, str | Mapping):
        raise LinnetError(f"explain takes one text or one row as a dict, got {type(text).__name__}")
    return Explanations(model, [text], label, against)[0]


class Explanations(Sequence[Explanation]):
    """Explanations of texts, in their order. They are worked out some kilobytes of text at a time, when they are reached."""

    def __init__(self, model: Model, texts: Any, label: Any = None, against: Any = None) -> None:
        self.model = model
        self.columns = (class_number(model, label), class_number(model, against))
        if label is not None and label == against:
            raise LinnetError(f"label and against are both {label!r}; name two labels")
        self._given = texts if isinstance(texts, list | tuple) and all(isinstance(t, str) for t in texts) else None
        self._runs = [run for piece in model.pieces(texts) for run in runs(piece)]
        self._ends = np.cumsum([len(run) for run in self._runs], dtype=np.int64)
        self._chunk = lru_cache(1)(self._made)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def _made(self, k: int) -> DocumentChunk:
        first = int(self._ends[k]) - len(self._runs[k])
        given = None if self._given is None else self._given[first : first + len(self._runs[k])]
        return DocumentChunk(self.model, self._runs[k], *self.columns, given)

    @overload
    def __getitem__(self, k: int) -> Explanation: ...

    @overload
    def __getitem__(self, k: slice) -> list[Explanation]: ...

    def __getitem__(self, k: int | slice) -> Explanation | list[Explanation]:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        if not -len(self) <= k < len(self):
            raise IndexError(f"there are {len(self):,} explanations, not number {k}")
        k %= len(self)
        run = int(np.searchsorted(self._ends, k, side="right"))
        return self._chunk(run).explanation(k - int(self._ends[run]) + len(self._runs[run]))

    def __repr__(self) -> str:
        return f"<{len(self):,} explanations>"


explain_many = Explanations


def runs(piece: TextBuffer) -> Iterator[TextBuffer]:
    """Cut documents into runs of about CHUNK bytes, at least one document each."""
    first = 0
    while first < len(piece):
        last = int(np.searchsorted(piece.offsets, piece.offsets[first] + CHUNK, side="right")) - 1
        last = min(max(last, first + 1), len(piece))
        yield piece.slice(first, last)
        first = last
