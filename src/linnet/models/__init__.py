"""Models in the scikit-learn contract, one file a model; each ends as (W, b) where it is linear.

>>> sorted(MODELS)
['bernoulli', 'logistic', 'nb', 'svm', 'votes']
"""

from __future__ import annotations

from typing import Any

from linnet.models.bernoulli import BernoulliNB
from linnet.models.categorical import CategoricalNB
from linnet.models.gaussian import GaussianNB
from linnet.models.logistic import LogisticRegression
from linnet.models.multinomial import MultinomialNB
from linnet.models.svm import LinearSVM
from linnet.models.word_votes import WordVotes

__all__ = [
    "ESTIMATORS", "MODELS", "BernoulliNB", "CategoricalNB", "GaussianNB", "LinearSVM", "LogisticRegression",
    "MultinomialNB", "WordVotes",
]  # fmt: skip

MODELS: dict[str, type[Any]] = {
    "svm": LinearSVM,
    "logistic": LogisticRegression,
    "nb": MultinomialNB,
    "bernoulli": BernoulliNB,
    "votes": WordVotes,
}
"""What ``--model NAME`` and ``TextClassifier(NAME)`` know."""

ESTIMATORS: tuple[type[Any], ...] = (*MODELS.values(), CategoricalNB, GaussianNB)
"""Every model in the scikit-learn contract: those that take text, and those for rows of numbers only."""
