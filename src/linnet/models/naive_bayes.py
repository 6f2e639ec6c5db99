"""Naive Bayes: count, smooth, take logarithms.

If, given the class, words are drawn one by one from a bag, P(y | x) is proportional to P(y) prod_j theta_yj^x_j. Then
log P is linear in the counts x_j, so the model is W = log theta, b = log P(y), found by counting:

    theta_yj = (N_yj + alpha) / (N_y + alpha n_features),   P(y) = rows of y / rows

N_yj is how often feature j occurs in rows of class y, N_y the sum over j. alpha = 1 is Laplace's smoothing.

What is counted adds up over rows, batches and machines (``statistics``); what is made of it is a function of the sums
alone (``linear_form``). A variant of naive Bayes is another pair of those two methods.

Reference: Manning, Raghavan, Schuetze: Introduction to Information Retrieval, chapter 13; the notes, 000 section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from linnet._kernels import sparse
from linnet.errors import DataError
from linnet.features.recipe import Recipe
from linnet.models import inputs
from linnet.models.estimator import ProbabilityModel
from linnet.models.settings import above_zero, truth
from linnet.solvers.matrix import Matrix
from linnet.solvers.numerics import logsumexp
from linnet.solvers.report import OnPass, Weights

__all__ = ["MultinomialNB", "NaiveBayes", "Statistics"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Statistics:
    """What naive Bayes knows of its data: weighted rows of each class, and feature totals in each class."""

    rows: Floats  # (n_classes,)
    features: Floats  # (n_features, n_classes)

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(self.rows + other.rows, self.features + other.features)


class NaiveBayes(ProbabilityModel):
    """A family of models that are counted, not optimised; a member says what is counted and what it comes to."""

    class_count_: Floats
    feature_count_: Floats  # (n_classes, n_features)

    def statistics(self, X: Matrix, y: npt.NDArray[np.int32], n_classes: int, weight: Floats | None) -> Statistics:
        """Return what is counted; it adds up over parts of the data."""
        raise NotImplementedError

    def linear_form(self, counted: Statistics) -> tuple[Floats, Floats]:
        """Return the scores as W, (n_features, n_classes), and b, (n_classes,): log P(x, y) up to what y shares."""
        raise NotImplementedError

    def fit_matrix(
        self,
        X: Matrix,
        y: npt.NDArray[np.int32],
        n_classes: int,
        *,
        sample_weight: Floats | None = None,
        threads: int = 1,
        on_pass: OnPass | None = None,
    ) -> Weights:
        """Count and take logarithms: one pass, nothing to report, and for two classes the difference."""
        if X.gain is not None:
            raise DataError(f"{type(self).__name__} takes plain features; a gain per class is for LinearSVM")
        X = X if X.scale is None and X.n_blocks == 1 else X.explicit()  # counting ones needs no values
        W, b = self._learn(self.statistics(X, y, n_classes, sample_weight))
        return W.astype(X.values.dtype), b

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log P(x, y) for each class, up to what all classes share, (n_rows, n_classes)."""
        return self._rows(X).dot(self.feature_log_prob_.T) + self.class_log_prior_

    def _learn(self, counted: Statistics) -> tuple[Floats, Floats]:
        W, b = self.linear_form(counted)
        self.class_count_ = counted.rows
        self.feature_count_ = counted.features.T
        self.class_log_prior_ = b
        self.feature_log_prob_ = W.T
        return (W[:, 1:] - W[:, :1], b[1:] - b[:1]) if W.shape[1] == 2 else (W, b)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch; the first call must name all classes. The order of batches does not matter."""
        name = type(self).__name__
        first = not hasattr(self, "classes_")
        M = self._rows(X, reset=first)
        if first and classes is None:
            raise DataError("classes must be passed on the first call to partial_fit.")
        if classes is not None:
            named = np.unique(np.asarray(classes))
            if not first and not np.array_equal(named, self.classes_):
                raise DataError(f"classes={named.tolist()} are not those of the first call: {self.classes_.tolist()}")
            if len(named) < 2:
                raise DataError(f"{name} needs two classes or more; got 1 class: {classes!r}")
        known = named if first else self.classes_
        labels = inputs.as_labels(y, len(M), name)
        index = np.minimum(np.searchsorted(known, labels), len(known) - 1)
        if (known[index] != labels).any():
            unknown = np.unique(labels[known[index] != labels])
            raise DataError(f"y holds {unknown.tolist()}, which are not in classes: {known.tolist()}")
        weight = inputs.as_weight(sample_weight, len(M))
        counted = self.statistics(M.explicit(), index.astype(np.int32), len(known), weight)
        if first:
            self.classes_ = known
        else:
            counted = Statistics(self.class_count_, self.feature_count_.T) + counted
        self._keep(*self._learn(counted))
        return self


class MultinomialNB(NaiveBayes):
    """Bags of words: features are counts, or anything else that is not negative.

    Parameters: ``alpha`` is added to every count, one number or one for each feature. ``fit_prior`` learns how frequent
    classes are; without, they are equally likely. ``class_prior`` gives their probabilities instead, classes sorted.

    Learned, beside the usual: ``feature_log_prob_`` (n_classes, n_features), ``class_log_prior_``, ``feature_count_``,
    ``class_count_``. With two classes ``coef_`` is the difference of the two rows.

    >>> model = MultinomialNB().fit([[2, 0, 1], [0, 3, 1]], ["sport", "trade"])
    >>> model.predict_proba([[1, 0, 0]]).round(4).tolist()
    [[0.7778, 0.2222]]
    """

    recipe: ClassVar[Recipe] = Recipe(idf=False, normalise=False, grid=(("alpha", (1.0, 0.01, 0.03, 0.1, 0.3, 3.0)),))
    non_negative: ClassVar[bool] = True

    def __init__(self, alpha: float = 1.0, *, fit_prior: bool = True, class_prior: npt.ArrayLike | None = None) -> None:
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # its checks hand out round clouds of points, which are no counts
        return tags

    def statistics(self, X: Matrix, y: npt.NDArray[np.int32], n_classes: int, weight: Floats | None) -> Statistics:
        """Count rows and sum features, by class."""
        ones = np.ones(len(X)) if weight is None else weight
        features = np.zeros((X.n_features, n_classes))
        sparse.class_sums(X.indptr, X.indices, X.values, y, ones, features)
        return Statistics(np.bincount(y, weights=ones, minlength=n_classes).astype(np.float64), features)

    def linear_form(self, counted: Statistics) -> tuple[Floats, Floats]:
        """Return log theta and log P(y)."""
        smoothed = counted.features + self._alpha(len(counted.features))
        W = np.log(smoothed) - np.log(smoothed.sum(axis=0))
        return W, self._log_prior(counted.rows)

    def _alpha(self, n_features: int) -> Floats | float:
        if np.ndim(self.alpha) == 0:
            return above_zero("alpha", self.alpha)
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.shape != (n_features,) or not (alpha > 0.0).all():
            raise DataError(f"alpha must be above 0, one number or one a feature ({n_features}); got {self.alpha!r}")
        return alpha[:, None]

    def _log_prior(self, rows: Floats) -> Floats:
        fit_prior = truth("fit_prior", self.fit_prior)
        if self.class_prior is not None:
            prior = np.asarray(self.class_prior, dtype=np.float64)
            if prior.shape != rows.shape or not (prior > 0.0).all():
                raise DataError(f"class_prior must hold a number above 0 for each of {len(rows)} classes, got {prior}")
            return np.log(prior)
        if not fit_prior:
            return np.full(len(rows), -np.log(len(rows)))
        with np.errstate(divide="ignore"):  # a class that no batch has held yet has probability zero
            logs = np.log(rows)
        return np.asarray(logs - logsumexp(logs), dtype=np.float64)
