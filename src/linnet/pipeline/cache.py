"""What a run keeps on the disk: rows as numbers, in blocks that fit in memory, names of features, and the test rows.

A block is a file of chunks; a chunk holds the rows of one batch that were drawn for this block: sizes, columns, counts
where they are asked for, and classes, each packed in as few bytes as its numbers need; computed columns, weights and label
distributions follow as floats. Rows are dealt out at random,
so that every block looks like the whole: input sorted by label does no harm. With one block rows stay in order.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linnet._kernels.text import merge_vocabulary, pack_numbers, rehash_table, unpack_numbers
from linnet.array_types import Array, Bytes, Floats, Hashes, Ints, Ints32, Labels
from linnet.data.dataset import labels_of
from linnet.errors import DataError, LinnetError
from linnet.features.counting import Names, SparseCounts, concatenate, joined
from linnet.features.plan import documents
from linnet.model.decision import Answers
from linnet.model.model import Model
from linnet.pipeline.events import bytes_of
from linnet.solvers.matrix import BlockNumbers

# ---- How much memory a run may take, and what it is spent on.
#
# A limit is a promise about the whole process, so what Python and its libraries take is set aside first; the rest is
# shared out: texts of one batch with their counts, the vocabulary while it grows, the weights, the rows of one block.


PROCESS = 150_000_000
"""What Python, NumPy, Arrow and this package take before the first row."""
LEAST = 250_000_000


def available() -> int:
    """Return how many bytes this process may still take: what the machine has free, or its container less what it uses."""
    try:
        free = bytes_of("/proc/meminfo", "MemAvailable")
    except (OSError, StopIteration, ValueError):
        pages = os.sysconf("SC_PHYS_PAGES") if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}) else 1 << 21
        free = pages * 4096 // 2
    group = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            free = min(free, int(limit) - int((group / "memory.current").read_text(encoding="ascii")))
    return max(0, free)


def memory_needed(input_bytes: int) -> int:
    """Return about how many bytes ordinary training takes for so many bytes of text.

    Texts are held twice while they are split; counted features take ten times their bytes (words 1-3 of long texts, and
    more where characters are counted too). 27 is a cautious guess: a stream that was not needed costs time, memory that
    runs out costs the run.

    >>> memory_needed(1_000_000) // 1_000_000
    27
    """
    return 27 * input_bytes


def return_freed(mapped: int = 1 << 23, kept: int = 1 << 20) -> None:
    """Ask the C library to hand arrays of `mapped` bytes back to the system when they are freed, and what is free beyond `kept`."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # glibc only; elsewhere the limit is less exact
        libc = ctypes.CDLL(None)
        libc.mallopt(-3, mapped)  # M_MMAP_THRESHOLD: larger blocks are mapped, and unmapped when freed
        libc.mallopt(-1, kept)  # M_TRIM_THRESHOLD
        libc.mallopt(-8, 1)  # M_ARENA_MAX: what one thread freed serves the next


def keep_freed() -> None:
    """Keep freed arrays of up to 64 MB: the system clears every page it gives, and training in memory makes many arrays.

    Arrow takes its memory from the same place, so that what reading has freed serves counting.
    """
    return_freed(1 << 26, 1 << 29)
    pa.set_memory_pool(pa.system_memory_pool())


def give_back() -> None:
    """Hand memory that is free back to the system: at the end of a stage."""
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@dataclass(frozen=True)
class Budget:
    """The parts of a limit, in bytes.

    >>> Budget(10**9).free
    850000000
    """

    total: int

    def __post_init__(self) -> None:
        if self.total < LEAST:
            raise LinnetError(
                f"max_memory of {self.total / 1e6:,.0f} MB is too little; give {LEAST // 10**6} MB or more"
            )

    @property
    def free(self) -> int:
        """What is left when the program is loaded."""
        return self.total - PROCESS

    def batch_bytes(self, spread: int) -> int:
        """Return how many bytes of text to count at a time; spread is about how many features five bytes give."""
        return int(min(8 << 20, max(1 << 18, 0.1 * self.free / (8 + 1.6 * spread))))

    def vocabulary(self) -> int:
        """Return how many features may be counted at a time: 42 bytes a slot, three quarters of the slots used."""
        slots = 1 << max(12, int(0.45 * self.free / 42).bit_length() - 1)
        return slots * 3 // 4

    def columns(self, per_output: int, n_outputs: int) -> int:
        """Return how many features a model may have, where solving takes so many bytes a feature and output."""
        return int(0.45 * self.free / (48 + 8 * n_outputs + per_output * n_outputs))

    def block_entries(self, per_entry: int) -> int:
        """Return how many entries the rows of one block may have; two are in memory at a time."""
        return max(10_000, int(0.06 * self.free / per_entry))

    def whole_entries(self, per_entry: int) -> int:
        """Return up to how many entries all rows are held in memory as one block."""
        return max(10_000, int(0.3 * self.free / per_entry))

    def exact_rows(self) -> int:
        """Return up to how many rows labels and parts are kept one by one, so that the split is that of a data set."""
        return int(0.3 * self.free / 80)


# ---- A vocabulary that grows with a stream and never past its bound: exact while it fits, heavy hitters after that.
#
# Each feature has a counter of the documents that hold it. When there are more counters than the bound allows, the rare
# ones are dropped as Misra and Gries do it: with t the value of the first counter that is to go, every counter goes down
# by t, and those at zero are dropped. What a feature has lost before it came (back) is then at most the sum of all such t,
#
#     lost <= pairs / kept,    pairs = (feature, document) pairs counted, kept = counters left by a pruning, at least,
#
# so every feature in more than ``lost`` documents is in the vocabulary, and no count is too high. Counters themselves are
# not lowered: the true count of a feature lies between ``counts`` and ``counts + missed``. A second pass over the
# documents then counts the features that were kept exactly.
#
# References: Misra and Gries: Finding Repeated Elements, 1982; Berinde et al.: Space-optimal Heavy Hitters with Strong
# Error Bounds, 2010.


LATER = np.int64(1) << np.int64(62)
"""Added to the place of features first met in dev rows: they are numbered behind those of training rows."""
KEPT_SHARE = 0.5
_NEVER = np.iinfo(np.int64).max


class StreamVocabulary:
    """Fingerprints and the documents that hold them; at most ``most`` features, or those of one batch.

    >>> v = StreamVocabulary(most=8)
    >>> for fps in ([11, 22, 33, 44, 55, 66, 77], [11, 88], [11, 99]):
    ...     _ = v.add(np.array(fps, np.uint64) << np.uint64(50), np.array([9] + [1] * (len(fps) - 1), np.int32))
    >>> v.n, v.lost, v.counts.tolist()
    (3, 1, [27, 1, 1])
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.bits = 12
        self.table = np.zeros(2 << self.bits, np.uint64)
        self.n = self.lost = self.pairs = self.met = 0
        self._next = [0, 0]  # the place of the next feature met, in training and dev rows
        self.streams: list[tuple[int, int]] = []  # how many places each of several streams took that were added up
        self._room(1024)

    fps: Hashes
    df: Ints32
    came: Ints32
    key: Ints

    def _room(self, n: int) -> None:
        for name, kind in {"fps": np.uint64, "df": np.int32, "came": np.int32, "key": np.int64}.items():
            new: Array = np.empty(n, dtype=kind)
            if hasattr(self, name):
                new[: self.n] = getattr(self, name)[: self.n]
            setattr(self, name, new)

    @property
    def counts(self) -> Ints32:
        """In how many documents each feature was met since it came: at most the truth."""
        return self.df[: self.n]

    @property
    def missed(self) -> Ints32:
        """How many documents each feature may have been in before it came."""
        return self.came[: self.n]

    def add(self, fingerprints: Hashes, df: Ints32, *, dev: bool = False) -> Ints32:
        """Add the distinct features of a batch, in the order of first sight, and the documents that hold each.

        Returns their numbers, which hold until features are dropped.
        """
        size = len(fingerprints)
        if self.most is not None and self.n + size > self.most:
            self._prune(max(1, min(int(KEPT_SHARE * self.most), self.most - size)))
        self._grow(self.n + size)
        places = np.arange(self._next[dev], self._next[dev] + size) + (LATER if dev else 0)
        numbers = self._merge(fingerprints, df, places)
        self._next[dev] += size
        self.pairs += int(df.sum(dtype=np.int64))
        self.met = max(self.met, self.n)
        return numbers

    def _merge(self, fps: Hashes, df: Ints32, places: Any) -> Ints32:
        """Find or add features, and add their documents; there is room for them."""
        numbers, before = np.empty(len(fps), dtype=np.int32), self.n
        self.n = merge_vocabulary(fps, self.table, 64 - self.bits, before, self.fps, numbers)
        self.df[before : self.n], self.came[before : self.n], self.key[before : self.n] = 0, self.lost, _NEVER
        self.df[numbers] += df
        self.key[numbers] = np.minimum(self.key[numbers], places)
        return numbers

    def _grow(self, wanted: int) -> None:
        while (1 << self.bits) * 3 // 4 < wanted:
            self.bits += 1
            larger = np.zeros(2 << self.bits, dtype=np.uint64)
            rehash_table(self.table, larger, 64 - self.bits)
            self.table = larger
        if wanted > len(self.fps):
            self._room(max(wanted, len(self.fps) * 3 // 2))

    def _prune(self, keep: int) -> None:
        """Lower all counters until at most so many are above zero."""
        if self.n <= keep:
            return
        value = self.counts - (self.lost - self.missed)
        t = int(np.partition(value, self.n - keep - 1)[self.n - keep - 1])
        kept = np.flatnonzero(value > t)
        for name in ("fps", "df", "came", "key"):
            array = getattr(self, name)
            array[: len(kept)] = array[kept]
        self.lost += t
        self.n = len(kept)
        self.table[:] = 0
        numbers = np.empty(self.n, dtype=np.int32)
        merge_vocabulary(self.fps[: self.n].copy(), self.table, 64 - self.bits, 0, self.fps, numbers)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the table and the spare room: it is made again."""
        arrays = {name: getattr(self, name)[: self.n].copy() for name in ("fps", "df", "came", "key")}
        return {**vars(self), **arrays, "table": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.table = np.zeros(2 << self.bits, dtype=np.uint64)
        merge_vocabulary(self.fps.copy(), self.table, 64 - self.bits, 0, self.fps, np.empty(self.n, dtype=np.int32))

    def __add__(self, other: StreamVocabulary) -> StreamVocabulary:
        """Return what counting this stream and then the other would have given; both must be exact."""
        if self.lost or other.lost:
            raise DataError("vocabularies that left features out cannot be added up; raise the memory of the workers")
        both = StreamVocabulary(self.most)
        both._grow(self.n + other.n)
        for one in (self, other):
            later = one.key[: one.n] >= LATER
            places = one.key[: one.n] + np.where(later, both._next[1], both._next[0])
            both._merge(one.fps[: one.n], one.counts, places)
            both._next = [a + b for a, b in zip(both._next, one._next, strict=True)]
            both.pairs += one.pairs
            both.streams += one.streams or [(one._next[0], one._next[1])]
        both.met = both.n
        return both

    def kept(
        self, n_documents: int, *, min_df: int, max_df: float, max_features: int | None, most: int | None = None
    ) -> tuple[Hashes, Ints32, int]:
        """Return the features of a model, in the order of first sight, the streams that met them first, and the min_df used.

        They are in min_df documents or more, not in too many, and the most frequent ones.
        most bounds them as memory does: where more are left, min_df is raised until they fit. Of features equally
        frequent at the cut of max_features the first met are kept.
        """
        df, highest = self.counts, documents("max_df", max_df, n_documents)
        good = np.flatnonzero((df >= min_df) & (df <= highest))
        if most is not None and len(good) > most:
            edge = int(np.partition(df[good], len(good) - most - 1)[len(good) - most - 1])
            min_df = edge + 1
            good = good[df[good] >= min_df]
        if not len(good):
            raise DataError(f"no feature is left: none is in {min_df} to {highest:g} documents; lower min_df")
        order = good[np.argsort(self.key[good], kind="stable")]
        if max_features is not None and len(order) > max_features:
            first = np.argsort(-df[order].astype(np.int64), kind="stable")[:max_features]
            order = order[np.sort(first)]
        return self.fps[order].copy(), self._first_met(self.key[order]), min_df

    def _first_met(self, keys: Ints) -> Ints32:
        """Return the number of the stream that each key comes from."""
        if not self.streams:
            return np.zeros(len(keys), np.int32)
        train, dev = np.cumsum(self.streams, axis=0).T
        first, later = np.searchsorted(train, keys, "right"), np.searchsorted(dev, keys - LATER, "right")
        return np.where(keys < LATER, first, later).astype(np.int32)


HEADER = 7  # numbers at the head of a chunk
MOST_SCORES = 10_000_000  # of test rows that are held at a time: rows times outputs


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """Turn a disk that fills up into one line."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise LinnetError(f"the disk of {folder.parent} is full; give --cache DIR on a larger one") from None


@dataclass
class CacheBlock:
    """One file of rows: how many, and how many entries; part says whether they are for training or dev."""

    path: Path
    part: int
    rows: int = 0
    entries: int = 0


class Cache:
    """Blocks of rows: those for training, then those of dev."""

    def __init__(
        self, folder: Path, blocks: dict[int, int], n_blocks: int, n_columns: int, *, counting: bool, seed: int,
        numbered: bool = True, n_computed: int = 0, n_numbers: int = 0,
    ) -> None:  # fmt: skip
        """Make room for so many blocks of each part; n_blocks is how many feature blocks a row has.

        numbered keeps where each row went, two bytes a row, so that rows can be taken by number. n_numbers is how many weights
        and probabilities each row has.
        """
        self.folder, self.n_blocks, self.n_columns, self.counting = folder, n_blocks, n_columns, counting
        self.n_computed, self.n_numbers = n_computed, n_numbers
        self.numbers: Ints32 | None = None  # of columns, where some of those written are dropped
        each = [(part, k) for part, n in blocks.items() for k in range(n)]
        self.blocks = [CacheBlock(folder / f"rows-{part}-{k:04d}", part) for part, k in each]
        self._first = {part: next(k for k, b in enumerate(self.blocks) if b.part == part) for part in blocks}
        self._many = blocks
        self._bits = {part: np.random.PCG64([seed, 77, part]) for part in blocks}
        self._numbered = numbered
        self._dealt: dict[int, list[npt.NDArray[np.uint16]]] = {part: [] for part in blocks}
        self._files: list[BinaryIO] = []
        self.written = 0

    # ---- writing

    def __enter__(self) -> Cache:
        self._files = [b.path.open("wb") for b in self.blocks]
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()
        self._files = []

    def add(self, part: int, rows: SparseCounts, y: Labels, numbers: Floats) -> None:
        """Deal the rows of a batch out to the blocks of a part, at random."""
        if not len(rows):
            return
        many, first = self._many[part], self._first[part]
        if many == 1:
            self._append(first, rows, y, numbers)
            return
        bits = self._bits[part].random_raw(len(rows)) >> np.uint64(11)  # the same however batches are cut
        where = np.asarray(bits * 2.0**-53 * many, dtype=np.uint16)
        if self._numbered:
            self._dealt[part].append(where)
        order = np.argsort(where, kind="stable")
        ends = np.searchsorted(where[order], np.arange(many + 1))
        for k in range(many):
            mine = order[ends[k] : ends[k + 1]]
            if len(mine):
                self._append(first + k, rows.take(mine), y[mine], numbers[mine])

    def _append(self, k: int, rows: SparseCounts, y: Labels, numbers: Floats) -> None:
        sizes = np.diff(rows.indptr).astype(np.int32)
        counts = rows.counts if self.counting else np.zeros(0, np.int32)
        packed = [_packed(part) for part in (sizes, rows.indices, counts, y)]
        head = np.array([len(rows), len(sizes), len(rows.indices), *map(len, packed)], dtype=np.int64)
        self._files[k].write(head.data)
        for piece in (*packed, *([] if rows.computed is None else [rows.computed]), numbers):
            self._files[k].write(np.ascontiguousarray(piece).data)
        self.written += head.nbytes + sum(map(len, packed)) + numbers.nbytes
        self.blocks[k].rows += len(rows)
        self.blocks[k].entries += len(rows.indices)

    # ---- reading

    def __len__(self) -> int:
        return sum(b.rows for b in self.blocks)

    @property
    def entries(self) -> int:
        """How many entries all rows have."""
        return sum(b.entries for b in self.blocks)

    def of(self, parts: tuple[int, ...]) -> list[int]:
        """Return the numbers of the blocks of some parts that have rows."""
        return [k for k, b in enumerate(self.blocks) if b.part in parts and b.rows]

    def read(self, *wanted: int) -> tuple[SparseCounts, Labels, Floats]:
        """Return the rows, classes and numbers of some blocks, behind one another."""
        found = [self.blocks[k] for k in wanted]
        n, entries = sum(b.rows for b in found), sum(b.entries for b in found)
        indptr = np.zeros(n * self.n_blocks + 1, dtype=np.int64)
        indices = np.empty(entries, dtype=np.int32)
        counts = np.empty(entries if self.counting else 0, dtype=np.int32)
        y, numbers = np.empty(n, dtype=np.int32), np.empty((n, self.n_numbers))
        computed = np.empty((n, self.n_computed), dtype=np.float32) if self.n_computed else None
        row = at = 0
        for block in found:
            with block.path.open("rb") as file:
                while raw := file.read(8 * HEADER):
                    head = np.frombuffer(raw, dtype=np.int64).tolist()
                    rows, segments, size, *lengths = head
                    sizes = np.empty(segments, dtype=np.int32)
                    outs = [sizes, indices[at : at + size], counts[at : at + size], y[row : row + rows]]
                    for out, length in zip(outs, lengths, strict=True):
                        data = np.frombuffer(file.read(length), dtype=np.uint8)
                        if unpack_numbers(data, out) != length or len(data) != length:
                            raise LinnetError(f"the cache in {self.folder} was changed while in use; run it again")
                    tables: list[Array] = [numbers] if computed is None else [computed, numbers]
                    for table in tables:
                        mine = table[row : row + rows]
                        mine[:] = np.frombuffer(file.read(mine.nbytes), dtype=table.dtype).reshape(mine.shape)
                    first = row * self.n_blocks
                    indptr[first + 1 : first + 1 + segments] = indptr[first] + np.cumsum(sizes, dtype=np.int64)
                    row, at = row + rows, at + size
        found_rows = SparseCounts(indptr, indices, counts, self.n_blocks, self.n_columns, computed)
        return found_rows if self.numbers is None else found_rows.keep(self.numbers), y, numbers

    def visit(self, groups: Iterable[BlockNumbers]) -> Iterator[tuple[BlockNumbers, SparseCounts, Labels, Floats]]:
        """Yield (blocks, rows, classes, numbers) of groups of blocks; the next group is read while one is worked on."""
        wanted = list(groups)
        with ThreadPoolExecutor(1) as ahead:
            coming = [ahead.submit(self.read, *group) for group in wanted[:1]]
            for at, group in enumerate(wanted, 1):
                found = coming.pop().result()
                coming += [ahead.submit(self.read, *following) for following in wanted[at : at + 1]]
                yield group, *found
                del found

    def take(self, rows: Ints) -> SparseCounts:
        """Return some rows by number: training rows first, then dev rows, each in the order of the input."""
        order = np.argsort(rows, kind="stable")
        asked, found, places = rows[order], [], []
        first = 0
        for part in self._many:
            mine = self.of((part,))
            n = sum(self.blocks[k].rows for k in mine)
            dealt = np.concatenate(self._dealt[part]) if self._dealt[part] else np.zeros(n, np.uint16)
            a, b = np.searchsorted(asked, [first, first + n])
            wanted = asked[a:b] - first
            for k in mine:
                inside = np.flatnonzero(dealt[wanted] == k - self._first[part])
                if len(inside):
                    members = np.flatnonzero(dealt == k - self._first[part])
                    found.append(self.read(k)[0].take(np.searchsorted(members, wanted[inside])))
                    places.append(order[a + inside])
            first += n
        taken = concatenate(found, self.n_blocks, self.n_columns)
        found.clear()  # rows are in memory twice at most
        back = np.argsort(np.concatenate(places), kind="stable") if places else np.zeros(0, np.int64)
        return taken.take(back)


def _packed(values: Ints32) -> Bytes:
    out = np.empty(5 * len(values), dtype=np.uint8)
    return out[: pack_numbers(np.ascontiguousarray(values), out)]


# ---- The names of features, written to disk as they are first met: at the end a model keeps those of the weightiest.


def joined_with(known: tuple[Bytes, Ints], columns: Ints, n: int, more: Names | list[str]) -> tuple[Bytes, Ints]:
    """Return the names of columns: those below n are known, in their order, those from n on are in more."""
    own = iter(name_array(*known).to_pylist())
    return joined([next(own) if k < n else more[k - n].encode() for k in columns.tolist()])


def name_array(data: Bytes, offsets: Ints) -> Any:
    """Return names, as bytes and where each begins, as an Arrow array."""
    parts = [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(data)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, parts)


class ArrowFile:
    """Columns in a compressed Arrow stream; open it as a context manager to write."""

    def __init__(self, path: Path, **columns: Any) -> None:
        self.path, self.rows, self._schema = path, 0, pa.schema(list(columns.items()))

    def __enter__(self) -> Self:
        self._file = self.path.open("wb")
        self._writer = pa.ipc.new_stream(self._file, self._schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        self._file.close()

    def add(self, *columns: Any) -> None:
        """Write some rows."""
        self._writer.write_batch(pa.record_batch(list(columns), schema=self._schema))
        self.rows += len(columns[0])

    def batches(self) -> Iterator[list[Any]]:
        """Read the rows back, the columns of a batch at a time."""
        with self.path.open("rb") as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                yield batch.columns


class NameFile(ArrowFile):
    """The names of columns, each written when it is first met."""

    def __init__(self, folder: Path, n_columns: int) -> None:
        super().__init__(folder / "names", column=pa.int32(), name=pa.large_binary())
        self.n_columns = n_columns

    def find(self, columns: Ints) -> tuple[Bytes, Ints]:
        """Return the names of some columns, as UTF-8 bytes and offsets, in their order."""
        place = np.full(self.n_columns, -1, dtype=np.int32)
        place[columns] = np.arange(len(columns))
        found: list[bytes] = [b""] * len(columns)
        for numbers, names in self.batches():
            mine = place[numbers.to_numpy()]
            for k in np.flatnonzero(mine >= 0).tolist():
                found[mine[k]] = names[k].as_py()
        return joined(found)


# ---- The rows of the test: set aside on disk as texts, scored at the end.


class TestRows(ArrowFile):
    """Texts and labels."""

    __test__ = False  # not a test case

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "test.arrow", text=pa.large_string(), label=pa.large_string())

    def add(self, *columns: Any) -> None:
        """Keep some rows, as large strings."""
        super().add(*(column.cast(pa.large_string()) for column in columns))

    def evaluated(self, model: Model, threads: int | None, separator: str | None = None) -> Any:
        """Return the metrics of a model on all rows; separator stands between the labels of a row, if it has several."""
        from linnet.evaluate import evaluate_answers, evaluate_multilabel

        labels: list[str] = []
        known: dict[str, str] = {}
        found = [model.answers(np.zeros((0, model.n_outputs)))]
        most = max(1, MOST_SCORES // model.n_outputs)  # rows
        for text, label in self.batches():
            labels += [known.setdefault(value, value) for value in label.to_pylist()]
            for first in range(0, len(text), most):
                found.append(model.answers(model.scores(text[first : first + most], threads)))
                if separator is None and self.rows > most:  # their labels alone are kept
                    found[-1] = replace(found[-1], given=found[-1].proba[:0])
        answers = Answers.joined(found)
        if separator is not None:
            truth = [labels_of(cell, separator) for cell in labels]
            return evaluate_multilabel(truth, answers.chosen, model.classes, proba=answers.proba)
        return evaluate_answers(labels, answers, model.classes, costs=model.decision.costs)
