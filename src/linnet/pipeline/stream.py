"""Train on files of any size within a limit of memory, or on the workers of an engine.

Rows that are read again and again: one look at all of them decides classes, parts and features.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Bools, Bytes, Floats, Hashes32, Ints, Ints32, Labels
from linnet.data import labelled as sources
from linnet.data.dataset import are_scattered, labels_of, scattered
from linnet.data.formats import spool
from linnet.data.labelled import Labelled, LabelledFiles, Scan, codes_of, label_counts
from linnet.data.splitting import split_indices
from linnet.errors import DataError, LinnetError
from linnet.features.blocks import AnyBlocks, describe, needed, split
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import Counted, SparseCounts
from linnet.features.derived import Derived, Texts
from linnet.features.plan import (
    LARGE_MODEL,
    FeaturePlan,
    FeatureWeights,
    blocks_for,
    looked_at,
    mostly_unspaced,
    weighted_counts,
    weighted_frequency,
)
from linnet.features.vectors import Vectors
from linnet.files import temporary_folder
from linnet.models.inputs import factors_of
from linnet.pipeline.cache import Budget, StreamVocabulary, TestRows, return_freed
from linnet.pipeline.crossval import FEW_ROWS, FittedRows, Weighting
from linnet.pipeline.events import Event, Log, Meter
from linnet.pipeline.fit import fit
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import RowStore, encode, given_weights, with_computed
from linnet.pipeline.search import SearchRows
from linnet.solvers.matrix import Matrix, RowBlocks, TrainingSet
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
            for part, rows in zip(
                shares, split_indices(codes.astype(np.int64), seed, tuple(shares.values())), strict=True
            ):
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


LEARNED_FROM = 32_000_000  # bytes of training text that blocks learn from


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

    def training_set(self, X: Matrix, codes: Ints32, numbers: Floats, twice: bool) -> TrainingSet:
        """Return what a model is fitted to; soft rows twice each where that is asked for."""
        found = TrainingSet(X, self.of(codes), self.n_classes, self.weight(codes, numbers))
        return found.doubled() if twice else found

    def table(self, rows: SparseCounts, codes: Ints32, numbers: Floats) -> Floats:
        """Return what the documents with each feature weigh: all, then those of each class, (n_columns, 1 + n_classes)."""
        given = self.given(codes, numbers)
        df = weighted_frequency(rows, given)
        return np.column_stack([df, weighted_counts(rows, self.of(codes), self.n_classes, given)])


class StreamedRows(RowStore):
    """What disk and engine share: the look at all rows, and passes over them that are the same every time."""

    def __init__(
        self, plan: Plan, log: Log, main: LabelledFiles, others: dict[int, LabelledFiles], folder: Path, budget: Budget,
        say: Callable[[str], None], skip_damaged: bool,
    ) -> None:  # fmt: skip
        """Look at all rows; others are dev and test files by part, folder is for temporary files, say prints."""
        self.plan, self.log, self.main, self.others = plan, log, main, others
        self.folder, self.budget, self.say, self.skip_damaged = folder, budget, say, skip_damaged
        self.threads = plan.threads
        self.text_numbers = np.zeros(0, np.uint32)
        self.fingerprints, self.first_met = np.zeros(0, np.uint64), np.zeros(0, np.int32)
        self.look()

    # ---- one look at all rows

    def look(self) -> None:
        """Look at all rows once; decide classes, parts and features."""
        self.log.stage("read", f"looking at {self.main.name}")
        meter = Meter(self.log.on_event, "looking", self.main.nbytes + sum(s.nbytes for s in self.others.values()))
        scan = self._scan(self.main, self.skip_damaged, meter)
        for source in self.others.values():  # parts of equal size of the data hold for dev and test files
            source.bins = self.main.bins
        scans = {part: self._scan(source, False, meter) for part, source in self.others.items()}
        meter.end()
        for line in sources.describe(self.main, scan):
            self.say(line)
        for note in dict.fromkeys(note for one in (scan, *scans.values()) for note in one.notes):
            self.say(note)
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
        soft = tuple(self.known[name] for name in self.main.soft)
        weighted = self.main.weight is not None
        self.targets = Targets(self.n_classes, len(cells), sets, weighted, soft, self.plan.label_smoothing)
        self.scan, self.scans = scan, scans
        self._divide(scan)
        self._features(scan, scans)

    @property
    def n_rows(self) -> int:
        """Rows of training and dev."""
        return int(sum(rows.sum() for rows in self.rows_of.values()))

    @property
    def sets(self) -> Bools | None:
        """The labels of each cell, where rows may have several."""
        return self.targets.sets

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
        table = self._weighted_table()
        rows = replace(rows, table=table[:, 1:], df=table[:, 0])
        return plan.weights(rows, y, self.n_classes, ratio, np.array([arithmetic.total(self._fitted(self.weight_of))]))

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
            self.parts = Parts.exact(y if self.sets is None else self._rarest(scan)[y], shares, self.plan.seed)
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
            self.sizes = {
                TRAIN: int(low * scan.rows),
                DEV: int((high - low) * scan.rows),
                TEST: int((1 - high) * scan.rows),
            }
        for part, other in self.scans.items():
            self.sizes[part] = other.rows
        shown = [f"{self.sizes[part]:,} {name}" for part, name in ((TRAIN, "train"), (DEV, "dev"), (TEST, "test"))]
        self.say("split: " + ", ".join(s for s in shown if not s.startswith("0 ")) + ("" if self.exact else ", about"))
        self.watched = not self.plan.refit and self.sizes[DEV] > 0

    def _rarest(self, scan: Scan) -> Ints32:
        """Return the rarest label of each cell: what a data set in memory is split by."""
        assert self.sets is not None  # noqa: S101 - rows have several labels
        assert self.separator is not None  # noqa: S101 - rows have several labels
        counts = label_counts(scan.labels, self.separator)
        rows = np.array([counts.get(name, scan.rows) for name in self.classes])
        return np.where(self.sets.any(axis=1), np.where(self.sets, rows, scan.rows + 1).argmin(axis=1), self.n_classes)

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
        self.blocks, self.computed = split(self.features)
        spread = sum((b.high - b.low + 1) * b.density for b in self.blocks)
        self.batch_bytes = self.budget.batch_bytes(spread)
        self.counting = self.plan.features.tf != "presence"
        self._learn()
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

    def _learn(self) -> None:
        """Let blocks learn what they need from the first training texts."""
        waiting = list(dict.fromkeys(block.waits for block in self.features if block.waits))
        if not waiting:
            return
        self.log.stage("count", f"learning {' and '.join(waiting)}")
        buffers: list[TextBuffer] = []
        size = 0
        for _, batch in self.batches("learning", (TRAIN,)):
            buffers += text_buffers(batch.text)
            size += batch.nbytes
            if size >= LEARNED_FROM:
                break
        known: dict[Any, Any] = {}
        self.features = tuple(block.learn(buffers, None, known) for block in self.features)

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

    # ---- what both stores know once features are counted

    rows_of: dict[int, Ints]
    """Rows of each cell (class, or labels together) in TRAIN and DEV."""
    test_rows: TestRows
    met: int = 0
    lost: int = 0
    cache_bytes: int = 0
    entries: int
    n_blocks_on_disk: int = 1
    whole: tuple[SparseCounts, Labels, Floats] | None = None
    """All rows, their cells and their own numbers, where there is room for them."""

    def set_rows_of(self, rows_of: dict[int, Ints], weight_of: dict[int, Array]) -> None:
        """Note how many rows of each cell the parts have, and what they weigh together."""
        every = rows_of[TRAIN] + rows_of[DEV]
        self.rows_of, self.weight_of, self.n_dev = rows_of, weight_of, int(rows_of[DEV].sum())
        self.n_fitted = int(rows_of[TRAIN].sum()) + (0 if self.watched else self.n_dev)
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

    def numbered_rows(self, rows: Any, entries: int) -> SearchRows:
        """Return all rows to judge settings on, taken by number from rows."""
        dev = np.arange(len(self.y) - self.n_dev, len(self.y)) if self.n_dev else None
        return self._search_rows(rows, self.y, self.numbers, entries, dev)

    def _search_rows(self, rows: Any, y: Ints32, numbers: Floats, entries: int, dev: Ints | None) -> SearchRows:
        of = self.targets
        return SearchRows(rows, of.of(y), entries, dev, of.weight(y, numbers), given_weight=of.given(y, numbers))

    def describe(self, blocks: RowBlocks, weighting: Weighting) -> None:
        """Set what solvers ask of the fitted rows, whose blocks these are."""
        blocks.n_rows, blocks.threads = self.n_fitted, self.threads
        blocks.n_classes, blocks.n_outputs, blocks.multilabel = self.n_classes, self.n_outputs, self.sets is not None
        blocks.n_features = len(weighting.weights.norm)
        weights, factors = self._fitted(self.weight_of), self.targets.factors
        blocks.total_weight = arithmetic.total(weights if factors is None else weights * factors.T)
        blocks.soft = bool(self.targets.soft or self.targets.smoothing) and not blocks.twice
        if blocks.twice:
            blocks.n_rows *= 2
            blocks.multilabel = self.n_outputs > 1
            blocks.total_weight *= self.n_outputs

    def _fitted(self, by_part: dict[int, Array]) -> Array:
        """Add up the fitted parts."""
        return np.asarray(sum(by_part[part] for part in self.fitted_parts))

    def _weighted_table(self) -> Floats:
        """Add up what the fitted documents with each feature weigh: see ``Targets.table``."""
        raise NotImplementedError

    @property
    def fitted_parts(self) -> tuple[int, ...]:
        """The parts of the last fit."""
        return (TRAIN,) if self.watched else (TRAIN, DEV)

    def fitted_classes(self) -> Array:
        """Return the classes, or labels, of the fitted rows, in any order: enough to count them."""
        rows = self._fitted(self.rows_of)
        return self.targets.of(np.repeat(np.arange(len(rows), dtype=np.int32), rows))

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

    # ---- counting

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
            self.entries = self._expected_entries()
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

    def _vocabulary(self) -> StreamVocabulary:
        """Count all features."""
        raise NotImplementedError

    def _expected_entries(self) -> int:
        """Return about how many entries hashed rows will have."""
        raise NotImplementedError

    def about(self) -> dict[str, Any]:
        """Return what the card says of the data, and how it was held where that decided the model."""
        found: dict[str, Any] = {"source": self.main.name, "text_column": self.main.text or "text"}
        if self.main.bins is not None:
            found["label_bins"] = self.main.bins
        if self.separator not in (None, "|"):
            found["separator"] = self.separator
        if self.n_blocks_on_disk > 1 or self.lost or self.main.damaged:
            found["stream"] = {
                "files": len(self.main.shards), "damaged": sorted(Path(name).name for name in self.main.damaged),
                "blocks": self.n_blocks_on_disk, "features_met": self.met, "lost": self.lost,
                "max_memory": self.budget.total,
            }  # fmt: skip
        return found


# ---- the run

Places = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True)
class StreamResult:
    """The test scores of a run, the rows left out, and how the data were held."""

    evaluation: Any
    unusable: Any
    rows: int
    blocks: int
    cache_bytes: int
    features_met: int
    lost: int
    damaged: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return what --json shows of the stream."""
        return {
            "rows": self.rows, "unusable": dict(self.unusable.counts), "blocks": self.blocks, "cache_bytes": self.cache_bytes,
            "features_met": self.features_met, "lost": self.lost, "damaged": self.damaged,
        }  # fmt: skip


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
    with temporary_folder(cache) as folder:
        given = [places] if isinstance(places, str | os.PathLike) else list(places)
        main = LabelledFiles([spool(folder)] if given == ["-"] else given, **columns)
        if given == ["-"]:
            main.name = "standard input"
        shared = {name: value for name, value in columns.items() if name not in ("weight", "label_columns")}
        others = {part: LabelledFiles([path], **shared) for part, path in ((DEV, dev), (TEST, test)) if path}
        inputs = (plan, log, main, others, folder, budget, say or (lambda _: None), skip_damaged)
        store: StreamedRows
        if engine is None:
            from linnet.pipeline.disk import DiskRows

            store = DiskRows(*inputs)
        else:
            from linnet.pipeline.remote import RemoteRows

            store = RemoteRows(engine, *inputs)
        clf.model_, clf.history_ = fit(plan, store, log), log.history
        log.stage("test", f"testing on {store.test_rows.rows:,} rows")
        found = store.test_rows.evaluated(clf.model_, plan.threads, store.separator)
        return StreamResult(
            found, store.scan.unusable, store.scan.rows, store.n_blocks_on_disk, store.cache_bytes, store.met, store.lost,
            main.damaged,
        )  # fmt: skip
