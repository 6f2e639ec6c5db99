"""Train on files of any size within a limit of memory; the workers of an engine may read and encode them.

What all passes over the files share: which rows are for training, dev and test, what is learned of them, and how batches are counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Bools, Bytes, Floats, Ints32, Labels
from linnet.data.formats import spool
from linnet.data.labelled import Labelled, LabelledFiles
from linnet.data.splitting import split_indices
from linnet.errors import LinnetError
from linnet.features.blocks import AnyBlocks, split
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import Counted, SparseCounts
from linnet.features.derived import Derived, Texts
from linnet.features.plan import weighted_counts, weighted_frequency
from linnet.files import temporary_folder
from linnet.pipeline.cache import Budget, full_disk, return_freed
from linnet.pipeline.crossval import FEW_ROWS
from linnet.pipeline.events import Event, Log
from linnet.pipeline.fit import fit
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import given_weights, with_computed
from linnet.values import as_bytes

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier

# ---- Which rows are for training, for choosing settings (dev) and for the test.
#
# Where rows can be numbered in memory the parts are those that ``Dataset.split`` gives: stratified, by the seed. Beyond
# that every row is drawn for itself, from the same random bits in every pass, and a bounded number of rows is held out.


TRAIN, DEV, TEST = 0, 1, 2
MOST_DEV, MOST_TEST = 100_000, 200_000


def held_out(n: int, *, dev: bool, test: bool, watch: bool, name: str = "the data") -> dict[int, float]:
    """Return the share of each part of n rows, as ``linnet train`` takes them; dev and test say which files are given.

    >>> held_out(100_000, dev=False, test=False, watch=False)
    {0: 0.8, 1: 0.1, 2: 0.1}
    >>> held_out(5_000, dev=False, test=False, watch=False)
    {0: 0.9, 2: 0.1}
    """
    held = watch and not dev
    if test:
        return {TRAIN: 0.9, DEV: 0.1} if held else {TRAIN: 1.0}
    if n < 10:
        raise LinnetError(f"{name}: {n} usable rows are too few to hold some out; give --test FILE or more rows")
    if dev or (n < FEW_ROWS and not held):
        return {TRAIN: 0.9, TEST: 0.1}
    return {TRAIN: 0.8, DEV: 0.1, TEST: 0.1}


@dataclass
class Parts:
    """The part of every row, in the order of the rows; ``rewind`` before each pass, ``next`` for each batch.

    >>> parts = Parts.drawn(1_000_000, {0: 0.8, 1: 0.1, 2: 0.1}, seed=0)
    >>> parts.rewind()
    >>> parts.next(np.zeros(4, np.int32)).tolist()
    [0, 0, 0, 0]
    """

    whole: Bytes | None = None
    edges: tuple[float, float] = (1.0, 1.0)  # below the first a row is for training, below the second for dev
    seed: int = 0

    def __post_init__(self) -> None:
        self.rewind()

    @classmethod
    def exact(cls, codes: Labels, shares: dict[int, float], seed: int) -> Parts:
        """Take the parts of a data set whose labels, numbered in the order of their names, are these."""
        whole = np.zeros(len(codes), dtype=np.uint8)
        if len(shares) > 1:
            each = split_indices(codes.astype(np.int64), seed, tuple(shares.values()))
            for part, rows in zip(shares, each, strict=True):
                whole[rows] = part
        return cls(whole)

    @classmethod
    def drawn(cls, n: int, shares: dict[int, float], seed: int) -> Parts:
        """Draw every row for itself; dev and test have a bounded number of rows."""
        dev = min(shares.get(DEV, 0.0), MOST_DEV / n)
        test = min(shares.get(TEST, 0.0), MOST_TEST / n)
        return cls(None, (1.0 - dev - test, 1.0 - test), seed)

    def rewind(self) -> None:
        """Begin again with the first row."""
        self._at = 0
        self._bits = np.random.PCG64(self.seed)
        self._met: set[int] = set()

    def next(self, codes: Labels) -> Bytes:
        """Return the parts of the next rows, whose classes these are; the first row of a class is for training."""
        n = len(codes)
        if self.whole is not None:
            self._at += n
            return self.whole[self._at - n : self._at]
        u = (self._bits.random_raw(n) >> np.uint64(11)) * 2.0**-53
        out = (u >= self.edges[0]).astype(np.uint8) + (u >= self.edges[1]).astype(np.uint8)
        classes, first = np.unique(codes, return_index=True)
        for c, at in zip(classes.tolist(), first.tolist(), strict=True):
            if c not in self._met:
                self._met.add(c)
                out[at] = TRAIN
        return out


def by_part(batch: Labelled, where: Bytes, parts: tuple[int, ...]) -> Iterator[tuple[int, Labelled]]:
    """Yield (part, rows) of a batch; where holds the part of each row."""
    for part in parts:
        mask = where == part
        if mask.all():
            yield part, batch
        elif mask.any():
            yield part, batch.filter(mask)


def count_batch(
    texts: Any, features: AnyBlocks, *, hash_bits: int | None, counting: bool, threads: int
) -> tuple[list[TextBuffer], Counted]:
    """Count the features of some texts; returns the buffers that the places in ``seen`` refer to."""
    blocks, computed = split(features)
    buffers = text_buffers(texts)
    source = Derived.of(Texts(buffers), blocks, buffers)
    counted = source.count(blocks, hash_bits=hash_bits, counting=counting, threads=threads)
    return source.pieces, with_computed(counted, computed, buffers) if computed else counted


@dataclass(frozen=True)
class Targets:
    """What is learned of rows, from the numbers of their cells and their own numbers: classes or labels, and weights.

    The own numbers of a row are its weight, if weighted, and the probability of each class of soft; NaN where a row has none.
    """

    n_classes: int
    n_cells: int
    sets: Bools | None = None
    """The labels of each cell, where rows may have several."""
    weighted: bool = False
    soft: tuple[int, ...] = ()
    smoothing: float = 0.0
    factors: Floats | None = None
    """The weight of a row of each class; of each cell for each label, where rows may have several."""

    @property
    def n_numbers(self) -> int:
        """How many numbers a row has."""
        return self.weighted + len(self.soft)

    @property
    def plain(self) -> bool:
        """Whether all rows weigh the same, class weights left aside."""
        return not (self.n_numbers or self.smoothing)

    def numbers(self, batch: Labelled) -> Floats:
        """Return the numbers of a batch; a dev file has none."""
        found = batch.numbers
        return found if found.shape[1] == self.n_numbers else np.full((len(batch), self.n_numbers), np.nan)

    def of(self, codes: Ints32) -> Array:
        """Return the class of each row, or all its labels, (n_rows, n_classes)."""
        return codes if self.sets is None else self.sets[codes]

    def given(self, codes: Ints32, numbers: Floats) -> Floats | None:
        """Return what rows weigh, without class weights: see ``given_weights``."""
        if self.plain:
            return None
        weight, soft = None, None
        if self.weighted:
            weight = np.where(np.isnan(numbers[:, 0]), 1.0, numbers[:, 0])
        if self.soft:
            soft = np.zeros((len(codes), self.n_classes))
            soft[:, self.soft] = numbers[:, int(self.weighted) :]
            soft[np.isnan(numbers[:, -1])] = np.nan
        return given_weights(self.of(codes), self.n_classes, weight, soft, self.smoothing)

    def weight(self, codes: Ints32, numbers: Floats) -> Floats | None:
        """Return what rows weigh, class weights included."""
        given = self.given(codes, numbers)
        if self.factors is None:
            return given
        if given is not None and given.ndim == 2:
            return np.asarray(given * self.factors)
        factors = self.factors[codes]
        return factors if given is None else np.asarray((given[:, None] if factors.ndim == 2 else given) * factors)

    def by_cell(self, codes: Ints32, numbers: Floats) -> Array:
        """Return what the rows of each cell weigh together, without class weights; of soft labels, as each class."""
        given = self.given(codes, numbers)
        if given is not None and given.ndim == 2:
            return np.asarray(arithmetic.total(given, axis=0))
        return np.bincount(codes, given, self.n_cells)

    def table(self, rows: SparseCounts, codes: Ints32, numbers: Floats) -> Floats:
        """Return what the documents with each feature weigh: all, then those of each class, (n_columns, 1 + n_classes)."""
        given = self.given(codes, numbers)
        df = weighted_frequency(rows, given)
        return np.column_stack([df, weighted_counts(rows, self.of(codes), self.n_classes, given)])


# ---- the run

Places = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True)
class StreamResult:
    """The test scores of a run, the rows left out, and how the data were held."""

    evaluation: Any
    rows: int
    unusable: Any
    blocks: int
    cache_bytes: int
    features_met: int
    lost: int
    damaged: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return what --json shows of the stream."""
        kept = {name: value for name, value in vars(self).items() if name != "evaluation"}
        return {**kept, "unusable": dict(self.unusable.counts)}


def fit_stream(
    clf: TextClassifier,
    places: Places,
    *,
    max_memory: str | int,
    dev: str | None = None,
    test: str | None = None,
    cache: str | None = None,
    skip_damaged: bool = False,
    engine: Any = None,
    on_event: Callable[[Event], None] | None = None,
    say: Callable[[str], None] | None = None,
    **columns: Any,
) -> StreamResult:
    """Fit a TextClassifier to files of any size within so much memory, and test it.

    places are paths, patterns or folders of shards; "-" is standard input. A tenth of the rows is kept for the test,
    as ``linnet train`` does, unless test names a file; dev likewise. columns are text, label, format, multilabel, weight and
    label_columns of ``linnet.read``, and bins of ``Dataset.binned``; the rows of dev and test files have one label, and
    weigh 1. cache is where a temporary folder is made. Ctrl-C while settings are tried keeps the best so far, in the last fit the
    weights so far. With an engine of :mod:`linnet.engines` its workers read the files and make the rows.
    """
    plan, log = Plan.of(clf), Log(on_event)
    budget = Budget(as_bytes(max_memory, "--max-memory"))
    return_freed()
    with temporary_folder(cache) as folder, full_disk(folder):
        given = [places] if isinstance(places, str | os.PathLike) else list(places)
        main = LabelledFiles([spool(folder)] if given == ["-"] else given, **columns)
        if given == ["-"]:
            main.name = "standard input"
        shared = {name: value for name, value in columns.items() if name not in ("weight", "label_columns")}
        others = {part: LabelledFiles([path], **shared) for part, path in ((DEV, dev), (TEST, test)) if path}
        say = say or (lambda _: None)
        inputs = (plan, log, main, others, folder, budget, say, skip_damaged)
        if engine is None:
            from linnet.pipeline.disk import DiskRows

            store = DiskRows(*inputs)
        else:
            from linnet.pipeline.remote import RemoteRows

            page = f", {engine.dashboard}" if engine.dashboard else ""
            say(f"engine {engine.name}: {engine.workers} workers{page}")
            store = RemoteRows(engine, *inputs)
        clf.model_, clf.history_ = fit(plan, store, log), log.history
        log.stage("test", f"testing on {store.test_rows.rows:,} rows")
        found = store.test_rows.evaluated(clf.model_, plan.threads, store.separator)
        return StreamResult(
            found, store.scan.rows, store.scan.unusable, store.n_blocks, store.cache.written, store.met, store.lost,
            main.damaged,
        )  # fmt: skip
