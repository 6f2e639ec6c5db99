"""Naive Bayes, the family: count, estimate, take logarithms.

If the features of a row are independent once its class is known, P(y | x) is proportional to P(y) prod_j P(x_j | y). A
member of the family says what P(x_j | y) is: words drawn from a bag (multinomial), words present or absent (bernoulli),
one of several values (categorical), a bell curve (gaussian). What all members share is here:

* What is counted adds up over rows, batches and machines (``statistics``); what is made of it depends on the sums alone.
* Three estimates, for class shares and feature shares alike: "mle", "map" and "predictive".
* log 0 = -inf: a class under which a row is impossible has the score -inf and the probability 0. A row that is
  impossible under every class says nothing, so its answer is the prior.
* ``sample`` draws new rows, ``partial_fit`` goes on with the next batch.

Scores are ``encode(X) W + b``, with W the logarithms. ``coef_`` and ``intercept_`` are those, for two classes their
difference; where log 0 occurs they hold log 5e-324 instead, the logarithm of the smallest number above zero, so that
they are finite and can be stored; ``predict`` takes the exact way.

Reference: Manning, Raghavan, Schuetze: Introduction to Information Retrieval, chapter 13.

With counts N of K outcomes, their sum N., and a Dirichlet prior alpha,

    mle         N_k / N.                                      what was seen; nothing unseen can happen
    map         (N_k + alpha_k - 1) / (N. + sum alpha - K)    the mode of the posterior; alpha = 1 is mle
    predictive  (N_k + alpha_k) / (N. + sum alpha)            the mean of the posterior: add-alpha smoothing

With two outcomes this is the Beta prior.

Here are the models of words; those of columns of numbers are in :mod:`linnet.models.naive_bayes_columns`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import sparse
from linnet.array_types import Array, Floats, Ints
from linnet.errors import DataError
from linnet.estimator import above_zero, one_of, truth, whole
from linnet.features.blocks import Words
from linnet.features.plan import FeaturePlan
from linnet.models import inputs
from linnet.models.estimator import NEVER, CountingModel, ProbabilityModel, Traits
from linnet.solvers.callbacks import Weights
from linnet.solvers.matrix import Matrix, TrainingSet

ESTIMATES = ("mle", "map", "predictive")
GRID = (("alpha", (1.0, 0.01, 0.03, 0.1, 0.3, 3.0)),)
LOG_ZERO = -744.4400719213812
"""What log 0 counts as in coef_ and intercept_: the logarithm of the smallest double."""


def per_item(name: str, value: Any, n: int, item: str) -> Floats | float:
    """Return a prior: a number above 0, or one for each item."""
    if np.ndim(value) == 0:
        return above_zero(name, value)
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (n,) or not (array > 0.0).all() or not np.isfinite(array).all():
        raise DataError(f"{name} must be above 0, one number or one a {item} ({n}); got {value!r}")
    return array


def pseudo_counts(counts: Floats, alpha: Floats | float, estimate: str, name: str = "alpha") -> Floats:
    """Return what an estimate shares out: N, N + alpha - 1 or N + alpha.

    >>> pseudo_counts(np.array([3.0, 1.0]), 2.0, "map").tolist()
    [4.0, 2.0]
    """
    if estimate == "mle":
        return counts
    if estimate == "predictive":
        return np.asarray(counts + alpha, dtype=np.float64)
    found = np.asarray(counts + (alpha - 1.0), dtype=np.float64)
    if (found < 0.0).any():
        raise DataError(
            f"estimate='map' is not defined for {name}={np.min(alpha):g}: the posterior has no mode where a count plus "
            f"{name} is below 1; take {name} of 1 (maximum likelihood) or more, or estimate='predictive'"
        )
    return found


def log_shares(counts: Floats, total: Floats) -> Floats:
    """Return log(counts / total), one total a class (the last axis); -inf for 0, and where the total is 0.

    >>> log_shares(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([1.0, 0.0])).tolist()
    [[0.0, -inf], [-inf, -inf]]
    """
    with np.errstate(invalid="ignore"):
        logs: Floats = arithmetic.log(counts)
        logs -= arithmetic.log(total)
    if not np.all(total):
        logs[np.isnan(logs)] = -np.inf
    return logs


@dataclass(frozen=True)
class Form:
    """log P(x, y) = X W + b, and -inf where x is impossible for y: where present(X) V + v counts a reason or more.

    Keeping log 0 out of W and b, and its occurrences in (V, v), keeps inf - inf out of the sums.
    """

    W: Floats  # (n_columns, n_classes)
    b: Floats  # (n_classes,)
    barred: tuple[Floats, Floats] | None = None  # V and v, of the same shapes

    @classmethod
    def of_logs(cls, W: Floats, b: Floats) -> Form:
        """Take logarithms that may be -inf."""
        if np.isfinite(b).all() and np.isfinite(W).all():
            return cls(W, b)
        no, never = np.isneginf(W), np.isneginf(b)
        barred = no.astype(np.float64), never.astype(np.float64)
        return cls(np.where(no, 0.0, W), np.where(never, 0.0, b), barred)

    def joint(self, X: Matrix) -> Floats:
        """Return log P(x, y), (n_rows, n_classes)."""
        scores = X.dot(self.W) + self.b
        if self.barred is not None:
            present = replace(X, values=(X.values != 0).astype(X.values.dtype))
            V, v = self.barred
            scores[present.dot(V) + v > 0.5] = -np.inf
        return scores

    def finite(self) -> tuple[Floats, Floats]:
        """Return W and b with LOG_ZERO for log 0, and for two classes their difference."""
        W, b = self.W, self.b
        if self.barred is not None:
            W, b = W + LOG_ZERO * self.barred[0], b + LOG_ZERO * self.barred[1]
        return (W[:, 1:] - W[:, :1], b[1:] - b[:1]) if len(b) == 2 else (W, b)


@dataclass(frozen=True)
class Statistics:
    """What naive Bayes knows of its data: weighted rows of each class, and feature totals in each class."""

    rows: Floats  # (n_classes,)
    features: Floats  # (n_features, n_classes)

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(self.rows + other.rows, self.features + other.features)

    def __iadd__(self, other: Statistics) -> Statistics:
        self.rows[:] += other.rows
        self.features[:] += other.features
        return self


def class_sums(rows: TrainingSet) -> Statistics:
    """Return the weighted rows of each class, and the sum of each feature over them."""
    X, weight = rows.X, rows.weights
    features = np.zeros((X.n_features, rows.n_classes))
    sparse.class_sums(X.indptr, X.indices, X.values, rows.y, weight, features)
    return Statistics(np.bincount(rows.y, weight, rows.n_classes).astype(np.float64), features)


@dataclass(eq=False, repr=False, kw_only=True)
class _Settings:
    """The settings of all members."""

    estimate: str = "predictive"
    class_alpha: npt.ArrayLike | None = None
    fit_prior: bool = True
    class_prior: npt.ArrayLike | None = None


class NaiveBayes(_Settings, CountingModel, ProbabilityModel):
    """A family of models that are counted, not optimised.

    A member says what is counted (``statistics``), what it comes to (``_estimate``), how rows enter the linear form
    (``_encode``) and how new ones are drawn (``_draw``).

    Settings of all: ``estimate`` "mle", "map" or "predictive". ``class_alpha``, a number or one a class, is the Dirichlet
    prior on classes, taken as ``estimate`` says; with None their shares are those seen. ``fit_prior=False`` makes classes
    equally likely; ``class_prior`` gives their probabilities, classes sorted.
    """

    alpha: Any
    """The prior on features, of members that count."""

    counted_: Any
    """What was counted so far: a value that adds up."""
    class_log_prior_: Floats
    form_: Form | None
    """The scores of all classes as a linear form, where they are one."""

    def _estimate(self, counted: Any, estimate: str) -> Form | None:
        """Turn counts into parameters; returns the linear form, or None where scores are not linear."""
        raise NotImplementedError

    def _encode(self, X: Matrix) -> Matrix:
        return X

    def _draw(self, y: Ints, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def encode(self, X: Any) -> Matrix:
        """Return rows as the linear form takes them: scores of all classes are ``encode(X).dot(form_.W) + form_.b``."""
        return self._encode(self._rows(X))

    @property
    def class_count_(self) -> Floats:
        """Rows of each class, by their weights."""
        return np.asarray(self.counted_.rows)

    @property
    def feature_count_(self) -> Floats:
        """Totals of each feature in each class, (n_classes, n_features), of members that count words."""
        return np.asarray(self.counted_.features.T)

    # ---- fitting

    def statistics(self, rows: TrainingSet) -> Any:
        """Count rows and sum features, by class."""
        return class_sums(rows)

    def _fit_rows(self, rows: TrainingSet) -> None:
        self._learn(self._of_block(rows), rows.X.values.dtype)

    def learn(self, statistics: Any, dtype: Any) -> Weights:
        """Take logarithms; for two classes the difference."""
        self._learn(statistics, dtype)
        if self.form_ is None:
            raise DataError(f"{self!r} is not linear: it has no weights to give; fit and predict with rows of numbers")
        return self.coef_.T, self.intercept_

    def learn_label(self, statistics: Any, dtype: Any) -> Weights:
        """Take logarithms for one label of several; alpha is of what all rows hold, in place of the same for every feature.

        With equal pseudo-counts each word that a rare label has not met speaks against it, and long texts score low
        whatever they say: labels of one text are ranked well, texts for one label are not, and no threshold divides
        them. Here such a word says nothing until the label has rows enough: theta_yj = (N_yj + alpha N_j) / (N_y + alpha N).
        """
        counted, estimate = statistics, one_of("estimate", self.estimate, ESTIMATES)
        alpha = np.mean(np.asarray(pseudo_counts(np.zeros(()), np.asarray(self.alpha, np.float64), estimate)))
        rows, features = arithmetic.total(counted.rows), arithmetic.total(counted.features, axis=1)[:, None]
        pooled = Statistics(counted.rows + alpha * rows, counted.features + alpha * features)
        self.class_log_prior_ = self._log_prior(counted.rows, estimate)
        form = self._estimate(pooled, "mle")
        assert form is not None  # noqa: S101 - naive Bayes of texts is linear
        W, b = form.finite()
        return np.ascontiguousarray(W, dtype=dtype), b

    def one_vs_rest(self, rows: TrainingSet) -> Weights:
        """Count the rows of each label and all rows, once; weights that differ from label to label need a pass each."""
        if rows.weight is not None and rows.weight.ndim == 2:
            self.counted_ = None
            return super().one_vs_rest(rows)
        return self.learn_labels(self._of_block(rows), rows.X.values.dtype)

    def _of_block(self, rows: TrainingSet) -> Any:
        if not rows.multilabel or (rows.weight is not None and rows.weight.ndim == 2):
            return super()._of_block(rows)
        numbers, labels = np.nonzero(rows.y)
        each, y = np.append(numbers, np.arange(len(rows))), np.append(labels, np.full(len(rows), rows.n_classes))
        weight = None if rows.weight is None else rows.weight[each]
        X = self._plain(rows).X.take(each)
        return self.statistics(replace(rows, X=X, y=y.astype(np.int32), n_classes=rows.n_classes + 1, weight=weight))

    def learn_labels(self, counted: Any, dtype: Any) -> Weights:
        """Take logarithms for each label against the rest; the last counts are those of all rows.

        A label that no row has, or every row, is never, or always, the answer.
        """
        self.counted_ = None
        if not isinstance(counted, Statistics):
            return super().learn_labels(counted, dtype)
        n_labels, all_rows, every = len(counted.rows) - 1, counted.rows[-1], counted.features[:, -1]
        W, b = np.zeros((len(every), n_labels), dtype), np.full(n_labels, NEVER)
        for c in range(n_labels):
            own, with_label = counted.rows[c], counted.features[:, c]
            if 0.0 < own < all_rows:
                sides = Statistics(np.array([all_rows - own, own]), np.stack([every - with_label, with_label], axis=1))
                column, shift = self.learn_label(sides, dtype)
                W[:, c], b[c] = column[:, 0], shift[0]
            elif own:
                b[c] = -NEVER
        self.counted_ = counted
        return W, b

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch; the first call must name all classes. The order of batches does not matter."""
        batch, known = self._batch(X, y, classes, sample_weight)
        counted = self._of_block(batch)
        self._learn(self.counted_ + counted if hasattr(self, "classes_") else counted, np.dtype(np.float64))
        self.classes_ = known
        return self

    def _learn(self, counted: Any, dtype: Any) -> None:
        estimate = one_of("estimate", self.estimate, ESTIMATES)
        self.class_log_prior_ = self._log_prior(counted.rows, estimate)
        self.form_ = self._estimate(counted, estimate)
        self.counted_ = counted
        vars(self).pop("coef_", None)
        vars(self).pop("intercept_", None)
        if self.form_ is not None:
            W, b = self.form_.finite()
            self._keep(np.ascontiguousarray(W, dtype=dtype), b)

    def _log_prior(self, rows: Floats, estimate: str) -> Floats:
        fit_prior = truth("fit_prior", self.fit_prior)
        if self.class_alpha is not None:
            if self.class_prior is not None or not fit_prior:
                raise DataError("class_alpha is for shares that are learned: drop class_prior and fit_prior=False")
            alpha = per_item("class_alpha", self.class_alpha, len(rows), "class")
            shares = pseudo_counts(rows, alpha, estimate, "class_alpha")
            return log_shares(shares, np.array([arithmetic.total(shares)]))
        if self.class_prior is not None:
            prior = np.asarray(self.class_prior, dtype=np.float64)
            if prior.shape != rows.shape or not (prior > 0.0).all():
                raise DataError(f"class_prior must hold a number above 0 for each of {len(rows)} classes, got {prior}")
            return arithmetic.log(prior)
        if not fit_prior:
            return np.full(len(rows), -float(arithmetic.log(len(rows))))
        # a class that no batch has held yet has probability zero
        return log_shares(rows, np.array([arithmetic.total(rows)]))

    # ---- using

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log P(x, y) for each class, up to what all classes share, (n_rows, n_classes); -inf if impossible."""
        return self._joint(self._rows(X))

    def _joint(self, X: Matrix) -> Floats:
        assert self.form_ is not None
        return self.form_.joint(self._encode(X))

    def _scores(self, X: Any) -> Floats:
        M = self._rows(X)
        if self.form_ is not None and self.form_.barred is None:
            return self._encode(M).dot(self.coef_.T) + self.intercept_
        return self._odds(self._joint(M))

    def _odds(self, joint: Floats) -> Floats:
        """Let the prior answer for rows that are impossible under every class; two classes share one score."""
        joint[np.isneginf(joint).all(axis=1)] = self.class_log_prior_
        return joint[:, 1:] - joint[:, :1] if joint.shape[1] == 2 else joint

    def sample(self, n: int = 1, random_state: Any = 0, **how: Any) -> tuple[Floats, Array]:
        """Draw n new rows with the fitted probabilities: X, (n, n_features), and their labels.

        First the class, then, given the class, the features. MultinomialNB takes ``length``, the number of words of a row.
        """
        inputs.check_fitted(self)
        rng = np.random.Generator(np.random.PCG64(inputs.seed_of(random_state)))
        shares = np.exp(self.class_log_prior_)
        y = rng.choice(len(shares), size=whole("n", n), p=shares / shares.sum())
        return self._draw(y, rng, **how), np.asarray(self.classes_[y])


@dataclass(eq=False, repr=False)
class MultinomialNB(NaiveBayes):
    """Bags of words: features are counts, or anything else that is not negative.

    A text is words drawn one by one from the bag of its class.

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
    >>> X, y = model.sample(2, random_state=1, length=5)
    >>> X.sum(axis=1).tolist()
    [5.0, 5.0]
    """

    plan = FeaturePlan(idf=False, norm=None, grid=GRID)
    traits = Traits(sums="statistics", non_negative=True, poor_score=True, incremental=True, bytes_per_weight=90)

    alpha: npt.ArrayLike = 1.0
    _: KW_ONLY
    oov: bool = False
    rare: int = 0

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

    def _draw(self, y: Ints, rng: np.random.Generator, length: int | None = None) -> Floats:
        """Draw bags of words: of ``length`` words each; with None their number is Poisson, with the mean of its class in training.

        What the entry for other words would get is shared by the columns that are part of it; without such, others get it.
        """
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
        return X


@dataclass(eq=False, repr=False)
class BernoulliNB(NaiveBayes):
    """Words present or absent: a value above 0 is present, everything else absent.

    Every word of the vocabulary is tossed for, present or absent, with the coin of the class.

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

    plan = FeaturePlan(features=(Words(1, 2),), idf=False, norm=None, grid=GRID)
    traits = Traits(sums="statistics", presence=True, poor_score=True, incremental=True, bytes_per_weight=110)

    alpha: float | tuple[float, float] = 1.0

    def _encode(self, X: Matrix) -> Matrix:
        X = X.explicit()
        return replace(X, values=(X.values > 0).astype(X.values.dtype))

    def statistics(self, rows: TrainingSet) -> Statistics:
        """Count rows, and rows that hold each feature, by class."""
        X = rows.X
        none = X.values[:0]
        return class_sums(replace(rows, X=replace(X, values=none) if (X.values > 0).all() else self._encode(X)))

    def _estimate(self, counted: Statistics, estimate: str) -> Form:
        beta_1, beta_0 = np.broadcast_to(per_item("alpha", self.alpha, 2, "side, beta_1 and beta_0"), 2).tolist()
        held = np.minimum(counted.features, counted.rows)  # more only where hashing gave two features one column
        present, absent = pseudo_counts(held, beta_1, estimate), pseudo_counts(counted.rows - held, beta_0, estimate)
        total = counted.rows + {"mle": 0.0, "map": beta_1 + beta_0 - 2.0, "predictive": beta_1 + beta_0}[estimate]
        log_mu, log_no = log_shares(present, total), log_shares(absent, total)
        self.feature_log_prob_, self.feature_log_neg_prob_ = log_mu.T, log_no.T
        return _bernoulli_form(log_mu, log_no, self.class_log_prior_)

    def _draw(self, y: Ints, rng: np.random.Generator) -> Floats:
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
