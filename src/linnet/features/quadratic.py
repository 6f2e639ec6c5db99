"""Explicit quadratic features: every square and every product of two features, as columns of their own.

A line over [x1, x2, x1^2, x1 x2, x2^2] is a curve over [x1, x2]: with them a linear model solves exclusive-or, and its
weights still have names. d features become d + d (d + 1) / 2, so they are for few features, or for sparse rows: a row
with k features not zero has k + k (k + 1) / 2 columns not zero.

The kernel (x.z + c)^2 is the inner product of such rows, up to factors: ``constant=c`` gives exactly those,
c, sqrt(2 c) x_i, x_i^2 and sqrt(2) x_i x_j, so that what a kernel does can be checked, and done with named weights.

Reference: Hastie, Tibshirani, Friedman, The Elements of Statistical Learning, section 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError, require
from linnet.estimator import Estimator

MOST_COLUMNS = 2**31 - 1


@dataclass(eq=False, repr=False, kw_only=True)
class Quadratic(Estimator):
    """Add all squares and products: sparse rows stay sparse, dense rows dense, and columns have names.

    Parameters: ``constant`` None gives plain products, in scikit-learn's order (x0, x1, x0^2, x0 x1, x1^2). A number c
    gives the columns whose inner products are (x.z + c)^2, with the constant column last where c is above 0.

    >>> quadratic = Quadratic().fit([[2.0, 3.0]])
    >>> quadratic.get_feature_names_out().tolist()
    ['x0', 'x1', 'x0^2', 'x0 x1', 'x1^2']
    >>> quadratic.transform([[2.0, 3.0]]).tolist()
    [[2.0, 3.0, 4.0, 6.0, 9.0]]
    """

    constant: float | None = None
    n_features_in_: int = field(init=False)

    # ---- fitting and transforming

    def fit(self, X: Any, y: Any = None) -> Quadratic:
        """Note the number of features."""
        from linnet.models import inputs  # looks up the tree: rows of numbers are checked where models check them

        self._constant()
        d = inputs.checked_rows(self, X, True).n_features
        if d + d * (d + 1) // 2 + 1 > MOST_COLUMNS:
            raise DataError(f"{d:,} features have too many products; Quadratic takes up to 65,533: choose some of them")
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows with their products; sparse rows stay sparse."""
        from linnet.models import inputs

        M, d = inputs.checked_rows(self, X, False), self.n_features_in_
        csr_matrix = require("scipy.sparse", "Quadratic", "sklearn").csr_matrix
        rows = csr_matrix((M.values, M.indices, M.indptr), shape=(len(M), d))
        rows.sort_indices()
        found = csr_matrix(self._entries(rows), shape=(len(M), self._n_columns()))
        return found if hasattr(X, "tocsr") else found.toarray()

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the same rows with their products."""
        return self.fit(X, y).transform(X)

    def _entries(self, rows: Any) -> tuple[Any, Any, Any]:
        """Return values, columns and row starts; columns in a row are in order, as those of rows are."""
        c = self._constant()
        d, kind = self.n_features_in_, rows.data.dtype.type
        indptr, columns, values = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data
        size = np.diff(indptr)  # entries of each row
        partners = np.repeat(indptr[1:], size) - np.arange(len(columns))  # each entry with itself and those after it
        first = np.repeat(np.arange(len(columns)), partners)
        starts = np.cumsum(partners) - partners
        second = first + np.arange(len(first)) - np.repeat(starts, partners)
        i, j = columns[first], columns[second]
        product = values[first] * values[second]
        if c is not None:
            product = np.where(i == j, product, kind(np.sqrt(2.0)) * product)
        linear = values if c is None else kind(np.sqrt(2.0 * c)) * values
        pairs = size * (size + 1) // 2
        constant = np.full(len(size), c, dtype=kind) if c else np.zeros(0, kind)
        parts = [
            (np.repeat(np.arange(len(size)), size), columns, linear),
            (np.repeat(np.arange(len(size)), pairs), d + i * d - i * (i - 1) // 2 + (j - i), product),
            (np.arange(len(constant)), np.full(len(constant), self._n_columns() - 1), constant),
        ]
        row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(row, kind="stable")
        out_indptr = np.zeros(len(size) + 1, dtype=np.int64)
        np.cumsum(np.bincount(row, minlength=len(size)), out=out_indptr[1:])
        return value[order].astype(kind), column[order], out_indptr

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns, as scikit-learn's PolynomialFeatures writes them."""
        from linnet.models import inputs

        inputs.check_fitted(self)
        d = self.n_features_in_
        known = getattr(self, "feature_names_in_", None)
        if input_features is None:
            names = [f"x{i}" for i in range(d)] if known is None else [str(name) for name in known]
        else:
            names = [str(name) for name in input_features]
            if len(names) != d:
                raise DataError(
                    f"input_features should have length equal to number of features ({d}), got {len(names)}"
                )
            if known is not None and names != [str(name) for name in known]:
                raise DataError("input_features is not equal to feature_names_in_")
        products = [f"{a}^2" if i == j else f"{a} {names[j]}" for i, a in enumerate(names) for j in range(i, d)]
        return np.array([*names, *products, *(["1"] if self._constant() else [])], dtype=object)

    def _n_columns(self) -> int:
        d = self.n_features_in_
        return d + d * (d + 1) // 2 + (1 if self._constant() else 0)

    def _constant(self) -> float | None:
        if self.constant is None:
            return None
        if not isinstance(self.constant, int | float | np.number) or not 0 <= float(self.constant) < np.inf:
            raise DataError(f"constant must be None or a number from 0, got {self.constant!r}")
        return float(self.constant)

    # ---- the scikit-learn contract

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=["float64", "float32"]),
            input_tags=InputTags(sparse=True),
        )
