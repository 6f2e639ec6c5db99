"""Rows that the workers of an engine make: they read, count and encode shards, this process keeps the rows on its disk.

Reading and counting texts is most of the work, and shards can be counted in any order: whole numbers add up exactly, and
rows are written in the order of the input. So the model is that of one machine to the byte, on any number of workers. The fit
is left to this process: a step of a solver takes far less time than sending a model of a million weights to every worker.

Every job may be called twice, on any worker: a worker that takes over from a lost one reads the shard again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linnet.array_types import Bytes
from linnet.data.labelled import Labelled, LabelledFiles, Scan, join_scans
from linnet.engines import Engine
from linnet.engines.engine import ShardEvent, check
from linnet.errors import DataError
from linnet.pipeline.cache import StreamVocabulary
from linnet.pipeline.disk import DiskRows, Encoder
from linnet.pipeline.events import Log, Meter
from linnet.pipeline.plan import Plan
from linnet.pipeline.stream import DEV, TEST, TRAIN, by_part


@dataclass(frozen=True)
class ShardTask:
    """One shard: its path, the columns, the part of each of its rows (or one part for all), its number and size."""

    path: str
    columns: Mapping[str, Any]
    batch_bytes: int = 0
    parts: Bytes | int = TRAIN
    rows: int = 0
    number: int = 0

    def source(self) -> LabelledFiles:
        """Open it."""
        return LabelledFiles([Path(self.path)], **self.columns)

    def batches(self) -> Iterator[tuple[int, Labelled]]:
        """Yield (part, rows) of each batch."""
        at = 0
        for batch in self.source().batches(self.batch_bytes):
            n = len(batch)
            if at + n > self.rows:
                break
            where = np.full(n, self.parts, np.uint8) if isinstance(self.parts, int) else self.parts[at : at + n]
            yield from by_part(batch, where, (TRAIN, DEV, TEST))
            at += n
        if at != self.rows:
            raise DataError(f"{self.path} changed while it was read; leave it alone, and run it again")


def columns_of_source(source: LabelledFiles) -> dict[str, Any]:
    """Return the columns of a source, for one of its files."""
    columns = {name: getattr(source, name) for name in ("text", "label", "format", "bins", "weight")}
    return {**columns, "label_columns": source.soft}


def scan_shard(task: ShardTask, most_rows: int) -> Scan:
    """Look at one shard."""
    return task.source().scan(most_rows)


def count_shard(task: ShardTask, encoder: Encoder) -> StreamVocabulary:
    """Count the features of the rows that are not for the test."""
    return encoder.vocabulary(task.batches(), StreamVocabulary())


def encode_shard(task: ShardTask, encoder: Encoder) -> list[tuple[int, Any]]:
    """Return (part, rows) of each batch of a shard."""
    return list(encoder.encoded(task.batches(), task.number))


class RemoteRows(DiskRows):
    """Rows on this disk that the workers of an engine made."""

    def __init__(self, engine: Engine, plan: Plan, *given: Any) -> None:
        self.engine = engine
        self.sizes_of: dict[str, int] = {}  # bytes of text of each shard
        super().__init__(plan, *given)
        if not self.exact:
            raise DataError(f"{self.scan.rows:,} rows are too many to number in this memory; raise --max-memory")

    def _scan(self, source: LabelledFiles, skip_damaged: bool, meter: Meter) -> Scan:
        source.settle(skip_damaged)
        most, columns = self.budget.exact_rows(), columns_of_source(source)
        tasks = [ShardTask(path, columns) for path in map(str, source.shards) if path not in source.damaged]
        found: dict[int, Scan] = {}
        for outcome in self.engine.map(scan_shard, tasks, self.engine.broadcast(most)):
            path = tasks[outcome.index].path
            if skip_damaged and isinstance(outcome.error, DataError):
                source.damaged[path] = str(outcome.error)
                continue
            found[outcome.index] = check(outcome, tasks)
            self.sizes_of[path] = found[outcome.index].nbytes
            meter(self.sizes_of[path])
        whole = Scan(damaged=source.damaged)
        for index in sorted(found):
            join_scans(whole, found[index], tasks[index].path, source.numbered(most))
        if not whole.rows:
            raise DataError(f"no usable rows in {source.name}: {whole.unusable}")
        return whole

    def count(self, plan: Plan, log: Log) -> None:
        """Let the workers count features and make rows; the rows are kept here."""
        self.tasks: list[ShardTask] = []
        self._add_tasks(self.main, self.scan, self.parts.whole)
        for part, source in self.others.items():
            self._add_tasks(source, self.scans[part], part)
        super().count(plan, log)

    def _add_tasks(self, source: LabelledFiles, scan: Scan, parts: Any) -> None:
        columns, at = columns_of_source(source), 0
        for path, rows in scan.by_shard.items():
            mine = parts if isinstance(parts, int) else parts[at : at + rows]
            self.tasks.append(ShardTask(path, columns, self.batch_bytes, mine, rows, len(self.tasks)))
            at += rows

    def _meter(self, text: str) -> tuple[Meter, Callable[[ShardEvent], None]]:
        """Return a meter, and what tells it of each shard that is done."""
        meter = Meter(self.log.on_event, text, sum(self.sizes_of[task.path] for task in self.tasks))

        def watch(event: ShardEvent) -> None:
            if event.kind == "done":
                meter(self.sizes_of[self.tasks[event.index].path])

        return meter, watch

    def _vocabulary(self) -> StreamVocabulary:
        meter, watch = self._meter("counting")
        encoder = self.engine.broadcast(self.encoder)
        found: StreamVocabulary = self.engine.add_up(count_shard, self.tasks, encoder, watch=watch)
        meter.end()
        return found

    def _encoded(self) -> Iterator[tuple[int, Any]]:
        """Yield (part, rows) of all batches, in the order of the input; shards that come too early wait on the disk."""
        meter, watch = self._meter("writing the cache")
        early, number = {}, 0
        for outcome in self.engine.map(encode_shard, self.tasks, self.engine.broadcast(self.encoder), watch=watch):
            batches = check(outcome, self.tasks)
            if outcome.index != number:
                early[outcome.index] = self.folder / f"shard-{outcome.index}"
                early[outcome.index].write_bytes(pickle.dumps(batches))
                continue
            yield from batches
            number += 1
            while number in early:
                path = early.pop(number)
                yield from pickle.loads(path.read_bytes())  # noqa: S301 - written above
                path.unlink()
                number += 1
        meter.end()
