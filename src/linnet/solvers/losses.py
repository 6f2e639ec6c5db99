"""Losses of a linear model, as functions of its scores alone: value, gradient, curvature.

A loss knows nothing of features. With scores S = X W + b, labels y and row weights c it gives

    value       sum_i c_i l(s_i, y_i)
    gradient    its derivative by S, (n_rows, n_outputs); the model's gradient is X^T of it
    curvature   the second derivative by S: as a product with a matrix of the shape of S, and as its diagonal

so a new loss is one class here, and works with every optimiser that asks for no more. Where rows may have several labels y
is an indicator matrix, and c may have a column for each of them.

Sigmoid, softmax and their logarithms, right for any finite score and for -inf.

The plain formulas overflow (`exp(1000)`) or lose every digit (`log(1 - 1e-20)`). Here every exponent is at most 0, and
a sum close to 1 goes through `log1p`. float32 in gives float32 out; everything else is computed in float64. A row whose
scores are all -inf has no softmax and gives nan. No function warns about overflow or underflow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.array_types import Floats, Labels
from linnet.errors import check_choice


@dataclass(frozen=True)
class Curvature:
    """The second derivative by the scores: times a matrix, and its diagonal, both (n_rows, n_outputs).

    Where the outputs of a row meet, parts are A and B with product(V) = A (V - sum_k B_k V_k); else diagonal V is all.
    """

    product: Callable[[Floats], Floats]
    diagonal: Floats
    parts: tuple[Floats, Floats] | None = None


class Loss(Protocol):
    """What optimisers ask of a loss."""

    bend: ClassVar[float]
    """The most that its second derivative can be, for a row of weight 1: what bounds the steps of gradient descent."""

    def value(self, S: Floats, y: Labels, c: Floats) -> float:
        """Return the loss, summed over rows."""

    def gradient(self, S: Floats, y: Labels, c: Floats) -> Floats:
        """Return its derivative by the scores."""

    def curvature(self, S: Floats, y: Labels, c: Floats) -> Curvature:
        """Return its second derivative by the scores."""


def _signs(S: Floats, y: Labels) -> Floats:
    """Return 1 where an output is that of the row's class (or one of its labels), else -1, in the shape of S."""
    positive = y == 1 if y.ndim == 2 else (y == 1)[:, None] if S.shape[1] == 1 else y[:, None] == np.arange(S.shape[1])
    return np.where(positive, 1.0, -1.0)


def _each(c: Floats) -> Floats:
    """Return the weights of rows for each output, to multiply with."""
    return c if c.ndim == 2 else c[:, None]


@dataclass(frozen=True)
class Logistic:
    """Two classes, one score: l = log(1 + exp(-t s)) with t = 1 for class 1 and -1 for class 0; several labels, one each.

    >>> float(Logistic().value(np.zeros((1, 1)), np.array([1], np.int32), np.ones(1)))
    0.6931471805599453
    """

    bend: ClassVar[float] = 0.25

    def value(self, S: Floats, y: Labels, c: Floats) -> float:
        """Return the cross-entropy."""
        if y.ndim == 2:
            return -arithmetic.total(_each(c) * log_sigmoid(_signs(S, y) * S))
        return -arithmetic.dot(c, log_sigmoid(np.where(y == 1, S[:, 0], -S[:, 0])))

    def gradient(self, S: Floats, y: Labels, c: Floats) -> Floats:
        """Return c (p - [y = 1]), written so that small errors keep their digits."""
        t = _signs(S, y)
        return np.asarray(-_each(c) * t * sigmoid(-t * S), dtype=np.float64)

    def curvature(self, S: Floats, y: Labels, c: Floats) -> Curvature:
        """Return c p (1 - p)."""
        h: Floats = np.asarray(_each(c) * sigmoid(S) * sigmoid(-S))
        return Curvature(lambda V: h * V, h)


@dataclass(frozen=True)
class Softmax:
    """K classes, K scores: l = logsumexp(s) - s_y. With a weight for each row and class, soft labels: sum_k c_k l_k.

    >>> float(Softmax().value(np.zeros((1, 4)), np.array([2], np.int32), np.ones(1)))
    1.3862943611198906
    """

    bend: ClassVar[float] = 0.5

    def value(self, S: Floats, y: Labels, c: Floats) -> float:
        """Return the cross-entropy."""
        if c.ndim == 2:
            return arithmetic.dot(arithmetic.total(c, axis=1), logsumexp(S)) - arithmetic.total(c * S)
        return arithmetic.dot(c, logsumexp(S) - S[np.arange(len(y)), y])

    def gradient(self, S: Floats, y: Labels, c: Floats) -> Floats:
        """Return c (p - onehot(y))."""
        P = softmax(S)
        if c.ndim == 2:
            return np.asarray(arithmetic.total(c, axis=1)[:, None] * P - c, dtype=np.float64)
        P[np.arange(len(y)), y] -= 1.0
        return np.asarray(c[:, None] * P, dtype=np.float64)

    def curvature(self, S: Floats, y: Labels, c: Floats) -> Curvature:
        """Return c (diag(p) - p p^T), row by row."""
        P: Floats = np.asarray(softmax(S), dtype=np.float64)
        weighted: Floats = (c if c.ndim == 1 else arithmetic.total(c, axis=1))[:, None] * P
        diagonal: Floats = weighted * (1.0 - P)
        return Curvature(lambda V: weighted * (V - arithmetic.total(P * V, axis=1)[:, None]), diagonal, (weighted, P))


@dataclass(frozen=True)
class SquaredHinge:
    """Margins, one score an output, one-vs-rest: l = sum_k max(0, 1 - t_k s_k)^2, t_k = 1 where y = k, else -1.

    With one output t is 1 for class 1. The curvature is that of the active rows (a generalised Hessian).

    >>> float(SquaredHinge().value(np.array([[0.5]]), np.array([1], np.int32), np.ones(1)))
    0.25
    """

    bend: ClassVar[float] = 2.0

    def _slack(self, S: Floats, y: Labels) -> tuple[Floats, Floats]:
        t = _signs(S, y)
        return t, np.maximum(0.0, 1.0 - t * S)

    def value(self, S: Floats, y: Labels, c: Floats) -> float:
        """Return the sum of squared slacks."""
        _, slack = self._slack(S, y)
        return arithmetic.total(_each(c) * slack * slack)

    def gradient(self, S: Floats, y: Labels, c: Floats) -> Floats:
        """Return -2 c t slack."""
        t, slack = self._slack(S, y)
        return np.asarray(-2.0 * _each(c) * t * slack, dtype=np.float64)

    def curvature(self, S: Floats, y: Labels, c: Floats) -> Curvature:
        """Return 2 c where the slack is above zero."""
        _, slack = self._slack(S, y)
        h: Floats = np.where(slack > 0.0, 2.0 * _each(c), 0.0)
        return Curvature(lambda V: h * V, h)


@dataclass(frozen=True)
class Squared:
    """Least squares on targets of +-1, one score an output, one-vs-rest: l = 1/2 sum_k (s_k - t_k)^2.

    >>> float(Squared().value(np.array([[0.5]]), np.array([1], np.int32), np.ones(1)))
    0.125
    """

    bend: ClassVar[float] = 1.0

    def _error(self, S: Floats, y: Labels) -> Floats:
        return np.asarray(S - _signs(S, y))

    def value(self, S: Floats, y: Labels, c: Floats) -> float:
        """Return half the sum of squared errors."""
        return 0.5 * arithmetic.total(c[:, None] * np.square(self._error(S, y)))

    def gradient(self, S: Floats, y: Labels, c: Floats) -> Floats:
        """Return c (s - t)."""
        return np.asarray(c[:, None] * self._error(S, y))

    def curvature(self, S: Floats, y: Labels, c: Floats) -> Curvature:
        """Return c."""
        h: Floats = np.repeat(c[:, None], S.shape[1], axis=1)
        return Curvature(lambda V: h * V, h)


MARGIN_LOSSES = ("perceptron", "hinge", "squared hinge", "log", "squared")


def margin_loss(name: str, z: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the loss of rows whose right class leads by z, and its slope: one of ``MARGIN_LOSSES``.

    Where a slope is not defined, that of the loss further right is given. "squared" is half the square.

    >>> for name in MARGIN_LOSSES:
    ...     value, slope = margin_loss(name, [-1.0, 0.5])
    ...     print(name, value.round(3).tolist(), slope.round(3).tolist())
    perceptron [1.0, 0.0] [-1.0, 0.0]
    hinge [2.0, 0.5] [-1.0, -1.0]
    squared hinge [4.0, 0.25] [-4.0, -1.0]
    log [1.313, 0.474] [-0.731, -0.378]
    squared [2.0, 0.125] [-2.0, -0.5]
    """
    lead = np.atleast_1d(np.asarray(z, dtype=np.float64))
    kinks = {"perceptron": 0.0, "hinge": 1.0}
    check_choice("loss", name, MARGIN_LOSSES)
    if name in kinks:
        slack = np.maximum(0.0, kinks[name] - lead)
        return slack, np.where(slack > 0.0, -1.0, 0.0)
    smooth: dict[str, Loss] = {"squared hinge": SquaredHinge(), "log": Logistic(), "squared": Squared()}
    loss, right, one = smooth[name], np.ones(1, np.int32), np.ones(1)
    values = np.array([loss.value(np.array([[v]]), right, one) for v in lead])
    return values, np.array([loss.gradient(np.array([[v]]), right, one)[0, 0] for v in lead])


FloatArray = npt.NDArray[np.floating[Any]]
FEW_COLUMNS = 8


def sigmoid(x: npt.ArrayLike) -> FloatArray:
    """1 / (1 + exp(-x)), element by element.

    >>> sigmoid([-1000.0, 0.0, 1000.0]).tolist()
    [0.0, 0.5, 1.0]
    """
    values = _floats(x)
    small = arithmetic.exp(-np.abs(values))  # in (0, 1]
    return np.where(values >= 0, 1 / (1 + small), small / (1 + small))


def log_sigmoid(x: npt.ArrayLike) -> FloatArray:
    """log(1 / (1 + exp(-x))) = min(x, 0) - log(1 + exp(-|x|)).

    >>> log_sigmoid([-1000.0, 1000.0]).tolist()
    [-1000.0, 0.0]
    """
    values = _floats(x)
    return np.asarray(np.minimum(values, 0) - arithmetic.log1p(arithmetic.exp(-np.abs(values))))


def logsumexp(x: npt.ArrayLike, axis: int = -1, keepdims: bool = False) -> FloatArray:
    """log(sum(exp(x))) along one axis.

    The largest term is taken out of the sum, so the answer keeps its digits where the other terms are tiny.

    >>> float(logsumexp([1000.0, 1000.0]))
    1000.6931471805599
    >>> round(float(logsumexp([0.0, -50.0])) * 1e22, 9)
    1.928749848
    """
    top, _, log_total = _shifted(_floats(x), axis)
    result: FloatArray = top + log_total
    return result if keepdims else np.squeeze(result, axis=axis)


def log_softmax(x: npt.ArrayLike, axis: int = -1) -> FloatArray:
    """Logarithm of the softmax, x - logsumexp(x), along one axis.

    >>> log_softmax([0.0, -1000.0]).tolist()
    [0.0, -1000.0]
    """
    _, shifted, log_total = _shifted(_floats(x), axis)
    with np.errstate(invalid="ignore"):  # a row of -inf
        result: FloatArray = shifted - log_total
    return result


def softmax(x: npt.ArrayLike, axis: int = -1) -> FloatArray:
    """exp(x) / sum(exp(x)) along one axis.

    >>> softmax([[1e308, 1e308, -1e308]]).tolist()
    [[0.5, 0.5, 0.0]]
    """
    values = _floats(x)
    with np.errstate(over="ignore", invalid="ignore"):
        result: FloatArray = arithmetic.exp(values - _finite_max(values, axis))
        result /= _totals(result, axis)
    return result


def probabilities(scores: Floats) -> Floats:
    """Return the probability of each class, (n_rows, n_classes): the sigmoid of the one score of two classes, else the softmax.

    >>> probabilities(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """
    if scores.shape[1] > 1:
        return np.asarray(softmax(scores))
    p = sigmoid(scores[:, 0])
    return np.stack([1.0 - p, p], axis=1)


def _floats(x: npt.ArrayLike) -> FloatArray:
    """float32 stays, everything else becomes float64."""
    array = np.asarray(x)
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)


def _totals(values: FloatArray, axis: int) -> FloatArray:
    """The sums along one axis, which is kept with length 1."""
    moved = np.moveaxis(values, axis, -1)
    sums = arithmetic.total(moved.reshape(-1, moved.shape[-1]), axis=1).reshape(moved.shape[:-1])
    return np.asarray(np.expand_dims(sums, axis), dtype=values.dtype)


def _finite_max(values: FloatArray, axis: int) -> FloatArray:
    if values.ndim == 2 and axis in (1, -1) and 0 < values.shape[1] <= FEW_COLUMNS:
        top: FloatArray = reduce(np.maximum, values.T)[:, None]  # numpy's maximum of short rows is slow
    else:
        top = values.max(axis=axis, keepdims=True)
    return np.where(np.isinf(top), 0, top).astype(values.dtype, copy=False)


def _shifted(values: FloatArray, axis: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The finite maximum m, x - m, and log(sum(exp(x - m))), all along `axis` (kept)."""
    top = _finite_max(values, axis)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        shifted = values - top
        terms = arithmetic.exp(shifted)
        largest = np.expand_dims(values.argmax(axis=axis), axis)
        first = np.take_along_axis(terms, largest, axis)  # exp(0) = 1, unless the maximum is infinite
        np.put_along_axis(terms, largest, 0, axis)
        rest = _totals(terms, axis)
        log_total = np.where(first == 1, arithmetic.log1p(rest), arithmetic.log(first + rest))
    return top, shifted, log_total.astype(values.dtype, copy=False)
