"""Row stores: labelled rows, wherever they are. Here are those in memory; ``disk`` and ``remote`` hold one implementation each.

Rows in memory: texts as buffers, counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from linnet.array_types import Array, Bytes, Floats, Floats32, Hashes, Hashes32, Ints, Ints32, Labels
from linnet.data.dataset import are_scattered, distributions, is_soft, scattered
from linnet.errors import DataError, LinnetError, shown
from linnet.features.blocks import AnyBlocks, Blocks, Chars, ComputedBlocks, compute, describe, needed, split
from linnet.features.buffers import TextBuffer, taken, text_buffers
from linnet.features.counting import Counted, SparseCounts, names_of
from linnet.features.derived import Derived, Part, Shared, Texts, unnamed
from linnet.features.plan import (
    LARGE_MODEL,
    FeaturePlan,
    FeatureWeights,
    default_blocks,
    kept_columns,
    looked_at,
    other_widths,
    unspaced,
)
from linnet.features.vectorizer import features_named
from linnet.features.vectors import Vectors
from linnet.model.learned import numbers_of
from linnet.models.inputs import as_weight, feature_names, indicators, row_weights
from linnet.pipeline.cache import available, joined_with
from linnet.pipeline.crossval import FEW_ROWS, LITTLE_WORK, FittedRows, Weighting
from linnet.pipeline.events import Log
from linnet.pipeline.plan import Plan
from linnet.pipeline.search import SearchRows
from linnet.solvers.callbacks import OnEpoch
from linnet.solvers.matrix import RowBlocks
from linnet.values import plain_list


class RowStore(Protocol):
    """Labelled rows of training and dev. ``count`` comes first; what it finds is in the attributes."""

    classes: tuple[Any, ...]
    class_rows: Ints
    """Rows of each class, dev rows included."""
    n_rows: int
    """Rows of training and dev."""
    n_dev: int
    n_fitted: int
    """Rows of the last fit: all, or without the dev rows where the plan watches these."""
    features: AnyBlocks
    """All blocks, with what they learned; ``blocks`` and ``computed`` are the two kinds of them."""
    blocks: Blocks
    computed: ComputedBlocks
    min_df: int
    n_columns: int
    fingerprints: Hashes

    def count(self, plan: Plan, log: Log) -> None:
        """Count the features and decide which of them the model has."""

    def search_rows(self) -> SearchRows:
        """Return rows to judge settings on."""

    def counts(self) -> tuple[Any, Labels]:
        """Return what feature weights are learned from: the fitted rows and their classes, or counts that stand for them."""

    def feature_weights(self, plan: FeaturePlan, ratio: float) -> FeatureWeights:
        """Learn the weight of each feature from the rows of the last fit."""

    def keep(self, numbers: Ints32) -> None:
        """Keep the columns with a number that is not negative, under that number."""

    def fitted(self) -> FittedRows | None:
        """Return the rows of the last fit where they are in memory; None where they are in blocks."""

    def in_blocks(self, weighting: Weighting, on_epoch: OnEpoch) -> RowBlocks:
        """Return the rows of the last fit in blocks."""

    def names(self, columns: Ints) -> tuple[Bytes, Ints]:
        """Return the names of some columns as UTF-8 bytes, and where each begins."""

    def about(self) -> dict[str, Any]:
        """Return what the card says of the data."""

    def training_texts(self) -> Hashes32:
        """Return the numbers of the texts of training and dev rows (linnet.model.learned)."""


@dataclass(frozen=True)
class ClassCounts:
    """In place of rows: the documents of each class that hold each feature. It adds up over blocks and shards.

    Where rows may have several labels, df is in how many documents each feature is: classes overlap. Where rows have weights
    all of these are what the documents weigh together.
    """

    table: Array  # (n_columns, n_classes)
    n_rows: int
    computed: Floats32 | None = None
    counts: Ints32 = field(default_factory=lambda: np.zeros(0, np.int32))
    df: Array | None = None

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_columns(self) -> int:
        """How many features there are."""
        return len(self.table)

    def document_frequency(self) -> Array:
        """In how many documents each feature is."""
        return np.asarray(self.table.sum(axis=1, dtype=np.int32)) if self.df is None else self.df

    def class_counts(self, y: Labels, n_classes: int, weight: Floats | None = None) -> Array:
        """In how many documents of each class; of one class, in how many of all."""
        return self.table if n_classes > 1 else self.document_frequency()[:, None]

    def take(self, rows: Ints) -> ClassCounts:
        """Return the counts where a document with several labels stands once for each: rows of all labels."""
        return replace(self, n_rows=len(rows), df=None)


def encode(labels: Sequence[Any], more: Sequence[Any] = ()) -> tuple[tuple[Any, ...], Array]:
    """Return the classes, sorted, and the number of the class of each row; more are classes that no row may have.

    Labels that are tuples, lists or sets are several a row, or none: then an indicator matrix, (n_rows, n_classes).

    >>> encode(["b", "a", "b"])
    (('a', 'b'), array([1, 0, 1], dtype=int32))
    >>> encode([("a", "b"), (), ("b",)])[1].astype(int).tolist()
    [[1, 1], [0, 0], [0, 1]]
    """
    plain = set(map(type, labels)) == {str}
    if not plain and len(labels) and all(isinstance(label, tuple | list | set | frozenset) for label in labels):
        classes = sorted_classes({label for row in labels for label in row})
        if len(classes) < 2:
            raise DataError(f"rows with several labels need two labels or more, got {list(classes)}")
        return classes, class_numbers(labels, classes, several=True)
    for row, label in () if plain else enumerate(labels):
        if isinstance(label, list | tuple | np.ndarray):
            raise DataError(
                f"row {row + 1} has the label {shown(label, 40)}: every text needs one label, not several and not a row of 0 and 1; "
                "of a table with a column a class, give the names of the classes (numpy: names[Y.argmax(axis=1)])"
            )
        if label is None or label != label:
            raise DataError(f"row {row + 1} has no label; leave it out or label it")
        if isinstance(label, float) and label % 1:
            raise DataError(
                f"Unknown label type: continuous. {label!r} (row {row + 1}) looks like a number, not a class"
            )
    classes = sorted_classes({*labels, *more})
    if len(classes) < 2:
        found = f"there is 1 class: every row has the label {classes[0]!r}" if classes else "there are no training rows"
        raise DataError(f"{found}; a classifier needs two classes or more")
    if are_scattered(classes, len(labels)):
        raise DataError(scattered(classes, len(labels)))
    return classes, class_numbers(labels, classes, several=False)


def sorted_classes(labels: Collection[Any]) -> tuple[Any, ...]:
    """Return distinct labels in their order; labels that have none are refused."""
    try:
        return tuple(sorted(labels))
    except TypeError:
        kinds = sorted({type(v).__name__ for v in labels})
        raise DataError(f"labels must be of one kind, got {' and '.join(kinds)}") from None


def class_numbers(labels: Sequence[Any], classes: tuple[Any, ...], *, several: bool) -> Array:
    """Return the number of the class of each row; with several labels a row, an indicator matrix, (n_rows, n_classes)."""
    number = {c: k for k, c in enumerate(classes)}
    if not several:
        return np.fromiter(map(number.__getitem__, labels), dtype=np.int32, count=len(labels))
    y = np.zeros((len(labels), len(classes)), dtype=bool)
    for row, found in enumerate(labels):
        y[row, [number[label] for label in found]] = True
    return y


MOSTLY_KNOWN = 0.7  # share of the words that have a vector: below, features without vectors are tried first
Soft = tuple[tuple[Any, ...], Floats] | None
"""Label distributions: the classes, and the probability of each in each row."""


@dataclass(frozen=True)
class Numbered:
    """Some rows, asked for by the numbers that they have among all."""

    rows: SparseCounts
    numbers: Ints

    def take(self, rows: Ints) -> SparseCounts:
        """Return rows by number."""
        return self.rows.take(np.searchsorted(self.numbers, rows))


class MemoryRows:
    """Training rows, then dev rows. part is where the texts are counted already; the result is the same without."""

    def __init__(
        self, plan: Plan, X: Any, y: Any = None, *, dev: Any = None, sample_weight: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None, part: Part | None = None,
    ) -> None:  # fmt: skip
        needs = needed(plan.features.features or ())
        self.buffers, labels, soft = texts_and_labels(X, y, "training", needs)
        n_train, parts = len(labels), [(len(labels), soft)]
        self.dev: Ints | None = None
        if dev is not None:
            dev_texts, dev_y = dev if isinstance(dev, tuple) else (dev, None)
            more, dev_labels, dev_soft = texts_and_labels(dev_texts, dev_y, "dev", needs)
            if not dev_labels:
                raise DataError("the dev data has no rows; leave it out: then settings are chosen by folds")
            self.dev = np.arange(n_train, n_train + len(dev_labels))
            self.buffers, labels = self.buffers + more, labels + dev_labels
            parts.append((len(dev_labels), dev_soft))
        self.classes, self.y = encode(labels, [name for _, soft in parts if soft is not None for name in soft[0]])
        if self.dev is not None and not _labels_met(self.y[:n_train], self.y[n_train:]):
            raise DataError("no dev row has a label of the training rows: the two files are of different problems")
        given = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        both = given is not None and given.shape == (len(labels),)  # dev rows have weights, too
        weight = as_weight(given, len(labels) if both else n_train)
        if weight is not None and not both:
            weight = np.concatenate([weight, np.ones(len(labels) - n_train)])
        self.given_weight = given_weights(self.y, len(self.classes), weight, self._shares(parts), plan.label_smoothing)
        self.weight = row_weights(plan.class_weight, self.classes, self.y, self.given_weight)
        self.groups = _group_numbers(groups, n_train)
        several = self.y.ndim == 2  # labels a row
        self.class_rows = self.y.sum(axis=0) if several else np.bincount(self.y, minlength=len(self.classes))
        self.n_rows = len(labels)
        self.n_dev = 0 if self.dev is None else len(self.dev)
        self.final = np.arange(n_train if self.dev is not None and not plan.refit else len(labels))
        self.watch = plan.watch
        self.n_fitted = len(self.final)
        self.part, self.source = part, X

    def _shares(self, parts: list[tuple[int, Soft]]) -> Floats | None:
        """Return the label distributions of all rows, NaN for those that have none; None where no row has."""
        if all(soft is None for _, soft in parts):
            return None
        share, first = np.full((len(self.y), len(self.classes)), np.nan), 0
        number = {c: k for k, c in enumerate(self.classes)}
        for n, soft in parts:
            if soft is not None:
                share[first : first + n] = 0.0
                share[first : first + n, [number[name] for name in soft[0]]] = soft[1]
            first += n
        return share

    def with_texts(self, texts: list[TextBuffer]) -> MemoryRows:
        """Return these rows, not counted yet, with texts behind them that have no labels, and are in the last fit."""
        more, n = copy(self), sum(map(len, texts))
        more.buffers, more.part = [*self.buffers, *texts], None
        more.y = np.append(self.y, np.zeros(n, np.int32))
        more.final = np.append(self.final, np.arange(len(self.y), len(self.y) + n))
        more.n_fitted = len(more.final)
        return more

    def set_soft_labels(self, soft: Floats) -> None:
        """Let rows and texts weigh as much as each class, (n_rows and n_texts, n_classes)."""
        self.weight = self.given_weight = soft
        self.y[self.n_rows :] = soft[self.n_rows :].argmax(axis=1)

    def count(self, plan: Plan, log: Log) -> None:
        """Count the features of all rows; drop the columns that no setting would use."""
        features = plan.features
        self.hash_bits, self.threads = features.hash_bits, plan.threads
        why = "" if features.features or not unspaced(self.buffers) else ": most texts have no blanks between words"
        default = features.features or default_blocks(self.buffers)
        self.other = () if features.features is not None else other_features(default, features, self.buffers)
        given = (features.features, features.min_df, features.max_features, features.hash_bits, features.max_df)
        self.cuts = (1, 2) if features.widths and given == (None, None, None, None, 1.0) else ()
        if features.features is None and features.vectors:
            default = (*default, Vectors(features.vectors))
        train = None if self.dev is None else np.arange(self.dev[0])
        self.features = learned(tuple(b.with_tf(features.tf) for b in default), lambda: self.buffers, train, log)
        self.blocks, self.computed = split(self.features)
        log.stage("count", f"counting features {describe(self.features)}{why}")
        texts = Texts(self.buffers) if self.part is None else self.part
        self.texts = Derived.of(texts, self.blocks, self.buffers)
        counted, self.min_df = count_features(self.texts, self.blocks, features, len(self.classes), plan.threads)
        self._check_size(counted.rows.n_columns, plan.traits.bytes_per_weight)
        self._set(with_computed(counted, self.computed, self.buffers) if self.computed else counted)

    def _check_size(self, n_columns: int, per_weight: int) -> None:
        """Refuse more weights than there is memory for, before anything is fitted."""
        wanted, free = n_columns * len(self.classes) * per_weight, available()
        if wanted > free:
            raise LinnetError(
                f"{n_columns:,} features times {len(self.classes):,} classes need about {wanted / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB "
                "are free: keep the most frequent features (--max-memory 4GB, or --max-features N), or group the labels"
            )

    def _set(self, counted: Counted) -> None:
        self.counted, self.rows = counted, counted.rows
        self.n_columns, self.fingerprints = counted.rows.n_columns, counted.fingerprints

    def search_rows(self) -> SearchRows:
        """Return all rows."""
        return SearchRows(
            self.rows, self.y, len(self.rows.indices), self.dev, self.weight, self.groups, self.given_weight, self.other,
            self.cuts, self._count_some,
        )  # fmt: skip

    def _count_some(self, features: AnyBlocks, tf: str, numbers: Ints) -> Numbered:
        """Count other features of some rows, for a trial."""
        blocks, computed = split([block.with_tf(tf) for block in features])
        whole = len(numbers) == len(self.y)
        buffers = self.buffers if whole else [taken(self.buffers, numbers)]
        texts = self.part if whole and self.part is not None else Texts(buffers)
        source, counting = Derived.of(texts, blocks, buffers), tf != "presence"
        counted = source.count(blocks, hash_bits=self.hash_bits, counting=counting, threads=self.threads)
        return Numbered((with_computed(counted, computed, buffers) if computed else counted).rows, numbers)

    def _final_rows(self) -> SparseCounts:
        return self.rows if len(self.final) == len(self.y) else self.rows.take(self.final)

    def counts(self) -> tuple[SparseCounts, Ints32]:
        """Return the rows of the last fit."""
        return self._final_rows(), self.y[self.final]

    def feature_weights(self, plan: FeaturePlan, ratio: float) -> FeatureWeights:
        """Learn the weight of each feature from the rows of the last fit."""
        given = None if self.given_weight is None else self.given_weight[self.final]
        return plan.weights(*self.counts(), len(self.classes), ratio, given)

    def keep(self, numbers: Ints32) -> None:
        """Renumber the columns."""
        self._set(self.counted.keep(np.flatnonzero(numbers >= 0)))

    def add_unseen(self, words: Sequence[str]) -> None:
        """Add columns of features, by name, that no row holds: naive Bayes gives them a probability too."""
        if words:
            found, self._unseen = features_named(words, self.blocks)
            rows = replace(self.rows, n_columns=self.rows.n_columns + len(found))
            self._set(Counted(rows, np.concatenate([self.fingerprints, found]), self.counted.seen))

    def fitted(self) -> FittedRows:
        """Return the rows of the last fit."""
        held_out = None
        if self.watch and self.dev is not None:
            held_out = self.rows.take(self.dev), self.y[self.dev]
        weight = None if self.weight is None else self.weight[self.final]
        return FittedRows(self._final_rows(), self.y[self.final], weight, held_out)

    def in_blocks(self, weighting: Weighting, on_epoch: OnEpoch) -> RowBlocks:
        """Rows in memory are not in blocks."""
        raise TypeError("these rows are in memory")

    def names(self, columns: Ints) -> tuple[Bytes, Ints]:
        """Return the names of some columns, from the texts."""
        n = len(self.counted.seen.document)
        met = columns[columns < n]
        known = names_of(self.texts.pieces, self.blocks, self.counted.seen.take(met), self.fingerprints[met])
        return known if len(met) == len(columns) else joined_with(known, columns, n, self._unseen)

    def training_texts(self) -> Hashes32:
        """Return the numbers of all texts."""
        return numbers_of(self.buffers)

    def about(self) -> dict[str, Any]:
        """Return what the card says of the data."""
        columns = (getattr(self.source, name, None) for name in ("text_column", "bins", "separator"))
        return about_source(getattr(self.source, "source", "Python objects"), *columns)


def about_source(name: str, text_column: str | None, bins: Any, separator: str | None) -> dict[str, Any]:
    """Return what the card says of the source of texts and labels."""
    found = {"text_column": text_column, "label_bins": bins, "separator": None if separator == "|" else separator}
    return {"source": name, **{key: value for key, value in found.items() if value is not None}}


def given_weights(
    y: Array, n_classes: int, weight: Floats | None, soft: Floats | None, smoothing: float
) -> Floats | None:
    """Return what rows weigh, (n_rows,); of soft or smoothed labels as each class, (n_rows, n_classes); None where all weigh 1.

    That is their weight times their label distribution, smoothed. soft is NaN where a row has a label and no distribution.

    >>> given_weights(np.array([1, 0]), 2, np.array([2.0, 1.0]), np.array([[np.nan] * 2, [0.75, 0.25]]), 0.0).tolist()
    [[0.0, 2.0], [0.75, 0.25]]
    """
    if soft is None and not smoothing:
        return weight
    if y.ndim == 2:
        raise DataError("label_smoothing is for one label a row; leave it out where rows have several")
    share = np.asarray(y[:, None] == np.arange(n_classes), dtype=np.float64)
    if soft is not None:
        share = np.where(np.isnan(soft), share, soft)
    share = (1.0 - smoothing) * share + smoothing / n_classes
    return share if weight is None else np.asarray(share * weight[:, None])


def _labels_met(train: Ints, dev: Ints) -> bool:
    """Say whether some label of the dev rows is one of the training rows."""
    if train.ndim == 2:  # labels a row
        return bool(np.any(train.any(axis=0) & dev.any(axis=0)))
    return bool(np.isin(dev, train).any())


def _group_numbers(groups: npt.ArrayLike | None, n_train: int) -> Ints | None:
    if groups is None:
        return None
    found = np.asarray(groups)
    if found.shape != (n_train,):
        raise DataError(f"groups must hold one value a training row: {n_train:,}, got shape {found.shape}")
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def texts_and_labels(X: Any, y: Any, what: str, needs: tuple[str, ...]) -> tuple[list[TextBuffer], list[Any], Soft]:
    """Return texts, labels, and the label distributions where these are given: of them the labels are the likeliest."""
    from linnet.data import Dataset

    if isinstance(X, Dataset):
        if X.label is None:
            raise DataError(f"{X.source}: the {what} data has no labels; name the label column")
        if X.label_column in needs:
            raise DataError(f"{X.source}: column '{X.label_column}' holds the labels; leave it out of the features")
        soft = (tuple(X.label_columns), X.distributions()) if X.label_columns else None
        return text_buffers(X, needs), X.label_sets() if X.separator else X.label.to_pylist(), soft
    if y is None:
        raise DataError(f"the {what} data needs labels: fit(texts, labels), or a Dataset from linnet.read")
    buffers, given = text_buffers(X, needs), None
    if is_soft(y):
        named = feature_names(y)
        names: tuple[Any, ...] = tuple(range(y.shape[1])) if named is None else tuple(named.tolist())
        given = names, distributions(y, f"the {what} labels")
        y = [names[k] for k in given[1].argmax(axis=1).tolist()]
    elif _is_table(y):
        y = [tuple(np.flatnonzero(row).tolist()) for row in indicators(y, "y")]
    labels = list(y) if getattr(y, "ndim", 1) > 1 else plain_list(y)  # rows of a table are refused below
    n = sum(map(len, buffers))
    if n != len(labels):
        raise DataError(f"the {what} data has {n:,} texts but {len(labels):,} labels")
    return buffers, labels, given


def _is_table(y: Any) -> bool:
    """Whether labels are an indicator matrix: two dimensions, or lists of 0 and 1 of one length."""
    if hasattr(y, "ndim"):
        return bool(y.ndim == 2 and y.shape[1] > 1)
    rows = isinstance(y, list) and bool(y) and all(isinstance(row, list) and len(row) > 1 for row in y)
    return rows and len({len(row) for row in y}) == 1 and all(type(v) is int and v in (0, 1) for row in y for v in row)


def count_ahead(plan: Plan, texts: Shared) -> None:
    """Begin to count the features that a fit will ask for first, where they are of the texts alone."""
    features = plan.features
    blocks = tuple(block.with_tf(features.tf) for block in features.features or default_blocks(texts.pieces))
    counted, computed = split(blocks)
    plain = not computed and not any(block.waits or block.source or block.needs for block in counted)
    if plain and plan.traits.learns:
        texts.begin(counted, features.hash_bits, features.tf != "presence", plan.threads)


def other_features(default: AnyBlocks, plan: FeaturePlan, pieces: list[TextBuffer]) -> tuple[AnyBlocks, ...]:
    """Return the features to try in place of the default, the most promising first."""
    size = sum(int(piece.offsets[-1] - piece.offsets[0]) for piece in pieces)
    others = other_widths(default, size) if plan.widths else ()
    if not plan.vectors:
        return others
    best = (*others, default)[0]
    joined = tuple((*best, Vectors(plan.vectors, weight)) for weight in (2.0, 1.0))
    sample = [taken(pieces, np.arange(0, n, looked_at(n)))] if (n := sum(map(len, pieces))) else []
    known = Vectors(plan.vectors).known_share(sample)  # vectors of another language have little to say
    found = (*(joined if others else joined[:1]), best)
    return found if known >= MOSTLY_KNOWN else (best, *found[:-1])


def count_features(
    texts: Texts | Part | Derived, blocks: Blocks, plan: FeaturePlan, n_classes: int, threads: int
) -> tuple[Counted, int]:
    """Count, then drop the columns that no setting would use; returns the cut-off for the training parts of folds too."""
    if not blocks:  # all features are computed
        none = np.zeros(0, np.int32)
        return unnamed(SparseCounts(np.zeros(len(texts) + 1, np.int64), none, none, 1, 0)), 1
    n_outputs = 1 if n_classes == 2 else n_classes
    counted = texts.count(blocks, hash_bits=plan.hash_bits, counting=plan.tf != "presence", threads=threads)
    if plan.hash_bits:
        return counted, 1
    rows = counted.rows
    few = len(rows) < FEW_ROWS and len(rows.indices) * n_outputs < 4 * LITTLE_WORK
    short = few and any(isinstance(block, Chars) for block in blocks)  # texts, which may hold rare features alone
    min_df = plan.min_df or (1 if short or rows.n_columns * n_outputs <= LARGE_MODEL else 2)
    names = partial(counted.names, texts.pieces, blocks)
    kept = kept_columns(rows, min_df=min_df, max_df=plan.max_df, max_features=plan.max_features, names=names)
    return counted if len(kept) == rows.n_columns else counted.keep(kept), min_df


def learned(features: AnyBlocks, texts: Callable[[], list[TextBuffer]], rows: Ints | None, log: Log) -> AnyBlocks:
    """Let blocks learn what they need of texts and columns, from training rows alone and without their labels."""
    waiting = dict.fromkeys(block.waits for block in features if block.waits)
    if not waiting:
        return features
    log.stage("count", f"learning {' and '.join(waiting)}")
    pieces, known = texts(), dict[Any, Any]()
    return tuple(block.learn(pieces, rows, known) for block in features)


def with_computed(counted: Counted, computed: ComputedBlocks, buffers: list[TextBuffer]) -> Counted:
    """Add the values of computed columns."""
    for block in computed:
        block.check()
    return replace(counted, rows=replace(counted.rows, computed=compute(computed, buffers)))
