"""Rows on disk: features are counted in one pass, rows written as numbers in a second, then read block by block.

Texts are counted and turned into rows by this process, or by the workers of an engine (:mod:`linnet.pipeline.remote`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import starmap
from operator import iadd
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from linnet import arithmetic
from linnet._kernels.text import class_frequency
from linnet.array_types import Array, Bytes, Floats, Hashes, Hashes32, Ints, Ints32, Labels
from linnet.data import labelled as sources
from linnet.data.dataset import are_scattered, labels_of, scattered
from linnet.data.labelled import Labelled, LabelledFiles, Scan, codes_of, label_counts
from linnet.errors import DataError, LinnetError
from linnet.features.blocks import AnyBlocks, column_names, describe, needed, split
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import Counted, Slots, SparseCounts, concatenate, names_of
from linnet.features.plan import LARGE_MODEL, FeaturePlan, FeatureWeights, blocks_for, looked_at, mostly_unspaced
from linnet.features.vectors import Vectors
from linnet.model.learned import merged, numbers_of
from linnet.models.inputs import factors_of
from linnet.pipeline.cache import Budget, Cache, NameFile, StreamVocabulary, TestRows, give_back, name_array
from linnet.pipeline.crossval import FittedRows, Weighting
from linnet.pipeline.events import Log, Meter
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import ClassCounts, about_source, encode, learned
from linnet.pipeline.search import SearchRows
from linnet.pipeline.stream import DEV, TEST, TRAIN, Parts, Targets, by_part, count_batch, held_out
from linnet.solvers.callbacks import OnEpoch
from linnet.solvers.matrix import TOGETHER, BlockNumbers, GroupRows, RowBlocks, TrainingSet

Done = TypeVar("Done")
Batches = Iterable[tuple[int, Labelled]]
"""Batches, each with the part it belongs to."""
BATCHES = 2  # batches that are counted at a time
PARTS = 3  # of a batch: train, dev and test
LEARNED_FROM = 32_000_000  # bytes of training text that blocks learn from


def in_order(work: Callable[..., Done], items: Iterable[tuple[Any, ...]], threads: int) -> Iterator[Done]:
    """Yield what work makes of each item, in order: two at a time in threads of their own, while this one reads items.

    No more, since items and what is made of them take memory.

    >>> list(in_order(lambda a, b: a * b, [(1, 2), (3, 4), (5, 6)], 2))
    [2, 12, 30]
    """
    if threads < 2:
        yield from starmap(work, items)
        return
    pool, waiting = ThreadPoolExecutor(BATCHES), deque[Future[Done]]()
    try:
        for item in items:
            waiting.append(pool.submit(work, *item))
            if len(waiting) > PARTS + BATCHES:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class Encoded:
    """The rows of a batch over the columns of a model, and what goes with them."""

    rows: SparseCounts
    cells: Ints32
    numbers: Floats
    texts: Hashes32
    """The numbers of the texts (linnet.model.learned)."""
    named: tuple[Ints32, Any] | None = None
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

    def vocabulary(self, batches: Batches, found: StreamVocabulary, threads: int = 1) -> StreamVocabulary:
        """Count the features of all rows that are not for the test."""

        def work(part: int, batch: Labelled) -> tuple[Hashes, Ints32, bool]:
            counted = self.count(batch, max(1, threads // BATCHES))[1]
            return counted.fingerprints, counted.rows.document_frequency(), part == DEV

        for fingerprints, frequency, dev in in_order(work, ((p, b) for p, b in batches if p != TEST), threads):
            found.add(fingerprints, frequency, dev=dev)
        return found

    @cached_property
    def column_of(self) -> Callable[[Hashes], Ints32]:
        """What gives the columns of fingerprints; -1 for those that are not features."""
        slots = Slots.of(self.fingerprints)
        table = np.full(len(slots.slots) + 1, -1, dtype=np.int32)  # -1 finds the last
        table[slots.find(self.fingerprints)] = np.arange(len(self.fingerprints), dtype=np.int32)
        return lambda fps: table[slots.find(fps)]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # not the lookup

    def encoded(self, batches: Batches, stream: int, threads: int = 1) -> Iterator[tuple[int, Any]]:
        """Yield (part, rows) of batches of a stream; of the test, its texts and labels."""
        known = {cell: k for k, cell in enumerate(self.cells)}
        blocks = split(self.features)[0]
        unnamed = self.first_met == stream
        column_of = None if self.hash_bits else self.column_of  # made once, before threads ask for it

        def work(part: int, batch: Labelled) -> Any:
            if part == TEST:
                return part, (batch.text, batch.label), None
            buffers, counted = self.count(batch, max(1, threads // BATCHES))
            columns = None if column_of is None else column_of(counted.fingerprints)
            rows = counted.rows if columns is None else counted.rows.keep(columns)
            made = Encoded(rows, codes_of(batch.label, known), self.targets.numbers(batch), numbers_of(buffers))
            return part, made, (buffers, counted.fingerprints, counted.seen, columns)

        for part, made, met in in_order(work, batches, threads):
            if met is not None and met[-1] is not None:
                buffers, fingerprints, seen, columns = met
                fresh = np.flatnonzero((columns >= 0) & unnamed[columns])
                names = name_array(*names_of(buffers, blocks, seen.take(fresh), fingerprints[fresh]))
                made = replace(made, named=(columns[fresh], names) if len(fresh) else None)
                unnamed[columns[fresh]] = False
            yield part, made


class DiskRows:
    """Rows in a temporary cache, within a budget of memory; where they all fit they are read as one block.

    One look at all files decides classes, parts and features; a pass counts, and a second one writes the rows.
    """

    met = lost = 0
    whole: tuple[SparseCounts, Labels, Floats] | None = None
    """All rows, their cells and their own numbers, where there is room for them."""
    _columns: Ints | None = None

    def __init__(
        self, plan: Plan, log: Log, main: LabelledFiles, others: dict[int, LabelledFiles], folder: Path, budget: Budget,
        say: Callable[[str], None], skip_damaged: bool,
    ) -> None:  # fmt: skip
        """Look at all rows; others are dev and test files by part, folder is for temporary files, say prints."""
        self.plan, self.log, self.main, self.others = plan, log, main, others
        self.folder, self.budget, self.say, self.threads = folder, budget, say, plan.threads
        self.text_numbers = np.zeros(0, np.uint32)
        self.fingerprints, self.first_met = np.zeros(0, np.uint64), np.zeros(0, np.int32)
        self._look(skip_damaged)
        self._divide(self.scan)
        self._features(self.scan, self.scans)

    # ---- one look at all rows

    def _look(self, skip_damaged: bool) -> None:
        """Look at all files once, and decide which classes there are."""
        self.log.stage("read", f"looking at {self.main.name}")
        meter = Meter(self.log.on_event, "looking", self.main.nbytes + sum(s.nbytes for s in self.others.values()))
        scan = self._scan(self.main, skip_damaged, meter)
        for source in self.others.values():  # parts of equal size of the data hold for dev and test files
            source.bins = self.main.bins
        scans = {part: self._scan(source, False, meter) for part, source in self.others.items()}
        meter.end()
        notes = dict.fromkeys(note for one in (scan, *scans.values()) for note in one.notes)
        for line in [*sources.describe(self.main, scan), *notes]:
            self.say(line)
        self.separator = self.main.separator(scan, *scans.values())
        cells = sorted({*scan.labels, *self.main.soft, *(scans[DEV].labels if DEV in scans else ())})
        self.known = {cell: k for k, cell in enumerate(cells)}
        sets = None
        if self.separator is None:
            self.classes, found = tuple(cells), scan.labels
        else:
            self.classes, sets = encode([labels_of(cell, self.separator) for cell in cells])
            found = label_counts(scan.labels, self.separator)
            if not self.plan.traits.multilabel:
                raise LinnetError(f"{self.plan.name} learns one label a row; rows with several are for svm or logistic")
        if len(self.classes) < 2:
            raise DataError(f"every row has the label {self.classes[0]!r}; a classifier needs two classes")
        if are_scattered(found, scan.rows):
            raise DataError(f"{self.main.name}: {scattered(self.classes, scan.rows)}")
        self.n_classes = len(self.classes)
        self.n_outputs = 1 if self.n_classes == 2 and sets is None else self.n_classes
        self.sets = sets
        """The labels of each cell, where rows may have several."""
        soft = tuple(self.known[name] for name in self.main.soft)
        weighted = self.main.weight is not None
        self.targets = Targets(self.n_classes, len(cells), sets, weighted, soft, self.plan.label_smoothing)
        self.scan, self.scans = scan, scans

    def _scan(self, source: LabelledFiles, skip_damaged: bool, meter: Meter) -> Scan:
        """Look at the files of a source."""
        return source.scan(self.budget.exact_rows(), skip_damaged=skip_damaged, on_bytes=meter)

    def _divide(self, scan: Scan) -> None:
        shares = held_out(
            scan.rows, dev=DEV in self.others, test=TEST in self.others, watch=not self.plan.refit, name=self.main.name
        )
        dev_scan = self.scans.get(DEV)
        self.exact = scan.codes is not None and (dev_scan is None or dev_scan.codes is not None)
        self.y, self.numbers = np.zeros(0, np.int32), np.zeros((0, 0))  # the cells of rows, by number, and their own
        if self.exact and scan.codes is not None:
            y = self._numbered(scan)
            strata = y
            if self.sets is not None:  # the rarest label of each row: what a data set in memory is split by
                rows = (np.bincount(y, minlength=len(self.sets))[:, None] * self.sets).sum(axis=0, dtype=np.int64)
                rarest = np.where(self.sets, rows, len(y) + 1).argmin(axis=1)
                strata = np.where(self.sets.any(axis=1), rarest, self.n_classes)[y]
            self.parts = Parts.exact(strata, shares, self.plan.seed)
            whole = self.parts.whole
            assert whole is not None  # noqa: S101 - exact
            self.sizes = {part: int((whole == part).sum()) for part in (TRAIN, DEV, TEST)}
            numbers, scan.numbers = np.concatenate(scan.numbers), []
            behind = [(y[whole == part], numbers[whole == part]) for part in (TRAIN, DEV)]
            if dev_scan is not None:
                codes = self._numbered(dev_scan)
                behind.append((codes, np.full((len(codes), numbers.shape[1]), np.nan)))
            self.y, self.numbers = (np.concatenate(of) for of in zip(*behind, strict=True))
        else:
            self.parts = Parts.drawn(scan.rows, shares, self.plan.seed)
            low, high = self.parts.edges
            each = zip((TRAIN, DEV, TEST), (low, high - low, 1 - high), strict=True)
            self.sizes = {part: int(share * scan.rows) for part, share in each}
        for part, other in self.scans.items():
            self.sizes[part] = other.rows
        shown = [f"{self.sizes[part]:,} {name}" for part, name in ((TRAIN, "train"), (DEV, "dev"), (TEST, "test"))]
        self.say("split: " + ", ".join(s for s in shown if not s.startswith("0 ")) + ("" if self.exact else ", about"))
        self.watched = not self.plan.refit and self.sizes[DEV] > 0
        self.fitted_parts = (TRAIN,) if self.watched else (TRAIN, DEV)

    def _numbered(self, scan: Scan) -> Ints32:
        """Return the number of the cell of each row of a scan, in the order of their names; the scan lets go of it."""
        table = np.array([self.known[name] for name in scan.labels], dtype=np.int32)
        codes = table[np.concatenate(scan.codes or [np.zeros(0, np.int32)])]
        scan.codes = []
        return codes

    def _features(self, scan: Scan, scans: dict[int, Scan]) -> None:
        n, size, by_script = scan.rows, scan.nbytes, scan.by_script
        whole = self.parts.whole
        kinds = []
        if self.exact and scan.sizes is not None and whole is not None:
            fitted, bytes_of, of_each = whole != TEST, np.concatenate(scan.sizes), np.concatenate(scan.scripts)
            n, size = int(fitted.sum()), int(bytes_of[fitted].sum(dtype=np.int64))
            kinds = [of_each[whole == TRAIN], of_each[whole == DEV]]
            scan.sizes, scan.scripts = [], []
        if DEV in scans:
            n, size, by_script = n + scans[DEV].rows, size + scans[DEV].nbytes, by_script + scans[DEV].by_script
            kinds += scans[DEV].scripts
        if self.exact:  # what training in memory would look at
            by_script = np.bincount(np.concatenate(kinds)[:: looked_at(n)], minlength=3)
        unspaced = mostly_unspaced(by_script)
        wanted = self.plan.features.features
        vectors = self.plan.features.vectors
        default = blocks_for(n, size, unspaced=unspaced)
        wanted_blocks = wanted or ((*default, Vectors(vectors)) if vectors else default)
        self.features = tuple(block.with_tf(self.plan.features.tf) for block in wanted_blocks)
        self.why = ": most texts have no blanks between words" if unspaced and not wanted else ""
        self._check_features()
        spread = sum((b.high - b.low + 1) * b.density for b in split(self.features)[0])
        self.batch_bytes = self.budget.batch_bytes(spread)
        self.counting = self.plan.features.tf != "presence"
        self.features = learned(self.features, self._first_texts, None, self.log)
        self.blocks, self.computed = split(self.features)

    def _check_features(self) -> None:
        columns = needed(self.features)
        if columns:
            raise LinnetError(f"a stream keeps text and label only; leave out column:{columns[0]}, or --max-memory")
        if self.plan.unlabelled is not None:
            raise LinnetError("unlabelled texts are learned from in memory; leave out --unlabelled or --max-memory")
        select = self.plan.features.select
        if select is not None and select.method == "l1":
            raise LinnetError("select=l1 fits a model to all rows at once; use chi2 or mi on a stream")

    def _first_texts(self) -> list[TextBuffer]:
        """Return the training texts that blocks learn from."""
        buffers: list[TextBuffer] = []
        size = 0
        for _, batch in self.batches("learning", (TRAIN,)):
            buffers += text_buffers(batch.text)
            size += batch.nbytes
            if size >= LEARNED_FROM:
                break
        return buffers

    def training_texts(self) -> Hashes32:
        """Return the numbers of the texts of training and dev rows, gathered on the way."""
        return self.text_numbers

    # ---- passes over the texts

    def batches(self, text: str, parts: tuple[int, ...]) -> Iterator[tuple[int, Labelled]]:
        """Yield (part, rows) of every batch, dev and test files last; the same in every pass."""
        meter = Meter(self.log.on_event, text, self.scan.nbytes + sum(s.nbytes for s in self.scans.values()))
        self.parts.rewind()
        seen, n_cells = 0, len(self.known)
        for batch in self.main.batches(self.batch_bytes, meter):
            seen += len(batch)
            if seen > self.scan.rows:
                break
            where = self.parts.next(codes_of(batch.label, self.known))
            if len(self.known) > n_cells:
                break
            yield from by_part(batch, where, parts)
        if seen != self.scan.rows or len(self.known) > n_cells:
            raise DataError(f"{self.main.name} changed while it was read; leave it alone, and run it again")
        for part, source in self.others.items():
            for batch in source.batches(self.batch_bytes, meter):
                if part in parts:
                    yield part, batch
        meter.end()

    # ---- counting

    def count(self, plan: Plan, log: Log) -> None:
        """Count features, decide which of them the model has, and write the rows."""
        self._count_vocabulary(plan.features)
        give_back()
        self._write()
        give_back()
        self.whole = self.cache.read(*self.cache.of((TRAIN, DEV))) if self.one else None

    def _count_vocabulary(self, features: FeaturePlan) -> None:
        traits = self.plan.traits
        newton = traits.sums == "problem" and not traits.gain_per_class and self.n_outputs > 1
        per_weight = traits.bytes_per_weight * (3 if newton else 1)  # Newton's method keeps vectors as long as W
        per_weight += 0 if self.targets.plain else 24  # tables of weighted documents
        most = self.budget.columns(per_weight, self.n_outputs)
        if features.hash_bits:
            if 1 << features.hash_bits > most:
                fits = max(8, most.bit_length() - 1)
                raise LinnetError(f"2^{features.hash_bits} columns do not fit in memory; give --hash-bits {fits}")
            self.min_df, self.n_columns = 1, 1 << features.hash_bits
            first = next(batch for _, batch in self.batches("hashing", (TRAIN,)))  # says how many entries there will be
            share = len(self.encoder.count(first)[1].rows.indices) / max(1, first.nbytes)
            self.entries = int(1.1 * share * (self.scan.nbytes + sum(s.nbytes for s in self.scans.values())))
            return
        self.log.stage("count", f"counting features {describe(self.features)}{self.why}")
        vocabulary = self._vocabulary()
        rare = vocabulary.lost or vocabulary.met * self.n_outputs > LARGE_MODEL
        min_df = features.min_df or (2 if rare else 1)
        n = self.sizes[TRAIN] + self.sizes[DEV]
        self.fingerprints, self.first_met, self.min_df = vocabulary.kept(
            n, min_df=min_df, max_df=features.max_df, max_features=features.max_features, most=most
        )
        self.n_columns, self.met, self.lost = len(self.fingerprints), vocabulary.met, vocabulary.lost
        self.entries = vocabulary.pairs
        if self.lost or self.min_df > min_df:
            self.say(
                f"vocabulary: the {self.n_columns:,} most frequent features, in {self.min_df:,} documents or more; "
                f"of those in {self.lost + self.min_df:,} or more none is missing"
            )

    @property
    def encoder(self) -> Encoder:
        """What turns texts into rows; before features are counted it has no columns."""
        return Encoder(
            tuple(self.known), self.targets, self.features, self.counting, self.plan.features.hash_bits, self.fingerprints,
            self.first_met,
        )  # fmt: skip

    def _vocabulary(self) -> StreamVocabulary:
        """Count all features."""
        batches = self.batches("counting", (TRAIN, DEV))
        return self.encoder.vocabulary(batches, StreamVocabulary(self.budget.vocabulary()), self.threads)

    # ---- the cache

    def _write(self) -> None:
        """Write rows as columns, names as they are met, and the texts of the test."""
        traits = self.plan.traits
        plain = not self.counting and traits.gain_per_class
        whole, block = (8, 6) if plain else (24, 14)
        self.room = self.budget.whole_entries(whole)
        self.one = self.entries <= self.room
        if not self.one and traits.sums == "no":
            raise LinnetError(f"{self.plan.name} needs all rows in memory; raise --max-memory, or use svm or logistic")
        share = self.sizes[DEV] / max(1, self.sizes[TRAIN] + self.sizes[DEV])
        size = self.budget.block_entries(block) // TOGETHER
        many = {TRAIN: 1 if self.one else -(-int(self.entries * (1 - share)) // size)}
        if self.sizes[DEV]:
            many[DEV] = 1 if self.one else max(1, -(-int(self.entries * share) // size))
        in_blocks = "" if self.one else f", {sum(many.values())} blocks"
        self.log.stage("count", f"writing a cache of about {3 * self.entries / 1e6:,.0f} MB{in_blocks}")
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
        with self.cache, self.test_rows, self.name_file:
            for part, made in self._encoded():
                if part == TEST:
                    self.test_rows.add(*made)
                    continue
                rows, y = made.rows, made.cells
                self.text_numbers = merged(self.text_numbers, made.texts)
                if made.named is not None:
                    self.name_file.add(*made.named)
                rows_of[part] += np.bincount(y, minlength=len(self.known))
                weight_of[part] += self.targets.by_cell(y, made.numbers)
                if part in self.fitted_parts:
                    if self.df is None:
                        class_frequency(rows.row_ptr, rows.indices, y, self.class_counts)
                    else:
                        self.class_counts += rows.class_counts(self.targets.of(y), self.n_classes)
                        self.df += rows.document_frequency()
                self.cache.add(part, rows, y, made.numbers)
                del made, rows
        self._set_rows_of(rows_of, weight_of)
        self.n_blocks = 1 if self.one else len(self.cache.blocks)

    def _encoded(self) -> Iterator[tuple[int, Any]]:
        """Yield (part, rows) of all batches, in the order of the input."""
        batches = self.batches("writing the cache", (TRAIN, DEV, TEST))
        return self.encoder.encoded(batches, 0, self.threads)

    def _set_rows_of(self, rows_of: dict[int, Ints], weight_of: dict[int, Array]) -> None:
        """Note how many rows of each cell the parts have, and what they weigh together."""
        every = rows_of[TRAIN] + rows_of[DEV]
        self.n_rows, self.n_dev = int(every.sum()), int(rows_of[DEV].sum())
        self.fitted_rows = np.asarray(sum(rows_of[part] for part in self.fitted_parts))
        self.fitted_weight = np.asarray(sum(weight_of[part] for part in self.fitted_parts))
        self.n_fitted = int(self.fitted_rows.sum())
        self.class_rows = every if self.sets is None else (every[:, None] * self.sets).sum(axis=0, dtype=np.int64)
        weights: Any = weight_of[TRAIN] + weight_of[DEV]
        if not weights.any():
            raise DataError(f"{self.main.name}: no row has a weight above 0")
        if self.plan.class_weight is None:
            return
        codes = np.arange(len(weights), dtype=np.int32)
        if self.exact:  # row by row, as training in memory adds them up
            codes, weights = self.y, self.targets.given(self.y, self.numbers)
            weights = np.ones(len(codes)) if weights is None else weights
        factors = factors_of(self.plan.class_weight, self.classes, self.targets.of(codes), weights)
        if self.sets is not None:
            factors = np.where(self.sets, factors[:, 1], factors[:, 0])
        self.targets = replace(self.targets, factors=factors)

    # ---- the store

    def search_rows(self) -> SearchRows:
        """Return all rows by number; where they are too many, those of one block, which is a random part of them."""
        if self.exact:
            rows: Any = self.cache if self.whole is None else self.whole[0]
            y, numbers, n_entries, n_dev = self.y, self.numbers, self.cache.entries, self.n_dev
        else:
            found = [self.cache.read(blocks[0]) for part in (TRAIN, DEV) if (blocks := self.cache.of((part,)))]
            rows = concatenate([one[0] for one in found], self.cache.n_blocks, self.n_columns)
            y, numbers = (np.concatenate([one[k] for one in found]) for k in (1, 2))
            n_entries, n_dev = len(rows.indices), len(y) - len(found[0][1])
        of, dev = self.targets, np.arange(len(y) - n_dev, len(y)) if n_dev else None
        weight, given = of.weight(y, numbers), of.given(y, numbers)
        return SearchRows(rows, of.of(y), n_entries, dev, weight, given_weight=given, most_entries=self.room)

    def counts(self) -> tuple[ClassCounts, Array]:
        """Return the documents of each class that hold each feature, and the classes, or labels, of as many rows."""
        values = [rows.computed for rows, _, _ in self._each()] if self.computed else []  # few columns: they fit
        computed = np.concatenate([value for value in values if value is not None]) if values else None
        found = ClassCounts(self.class_counts, self.n_fitted, computed, df=self.df)
        return found, self.targets.of(np.repeat(np.arange(len(self.known), dtype=np.int32), self.fitted_rows))

    def feature_weights(self, plan: FeaturePlan, ratio: float) -> FeatureWeights:
        """Learn the weight of each feature from the rows of the last fit."""
        rows: Any
        rows, y = self.counts()
        if self.targets.plain:
            return plan.weights(rows, y, self.n_classes, ratio)
        if self.whole is not None:
            rows, codes, numbers = self.whole
            if self.watched:
                rows, codes, numbers = rows.slice(0, self.n_fitted), codes[: self.n_fitted], numbers[: self.n_fitted]
            return plan.weights(rows, self.targets.of(codes), self.n_classes, ratio, self.targets.given(codes, numbers))
        table: Floats = reduce(iadd, (self.targets.table(*block) for block in self._each()))
        rows = replace(rows, table=table[:, 1:], df=table[:, 0])
        return plan.weights(rows, y, self.n_classes, ratio, np.array([arithmetic.total(self.fitted_weight)]))

    def _each(self) -> Iterator[tuple[SparseCounts, Labels, Floats]]:
        """Yield the fitted rows of each block, their cells and their own numbers."""
        for _, rows, y, numbers in self.cache.visit([(k,) for k in self.cache.of(self.fitted_parts)]):
            yield rows, y, numbers

    def keep(self, numbers: Ints32) -> None:
        """Drop columns from now on, whenever rows are read."""
        kept = np.flatnonzero(numbers >= 0)
        self.cache.numbers, self.n_columns = numbers, len(kept)
        self.class_counts, self.fingerprints = self.class_counts[kept], self.fingerprints[kept]
        self.df = None if self.df is None else self.df[kept]
        self._columns = kept
        if self.whole is not None:
            self.whole = self.whole[0].keep(numbers), *self.whole[1:]

    def names(self, columns: Ints) -> tuple[Bytes, Ints]:
        """Return the names of some columns, from the file of names."""
        return self.name_file.find(columns if self._columns is None else self._columns[columns])

    def in_blocks(self, weighting: Weighting, on_epoch: OnEpoch) -> RowBlocks:
        """Return the rows of the last fit, a few blocks at a time; watched dev rows are those of one block."""
        del self.class_counts
        held_out, of = None, self.targets
        if self.watched:
            rows, y, _ = self.cache.read(self.cache.of((DEV,))[0])
            held_out = rows, of.of(y)

        def read(groups: list[BlockNumbers]) -> GroupRows:
            for group, rows, y, numbers in self.cache.visit(groups):
                yield group, TrainingSet(weighting.matrix(rows), of.of(y), self.n_classes, of.weight(y, numbers))

        weights = self.fitted_weight if of.factors is None else self.fitted_weight * of.factors.T
        return RowBlocks(
            read, {k: self.cache.blocks[k].rows for k in self.cache.of(self.fitted_parts)}, self.folder,
            len(weighting.weights.norm), self.n_classes, self.n_outputs, arithmetic.total(weights), weighting.gain,
            multilabel=self.sets is not None, soft=bool(of.soft or of.smoothing), threads=self.threads,
            on_epoch=weighting.judged(on_epoch, held_out) or on_epoch,
        )  # fmt: skip

    def fitted(self) -> FittedRows | None:
        """Return the rows of the last fit where all rows are in memory; they are let go of here."""
        if self.whole is None:
            return None
        rows, y, numbers = self.whole
        self.whole, n, held_out = None, self.n_fitted, None
        if self.watched:
            held_out = rows.slice(n, len(y)), self.targets.of(y[n:])
            rows, y, numbers = rows.slice(0, n), y[:n], numbers[:n]
        return FittedRows(rows, self.targets.of(y), self.targets.weight(y, numbers), held_out)

    def about(self) -> dict[str, Any]:
        """Return what the card says of the data, and how it was held where that decided the model."""
        found = about_source(self.main.name, self.main.text or "text", self.main.bins, self.separator)
        if self.n_blocks > 1 or self.lost or self.main.damaged:
            found["stream"] = {
                "files": len(self.main.shards), "damaged": sorted(Path(name).name for name in self.main.damaged),
                "blocks": self.n_blocks, "features_met": self.met, "lost": self.lost,
                "max_memory": self.budget.total,
            }  # fmt: skip
        return found
