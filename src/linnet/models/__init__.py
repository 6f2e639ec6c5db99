"""Models in the scikit-learn contract, one file a model; each ends as (W, b) where it is linear; a net has a head for b.

>>> sorted(MODELS)
['bernoulli', 'feed-forward', 'least-squares', 'lexicon', 'logistic', 'nb', 'nbsvm', 'passive-aggressive', 'perceptron', 'svm', 'votes']
"""

from __future__ import annotations

from typing import Any

from linnet.models.feed_forward import FeedForward
from linnet.models.kernel_perceptron import RBF, KernelPerceptron, Linear, Polynomial
from linnet.models.least_squares import LeastSquares
from linnet.models.lexicon import Lexicon
from linnet.models.logistic import LogisticRegression
from linnet.models.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from linnet.models.nbsvm import NBSVM
from linnet.models.passive_aggressive import PassiveAggressive
from linnet.models.perceptron import Perceptron
from linnet.models.svm import LinearSVM
from linnet.models.word_votes import WordVotes

__all__ = [
    "ESTIMATORS", "MODELS", "NBSVM", "RBF", "BernoulliNB", "CategoricalNB", "FeedForward", "GaussianNB",
    "KernelPerceptron", "LeastSquares", "Lexicon", "Linear", "LinearSVM", "LogisticRegression", "MultinomialNB",
    "PassiveAggressive", "Perceptron", "Polynomial", "WordVotes",
]  # fmt: skip

MODELS: dict[str, type[Any]] = {
    "svm": LinearSVM,
    "logistic": LogisticRegression,
    "nb": MultinomialNB,
    "bernoulli": BernoulliNB,
    "nbsvm": NBSVM,
    "perceptron": Perceptron,
    "passive-aggressive": PassiveAggressive,
    "least-squares": LeastSquares,
    "votes": WordVotes,
    "feed-forward": FeedForward,
    "lexicon": Lexicon,
}
"""What ``--model NAME`` and ``TextClassifier(NAME)`` know."""

ESTIMATORS: tuple[type[Any], ...] = (
    *(m for m in MODELS.values() if m.traits.learns), CategoricalNB, GaussianNB, KernelPerceptron,
)  # fmt: skip
"""Every model for rows of numbers in the scikit-learn contract, also those that take no text. (A model with ``build`` in
place of ``fit_matrix``, as Lexicon, is an estimator over texts.)"""
