"""A text model that goes on learning, chunk by chunk: new texts, new features, new classes.

Every chunk is scored before it is learned from, so the share of right answers so far is an honest score that needs no rows
held out (progressive validation: Blum, Kalai, Langford: Beating the Hold-Out, 1999). What is kept between chunks is what the
model needs to go on: counts for naive Bayes, which are then those of one fit to all rows; weights for the others, from which
they take more steps. Document frequencies grow, so the idf of a feature is that of the rows so far.

Only the columns of a chunk are touched by its steps: a chunk costs what its texts cost, however large the model is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linnet import arithmetic
from linnet.array_types import Array, Bytes, Floats, Floats32, Ints
from linnet.errors import DataError, LinnetError
from linnet.features.blocks import AnyBlocks, FoldedVectors, split
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import SparseCounts, joined, names_of
from linnet.features.plan import LARGE_MODEL, FeatureWeights, default_blocks
from linnet.model.calibration import Calibration, CalibrationCurve
from linnet.model.decision import Decision
from linnet.model.learned import Learned, merged, numbers_of
from linnet.model.model import Model
from linnet.model.table import ignored_bits
from linnet.models import MODELS
from linnet.models.estimator import EpochState
from linnet.models.inputs import as_weight, class_factors, label_factors
from linnet.models.naive_bayes import Statistics
from linnet.pipeline.cache import StreamVocabulary, name_array
from linnet.pipeline.crossval import Weighting
from linnet.pipeline.fit import WeightedColumns, assemble, choose_thresholds, settings_of, source_name
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import class_numbers, sorted_classes
from linnet.pipeline.search import axes_of
from linnet.pipeline.stream import count_batch
from linnet.solvers.callbacks import Weights
from linnet.solvers.losses import sigmoid
from linnet.solvers.matrix import TrainingSet

Columns = Array
CALIBRATED_ON = 5_000  # rows, the latest ones
LEAST_CALIBRATED = 100
SMALL_CHUNK = 1 << 18  # bytes: below this a second thread costs more than it saves
WAITING = 10_000  # rows of one class, before a second one comes


@dataclass
class Progressive:
    """How well chunks were answered before they were learned from.

    >>> found = Progressive()
    >>> found.add(10, 6); found.add(10, 9)
    >>> found.rows, found.accuracy, found.chunks[-1]
    (20, 0.75, (10, 9))
    """

    rows: int = 0
    right: int = 0
    chunks: list[tuple[int, int]] = field(default_factory=list)
    """Rows and right answers of each chunk."""

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return self.right / self.rows if self.rows else 0.0

    def add(self, rows: int, right: int) -> None:
        """Note a chunk."""
        self.rows, self.right = self.rows + rows, self.right + right
        self.chunks.append((rows, right))

    def to_dict(self) -> dict[str, Any]:
        """Return rows and accuracy as plain values."""
        return {"rows": self.rows, "accuracy": self.accuracy}


@dataclass(frozen=True)
class ScoredChunk:
    """A chunk as it was met: the scores of its rows before they were learned from, their classes, answers and features.

    Where rows may have several labels, classes and answers are indicator matrices.
    """

    scores: Floats
    y: Array
    best: Array
    features: Ints


class _Counts:
    """What a counting model has counted; of several labels a row, those of each label, then all rows."""

    def __init__(self, model: Any, n_classes: int, several: bool) -> None:
        n = n_classes + several
        self.model, self.several, self.counted = model, several, Statistics(np.zeros(n), np.zeros((0, n)))
        self.n_outputs = 1 if n_classes == 2 and not several else n_classes

    def grow(self, n_features: int) -> None:
        self.counted = Statistics(self.counted.rows, _room(self.counted.features, n_features))

    def with_classes(self, places: Ints, n: int) -> None:
        self.n_outputs = n
        if self.several:
            places, n = np.append(places, n), n + 1
        rows, features = np.zeros(n), np.zeros((len(self.counted.features), n))
        rows[places], features[:, places] = self.counted.rows, self.counted.features
        self.counted = Statistics(rows, features)

    def learn(self, columns: Columns, rows: TrainingSet, seed: tuple[int, ...]) -> None:
        found = self.model._of_block(rows)
        self.counted.rows[:] += found.rows
        self.counted.features[columns] += found.features

    def forget(self, kept: float) -> None:
        self.counted = Statistics(self.counted.rows * kept, self.counted.features * kept)

    def weights(self, columns: Columns, n: int | None = None) -> Weights:
        """Return the weights of columns in a model with the first n; None: in a model with these columns alone."""
        if not self.counted.rows.any():
            return np.zeros((len(columns), self.n_outputs)), np.zeros(self.n_outputs)
        learn = self.model.learn_labels if self.several else self.model.learn
        features = self.counted.features[columns if n is None else slice(n)]
        W, b = learn(Statistics(self.counted.rows, features), np.dtype(np.float32))
        return (W if n is None else W[columns]), b


class _Steps:
    """Where a model stands that takes steps.

    Models that average predict with a mean of their weights in which the chunk from row m to row n has the share (n^8 - m^8) / n^8, so
    early weights are soon forgotten (polynomial-decay averaging: Shamir and Zhang, Stochastic Gradient Descent for Non-smooth
    Optimization, 2013). With equal shares a feature met late keeps the small weight that it had on average. The sum of the weighted
    weights is n^8 W - A, which steps change where they go.
    """

    def __init__(self, model: Any, n_classes: int, several: bool) -> None:
        n_outputs = 1 if n_classes == 2 and not several else n_classes
        self.model, self.several, self.n = model, several, 0.0
        self.W, self.A = np.zeros((0, n_outputs)), np.zeros((0, n_outputs))
        self.b, self.A_b = np.zeros(n_outputs), np.zeros(n_outputs)

    def grow(self, n_features: int) -> None:
        self.W, self.A = _room(self.W, n_features), _room(self.A, n_features)

    def with_classes(self, places: Ints, n: int) -> None:
        """Spread the columns; a new class begins a margin below zero, and two classes share their one score."""
        made = []
        for table, first in ((self.W, 0.0), (self.A, 0.0), (self.b[None], -1.0), (self.A_b[None], 0.0)):
            new = np.full((len(table), n), first)
            halves = len(places) == 2 and not self.several
            new[:, places] = np.concatenate([-table, table], axis=1) / 2.0 if halves else table
            made.append(new)
        self.W, self.A, self.b, self.A_b = made[0], made[1], made[2][0], made[3][0]

    def learn(self, columns: Columns, rows: TrainingSet, seed: tuple[int, ...]) -> None:
        before, b = self.W[columns], self.b
        made = self._epoch(self.model._plain(rows), before, b, seed)
        old, self.n = _eighth(self.n), self.n + len(rows)
        new = _eighth(self.n) - old
        self.A[columns] += old * (made.W - before) + new * (made.W - made.mean_weights)
        self.A_b = self.A_b + old * (made.b - b) + new * (made.b - made.mean_intercept)
        self.W[columns], self.b = made.W, made.b

    def _epoch(self, rows: TrainingSet, W: Floats, b: Floats, seed: tuple[int, ...]) -> EpochState:
        """Make an epoch over the rows; of several labels a row, one for each label against the rest."""
        if not self.several:
            made: EpochState = self.model.learn_chunk(rows, EpochState.at(W, b), seed)
            return made
        each = [
            self.model.learn_chunk(rows.one_label(c), EpochState.at(W[:, [c]], b[[c]]), seed) for c in range(len(b))
        ]
        names = ("W", "b", "mean_weights", "mean_intercept")
        W, b, mean, shift = (np.concatenate([getattr(one, name) for one in each], axis=-1) for name in names)
        return EpochState(W, b, mean, shift, len(rows))

    def forget(self, kept: float) -> None:
        self.n, self.A, self.A_b = self.n * kept, self.A * _eighth(kept), self.A_b * _eighth(kept)

    def weights(self, columns: Columns, n: int | None = None) -> Weights:
        if not self.model.averages or not self.n:
            return self.W[columns], self.b
        return self.W[columns] - self.A[columns] / _eighth(self.n), self.b - self.A_b / _eighth(self.n)


def _eighth(x: float) -> float:
    """Return the eighth power."""
    square = x * x
    return square * square * (square * square)


def _room(array: Array, n: int) -> Array:
    """Return the array with room for n rows or more, the new ones zero."""
    if len(array) >= n:
        return array
    new = np.zeros((max(n, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    new[: len(array)] = array
    return new


class IncrementalLearner:
    """Learns from chunks of labelled texts; ``model`` is what it knows so far.

    >>> from linnet.classifier import TextClassifier
    >>> learner = IncrementalLearner(TextClassifier("nb", features="words:1").plan())
    >>> _ = learner.learn(["good", "bad"], ["pos", "neg"])
    >>> _ = learner.learn(["so good", "so so"], ["pos", "neutral"])
    >>> learner.classes, learner.progressive.chunks
    (('neg', 'neutral', 'pos'), [(2, 1), (2, 1)])
    """

    def __init__(self, plan: Plan, classes: Sequence[Any] = (), forget: float = 0.0) -> None:
        if not plan.traits.incremental:
            able = ", ".join(name for name, model in MODELS.items() if model.traits.incremental)
            raise LinnetError(f"{plan.name} cannot go on learning from new rows; models that can: {able}")
        if not 0.0 <= forget < 1.0:
            raise LinnetError(f"forget must be from 0 (nothing) to below 1, got {forget!r}")
        if plan.features.select is not None or plan.features.max_features is not None or plan.features.vocabulary:
            raise LinnetError("select, max_features and vocabulary need all rows; leave them out, or use hash_bits")
        if 0.0 not in plan.features.ratio:
            raise LinnetError("ratio needs the labels of all rows at once; leave it out, or give ratio=0")
        self.settings: dict[str, Any] = {name: values[0] for name, values in axes_of(plan.features, many=True)}
        self.settings["ratio"] = 0.0
        self.plan, self.forget, self.several = plan, forget, False
        self.cuts = np.zeros(0)  # the probability from which each label is an answer, where rows may have several
        self.counting = plan.traits.sums == "statistics"
        self.features: AnyBlocks = ()
        self.classes: tuple[Any, ...] = ()
        self.class_rows = np.zeros(0)
        self.n_rows, self.n_documents = 0, 0.0
        self.vocabulary = StreamVocabulary()
        self.df, self.fixed = np.zeros(0), np.zeros(0, np.float32)
        self.names: list[Any] = []  # Arrow arrays
        self.state: _Counts | _Steps | None = None
        self.progressive = Progressive()
        self.recent: deque[ScoredChunk] = deque()
        self.scale, self.shift = 1.0, 0.0
        self.curve: CalibrationCurve | None = None
        self.texts = np.zeros(0, np.uint32)
        self.waiting: list[tuple[list[TextBuffer], list[Any], Floats | None]] = []
        self.base: Model | None = None
        self.n_chunks, self.source = 0, "Python objects"
        if classes:
            self.meet(list(classes))

    # ---- going on from a model

    @classmethod
    def of(cls, model: Model, plan: Plan, forget: float = 0.0) -> IncrementalLearner:
        """Return a learner that stands where a fitted model stands."""
        # known features keep their weights
        frozen = replace(plan.features, ratio=(0.0,), max_features=None, select=None)
        self = cls(replace(plan, features=frozen), forget=forget)
        self.several = model.multilabel
        vectors = any(isinstance(block, FoldedVectors) for block in model.blocks)
        if model.head is not None or model.computed or vectors:
            raise LinnetError("dense layers, computed columns and word vectors cannot go on learning; train it again")
        card = model.card
        self.base, self.features = model, model.blocks
        self.settings |= {k: v for k, v in card.get("settings", {}).items() if k in self.settings}
        self.meet(list(model.classes))
        data = card.get("data", {})
        self.class_rows = np.array([float(data.get("classes", {}).get(str(c), 0)) for c in model.classes])
        self.n_rows = int(data.get("rows", 0) if self.several else self.class_rows.sum())
        self.n_documents = float(data.get("rows_fitted", self.n_rows))
        fitted = card.get("calibration") or {}
        self.scale, self.shift = float(fitted.get("scale", 1.0)), float(fitted.get("shift", [0.0])[0])
        self.curve = model.curve
        if self.several and model.decision.thresholds is not None:
            self.cuts = np.nan_to_num(model.decision.thresholds, nan=0.5)
        used = model.table.used
        if not model.table.hashed:
            self.vocabulary.add(model.slots[used], np.ones(len(used), np.int32))
            self.names = [_names_by_slot(model, used)]
        table = model.table.at(used).astype(np.float64)
        norm, folded = table[:, 0], table[:, 1:]
        self._grow(len(used))
        self.fixed[: len(used)] = norm
        if self.plan.features.idf and float(card.get("settings", {}).get("ratio", 1.0)) == 0.0:
            # idf = ln((1 + n) / (1 + df)) + 1: the document frequencies are in the weights
            self.df[: len(used)] = np.rint((1.0 + self.n_documents) / arithmetic.exp(norm - 1.0) - 1.0)
            self.fixed[: len(used)] = np.nan
        else:
            self.df[: len(used)] = self.n_documents
        if isinstance(self.state, _Counts):
            if model.learned is None:
                raise LinnetError("the model file lacks the counts that naive Bayes goes on from; train it again")
            self.state.counted = Statistics(model.learned.rows.copy(), model.learned.features.astype(np.float64))
        elif isinstance(self.state, _Steps):
            factor = self.scale * np.where(norm > 0.0, norm, 1.0)
            self.state.W[: len(used)] = folded / factor[:, None]
            self.state.b, self.state.n = (model.b - self.shift) / self.scale, self.n_documents
        return self

    # ---- learning

    def learn(
        self, texts: Any, labels: Sequence[Any], sample_weight: npt.ArrayLike | None = None, most: int | None = None
    ) -> ScoredChunk | None:
        """Score a chunk, then learn from it. Returns how it was met; None while all rows so far have the same label.

        Those rows wait, and come back with the first chunk that has another one. With most, the texts are counted together, and
        scored and learned a few at a time: an eighth of the rows so far, and so many at most.
        """
        sets = [isinstance(label, tuple | list | set | frozenset) for label in labels]
        self.several |= self.state is None and not self.waiting and any(sets)
        if self.several:
            labels = [tuple(label) if one else (label,) for label, one in zip(labels, sets, strict=True)]
        elif any(sets):
            raise DataError("a row has several labels, and those before had one each; train again on all rows")
        buffers = text_buffers(texts)
        n = sum(map(len, buffers))
        if n != len(labels):
            raise DataError(f"the chunk has {n:,} texts but {len(labels):,} labels")
        weight = as_weight(sample_weight, n)
        self.meet([label for row in labels for label in row] if self.several else labels)
        if self.state is None:
            self.waiting.append((buffers, list(labels), weight))
            if sum(len(labels) for _, labels, _ in self.waiting) > WAITING:
                raise DataError(
                    f"the first {WAITING:,} rows are all {self.classes[0]!r}; shuffle them, or name the classes"
                )
            return None
        waiting, self.waiting = self.waiting, []
        none = self._numbers([])
        met = [ScoredChunk(np.zeros((0, self.n_outputs)), none, none, np.zeros(0, np.int64))]
        met += [one for chunk in (*waiting, (buffers, list(labels), weight)) for one in self._learn(*chunk, most)]
        return ScoredChunk(*(np.concatenate([getattr(one, f.name) for one in met]) for f in fields(ScoredChunk)))

    def _learn(
        self, buffers: list[TextBuffer], labels: list[Any], weight: Floats | None, most: int | None
    ) -> Iterator[ScoredChunk]:
        y = self._numbers(labels)
        if not len(y):
            return
        rows, columns = self._count(buffers)
        self.texts = merged(self.texts, numbers_of(buffers))
        first = 0
        while first < len(y):
            last = len(y) if most is None else min(len(y), first + max(1, min(most, self.n_rows // 8)))
            part = slice(first, last)
            few, seen = (rows, None) if last - first == len(y) else rows.take_seen(np.arange(first, last))
            mine = columns if seen is None else seen if columns is None else columns[seen]
            if mine is None:  # hashed, all at once
                few, mine = rows.take_seen(np.arange(len(y)))
            yield self._step(few, mine, y[part], None if weight is None else weight[part])
            first = last

    def _numbers(self, labels: list[Any]) -> Array:
        """Return the class of each row, or all its labels, (n_rows, n_classes)."""
        return class_numbers(labels, self.classes, several=self.several)

    @property
    def n_outputs(self) -> int:
        """One score for two classes, else one a class or label."""
        return 1 if len(self.classes) == 2 and not self.several else len(self.classes)

    def _step(self, rows: SparseCounts, columns: Columns, y: Array, weight: Floats | None) -> ScoredChunk:
        """Score rows, then learn from them; columns are the numbers of theirs."""
        assert self.state is not None  # noqa: S101 - two classes are known
        if self.forget and self.n_chunks:
            self.state.forget(1.0 - self.forget)
            self.df *= 1.0 - self.forget
            self.n_documents *= 1.0 - self.forget
        self._note(rows, columns, y, weight)
        w = self._feature_weights(columns)
        blocks, features = split(self.features)[0], self.plan.features
        X = Weighting(FeatureWeights(w, w[None]), features, blocks).matrix(rows)
        W, b = self.state.weights(columns, self.n_columns)
        answers = self._answers(X.dot(W) + b, y, np.diff(rows.row_ptr))
        if self.plan.class_weight is not None:
            weight = self._weighted(y, np.ones(len(y)) if weight is None else weight)
        model = self.state.model
        if model.traits.presence and (features.tf != "presence" or features.norm or (w != 1).any()):
            raise LinnetError(f"{self.plan.name} takes words present or absent: leave out tf, idf and norm")
        self.state.learn(columns, TrainingSet(X, y, len(self.classes), weight), (self.plan.seed, self.n_chunks))
        self.n_chunks += 1
        return answers

    def _weighted(self, y: Array, weight: Floats) -> Floats:
        """Return what rows weigh, times the weights of their classes."""
        if not self.several:
            return np.asarray(weight * class_factors(self.plan.class_weight, self.class_rows, self.classes)[y])  # type: ignore[index]
        sides = label_factors(self.plan.class_weight, self.class_rows, self.n_rows, self.classes)
        return np.asarray(weight[:, None] * np.where(y, sides[:, 1], sides[:, 0]))

    def _least_scores(self) -> Floats:
        """Return the score from which each label is an answer: that of its threshold in the model that this learner began with."""
        cuts = np.clip(self.cuts, 1e-12, 1.0 - 1e-12)
        fitted = ({} if self.base is None else self.base.card.get("calibration")) or {}
        scale, shift = float(fitted.get("scale", 1.0)), float(fitted.get("shift", [0.0])[0])
        return np.asarray((arithmetic.log(cuts) - arithmetic.log1p(-cuts) - shift) / scale)

    def _answers(self, scores: Floats, y: Array, features: Ints) -> ScoredChunk:
        """Note how rows were answered; of several labels a row is right if all of them are."""
        if self.several:
            best = scores > self._least_scores()
        else:
            best = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
        found = ScoredChunk(scores, y, best, features)
        self.progressive.add(len(y), int((best == y).reshape(len(y), -1).all(axis=1).sum()))
        self.recent.append(found)
        while sum(len(one.y) for one in self.recent) - len(self.recent[0].y) >= CALIBRATED_ON:
            self.recent.popleft()
        return found

    def _count(self, buffers: list[TextBuffer]) -> tuple[SparseCounts, Columns | None]:
        """Count a chunk: rows over its own columns, and the numbers of these; None where they are hashed."""
        features = self.plan.features
        if not self.features:
            blocks = features.features or default_blocks(buffers)
            known: dict[Any, Any] = {}
            self.features = tuple(block.learn(buffers, None, known) for block in blocks)
            if split(self.features)[1]:
                raise LinnetError("partial_fit takes counted features: leave out columns, word lists and functions")
        pieces, counted = count_batch(
            buffers, self.features, hash_bits=features.hash_bits, counting=features.tf != "presence",
            threads=self.plan.threads if sum(len(piece.data) for piece in buffers) > SMALL_CHUNK else 1,
        )  # fmt: skip
        if features.hash_bits:
            self._grow(1 << features.hash_bits)
            return counted.rows, None
        before = self.vocabulary.n
        ignored = np.uint64(0 if self.base is None else ignored_bits(self.base.table.bits))
        columns = self.vocabulary.add(counted.fingerprints | ignored, counted.rows.document_frequency())
        new = columns >= before
        fresh = np.empty(self.vocabulary.n - before, dtype=np.int64)
        fresh[columns[new] - before] = np.flatnonzero(new)
        new_names = names_of(pieces, split(self.features)[0], counted.seen.take(fresh), counted.fingerprints[fresh])
        self.names.append(name_array(*new_names))
        self._grow(self.vocabulary.n)
        return counted.rows, columns

    def _note(self, rows: SparseCounts, columns: Columns, y: Array, weight: Floats | None) -> None:
        """Add up rows, classes and document frequencies."""
        ones = np.ones(len(y)) if weight is None else weight
        one = np.zeros(len(y), np.int32)
        self.df[columns] += rows.document_frequency() if weight is None else rows.class_counts(one, 1, ones)[:, 0]
        self.n_documents += len(y) if weight is None else float(arithmetic.total(ones))
        self.n_rows += len(y)
        self.class_rows += y.sum(axis=0) if self.several else np.bincount(y, minlength=len(self.classes))

    def _feature_weights(self, columns: Columns) -> Floats32:
        base = self.plan.features._base(self.df[columns], self.n_documents)
        fixed = self.fixed[columns]
        return np.where(np.isnan(fixed), base, fixed)

    def meet(self, labels: Sequence[Any]) -> None:
        """Make room for the classes of a chunk; they stay sorted."""
        new = set(labels) - set(self.classes)
        if not new:
            return
        if any(label is None or label != label for label in new):
            raise DataError("a row has no label; leave it out or label it")
        classes = sorted_classes({*self.classes, *new})
        places = np.array([classes.index(c) for c in self.classes], dtype=np.int64)
        rows = np.zeros(len(classes))
        rows[places] = self.class_rows
        self.classes, self.class_rows = classes, rows
        if self.several:  # a new label has the median threshold
            cuts, self.cuts = self.cuts, np.full(len(classes), float(np.median(self.cuts)) if len(self.cuts) else 0.5)
            self.cuts[places[: len(cuts)]] = cuts
        self.recent.clear()
        if self.state is not None:
            self.state.with_classes(places, len(classes))
        elif len(classes) > 1:
            kind = _Counts if self.counting else _Steps
            self.state = kind(self.plan.make(self.settings), len(classes), self.several)
            self._grow(self.n_columns)

    @property
    def n_columns(self) -> int:
        """How many features there are."""
        bits = self.plan.features.hash_bits
        return (1 << bits) if bits else self.vocabulary.n

    def _grow(self, n: int) -> None:
        before = len(self.df)
        self.df = _room(self.df, n)
        self.fixed = _room(self.fixed, n)
        self.fixed[before:] = np.nan
        if self.state is not None:
            self.state.grow(n)

    # ---- the model so far

    def model(self) -> Model:
        """Return what was learned so far as a model."""
        if self.state is None or not self.n_columns:
            raise DataError("there is nothing to predict with yet: give rows of two classes, or name the classes")
        features, blocks = self.plan.features, split(self.features)[0]
        n = self.n_columns
        min_df = 1 if features.hash_bits else features.min_df or (2 if n * self.n_outputs > LARGE_MODEL else 1)
        kept = np.arange(n) if features.hash_bits else np.flatnonzero(self.df[:n] >= min(min_df, self.df[:n].max()))
        w = self._feature_weights(kept)
        raw, b = self.state.weights(kept)
        W = np.ascontiguousarray(raw, dtype=np.float32) * w[:, None]
        if self.plan.calibrate:
            self._calibrate()
            W, b = W * np.float32(self.scale), b * self.scale + self.shift
        fps = self.vocabulary.fps[kept] if not features.hash_bits else np.zeros(0, np.uint64)
        columns = WeightedColumns(fps, lambda some: self._names(kept[some]), blocks, w, W)
        model = assemble(columns, features, self.classes, b, bool(self.plan.calibrate), self.card(min_df))
        model = _without_empty_names(model)
        learned = None
        if isinstance(self.state, _Counts):
            learned = Learned(self.state.counted.rows.copy(), self.state.counted.features[kept])
            learned = learned.by_slot(None if model.table.hashed else model.table.find(fps))
        if self.base is not None:
            model = replace(model, table=replace(model.table, bits=self.base.table.bits))
        if self.several:
            model = replace(model, multilabel=True, decision=Decision(thresholds=self._thresholds()))
        if self.base is not None and self.base.classes == self.classes:
            model = replace(model, decision=self.base.decision, curve=self.curve)
        known = np.zeros(0, np.uint32) if self.base is None else self.base.training_texts
        model = replace(model, learned=learned, training_texts=known).with_training_texts(self.texts)
        return model if self.plan.full_precision else model.compact()

    def _calibrate(self) -> None:
        """Fit the scale to the latest rows as they were met; of several labels a row, scale and shift to all labels."""
        if sum(len(one.y) for one in self.recent) < LEAST_CALIBRATED:
            return
        scores, y = self._recent()
        if len(np.unique(y)) > 1 and np.isfinite(scores).all() and scores.any():
            if self.several:
                found = Calibration.fit(scores.ravel(), y.ravel().astype(np.int32))
            else:
                found = Calibration.fit(scores, y, shifted=False)
            self.scale, self.shift, self.curve = found.scale, float(found.shift[0]) if self.several else 0.0, None

    def _recent(self) -> tuple[Floats, Array]:
        """Return the scores of the latest rows as they were met, and their classes."""
        return np.concatenate([one.scores for one in self.recent]), np.concatenate([one.y for one in self.recent])

    def _thresholds(self) -> Floats:
        """Return the threshold of each label: those there are, or the best on the latest rows as they were met."""
        if self.base is not None or sum(len(one.y) for one in self.recent) < LEAST_CALIBRATED:
            return self.cuts
        scores, y = self._recent()
        return np.asarray(sigmoid(choose_thresholds(self.scale * scores + self.shift, y)))

    def _names(self, columns: Columns) -> tuple[Bytes, Ints]:
        """Return the names of some columns; those that no file and no text gave are empty."""
        self.names = [pa.concat_arrays(self.names)]
        found = self.names[0].take(pa.array(columns)).fill_null(b"")
        return joined(found.to_pylist())

    def card(self, min_df: int) -> dict[str, Any]:
        """Describe the model."""
        from linnet import __version__

        old: Mapping[str, Any] = {} if self.base is None else self.base.card
        rows = {str(c): int(k) for c, k in zip(self.classes, self.class_rows, strict=True)}
        data = {
            "source": source_name(self.source),
            **old.get("data", {}),
            "rows": self.n_rows,
            "rows_fitted": self.n_rows,
        }
        return {
            **old,
            "linnet": __version__,
            "data": {**data, "rows_dev": 0, "classes": rows},
            "settings": dict(old.get("settings", {}))
            | settings_of(self.plan, self.features, min_df, self.settings)
            | ({"forget": self.forget} if self.forget else {}),
            "calibration": Calibration(self.scale, np.full(1, self.shift)).to_dict() if self.plan.calibrate else None,
            "progressive": self.progressive.to_dict(),
        }


def _names_by_slot(model: Model, used: Columns) -> Any:
    """Return the names of the used slots, null where the file has none."""
    place = np.full(model.table.n_slots, -1, np.int64)
    place[model.name_slots] = np.arange(len(model.name_slots))
    return name_array(model.name_bytes, model.name_offsets).take(pa.array(place[used], mask=place[used] < 0))


def _without_empty_names(model: Model) -> Model:
    sizes = np.diff(model.name_offsets)
    if sizes.all():
        return model
    kept = sizes > 0
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[kept])])
    return replace(model, name_offsets=offsets, name_slots=model.name_slots[kept])
