"""Fit on one part of the rows, score another: the only place that does.

Search and tune come here, and compare, check and the learning curve through the search of the classifiers that they fit, so
folds, groups and weights mean the same everywhere.
Features are counted once for all; what depends on labels or on which rows are known (the vocabulary, idf, ratios,
selection) is learned from the training part of each fold alone, so a held-out score is honest.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linnet.array_types import Array, Bools, Floats, Floats32, Ints, Labels
from linnet.data import Dataset, read
from linnet.data.splitting import split_indices
from linnet.errors import DataError, LinnetError
from linnet.features.blocks import Blocks
from linnet.features.counting import SparseCounts
from linnet.features.plan import FeaturePlan, FeatureWeights, Selection
from linnet.solvers.callbacks import Callback, OnEpoch
from linnet.solvers.matrix import Matrix
from linnet.solvers.network import finish

FEW_ROWS = 20_000  # below this, and this many entries times classes, five folds; three up to four times as many
LITTLE_WORK = 20_000_000
Sizes = tuple[int, int]
"""Entries of the training part, and rows that are held out, at most."""
CALIBRATION = (12_000_000, 8_000)
"""Where chosen settings are fitted once more, to calibrate."""
LEAST_ROWS = 3_000
MOST_DEV = 3_000
SIZES = (1_000_000, MOST_DEV)
"""Where settings are tried."""

Fitted = tuple[Floats32, Any]


# ---- one fit, one score


@dataclass(frozen=True)
class Weighting:
    """How counted rows become numbers: the weights of features, tf and norm, and the weights of blocks.

    With own_gain the weights of features stay beside the rows, as the gain of each class; else rows are multiplied by them.
    """

    weights: FeatureWeights
    plan: FeaturePlan
    blocks: Blocks
    own_gain: bool = False

    @classmethod
    def of(cls, model: Any, weights: FeatureWeights, plan: FeaturePlan, blocks: Blocks) -> Weighting:
        """Return how a model takes its rows; weighted features are refused for a model that takes 0 and 1 only."""
        if model.traits.presence and (
            plan.tf != "presence" or plan.norm or weights.computed is not None or (weights.norm != 1).any()
            or any(block.weight != 1 for block in blocks)
        ):  # fmt: skip
            raise LinnetError(f"{type(model).__name__} takes words present or absent: leave out tf, idf and ratio")
        return cls(weights.with_computed(), plan, blocks, model.own_gain)

    @property
    def gain(self) -> Floats32 | None:
        """The weight of each feature for each class, where it stays beside the rows."""
        return self.weights.gain if self.own_gain else None

    def matrix(self, rows: SparseCounts, *, multiply: bool | None = None) -> Matrix:
        """Return rows over their norms, times the weight of their block: scales alone for present features, else values.

        They are multiplied by the weights of features as the model wants it, or as multiply says.
        """
        multiply = not self.own_gain if multiply is None else multiply
        plan, norm, none = self.plan, self.weights.norm, np.zeros(0, np.float32)
        share = np.array([b.weight for b in self.blocks], dtype=np.float32)
        if plan.tf == "presence" and not multiply and rows.computed is None:
            scale = rows.segment_scale(norm, plan.norm) if plan.norm else np.ones(len(rows.indptr) - 1, np.float32)
            scale.reshape(-1, len(share))[:] *= share
            return Matrix(rows.indptr, rows.indices, none, rows.n_columns, scale=scale, n_blocks=rows.n_blocks)
        values = rows.values(plan.tf, norm, norm=plan.norm, multiply=multiply)
        if np.any(share != 1):
            values *= np.repeat(np.tile(share, len(rows)), np.diff(rows.indptr))
        if rows.computed is not None:
            n_computed = rows.computed.shape[1]
            factors = norm[rows.n_columns :] if multiply else None
            return Matrix(*rows.with_computed(values, factors), rows.n_columns + n_computed)
        return Matrix(rows.row_ptr, rows.indices, values, rows.n_columns)

    def folded(self, W: Any) -> Floats32:
        """Return weights that apply to tf / norm: what the rows were multiplied by goes into them."""
        W32: Floats32 = np.ascontiguousarray(W, dtype=np.float32)
        return W32 if self.own_gain else W32 * self.weights.norm[:, None]

    def scores(self, rows: SparseCounts, W: Any, b: Any) -> Floats:
        """Return the scores of counted rows, (n_rows, n_outputs), under the weights that ``fit_rows`` returned."""
        return finish(self.matrix(rows, multiply=False).dot(W), b)

    def judged(self, on_epoch: OnEpoch | None, held_out: tuple[SparseCounts, Labels] | None) -> OnEpoch | None:
        """Return a callback that adds the accuracy on held-out rows to each report; the one given where there are none."""
        if held_out is None:
            return on_epoch
        rows, y = held_out

        def accuracy(found: Any) -> float:
            return float(correct(self.scores(rows, self.folded(found[0]), found[1]), y).mean())

        return Callback(on_epoch, judge=accuracy)


def folded_best(weighting: Weighting, model: Any, found: tuple[Any, Any], on_epoch: OnEpoch | None) -> Fitted:
    """Return fitted weights, folded; where Ctrl-C ended the fit, those that did best on held-out rows."""
    if isinstance(on_epoch, Callback) and model.interrupted_ and on_epoch.best is not None:
        found = on_epoch.best
    return weighting.folded(found[0]), found[1]


@dataclass(frozen=True)
class FittedRows:
    """The rows of a fit, all in memory; held_out are dev rows that are watched and not fitted."""

    rows: SparseCounts
    y: Labels
    weight: Floats | None
    held_out: tuple[SparseCounts, Labels] | None = None


def fit_rows(
    weighting: Weighting, model: Any, of: FittedRows, n_classes: int, threads: int, on_epoch: OnEpoch | None = None
) -> Fitted:
    """Fit a model to counted rows; returns weights that apply to tf / norm, and b or the dense layers of a net.

    With held_out rows every epoch is reported with the accuracy on them, and a fit that Ctrl-C ends keeps the weights
    that did best there.
    """
    if of.rows.computed is not None and model.traits.non_negative and (of.rows.computed < 0).any():
        raise DataError(f"{type(model).__name__} takes no negative features; leave them out, or choose another model")
    on_epoch = weighting.judged(on_epoch, of.held_out)
    X = replace(weighting.matrix(of.rows), gain=weighting.gain)
    found = model.fit_matrix(X, of.y, n_classes, sample_weight=of.weight, threads=threads, on_epoch=on_epoch)
    return folded_best(weighting, model, found, on_epoch)


def correct(S: Floats, y: Array) -> Bools:
    """Say of each row whether its best score is that of its class.

    Where rows have several labels: of each label of each row, whether it is among as many best scores as the row has
    labels (R-precision), which asks for no threshold.
    """
    if y.ndim == 2:
        place = np.argsort(np.argsort(-S, axis=1, kind="stable"), axis=1, kind="stable")
        return np.asarray((place < y.sum(axis=1)[:, None])[y])
    return np.asarray((S[:, 0] > 0) == (y == 1) if S.shape[1] == 1 else S.argmax(axis=1) == y)


# ---- folds


@dataclass(frozen=True, eq=False)
class Fold:
    """The numbers of the rows to fit on and of those to score."""

    train: Ints
    held_out: Ints


def one_label_a_row(rows: Any, y: Array) -> tuple[Any, Labels]:
    """Return rows and classes; a row with several labels stands once for each."""
    if y.ndim == 1:
        return rows, y
    numbers, classes = np.nonzero(y)
    return rows.take(numbers), classes.astype(np.int32)


def strata(y: Array) -> Labels:
    """Return what folds are balanced by: the class of each row; of several labels, its rarest."""
    if y.ndim == 2:
        order = np.argsort(y.sum(axis=0), kind="stable")
        y = np.where(y.any(axis=1), order[y[:, order].argmax(axis=1)], y.shape[1])
    return np.asarray(y, dtype=np.int32)


def work_of(n_entries: int, n_classes: int) -> int:
    """Return what one pass over the rows costs: entries times outputs."""
    return n_entries * (1 if n_classes == 2 else n_classes)


def choose_folds(
    y: Array, n_classes: int, dev: Ints | None, n_entries: int, seed: int, groups: Ints | None, sizes: Sizes = SIZES
) -> list[Fold]:
    """Return the folds that settings are judged on.

    The dev rows where there are some; five or three folds where rows are few, because a tenth of 5,000 rows is too few to tell
    80 from 81 %; else one held-out part, on a bounded number of entries. Rows of one group are never on both sides.
    """
    most_entries, most_dev = sizes
    everything = np.arange(len(y))
    work = work_of(n_entries, n_classes)
    if dev is not None:
        held = [(np.setdiff1d(everything, dev), dev)]
    elif len(y) < FEW_ROWS and work < 4 * LITTLE_WORK:
        n = 5 if work < LITTLE_WORK else 3
        parts = split_indices(strata(y), seed, (1 / n,) * n, groups=groups)
        held = [(np.setdiff1d(everything, part), part) for part in parts if len(part)]
        held = [fold for fold in held if len(fold[0])]
    else:
        share = min(0.25, max(0.1, most_dev / len(y)))
        rest, part = split_indices(strata(y), seed, (1 - share, share), groups=groups)
        held = [(np.sort(rest), np.sort(part))]
    rng = np.random.default_rng(seed)
    mean = max(1.0, n_entries / max(1, len(y)))
    most = max(LEAST_ROWS if len(held) == 1 else FEW_ROWS, int(most_entries / mean))
    out = []
    for train, part in held:
        small = np.sort(rng.choice(train, most, replace=False)) if len(train) > most else train
        judged = np.sort(rng.choice(part, most_dev, replace=False)) if len(part) > most_dev else part
        out.append(Fold(_with_every_class(small, train, y), judged))
    return out


def _with_every_class(small: Ints, train: Ints, y: Array) -> Ints:
    """Add the first row of every class that the sample missed."""
    if y.ndim == 2:
        missing = np.flatnonzero(y[train].any(axis=0) & ~y[small].any(axis=0))
        extra = [int(train[y[train, c].argmax()]) for c in missing]
    else:
        missing = np.setdiff1d(y[train], y[small])
        extra = [int(train[np.flatnonzero(y[train] == c)[0]]) for c in missing]
    return np.sort(np.concatenate([small, np.array(extra, dtype=np.int64)]))


@dataclass(frozen=True)
class FoldRows:
    """The rows of a fold with the columns that its training part alone would have; ``columns`` are their numbers."""

    train: SparseCounts
    held_out: SparseCounts
    columns: Ints


@dataclass(frozen=True)
class Scored:
    """One fold: the scores of the held-out rows, and the weights that gave them."""

    scores: Floats
    W: Floats32
    b: Any
    weights: FeatureWeights
    interrupted: bool


class CrossValidation:
    """Counted rows that settings are judged on, fold by fold. What a fold needs is made once, and kept.

    rows may be anything with ``take``: rows in memory, on disk or on workers.
    """

    def __init__(
        self, rows: Any, blocks: Blocks, y: Labels, n_classes: int, *, min_df: int, select: Selection | None = None
    ) -> None:
        self.rows, self.blocks, self.y, self.n_classes = rows, blocks, y, n_classes
        self.min_df, self.select = min_df, select
        self._parts: dict[Fold, FoldRows] = {}
        self._weights: dict[tuple[Fold, float, bool], FeatureWeights] = {}

    def part(self, fold: Fold) -> FoldRows:
        """Return the rows of a fold."""
        if fold not in self._parts:
            train, held = self.rows.take(fold.train), self.rows.take(fold.held_out)
            known = train.document_frequency() >= self.min_df
            columns = np.flatnonzero(known)
            numbers = np.where(known, np.cumsum(known, dtype=np.int32) - 1, -1).astype(np.int32)
            train, held = train.keep(numbers), held.keep(numbers)
            if self.select is not None and train.n_columns:
                numbers, _ = self.select.choose(*one_label_a_row(train, self.y[fold.train]), self.n_classes)
                train, held, columns = train.keep(numbers), held.keep(numbers), columns[numbers >= 0]
            self._parts[fold] = FoldRows(train, held, columns)
        return self._parts[fold]

    def fit(
        self,
        fold: Fold,
        model: Any,
        plan: FeaturePlan,
        ratio: float,
        *,
        sample_weight: Floats | None = None,
        given_weight: Floats | None = None,
        threads: int = 1,
        on_epoch: OnEpoch | None = None,
    ) -> Scored:
        """Fit a model on the training part of a fold and score its held-out rows."""
        part, y = self.part(fold), self.y[fold.train]
        key = (fold, ratio, plan.idf)
        weights = self._weights.get(key)
        if weights is None:
            given = None if given_weight is None else given_weight[fold.train]
            weights = self._weights[key] = plan.weights(part.train, y, self.n_classes, ratio, given)
        weighting = Weighting.of(model, weights, plan, self.blocks)
        rows = FittedRows(part.train, y, None if sample_weight is None else sample_weight[fold.train])
        W, b = fit_rows(weighting, model, rows, self.n_classes, threads, on_epoch)
        return Scored(weighting.scores(part.held_out, W, b), W, b, weights, bool(model.interrupted_))

    def forget(self) -> None:
        """Drop what was kept of the folds."""
        self._parts.clear()
        self._weights.clear()


def side_by_side(work: Callable[[Any], Any], items: Sequence[Any], threads: int, stop: Callable[[], None]) -> list[Any]:
    """Do work on each item, some at a time in threads of their own; returns what came of each, in order.

    Ctrl-C comes to this thread alone: it calls stop, which must bring the work to an end. An error of any item is raised
    when all have ended. No thread holds up the end of the program.

    >>> side_by_side(lambda n: n * n, [1, 2, 3], 2, lambda: None)
    [1, 4, 9]
    """
    left, made, ended = iter(enumerate(items)), {}, threading.Event()

    def run() -> None:
        for k, item in left:
            try:
                made[k] = work(item)
            except BaseException as error:  # noqa: BLE001 - raised again below
                made[k] = error
        if len(made) == len(items):
            ended.set()

    for _ in range(min(threads, len(items))):
        threading.Thread(target=run, daemon=True).start()
    # Not by Thread.join: after a Ctrl-C in it, Python 3.11 takes a running thread for one that has ended.
    try:
        if items:
            ended.wait()
    except KeyboardInterrupt:
        stop()
        ended.wait()
    for found in made.values():
        if isinstance(found, BaseException):
            raise found
    return [made[k] for k in range(len(items))]


# ---- Labelled data as ``compare`` and ``tune`` take them, and the size of the model files that they make.


def labelled_data(data: Any, y: Any, caller: str, *, extra: Sequence[str] = ()) -> Dataset:
    """Return a Dataset with labels from a Dataset, a path, or texts and their labels; extra are columns to read too.

    >>> len(labelled_data(["good", "bad"], ["pos", "neg"], "compare"))
    2
    """
    if isinstance(data, str | os.PathLike):
        return read(data, labelled=True, also=extra)
    found = data if isinstance(data, Dataset) else None if y is None else Dataset.from_lists(data, y)
    if found is None or found.label is None:
        raise DataError(f"{caller} needs labels: {caller}(texts, labels), a Dataset from linnet.read, or a path")
    return found


def check_two_labels(source: str, counts: Iterable[int]) -> None:
    """Refuse data of which no two labels can be both learned and held out; counts are the rows of each label."""
    if sum(count > 1 for count in counts) < 2:
        raise DataError(f"{source}: fewer than two labels have two rows: one to learn from, one to hold out; give more")
