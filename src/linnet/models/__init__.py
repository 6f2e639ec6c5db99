"""Models in the scikit-learn contract, one file a family; each ends as (W, b).

>>> sorted(MODELS)
['least-squares', 'logistic', 'nb', 'nbsvm', 'perceptron', 'svm']
"""

from __future__ import annotations

from typing import Any

from linnet.models.kernel_perceptron import KernelPerceptron
from linnet.models.kernels import RBF, Linear, Polynomial
from linnet.models.least_squares import LeastSquares
from linnet.models.logistic import LogisticRegression
from linnet.models.naive_bayes import MultinomialNB
from linnet.models.nbsvm import NBSVM
from linnet.models.perceptron import Perceptron
from linnet.models.svm import LinearSVM

__all__ = [
    "ESTIMATORS", "MODELS", "NBSVM", "RBF", "KernelPerceptron", "LeastSquares", "Linear", "LinearSVM",
    "LogisticRegression", "MultinomialNB", "Perceptron", "Polynomial",
]  # fmt: skip

MODELS: dict[str, type[Any]] = {
    "svm": LinearSVM,
    "logistic": LogisticRegression,
    "nb": MultinomialNB,
    "nbsvm": NBSVM,
    "perceptron": Perceptron,
    "least-squares": LeastSquares,
}
"""What ``--model NAME`` and ``TextClassifier(NAME)`` know."""

ESTIMATORS: tuple[type[Any], ...] = (*MODELS.values(), KernelPerceptron)
"""Every model in the scikit-learn contract: those that take text, and those for rows of numbers only."""
