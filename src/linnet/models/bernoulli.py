"""Bernoulli naive Bayes: every word of the vocabulary is tossed for, present or absent, with the coin of the class.

    log P(x, y) = log P(y) + sum_j [x_j log mu_yj + (1 - x_j) log(1 - mu_yj)],   x_j = 1 where word j is present, else 0

mu_yj is the share of rows of class y that hold word j. Absent words count too: that a review lacks "boring" speaks for
it. The scores are linear all the same:

    W_jy = log(mu_yj / (1 - mu_yj)),     b_y = log P(y) + sum_j log(1 - mu_yj)

With N_y rows of the class, N_yj of them with the word, and a Beta(beta_1, beta_0) prior, the posterior is
Beta(N_yj + beta_1, N_y - N_yj + beta_0), and

    predictive  mu = (N_yj + beta_1) / (N_y + beta_1 + beta_0)
    map         mu = (N_yj + beta_1 - 1) / (N_y + beta_1 + beta_0 - 2)
    mle         mu = N_yj / N_y

Reference: McCallum and Nigam, A Comparison of Event Models, 1998.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError
from linnet.features.blocks import Words
from linnet.features.plan import FeaturePlan
from linnet.models.estimator import Traits
from linnet.models.naive_bayes import Form, NaiveBayes, Statistics, class_sums, log_shares, pseudo_counts
from linnet.solvers.matrix import Matrix
from linnet.solvers.training_set import TrainingSet

Floats = npt.NDArray[np.float64]


@dataclass(eq=False, repr=False)
class BernoulliNB(NaiveBayes):
    """Words present or absent: a value above 0 is present, everything else absent.

    Parameters: ``alpha`` is the Beta prior on each word: a pair (beta_1, beta_0), rows imagined with and without it, or
    one number for both. ``estimate`` is "predictive" (add them), "map" (add them less 1) or "mle". ``class_alpha``,
    ``fit_prior``, ``class_prior``: see :class:`~linnet.models.naive_bayes.NaiveBayes`.

    Learned, beside the usual: ``feature_log_prob_`` (n_classes, n_features), log mu, ``feature_log_neg_prob_``,
    log(1 - mu), ``class_log_prior_``, ``feature_count_``, ``class_count_``. ``coef_`` and ``intercept_`` apply to
    presence: to ``X > 0``.

    >>> model = BernoulliNB(estimate="mle").fit([[1], [1], [0], [0], [1], [0], [0], [0]], list("++++----"))
    >>> model.predict_proba([[1]]).round(4).tolist()
    [[0.6667, 0.3333]]
    """

    plan: ClassVar[FeaturePlan] = FeaturePlan(
        features=(Words(1, 2),), idf=False, norm=None, grid=(("alpha", (1.0, 0.01, 0.03, 0.1, 0.3, 3.0)),)
    )
    traits: ClassVar[Traits] = Traits(
        sums="statistics", presence=True, poor_score=True, incremental=True, bytes_per_weight=110
    )

    alpha: float | tuple[float, float] = 1.0
    _: KW_ONLY
    estimate: str = "predictive"
    class_alpha: npt.ArrayLike | None = None
    fit_prior: bool = True
    class_prior: npt.ArrayLike | None = None

    def _encode(self, X: Matrix) -> Matrix:
        X = X.explicit()
        return replace(X, values=(X.values > 0).astype(X.values.dtype))

    @property
    def feature_count_(self) -> Floats:
        """Rows of each class that hold each feature, (n_classes, n_features)."""
        return np.asarray(self.counted_.features.T)

    def statistics(self, rows: TrainingSet) -> Statistics:
        """Count rows, and rows that hold each feature, by class."""
        X = rows.X
        none = X.values[:0]
        return class_sums(replace(rows, X=replace(X, values=none) if (X.values > 0).all() else self._encode(X)))

    def _estimate(self, counted: Statistics, estimate: str) -> Form:
        beta_1, beta_0 = self._beta()
        held = np.minimum(counted.features, counted.rows)  # more only where hashing gave two features one column
        present, absent = pseudo_counts(held, beta_1, estimate), pseudo_counts(counted.rows - held, beta_0, estimate)
        total = counted.rows + {"mle": 0.0, "map": beta_1 + beta_0 - 2.0, "predictive": beta_1 + beta_0}[estimate]
        log_mu, log_no = log_shares(present, total), log_shares(absent, total)
        self.feature_log_prob_, self.feature_log_neg_prob_ = log_mu.T, log_no.T
        return _form(log_mu, log_no, self.class_log_prior_)

    def _beta(self) -> tuple[float, float]:
        pair = np.asarray(self.alpha, dtype=np.float64)
        if pair.shape not in ((), (2,)) or not (pair > 0.0).all() or not np.isfinite(pair).all():
            raise DataError(f"alpha must be a number above 0, or a pair of them (beta_1, beta_0), got {self.alpha!r}")
        beta_1, beta_0 = np.broadcast_to(pair, 2)
        return float(beta_1), float(beta_0)

    def _draw(self, y: npt.NDArray[np.int64], rng: np.random.Generator) -> Floats:
        return np.asarray(rng.random((len(y), self.n_features_in_)) < np.exp(self.feature_log_prob_)[y], np.float64)


def _form(log_mu: Floats, log_no: Floats, prior: Floats) -> Form:
    """Return the linear form; a word that a class never lacks (mu = 1) bars rows without it, one it never holds, rows with."""
    b = prior + arithmetic.total(log_no, axis=0)
    if np.isfinite(b).all() and np.isfinite(log_mu).all():
        return Form(log_mu - log_no, b)
    never, always = np.isneginf(log_mu), np.isneginf(log_no)
    none = np.isneginf(prior) | (never & always).any(axis=0)  # a class without rows
    log_mu, log_no = np.where(never, 0.0, log_mu), np.where(always, 0.0, log_no)
    barred = never.astype(np.float64) - always.astype(np.float64)
    b = np.where(none, 0.0, prior) + arithmetic.total(log_no, axis=0)
    return Form(log_mu - log_no, b, (barred, always.sum(axis=0) + none.astype(np.float64)))
