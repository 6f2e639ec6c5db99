"""Models in the scikit-learn contract, one file a model; each ends as (W, b) where it is linear; a net has a head for b.

>>> sorted(MODELS)
['bernoulli', 'feed-forward', 'least-squares', 'lexicon', 'logistic', 'nb', 'nbsvm', 'passive-aggressive', 'perceptron', 'svm', 'votes']
>>> MODELS["svm"]
<class 'linnet.models.svm.LinearSVM'>
"""

from __future__ import annotations

from collections import UserDict
from typing import Any

from linnet.lazy import attach

_get, __dir__, __all__ = attach(__name__)


class ModelNames(UserDict[str, Any]):
    """Models by name; a model is imported when it is first asked for."""

    def __getitem__(self, name: str) -> Any:
        found = self.data[name]
        return _get(found) if isinstance(found, str) else found


MODELS = ModelNames({
    "svm": "LinearSVM",
    "logistic": "LogisticRegression",
    "nb": "MultinomialNB",
    "bernoulli": "BernoulliNB",
    "nbsvm": "NBSVM",
    "perceptron": "Perceptron",
    "passive-aggressive": "PassiveAggressive",
    "least-squares": "LeastSquares",
    "votes": "WordVotes",
    "feed-forward": "FeedForward",
    "lexicon": "Lexicon",
})  # fmt: skip
"""What ``--model NAME`` and ``TextClassifier(NAME)`` know."""


def __getattr__(name: str) -> Any:
    """Import a model. ESTIMATORS are all models for rows of numbers; one with ``build``, as Lexicon, is for texts."""
    if name == "ESTIMATORS":
        others = map(_get, ("CategoricalNB", "GaussianNB", "KernelPerceptron"))
        return (*(m for m in MODELS.values() if m.traits.learns), *others)
    return _get(name)
