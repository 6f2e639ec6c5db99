"""Gaussian naive Bayes: each feature of each class is a bell curve of its own (a diagonal covariance).

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
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lgamma
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError
from linnet.estimator import above_zero, not_negative
from linnet.models.naive_bayes import Form, NaiveBayes, Statistics, class_sums
from linnet.solvers.matrix import Matrix
from linnet.solvers.numerics import log_sigmoid
from linnet.solvers.training_set import TrainingSet

Floats = npt.NDArray[np.float64]
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
        return Moments(
            rows, self.mean + apart * share, self.squares + other.squares + apart * apart * self.rows * share
        )

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
    class_alpha: npt.ArrayLike | None = None
    fit_prior: bool = True
    class_prior: npt.ArrayLike | None = None

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
            raise DataError(
                f"feature {j} does not vary in class {c}, so its density is infinite: leave it out, or set "
                "var_smoothing above 0, or psi0 above 0 with estimate='map' or 'predictive'"
            )
        self.theta_, self.var_ = m.T, v.T
        none = (counted.rows == 0.0) & (estimate == "mle")
        return None if estimate == "predictive" else self._form(m, v, none | np.isneginf(self.class_log_prior_))

    def _posterior(self, counted: Moments, mean: Floats, spread: Floats, estimate: str) -> tuple[Floats, Floats]:
        kappa0, nu0 = above_zero("kappa0", self.kappa0), above_zero("nu0", self.nu0)
        mu0 = mean if self.mu0 is None else _each("mu0", self.mu0, len(mean))
        psi0 = nu0 * spread if self.psi0 is None else _each("psi0", self.psi0, len(mean))
        if self.psi0 is not None and not (psi0 > 0.0).all():
            raise DataError(f"psi0 must be above 0, got {self.psi0!r}")
        n = counted.rows
        apart = counted.mean - mu0[:, None]
        kappa, nu = kappa0 + n, nu0 + n
        m = mu0[:, None] + apart * (n / kappa)
        psi = psi0[:, None] + counted.squares + apart * apart * (kappa0 * n / kappa)
        if estimate == "map":
            return m, psi / (nu + 3.0)
        self.freedom_ = nu
        return m, psi * ((kappa + 1.0) / (kappa * nu))

    def _form(self, m: Floats, v: Floats, none: npt.NDArray[np.bool_]) -> Form:
        """Return the linear form over x, then x squared; some classes may be ruled out."""
        W = np.concatenate([m / v, -0.5 / v])
        b = np.where(none, 0.0, self.class_log_prior_) - 0.5 * arithmetic.total(
            arithmetic.log(2.0 * np.pi * v) + m * m / v, axis=0
        )
        return Form(W, b, (np.zeros_like(W), none.astype(np.float64)) if none.any() else None)

    def _keep(self, W: npt.NDArray[Any], b: Floats) -> None:
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
            rows = _dense(X, k, min(k + step, len(X)))
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

    def _draw(self, y: npt.NDArray[np.int64], rng: np.random.Generator) -> Floats:
        shape = (len(y), self.n_features_in_)
        if hasattr(self, "freedom_"):
            noise = rng.standard_t(self.freedom_[y][:, None], size=shape)
        else:
            noise = rng.standard_normal(shape)
        return np.asarray(self.theta_[y] + np.sqrt(self.var_[y]) * noise)


def _dense(X: Matrix, first: int, last: int) -> Floats:
    """Write out rows first..last-1."""
    X = X.explicit()
    part = slice(X.indptr[first], X.indptr[last])
    rows = np.repeat(np.arange(last - first), np.diff(X.indptr[first : last + 1]))
    out = np.zeros((last - first, X.n_features))
    out[rows, X.indices[part]] = X.values[part]
    return out


def _each(name: str, value: Any, n: int) -> Floats:
    """Return a finite number for each feature."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n,)) or not np.isfinite(array).all():
        raise DataError(f"{name} must be a finite number, or one a feature ({n}); got {value!r}")
    return np.broadcast_to(array, n)
