"""Elementary functions and sums of arrays that give the same bits on any processor.

What decides the bytes of a model uses these, never those of NumPy, BLAS or libm: their last digits depend on the vector
instructions of the processor. + - * / and square roots of arrays are exact everywhere, and so are sums of whole numbers.

Functions keep float32 and compute everything else in float64. Sums are of doubles, whatever the input is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from linnet._kernels import arithmetic as kernel

Floats = npt.NDArray[Any]
QUARTER = (1.57079632673412561417, 6.07710050650619224932e-11)
"""pi / 2 in two parts: whole multiples of the first are exact."""


def log(x: npt.ArrayLike) -> Floats:
    """Return the natural logarithm: -inf of 0, nan below.

    >>> log([1.0, 10.0]).tolist()
    [0.0, 2.302585092994046]
    """
    return _each(kernel.logs, x)


def log1p(x: npt.ArrayLike) -> Floats:
    """Return log(1 + x), with all its digits where x is small.

    >>> log1p([0.0, 1e-20]).tolist()
    [0.0, 1e-20]
    """
    return _each(kernel.log1ps, x)


def exp(x: npt.ArrayLike) -> Floats:
    """Return e^x.

    >>> exp([0.0, 1.0, -1000.0]).round(12).tolist()
    [1.0, 2.718281828459, 0.0]
    """
    return _each(kernel.exps, x)


def cos(x: npt.ArrayLike) -> Floats:
    """Return the cosine of angles of a few turns at most.

    >>> cos([0.0, np.pi]).tolist()
    [1.0, -1.0]
    """
    values = np.asarray(x, dtype=np.float64)
    turns = np.rint(values * (2.0 / np.pi))
    r = (values - turns * QUARTER[0]) - turns * QUARTER[1]  # from -pi / 4 to pi / 4
    z = r * r
    even, odd = np.ones_like(z), np.ones_like(z)
    for k in range(8, 0, -1):  # the Taylor series of cos r and sin r / r
        even = 1.0 - even * z / (2 * k * (2 * k - 1))
        odd = 1.0 - odd * z / (2 * k * (2 * k + 1))
    side = turns % 4
    return np.asarray(np.where(side % 2 == 0, even, r * odd) * np.where((side == 1) | (side == 2), -1.0, 1.0))


def power(x: npt.ArrayLike, exponent: npt.ArrayLike) -> Floats:
    """Return x^exponent; below zero only whole exponents have a value.

    >>> power([4.0, 2.0, -2.0], 3).tolist()
    [64.0, 8.0, -8.0]
    """
    values = _floats(x)
    if np.ndim(exponent) > 0:
        base, by = np.broadcast_arrays(values.astype(np.float64), np.asarray(exponent, dtype=np.float64))
        out = np.empty(base.shape)
        kernel.powers_of(np.ravel(base), np.ravel(by), out.reshape(-1))
        return out
    exponent = float(exponent)  # type: ignore[arg-type]
    if exponent in (0.5, 1.0, 2.0):  # the same to the last digit, and faster
        return np.sqrt(values) if exponent == 0.5 else np.square(values) if exponent == 2.0 else values.copy()
    if exponent == 0.0:
        return np.ones_like(values)
    negative = bool(values.size) and not bool(values.min() >= 0.0)
    out = np.empty_like(values)
    kernel.powers(values.reshape(-1), exponent, negative, out.reshape(-1))
    return out


@overload
def total(x: npt.ArrayLike, axis: None = None) -> float: ...
@overload
def total(x: npt.ArrayLike, axis: int) -> Floats: ...
def total(x: npt.ArrayLike, axis: int | None = None) -> float | Floats:
    """Return the sum of all numbers, or of each column (axis 0) or row (axis 1 or -1) of a table.

    >>> total([0.1] * 10), total([[1.0, 2.0], [3.0, 4.0]], axis=0).tolist()
    (1.0, [4.0, 6.0])
    """
    array = np.asarray(x)
    if array.dtype.kind in "bui":
        if axis == 0 and array.ndim == 2 and 0 < array.shape[1] <= 8:  # numpy is slow along the long axis
            return np.array([column.sum() for column in array.T])
        return int(array.sum()) if axis is None else np.asarray(array.sum(axis=axis))  # exact in any order
    values = _floats(array)
    if axis is None or values.ndim == 1:
        return kernel.total(values.reshape(-1))
    if values.ndim != 2:
        raise ValueError(f"sums along one axis are of tables, got {values.ndim} dimensions")
    out = np.zeros(values.shape[1] if axis == 0 else values.shape[0])
    if axis == 0:
        kernel.column_totals(values, np.empty(len(out)), out)
    else:
        kernel.row_totals(values, out)
    return out


@overload
def mean(x: npt.ArrayLike, axis: None = None, *, weights: npt.ArrayLike | None = None) -> float: ...
@overload
def mean(x: npt.ArrayLike, axis: int, *, weights: npt.ArrayLike | None = None) -> Floats: ...
def mean(x: npt.ArrayLike, axis: int | None = None, *, weights: npt.ArrayLike | None = None) -> float | Floats:
    """Return the mean of all numbers, or of each column or row; with weights the weighted mean of a vector.

    >>> mean([1.0, 2.0, 6.0]), mean([1.0, 2.0], weights=[3.0, 1.0])
    (3.0, 1.25)
    """
    array = np.asarray(x)
    if weights is not None:
        return dot(array, weights) / total(np.asarray(weights, dtype=np.float64))
    n = array.size if axis is None else array.shape[axis]
    if axis is None:
        return total(array) / n if n else float("nan")
    return total(array, axis) / n


def dot(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return the inner product of two vectors.

    >>> dot([1.0, 2.0], [3.0, 4.0])
    11.0
    """
    a, b = _floats(x), _floats(y)
    if a.dtype != b.dtype:
        a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"an inner product is of two vectors of one length, got shapes {a.shape} and {b.shape}")
    return kernel.dot(a, b)


@overload
def norm(x: npt.ArrayLike, axis: None = None) -> float: ...
@overload
def norm(x: npt.ArrayLike, axis: int) -> Floats: ...
def norm(x: npt.ArrayLike, axis: int | None = None) -> float | Floats:
    """Return the length of a vector, or of each column (axis 0) or row (axis 1) of a table.

    >>> norm([3.0, 4.0])
    5.0
    """
    squares = np.square(np.asarray(x, dtype=np.float64))
    return sqrt(total(squares)) if axis is None else np.sqrt(total(squares, axis))


def matmul(A: npt.ArrayLike, B: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return A B of two tables.

    >>> matmul([[1.0, 2.0]], [[3.0], [4.0]]).tolist()
    [[11.0]]
    """
    a, b = np.ascontiguousarray(A, dtype=np.float64), np.ascontiguousarray(B, dtype=np.float64)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"shapes {a.shape} and {b.shape} do not fit")
    out = np.zeros((a.shape[0], b.shape[1]))
    kernel.matmul(a, b, out)
    return out


def uniform(rng: np.random.Generator, bound: float, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Draw numbers evenly between -bound and bound.

    The generator's own ``uniform`` multiplies and adds in one step on some processors.
    """
    return np.asarray(rng.random(shape) * (2.0 * bound) - bound)


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Draw from the standard normal distribution, by Marsaglia's polar method.

    >>> drawn = normal(np.random.default_rng(0), (1000, 10))
    >>> round(abs(mean(drawn)), 1), round(norm(drawn) / 100.0, 1)
    (0.0, 1.0)
    """
    n = int(np.prod(shape, dtype=np.int64))
    found = np.zeros(0)
    while len(found) < n:
        points = uniform(rng, 1.0, (n // 2 + 8, 2))
        square = points[:, 0] * points[:, 0] + points[:, 1] * points[:, 1]
        inside = (square > 0.0) & (square < 1.0)
        square = square[inside]
        length = np.sqrt(-2.0 * log(square) / square)
        found = np.concatenate([found, (points[inside] * length[:, None]).ravel()])
    return found[:n].reshape(shape)


def _each(function: Callable[[Floats, Floats], None], x: npt.ArrayLike) -> Floats:
    values = _floats(x)
    out = np.empty_like(values)
    function(values.reshape(-1), out.reshape(-1))
    return out


def _floats(x: npt.ArrayLike) -> Floats:
    """Return a contiguous array of float32, if it is one, else of float64."""
    array = np.asarray(x)
    return np.asarray(array, dtype=np.float32 if array.dtype == np.float32 else np.float64, order="C")
