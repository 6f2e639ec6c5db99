"""Rows on the workers of an engine: shards are mapped over, results are added up, models are those of one machine.

Document frequencies, the vocabulary and its numbering, class counts and naive Bayes are one reduce each. Whole numbers
add up exactly, so the model is that of one machine to the byte. Smooth objectives are minimised by Newton's method here,
on gradients and products with the curvature that the workers add up (:mod:`linnet.solvers.newton`).

References: McDonald, Hall, Mann: Distributed Training Strategies for the Structured Perceptron, 2010; Agarwal et al.: A
Reliable Effective Terascale Linear Learning System, 2014.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.data.labelled import LabelledFiles, Scan, join_scans
from linnet.engines import Engine
from linnet.engines.engine import check
from linnet.errors import DataError, LinnetError
from linnet.features.counts import SparseCounts, concatenate
from linnet.model.learned import merged
from linnet.pipeline import worker
from linnet.pipeline.cache import TestRows, joined
from linnet.pipeline.crossval import FittedRows, Weighting
from linnet.pipeline.events import Log, Meter
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import ClassCounts
from linnet.pipeline.search import SearchRows
from linnet.pipeline.streamed import DEV, TRAIN, Inputs, StreamedRows
from linnet.pipeline.vocabulary import StreamVocabulary
from linnet.pipeline.worker import ShardFit, ShardPlan, ShardTask, ShardTotals
from linnet.solvers.callbacks import OnEpoch
from linnet.solvers.matrix import RowBlocks

Labels = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]


class RemoteRows(StreamedRows):
    """Rows that the workers of an engine hold."""

    found: ShardTotals

    def __init__(self, plan: Plan, inputs: Inputs, log: Log, engine: Engine) -> None:
        self.engine, self.run = engine, uuid.uuid4().hex
        if plan.traits.sums == "no":
            raise LinnetError(
                f"{plan.name} needs all rows in memory at once, and an engine has them in shards; choose a model that is "
                "fitted shard by shard, such as svm, logistic or nb"
            )
        super().__init__(plan, inputs, log)
        if not self.exact:
            raise DataError(
                f"{self.scan.rows:,} rows are too many to number within the memory allowed; raise --max-memory"
            )

    # ---- looking and counting

    def _scans(self, meter: Meter) -> tuple[Scan, dict[int, Scan]]:
        page = f", {self.engine.dashboard}" if self.engine.dashboard else ""
        self.inputs.say(f"engine {self.engine.name}: {self.engine.workers} workers{page}")
        return self._scan(self.main, self.inputs.skip_damaged, meter), {
            part: self._scan(source, False, meter) for part, source in self.others.items()
        }

    def _scan(self, source: LabelledFiles, skip_damaged: bool, meter: Meter) -> Scan:
        source.settle(skip_damaged)
        most = self.budget.exact_rows()
        tasks = [
            ShardTask(str(p), source.text, source.label, source.format)
            for p in source.shards
            if str(p) not in source.damaged
        ]
        found: dict[int, Scan] = {}
        for outcome in self.engine.map(worker.scan_shard, tasks, self.engine.broadcast(most)):
            if skip_damaged and isinstance(outcome.error, DataError):
                source.damaged[tasks[outcome.index].path] = str(outcome.error)
                continue
            found[outcome.index] = check(outcome, tasks)
            meter(found[outcome.index].nbytes)
        whole = Scan(damaged=source.damaged)
        for index in sorted(found):
            join_scans(whole, found[index], tasks[index].path, most)
        if not whole.rows:
            raise DataError(f"no usable rows in {source.name}: {whole.unusable}")
        return whole

    def _tasks(self, source: LabelledFiles, scan: Scan, part: int) -> list[ShardTask]:
        out, at = [], 0
        for path, rows in scan.by_shard.items():
            parts: Any = part
            if source is self.main and self.parts.whole is not None:
                parts = self.parts.whole[at : at + rows]
            out.append(ShardTask(path, source.text, source.label, source.format, parts))
            at += rows
        return out

    def count(self, plan: Plan, log: Log) -> None:
        """Let the workers count features and make their rows; add up what all of them know."""
        self.shard_plan = ShardPlan(
            self.run,
            tuple(self.known),
            self.features,
            self.counting,
            self.batch_bytes,
            hash_bits=plan.features.hash_bits,
            sets=self.sets,
        )
        self.tasks = [*self._tasks(self.main, self.scan, TRAIN)]
        for part, source in self.others.items():
            self.tasks += self._tasks(source, self.scans[part], part)
        self._count_vocabulary(plan.features)
        log.stage("count", f"making rows on {self.engine.workers} workers")
        self._share(self.fingerprints)
        fitted = (TRAIN, DEV) if plan.refit else (TRAIN,)
        self.found = self.engine.add_up(worker.totals, self.tasks, self.shared, self.engine.broadcast(fitted))
        self.set_rows_of({TRAIN: self.found.rows[0], DEV: self.found.rows[1]})
        self.test_rows = self._test_rows()

    def _share(self, fingerprints: npt.NDArray[np.uint64]) -> None:
        self.shard_plan = replace(self.shard_plan, fingerprints=fingerprints)
        self.shared = self.engine.broadcast(self.shard_plan)

    def _vocabulary(self) -> StreamVocabulary:
        found: StreamVocabulary = self.engine.add_up(
            worker.count_shard, self.tasks, self.engine.broadcast(self.shard_plan)
        )
        return found

    def _expected_entries(self) -> int:
        return 0  # the workers count them

    def _test_rows(self) -> TestRows:
        held, parts = TestRows(self.folder / "test.arrow"), self._each(worker.test_texts, self.tasks)
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
        return self.numbered_rows(self, self.found.entries)

    def take(self, rows: Indices) -> SparseCounts:
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
        whole = concatenate(self._each(worker.take, asked), max(1, len(self.blocks)), self.n_columns)
        return whole.take(np.argsort(np.concatenate(places), kind="stable"))

    def _size(self, task: ShardTask, part: int) -> int:
        if not isinstance(task.parts, int):
            return int((task.parts == part).sum())
        scan = self.scans.get(part)
        return scan.by_shard.get(task.path, 0) if scan is not None and task.parts == part else 0

    def counts(self) -> tuple[ClassCounts, npt.NDArray[Any]]:
        """Return the documents of each class that hold each feature."""
        n = self.n_fitted
        # one row with the same mean square: enough to scale computed columns
        computed = np.sqrt(self.found.squares / n)[None].astype(np.float32) if self.computed else None
        df = None if self.sets is None else self.found.df
        return ClassCounts(self.found.counts, n, computed, df=df), self.fitted_classes()

    def keep(self, numbers: npt.NDArray[np.int32]) -> None:
        """Drop columns: the workers make their rows again."""
        kept = np.flatnonzero(numbers >= 0)
        self.fingerprints, self.n_columns, self.run = self.fingerprints[kept], len(kept), uuid.uuid4().hex
        df = self.found.df if self.sets is None else self.found.df[kept]
        self.found = replace(self.found, counts=self.found.counts[kept], df=df)
        self.shard_plan = replace(self.shard_plan, run=self.run)
        self._share(self.fingerprints)

    def names(self, columns: Indices) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """Ask the workers for names."""
        found: dict[int, bytes] = {}
        for one in self._each(worker.names, self.tasks, self.engine.broadcast(columns)):
            found |= one
        return joined([found[int(column)] for column in columns])

    def fitted(self) -> FittedRows | None:
        """Rows are on the workers."""
        return None

    def in_blocks(self, weighting: Weighting, on_epoch: OnEpoch) -> RowBlocks:
        """Return the rows of the last fit."""
        return RemoteBlocks(self, ShardFit(weighting, self.per_class, self.fitted_parts), on_epoch, weighting.gain)


@dataclass
class RemoteBlocks(RowBlocks):
    """Weighted rows of the shards, a block a shard. Functions of a block are sent to the workers."""

    store: RemoteRows
    fit: ShardFit
    on_epoch: OnEpoch
    gain: npt.NDArray[np.float32] | None
    local: bool = False
    _sent: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store.describe(self, self.fit.weighting)

    def with_gain(self, gain: npt.NDArray[np.float32], on_epoch: OnEpoch) -> RemoteBlocks:
        """Return the same rows with a weight for each feature and class that is not in the values."""
        return replace(self, gain=gain, on_epoch=on_epoch, _sent={})

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
        return engine.add_up(worker.apply, self.store.tasks, self.store.shared, *shared)
