"""Documents to counted rows and a vocabulary, in threads, with the same result for any number of them.

Each thread numbers the features of its run of documents in the order of first sight; runs are merged in order, which
gives the numbers that one thread would have given.

The names of columns: UTF-8 bytes that become strings only when asked for, and their order.

>>> names = Names.of(["to", "be", "to be"])
>>> names[2], names.order().tolist()
('to be', [1, 0, 2])
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from linnet._kernels import sparse
from linnet._kernels import text as kernels
from linnet._kernels.text import Scratch, VocabularyBuilder
from linnet.array_types import Array, Bytes, Floats, Floats32, Hashes, Ints, Ints32
from linnet.errors import DataError, LinnetError, require
from linnet.features.blocks import Blocks, compile_blocks
from linnet.features.buffers import Run, TextBuffer, shards

# ---- Counted documents: a sparse matrix of features, in a form that needs no scipy.
#
# One row a document, one segment a block of that document: segment s = document * n_blocks + block spans
# ``indices[indptr[s]:indptr[s + 1]]``.


Real = TypeVar("Real", np.float32, np.float64)
Done = TypeVar("Done")

TF = {"presence": 0, "count": 1, "sublinear": 2}
Norm: TypeAlias = Literal["l2", "mean"] | None
NORM: dict[str | None, int] = {None: 0, "l2": 1, "mean": 2}
"""What becomes of the segment of a block: left as it is, divided by its length, or by its sum."""


@dataclass(frozen=True)
class SparseCounts:
    """Columns of each document in the order of the text; counts is empty where only presence was asked for.

    computed holds the values of columns that Python computed, beside the n_columns that were counted.
    """

    indptr: Ints  # (n_documents * n_blocks + 1,)
    indices: Ints32  # (n_entries,)
    counts: Ints32  # (n_entries,) or (0,)
    n_blocks: int
    n_columns: int
    computed: Floats32 | None = None  # (n_documents, n_computed)

    def __len__(self) -> int:
        return (len(self.indptr) - 1) // self.n_blocks

    @property
    def row_ptr(self) -> Ints:
        """Where each document begins, as in an ordinary CSR matrix."""
        return np.ascontiguousarray(self.indptr[:: self.n_blocks])

    def take(self, rows: Ints) -> SparseCounts:
        """Return the given documents, in the given order."""
        return self._take(rows, np.zeros(0, np.int32), np.zeros(0, np.int32))[0]

    def take_seen(self, rows: Ints) -> tuple[SparseCounts, Ints32]:
        """Return the given documents with columns numbered afresh in the order of first sight, and those columns."""
        numbers, columns = np.full(self.n_columns, -1, np.int32), np.empty(self.n_columns, np.int32)
        taken, n = self._take(rows, numbers, columns)
        return replace(taken, n_columns=n), columns[:n]

    def _take(self, rows: Ints, numbers: Ints32, columns: Ints32) -> tuple[SparseCounts, int]:
        segments = (rows[:, None] * self.n_blocks + np.arange(self.n_blocks)).ravel()
        begin, end = self.indptr[segments], self.indptr[segments + 1]
        indptr = np.zeros(len(segments) + 1, dtype=np.int64)
        np.cumsum(end - begin, out=indptr[1:])
        indices = np.empty(indptr[-1], np.int32)
        counts = np.empty(indptr[-1] if len(self.counts) else 0, np.int32)
        n = kernels.take_segments(self.indices, self.counts, begin, indptr, numbers, columns, indices, counts)
        computed = None if self.computed is None else self.computed[rows]
        return replace(self, indptr=indptr, indices=indices, counts=counts, computed=computed), n

    def slice(self, first: int, last: int) -> SparseCounts:
        """Return documents first..last-1 as views."""
        indptr = self.indptr[first * self.n_blocks : last * self.n_blocks + 1]
        a, b = int(indptr[0]), int(indptr[-1])
        counts = self.counts[a:b] if len(self.counts) else self.counts
        computed = None if self.computed is None else self.computed[first:last]
        return replace(self, indptr=indptr - a, indices=self.indices[a:b], counts=counts, computed=computed)

    def document_frequency(self) -> Ints32:
        """Return in how many documents each column occurs."""
        df = np.zeros(self.n_columns, dtype=np.int32)
        kernels.document_frequency(self.indices, df)
        return df

    def values(self, tf: str, weight: npt.NDArray[Real], *, norm: Norm, multiply: bool) -> npt.NDArray[Real]:
        """Return the value of each entry, in the precision of weight: tf over the norm of its segment.

        See the kernel scale_segments.
        """
        out = np.empty(len(self.indices), dtype=weight.dtype)
        sparse.scale_segments(self.indptr, self.indices, self.counts, TF[tf], weight, NORM[norm], multiply, out)
        return out

    def segment_scale(self, weight: Floats32, norm: Norm = "l2") -> Floats32:
        """Return one over the norm of each segment of present features."""
        out = np.empty(len(self.indptr) - 1, dtype=np.float32)
        sparse.segment_scale(self.indptr, self.indices, weight, NORM[norm], out)
        return out

    def with_computed(self, values: Floats32, scale: Floats32 | None) -> tuple[Ints, Ints32, Floats32]:
        """Return CSR rows (indptr, indices, values) with the computed columns, times scale, behind the counted ones."""
        extra = np.zeros((len(self), 0), np.float32) if self.computed is None else self.computed
        if scale is not None:
            extra = extra * scale
        row, column = np.nonzero(extra)
        at = self.row_ptr[row + 1]
        indptr = self.row_ptr + np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(self)))])
        indices = np.insert(self.indices, at, self.n_columns + column)
        return indptr, indices, np.insert(values, at, extra[row, column])

    def class_counts(self, y: Array, n_classes: int, weight: Floats | None = None) -> Array:
        """Return how many documents of each class hold each column, (n_columns, n_classes), or what they weigh together.

        y may be an indicator matrix: documents then count for each of their classes.
        """
        if y.ndim == 2:
            rows, y = np.nonzero(y)
            more = None if weight is None else weight[rows]
            return self.take(rows).class_counts(y.astype(np.int32), n_classes, more)
        if weight is not None:
            sums = np.zeros((self.n_columns, n_classes))
            sparse.class_sums(self.row_ptr, self.indices, np.zeros(0), y, weight, sums)
            return sums
        out = np.zeros((self.n_columns, n_classes), dtype=np.int32)
        kernels.class_frequency(self.row_ptr, self.indices, y, out)
        return out

    def keep(self, numbers: Ints32) -> SparseCounts:
        """Renumber columns, dropping those with a negative number: in place, or in a copy of arrays that others read, too."""
        indptr, indices, counts = self.indptr, self.indices, self.counts
        if not indices.flags.writeable:
            indptr, indices, counts = indptr.copy(), indices.copy(), counts.copy()
        left = kernels.prune_columns(indices, counts, indptr, numbers)
        n_columns = int(numbers.max(initial=-1)) + 1
        return SparseCounts(
            indptr, indices[:left], counts[:left] if len(counts) else counts, self.n_blocks, n_columns, self.computed
        )

    def to_scipy(self, values: Array | None = None) -> Any:
        """Return a scipy CSR matrix with sorted columns; counts (or ones) unless values are given.

        The rows themselves stay as they are. Where two blocks hash to one column, the values are added up.
        """
        csr_matrix = require("scipy.sparse", "a sparse matrix", "sklearn").csr_matrix
        if values is None:
            values = self.counts if len(self.counts) else np.ones(len(self.indices), dtype=np.int64)
        row_ptr = self.row_ptr
        indices, data = np.empty_like(self.indices), np.empty_like(values)
        scratch = np.empty((2, int(np.diff(row_ptr).max(initial=0))), dtype=np.uint64)
        kernels.sort_rows(row_ptr, self.indices, values, self.n_columns, scratch, indices, data)
        if len(indices) < 2**31:
            row_ptr = row_ptr.astype(np.int32)
        matrix = csr_matrix((data, indices, row_ptr), shape=(len(self), self.n_columns))
        matrix.has_sorted_indices = True
        matrix.sum_duplicates()
        return matrix


def concatenate(parts: Sequence[SparseCounts], n_blocks: int, n_columns: int) -> SparseCounts:
    """Return the rows of all parts, one part after the other."""
    at = np.concatenate([[0], np.cumsum([len(p.indices) for p in parts])])
    none = np.zeros(0, np.int32)
    computed = [p.computed for p in parts if p.computed is not None]
    return SparseCounts(
        np.concatenate([np.zeros(1, np.int64), *(p.indptr[1:] + a for p, a in zip(parts, at, strict=False))]),
        np.concatenate([none, *(p.indices for p in parts)]),
        np.concatenate([none, *(p.counts for p in parts)]),
        n_blocks,
        n_columns,
        np.concatenate(computed) if computed else None,
    )


LONGEST = 80
LENGTH = (1 << 29) - 1  # of a place: the bits above hold the flags of a block


@dataclass(frozen=True)
class Names:
    """Name j is data[begin[j]:begin[j] + length[j]]; group j, where given, is the block that the column belongs to."""

    data: Bytes
    begin: Ints
    length: Ints
    group: Bytes

    @classmethod
    def of(cls, names: Iterable[str]) -> Names:
        """Take names from Python strings."""
        data, offsets = joined([name.encode() for name in names])
        return cls(data, offsets[:-1], np.diff(offsets), np.zeros(len(offsets) - 1, np.uint8))

    @classmethod
    def seen(cls, pieces: list[TextBuffer], blocks: Blocks, seen: Seen, fingerprints: Hashes) -> Names:
        """Write names from where columns were first seen."""
        data, offsets = names_of(pieces, blocks, seen, fingerprints)
        return cls(data, offsets[:-1], np.diff(offsets), seen.block)

    def __len__(self) -> int:
        return len(self.begin)

    def __getitem__(self, column: int) -> str:
        at = int(self.begin[column])
        return self.data[at : at + int(self.length[column])].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        data = self.data.tobytes()
        ends = (self.begin + self.length).tolist()
        return (data[a:b].decode("utf-8", "replace") for a, b in zip(self.begin.tolist(), ends, strict=True))

    def take(self, columns: npt.NDArray[np.integer]) -> Names:
        """Return the names of some columns, in the given order; the bytes are shared."""
        return Names(self.data, self.begin[columns], self.length[columns], self.group[columns])

    def order(self) -> Ints:
        """Return the order of the columns by group, then by name as Python compares strings.

        The order of code points is that of UTF-8 bytes. Bytes are compared eight at a time, as big-endian numbers; names
        that are equal so far go to the next round. Of names that differ in zero bytes at the end the shorter is first.
        """
        words = np.ndarray(len(self.data) + 1, ">u8", np.append(self.data, np.zeros(8, np.uint8)), strides=(1,))
        order = np.lexsort((self.length, self.group))
        place, rank = np.arange(len(self)), self.group[order].astype(np.int64)
        for depth in range(0, int(self.length.max(initial=0)), 8):
            mine = order[place]
            left = np.clip(self.length[mine] - depth, 0, 8)  # bytes of the name that count in this round
            unused = (64 - 8 * left).astype(np.uint64)  # a shift by 64 gives 0
            key = words[np.where(left > 0, self.begin[mine] + depth, 0)].astype(np.uint64) >> unused << unused
            sorting = np.lexsort((key, rank))
            order[place], key = mine[sorting], key[sorting]
            new = np.ones(len(key) + 1, dtype=bool)
            new[1:-1] = (key[1:] != key[:-1]) | (rank[1:] != rank[:-1])
            tied = ~(new[1:] & new[:-1])
            place, rank = place[tied], np.cumsum(new[:-1])[tied]
        return order


def joined(names: Sequence[bytes]) -> tuple[Bytes, Ints]:
    """Return names as UTF-8 bytes, and where each begins."""
    offsets = np.cumsum([0, *map(len, names)], dtype=np.int64)
    return np.frombuffer(b"".join(names), dtype=np.uint8), offsets


def shown(name: str) -> str:
    """Show the blanks at the edges of a character n-gram.

    >>> shown(" th"), shown("the end")
    ('▁th', 'the end')
    """
    return re.sub("^ +| +$", lambda blanks: "▁" * len(blanks[0]), name)


def bounded(name: str) -> str:
    """Cut a name that is longer than a table of names has room for.

    >>> len(bounded("a" * 1000)), bounded("short")
    (80, 'short')
    """
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


CHUNK_DOCUMENTS = 1 << 12
ROOM = 1 << 16  # fingerprints that are written before they are numbered
MOST_ENTRIES = (1 << 32) - 2


def thread_count(threads: int | None) -> int:
    """Return how many threads to use; None or -1 means all cores this process may use, -2 all but one."""
    if isinstance(threads, int) and threads > 0:
        return threads
    if threads is not None and (not isinstance(threads, int) or threads == 0):
        raise DataError(f"the number of threads must be 1 or more, or None for all cores, got {threads!r}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + (-1 if threads is None else threads))


def in_threads(work: Callable[[Run], Done], runs: list[Run]) -> list[Done]:
    """Work through runs of documents, each in a thread of its own; one run needs none."""
    if len(runs) == 1:
        return [work(runs[0])]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(runs)) as pool:
        return list(pool.map(work, runs))


def one_ahead(items: Iterator[Done]) -> Iterator[Done]:
    """Make the next item in a thread of its own while this one is worked on.

    The thread may wait for ever (for standard input), so nobody waits for it when the work ends early.
    """
    from concurrent.futures import ThreadPoolExecutor

    maker = ThreadPoolExecutor(1, "linnet-ahead")
    ready = maker.submit(next, items, None)
    while (item := ready.result()) is not None:
        ready = maker.submit(next, items, None)
        yield item


class Seen(NamedTuple):
    """Where each column was first met: enough to write its name while the texts are at hand."""

    document: Ints32
    start: Ints32
    length: Ints32  # with the flags of the block in its two highest bits
    block: Bytes

    def take(self, columns: Array) -> Seen:
        """Return the entries of some columns."""
        return Seen(self.document[columns], self.start[columns], self.length[columns], self.block[columns])


@dataclass(frozen=True)
class Counted:
    """Rows, the fingerprint of each column, and where it was first seen."""

    rows: SparseCounts
    fingerprints: Hashes
    seen: Seen

    def keep(self, columns: Ints) -> Counted:
        """Return some of the columns, in the given order; the rows are pruned in place."""
        numbers = np.full(self.rows.n_columns, -1, dtype=np.int32)
        numbers[columns] = np.arange(len(columns), dtype=np.int32)
        return Counted(self.rows.keep(numbers), self.fingerprints[columns], self.seen.take(columns))

    def names(self, pieces: list[TextBuffer], blocks: Blocks, columns: Any = slice(None)) -> Names:
        """Return the names of some columns, of all by default, from the texts that were counted."""
        return Names.seen(pieces, blocks, self.seen.take(columns), self.fingerprints[columns])


@dataclass(frozen=True)
class Slots:
    """A vocabulary laid out for lookup: the slot of a fingerprint is its top bits, or one soon after; 0 is empty."""

    slots: Hashes
    shift: int

    def find(self, fingerprints: Hashes) -> Ints:
        """Return the slot of each fingerprint, -1 where it is not known."""
        out = np.empty(len(fingerprints), dtype=np.int64)
        kernels.find_slots(fingerprints, self.slots, self.shift, out)
        return out

    @classmethod
    def of(cls, fingerprints: Hashes, slots: Hashes | None = None) -> Slots:
        """Lay out distinct fingerprints, in the given zeroed array or a new one; the layout depends on their set."""
        bits, size = cls.size_for(len(fingerprints))
        if slots is None:
            slots = np.zeros(size, dtype=np.uint64)
        if not kernels.place_fingerprints(fingerprints, slots, 64 - bits):
            raise LinnetError("thousands of features have nearly the same hash, as if made to; look for odd texts")
        return cls(slots, 64 - bits)

    @staticmethod
    def size_for(n: int) -> tuple[int, int]:
        """Return the bits of the home slot and the number of slots for n fingerprints: 40 to 80 % are used.

        The spare slots behind the last home are more than any cluster of hashed values needs, and one is always empty.
        """
        bits = max(4, int(n * 1.25).bit_length())
        return bits, (1 << bits) + min(n, 4096) + 1


def _builder(pieces: list[TextBuffer], run: Run, blocks: Blocks, counting: bool) -> VocabularyBuilder:
    """Return an empty vocabulary of about the right size for a run of documents; the first has room for all entries."""
    spread = sum((b.high - b.low + 1) * b.density for b in blocks)
    size = sum(int(pieces[k].offsets[b] - pieces[k].offsets[a]) for k, a, b in run)
    documents = sum(b - a for _, a, b in run)
    every = sum(int(piece.offsets[-1] - piece.offsets[0]) for piece in pieces) if run[0][:2] == (0, 0) else size
    # Heaps' law, for pairs of words; a table that must grow costs more than one that is a little large
    bits = min(22, max(12, int(4.5 * size**0.75).bit_length()))
    return VocabularyBuilder(bits, max(1024, every * spread // 5), documents * len(blocks), counting)


def emitted_chunks(
    pieces: list[TextBuffer], run: Run, blocks: Blocks, *scratches: Scratch
) -> Iterator[tuple[Scratch, int, int, int, Ints]]:
    """Write fingerprints to scratch, to each in turn: scratch, piece, first document, documents, ends of their blocks."""
    compiled = compile_blocks(blocks)
    room = cycle([(scratch, np.empty(CHUNK_DOCUMENTS * len(blocks), dtype=np.int64)) for scratch in scratches])
    for k, d, last in run:
        while d < last:
            scratch, ends = next(room)
            done = kernels.emit_chunk(pieces[k].data, pieces[k].offsets, d, last, compiled, scratch, ends)
            yield scratch, k, d, done, ends
            d += done


def _longest(pieces: list[TextBuffer], run: Run) -> int:
    return max((pieces[k].longest() for k, _, _ in run), default=0)


def count(pieces: list[TextBuffer], blocks: Blocks, *, counting: bool = False, threads: int | None = None) -> Counted:
    """Count the features of all documents; columns are numbered in the order of first sight.

    Two threads share a run of documents: one writes fingerprints, the other numbers them. Two vocabularies would take more
    memory, and time to be made one.
    """
    starts = np.concatenate([[0], np.cumsum([len(p) for p in pieces])]).tolist()
    threads = thread_count(threads)

    def work(run: Run) -> VocabularyBuilder:
        found = _builder(pieces, run, blocks, counting)
        longest = _longest(pieces, run)
        chunks = emitted_chunks(pieces, run, blocks, *(Scratch(longest, ROOM) for _ in range(min(threads, 2))))
        for scratch, k, d, done, ends in one_ahead(chunks) if threads > 1 else chunks:
            if found.n_entries + int(ends[done * len(blocks) - 1]) > MOST_ENTRIES:
                raise LinnetError("more than 4 billion features in one run; use more threads or fewer n-grams")
            found.add(scratch, ends, done, len(blocks), starts[k] + d)
        return found

    found, *others = in_threads(work, shards(pieces, (threads + 1) // 2))
    for other in others:
        found.absorb(other)
    rows = SparseCounts(found.indptr, found.indices, found.counts, len(blocks), found.n_columns)
    return Counted(rows, found.fingerprints, Seen(*found.seen))


def vocabulary(fingerprints: Hashes) -> tuple[Any, ...]:
    """Return what ``count_known`` takes for columns with these fingerprints: slots, shift, column of each slot, columns."""
    laid = Slots.of(fingerprints)
    column_of = np.full(len(laid.slots), -1, dtype=np.int32)
    column_of[laid.find(fingerprints)] = np.arange(len(fingerprints), dtype=np.int32)
    return laid.slots, laid.shift, column_of, len(fingerprints)


def hashing(bits: int) -> tuple[Any, ...]:
    """Return what ``count_known`` takes for 2^bits columns without a vocabulary."""
    return np.zeros(0, np.uint64), 64 - bits, np.zeros(0, np.int32), 1 << bits


def count_known(
    pieces: list[TextBuffer],
    blocks: Blocks,
    slots: Hashes,
    shift: int,
    column_of: Ints32,
    n_columns: int,
    *,
    counting: bool = False,
    threads: int | None = None,
) -> SparseCounts:
    """Count the features that a vocabulary knows; with no slots, every feature, by hashing (n_columns = 2^bits)."""
    n_blocks = len(blocks)

    def work(run: Run) -> SparseCounts:
        scratch = Scratch(_longest(pieces, run))
        last_seen = np.zeros(n_columns, dtype=np.uint32)
        indptr = np.zeros(sum(b - a for _, a, b in run) * n_blocks + 1, dtype=np.int64)
        indices, counts = np.empty(1 << 16, np.int32), np.empty((1 << 16) if counting else 0, np.int32)
        state = np.zeros(2, dtype=np.int64)
        for _, _, _, done, ends in emitted_chunks(pieces, run, blocks, scratch):
            need = int(state[0]) + int(ends[done * n_blocks - 1])
            if need > MOST_ENTRIES:
                raise LinnetError("more than 4 billion features in one run; transform in smaller batches")
            if need > len(indices):
                indices = np.concatenate([indices, np.empty(need, np.int32)])
                counts = np.concatenate([counts, np.empty(need, np.int32)]) if counting else counts
            kernels.lookup_chunk(
                scratch, ends, done * n_blocks, slots, shift, column_of, last_seen, state, indices, counts, indptr
            )
        return SparseCounts(indptr, indices[: state[0]], counts[: state[0]], n_blocks, n_columns)

    parts = in_threads(work, shards(pieces, thread_count(threads)))
    return parts[0] if len(parts) == 1 else concatenate(parts, n_blocks, n_columns)


def names_of(
    pieces: list[TextBuffer], blocks: Blocks, seen: Seen, fingerprints: Hashes | None = None
) -> tuple[Bytes, Ints]:
    """Write the names of columns from where they were first seen: UTF-8 bytes and offsets, in the order of seen.

    The fingerprints tell "as" and "ss" apart where both were cut from the folding of one letter ("a\u00df").
    """
    starts = np.concatenate([[0], np.cumsum([len(p) for p in pieces])])
    which = np.searchsorted(starts, seen.document, side="right") - 1
    compiled = compile_blocks(blocks)
    spans = (seen.length & LENGTH).astype(np.int64)
    scratch = Scratch(int(spans.max(initial=0)), room=0)
    fps = np.zeros(0, np.uint64) if fingerprints is None else fingerprints
    out: list[Bytes] = []
    lengths = np.zeros(len(seen.document), dtype=np.int64)
    for k, piece in enumerate(pieces):
        mine = np.flatnonzero(which == k)
        begin = piece.offsets[seen.document[mine] - starts[k]] + seen.start[mine]
        room = np.empty(int((8 * spans[mine] + 16).sum()), dtype=np.uint8)
        offsets = np.zeros(len(begin) + 1, dtype=np.int64)
        kernels.write_names(
            piece.data, begin, seen.length[mine], seen.block[mine], fps[mine] if len(fps) else fps, compiled, scratch,
            room, offsets,
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
