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
from linnet.estimator import Estimator, sklearn_tags

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

        M, d, c = inputs.checked_rows(self, X, False), self.n_features_in_, self._constant()
        sparse = require("scipy.sparse", "Quadratic", "sklearn")
        rows = sparse.csr_matrix((M.values, M.indices, M.indptr), shape=(len(M), d))
        rows.sort_indices()
        found = self._products().fit_transform(rows)
        if c is not None:
            squares = d + np.cumsum(np.arange(d, 0, -1)) - np.arange(d, 0, -1)
            product = np.where(np.isin(found.indices, squares), 1.0, np.sqrt(2.0))
            found.data *= np.where(found.indices < d, np.sqrt(2.0 * c), product).astype(found.dtype)
        if c:
            found = sparse.hstack([found, np.full((len(M), 1), c, found.dtype)], format="csr")
        return found if hasattr(X, "tocsr") else found.toarray()

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the same rows with their products."""
        return self.fit(X, y).transform(X)

    def _products(self) -> Any:
        return require("sklearn.preprocessing", "Quadratic", "sklearn").PolynomialFeatures(2, include_bias=False)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns, as scikit-learn's PolynomialFeatures writes them."""
        from linnet.models import inputs

        inputs.check_fitted(self)
        theirs = self._products().fit(np.zeros((1, self.n_features_in_)))
        if hasattr(self, "feature_names_in_"):
            theirs.feature_names_in_ = self.feature_names_in_
        names = theirs.get_feature_names_out(input_features)
        return np.array([*names, *(["1"] if self._constant() else [])], dtype=object)

    def _constant(self) -> float | None:
        if self.constant is None:
            return None
        if not isinstance(self.constant, int | float | np.number) or not 0 <= float(self.constant) < np.inf:
            raise DataError(f"constant must be None or a number from 0, got {self.constant!r}")
        return float(self.constant)

    # ---- the scikit-learn contract

    def __sklearn_tags__(self) -> Any:
        return sklearn_tags("transformer", required=False, preserves_dtype=("float64", "float32"), sparse=True)
