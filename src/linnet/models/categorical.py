"""Categorical naive Bayes: features with several values each: colour, weekday, shape.

    log P(x, y) = log P(y) + sum_j log mu_yj(x_j),     mu_yj(v) = share of value v of feature j in class y

Values are whole numbers from 0; their order and distance mean nothing. With N_yjv rows of class y that have value v, and a
Dirichlet prior alpha over the K_j values of the feature:

    predictive  mu_yj(v) = (N_yjv + alpha) / (N_y + alpha K_j)
    map         mu_yj(v) = (N_yjv + alpha - 1) / (N_y + (alpha - 1) K_j)
    mle         mu_yj(v) = N_yjv / N_y

Linear over one column a feature and value, 1 where the feature has that value: W = log mu, b = log P(y). ``encode`` makes
those columns, ``encoded_`` names them. Two values a feature are Bernoulli naive Bayes.

Reference: Murphy, Machine Learning: A Probabilistic Perspective, section 3.5.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from linnet._kernels import sparse
from linnet.errors import DataError
from linnet.estimator import above_zero, whole
from linnet.models.estimator import Traits
from linnet.models.naive_bayes import Form, NaiveBayes, log_shares, pseudo_counts
from linnet.solvers.matrix import Matrix
from linnet.solvers.training_set import TrainingSet

Floats = npt.NDArray[np.float64]
MOST_VALUES = 1 << 24  # of all features together: above this, the numbers are no categories


@dataclass(frozen=True)
class Categories:
    """Weighted rows of each class, and of each class with each value of each feature. Adding makes room for new values."""

    rows: Floats  # (n_classes,)
    table: Floats  # (n_features, most values, n_classes)
    sizes: npt.NDArray[np.int64]  # (n_features,): the values of each

    def __add__(self, other: Categories) -> Categories:
        most = max(self.table.shape[1], other.table.shape[1])
        table = np.zeros((len(self.sizes), most, len(self.rows)))
        table[:, : self.table.shape[1]] += self.table
        table[:, : other.table.shape[1]] += other.table
        return Categories(self.rows + other.rows, table, np.maximum(self.sizes, other.sizes))


@dataclass(eq=False, repr=False)
class CategoricalNB(NaiveBayes):
    """Features that are one of several values: whole numbers from 0.

    Parameters: ``alpha`` is the Dirichlet prior on the values of a feature. ``estimate`` is "predictive" (add alpha),
    "map" (add alpha - 1) or "mle". ``min_categories``, a number or one a feature, is how many values a feature has at
    least; without, those up to the largest in training. ``class_alpha``, ``fit_prior``, ``class_prior``: see
    :class:`~linnet.models.naive_bayes.NaiveBayes`.

    What is behind the point of a number is cut off, with a warning. A value above the largest known adds nothing to any
    class: no answer changes for it. In ``partial_fit`` it is a new value of the feature.

    Learned, beside the usual: ``feature_log_prob_``, for each feature (n_classes, n_values), ``category_count_``,
    ``n_categories_``, and ``encoded_`` (n_columns, 2), the feature and value of each column of ``coef_``.

    >>> model = CategoricalNB().fit([[0, 2], [0, 1], [1, 0]], ["sun", "sun", "rain"])
    >>> model.encoded_.tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]
    >>> model.predict_proba([[0, 2]]).round(4).tolist()
    [[0.122, 0.878]]
    """

    traits: ClassVar[Traits] = Traits(non_negative=True, incremental=True, poor_score=True)

    alpha: float = 1.0
    _: KW_ONLY
    estimate: str = "predictive"
    min_categories: npt.ArrayLike | None = None
    class_alpha: npt.ArrayLike | None = None
    fit_prior: bool = True
    class_prior: npt.ArrayLike | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _rows(self, X: Any, *, reset: bool = False) -> Matrix:
        M = super()._rows(X, reset=reset)
        whole_numbers = np.floor(M.values)
        if (M.values == whole_numbers).all():
            return M
        part = M.values[M.values != whole_numbers][0]
        warnings.warn(
            f"CategoricalNB takes the numbers of categories, 0, 1, 2, ...: {part:g} counts as {int(part)}", stacklevel=3
        )
        return replace(M, values=whole_numbers)

    def _values(self, X: Matrix) -> npt.NDArray[np.int64]:
        """Return the value of each feature of each row, (n_rows, n_features)."""
        X = X.explicit()
        out = np.zeros((len(X), X.n_features), dtype=np.int64)
        out[np.repeat(np.arange(len(X)), np.diff(X.indptr)), X.indices] = X.values
        return out

    def statistics(self, rows: TrainingSet) -> Categories:
        """Count rows with each value of each feature, by class."""
        X, y, n_classes, ones = rows.X, rows.y, rows.n_classes, rows.weights
        values = self._values(X)
        used = values[ones > 0.0]
        sizes = np.maximum(used.max(axis=0, initial=0) + 1, self._least(X.n_features))
        if len(sizes) * int(sizes.max()) > MOST_VALUES:
            raise DataError(f"a feature has the value {sizes.max() - 1:,}: number the categories 0, 1, 2, ... instead")
        most = int(sizes.max())
        table = np.zeros((X.n_features * most, n_classes))
        columns = (np.minimum(values, most - 1) + most * np.arange(X.n_features)).astype(np.int32)
        indptr = np.arange(len(X) + 1, dtype=np.int64) * X.n_features
        sparse.class_sums(indptr, columns.ravel(), np.zeros(0), y, ones, table)
        counts = np.bincount(y, weights=ones, minlength=n_classes).astype(np.float64)
        return Categories(counts, table.reshape(X.n_features, most, n_classes), sizes)

    def _least(self, n_features: int) -> npt.NDArray[np.int64]:
        if self.min_categories is None:
            return np.ones(n_features, dtype=np.int64)
        if np.ndim(self.min_categories) == 0:
            return np.full(n_features, whole("min_categories", self.min_categories))
        least = np.asarray(self.min_categories)
        if least.shape != (n_features,) or least.dtype.kind not in "iu" or (least < 1).any():
            raise DataError(
                f"min_categories must be a whole number from 1, or one a feature ({n_features}); got {least}"
            )
        return least.astype(np.int64)

    def _estimate(self, counted: Categories, estimate: str) -> Form:
        alpha = above_zero("alpha", self.alpha)
        features, values = np.nonzero(np.arange(counted.table.shape[1]) < counted.sizes[:, None])
        shares = pseudo_counts(counted.table[features, values], alpha, estimate)  # (n_columns, n_classes)
        first = np.cumsum(counted.sizes) - counted.sizes
        totals = np.zeros((len(first), shares.shape[1]))
        np.add.at(totals, features, shares)  # in the order of the columns
        W = log_shares(shares, totals[features])
        self.encoded_ = np.stack([features, values], axis=1)
        self.n_categories_ = counted.sizes
        self.feature_log_prob_ = [part.T for part in np.split(W, first[1:])]
        self.category_count_ = [part[:n].T for part, n in zip(counted.table, counted.sizes, strict=True)]
        return Form.of_logs(W, self.class_log_prior_)

    def _encode(self, X: Matrix) -> Matrix:
        """Return one entry a feature: 1 in the column of its value; none where the value is not known."""
        values = self._values(X)
        known = values < self.n_categories_
        columns = values + (np.cumsum(self.n_categories_) - self.n_categories_)
        indptr = np.zeros(len(X) + 1, dtype=np.int64)
        np.cumsum(known.sum(axis=1), out=indptr[1:])
        ones = np.ones(int(indptr[-1]), dtype=X.values.dtype)
        return Matrix(indptr, columns[known].astype(np.int32), ones, len(self.encoded_))

    def _draw(self, y: npt.NDArray[np.int64], rng: np.random.Generator) -> Floats:
        X = np.empty((len(y), self.n_features_in_))
        for j, logs in enumerate(self.feature_log_prob_):
            for c in np.unique(y):
                shares = np.exp(logs[c])
                X[y == c, j] = rng.choice(len(shares), size=int((y == c).sum()), p=shares / shares.sum())
        return X
