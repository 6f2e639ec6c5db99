"""Stochastic steps, one row at a time, for every loss that the shared update knows.

Problem   min_theta  mean_i w_i l(scores of x_i, y_i) + decay / 2 |theta|^2,  theta = (W, b), b not decayed
Update    theta <- (1 - rate decay) theta + rate w_i (f(x_i, y_i) - sum_y' a_y' f(x_i, y')), see the kernel online_pass
Answer    the mean of theta over all steps (Polyak, Ruppert), which forgives a rate that is too large; or the last theta

The kernel walks over the rows it is given. This file draws their order (by seed, a new one each pass), sets the rates,
adds up the average, stops and reports. Rows are the distinct ones, so the order of the data does not matter. In a batch
all rows are scored with the weights at its start, and their steps are then added.

Reference: Bottou, Stochastic Gradient Descent Tricks, 2012; Daume, A Course in Machine Learning, section 4.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from linnet import arithmetic
from linnet._kernels import online
from linnet.array_types import Array, Floats, Ints32
from linnet.errors import LinnetError
from linnet.estimator import not_negative, whole
from linnet.solvers.callbacks import Epoch, OnEpoch, SolverResult, Weights, ignore
from linnet.solvers.matrix import Distinct, Matrix
from linnet.solvers.optimisers import InverseRoot, Rate, Schedule, check_rate

LOSSES = {"perceptron": 0, "hinge": 1, "softmax": 2}
EPOCHS = 20


@dataclass(frozen=True)
class SGD:
    """How stochastic steps are taken: a value that models accept as their ``solver``.

    learning_rate is the length of the first step; None takes 1 / mean |x|^2, so that one step moves the score of a row by about
    one and the answer does not depend on the unit of the features; "find" lets a model sweep the rate (see ``find_rate``). decay
    is the weight decay; None lets the model derive it from its C. average gives the mean of the weights over all
    steps. batch_size rows are scored before any of them moves the weights.

    >>> from linnet.solvers.optimisers import Inverse
    >>> SGD(learning_rate=0.5, schedule=Inverse())
    SGD(learning_rate=0.5, schedule=Inverse(half=1.0), decay=None, average=True, batch_size=1)
    """

    learning_rate: Rate = None
    schedule: Schedule = field(default_factory=InverseRoot)
    decay: float | None = None
    average: bool = True
    batch_size: int = 1

    def passes(self, n_rows: int) -> int:
        """Return how many passes over the rows are made, where nobody says."""
        return EPOCHS

    def __post_init__(self) -> None:
        check_rate(self.learning_rate)
        if self.decay is not None:
            not_negative("decay", self.decay)
        whole("batch_size", self.batch_size)


@dataclass
class _Walk:
    """The weights and their running average. V times the scale are the weights; see the kernel for A and A_b."""

    V: Array
    A: Array
    taken: online.OnlineSteps
    sum_w: Floats | float = 0.0  # over the steps before the last flush
    sum_b: Floats | float = 0.0
    steps: float = 0.0

    @property
    def averaging(self) -> bool:
        return len(self.A) > 0

    def flush(self) -> None:
        """Bring the scale back to one, before it underflows or the average cancels."""
        taken = self.taken
        if self.averaging:
            self.sum_w, self.sum_b = self._sums()
            self.A[:] = 0
        self.V *= self.V.dtype.type(taken.scale)
        self.steps += taken.steps
        taken.restart()

    def last(self) -> tuple[Floats, Floats]:
        """Return the weights as they are."""
        return self.taken.scale * self.V.astype(np.float64), self.taken.b.copy()

    def weights(self) -> tuple[Floats, Floats]:
        """Return the mean over all steps, or the weights as they are."""
        steps = self.steps + self.taken.steps
        if not self.averaging or steps == 0:
            return self.last()
        W, b = self._sums()
        return W / steps, b / steps

    def _sums(self) -> tuple[Floats, Floats]:
        """Return the sums of the weights over all steps."""
        taken = self.taken
        W = self.sum_w + (taken.total_scale * self.V.astype(np.float64) - self.A)
        return np.asarray(W), np.asarray(self.sum_b + (taken.steps * taken.b - taken.A_b))


@dataclass(frozen=True)
class Run(SolverResult):
    """W and b of every class, what they came to; converged where the last pass changed nothing."""

    last: Weights = field(kw_only=True)
    """W and b as they were after the last step, where W and b above are means."""


def descend(
    X: Matrix,
    y: Ints32,
    n_classes: int,
    of: Distinct,
    *,
    loss: str,
    sgd: SGD,
    decay: float = 0.0,
    cost: Floats | None = None,
    bias_scale: float = 1.0,
    max_epochs: int = EPOCHS,
    seed: int | Sequence[int] = 0,
    start: tuple[Floats, Floats] | None = None,
    shuffle: bool = True,
    on_epoch: OnEpoch = ignore,
) -> Run:
    """Walk over the rows max_passes times, or until a pass changes nothing (which decay never allows).

    The weights of the rows are divided by their mean. cost[right, answer] is what the hinge adds to the score of a
    wrong answer. bias_scale is the constant whose weight the intercept is; 0 fits none. start is the first W,
    (n_features, n_classes), and b; zero if not given.
    Without shuffle rows come in the order of ``of``. on_pass gets the weighted sum of the losses as rows were met, and
    ends the steps by returning True. KeyboardInterrupt ends them too; the weights so far are kept.
    """
    X = X.explicit()
    n = len(of.rows)
    mean = arithmetic.mean(of.weight)
    weight = np.zeros(len(X))
    weight[of.rows] = of.weight / mean
    rate = sgd.learning_rate if isinstance(sgd.learning_rate, float | int) else _first_rate(X, of, bias_scale, decay)
    if rate * decay >= 1.0:
        raise LinnetError(f"rate * decay must be below 1, got {rate:g} * {decay:g}; give a smaller learning_rate")
    kind = X.values.dtype
    A = np.zeros((X.n_features if sgd.average else 0, n_classes), dtype=kind)
    W, b = (np.zeros((X.n_features, n_classes)), np.zeros(n_classes)) if start is None else start
    cost = np.zeros((n_classes, n_classes)) if cost is None else np.ascontiguousarray(cost, dtype=np.float64)
    taken = online.OnlineSteps(
        y, weight, np.array(b, dtype=np.float64), cost, loss=LOSSES[loss], decay=decay, bias_rate=bias_scale * bias_scale,
        batch=max(1, min(sgd.batch_size, n)),
    )  # fmt: skip
    walk = _Walk(np.array(W, dtype=kind, order="C"), A, taken)
    rng = np.random.Generator(np.random.PCG64(seed))
    passes, settled, interrupted, violation = 0, False, False, 1.0
    try:
        for number in range(1, max_epochs + 1):
            order = rng.permutation(of.rows) if shuffle else of.rows
            rates = rate * sgd.schedule((number - 1) + np.arange(n) / n)
            changed, total = 0, 0.0
            for first, last in _sections(rates * decay, walk, sgd.batch_size):
                changed += online.online_pass(
                    X.indptr, X.indices, X.values, order[first:last], rates[first:last], walk.V, walk.A, taken
                )
                total += taken.loss_sum
                if decay > 0.0:
                    walk.flush()
            passes, violation = number, changed / n
            settled = changed == 0 and decay == 0.0
            enough = on_epoch(Epoch(number, total * mean, violation, changed), walk.weights)
            if settled or enough:
                break
    except KeyboardInterrupt:
        interrupted = True
    return Run(*walk.weights(), passes, violation, settled, interrupted, last=walk.last())


def _first_rate(X: Matrix, of: Distinct, bias_scale: float, decay: float) -> float:
    """One over the mean squared norm of a row, and at most half of what the decay allows."""
    mean = arithmetic.mean(X.squared_norms()[of.rows]) + bias_scale * bias_scale
    rate = 1.0 / mean if mean > 0.0 else 1.0
    return min(rate, 0.5 / decay) if decay > 0.0 else rate


def _sections(shrink: Floats, walk: _Walk, batch: int) -> list[tuple[int, int]]:
    """Cut a pass, between batches, where the scale would fall too low for the average to keep its digits."""
    if not shrink.any():
        return [(0, len(shrink))]
    most = arithmetic.log(1e2 if walk.V.dtype == np.float32 and walk.averaging else 1e8)
    fall = np.cumsum(-arithmetic.log1p(-shrink)) // most
    inside = np.unique((np.flatnonzero(np.diff(fall)) + 1) // batch * batch)
    cuts = [0, *inside[inside > 0].tolist(), len(shrink)]
    return list(pairwise(cuts))
