"""What a worker does with one shard: look, count, make rows, give some of them, add up gradients.

Every job may be called twice, on any worker. The rows of a shard are made from its texts when they are first asked for
and kept by the worker that made them; a worker that takes over from a lost one makes them again.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels import vocab
from linnet.choosing import weighted
from linnet.data.arrays import booleans
from linnet.data.labelled import Labelled, Scan, Source, codes_of
from linnet.features.blocks import Blocks
from linnet.features.buffers import text_buffers
from linnet.features.counting import Counted, Slots, names_of
from linnet.features.counts import SparseCounts
from linnet.features.recipe import Recipe, Weights
from linnet.features.sharing import Texts
from linnet.solvers.losses import Loss
from linnet.solvers.matrix import Matrix
from linnet.streaming.parts import DEV, TEST, TRAIN
from linnet.streaming.sums import PartSum, SumProblem, part_product, part_sum
from linnet.streaming.vocabulary import Vocabulary

__all__ = [
    "Plan",
    "Solving",
    "Task",
    "count_shard",
    "gradient",
    "mixed",
    "names",
    "nb_counts",
    "scan_shard",
    "take",
    "totals",
]

KEPT = 64  # shards whose rows a worker keeps
_ROWS: OrderedDict[tuple[str, str], tuple[SparseCounts, npt.NDArray[np.int32], npt.NDArray[np.uint8]]] = OrderedDict()


@dataclass(frozen=True)
class Task:
    """One shard: its path, the columns, and the part of each of its rows (or one part for all)."""

    path: str
    text: str | None
    label: str | None
    format: str | None
    parts: npt.NDArray[np.uint8] | int = TRAIN

    def source(self) -> Source:
        """Open it."""
        return Source([Path(self.path)], text=self.text, label=self.label, format=self.format)


@dataclass(frozen=True)
class Plan:
    """What all shards share: a name of the run, classes, features, and the vocabulary once it is settled."""

    run: str
    classes: tuple[str, ...]
    blocks: Blocks
    counting: bool
    batch_bytes: int
    fingerprints: npt.NDArray[np.uint64] | None = None
    hash_bits: int | None = None

    @property
    def n_columns(self) -> int:
        """How many features there are, once that is settled."""
        if self.hash_bits:
            return 1 << self.hash_bits
        return 0 if self.fingerprints is None else len(self.fingerprints)

    def rows(self, batch: Labelled) -> SparseCounts:
        """Return the texts of a batch as rows over those features."""
        counted = Texts(text_buffers(batch.text)).count(
            self.blocks, hash_bits=self.hash_bits, counting=self.counting, threads=1
        )
        if self.hash_bits:
            return counted.rows
        slots, table = self.lookup
        return counted.rows.keep(table[slots.find(counted.fingerprints)])

    @cached_property
    def lookup(self) -> tuple[Slots, npt.NDArray[np.int32]]:
        """Where fingerprints are, and the column of each place; -1 for those that are not features."""
        assert self.fingerprints is not None  # noqa: S101 - settled
        slots = Slots.of(self.fingerprints)
        table = np.full(len(slots.slots) + 1, -1, dtype=np.int32)
        table[slots.find(self.fingerprints)] = np.arange(len(self.fingerprints), dtype=np.int32)
        return slots, table

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # not the lookup


@dataclass(frozen=True)
class Solving:
    """What a fit shares: how rows are weighed, the loss, C, and the rows that count."""

    weights: Weights
    recipe: Recipe
    own_gain: bool
    n_classes: int
    per_class: npt.NDArray[np.float64] | None
    fitted: tuple[int, ...]
    C: float = 1.0
    loss: Loss | None = None
    total: float = 1.0  # C times the weight of all rows
    constant: float | None = None
    fit_intercept: bool = True

    def cost(self, y: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """Return C times the weight of each row."""
        return np.full(len(y), self.C) if self.per_class is None else self.C * self.per_class[y]


def scan_shard(task: Task, most_rows: int) -> Scan:
    """Look at one shard."""
    return task.source().scan(most_rows)


def _batches(task: Task, plan: Plan) -> Any:
    """Yield (part, rows, classes) of each batch of a shard."""
    known = {name: k for k, name in enumerate(plan.classes)}
    at = 0
    for batch in task.source().batches(plan.batch_bytes):
        codes = codes_of(batch.label, dict(known))
        n = len(batch)
        where = np.full(n, task.parts, np.uint8) if isinstance(task.parts, int) else task.parts[at : at + n]
        at += n
        for part in (TRAIN, DEV, TEST):
            mask = where == part
            if mask.any():
                keep = booleans(mask)
                yield part, Labelled(batch.text.filter(keep), batch.label.filter(keep), batch.unusable, 0), codes[mask]


def count_shard(task: Task, plan: Plan) -> Vocabulary:
    """Count the features of the rows that are not for the test."""
    found = Vocabulary()
    for part, batch, _ in _batches(task, plan):
        if part != TEST:
            counted = Texts(text_buffers(batch.text)).count(plan.blocks, counting=plan.counting, threads=1)
            found.add(counted.fingerprints, counted.rows.document_frequency(), dev=part == DEV)
    return found


def rows_of(task: Task, plan: Plan) -> tuple[SparseCounts, npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return the rows of a shard, training rows first, then those of dev, with classes and parts."""
    key = (plan.run, task.path)
    if key in _ROWS:
        _ROWS.move_to_end(key)
        return _ROWS[key]
    found: dict[int, list[tuple[SparseCounts, npt.NDArray[np.int32]]]] = {TRAIN: [], DEV: []}
    for part, batch, y in _batches(task, plan):
        if part != TEST:
            found[part].append((plan.rows(batch), y))
    every = [(part, *one) for part in (TRAIN, DEV) for one in found[part]]
    at = np.concatenate([[0], np.cumsum([len(rows.indices) for _, rows, _ in every])])
    none = np.zeros(0, np.int32)
    whole = SparseCounts(
        np.concatenate(
            [np.zeros(1, np.int64), *(rows.indptr[1:] + a for (_, rows, _), a in zip(every, at, strict=False))]
        ),
        np.concatenate([none, *(rows.indices for _, rows, _ in every)]),
        np.concatenate([none, *(rows.counts for _, rows, _ in every)]),
        len(plan.blocks),
        plan.n_columns,
    )
    y = np.concatenate([none, *(y for _, _, y in every)])
    parts = np.concatenate([np.zeros(0, np.uint8), *(np.full(len(y), part, np.uint8) for part, _, y in every)])
    _ROWS[key] = (whole, y, parts)
    while len(_ROWS) > KEPT:
        _ROWS.popitem(last=False)
    return _ROWS[key]


@dataclass(frozen=True)
class Totals:
    """What adds up over shards: documents by class that hold each feature, rows by part and class, entries."""

    counts: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]  # (2, n_classes)
    entries: int

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.counts + other.counts, self.rows + other.rows, self.entries + other.entries)


def totals(task: Task, plan: Plan, fitted: tuple[int, ...]) -> Totals:
    """Count features by class in the rows to fit on."""
    rows, y, parts = rows_of(task, plan)
    counts = np.zeros((rows.n_columns, len(plan.classes)), dtype=np.int32)
    mine = np.flatnonzero(np.isin(parts, fitted))
    some = rows if len(mine) == len(y) else rows.take(mine)
    vocab.class_frequency(some.row_ptr, some.indices, y[mine], counts)
    by_part = [np.bincount(y[parts == part], minlength=len(plan.classes)) for part in (TRAIN, DEV)]
    return Totals(counts, np.stack(by_part), len(rows.indices))


def take(asked: tuple[Task, npt.NDArray[np.int64]], plan: Plan) -> SparseCounts:
    """Return some rows of a shard by number, training rows first."""
    return rows_of(asked[0], plan)[0].take(asked[1])


def held(task: Task, plan: Plan) -> list[tuple[Any, Any]]:
    """Return the texts and labels of the test rows."""
    return [(batch.text, batch.label) for part, batch, _ in _batches(task, plan) if part == TEST]


def names(task: Task, plan: Plan, named: npt.NDArray[np.int64]) -> dict[int, bytes]:
    """Return the names of some columns, as far as this shard has them."""
    slots, table = plan.lookup
    wanted = np.zeros(len(table), dtype=bool)
    wanted[named] = True
    out: dict[int, bytes] = {}
    for part, batch, _ in _batches(task, plan):
        if part == TEST:
            continue
        pieces = text_buffers(batch.text)
        counted: Counted = Texts(pieces).count(plan.blocks, counting=False, threads=1)
        columns = table[slots.find(counted.fingerprints)]
        fresh = np.flatnonzero((columns >= 0) & wanted[columns])
        if len(fresh):
            data, ends = names_of(pieces, plan.blocks, counted.seen.take(fresh), counted.fingerprints[fresh])
            raw, at = data.tobytes(), ends.tolist()
            out |= {int(columns[j]): raw[at[i] : at[i + 1]] for i, j in enumerate(fresh.tolist())}
            wanted[columns[fresh]] = False
    return out


def _fitted(task: Task, plan: Plan, s: Solving) -> tuple[Matrix, npt.NDArray[np.int32]]:
    rows, y, parts = rows_of(task, plan)
    mine = np.flatnonzero(np.isin(parts, s.fitted))
    if len(mine) < len(y):
        rows, y = rows.take(mine), y[mine]
    return weighted(rows, s.weights, s.recipe, plan.blocks, multiply=not s.own_gain), y


def nb_counts(task: Task, plan: Plan, s: Solving, model: Any) -> Any:
    """Return what naive Bayes counts."""
    X, y = _fitted(task, plan, s)
    return model._counted(X, y, s.n_classes, None if s.per_class is None else s.per_class[y])


def gradient(task: Task, plan: Plan, s: Solving, at: tuple[Any, Any]) -> PartSum:
    """Return the loss and gradient of the rows of a shard."""
    X, y = _fitted(task, plan, s)
    assert s.loss is not None  # noqa: S101 - there is one where gradients are asked for
    return part_sum(X, y, s.cost(y), s.loss, *at)


def product(task: Task, plan: Plan, s: Solving, at: tuple[Any, Any], d: tuple[Any, Any]) -> PartSum:
    """Return the curvature of the loss of a shard at some weights, times a direction."""
    X, y = _fitted(task, plan, s)
    assert s.loss is not None  # noqa: S101 - as above
    return part_product(X, y, s.cost(y), s.loss, at, d)


def mixed(
    task: Task, plan: Plan, s: Solving, at: npt.NDArray[np.float64], steps: int
) -> tuple[float, npt.NDArray[np.float64]]:
    """Descend a few steps on this shard as if it were all there is; returns its weight and the point times it."""
    from linnet.solvers.descent import optimise
    from linnet.solvers.whole import LBFGS

    X, y = _fitted(task, plan, s)
    if not len(y):
        return 0.0, np.zeros_like(at)
    loss, cost = s.loss, s.cost(y)
    share = float(cost.sum()) / s.total
    problem = SumProblem(
        lambda W, b: part_sum(X, y, cost / share, loss, W, b), X.n_features, _outputs(s), s.total,  # type: ignore[arg-type]
        gain=s.weights.gain if s.own_gain else None, fit_intercept=s.fit_intercept, constant=s.constant,
    )  # fmt: skip
    found = optimise(problem, LBFGS(tol=1e-4), w=at, max_epochs=steps)
    return share, share * found.w


def _outputs(s: Solving) -> int:
    return 1 if s.n_classes == 2 else s.n_classes
