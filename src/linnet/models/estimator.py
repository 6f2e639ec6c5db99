"""The scikit-learn contract, without scikit-learn, and the traits of a model: what it can do, in one value.

``fit`` returns self, learned state ends in ``_``. Importing scikit-learn takes over a
second, so only what its own tools ask for (tags, NotFittedError) does.

A new model is a class with settings and ``solve``, and a row in ``models.MODELS``.

Models that learn by steps, row after row, epoch after epoch: they can go on with more rows, and from block to block.

A model says what one epoch over some rows does (``epoch``). Rows in blocks on disk are visited one block after the
other, the weights going on from each to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from linnet.array_types import Array, Floats
from linnet.errors import DataError, LinnetError
from linnet.estimator import Estimator, sklearn_tags, truth, whole
from linnet.features.counting import thread_count
from linnet.features.plan import FeaturePlan
from linnet.models import inputs
from linnet.models.inputs import seed_of
from linnet.solvers.callbacks import Callback, Epoch, OnEpoch, Weights, ignore, showing, warn_unfinished
from linnet.solvers.losses import log_sigmoid, log_softmax, sigmoid, softmax
from linnet.solvers.matrix import Matrix, RowBlocks, TrainingSet

Sums = Literal["statistics", "problem", "epochs", "no"]
Seed: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Traits:
    """The capabilities of a model.

    ``sums`` says how it is fitted to rows that come in blocks, from disk or from other machines: "statistics" are counts
    that add up; "problem" is a smooth objective whose values and gradients add up; "epochs" are steps that go from block
    to block; "no" needs all rows in memory. ``learns`` is False for a model that is given its weights and learns nothing
    from rows. ``gain_per_class``: it takes one weight a feature and class. ``non_negative``: features must not be
    negative. ``presence``: features must be 0 or 1. ``multilabel``: it learns rows with several labels, each against the
    rest. ``incremental``: it has ``partial_fit``. ``poor_score``: the round clouds of points of
    scikit-learn's checks, which are no counts, say little to it. ``warm_start``: its solver can begin where one of the same
    rows with other settings ended. ``bytes_per_weight`` is the memory that fitting takes for
    each feature and output.
    """

    sums: Sums = "no"
    learns: bool = True
    gain_per_class: bool = False
    non_negative: bool = False
    presence: bool = False
    multilabel: bool = True
    incremental: bool = False
    poor_score: bool = False
    warm_start: bool = False
    bytes_per_weight: int = 60


NEVER = -10.0  # the score of a label that no training row has


class LinearClassifier(Estimator):
    """A model that ends as (W, b): scores are X W + b, the answer is the best of them.

    Two classes share one score, above zero for the second; K classes have K. Learned: ``coef_``, (n_outputs,
    n_features), ``intercept_``, ``classes_`` (sorted), ``n_features_in_``, ``n_iter_``, and ``feature_names_in_`` where
    X is a frame with named columns.
    """

    plan: ClassVar[FeaturePlan]
    """What the model wants of text features, and the settings to try: read by TextClassifier."""
    traits: ClassVar[Traits] = Traits()
    """What the model can do."""

    class_weight: Any = None
    n_jobs: int | None = 1
    tol: float
    warm: Any = None
    """What ``left`` was of the same rows with other settings, for solvers that can begin there; an empty array keeps it."""
    left: Any = None
    warns: bool = True
    """Whether a fit that stops before it meets its tolerance says so."""
    interrupted_: bool = False
    """Whether Ctrl-C ended the last fit, with the weights as they were."""
    n_iter_: int
    history_: list[Epoch]
    """The reports of all passes, where the model makes passes."""

    coef_: Array  # (n_outputs, n_features)
    intercept_: Floats  # (n_outputs,)
    classes_: Array
    n_features_in_: int

    def solve(self, rows: TrainingSet) -> Weights:
        """Fit to encoded rows; returns W, (n_features, n_outputs), and b. Rows of weight zero count for nothing.

        Rows have a value an entry, and no gain, unless ``traits.gain_per_class``.
        """
        raise NotImplementedError

    def fit_matrix(
        self,
        X: Matrix,
        y: Array,
        n_classes: int,
        *,
        sample_weight: Floats | None = None,
        threads: int = 1,
        on_epoch: OnEpoch | None = None,
    ) -> Weights:
        """Fit to encoded rows, without labels and checks; returns what ``solve`` returns."""
        rows = self._plain(TrainingSet(X, y, n_classes, sample_weight, threads, on_epoch or ignore))
        return self.one_vs_rest(rows) if rows.multilabel else self.solve_soft(rows) if rows.soft else self.solve(rows)

    def solve_soft(self, rows: TrainingSet) -> Weights:
        """Fit to rows that have a weight for every class."""
        return self.solve(rows.repeated())

    def one_vs_rest(self, rows: TrainingSet) -> Weights:
        """Fit each label against the rest, for rows that may have several; returns a column a label.

        A label that no row has, or every row, is never, or always, the answer. Ctrl-C keeps the labels fitted so far.
        """
        if not self.traits.multilabel:
            raise DataError(f"{type(self).__name__} learns one label a row; rows with several are for svm or logistic")
        W, b = np.zeros((rows.X.n_features, rows.n_classes), rows.X.values.dtype), np.full(rows.n_classes, NEVER)

        def whole(c: int, one: Floats, shift: Floats) -> Weights:
            W[:, c], b[c] = one[:, 0], shift[0]
            return W.copy(), b.copy()

        for c in range(rows.n_classes):
            found = int(rows.y[:, c].sum())
            if 0 < found < len(rows):
                told = showing(rows.on_epoch, partial(whole, c))  # of one label, with the weights of all
                column, one = self.against_rest(replace(rows.one_label(c), on_epoch=told))
                W[:, c], b[c] = column[:, 0], one[0]
                if self.interrupted_:
                    break
            elif found:
                b[c] = -NEVER
        return W, b

    @property
    def own_gain(self) -> bool:
        """Whether the weights of features stay beside the rows, one a class, as a gain; else rows are multiplied by them."""
        return self.traits.gain_per_class

    def against_rest(self, rows: TrainingSet) -> Weights:
        """Fit one label: rows without it are class 0, rows with it class 1."""
        return self.solve(rows)

    def _plain(self, rows: TrainingSet) -> TrainingSet:
        """Write out the values, unless the model takes rows with a gain."""
        if self.own_gain:
            return rows
        if rows.X.gain is not None:
            raise DataError(f"{type(self).__name__} takes plain features; a gain per class is for LinearSVM")
        return replace(rows, X=rows.X.explicit())

    def fit_blocks(self, rows: RowBlocks) -> Weights:
        """Fit to rows in blocks, where ``traits.sums`` says that this can be done; returns what ``solve`` returns."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows and their labels; rows of weight zero are as good as absent."""
        M = self._rows(X, reset=True)
        name = type(self).__name__
        labels = inputs.as_labels(y, len(M), name)
        weight = inputs.as_weight(sample_weight, len(M))
        classes, index = inputs.index_of(labels, weight, name)
        weight = inputs.row_weights(self.class_weight, classes, index, weight)
        threads = thread_count(self.n_jobs)
        self._fit_rows(TrainingSet(M, index, len(classes), weight, threads))
        self.classes_ = classes
        return self

    def _fit_rows(self, rows: TrainingSet) -> None:
        self._keep(*self.fit_matrix(rows.X, rows.y, rows.n_classes, sample_weight=rows.weight, threads=rows.threads))

    def _batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> tuple[TrainingSet, Array]:
        """Return one batch of partial_fit, and the classes; the first call must name all of them."""
        M = self._rows(X, reset=not hasattr(self, "classes_"))
        known, index = inputs.batch_labels(self, y, len(M), classes)
        return TrainingSet(M, index, len(known), inputs.as_weight(sample_weight, len(M))), known

    def _recorded(self, on_epoch: OnEpoch) -> OnEpoch:
        """Return what a solver reports to: it writes history_, and passes the news on."""
        watch = Callback(on_epoch)
        self.history_ = watch.history
        return watch

    def _finish(self, epochs: int, most: int, violation: float, converged: bool) -> None:
        """Note how a solver ended, and warn where it ran out of epochs."""
        self.n_iter_, self.interrupted_ = max(1, epochs), not converged and epochs < most
        if not converged and epochs >= most and self.warns:
            warn_unfinished(type(self).__name__, most, violation, float(self.tol))

    def _keep(self, W: Array, b: Floats) -> None:
        self.coef_ = W.T  # the transpose of a feature-major table: predicting needs no copy
        self.intercept_ = b

    def _rows(self, X: Any, *, reset: bool = False) -> Matrix:
        """Check rows against what was fitted; with reset, note what they are."""
        M = inputs.checked_rows(self, X, reset)
        if self.traits.non_negative and (M.values < 0).any():
            name = type(self).__name__
            raise DataError(f"Negative values in data passed to {name} (input X): it counts, so give counts or tf-idf")
        return M

    def _scores(self, X: Any) -> Floats:
        M = self._rows(X)
        return M.dot(self.coef_.T) + self.intercept_  # (n_rows, n_outputs)

    def predict(self, X: Any) -> Array:
        """Return the best label of each row; the first of equals."""
        scores = self._scores(X)
        best = (scores[:, 0] > 0.0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on labelled rows."""
        return inputs.accuracy(self, X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        traits = self.traits
        return sklearn_tags("classifier", poor_score=traits.poor_score, sparse=True, positive_only=traits.non_negative)


class DecisionModel(LinearClassifier):
    """A linear model whose scores mean something by themselves: how far a row is on one side of the line."""

    def decision_function(self, X: Any) -> Floats:
        """Return the scores: (n_rows,) for two classes, else (n_rows, n_classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores


@dataclass(frozen=True)
class LabelStatistics:
    """The statistics of each label of rows that may have several, against the rest."""

    labels: tuple[Any, ...]

    def __add__(self, other: LabelStatistics) -> LabelStatistics:
        return LabelStatistics(tuple(a + b for a, b in zip(self.labels, other.labels, strict=True)))


def label_statistics(rows: TrainingSet, statistics: Callable[[TrainingSet], Any]) -> Any:
    """Return the statistics of rows; of several labels a row, those of each label against the rest.

    Soft rows are counted once as each class: nothing is copied.
    """
    if rows.soft:
        return reduce(add, [statistics(rows.as_class(c)) for c in range(rows.n_classes)])
    if not rows.multilabel:
        return statistics(rows)
    return LabelStatistics(tuple(statistics(rows.one_label(c)) for c in range(rows.n_classes)))


class CountingModel(LinearClassifier):
    """A linear model that is counted, not optimised: its statistics add up over rows, blocks and machines."""

    traits = Traits(sums="statistics", bytes_per_weight=90)

    def statistics(self, rows: TrainingSet) -> Any:
        """Return what is counted: a value with ``+``."""
        raise NotImplementedError

    def learn(self, statistics: Any, dtype: Any) -> Weights:
        """Turn statistics into weights."""
        raise NotImplementedError

    def learn_label(self, statistics: Any, dtype: Any) -> Weights:
        """Turn the statistics of one label of several into weights: rows without it are class 0, rows with it class 1."""
        return self.learn(statistics, dtype)

    def solve(self, rows: TrainingSet) -> Weights:
        """Count once, rows with a weight for every class once as each class; there is nothing to report."""
        return self.learn(label_statistics(rows, self.statistics), rows.X.values.dtype)

    solve_soft = solve

    def against_rest(self, rows: TrainingSet) -> Weights:
        """Count rows with a label and rows without."""
        return self.learn_label(self.statistics(rows), rows.X.values.dtype)

    def fit_blocks(self, rows: RowBlocks) -> Weights:
        """Count block by block and add up; of several labels each for itself, in the same pass."""
        learn = self.learn_labels if rows.multilabel else self.learn
        return learn(rows.add_up(self._of_block), np.dtype(np.float32))

    def learn_labels(self, counted: Any, dtype: Any) -> Weights:
        """Turn what ``_of_block`` counted of rows with several labels into weights."""
        found = [self.learn_label(one, dtype) for one in counted.labels]
        return np.concatenate([W for W, _ in found], axis=1), np.concatenate([b for _, b in found])

    def _of_block(self, rows: TrainingSet) -> Any:
        return label_statistics(self._plain(rows), self.statistics)

    def _plain(self, rows: TrainingSet) -> TrainingSet:
        X = rows.X
        ones = X.gain is None and X.scale is None and X.n_blocks == 1  # counting ones needs no values
        return rows if ones else super()._plain(rows)


class ProbabilityModel(LinearClassifier):
    """A linear model whose scores are log-odds: probabilities are their sigmoid (two classes) or softmax."""

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, (n_rows, n_classes)."""
        scores = self._scores(X)
        if scores.shape[1] > 1:
            return np.asarray(softmax(scores), dtype=np.float64)
        return np.concatenate([sigmoid(-scores), sigmoid(scores)], axis=1)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probabilities; it does not underflow."""
        scores = self._scores(X)
        if scores.shape[1] > 1:
            return np.asarray(log_softmax(scores), dtype=np.float64)
        return np.concatenate([log_sigmoid(-scores), log_sigmoid(scores)], axis=1)


@dataclass(frozen=True)
class EpochState:
    """Weights after some rows: the last ones, from which steps go on, and their mean over the steps, to predict with."""

    W: Floats  # (n_features, n_outputs)
    b: Floats
    mean_weights: Floats
    mean_intercept: Floats
    n_rows: int
    loss: float = 0.0
    changed: int = 0

    @classmethod
    def at(cls, W: Floats, b: Floats, *passed: Any) -> EpochState:
        """Return the state of weights that are their own mean, after some rows."""
        return cls(W, b, W, b, *(passed or (0,)))

    @classmethod
    def zero(cls, n_features: int, n_outputs: int) -> EpochState:
        """Return the state before the first row."""
        return cls.at(np.zeros((n_features, n_outputs)), np.zeros(n_outputs))

    def then(self, new: EpochState) -> EpochState:
        """Return the state after more rows, which went on from here."""
        n = self.n_rows + new.n_rows
        if not n:
            return new
        share, rest = self.n_rows / n, new.n_rows / n
        mean = share * self.mean_weights + rest * new.mean_weights
        shift = share * self.mean_intercept + rest * new.mean_intercept
        return EpochState(new.W, new.b, mean, shift, n, self.loss + new.loss, self.changed + new.changed)


class StepModel(DecisionModel):
    """A linear model that can go on from its weights with more rows: ``epoch`` says what it does with them."""

    random_state: Any

    @property
    def averages(self) -> bool:
        """Whether it predicts with the mean of the weights over the steps."""
        return False

    def epoch(self, rows: TrainingSet, start: EpochState, seed: Seed) -> EpochState:
        """Learn from the rows, in an order drawn from the seed; returns the state of these steps alone."""
        raise NotImplementedError

    def learn_chunk(self, rows: TrainingSet, start: EpochState, seed: Seed) -> EpochState:
        """Learn from the rows of a chunk that is met once."""
        return self.epoch(rows, start, seed)

    def weights_of(self, state: EpochState) -> Weights:
        """Return the weights to predict with."""
        return (state.mean_weights, state.mean_intercept) if self.averages else (state.W, state.b)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one epoch over one more batch; the first call must name all classes."""
        batch, known = self._batch(X, y, classes, sample_weight)
        if not hasattr(self, "classes_"):
            state = EpochState.zero(batch.X.n_features, batch.n_outputs)
        elif "_state" in vars(self):
            state = self._state
        else:  # after ``fit`` its weights, as if they were those of one row
            state = EpochState.at(np.array(self.coef_.T, dtype=np.float64), self.intercept_, 1)
        seed = (seed_of(self.random_state), state.n_rows)
        self._state = state.then(self.epoch(self._plain(batch), state, seed))
        self.classes_ = known
        self._keep(*self.weights_of(self._state))
        return self

    _state: EpochState


class EpochModel(StepModel):
    """A linear model that is trained epoch by epoch."""

    traits = Traits(sums="epochs", incremental=True, bytes_per_weight=100)

    max_iter: int
    average: bool

    @property
    def averages(self) -> bool:
        """What the setting ``average`` says."""
        return truth("average", self.average)

    def _plain(self, rows: TrainingSet) -> TrainingSet:
        rows = super()._plain(rows)
        return rows.repeated() if rows.soft else rows

    def solve(self, rows: TrainingSet) -> Weights:
        """Fit to encoded rows. Steps follow one another, so there is nothing for threads to do."""
        start = EpochState.zero(rows.X.n_features, rows.n_outputs)
        W, b = self._epochs(start, partial(self.epoch, rows), self._recorded(rows.on_epoch))
        return W.astype(rows.X.values.dtype), b

    def learn_chunk(self, rows: TrainingSet, start: EpochState, seed: Seed) -> EpochState:
        """Make ``max_iter`` epochs over the rows; one step where there is one row."""
        made = EpochState.at(start.W, start.b)
        for number in range(whole("max_iter", self.max_iter) if len(rows) > 1 else 1):
            new = self.epoch(rows, made, (*seed, number) if number else seed)
            made = made.then(new)
            if not new.changed:
                break
        return made

    def fit_blocks(self, rows: RowBlocks) -> Weights:
        """Fit to rows in blocks."""
        if rows.multilabel:
            raise LinnetError(f"{type(self).__name__} learns several labels a row in memory only; use svm or logistic")

        start = EpochState.zero(rows.n_features, rows.n_outputs)
        return self._epochs(start, partial(self._chained, rows), rows.on_epoch)

    def _epochs(self, state: EpochState, run: Callable[[EpochState, Seed], EpochState], on_epoch: OnEpoch) -> Weights:
        """Make epochs until one changes nothing; Ctrl-C keeps the weights so far."""
        seed, most = seed_of(self.random_state), whole("max_iter", self.max_iter)
        number, settled = 0, False
        vars(self).pop("_state", None)
        with suppress(KeyboardInterrupt):
            for number in range(1, most + 1):
                made = run(state, (seed, number))
                state, settled = state.then(made), made.changed == 0
                report = Epoch(number, made.loss, made.changed / max(1, made.n_rows), made.changed)
                on_epoch(report, partial(self.weights_of, state))
                if settled:
                    break
        self.n_iter_, self.interrupted_ = number, not settled and number < most
        return self.weights_of(state)

    def _chained(self, rows: RowBlocks, state: EpochState, seed: Seed) -> EpochState:
        made = EpochState.at(state.W, state.b)
        for group, block in rows.visit(np.random.Generator(np.random.PCG64([*seed, 5]))):
            made = made.then(self.epoch(self._plain(block), made, (*seed, group[0])))
        return made
