"""Models in the scikit-learn contract, one file a family; each ends as (W, b); a net has a head in place of b.

>>> sorted(MODELS)
['feed-forward', 'logistic', 'nb', 'svm']
"""

from __future__ import annotations

from typing import Any

from linnet.models.feed_forward import FeedForward
from linnet.models.logistic import LogisticRegression
from linnet.models.naive_bayes import MultinomialNB
from linnet.models.svm import LinearSVM

__all__ = ["ESTIMATORS", "MODELS", "FeedForward", "LinearSVM", "LogisticRegression", "MultinomialNB"]

MODELS: dict[str, type[Any]] = {
    "svm": LinearSVM,
    "logistic": LogisticRegression,
    "nb": MultinomialNB,
    "feed-forward": FeedForward,
}
"""What ``--model NAME`` and ``TextClassifier(NAME)`` know."""

ESTIMATORS: tuple[type[Any], ...] = (*MODELS.values(),)
"""Every model in the scikit-learn contract: those that take text, and those for rows of numbers only."""
