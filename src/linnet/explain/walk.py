"""Texts to the features that a model finds in them, with factors and places: the arrays behind every explanation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels.text import FoundFeatures, Scratch, walk_documents
from linnet.features.blocks import Blocks
from linnet.features.buffers import TextBuffer
from linnet.features.counting import Seen, names_of
from linnet.features.derived import by_source, place
from linnet.model.model import Model

Ints = npt.NDArray[np.int64]
LENGTH = (1 << 29) - 1  # the bits above hold the flags of a block


@dataclass(frozen=True)
class Walked:
    """The known features of some documents, in the order of document, block and first sight.

    Feature f adds ``factor[f] * W[slot[f], c]`` to the score of class c and stands at the places first[f] ... first[f] +
    count[f] - 1, each a fingerprint, a first byte and a length (with flags) in the text that its block reads.
    """

    blocks: Blocks
    ptr: Ints  # (n_documents + 1,): the features of each document
    block: npt.NDArray[np.uint8]  # (n_features,)
    slot: Ints
    factor: npt.NDArray[np.float64]
    first: Ints
    count: Ints
    fps: npt.NDArray[np.uint64]  # (n_places,)
    start: npt.NDArray[np.int32]
    length: npt.NDArray[np.int32]
    begin: npt.NDArray[np.int32]  # in characters of the original text
    end: npt.NDArray[np.int32]
    unknown: Ints  # (n_documents,)
    texts: tuple[TextBuffer, ...]  # one a block

    @cached_property
    def document(self) -> Ints:
        """The document of each feature."""
        return np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))

    def names(self, features: Ints, places: Ints | None = None) -> tuple[bytes, list[int]]:
        """Write the names of features, or of what stands at some of their places: UTF-8 bytes, and where each begins."""
        at = self.first[features] if places is None else places
        block = self.block[features]
        where = np.searchsorted(self.ptr, features, side="right") - 1
        seen = Seen(where.astype(np.int32), self.start[at], self.length[at], block)
        readers = list({id(t): t for t in self.texts}.values())
        if len(readers) == 1:
            data, offsets = names_of(readers, self.blocks, seen, self.fps[at])
            return data.tobytes(), offsets.tolist()
        out: list[bytes] = [b""] * len(features)
        for text in readers:
            mine = np.flatnonzero(np.array([t is text for t in self.texts])[block])
            data, offsets = names_of([text], self.blocks, seen.take(mine), self.fps[at[mine]])
            raw = data.tobytes()
            for k, a, z in zip(mine.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
                out[k] = raw[a:z]
        return b"".join(out), [0, *np.cumsum([len(name) for name in out]).tolist()]

    def named(self, features: Ints, places: Ints | None = None) -> list[str]:
        """Return the names of features as strings."""
        data, at = self.names(features, places)
        return [data[a:z].decode("utf-8", "replace") for a, z in pairwise(at)]


def walk(model: Model, piece: TextBuffer) -> Walked:
    """Walk documents as the scorer does: the original texts, and those derived from them."""
    if not model.blocks:
        return _nothing(len(piece))
    found = []
    groups = by_source(model.blocks)
    texts = [piece] * len(model.blocks)
    for source, numbers in groups:
        mine = piece
        at = None
        if source is not None:
            mine, at = place(source, piece)
        for k in numbers:
            texts[k] = mine
        part = model if len(groups) == 1 else replace(model, blocks=tuple(model.blocks[k] for k in numbers))
        found.append((_walk(part, mine, at), np.asarray(numbers, np.uint8)))
    if len(found) == 1:
        return replace(found[0][0], texts=tuple(texts))
    return _merged([(w, numbers) for w, numbers in found], model.blocks, tuple(texts))


def _walk(model: Model, piece: TextBuffer, at: Ints | None) -> Walked:
    """Walk the texts that some blocks read; at maps their bytes to characters (None: they are the original)."""
    n, n_blocks = len(piece), len(model.blocks)
    spread = sum((b.high - b.low + 1) * b.density for b in model.blocks)
    size = int(piece.offsets[-1] - piece.offsets[0])
    found = FoundFeatures(n, n_blocks, max(1 << 10, size * spread // 3))
    walk_documents(piece.data, piece.offsets, model.compiled, model.weights, Scratch(piece.longest(), 1 << 12), found)
    slot, factor, first, count = found.features
    fps, start, length = found.places
    ends, unknown = found.ends, found.unknown
    ptr = np.concatenate([np.zeros(1, np.int64), ends[n_blocks - 1 :: n_blocks]])
    block = np.repeat(np.tile(np.arange(n_blocks, dtype=np.uint8), n), np.diff(ends, prepend=0))
    walked = Walked(
        model.blocks, ptr, block, slot, factor, first, count, fps, start, length, start, start, unknown, (piece,)
    )
    begin, end = _characters(walked, piece, at)
    return replace(walked, begin=begin, end=end)


def _characters(w: Walked, piece: TextBuffer, at: Ints | None) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Turn bytes into characters of the original text."""
    stop = w.start + (w.length & LENGTH)
    base, top = int(piece.offsets[0]), int(piece.offsets[-1])
    if at is None and (top == base or int(piece.data[base:top].max()) < 0x80):
        return w.start, stop
    places = _places(w)
    if at is not None:
        origin = np.repeat(piece.offsets[:-1] + np.arange(len(piece)), places)
        return at[origin + w.start].astype(np.int32), at[origin + stop].astype(np.int32)
    begun = np.concatenate([np.zeros(1, np.int64), np.cumsum((piece.data[base:top] & 0xC0) != 0x80)])
    origin = np.repeat(piece.offsets[:-1] - base, places)
    zero = begun[origin]
    return (begun[origin + w.start] - zero).astype(np.int32), (begun[origin + stop] - zero).astype(np.int32)


def _places(w: Walked) -> Ints:
    """Return how many places the features of each document have."""
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(w.count)])
    return np.asarray(total[w.ptr[1:]] - total[w.ptr[:-1]])


def _merged(found: list[tuple[Walked, npt.NDArray[np.uint8]]], blocks: Blocks, texts: tuple[TextBuffer, ...]) -> Walked:
    """Put the features of each document side by side, group by group; places stay where they are."""
    walks = [w for w, _ in found]
    order = np.argsort(np.concatenate([w.document for w in walks]), kind="stable")
    moved = np.cumsum([0, *(len(w.fps) for w in walks)]).tolist()

    def joined(names: str) -> dict[str, npt.NDArray[Any]]:
        return {name: np.concatenate([getattr(w, name) for w in walks]) for name in names.split()}

    return Walked(
        blocks, np.asarray(np.sum([w.ptr for w in walks], axis=0)),
        np.concatenate([numbers[w.block] for w, numbers in found])[order],
        first=np.concatenate([w.first + k for w, k in zip(walks, moved, strict=False)])[order],
        **{name: column[order] for name, column in joined("slot factor count").items()},
        **joined("fps start length begin end"), unknown=np.sum([w.unknown for w in walks], axis=0), texts=texts,
    )  # fmt: skip


def _nothing(n: int) -> Walked:
    """Return documents without features, for models whose columns are all computed."""
    none, ints = np.zeros(0, np.int64), np.zeros(0, np.int32)
    return Walked(
        (), np.zeros(n + 1, np.int64), np.zeros(0, np.uint8), none, np.zeros(0), none, none, np.zeros(0, np.uint64),
        ints, ints, ints, ints, np.zeros(n, np.int64), (),
    )  # fmt: skip
