"""Naive Bayes, the family: count, estimate, take logarithms.

If the features of a row are independent once its class is known, P(y | x) is proportional to P(y) prod_j P(x_j | y). A
member of the family says what P(x_j | y) is: words drawn from a bag (multinomial), words present or absent (bernoulli),
one of several values (categorical), a bell curve (gaussian). What all members share is here:

* What is counted adds up over rows, batches and machines (``statistics``); what is made of it depends on the sums alone.
* Three estimates, for class shares and feature shares alike: "mle", "map" and "predictive" (:mod:`.estimates`).
* log 0 = -inf: a class under which a row is impossible has the score -inf and the probability 0. A row that is
  impossible under every class says nothing, so its answer is the prior.
* ``sample`` draws new rows, ``partial_fit`` goes on with the next batch.

Scores are ``encode(X) W + b``, with W the logarithms. ``coef_`` and ``intercept_`` are those, for two classes their
difference; where log 0 occurs they hold log 5e-324 instead, the logarithm of the smallest number above zero, so that
they are finite and can be stored; ``predict`` takes the exact way.

Reference: Manning, Raghavan, Schuetze: Introduction to Information Retrieval, chapter 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import sparse
from linnet.errors import DataError
from linnet.models import inputs
from linnet.models.estimates import ESTIMATES, Form, log_shares, per_item, pseudo_counts
from linnet.models.estimator import CountingModel, ProbabilityModel
from linnet.models.settings import one_of, truth, whole
from linnet.solvers.callbacks import Weights
from linnet.solvers.matrix import Matrix
from linnet.solvers.training_set import TrainingSet

__all__ = ["NaiveBayes", "Statistics", "class_sums"]

Floats = npt.NDArray[np.float64]


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


class NaiveBayes(CountingModel, ProbabilityModel):
    """A family of models that are counted, not optimised.

    A member says what is counted (``statistics``), what it comes to (``_estimate``), how rows enter the linear form
    (``_encode``) and how new ones are drawn (``_draw``).

    Settings of all: ``estimate`` "mle", "map" or "predictive". ``class_alpha``, a number or one a class, is the Dirichlet
    prior on classes, taken as ``estimate`` says; with None their shares are those seen. ``fit_prior=False`` makes classes
    equally likely; ``class_prior`` gives their probabilities, classes sorted.
    """

    alpha: Any
    """The prior on features, of members that count."""
    estimate: str
    class_alpha: npt.ArrayLike | None
    fit_prior: bool
    class_prior: npt.ArrayLike | None

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

    def _draw(self, y: npt.NDArray[np.int64], rng: np.random.Generator) -> Floats:
        raise NotImplementedError

    def encode(self, X: Any) -> Matrix:
        """Return rows as the linear form takes them: scores of all classes are ``encode(X).dot(form_.W) + form_.b``."""
        return self._encode(self._rows(X))

    @property
    def class_count_(self) -> Floats:
        """Rows of each class, by their weights."""
        return np.asarray(self.counted_.rows)

    # ---- fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows and their labels; rows of weight zero are as good as absent."""
        M = self._rows(X, reset=True)
        name = type(self).__name__
        labels = inputs.as_labels(y, len(M), name)
        weight = inputs.as_weight(sample_weight, len(M))
        classes, index = inputs.index_of(labels, weight, name)
        self._learn(self._of_block(TrainingSet(M, index, len(classes), weight)), M.values.dtype)
        self.classes_ = classes
        return self

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
        every = Statistics(
            np.array([arithmetic.total(counted.rows)]), arithmetic.total(counted.features, axis=1)[:, None]
        )
        pooled = Statistics(counted.rows + alpha * every.rows, counted.features + alpha * every.features)
        self.class_log_prior_ = self._log_prior(counted.rows, estimate)
        form = self._estimate(pooled, "mle")
        assert form is not None  # noqa: S101 - naive Bayes of texts is linear
        W, b = form.finite()
        return np.ascontiguousarray(W, dtype=dtype), b

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch; the first call must name all classes. The order of batches does not matter."""
        first = not hasattr(self, "classes_")
        M = self._rows(X, reset=first)
        known, index = inputs.batch_labels(self, y, len(M), classes)
        weight = inputs.as_weight(sample_weight, len(M))
        counted = self._of_block(TrainingSet(M, index, len(known), weight))
        self._learn(counted if first else self.counted_ + counted, np.dtype(np.float64))
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
                raise DataError(
                    "class_alpha is for class shares that are learned: drop class_prior and fit_prior=False"
                )
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
        return log_shares(
            rows, np.array([arithmetic.total(rows)])
        )  # a class that no batch has held yet has probability zero

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

    def sample(self, n: int = 1, random_state: Any = 0) -> tuple[Floats, npt.NDArray[Any]]:
        """Draw n new rows with the fitted probabilities: X, (n, n_features), and their labels.

        First the class, then, given the class, the features.
        """
        self._check_fitted()
        rng = np.random.Generator(np.random.PCG64(inputs.seed_of(random_state)))
        y = self._draw_classes(n, rng)
        return self._draw(y, rng), np.asarray(self.classes_[y])

    def _draw_classes(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        shares = np.exp(self.class_log_prior_)
        return rng.choice(len(shares), size=whole("n", n), p=shares / shares.sum())
