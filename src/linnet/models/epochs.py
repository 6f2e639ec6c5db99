"""Models that learn by steps, row after row, epoch after epoch: they can go on with more rows, and from block to block.

A model says what one epoch over some rows does (``epoch``). Rows in blocks on this disk are visited one block after the
other, the weights going on from each to the next. Rows on the workers of an engine are visited side by side and the
weights are mixed: every shard starts from the same point, and the mean of where they end, by rows, is where the next
epoch begins (McDonald, Hall, Mann: Distributed Training Strategies for the Structured Perceptron, 2010).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from linnet.array_types import Floats
from linnet.errors import LinnetError
from linnet.estimator import truth, whole
from linnet.models.estimator import DecisionModel, Traits
from linnet.models.inputs import seed_of
from linnet.solvers.callbacks import Epoch, OnEpoch, Weights
from linnet.solvers.matrix import RowBlocks, TrainingSet


@dataclass(frozen=True)
class EpochState:
    """Weights after some rows: the last ones, from which steps go on, and their mean over the steps, to predict with.

    States add up to the mean by rows.
    """

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

    def __add__(self, other: EpochState) -> EpochState:
        n = self.n_rows + other.n_rows
        share, rest = (self.n_rows / n, other.n_rows / n) if n else (0.5, 0.5)
        return EpochState(
            share * self.W + rest * other.W, share * self.b + rest * other.b, share * self.mean_weights + rest * other.mean_weights,
            share * self.mean_intercept + rest * other.mean_intercept, n, self.loss + other.loss, self.changed + other.changed,
        )  # fmt: skip

    def then(self, new: EpochState) -> EpochState:
        """Return the state after more rows, which went on from here."""
        return replace(self + new, W=new.W, b=new.b) if self.n_rows + new.n_rows else new


class StepModel(DecisionModel):
    """A linear model that can go on from its weights with more rows: ``epoch`` says what it does with them."""

    random_state: Any

    @property
    def averages(self) -> bool:
        """Whether it predicts with the mean of the weights over the steps."""
        return False

    def epoch(self, rows: TrainingSet, start: EpochState, seed: tuple[int, ...]) -> EpochState:
        """Learn from the rows, in an order drawn from the seed; returns the state of these steps alone."""
        raise NotImplementedError

    def weights_of(self, state: EpochState) -> Weights:
        """Return the weights to predict with."""
        return (state.mean_weights, state.mean_intercept) if self.averages else (state.W, state.b)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one epoch over one more batch; the first call must name all classes."""
        batch, known = self._batch(X, y, classes, sample_weight)
        state = (
            self._state_so_far() if hasattr(self, "classes_") else EpochState.zero(batch.X.n_features, batch.n_outputs)
        )
        seed = (seed_of(self.random_state), state.n_rows)
        self._state = state.then(self.epoch(self._plain(batch), state, seed))
        self.classes_ = known
        self._keep(*self.weights_of(self._state))
        return self

    _state: EpochState

    def _state_so_far(self) -> EpochState:
        """Return where batches go on; after ``fit``, its weights, as if they were those of one row."""
        if "_state" in vars(self):
            return self._state
        W = np.array(self.coef_.T, dtype=np.float64)
        return EpochState.at(W, self.intercept_, 1)


class EpochModel(StepModel):
    """A linear model that is trained epoch by epoch."""

    traits: ClassVar[Traits] = Traits(sums="epochs", incremental=True, bytes_per_weight=100)

    max_iter: int
    average: bool
    n_iter_: int

    @property
    def averages(self) -> bool:
        """What the setting ``average`` says."""
        return truth("average", self.average)

    def solve(self, rows: TrainingSet) -> Weights:
        """Fit to encoded rows. Steps follow one another, so there is nothing for threads to do."""
        start = EpochState.zero(rows.X.n_features, rows.n_outputs)
        W, b = self._epochs(start, partial(self.epoch, rows), self._recorded(rows.on_epoch))
        return W.astype(rows.X.values.dtype), b

    def fit_blocks(self, rows: RowBlocks) -> Weights:
        """Fit to rows in blocks."""
        if rows.multilabel:
            raise LinnetError(
                f"{type(self).__name__} learns several labels a row in memory only; choose svm, logistic, nb, bernoulli or "
                "nbsvm, or leave out --max-memory and --engine"
            )

        def run(state: EpochState, seed: tuple[int, ...]) -> EpochState:
            if rows.local:
                return self._chained(rows, state, seed)
            made: EpochState = rows.add_up(self._of_shard, state, seed)
            return made

        return self._epochs(EpochState.zero(rows.n_features, rows.n_outputs), run, rows.on_epoch)

    def _of_shard(self, rows: TrainingSet, start: EpochState, seed: tuple[int, ...]) -> EpochState:
        if not len(rows):
            return EpochState.at(start.W, start.b)
        return self.epoch(self._plain(rows), start, seed)

    def _epochs(
        self, state: EpochState, run: Callable[[EpochState, tuple[int, ...]], EpochState], on_epoch: OnEpoch
    ) -> Weights:
        """Make epochs until one changes nothing; Ctrl-C keeps the weights so far."""
        seed, most = seed_of(self.random_state), whole("max_iter", self.max_iter)
        number, settled = 0, False
        vars(self).pop("_state", None)
        try:
            for number in range(1, most + 1):
                made = run(state, (seed, number))
                state, settled = state.then(made), made.changed == 0
                report = Epoch(number, made.loss, made.changed / max(1, made.n_rows), made.changed)
                on_epoch(report, partial(self.weights_of, state))
                if settled:
                    break
        except KeyboardInterrupt:
            pass
        self.n_iter_, self.interrupted_ = number, not settled and number < most
        return self.weights_of(state)

    def _chained(self, rows: RowBlocks, state: EpochState, seed: tuple[int, ...]) -> EpochState:
        made = EpochState.at(state.W, state.b)
        order = np.random.Generator(np.random.PCG64([*seed, 5])).permutation(len(rows.numbers))
        for group, block in rows.visit(order):
            made = made.then(self.epoch(self._plain(block), made, (*seed, group[0])))
        return made
