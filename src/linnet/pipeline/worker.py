"""What a worker of an engine does with one shard: look, count, make rows, give some of them, apply a function.

Every job may be called twice, on any worker. The rows of a shard are made from its texts when they are first asked for
and kept by the worker that made them; a worker that takes over from a lost one makes them again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.data.labelled import Labelled, LabelledFiles, Scan, codes_of
from linnet.features.blocks import AnyBlocks
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.computed import split
from linnet.features.counting import Counted, names_of
from linnet.features.counts import SparseCounts, concatenate
from linnet.model.learned import merged, numbers_of
from linnet.pipeline.crossval import Weighting
from linnet.pipeline.disk import columns_of
from linnet.pipeline.streamed import DEV, TEST, TRAIN, by_part, count_batch
from linnet.pipeline.vocabulary import StreamVocabulary
from linnet.solvers.matrix import TrainingSet

KEPT = 64  # shards whose rows a worker keeps
_ROWS: OrderedDict[tuple[str, str], tuple[SparseCounts, npt.NDArray[np.int32], npt.NDArray[np.uint8]]] = OrderedDict()


@dataclass(frozen=True)
class ShardTask:
    """One shard: its path, the columns, and the part of each of its rows (or one part for all)."""

    path: str
    text: str | None
    label: str | None
    format: str | None
    parts: npt.NDArray[np.uint8] | int = TRAIN

    def source(self) -> LabelledFiles:
        """Open it."""
        return LabelledFiles([Path(self.path)], text=self.text, label=self.label, format=self.format)


@dataclass(frozen=True)
class ShardPlan:
    """What all shards share: a name of the run, cells, features, and the vocabulary once it is decided.

    Cells are the classes, or the labels of rows together, whose members are in sets, (n_cells, n_classes).
    """

    run: str
    cells: tuple[str, ...]
    features: AnyBlocks
    counting: bool
    batch_bytes: int
    fingerprints: npt.NDArray[np.uint64] | None = None
    hash_bits: int | None = None
    sets: npt.NDArray[np.bool_] | None = None

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.cells) if self.sets is None else self.sets.shape[1]

    @property
    def n_columns(self) -> int:
        """How many features there are, once that is decided."""
        if self.hash_bits:
            return 1 << self.hash_bits
        return 0 if self.fingerprints is None else len(self.fingerprints)

    def rows(self, batch: Labelled) -> SparseCounts:
        """Return the texts of a batch as rows over those features."""
        _, counted = self.count(batch, hash_bits=self.hash_bits, counting=self.counting)
        return counted.rows if self.hash_bits else counted.rows.keep(self.column_of(counted.fingerprints))

    def count(
        self, batch: Labelled, *, hash_bits: int | None = None, counting: bool = False
    ) -> tuple[list[TextBuffer], Counted]:
        """Count the texts of a batch."""
        return count_batch(batch.text, self.features, hash_bits=hash_bits, counting=counting, threads=1)

    @cached_property
    def column_of(self) -> Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.int32]]:
        """What gives the columns of fingerprints; -1 for those that are not features."""
        assert self.fingerprints is not None  # noqa: S101 - decided
        return columns_of(self.fingerprints)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # not the lookup


@dataclass(frozen=True)
class ShardFit:
    """How rows are weighted for a fit, and which of them are fitted."""

    weighting: Weighting
    per_class: npt.NDArray[np.float64] | None
    fitted: tuple[int, ...]


def scan_shard(task: ShardTask, most_rows: int) -> Scan:
    """Look at one shard."""
    return task.source().scan(most_rows)


def _batches(task: ShardTask, shared: ShardPlan) -> Iterator[tuple[int, Labelled, npt.NDArray[np.int32]]]:
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
            _, counted = shared.count(batch, counting=shared.counting)
            found.add(counted.fingerprints, counted.rows.document_frequency(), dev=part == DEV)
    return found


def rows_of(task: ShardTask, shared: ShardPlan) -> tuple[SparseCounts, npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return the rows of a shard, training rows first, then those of dev, with cells and parts."""
    key = (shared.run, task.path)
    if key in _ROWS:
        _ROWS.move_to_end(key)
        return _ROWS[key]
    found: dict[int, list[tuple[SparseCounts, npt.NDArray[np.int32]]]] = {TRAIN: [], DEV: []}
    for part, batch, y in _batches(task, shared):
        if part != TEST:
            found[part].append((shared.rows(batch), y))
    every = [(part, *one) for part in (TRAIN, DEV) for one in found[part]]
    whole = concatenate([rows for _, rows, _ in every], max(1, len(split(shared.features)[0])), shared.n_columns)
    y = np.concatenate([np.zeros(0, np.int32), *(y for _, _, y in every)])
    parts = np.concatenate([np.zeros(0, np.uint8), *(np.full(len(y), part, np.uint8) for part, _, y in every)])
    _ROWS[key] = (whole, y, parts)
    while len(_ROWS) > KEPT:
        _ROWS.popitem(last=False)
    return _ROWS[key]


@dataclass(frozen=True)
class ShardTotals:
    """What adds up over shards: documents by class that hold each feature, rows by part and class, entries."""

    counts: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]  # (2, n_cells)
    entries: int
    squares: npt.NDArray[np.float64]  # of computed columns
    df: npt.NDArray[np.int32]  # documents with each feature, where rows may have several labels

    def __add__(self, other: ShardTotals) -> ShardTotals:
        return ShardTotals(
            self.counts + other.counts, self.rows + other.rows, self.entries + other.entries,
            self.squares + other.squares, self.df + other.df,
        )  # fmt: skip


def totals(task: ShardTask, shared: ShardPlan, fitted: tuple[int, ...]) -> ShardTotals:
    """Count features by class in the rows to fit on."""
    rows, y, parts = rows_of(task, shared)
    mine = np.flatnonzero(np.isin(parts, fitted))
    some = rows if len(mine) == len(y) else rows.take(mine)
    counts = some.class_counts(y[mine] if shared.sets is None else shared.sets[y[mine]], shared.n_classes)
    by_part = [np.bincount(y[parts == part], minlength=len(shared.cells)) for part in (TRAIN, DEV)]
    squares = (
        np.zeros(0) if some.computed is None else arithmetic.total(np.square(some.computed, dtype=np.float64), axis=0)
    )
    df = np.zeros(0, np.int32) if shared.sets is None else some.document_frequency()
    return ShardTotals(counts, np.stack(by_part), len(rows.indices), squares, df)


def take(asked: tuple[ShardTask, npt.NDArray[np.int64]], shared: ShardPlan) -> SparseCounts:
    """Return some rows of a shard by number, training rows first."""
    return rows_of(asked[0], shared)[0].take(asked[1])


def test_texts(task: ShardTask, shared: ShardPlan) -> tuple[list[tuple[Any, Any]], npt.NDArray[np.uint32]]:
    """Return the texts and labels of the test rows, and the numbers of the texts of the others."""
    held, numbers = [], np.zeros(0, np.uint32)
    for part, batch, _ in _batches(task, shared):
        if part == TEST:
            held.append((batch.text, batch.label))
        else:
            numbers = merged(numbers, numbers_of(text_buffers(batch.text)))
    return held, numbers


def names(task: ShardTask, shared: ShardPlan, named: npt.NDArray[np.int64]) -> dict[int, bytes]:
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


def apply(task: ShardTask, shared: ShardPlan, fit: ShardFit, function: Callable[..., Any], *args: Any) -> Any:
    """Return function(rows, *args) of the fitted rows of a shard."""
    rows, y, parts = rows_of(task, shared)
    mine = np.flatnonzero(np.isin(parts, fit.fitted))
    if len(mine) < len(y):
        rows, y = rows.take(mine), y[mine]
    weight = None if fit.per_class is None else fit.per_class[y]
    target = y if shared.sets is None else shared.sets[y]
    return function(TrainingSet(fit.weighting.matrix(rows), target, shared.n_classes, weight), *args)
