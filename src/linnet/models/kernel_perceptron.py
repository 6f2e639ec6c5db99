"""The kernel perceptron: the perceptron in a space of more features, where a line can be a curve.

The perceptron's weights are a sum of the rows it got wrong, w_y = sum_i a_iy x_i, so its scores need inner products of
rows and nothing else. With a kernel k(x, z) in place of x.z it draws its line in the space of the kernel:

    score_y(x) = sum_i a_iy k(x_i, x);    where row i is taken for y^, not y:   a_iy += 1,   a_iy^ -= 1

What it learns is the rows it got wrong (its support) and their coefficients. No line solves exclusive-or; a line over
products of two features does, and so does this with Polynomial(2), without ever writing the products down.

A wrong guess costs a kernel value for every row, and an answer one for every row of the support: for n rows up to n^2,
which is why it is not for text, where rows are many and features already plenty.

References: Aizerman, Braverman, Rozonoer, 1964; Freund and Schapire, Large Margin Classification Using the Perceptron
Algorithm, 1999.

Kernels: inner products in a space of more features, computed without going there.

A kernel is a value with its settings that, called with two sets of rows, returns k(x, z) for every pair, (n_x, n_z):

    Linear()                  x.z
    Polynomial(degree, c)     (x.z + c)^degree: all products of up to ``degree`` features, c weighing the lower ones
    RBF(gamma)                exp(-gamma |x - z|^2): as near as rows are, and infinitely many features

Anything that can be called like this is a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Floats, Ints, Ints32
from linnet.errors import DataError
from linnet.estimator import above_zero, not_negative, truth, whole
from linnet.models.estimator import DecisionModel
from linnet.models.inputs import as_matrix, seed_of
from linnet.models.solving import outputs
from linnet.solvers.callbacks import Callback, Epoch, Weights
from linnet.solvers.matrix import Matrix, TrainingSet

WRITTEN_OUT = 1 << 22  # numbers of Z that are written out at a time


Kernel = Callable[[Any, Any], Floats]
"""Returns k(x, z) for every row of X and every row of Z, (n_x, n_z)."""


@dataclass(frozen=True)
class Linear:
    """The inner product itself.

    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0], [1.0, 0.0]]).tolist()
    [[11.0, 1.0]]
    """

    def __call__(self, X: Any, Z: Any) -> Floats:
        """Return x.z."""
        return inner_products(as_matrix(X, "Linear"), as_matrix(Z, "Linear"))


@dataclass(frozen=True)
class Polynomial:
    """(x.z + constant)^degree.

    >>> Polynomial(2)([[1.0, 2.0]], [[3.0, 4.0], [1.0, 0.0]]).tolist()
    [[144.0, 4.0]]
    """

    degree: int = 2
    constant: float = 1.0

    def __post_init__(self) -> None:
        whole("degree", self.degree)
        not_negative("constant", self.constant)  # below 0 it is no kernel

    def __call__(self, X: Any, Z: Any) -> Floats:
        """Return (x.z + constant)^degree."""
        products = inner_products(as_matrix(X, "Polynomial"), as_matrix(Z, "Polynomial"))
        return arithmetic.power(products + self.constant, self.degree)


@dataclass(frozen=True)
class RBF:
    """exp(-gamma |x - z|^2): 1 for equal rows, less the further apart they are.

    >>> RBF(0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(4).tolist()
    [[1.0, 0.3679]]
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        above_zero("gamma", self.gamma)

    def __call__(self, X: Any, Z: Any) -> Floats:
        """Return exp(-gamma |x - z|^2)."""
        left, right = as_matrix(X, "RBF"), as_matrix(Z, "RBF")
        lengths = [_doubles(side).squared_norms() for side in (left, right)]
        far = lengths[0][:, None] + lengths[1] - 2.0 * inner_products(left, right)
        return arithmetic.exp(-self.gamma * np.maximum(far, 0.0))


def inner_products(X: Matrix, Z: Matrix) -> Floats:
    """Return x.z for every row of X and every row of Z; sparse rows stay sparse, Z a few rows at a time."""
    X, step = _doubles(X), max(1, WRITTEN_OUT // max(1, Z.n_features))
    parts = [X.dot(Z.take(np.arange(k, min(k + step, len(Z)))).dense().T) for k in range(0, len(Z), step)]
    return np.concatenate([np.zeros((len(X), 0)), *parts], axis=1)


def _doubles(X: Matrix) -> Matrix:
    X = X.explicit()
    return replace(X, values=X.values.astype(np.float64))


REMEMBERED = 1 << 24  # kernel values kept between passes
SCORED = 1 << 10  # rows scored at a time


@dataclass(eq=False, repr=False)
class KernelPerceptron(DecisionModel):
    """A perceptron whose line may bend: for rows of numbers, some thousands of them.

    Parameters: ``kernel`` is :class:`~linnet.models.kernel_perceptron.Polynomial`, :class:`~linnet.models.kernel_perceptron.RBF`,
    :class:`~linnet.models.kernel_perceptron.Linear`, or anything that can be called like them. ``max_iter`` bounds the passes.
    ``average`` keeps the mean of the coefficients over all steps. ``shuffle``: a new order each pass, drawn from
    ``random_state``; without, rows are met in the order given. ``class_weight``. There is no intercept: the constant of
    the polynomial kernel is one, and RBF needs none.

    Learned, beside ``classes_`` and ``n_features_in_``: ``support_``, the rows it got wrong, by number;
    ``dual_coef_``, (n_outputs, n_support), their coefficients; ``settled_``, whether a whole pass made no mistake;
    ``n_iter_``; ``mistakes_``; ``history_``.

    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["same", "other", "other", "same"]
    >>> model = KernelPerceptron(Polynomial(2)).fit(X, y)
    >>> model.predict(X).tolist(), model.settled_
    (['same', 'other', 'other', 'same'], True)
    """

    kernel: Kernel = Polynomial(2)  # noqa: RUF009 - a frozen value
    _: KW_ONLY
    max_iter: int = 100
    average: bool = False
    shuffle: bool = True
    class_weight: Any = None
    random_state: Any = 0

    def solve(self, rows: TrainingSet) -> Weights:
        """Fit to encoded rows; returns the coefficients of the support, (n_support, n_outputs), and no intercept."""
        if not callable(self.kernel) or isinstance(self.kernel, type):
            raise DataError(f"kernel must be a value such as Polynomial(2) or RBF(0.5), got {self.kernel!r}")
        shuffle, average = truth("shuffle", self.shuffle), truth("average", self.average)
        rng = np.random.Generator(np.random.PCG64(seed_of(self.random_state)))
        of = rows.distinct(shuffle)
        relative = of.weight / arithmetic.mean(of.weight)
        walk = _KernelSteps(rows.X.take(of.rows), rows.y[of.rows], relative, rows.n_classes, self.kernel)
        watch = Callback(rows.on_epoch)
        self.n_iter_, self.settled_, self.interrupted_ = 0, False, False
        none = np.zeros(rows.n_classes)
        try:
            for number in range(1, whole("max_iter", self.max_iter) + 1):
                order = rng.permutation(len(of.rows)) if shuffle else np.arange(len(of.rows))
                changed, loss = walk.make_pass(order)
                self.n_iter_, self.settled_ = number, changed == 0
                report = Epoch(number, loss * arithmetic.mean(of.weight), changed / len(order), changed)
                watch(report, lambda: outputs(walk.coefficients(average), none))
                if self.settled_:
                    break
        except KeyboardInterrupt:
            self.interrupted_ = True
        self.history_ = watch.history
        self.mistakes_ = sum(report.active for report in watch.history)
        support = np.flatnonzero(walk.wrong)
        self.support_ = of.rows[support].astype(np.int64)
        self._support = walk.X.take(support)
        W, b = outputs(walk.coefficients(average)[support], none)
        return np.ascontiguousarray(W), b

    def _keep(self, W: Array, b: Floats) -> None:
        self.dual_coef_ = W.T

    def _scores(self, X: Any) -> Floats:
        M = self._rows(X)
        out = np.empty((len(M), len(self.dual_coef_)))
        for first in range(0, len(M), SCORED):
            part = M.take(np.arange(first, min(first + SCORED, len(M))))
            out[first : first + SCORED] = arithmetic.matmul(self.kernel(part, self._support), self.dual_coef_.T)
        return out


class _KernelSteps:
    """Rows, their scores so far, and the coefficients; scores move with every step, so no row is scored afresh."""

    def __init__(self, X: Matrix, y: Ints32, weight: Floats, n_classes: int, kernel: Kernel) -> None:
        self.X, self.y, self.weight, self.kernel = X, y, weight, kernel
        self.scores = np.zeros((len(X), n_classes))
        self.coef, self.late = np.zeros_like(self.scores), np.zeros_like(self.scores)  # late: coef times its first step
        self.wrong = np.zeros(len(X), dtype=bool)
        self.steps = 0
        self.near = lru_cache(max(1, REMEMBERED // max(1, len(X))))(self._near)

    def make_pass(self, order: Ints) -> tuple[int, float]:
        """Meet every row once; returns how many were wrong, and their loss."""
        changed, loss = 0, 0.0
        for i in order.tolist():
            score, right, size = self.scores[i], int(self.y[i]), float(self.weight[i])
            best = int(score.argmax())
            if best != right:
                changed += 1
                loss += size * float(score[best] - score[right])
                for c, a in ((right, size), (best, -size)):
                    self.scores[:, c] += a * self.near(i)
                    self.coef[i, c] += a
                    self.late[i, c] += self.steps * a
                self.wrong[i] = True
            self.steps += 1
        return changed, loss

    def _near(self, i: int) -> Floats:
        """Return k(x, x_i) for every row x."""
        return np.asarray(self.kernel(self.X, self.X.take(np.array([i]))), dtype=np.float64)[:, 0]

    def coefficients(self, average: bool) -> Floats:
        """Return them as they are, or their mean over all steps, (n_rows, n_classes)."""
        return self.coef - self.late / max(1, self.steps) if average else self.coef.copy()
