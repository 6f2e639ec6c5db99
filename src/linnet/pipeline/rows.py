"""Row stores: labelled rows, wherever they are. ``memory``, ``disk`` and ``remote`` hold one implementation each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from linnet.data.labels import are_scattered, scattered
from linnet.errors import DataError, shown
from linnet.features.blocks import AnyBlocks, Blocks
from linnet.features.computed import ComputedBlocks
from linnet.features.plan import FeaturePlan, FeatureWeights
from linnet.pipeline.crossval import FittedRows, Weighting
from linnet.pipeline.events import Log
from linnet.pipeline.plan import Plan
from linnet.pipeline.search import SearchRows
from linnet.solvers.callbacks import OnEpoch
from linnet.solvers.matrix import RowBlocks

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]


class RowStore(Protocol):
    """Labelled rows of training and dev. ``count`` comes first; what it finds is in the attributes."""

    classes: tuple[Any, ...]
    class_rows: npt.NDArray[np.int64]
    """Rows of each class, dev rows included."""
    n_dev: int
    n_fitted: int
    """Rows of the last fit: all, or without the dev rows where the plan watches these."""
    features: AnyBlocks
    """All blocks, with what they learned; ``blocks`` and ``computed`` are the two kinds of them."""
    blocks: Blocks
    computed: ComputedBlocks
    min_df: int
    n_columns: int
    fingerprints: npt.NDArray[np.uint64]

    @property
    def n_rows(self) -> int:
        """Rows of training and dev."""

    def count(self, plan: Plan, log: Log) -> None:
        """Count the features and decide which of them the model has."""

    def search_rows(self) -> SearchRows:
        """Return rows to judge settings on."""

    def counts(self) -> tuple[Any, Labels]:
        """Return what feature weights are learned from: the fitted rows and their classes, or counts that stand for them."""

    def feature_weights(self, plan: FeaturePlan, ratio: float) -> FeatureWeights:
        """Learn the weight of each feature from the rows of the last fit."""

    def keep(self, numbers: npt.NDArray[np.int32]) -> None:
        """Keep the columns with a number that is not negative, under that number."""

    def fitted(self) -> FittedRows | None:
        """Return the rows of the last fit where they are in memory; None where they are in blocks."""

    def in_blocks(self, weighting: Weighting, on_epoch: OnEpoch) -> RowBlocks:
        """Return the rows of the last fit in blocks."""

    def names(self, columns: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """Return the names of some columns as UTF-8 bytes, and where each begins."""

    def about(self) -> dict[str, Any]:
        """Return what the card says of the data."""

    def training_texts(self) -> npt.NDArray[np.uint32]:
        """Return the numbers of the texts of training and dev rows (linnet.model.learned)."""


@dataclass(frozen=True)
class ClassCounts:
    """In place of rows: the documents of each class that hold each feature. It adds up over blocks and shards.

    Where rows may have several labels, df is in how many documents each feature is: classes overlap.
    """

    table: npt.NDArray[np.int32]  # (n_columns, n_classes)
    n_rows: int
    computed: npt.NDArray[np.float32] | None = None
    counts: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    df: npt.NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_columns(self) -> int:
        """How many features there are."""
        return len(self.table)

    def document_frequency(self) -> npt.NDArray[np.int32]:
        """In how many documents each feature is."""
        return np.asarray(self.table.sum(axis=1, dtype=np.int32)) if self.df is None else self.df

    def class_counts(self, y: Labels, n_classes: int) -> npt.NDArray[np.int32]:
        """In how many documents of each class."""
        return self.table

    def take(self, rows: npt.NDArray[np.int64]) -> ClassCounts:
        """Return the counts where a document with several labels stands once for each: rows of all labels."""
        return replace(self, n_rows=len(rows), df=None)


def encode(labels: Sequence[Any], more: Sequence[Any] = ()) -> tuple[tuple[Any, ...], npt.NDArray[Any]]:
    """Return the classes, sorted, and the number of the class of each row; more are classes that no row may have.

    Labels that are tuples, lists or sets are several a row, or none: then an indicator matrix, (n_rows, n_classes).

    >>> encode(["b", "a", "b"])
    (('a', 'b'), array([1, 0, 1], dtype=int32))
    >>> encode([("a", "b"), (), ("b",)])[1].astype(int).tolist()
    [[1, 1], [0, 0], [0, 1]]
    """
    if len(labels) and all(isinstance(label, tuple | list | set | frozenset) for label in labels):
        return _several(labels)
    for row, label in enumerate(labels):
        if isinstance(label, list | tuple | np.ndarray):
            raise DataError(
                f"row {row + 1} has the label {shown(label, 40)}: every text needs one label, not several and not a row of 0 and 1; "
                "of a table with a column a class, give the names of the classes (numpy: names[Y.argmax(axis=1)])"
            )
        if label is None or label != label:
            raise DataError(f"row {row + 1} has no label; leave it out or label it")
        if isinstance(label, float) and label % 1:
            raise DataError(
                f"Unknown label type: continuous. The label of row {row + 1} is {label!r}: these look like numbers, not classes"
            )
    try:
        classes = tuple(sorted({*labels, *more}))
    except TypeError:
        kinds = sorted({type(v).__name__ for v in labels})
        raise DataError(f"labels must be of one kind, got {' and '.join(kinds)}") from None
    if len(classes) < 2:
        raise (
            DataError(f"there is 1 class, every row has the label {classes[0]!r}; a classifier needs at least two")
            if classes
            else DataError("there are no training rows")
        )
    if are_scattered(classes, len(labels)):
        raise DataError(scattered(classes, len(labels)))
    number = {c: k for k, c in enumerate(classes)}
    return classes, np.fromiter((number[v] for v in labels), dtype=np.int32, count=len(labels))


def _several(labels: Sequence[Any]) -> tuple[tuple[Any, ...], npt.NDArray[np.bool_]]:
    """Return the classes and the indicator matrix of rows that may have several labels."""
    classes = tuple(sorted({label for row in labels for label in row}))
    if len(classes) < 2:
        raise DataError(f"rows with several labels need two labels or more, got {list(classes)}")
    number = {c: k for k, c in enumerate(classes)}
    y = np.zeros((len(labels), len(classes)), dtype=bool)
    for row, found in enumerate(labels):
        y[row, [number[label] for label in found]] = True
    return classes, y
