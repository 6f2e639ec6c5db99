"""The perceptron: guess, and where the guess is wrong, move.

    y^ = argmax_y w_y.x + b_y;    where y^ is not the right answer y:   w_y += rate x,   w_y^ -= rate x

Weights of other classes stay as they are, and so do all where the guess was right. Each step goes down the slope of the
perceptron's loss, max_y' (w_y'.x + b_y') - (w_y.x + b_y), which is zero for a right answer: nothing asks for a margin.

If some line separates the classes, the steps end: with rows no longer than R and a line of length one that keeps them
a margin gamma apart, there are at most (R / gamma)^2 wrong guesses (Novikoff) for two classes, 2 (R / gamma)^2 for more.
A pass without a wrong guess proves that the line was found, and training stops. If none exists the weights wander for
ever; their mean over all steps is what one keeps (Freund and Schapire), and it is the better answer on new rows anyway.

References: Rosenblatt, The Perceptron, 1958; Novikoff, On convergence proofs on perceptrons, 1962; Freund and Schapire,
Large Margin Classification Using the Perceptron Algorithm, 1999.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Floats
from linnet.errors import DataError, LinnetError
from linnet.estimator import above_zero, one_of, truth, whole
from linnet.features.plan import FeaturePlan
from linnet.models.estimator import EpochModel, EpochState, Seed
from linnet.models.inputs import seed_of
from linnet.models.solving import halves, outputs, watched
from linnet.solvers.callbacks import Epoch, OnEpoch, Weights, showing
from linnet.solvers.descent import EarlyStopping
from linnet.solvers.matrix import Distinct, RowBlocks, TrainingSet
from linnet.solvers.online import SGD, Run, descend
from linnet.solvers.optimisers import Constant

STARTS = ("zero", "random")


@dataclass(eq=False, repr=False, kw_only=True)
class Perceptron(EpochModel):
    """Learn from mistakes only, one row at a time, all classes together.

    Parameters: ``learning_rate`` is the length of a step; from a zero start it changes the length of the weights and no answer.
    ``max_iter`` bounds the passes. ``average`` keeps the mean of the weights over all steps, not the last ones.
    ``batch_size`` rows are all scored before any of them moves the weights. ``start`` is "zero", "random" (drawn from a
    normal distribution, times the rate), or weights to go on from: W, or a pair (W, b), in the shape of ``coef_`` and
    ``intercept_`` or with one row a class. ``shuffle``: a new order each pass, drawn from ``random_state``; without,
    rows are met in the order given. ``fit_intercept``, ``class_weight``. ``validation_fraction`` holds out this share of the
    rows and keeps the weights of the pass that does best on them; ``patience`` passes without a better score end it. With one
    of the two given, the other is 0.1 or 5.

    With shuffle the order of the rows does not matter, and a row given twice is a row of weight 2 (a step twice as long).

    Learned, beside the usual: ``settled_``, whether a whole pass made no mistake: the line that ended it separates the
    training rows, after ``n_iter_`` passes. (With average, the mean is kept: near it, but not the same line.)
    ``mistakes_``, wrong guesses in all. ``history_``, a report a pass: ``active`` are its mistakes.

    >>> X, y = [[0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [2.0, 0.0]], ["cold", "cold", "hot", "hot"]
    >>> model = Perceptron().fit(X, y)
    >>> model.settled_, model.n_iter_, model.mistakes_
    (True, 2, 2)
    >>> model.predict([[3.0, 0.5]]).tolist()
    ['hot']
    """

    plan = FeaturePlan(ratio=(0.0, 0.5), grid=(("max_iter", (5, 3, 10)),))

    learning_rate: float = 1.0
    max_iter: int = 100
    average: bool = True
    batch_size: int = 1
    start: Any = "zero"
    shuffle: bool = True
    fit_intercept: bool = True
    class_weight: Any = None
    validation_fraction: float | None = None
    patience: int | None = None
    random_state: Any = 0

    def solve(self, rows: TrainingSet) -> Weights:
        """Fit to encoded rows. Steps follow one another, so threads have nothing to share."""
        X, seed = rows.X, seed_of(self.random_state)
        vars(self).pop("_state", None)
        watch, of = watched(rows, rows.distinct(truth("shuffle", self.shuffle)), seed, self._stopping())
        start = self._start(X.n_features, rows.n_classes, above_zero("learning_rate", self.learning_rate), seed)
        run = self._descend(rows, of, start, seed, whole("max_iter", self.max_iter), showing(watch, outputs))
        self.n_iter_, self.settled_, self.interrupted_ = run.epochs, run.converged, run.interrupted
        self.history_ = watch.history
        self.mistakes_ = sum(report.active for report in watch.history)
        W, b = outputs(run.W, run.b) if watch.best is None else watch.best
        return np.ascontiguousarray(W, dtype=X.values.dtype), b

    def fit_blocks(self, rows: RowBlocks) -> Weights:
        """Fit to rows in blocks, from zero."""
        if self._stopping() is not None or not isinstance(self.start, str) or self.start != "zero":
            raise LinnetError("rows in blocks take no start, patience or validation_fraction; leave them out")
        return super().fit_blocks(rows)

    def epoch(self, rows: TrainingSet, start: EpochState, seed: Seed) -> EpochState:
        """Visit the rows once, all classes together."""
        start_at = halves(start.W, start.b) if rows.n_classes == 2 else (start.W, start.b)
        of = rows.distinct(truth("shuffle", self.shuffle))
        reports: list[Epoch] = []
        run = self._descend(rows, of, start_at, seed, 1, lambda report, _: reports.append(report))
        return EpochState(*outputs(*run.last), *outputs(run.W, run.b), len(of.rows), reports[0].loss, reports[0].active)

    def _descend(
        self, rows: TrainingSet, of: Distinct, start: Weights | None, seed: Any, epochs: int, on_epoch: OnEpoch
    ) -> Run:
        rate, average = above_zero("learning_rate", self.learning_rate), truth("average", self.average)
        return descend(
            rows.X, rows.y, rows.n_classes, of, loss="perceptron", max_epochs=epochs, seed=seed, start=start,
            sgd=SGD(learning_rate=rate, schedule=Constant(), average=average, batch_size=self.batch_size),
            bias_scale=float(truth("fit_intercept", self.fit_intercept)), shuffle=truth("shuffle", self.shuffle),
            on_epoch=on_epoch,
        )  # fmt: skip

    def _stopping(self) -> EarlyStopping | None:
        """Return what early stopping the settings ask for."""
        if self.patience is None and self.validation_fraction is None:
            return None
        patience, part = self.patience, self.validation_fraction
        return EarlyStopping(SGD(), 5 if patience is None else patience, 0.1 if part is None else part)

    def _start(self, n_features: int, n_classes: int, rate: float, seed: int) -> tuple[Floats, Floats] | None:
        """Return the first W, (n_features, n_classes), and b; None for zeros."""
        if isinstance(self.start, str):
            if one_of("start", self.start, STARTS) == "zero":
                return None
            rng = np.random.Generator(np.random.PCG64([seed, 1]))  # not the numbers that the order is drawn from
            b = rate * arithmetic.normal(rng, (n_classes,)) * truth("fit_intercept", self.fit_intercept)
            return rate * arithmetic.normal(rng, (n_features, n_classes)), b
        pair = isinstance(self.start, tuple) and len(self.start) == 2
        W = np.array(self.start[0] if pair else self.start, dtype=np.float64)
        b = np.array(self.start[1], dtype=np.float64) if pair else np.zeros(len(W) if W.ndim == 2 else 0)
        known = {n_classes, 1} if n_classes == 2 else {n_classes}
        if W.ndim != 2 or W.shape[1] != n_features or len(W) not in known or b.shape != (len(W),):
            raise DataError(
                f"start must be W of shape ({n_classes}, {n_features}), or (W, b) with b of shape ({n_classes},); "
                f"got {W.shape} and {b.shape}"
            )
        if not (np.isfinite(W).all() and np.isfinite(b).all()):
            raise DataError("start must hold finite numbers")
        return halves(W.T, b) if len(W) == 1 else (W.T, b)
