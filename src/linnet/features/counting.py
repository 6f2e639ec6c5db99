"""Documents to counted rows and a vocabulary, in threads, with the same result for any number of them.

Each thread numbers the features of its run of documents in the order of first sight; runs are merged in order, which
gives the numbers that one thread would have given.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels import featurize, vocab
from linnet.errors import LinnetError
from linnet.features.blocks import Blocks, table
from linnet.features.buffers import Scratch, TextBuffer, shards
from linnet.features.counts import SparseCounts

__all__ = ["Counted", "Seen", "Slots", "count", "count_known", "names_of", "thread_count"]

CHUNK_DOCUMENTS = 1 << 12
MOST_ENTRIES = (1 << 32) - 2


def thread_count(threads: int | None) -> int:
    """Return how many threads to use; None means all cores this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise LinnetError(f"threads must be 1 or more, got {threads}")
    return threads


@dataclass(frozen=True)
class Seen:
    """Where each column was first met: enough to write its name while the texts are at hand."""

    document: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    length: npt.NDArray[np.int32]  # with the flags of the block in its two highest bits
    block: npt.NDArray[np.uint8]

    def take(self, columns: npt.NDArray[Any]) -> Seen:
        """Return the entries of some columns."""
        return Seen(self.document[columns], self.start[columns], self.length[columns], self.block[columns])


@dataclass(frozen=True)
class Counted:
    """Rows, the fingerprint of each column, and where it was first seen."""

    rows: SparseCounts
    fingerprints: npt.NDArray[np.uint64]
    seen: Seen


@dataclass(frozen=True)
class Slots:
    """A vocabulary laid out for lookup: the slot of a fingerprint is its top bits, or one soon after; 0 is empty."""

    slots: npt.NDArray[np.uint64]
    shift: int

    def find(self, fingerprints: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Return the slot of each fingerprint, -1 where it is not known."""
        out = np.empty(len(fingerprints), dtype=np.int64)
        vocab.find(fingerprints, self.slots, self.shift, out)
        return out

    @classmethod
    def of(cls, fingerprints: npt.NDArray[np.uint64], slots: npt.NDArray[np.uint64] | None = None) -> Slots:
        """Lay out distinct fingerprints, in the given zeroed array or a new one; the layout depends on their set."""
        bits, size = cls.size_for(len(fingerprints))
        if slots is None:
            slots = np.zeros(size, dtype=np.uint64)
        if not vocab.place(fingerprints, slots, 64 - bits):
            raise LinnetError("thousands of features have nearly the same hash, as if made to; look for odd texts")
        return cls(slots, 64 - bits)

    @staticmethod
    def size_for(n: int) -> tuple[int, int]:
        """Return the bits of the home slot and the number of slots for n fingerprints: 40 to 80 % are used.

        The spare slots behind the last home are more than any cluster of hashed values needs, and one is always empty.
        """
        bits = max(4, int(n * 1.25).bit_length())
        return bits, (1 << bits) + min(n, 4096) + 1


class _Run:
    """The growing tables of one thread."""

    def __init__(
        self, pieces: list[TextBuffer], run: list[tuple[int, int, int]], blocks: Blocks, counting: bool
    ) -> None:
        self.pieces, self.run, self.blocks, self.counting = pieces, run, blocks, counting
        spread = sum((b.high - b.low + 1) * b.density for b in blocks)
        size = sum(int(pieces[k].offsets[b] - pieces[k].offsets[a]) for k, a, b in run)
        documents = sum(b - a for _, a, b in run)
        # Heaps' law, for pairs of words; a table that must grow costs more than one that is a little large
        self.bits = min(22, max(12, int(4.5 * size**0.75).bit_length()))
        self.table = np.zeros(2 << self.bits, dtype=np.uint64)
        self.columns_room(max(1024, (1 << self.bits) * 3 // 4))
        self.indices = np.empty(max(1024, size * spread // 5), dtype=np.int32)
        self.counts = np.empty(len(self.indices) if counting else 0, dtype=np.int32)
        self.indptr = np.zeros(documents * len(blocks) + 1, dtype=np.int64)
        self.state = np.zeros(3, dtype=np.int64)

    def columns_room(self, n: int) -> None:
        """Make room for n columns, keeping those there are."""
        kinds = {"fps": np.uint64, "doc": np.int32, "start": np.int32, "length": np.int32, "block": np.uint8}
        for name, kind in kinds.items():
            new = np.empty(n, dtype=kind)
            if hasattr(self, name):
                old = getattr(self, name)
                new[: len(old)] = old
            setattr(self, name, new)

    fps: npt.NDArray[np.uint64]
    doc: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    length: npt.NDArray[np.int32]
    block: npt.NDArray[np.uint8]

    def grow(self, wanted: int) -> None:
        """Double whatever has no room for wanted more."""
        columns, entries = int(self.state[0]), int(self.state[1])
        while (1 << self.bits) * 3 // 4 < columns + wanted:
            self.bits += 1
            larger = np.zeros(2 << self.bits, dtype=np.uint64)
            vocab.rehash(self.table, larger, 64 - self.bits)
            self.table = larger
        if columns + wanted > len(self.fps):
            self.columns_room(max(2 * len(self.fps), columns + wanted))
        if entries + wanted > len(self.indices):
            room = max(len(self.indices) * 3 // 2, entries + wanted)
            if room > MOST_ENTRIES:
                raise LinnetError("more than 4 billion features in one run; use more threads or fewer n-grams")
            self.indices = np.concatenate([self.indices, np.empty(room - len(self.indices), dtype=np.int32)])
            if self.counting:
                self.counts = np.concatenate([self.counts, np.empty(room - len(self.counts), dtype=np.int32)])

    def work(self, first_document: list[int]) -> _Run:
        """Count all documents of the run."""
        n_blocks, kinds = len(self.blocks), table(self.blocks)
        scratch = Scratch(max((self.pieces[k].longest() for k, _, _ in self.run), default=0))
        ends = np.empty(CHUNK_DOCUMENTS * n_blocks, dtype=np.int64)
        for k, first, last in self.run:
            piece = self.pieces[k]
            d = first
            while d < last:
                done = featurize.emit_chunk(
                    piece.data, piece.offsets, d, last, kinds, *scratch.cutting,
                    scratch.fps, scratch.starts, scratch.lengths, ends,
                )  # fmt: skip
                if done < 0:
                    scratch.make_room(-done)
                    continue
                segment, n_segments = 0, done * n_blocks
                while segment < n_segments:
                    segment = vocab.index_chunk(
                        scratch.fps, scratch.starts, scratch.lengths, ends, segment, n_segments, n_blocks,
                        first_document[k] + d, self.table, 64 - self.bits, self.state, self.indices, self.counts,
                        self.indptr, self.fps, self.doc, self.start, self.length, self.block,
                    )  # fmt: skip
                    if segment < n_segments:
                        self.grow(int(ends[segment] - (ends[segment - 1] if segment else 0)))
                d += done
        return self

    def rows(self, n_columns: int) -> SparseCounts:
        entries = int(self.state[1])
        return SparseCounts(self.indptr, self.indices[:entries], self.counts[:entries], len(self.blocks), n_columns)

    def seen(self, n: int) -> Seen:
        return Seen(self.doc[:n], self.start[:n], self.length[:n], self.block[:n])


def count(pieces: list[TextBuffer], blocks: Blocks, *, counting: bool = False, threads: int | None = None) -> Counted:
    """Count the features of all documents; columns are numbered in the order of first sight."""
    runs = shards(pieces, thread_count(threads))
    starts = np.concatenate([[0], np.cumsum([len(p) for p in pieces])]).tolist()
    work = [_Run(pieces, run, blocks, counting) for run in runs]
    if len(work) == 1:
        run = work[0].work(starts)
        n = int(run.state[0])
        return Counted(run.rows(n), run.fps[:n], run.seen(n))
    with ThreadPoolExecutor(len(work)) as pool:
        done = list(pool.map(lambda r: r.work(starts), work))
    return _merge(done)


def _merge(runs: list[_Run]) -> Counted:
    sizes = [int(r.state[0]) for r in runs]
    bits = max(12, (sum(sizes) * 4 // 3).bit_length())
    common = np.zeros(2 << bits, dtype=np.uint64)
    fps = np.empty(sum(sizes), dtype=np.uint64)
    n = 0
    parts = []
    for run, size in zip(runs, sizes, strict=True):
        numbers = np.empty(size, dtype=np.int32)
        before = n
        n = vocab.merge(run.fps[:size], common, 64 - bits, n, fps, numbers)
        fresh = np.empty(n - before, dtype=np.int64)
        new = numbers >= before
        fresh[numbers[new] - before] = np.flatnonzero(new)
        parts.append(run.seen(size).take(fresh))
        vocab.renumber(run.indices[: int(run.state[1])], numbers)
    entries = [int(r.state[1]) for r in runs]
    at = np.concatenate([[0], np.cumsum(entries)])
    rows = SparseCounts(
        np.concatenate([[0], *(r.indptr[1:] + a for r, a in zip(runs, at, strict=False))]),
        np.concatenate([r.indices[:e] for r, e in zip(runs, entries, strict=True)]),
        np.concatenate([r.counts[:e] for r, e in zip(runs, entries, strict=True)]),
        len(runs[0].blocks),
        n,
    )
    seen = Seen(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("document", "start", "length", "block")))
    return Counted(rows, fps[:n].copy(), seen)


def count_known(
    pieces: list[TextBuffer],
    blocks: Blocks,
    slots: npt.NDArray[np.uint64],
    shift: int,
    column_of: npt.NDArray[np.int32],
    n_columns: int,
    *,
    counting: bool = False,
    threads: int | None = None,
) -> SparseCounts:
    """Count the features that a vocabulary knows; with no slots, every feature, by hashing (n_columns = 2^bits)."""
    kinds, n_blocks = table(blocks), len(blocks)

    def work(run: list[tuple[int, int, int]]) -> tuple[Any, Any, Any]:
        scratch = Scratch(max((pieces[k].longest() for k, _, _ in run), default=0))
        ends = np.empty(CHUNK_DOCUMENTS * n_blocks, dtype=np.int64)
        last_seen = np.zeros(n_columns, dtype=np.uint32)
        indptr = np.zeros(sum(b - a for _, a, b in run) * n_blocks + 1, dtype=np.int64)
        indices, counts = np.empty(1 << 16, np.int32), np.empty((1 << 16) if counting else 0, np.int32)
        state = np.zeros(2, dtype=np.int64)
        for k, d, last in run:
            piece = pieces[k]
            while d < last:
                done = featurize.emit_chunk(
                    piece.data, piece.offsets, d, last, kinds, *scratch.cutting,
                    scratch.fps, scratch.starts, scratch.lengths, ends,
                )  # fmt: skip
                if done < 0:
                    scratch.make_room(-done)
                    continue
                need = int(state[0]) + int(ends[done * n_blocks - 1])
                if need > MOST_ENTRIES:
                    raise LinnetError("more than 4 billion features in one run; transform in smaller batches")
                if need > len(indices):
                    indices = np.concatenate([indices, np.empty(need, np.int32)])
                    counts = np.concatenate([counts, np.empty(need, np.int32)]) if counting else counts
                vocab.lookup_chunk(
                    scratch.fps, ends, done * n_blocks, slots, shift, column_of, last_seen, state, indices, counts,
                    indptr,
                )  # fmt: skip
                d += done
        return indptr, indices[: state[0]], counts[: state[0]]

    runs = shards(pieces, thread_count(threads))
    if len(runs) == 1:
        parts = [work(runs[0])]
    else:
        with ThreadPoolExecutor(len(runs)) as pool:
            parts = list(pool.map(work, runs))
    at = np.concatenate([[0], np.cumsum([len(p[1]) for p in parts])])
    return SparseCounts(
        np.concatenate([np.zeros(1, np.int64), *(p[0][1:] + a for p, a in zip(parts, at, strict=False))]),
        np.concatenate([p[1] for p in parts]) if len(parts) > 1 else parts[0][1],
        np.concatenate([p[2] for p in parts]) if len(parts) > 1 else parts[0][2],
        n_blocks,
        n_columns,
    )


def names_of(
    pieces: list[TextBuffer], blocks: Blocks, seen: Seen, fingerprints: npt.NDArray[np.uint64] | None = None
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Write the names of columns from where they were first seen: UTF-8 bytes and offsets, in the order of seen.

    The fingerprints tell "as" and "ss" apart where both were cut from the folding of one letter ("a\u00df").
    """
    starts = np.concatenate([[0], np.cumsum([len(p) for p in pieces])])
    which = np.searchsorted(starts, seen.document, side="right") - 1
    kinds = table(blocks)
    spans = (seen.length & ((1 << 29) - 1)).astype(np.int64)
    scratch = Scratch(int(spans.max(initial=0)), room=1)
    fps = np.zeros(0, np.uint64) if fingerprints is None else fingerprints
    out: list[npt.NDArray[np.uint8]] = []
    lengths = np.zeros(len(seen.document), dtype=np.int64)
    for k, piece in enumerate(pieces):
        mine = np.flatnonzero(which == k)
        begin = piece.offsets[seen.document[mine] - starts[k]] + seen.start[mine]
        room = np.empty(int((8 * spans[mine] + 16).sum()), dtype=np.uint8)
        offsets = np.zeros(len(begin) + 1, dtype=np.int64)
        featurize.write_names(
            piece.data, begin, seen.length[mine], seen.block[mine], fps[mine] if len(fps) else fps, kinds,
            *scratch.cutting, room, offsets,
        )  # fmt: skip
        lengths[mine] = np.diff(offsets)
        out.append(room[: offsets[-1]].copy())
    data = np.concatenate(out) if len(out) > 1 else out[0]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    if len(pieces) > 1:  # names were written piece by piece: put them back in the order of seen
        order = np.argsort(which, kind="stable")
        written = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[order])])
        begin = np.empty(len(order), np.int64)
        begin[order] = written[:-1]
        data = data[np.repeat(begin - offsets[:-1], lengths) + np.arange(offsets[-1])]
    return data, offsets
