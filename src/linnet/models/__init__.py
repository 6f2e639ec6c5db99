"""Models in the scikit-learn contract, one file a family; each ends as (W, b).

>>> sorted(MODELS)
['logistic', 'nb', 'svm']
"""

from __future__ import annotations

from linnet.models.estimator import LinearClassifier
from linnet.models.logistic import LogisticRegression
from linnet.models.naive_bayes import MultinomialNB
from linnet.models.svm import LinearSVM

__all__ = ["MODELS", "LinearSVM", "LogisticRegression", "MultinomialNB"]

MODELS: dict[str, type[LinearClassifier]] = {
    "svm": LinearSVM,
    "logistic": LogisticRegression,
    "nb": MultinomialNB,
}
"""What ``--model NAME`` and ``TextClassifier(NAME)`` know."""
