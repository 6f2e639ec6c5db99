"""Naive Bayes of columns: features that are one of several values (categorical), or measured (gaussian)."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from math import lgamma
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import sparse
from linnet.array_types import Array, Bools, Floats, Ints
from linnet.errors import DataError
from linnet.estimator import above_zero, not_negative
from linnet.models.estimator import Traits
from linnet.models.naive_bayes import Form, NaiveBayes, Statistics, class_sums, log_shares, per_item, pseudo_counts
from linnet.solvers.losses import log_sigmoid
from linnet.solvers.matrix import Matrix, TrainingSet

MOST_VALUES = 1 << 24  # of all features together: above this, the numbers are no categories


@dataclass(frozen=True)
class Categories:
    """Weighted rows of each class, and of each class with each value of each feature. Adding makes room for new values."""

    rows: Floats  # (n_classes,)
    table: Floats  # (n_features, most values, n_classes)
    sizes: Ints  # (n_features,): the values of each

    def __add__(self, other: Categories) -> Categories:
        most = max(self.table.shape[1], other.table.shape[1])
        table = np.zeros((len(self.sizes), most, len(self.rows)))
        table[:, : self.table.shape[1]] += self.table
        table[:, : other.table.shape[1]] += other.table
        return Categories(self.rows + other.rows, table, np.maximum(self.sizes, other.sizes))


@dataclass(eq=False, repr=False)
class CategoricalNB(NaiveBayes):
    """Features that are one of several values: whole numbers from 0.

    Features with several values each: colour, weekday, shape.

        log P(x, y) = log P(y) + sum_j log mu_yj(x_j),     mu_yj(v) = share of value v of feature j in class y

    Values are whole numbers from 0; their order and distance mean nothing. With N_yjv rows of class y that have value v, and a
    Dirichlet prior alpha over the K_j values of the feature:

        predictive  mu_yj(v) = (N_yjv + alpha) / (N_y + alpha K_j)
        map         mu_yj(v) = (N_yjv + alpha - 1) / (N_y + (alpha - 1) K_j)
        mle         mu_yj(v) = N_yjv / N_y

    Linear over one column a feature and value, 1 where the feature has that value: W = log mu, b = log P(y). ``encode`` makes
    those columns, ``encoded_`` names them. Two values a feature are Bernoulli naive Bayes.

    Reference: Murphy, Machine Learning: A Probabilistic Perspective, section 3.5.

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

    traits = Traits(non_negative=True, incremental=True, poor_score=True)

    alpha: float = 1.0
    _: KW_ONLY
    min_categories: npt.ArrayLike | None = None

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

    def statistics(self, rows: TrainingSet) -> Categories:
        """Count rows with each value of each feature, by class."""
        X, y, n_classes, ones = rows.X, rows.y, rows.n_classes, rows.weights
        values = X.dense().astype(np.int64)
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

    def _least(self, n_features: int) -> Ints:
        least = np.asarray(1 if self.min_categories is None else self.min_categories)
        if least.shape not in ((), (n_features,)) or least.dtype.kind not in "iu" or (least < 1).any():
            raise DataError(
                f"min_categories must be a whole number from 1, or one a feature ({n_features}); got {least}"
            )
        return np.broadcast_to(least, n_features).astype(np.int64)

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
        values = X.dense().astype(np.int64)
        known = values < self.n_categories_
        columns = values + (np.cumsum(self.n_categories_) - self.n_categories_)
        indptr = np.zeros(len(X) + 1, dtype=np.int64)
        np.cumsum(known.sum(axis=1), out=indptr[1:])
        ones = np.ones(int(indptr[-1]), dtype=X.values.dtype)
        return Matrix(indptr, columns[known].astype(np.int32), ones, len(self.encoded_))

    def _draw(self, y: Ints, rng: np.random.Generator) -> Floats:
        X = np.empty((len(y), self.n_features_in_))
        for j, logs in enumerate(self.feature_log_prob_):
            for c in np.unique(y):
                shares = np.exp(logs[c])
                X[y == c, j] = rng.choice(len(shares), size=int((y == c).sum()), p=shares / shares.sum())
        return X


CHUNK = 1 << 20  # numbers of rows written out at a time


@dataclass(frozen=True)
class Moments:
    """Weighted rows of each class, and of each feature and class the mean and the sum of squares about it."""

    rows: Floats  # (n_classes,)
    mean: Floats  # (n_features, n_classes)
    squares: Floats  # (n_features, n_classes)

    def __add__(self, other: Moments) -> Moments:
        rows = self.rows + other.rows
        share = other.rows / np.where(rows > 0.0, rows, 1.0)
        apart = other.mean - self.mean
        squares = self.squares + other.squares + apart * apart * self.rows * share
        return Moments(rows, self.mean + apart * share, squares)

    def variance(self) -> tuple[Floats, Floats]:
        """Return the mean and the variance of each feature over all classes."""
        n = arithmetic.total(self.rows)
        share = self.rows / n
        mean = arithmetic.total(self.mean * share, axis=1)
        between = arithmetic.total(np.square(self.mean - mean[:, None]) * share, axis=1)
        return mean, arithmetic.total(self.squares, axis=1) / n + between


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianNB(NaiveBayes):
    """Features that are measured: a mean and a variance for each, in each class.

    Each feature of each class is a bell curve of its own (a diagonal covariance).

        log P(x, y) = log P(y) - 1/2 sum_j [log(2 pi v_yj) + (x_j - m_yj)^2 / v_yj]

    m and v are the mean and variance of feature j in class y. Written out, this is linear over x and x squared:

        coef_ = m / v,    quadratic_coef_ = -1 / (2 v),    intercept_ = log P(y) - 1/2 sum_j [log(2 pi v) + m^2 / v]

    The prior is Normal-Inverse-Wishart, which with a diagonal covariance is one Normal-Inverse-Gamma a feature and class:
    v ~ Inverse-Gamma(nu0 / 2, psi0 / 2), m ~ Normal(mu0, v / kappa0). With n rows of the class, their mean a and the sum s of
    squares about it, the posterior has

        kappa = kappa0 + n,   mu = (kappa0 mu0 + n a) / kappa,   nu = nu0 + n,   psi = psi0 + s + kappa0 n (a - mu0)^2 / kappa

        mle         m = a,  v = s / n + var_smoothing times the largest variance of a feature
        map         m = mu, v = psi / (nu + 3)      the mode of both together
        predictive  Student's t with nu degrees of freedom about mu, scale^2 = psi (kappa + 1) / (kappa nu)

    Student's t has heavier tails than the bell curve, as it should after few rows, and is not linear: no coef_ then.

    Means and sums of squares are found in two passes and merged over batches as by Chan, Golub and LeVeque (1979), so nothing
    is lost where the mean is large beside the spread. Predicting uses (x - m)^2, not the linear form, for the same reason.

    Reference: Murphy, Conjugate Bayesian Analysis of the Gaussian Distribution, 2007.

    Parameters: ``estimate`` is "mle", "map" or "predictive". ``var_smoothing`` ("mle"): this share of the largest variance
    of a feature (of 1, where none varies) is added to all: a feature that does not vary in a class would have an infinite
    density. The prior
    ("map", "predictive"): ``mu0`` is the mean expected, a number or one a feature (None: that of all rows), worth
    ``kappa0`` rows; ``psi0 / nu0`` the variance expected, worth ``nu0`` rows (``psi0=None``: nu0 times the variance over
    all rows). ``class_alpha``, ``fit_prior``, ``class_prior``: see :class:`~linnet.models.naive_bayes.NaiveBayes`.

    Learned, beside the usual: ``theta_`` and ``var_`` (n_classes, n_features), the means and variances (predictive: the
    location and squared scale, with ``freedom_`` (n_classes,)), ``class_log_prior_``, ``class_count_``. For "mle" and "map"
    ``coef_`` and ``quadratic_coef_`` (n_outputs, n_features) and ``intercept_``: scores are
    ``X @ coef_.T + X**2 @ quadratic_coef_.T + intercept_``.

    >>> model = GaussianNB().fit([[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]], list("aaabbb"))
    >>> model.theta_.ravel().tolist(), model.var_.ravel().round(4).tolist()
    ([2.0, 8.0], [0.6667, 0.6667])
    >>> model.predict_proba([[5.0]]).round(4).tolist()
    [[0.5, 0.5]]
    """

    estimate: str = "mle"
    var_smoothing: float = 1e-9
    mu0: npt.ArrayLike | None = None
    kappa0: float = 0.01
    nu0: float = 1.0
    psi0: npt.ArrayLike | None = None

    # ---- fitting

    def statistics(self, rows: TrainingSet) -> Moments:
        """Return the moments of each feature, by class: the mean first, then the squares about it."""
        X = rows.X.explicit()
        X = replace(X, values=X.values.astype(np.float64))

        def sums_of(values: Floats) -> Statistics:
            return class_sums(replace(rows, X=replace(X, values=values)))

        sums = sums_of(X.values)
        mean = sums.features / np.where(sums.rows > 0.0, sums.rows, 1.0)
        about = X.values - mean[X.indices, np.repeat(rows.y, np.diff(X.indptr))]
        squares = sums_of(about * about).features
        held = sums_of(X.values[:0]).features
        squares += np.maximum(sums.rows - held, 0.0) * mean * mean  # the rows where the feature is 0
        return Moments(sums.rows, mean, squares)

    def _estimate(self, counted: Moments, estimate: str) -> Form | None:
        vars(self).pop("freedom_", None)
        vars(self).pop("quadratic_coef_", None)
        mean, spread = counted.variance()
        smoothing = not_negative("var_smoothing", self.var_smoothing)
        self.epsilon_ = smoothing * (float(spread.max()) or 1.0)  # of a first batch of one row nothing varies
        if estimate == "mle":
            m, v = counted.mean, counted.squares / np.where(counted.rows > 0.0, counted.rows, 1.0) + self.epsilon_
            v = np.where(counted.rows > 0.0, v, 1.0)  # any: a class without rows is ruled out
        else:
            m, v = self._posterior(counted, mean, spread + self.epsilon_, estimate)
        if not (v > 0.0).all():
            j, c = (int(k) for k in np.argwhere(~(v > 0.0))[0])
            raise DataError(f"feature {j} does not vary in class {c}; leave it out, or set var_smoothing above 0")
        self.theta_, self.var_ = m.T, v.T
        none = (counted.rows == 0.0) & (estimate == "mle")
        return None if estimate == "predictive" else self._form(m, v, none | np.isneginf(self.class_log_prior_))

    def _posterior(self, counted: Moments, mean: Floats, spread: Floats, estimate: str) -> tuple[Floats, Floats]:
        kappa0, nu0 = above_zero("kappa0", self.kappa0), above_zero("nu0", self.nu0)
        mu0 = mean if self.mu0 is None else np.asarray(self.mu0, dtype=np.float64)
        if mu0.shape not in ((), mean.shape) or not np.isfinite(mu0).all():
            raise DataError(f"mu0 must be a finite number, or one a feature ({len(mean)}); got {self.mu0!r}")
        mu0 = np.broadcast_to(mu0, len(mean))
        psi0 = nu0 * spread
        if self.psi0 is not None:
            psi0 = np.broadcast_to(per_item("psi0", self.psi0, len(mean), "feature"), len(mean))
        n = counted.rows
        apart = counted.mean - mu0[:, None]
        kappa, nu = kappa0 + n, nu0 + n
        m = mu0[:, None] + apart * (n / kappa)
        psi = psi0[:, None] + counted.squares + apart * apart * (kappa0 * n / kappa)
        if estimate == "map":
            return m, psi / (nu + 3.0)
        self.freedom_ = nu
        return m, psi * ((kappa + 1.0) / (kappa * nu))

    def _form(self, m: Floats, v: Floats, none: Bools) -> Form:
        """Return the linear form over x, then x squared; some classes may be ruled out."""
        W = np.concatenate([m / v, -0.5 / v])
        total = arithmetic.total(arithmetic.log(2.0 * np.pi * v) + m * m / v, axis=0)
        b = np.where(none, 0.0, self.class_log_prior_) - 0.5 * total
        return Form(W, b, (np.zeros_like(W), none.astype(np.float64)) if none.any() else None)

    def _keep(self, W: Array, b: Floats) -> None:
        d = len(W) // 2
        self.quadratic_coef_ = np.ascontiguousarray(W[d:]).T
        super()._keep(np.ascontiguousarray(W[:d]), b)

    # ---- using

    def _encode(self, X: Matrix) -> Matrix:
        """Return x, then x squared."""
        X = X.explicit()
        sizes = np.diff(X.indptr)
        place = np.arange(len(X.indices)) + np.repeat(X.indptr[:-1], sizes)  # a row's squares go behind its values
        behind = place + np.repeat(sizes, sizes)
        indices, values = np.empty(2 * len(place), np.int32), np.empty(2 * len(place), X.values.dtype)
        indices[place], values[place] = X.indices, X.values
        indices[behind], values[behind] = X.indices + X.n_features, X.values * X.values
        return Matrix(2 * X.indptr, indices, values, 2 * X.n_features)

    def _joint(self, X: Matrix) -> Floats:
        out = np.empty((len(X), len(self.class_log_prior_)))
        step = max(1, CHUNK // X.n_features)
        for k in range(0, len(X), step):
            rows = X.take(np.arange(k, min(k + step, len(X)))).dense()
            for c in range(out.shape[1]):
                out[k : k + step, c] = self._log_density(rows, c)
        out += self.class_log_prior_
        if self.form_ is not None and self.form_.barred is not None:
            out[:, self.form_.barred[1] > 0.0] = -np.inf
        return out

    def _log_density(self, rows: Floats, c: int) -> Floats:
        m, v = self.theta_[c], self.var_[c]
        with np.errstate(over="ignore", divide="ignore"):
            if not hasattr(self, "freedom_"):
                return np.asarray(-0.5 * (np.log(2.0 * np.pi * v).sum() + ((rows - m) ** 2 / v).sum(axis=1)))
            nu = float(self.freedom_[c])
            scale = lgamma((nu + 1.0) / 2.0) - lgamma(nu / 2.0) - 0.5 * np.log(nu * np.pi * v)  # (n_features,)
            tails = -log_sigmoid(np.log(nu * v) - 2.0 * np.log(np.abs(rows - m)))  # log(1 + t^2 / nu)
            return np.asarray(scale.sum() - 0.5 * (nu + 1.0) * tails.sum(axis=1))

    def _scores(self, X: Any) -> Floats:
        return self._odds(self._joint(self._rows(X)))

    def _draw(self, y: Ints, rng: np.random.Generator) -> Floats:
        shape = (len(y), self.n_features_in_)
        if hasattr(self, "freedom_"):
            noise = rng.standard_t(self.freedom_[y][:, None], size=shape)
        else:
            noise = rng.standard_normal(shape)
        return np.asarray(self.theta_[y] + np.sqrt(self.var_[y]) * noise)
