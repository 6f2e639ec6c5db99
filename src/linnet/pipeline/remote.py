"""Rows on the workers of an engine: shards are mapped over, results are added up, models are those of one machine.

Document frequencies, the vocabulary and its numbering, class counts and naive Bayes are one reduce each. Whole numbers
add up exactly, so the model is that of one machine to the byte. Smooth objectives are minimised by Newton's method here,
on gradients and products with the curvature that the workers add up (:mod:`linnet.solvers.newton`). Where there is room for all
rows in this process they are sent here, and fitted as on one machine: each of Newton's products would send all weights.

References: McDonald, Hall, Mann: Distributed Training Strategies for the Structured Perceptron, 2010; Agarwal et al.: A
Reliable Effective Terascale Linear Learning System, 2014.

What a worker of an engine does with one shard: look, count, make rows, give some of them, apply a function.

Every job may be called twice, on any worker. The rows of a shard are made from its texts when they are first asked for
and kept by the worker that made them; a worker that takes over from a lost one makes them again.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Bytes, Floats, Floats32, Hashes, Hashes32, Ints, Ints32
from linnet.data.labelled import Labelled, LabelledFiles, Scan, codes_of, join_scans
from linnet.engines import Engine
from linnet.engines.engine import check
from linnet.errors import DataError, LinnetError
from linnet.features.blocks import AnyBlocks, split
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import Counted, SparseCounts, concatenate, joined, names_of
from linnet.model.learned import merged, numbers_of
from linnet.pipeline.cache import StreamVocabulary, TestRows
from linnet.pipeline.crossval import Weighting
from linnet.pipeline.disk import columns_of
from linnet.pipeline.events import Log, Meter
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import ClassCounts
from linnet.pipeline.search import SearchRows
from linnet.pipeline.stream import DEV, TEST, TRAIN, StreamedRows, Targets, by_part, count_batch
from linnet.solvers.callbacks import OnEpoch
from linnet.solvers.matrix import RowBlocks, TrainingSet

# ---- what a worker does with one shard

KEPT = 64  # shards whose rows a worker keeps
BYTES_HERE = 24  # an entry of a row that is sent here, while rows are put together and fitted
_ROWS: OrderedDict[tuple[str, str], tuple[SparseCounts, Ints32, Floats, Bytes]] = OrderedDict()

_FITTED: OrderedDict[str, tuple[str, ShardFit, TrainingSet]] = OrderedDict()


@dataclass(frozen=True)
class ShardTask:
    """One shard: its path, the columns, and the part of each of its rows (or one part for all)."""

    path: str
    columns: Mapping[str, Any]
    parts: Bytes | int = TRAIN

    @classmethod
    def of(cls, source: LabelledFiles, path: str, parts: Bytes | int = TRAIN) -> ShardTask:
        """Return one of the files of a source."""
        columns = {name: getattr(source, name) for name in ("text", "label", "format", "bins", "weight")}
        return cls(path, {**columns, "label_columns": source.soft}, parts)

    def source(self) -> LabelledFiles:
        """Open it."""
        return LabelledFiles([Path(self.path)], **self.columns)


@dataclass(frozen=True)
class ShardPlan:
    """What all shards share: a name of the run, cells, what they stand for, features, and the vocabulary once it is decided.

    Cells are the classes, or the labels of rows together.
    """

    run: str
    cells: tuple[str, ...]
    targets: Targets
    features: AnyBlocks
    counting: bool
    batch_bytes: int
    fingerprints: Hashes | None = None
    hash_bits: int | None = None

    @property
    def n_columns(self) -> int:
        """How many features there are, once that is decided."""
        if self.hash_bits:
            return 1 << self.hash_bits
        return 0 if self.fingerprints is None else len(self.fingerprints)

    def rows(self, batch: Labelled) -> SparseCounts:
        """Return the texts of a batch as rows over those features."""
        _, counted = self.count(batch)
        return counted.rows if self.hash_bits else counted.rows.keep(self.column_of(counted.fingerprints))

    def count(self, batch: Labelled) -> tuple[list[TextBuffer], Counted]:
        """Count the texts of a batch."""
        return count_batch(batch.text, self.features, hash_bits=self.hash_bits, counting=self.counting, threads=1)

    @cached_property
    def column_of(self) -> Callable[[Hashes], Ints32]:
        """What gives the columns of fingerprints; -1 for those that are not features."""
        assert self.fingerprints is not None  # noqa: S101 - decided
        return columns_of(self.fingerprints)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # not the lookup


@dataclass(frozen=True)
class ShardFit:
    """How rows are weighted for a fit, and which of them are fitted."""

    weighting: Weighting
    targets: Targets  # with class weights
    fitted: tuple[int, ...]
    twice: bool = False


def scan_shard(task: ShardTask, most_rows: int) -> Scan:
    """Look at one shard."""
    return task.source().scan(most_rows)


def _batches(task: ShardTask, shared: ShardPlan) -> Iterator[tuple[int, Labelled, Ints32]]:
    """Yield (part, rows, cells) of each batch of a shard."""
    known = {name: k for k, name in enumerate(shared.cells)}
    at = 0
    for batch in task.source().batches(shared.batch_bytes):
        codes = codes_of(batch.label, dict(known))
        n = len(batch)
        where = np.full(n, task.parts, np.uint8) if isinstance(task.parts, int) else task.parts[at : at + n]
        at += n
        for part, rows in by_part(batch, where, (TRAIN, DEV, TEST)):
            yield part, rows, codes[where == part]


def count_shard(task: ShardTask, shared: ShardPlan) -> StreamVocabulary:
    """Count the features of the rows that are not for the test."""
    found = StreamVocabulary()
    for part, batch, _ in _batches(task, shared):
        if part != TEST:
            _, counted = shared.count(batch)
            found.add(counted.fingerprints, counted.rows.document_frequency(), dev=part == DEV)
    return found


def rows_of(task: ShardTask, shared: ShardPlan) -> tuple[SparseCounts, Ints32, Floats, Bytes]:
    """Return the rows of a shard, training rows first, then those of dev, with cells, own numbers and parts."""
    key = (shared.run, task.path)
    if key in _ROWS:
        _ROWS.move_to_end(key)
        return _ROWS[key]
    found: dict[int, list[tuple[SparseCounts, Ints32, Floats]]] = {TRAIN: [], DEV: []}
    for part, batch, y in _batches(task, shared):
        if part != TEST:
            found[part].append((shared.rows(batch), y, shared.targets.numbers(batch)))
    every = [(part, *one) for part in (TRAIN, DEV) for one in found[part]]
    whole = concatenate([rows for _, rows, _, _ in every], max(1, len(split(shared.features)[0])), shared.n_columns)
    y = np.concatenate([np.zeros(0, np.int32), *(y for _, _, y, _ in every)])
    numbers = np.concatenate([np.zeros((0, shared.targets.n_numbers)), *(numbers for *_, numbers in every)])
    parts = np.concatenate([np.zeros(0, np.uint8), *(np.full(len(y), part, np.uint8) for part, _, y, _ in every)])
    _ROWS[key] = (whole, y, numbers, parts)
    while len(_ROWS) > KEPT:
        _ROWS.popitem(last=False)
    return _ROWS[key]


def fitted_rows(task: ShardTask, shared: ShardPlan, fitted: tuple[int, ...]) -> tuple[SparseCounts, Ints32, Floats]:
    """Return the rows of some parts of a shard, their cells and own numbers."""
    rows, y, numbers, parts = rows_of(task, shared)
    mine = np.flatnonzero(np.isin(parts, fitted))
    return (rows, y, numbers) if len(mine) == len(y) else (rows.take(mine), y[mine], numbers[mine])


@dataclass(frozen=True)
class ShardTotals:
    """What adds up over shards: documents by class that hold each feature, rows by part and class, entries."""

    counts: Ints32
    rows: Ints  # (2, n_cells)
    entries: int
    squares: Floats  # of computed columns
    df: Ints32  # documents with each feature, where rows may have several labels

    def __add__(self, other: ShardTotals) -> ShardTotals:
        return ShardTotals(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


def shard_totals(task: ShardTask, shared: ShardPlan, fitted: tuple[int, ...]) -> ShardTotals:
    """Count features by class in the rows to fit on."""
    rows, y, _, parts = rows_of(task, shared)
    some, mine, _ = fitted_rows(task, shared, fitted)
    counts = some.class_counts(shared.targets.of(mine), shared.targets.n_classes)
    by_part = [np.bincount(y[parts == part], minlength=len(shared.cells)) for part in (TRAIN, DEV)]
    squares = (
        np.zeros(0) if some.computed is None else arithmetic.total(np.square(some.computed, dtype=np.float64), axis=0)
    )
    df = np.zeros(0, np.int32) if shared.targets.sets is None else some.document_frequency()
    return ShardTotals(counts, np.stack(by_part), len(rows.indices), squares, df)


def shard_table(task: ShardTask, shared: ShardPlan, fitted: tuple[int, ...]) -> Floats:
    """Return what the documents with each feature weigh."""
    return shared.targets.table(*fitted_rows(task, shared, fitted))


def shard_take(asked: tuple[ShardTask, Ints], shared: ShardPlan) -> SparseCounts:
    """Return some rows of a shard by number, training rows first."""
    return rows_of(asked[0], shared)[0].take(asked[1])


def shard_test_texts(task: ShardTask, shared: ShardPlan) -> tuple[list[tuple[Any, Any]], Hashes32]:
    """Return the texts and labels of the test rows, and the numbers of the texts of the others."""
    held, numbers = [], np.zeros(0, np.uint32)
    for part, batch, _ in _batches(task, shared):
        if part == TEST:
            held.append((batch.text, batch.label))
        else:
            numbers = merged(numbers, numbers_of(text_buffers(batch.text)))
    return held, numbers


def shard_names(task: ShardTask, shared: ShardPlan, named: Ints) -> dict[int, bytes]:
    """Return the names of some columns, as far as this shard has them."""
    wanted = np.zeros(shared.n_columns, dtype=bool)
    wanted[named] = True
    blocks = split(shared.features)[0]
    out: dict[int, bytes] = {}
    for part, batch, _ in _batches(task, shared):
        if part == TEST:
            continue
        buffers, counted = shared.count(batch)
        columns = shared.column_of(counted.fingerprints)
        fresh = np.flatnonzero((columns >= 0) & wanted[columns])
        if len(fresh):
            data, ends = names_of(buffers, blocks, counted.seen.take(fresh), counted.fingerprints[fresh])
            raw, at = data.tobytes(), ends.tolist()
            out |= {int(columns[j]): raw[at[i] : at[i + 1]] for i, j in enumerate(fresh.tolist())}
            wanted[columns[fresh]] = False
    return out


def shard_apply(task: ShardTask, shared: ShardPlan, fit: ShardFit, function: Callable[..., Any], *args: Any) -> Any:
    """Return function(rows, *args) of the fitted rows of a shard, which are kept for the next call."""
    found = _FITTED.get(task.path)
    if found is not None and found[0] == shared.run and found[1] is fit:
        return function(found[2], *args)
    rows, y, numbers = fitted_rows(task, shared, fit.fitted)
    kept = fit.targets.training_set(fit.weighting.matrix(rows).explicit(), y, numbers, fit.twice)
    _FITTED[task.path] = shared.run, fit, kept
    while len(_FITTED) > KEPT:
        _FITTED.popitem(last=False)
    return function(kept, *args)


# ---- the store


class RemoteRows(StreamedRows):
    """Rows that the workers of an engine hold."""

    found: ShardTotals

    def __init__(self, engine: Engine, plan: Plan, *given: Any) -> None:
        self.engine, self.run = engine, uuid.uuid4().hex
        if plan.traits.sums == "no":
            raise LinnetError(f"{plan.name} needs all rows in memory, not on an engine; use svm, logistic or nb")
        super().__init__(plan, *given)
        if not self.exact:
            raise DataError(f"{self.scan.rows:,} rows are too many to number in this memory; raise --max-memory")

    # ---- looking and counting

    def look(self) -> None:
        """Look at all rows once, on the workers."""
        page = f", {self.engine.dashboard}" if self.engine.dashboard else ""
        self.say(f"engine {self.engine.name}: {self.engine.workers} workers{page}")
        super().look()

    def _scan(self, source: LabelledFiles, skip_damaged: bool, meter: Meter) -> Scan:
        source.settle(skip_damaged)
        most = self.budget.exact_rows()
        tasks = [ShardTask.of(source, path) for path in map(str, source.shards) if path not in source.damaged]
        found: dict[int, Scan] = {}
        for outcome in self.engine.map(scan_shard, tasks, self.engine.broadcast(most)):
            if skip_damaged and isinstance(outcome.error, DataError):
                source.damaged[tasks[outcome.index].path] = str(outcome.error)
                continue
            found[outcome.index] = check(outcome, tasks)
            meter(found[outcome.index].nbytes)
        whole = Scan(damaged=source.damaged)
        for index in sorted(found):
            join_scans(whole, found[index], tasks[index].path, source.numbered(most))
        if not whole.rows:
            raise DataError(f"no usable rows in {source.name}: {whole.unusable}")
        return whole

    def _tasks(self, source: LabelledFiles, scan: Scan, part: int) -> list[ShardTask]:
        out, at = [], 0
        for path, rows in scan.by_shard.items():
            parts: Any = part
            if source is self.main and self.parts.whole is not None:
                parts = self.parts.whole[at : at + rows]
            out.append(ShardTask.of(source, path, parts))
            at += rows
        return out

    def count(self, plan: Plan, log: Log) -> None:
        """Let the workers count features and make their rows; add up what all of them know."""
        self.shard_plan = ShardPlan(
            self.run,
            tuple(self.known),
            self.targets,
            self.features,
            self.counting,
            self.batch_bytes,
            hash_bits=plan.features.hash_bits,
        )
        self.tasks = [*self._tasks(self.main, self.scan, TRAIN)]
        for part, source in self.others.items():
            self.tasks += self._tasks(source, self.scans[part], part)
        self._count_vocabulary(plan.features)
        log.stage("count", f"making rows on {self.engine.workers} workers")
        self._share(self.fingerprints)
        fitted = (TRAIN, DEV) if plan.refit else (TRAIN,)
        self.found = self.engine.add_up(shard_totals, self.tasks, self.shared, self.engine.broadcast(fitted))
        n_train = int(self.found.rows[0].sum())
        parts = {TRAIN: slice(n_train), DEV: slice(n_train, None)}
        weights = {part: self.targets.by_cell(self.y[rows], self.numbers[rows]) for part, rows in parts.items()}
        self.set_rows_of(dict(zip(parts, self.found.rows, strict=True)), weights)
        if self.found.entries <= self.budget.whole_entries(BYTES_HERE):
            self.whole = self.take(np.arange(len(self.y))), self.y, self.numbers
        self.test_rows = self._test_rows()

    def _share(self, fingerprints: Hashes) -> None:
        self.shard_plan = replace(self.shard_plan, fingerprints=fingerprints)
        self.shared = self.engine.broadcast(self.shard_plan)

    def _vocabulary(self) -> StreamVocabulary:
        found: StreamVocabulary = self.engine.add_up(count_shard, self.tasks, self.engine.broadcast(self.shard_plan))
        return found

    def _expected_entries(self) -> int:
        return 0  # the workers count them

    def _test_rows(self) -> TestRows:
        held, parts = TestRows(self.folder), self._each(shard_test_texts, self.tasks)
        with held:
            for pairs, numbers in parts:
                self.text_numbers = merged(self.text_numbers, numbers)
                for text, label in pairs:
                    held.add(text, label)
        return held

    def _each(self, function: Callable[..., Any], asked: list[Any], *shared: Any) -> list[Any]:
        """Return the value of each shard, in order."""
        found: dict[int, Any] = {}
        for outcome in self.engine.map(function, asked, self.shared, *shared):
            found[outcome.index] = check(outcome, asked)
        return [found[k] for k in sorted(found)]

    # ---- the store

    def search_rows(self) -> SearchRows:
        """Return all rows by number."""
        return self.numbered_rows(self if self.whole is None else self.whole[0], self.found.entries)

    def take(self, rows: Ints) -> SparseCounts:
        """Return rows by number: training rows of all shards first, then dev rows, as one machine has them."""
        sizes = np.array([[self._size(task, part) for task in self.tasks] for part in (TRAIN, DEV)], dtype=np.int64)
        ends = np.cumsum(sizes.ravel())
        which = np.searchsorted(ends, rows, side="right")
        inside = rows - np.concatenate([[0], ends])[which]
        n = sizes.shape[1]
        inside = inside + np.where(which >= n, sizes[0][which % n], 0)  # dev rows come after those for training
        asked, places = [], []
        for shard in np.unique(which % n).tolist():
            mine = np.flatnonzero(which % n == shard)
            asked.append((self.tasks[shard], inside[mine]))
            places.append(mine)
        whole = concatenate(self._each(shard_take, asked), max(1, len(self.blocks)), self.n_columns)
        return whole.take(np.argsort(np.concatenate(places), kind="stable"))

    def _size(self, task: ShardTask, part: int) -> int:
        if not isinstance(task.parts, int):
            return int((task.parts == part).sum())
        scan = self.scans.get(part)
        return scan.by_shard.get(task.path, 0) if scan is not None and task.parts == part else 0

    def counts(self) -> tuple[ClassCounts, Array]:
        """Return the documents of each class that hold each feature."""
        n = self.n_fitted
        # one row with the same mean square: enough to scale computed columns
        computed = np.sqrt(self.found.squares / n)[None].astype(np.float32) if self.computed else None
        df = None if self.sets is None else self.found.df
        return ClassCounts(self.found.counts, n, computed, df=df), self.fitted_classes()

    def keep(self, numbers: Ints32) -> None:
        """Drop columns: the workers make their rows again."""
        kept = np.flatnonzero(numbers >= 0)
        self.fingerprints, self.n_columns, self.run = self.fingerprints[kept], len(kept), uuid.uuid4().hex
        df = self.found.df if self.sets is None else self.found.df[kept]
        self.found = replace(self.found, counts=self.found.counts[kept], df=df)
        self.shard_plan = replace(self.shard_plan, run=self.run)
        self._share(self.fingerprints)
        if self.whole is not None:
            self.whole = self.whole[0].keep(numbers), *self.whole[1:]

    def names(self, columns: Ints) -> tuple[Bytes, Ints]:
        """Ask the workers for names."""
        found: dict[int, bytes] = {}
        for one in self._each(shard_names, self.tasks, self.engine.broadcast(columns)):
            found |= one
        return joined([found[int(column)] for column in columns])

    def in_blocks(self, weighting: Weighting, on_epoch: OnEpoch) -> RowBlocks:
        """Return the rows of the last fit."""
        return RemoteBlocks(self, ShardFit(weighting, self.targets, self.fitted_parts), on_epoch, weighting.gain)

    def _weighted_table(self) -> Floats:
        found: Floats = self.engine.add_up(
            shard_table, self.tasks, self.shared, self.engine.broadcast(self.fitted_parts)
        )
        return found


@dataclass
class RemoteBlocks(RowBlocks):
    """Weighted rows of the shards, a block a shard. Functions of a block are sent to the workers."""

    store: RemoteRows
    fit: ShardFit
    on_epoch: OnEpoch
    gain: Floats32 | None
    twice: bool = False
    local: bool = False
    _sent: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store.describe(self, self.fit.weighting)

    def with_gain(self, gain: Floats32, on_epoch: OnEpoch) -> RemoteBlocks:
        """Return the same rows with a weight for each feature and class that is not in the values."""
        return replace(self, gain=gain, on_epoch=on_epoch, _sent={})

    def doubled(self) -> RemoteBlocks:
        """Return soft rows twice each."""
        return replace(self, fit=replace(self.fit, twice=True), twice=True, _sent={})

    def add_up(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of function(rows, *args) over all shards, added in a fixed order.

        An argument that is the same object as in the last call is not sent again.
        """
        engine = self.store.engine
        wanted = {id(value): value for value in (self.fit, function, *args)}
        for key in [key for key in self._sent if key not in wanted]:
            engine.forget(self._sent.pop(key)[1])
        for key, value in wanted.items():
            if key not in self._sent:
                self._sent[key] = (value, engine.broadcast(value))
        shared = [self._sent[id(value)][1] for value in (self.fit, function, *args)]
        return engine.add_up(shard_apply, self.store.tasks, self.store.shared, *shared)
