"""Naive Bayes of words: drawn one by one from a bag (multinomial), or present and absent (Bernoulli).

Multinomial naive Bayes: a text is words drawn one by one from the bag of its class.

    log P(x, y) = log P(y) + sum_j x_j log theta_yj + what all classes share,     theta_yj = share of word j in class y

so W = log theta, b = log P(y). With N_yj, how often word j occurs in rows of class y, and a Dirichlet prior alpha:

    predictive  theta_yj = (N_yj + alpha) / (N_y + alpha n_words)        alpha = 1: Laplace's add-one smoothing
    map         theta_yj = (N_yj + alpha - 1) / (N_y + (alpha - 1) n_words)
    mle         theta_yj = N_yj / N_y

Words that were not seen. With ``oov=True`` the vocabulary has one more entry, "any other word", that is smoothed like the
others; columns that training never saw, or saw fewer than ``rare`` times in all, are that entry: their counts are pooled
and they share its weights. With 10,000 words in a class and 500 known ones, add-one then gives 1 / 10,501 to a known
word that the class never held, and to an unknown one.

A word that has no column at all (the text pipeline drops those) adds nothing to any score. Under the model it should add
``oov_log_prob_``; where that is the same for all classes, as with classes of equally many words, no answer changes. Else
each such word would have spoken for the class with fewer words by the difference.

Reference: McCallum and Nigam, A Comparison of Event Models, 1998.

Bernoulli naive Bayes: every word of the vocabulary is tossed for, present or absent, with the coin of the class.

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
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError
from linnet.estimator import truth, whole
from linnet.features.blocks import Words
from linnet.features.plan import FeaturePlan
from linnet.models.estimator import Traits
from linnet.models.inputs import seed_of
from linnet.models.naive_bayes import Form, NaiveBayes, Statistics, class_sums, log_shares, per_item, pseudo_counts
from linnet.solvers.matrix import Matrix
from linnet.solvers.training_set import TrainingSet

Floats = npt.NDArray[np.float64]


@dataclass(eq=False, repr=False)
class MultinomialNB(NaiveBayes):
    """Bags of words: features are counts, or anything else that is not negative.

    Parameters: ``alpha`` is the Dirichlet prior on words, one number or one for each feature. ``estimate`` is
    "predictive" (add alpha), "map" (add alpha - 1) or "mle" (alpha plays no part). ``oov`` adds an entry for other
    words, ``rare`` makes words seen fewer times than this part of it. ``class_alpha``, ``fit_prior``, ``class_prior``:
    see :class:`~linnet.models.naive_bayes.NaiveBayes`.

    Learned, beside the usual: ``feature_log_prob_`` (n_classes, n_features), ``class_log_prior_``, ``feature_count_``,
    ``class_count_``, and with oov ``oov_log_prob_`` (n_classes,) and ``oov_`` (n_features,), which columns are that
    entry. With two classes ``coef_`` is the difference of the two rows.

    >>> model = MultinomialNB().fit([[2, 0, 1], [0, 3, 1]], ["sport", "trade"])
    >>> model.predict_proba([[1, 0, 0]]).round(4).tolist()
    [[0.7778, 0.2222]]
    """

    plan: ClassVar[FeaturePlan] = FeaturePlan(idf=False, norm=None, grid=(("alpha", (1.0, 0.01, 0.03, 0.1, 0.3, 3.0)),))
    traits: ClassVar[Traits] = Traits(
        sums="statistics", non_negative=True, poor_score=True, incremental=True, bytes_per_weight=90
    )

    alpha: npt.ArrayLike = 1.0
    _: KW_ONLY
    estimate: str = "predictive"
    oov: bool = False
    rare: int = 0
    class_alpha: npt.ArrayLike | None = None
    fit_prior: bool = True
    class_prior: npt.ArrayLike | None = None

    @property
    def feature_count_(self) -> Floats:
        """Totals of each feature in each class, (n_classes, n_features)."""
        return np.asarray(self.counted_.features.T)

    def statistics(self, rows: TrainingSet) -> Statistics:
        """Count rows and sum features, by class."""
        return class_sums(rows)

    def _estimate(self, counted: Statistics, estimate: str) -> Form:
        N = counted.features  # (n_features, n_classes)
        alpha = per_item("alpha", self.alpha, len(N), "feature")
        column = alpha if isinstance(alpha, float) else alpha[:, None]
        vars(self).pop("oov_", None)
        vars(self).pop("oov_log_prob_", None)
        rare = whole("rare", self.rare, 0)
        if truth("oov", self.oov):
            W = self._with_oov(N, column, rare, estimate)
        elif rare > 0:
            raise DataError(f"rare={rare} makes words part of the entry for other words: set oov=True too")
        else:
            shares = pseudo_counts(N, column, estimate)
            W = log_shares(shares, arithmetic.total(shares, axis=0))
        self.feature_log_prob_ = W.T
        return Form.of_logs(W, self.class_log_prior_)

    def _with_oov(self, N: Floats, alpha: Floats | float, rare: int, estimate: str) -> Floats:
        """Pool the columns of words seldom or never seen; they share the weights of one more entry."""
        totals = arithmetic.total(N, axis=1)
        pooled = (totals == 0.0) | (totals < rare)
        one = alpha if isinstance(alpha, float) else arithmetic.mean(alpha)  # its prior: as for any other word
        kept = pseudo_counts(N[~pooled], alpha if isinstance(alpha, float) else alpha[~pooled], estimate)
        other = pseudo_counts(arithmetic.total(N[pooled], axis=0), one, estimate)
        total = arithmetic.total(kept, axis=0) + other
        W = np.empty_like(N)
        W[~pooled] = log_shares(kept, total)
        W[pooled] = self.oov_log_prob_ = log_shares(other, total)
        self.oov_ = pooled
        return W

    def sample(
        self, n: int = 1, random_state: Any = 0, *, length: int | None = None
    ) -> tuple[Floats, npt.NDArray[Any]]:
        """Draw n bags of words with the fitted probabilities, and their labels.

        Each has ``length`` words; with None their number is Poisson, with the mean of its class in training. What the
        entry for other words would get is shared by the columns that are part of it; without such, others get it.

        >>> model = MultinomialNB(estimate="mle").fit([[3, 1, 0], [0, 1, 3]], ["sport", "trade"])
        >>> X, y = model.sample(2, random_state=1, length=5)
        >>> X.sum(axis=1).tolist()
        [5.0, 5.0]
        """
        self._check_fitted()
        rng = np.random.Generator(np.random.PCG64(seed_of(random_state)))
        y = self._draw_classes(n, rng)
        if length is not None:
            lengths = np.full(len(y), whole("length", length, 0))
        else:
            mean = self.feature_count_.sum(axis=1) / np.maximum(self.class_count_, np.finfo(np.float64).tiny)
            lengths = rng.poisson(mean[y])
        X = np.zeros((len(y), self.n_features_in_))
        for c in np.unique(y):
            theta = np.exp(self.feature_log_prob_[c])
            if hasattr(self, "oov_") and self.oov_.any():
                theta[self.oov_] /= self.oov_.sum()
            if theta.any():
                X[y == c] = rng.multinomial(lengths[y == c], theta / theta.sum())
        return X, np.asarray(self.classes_[y])


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
        return _bernoulli_form(log_mu, log_no, self.class_log_prior_)

    def _beta(self) -> tuple[float, float]:
        pair = np.asarray(self.alpha, dtype=np.float64)
        if pair.shape not in ((), (2,)) or not (pair > 0.0).all() or not np.isfinite(pair).all():
            raise DataError(f"alpha must be a number above 0, or a pair of them (beta_1, beta_0), got {self.alpha!r}")
        beta_1, beta_0 = np.broadcast_to(pair, 2)
        return float(beta_1), float(beta_0)

    def _draw(self, y: npt.NDArray[np.int64], rng: np.random.Generator) -> Floats:
        return np.asarray(rng.random((len(y), self.n_features_in_)) < np.exp(self.feature_log_prob_)[y], np.float64)


def _bernoulli_form(log_mu: Floats, log_no: Floats, prior: Floats) -> Form:
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
