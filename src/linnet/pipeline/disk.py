"""Rows on disk: features are counted in one pass, rows written as numbers in a second, then read block by block.

Texts are counted and turned into rows by this process, or by the workers of an engine (:mod:`linnet.pipeline.remote`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import iadd
from pathlib import Path
from typing import Any

import numpy as np

from linnet._kernels.text import class_frequency
from linnet.array_types import Array, Bytes, Floats, Floats32, Hashes, Hashes32, Ints, Ints32, Labels
from linnet.data.labelled import Labelled, codes_of
from linnet.errors import LinnetError
from linnet.features.blocks import AnyBlocks, column_names, split
from linnet.features.buffers import TextBuffer
from linnet.features.counting import Counted, Slots, SparseCounts, concatenate, names_of
from linnet.model.learned import merged, numbers_of
from linnet.pipeline.cache import Cache, NameFile, StreamVocabulary, TestRows, give_back, name_array, writing
from linnet.pipeline.crossval import Weighting
from linnet.pipeline.events import Log
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import ClassCounts
from linnet.pipeline.search import SearchRows
from linnet.pipeline.stream import DEV, TEST, TRAIN, StreamedRows, Targets, count_batch
from linnet.solvers.callbacks import OnEpoch
from linnet.solvers.matrix import RowBlocks, TrainingSet

TOGETHER = 4  # blocks in memory at a time


def columns_of(fingerprints: Hashes) -> Callable[[Hashes], Ints32]:
    """Return what gives the columns of fingerprints, -1 where they are not in the vocabulary."""
    slots = Slots.of(fingerprints)
    table = np.full(len(slots.slots) + 1, -1, dtype=np.int32)  # -1 finds the last
    table[slots.find(fingerprints)] = np.arange(len(fingerprints), dtype=np.int32)
    return lambda fps: table[slots.find(fps)]


@dataclass(frozen=True)
class Encoded:
    """The rows of a batch over the columns of a model, and what goes with them."""

    rows: SparseCounts
    cells: Ints32
    numbers: Floats
    texts: Hashes32
    """The numbers of the texts (linnet.model.learned)."""
    named: Ints32
    names: Any
    """The columns that are named here, and their names as an Arrow array."""


@dataclass(frozen=True)
class Encoder:
    """Turns batches of texts into rows over the columns of a model, in this process or on a worker.

    Cells are the classes, or the labels of rows together. Streams are parts of the input, each read by one process; the
    stream that met a feature first names it.
    """

    cells: tuple[str, ...]
    targets: Targets
    features: AnyBlocks
    counting: bool
    hash_bits: int | None
    fingerprints: Hashes
    first_met: Ints32

    def count(self, batch: Labelled, threads: int = 1) -> tuple[list[TextBuffer], Counted]:
        """Count the features of a batch; returns the buffers that the places in ``seen`` refer to."""
        return count_batch(batch.text, self.features, hash_bits=self.hash_bits, counting=self.counting, threads=threads)

    @cached_property
    def column_of(self) -> Callable[[Hashes], Ints32]:
        """What gives the columns of fingerprints; -1 for those that are not features."""
        return columns_of(self.fingerprints)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # not the lookup

    def encoded(
        self, batches: Iterable[tuple[int, Labelled]], stream: int, threads: int = 1
    ) -> Iterator[tuple[int, Any]]:
        """Yield (part, rows) of batches of a stream; of the test, its texts and labels."""
        known = {cell: k for k, cell in enumerate(self.cells)}
        blocks = split(self.features)[0]
        unnamed = self.first_met == stream
        for part, batch in batches:
            if part == TEST:
                yield part, (batch.text, batch.label)
                continue
            buffers, counted = self.count(batch, threads)
            rows, named, names = counted.rows, np.zeros(0, np.int32), None
            if not self.hash_bits:
                columns = self.column_of(counted.fingerprints)
                fresh = np.flatnonzero((columns >= 0) & unnamed[columns])
                named = columns[fresh]
                unnamed[named] = False
                names = name_array(*names_of(buffers, blocks, counted.seen.take(fresh), counted.fingerprints[fresh]))
                rows = rows.keep(columns)
            cells, numbers = codes_of(batch.label, known), self.targets.numbers(batch)
            yield part, Encoded(rows, cells, numbers, numbers_of(buffers), named, names)


class DiskRows(StreamedRows):
    """Rows in a temporary cache, within a budget of memory; where they all fit they are read as one block."""

    cache: Cache
    class_counts: Ints32
    df: Ints32 | None = None
    """Documents with each feature, where rows may have several labels."""

    # ---- counting

    def count(self, plan: Plan, log: Log) -> None:
        """Count features, decide which of them the model has, and write the rows."""
        self._count_vocabulary(plan.features)
        give_back()
        self._write()
        give_back()
        self.whole = self.cache.read(*self.cache.of((TRAIN, DEV))) if self.one else None

    @property
    def encoder(self) -> Encoder:
        """What turns texts into rows; before features are counted it has no columns."""
        return Encoder(
            tuple(self.known), self.targets, self.features, self.counting, self.plan.features.hash_bits, self.fingerprints,
            self.first_met,
        )  # fmt: skip

    def _vocabulary(self) -> StreamVocabulary:
        vocabulary = StreamVocabulary(self.budget.vocabulary())
        for part, batch in self.batches("counting", (TRAIN, DEV)):
            _, counted = self.encoder.count(batch, self.threads)
            vocabulary.add(counted.fingerprints, counted.rows.document_frequency(), dev=part == DEV)
            del counted
        return vocabulary

    def _expected_entries(self) -> int:
        """Guess from the first texts how many entries there will be."""
        first = next(batch for part, batch in self.batches("hashing", (TRAIN,)))
        share = len(self.encoder.count(first, self.threads)[1].rows.indices) / max(1, first.nbytes)
        return int(1.1 * share * (self.scan.nbytes + sum(s.nbytes for s in self.scans.values())))

    # ---- the cache

    def _write(self) -> None:
        """Write rows as columns, names as they are met, and the texts of the test."""
        traits = self.plan.traits
        plain = not self.counting and traits.gain_per_class
        whole, block = (8, 6) if plain else (24, 14)
        self.one = self.entries <= self.budget.whole_entries(whole)
        if not self.one and traits.sums == "no":
            raise LinnetError(f"{self.plan.name} needs all rows in memory; raise --max-memory, or use svm or logistic")
        share = self.sizes[DEV] / max(1, self.sizes[TRAIN] + self.sizes[DEV])
        size = self.budget.block_entries(block) // TOGETHER
        many = {TRAIN: 1 if self.one else -(-int(self.entries * (1 - share)) // size)}
        if self.sizes[DEV]:
            many[DEV] = 1 if self.one else max(1, -(-int(self.entries * share) // size))
        self.log.stage(
            "count",
            f"writing a cache of about {3 * self.entries / 1e6:,.0f} MB"
            + ("" if self.one else f", {sum(many.values())} blocks"),
        )
        hashed = bool(self.plan.features.hash_bits)
        self.cache = Cache(
            self.folder, many, max(1, len(self.blocks)), self.n_columns, counting=self.counting, seed=self.plan.seed,
            numbered=self.exact, n_computed=len(column_names(self.computed)), n_numbers=self.targets.n_numbers,
        )  # fmt: skip
        self.name_file = NameFile(self.folder, 0 if hashed else self.n_columns)
        self.test_rows = TestRows(self.folder)
        self.class_counts = np.zeros((self.n_columns, self.n_classes), dtype=np.int32)
        self.df = None if self.sets is None else np.zeros(self.n_columns, dtype=np.int32)
        rows_of = {part: np.zeros(len(self.known), dtype=np.int64) for part in (TRAIN, DEV)}
        weight_of = {part: np.zeros(len(self.known)) for part in rows_of}
        fitted = (TRAIN, DEV) if self.plan.refit else (TRAIN,)
        with self.cache, self.test_rows, self.name_file:
            for part, made in self._encoded():
                if part == TEST:
                    self.test_rows.add(*made)
                    continue
                rows, y = made.rows, made.cells
                self.text_numbers = merged(self.text_numbers, made.texts)
                if len(made.named):
                    self.name_file.add(made.named, made.names)
                rows_of[part] += np.bincount(y, minlength=len(self.known))
                weight_of[part] += self.targets.by_cell(y, made.numbers)
                if part in fitted:
                    if self.df is None:
                        class_frequency(rows.row_ptr, rows.indices, y, self.class_counts)
                    else:
                        self.class_counts += rows.class_counts(self.targets.of(y), self.n_classes)
                        self.df += rows.document_frequency()
                self.cache.add(part, rows, y, made.numbers)
                del made, rows
        self.set_rows_of(rows_of, weight_of)
        self.cache_bytes, self.n_blocks_on_disk = self.cache.written, 1 if self.one else len(self.cache.blocks)

    def _encoded(self) -> Iterator[tuple[int, Any]]:
        """Yield (part, rows) of all batches, in the order of the input."""
        batches = self.batches("writing the cache", (TRAIN, DEV, TEST))
        return self.encoder.encoded(batches, 0, self.threads)

    # ---- the store

    def search_rows(self) -> SearchRows:
        """Return all rows by number; where they are too many, those of one block, which is a random part of them."""
        if self.exact:
            return self.numbered_rows(self.cache if self.whole is None else self.whole[0], self.cache.entries)
        found = [self.cache.read(blocks[0]) for part in (TRAIN, DEV) if (blocks := self.cache.of((part,)))]
        rows = concatenate([one[0] for one in found], self.cache.n_blocks, self.n_columns)
        y, numbers = (np.concatenate([one[k] for one in found]) for k in (1, 2))
        dev = np.arange(len(found[0][1]), len(y)) if len(found) > 1 else None
        return self._search_rows(rows, y, numbers, len(rows.indices), dev)

    def counts(self) -> tuple[ClassCounts, Array]:
        """Return the documents of each class that hold each feature."""
        found = ClassCounts(self.class_counts, self.n_fitted, self._computed_values(), df=self.df)
        return found, self.fitted_classes()

    def _computed_values(self) -> Floats32 | None:
        """Return the values of computed columns of the fitted rows: few columns, so they fit in memory."""
        if not self.computed:
            return None
        return np.concatenate([rows.computed for rows, _, _ in self._each() if rows.computed is not None])

    def _each(self) -> Iterator[tuple[SparseCounts, Labels, Floats]]:
        """Yield the fitted rows of each block, their cells and their own numbers."""
        for _, rows, y, numbers in self.cache.visit([(k,) for k in self.cache.of(self.fitted_parts)]):
            yield rows, y, numbers

    def _weighted_table(self) -> Floats:
        found: Floats = reduce(iadd, (self.targets.table(*block) for block in self._each()))
        return found

    def keep(self, numbers: Ints32) -> None:
        """Drop columns from now on, whenever rows are read."""
        kept = np.flatnonzero(numbers >= 0)
        self.cache.numbers, self.n_columns = numbers, len(kept)
        self.class_counts, self.fingerprints = self.class_counts[kept], self.fingerprints[kept]
        self.df = None if self.df is None else self.df[kept]
        self._columns = kept
        if self.whole is not None:
            self.whole = self.whole[0].keep(numbers), *self.whole[1:]

    _columns: Ints | None = None

    def names(self, columns: Ints) -> tuple[Bytes, Ints]:
        """Return the names of some columns, from the file of names."""
        return self.name_file.find(columns if self._columns is None else self._columns[columns])

    def in_blocks(self, weighting: Weighting, on_epoch: OnEpoch) -> RowBlocks:
        """Return the rows of the last fit, a few blocks at a time; watched dev rows are those of one block."""
        del self.class_counts
        held_out = None
        if self.watched:
            rows, y, _ = self.cache.read(self.cache.of((DEV,))[0])
            held_out = rows, self.targets.of(y)
        return DiskBlocks(self, weighting, weighting.judged(on_epoch, held_out) or on_epoch, weighting.gain)


@dataclass
class DiskBlocks(RowBlocks):
    """Weighted rows of the cache, a few blocks at a time. What a solver keeps of each row lies in a file a block."""

    store: DiskRows
    weighting: Weighting
    on_epoch: OnEpoch
    gain: Floats32 | None
    twice: bool = False

    def __post_init__(self) -> None:
        self.store.describe(self, self.weighting)
        self.numbers = tuple(self.store.cache.of(self.store.fitted_parts))

    def with_gain(self, gain: Floats32, on_epoch: OnEpoch) -> DiskBlocks:
        """Return the same rows with a weight for each feature and class that is not in the values."""
        return replace(self, gain=gain, on_epoch=on_epoch)

    def doubled(self) -> DiskBlocks:
        """Return soft rows twice each."""
        return replace(self, twice=True)

    def visit(self, order: Array | None = None) -> Iterator[tuple[tuple[int, ...], TrainingSet]]:
        """Yield a few blocks at a time.

        Which blocks come together changes with the order: rows that are never in the same group converge slowly.
        """
        wanted = list(self.numbers) if order is None else [self.numbers[k] for k in order.tolist()]
        groups = [tuple(wanted[k : k + TOGETHER]) for k in range(0, len(wanted), TOGETHER)]
        for group, rows, y, numbers in self.store.cache.visit(groups):
            yield group, self.store.targets.training_set(self.weighting.matrix(rows), y, numbers, self.twice)

    def add_up(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of function(rows, *args) over all blocks."""
        return reduce(iadd, (function(rows, *args) for _, rows in self.visit()))  # in place: as large as the model

    def _path(self, number: int) -> Path:
        return self.store.folder / f"state-{number:04d}"

    def state(self, group: tuple[int, ...], shape: tuple[int, ...]) -> Floats | None:
        """Return what was kept of the rows of some blocks."""
        if not self._path(group[0]).exists():
            return None
        each = [np.fromfile(self._path(k)).reshape(*shape, 1 + self.twice, -1) for k in group]
        return np.concatenate(each, axis=-1).reshape(*shape, -1)

    def keep_state(self, group: tuple[int, ...], state: Floats) -> None:
        """Keep numbers for each row."""
        ends = np.cumsum([self.store.cache.blocks[k].rows for k in group])[:-1]
        with writing(self.store.folder):
            state = state.reshape(*state.shape[:-1], 1 + self.twice, -1)
            for k, part in zip(group, np.split(state, ends, axis=-1), strict=True):
                part.tofile(self._path(k))
