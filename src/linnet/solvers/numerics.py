"""Sigmoid, softmax and their logarithms, right for any finite score and for -inf.

The plain formulas overflow (`exp(1000)`) or lose every digit (`log(1 - 1e-20)`). Here every exponent is at most 0, and
a sum close to 1 goes through `log1p`. float32 in gives float32 out; everything else is computed in float64. A row whose
scores are all -inf has no softmax and gives nan. No function warns about overflow or underflow.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic

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
    result: FloatArray = np.minimum(values, 0) - arithmetic.log1p(arithmetic.exp(-np.abs(values)))
    return result


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
