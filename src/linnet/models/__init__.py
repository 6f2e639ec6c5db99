"""Models in the scikit-learn contract, one file a family; each ends as (W, b); a net has a head in place of b.

>>> sorted(MODELS)
['feed-forward', 'least-squares', 'lexicon', 'logistic', 'nb', 'nbsvm', 'perceptron', 'svm']
"""

from __future__ import annotations

from typing import Any

from linnet.models.feed_forward import FeedForward
from linnet.models.kernel_perceptron import KernelPerceptron
from linnet.models.kernels import RBF, Linear, Polynomial
from linnet.models.least_squares import LeastSquares
from linnet.models.lexicon import Lexicon
from linnet.models.logistic import LogisticRegression
from linnet.models.naive_bayes import MultinomialNB
from linnet.models.nbsvm import NBSVM
from linnet.models.perceptron import Perceptron
from linnet.models.svm import LinearSVM

__all__ = [
    "ESTIMATORS", "MODELS", "NBSVM", "RBF", "FeedForward", "KernelPerceptron", "LeastSquares", "Lexicon", "Linear",
    "LinearSVM", "LogisticRegression", "MultinomialNB", "Perceptron", "Polynomial",
]  # fmt: skip

MODELS: dict[str, type[Any]] = {
    "svm": LinearSVM,
    "logistic": LogisticRegression,
    "nb": MultinomialNB,
    "nbsvm": NBSVM,
    "perceptron": Perceptron,
    "least-squares": LeastSquares,
    "feed-forward": FeedForward,
    "lexicon": Lexicon,
}
"""What ``--model NAME`` and ``TextClassifier(NAME)`` know."""

ESTIMATORS: tuple[type[Any], ...] = (*(m for m in MODELS.values() if hasattr(m, "fit_matrix")), KernelPerceptron)
"""Every model for rows of numbers in the scikit-learn contract, also those that take no text. (A model with ``build`` in
place of ``fit_matrix``, as Lexicon, is an estimator over texts.)"""
