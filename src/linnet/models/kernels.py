"""Kernels: inner products in a space of more features, computed without going there.

A kernel is a value with its settings that, called with two sets of rows, returns k(x, z) for every pair, (n_x, n_z):

    Linear()                  x.z
    Polynomial(degree, c)     (x.z + c)^degree: all products of up to ``degree`` features, c weighing the lower ones
    RBF(gamma)                exp(-gamma |x - z|^2): as near as rows are, and infinitely many features

Anything that can be called like this is a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import sparse
from linnet.errors import DataError
from linnet.models.inputs import as_matrix
from linnet.solvers.matrix import Matrix

__all__ = ["RBF", "Kernel", "Linear", "Polynomial", "inner_products"]

Floats = npt.NDArray[np.float64]
WRITTEN_OUT = 1 << 22  # numbers of Z that are written out at a time


class Kernel(Protocol):
    """What KernelPerceptron asks of its kernel."""

    def __call__(self, X: Any, Z: Any) -> Floats:
        """Return k(x, z) for every row of X and every row of Z, (n_x, n_z)."""


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
        if not isinstance(self.degree, int | np.integer) or self.degree < 1:
            raise DataError(f"degree must be a whole number from 1, got {self.degree!r}")
        if not 0 <= self.constant < np.inf:
            raise DataError(f"constant must be a number from 0, got {self.constant!r}; below 0 it is no kernel")

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
        if not 0 < self.gamma < np.inf:
            raise DataError(f"gamma must be a number above 0, got {self.gamma!r}")

    def __call__(self, X: Any, Z: Any) -> Floats:
        """Return exp(-gamma |x - z|^2)."""
        left, right = as_matrix(X, "RBF"), as_matrix(Z, "RBF")
        far = _squares(left)[:, None] + _squares(right) - 2.0 * inner_products(left, right)
        return arithmetic.exp(-self.gamma * np.maximum(far, 0.0))


def inner_products(X: Matrix, Z: Matrix) -> Floats:
    """Return x.z for every row of X and every row of Z; sparse rows stay sparse, Z a few rows at a time."""
    X, out = X.explicit(), np.empty((len(X), len(Z)))
    step = max(1, WRITTEN_OUT // max(1, Z.n_features))
    for first in range(0, len(Z), step):
        part = Z.take(np.arange(first, min(first + step, len(Z))))
        columns = np.zeros((part.n_features, len(part)))
        np.add.at(columns, (part.indices, np.repeat(np.arange(len(part)), np.diff(part.indptr))), part.values)
        found = np.empty((len(X), len(part)))
        sparse.dot(X.indptr, X.indices, X.values, columns, 0, len(X), found)
        out[:, first : first + len(part)] = found
    return out


def _squares(X: Matrix) -> Floats:
    """The squared length of each row."""
    X, out = X.explicit(), np.empty((len(X), 1))
    squares = np.square(X.values.astype(np.float64))
    sparse.dot(X.indptr, X.indices, squares, np.ones((X.n_features, 1)), 0, len(X), out)
    return out[:, 0]
