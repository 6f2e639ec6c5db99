"""Models in the scikit-learn contract, one file a model; each ends as (W, b) where it is linear; a net has a head for b.

>>> sorted(MODELS)
['bernoulli', 'feed-forward', 'least-squares', 'lexicon', 'logistic', 'nb', 'nbsvm', 'passive-aggressive', 'perceptron', 'svm', 'votes']
>>> MODELS["svm"]
<class 'linnet.models.svm.LinearSVM'>
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linnet.models.feed_forward import FeedForward
    from linnet.models.kernel_perceptron import RBF, KernelPerceptron, Linear, Polynomial
    from linnet.models.least_squares import LeastSquares
    from linnet.models.lexicon import Lexicon
    from linnet.models.logistic import LogisticRegression
    from linnet.models.naive_bayes import BernoulliNB, MultinomialNB
    from linnet.models.naive_bayes_columns import CategoricalNB, GaussianNB
    from linnet.models.nbsvm import NBSVM
    from linnet.models.passive_aggressive import PassiveAggressive
    from linnet.models.perceptron import Perceptron
    from linnet.models.svm import LinearSVM
    from linnet.models.word_votes import WordVotes

    ESTIMATORS: tuple[type[Any], ...]
    """Every model for rows of numbers in the scikit-learn contract, also those that take no text. (A model with ``build`` in
    place of ``fit_matrix``, as Lexicon, is an estimator over texts.)"""

__all__ = [
    "ESTIMATORS", "MODELS", "NBSVM", "RBF", "BernoulliNB", "CategoricalNB", "FeedForward", "GaussianNB",
    "KernelPerceptron", "LeastSquares", "Lexicon", "Linear", "LinearSVM", "LogisticRegression", "MultinomialNB",
    "PassiveAggressive", "Perceptron", "Polynomial", "WordVotes",
]  # fmt: skip

_HOME = {
    "LinearSVM": "svm", "LogisticRegression": "logistic", "MultinomialNB": "naive_bayes", "BernoulliNB": "naive_bayes",
    "NBSVM": "nbsvm", "Perceptron": "perceptron", "PassiveAggressive": "passive_aggressive", "LeastSquares": "least_squares",
    "WordVotes": "word_votes", "FeedForward": "feed_forward", "Lexicon": "lexicon", "CategoricalNB": "naive_bayes_columns",
    "GaussianNB": "naive_bayes_columns", "KernelPerceptron": "kernel_perceptron", "RBF": "kernel_perceptron",
    "Linear": "kernel_perceptron", "Polynomial": "kernel_perceptron",
}  # fmt: skip


class ModelNames(UserDict[str, Any]):
    """Models by name; a model is imported when it is first asked for."""

    def __getitem__(self, name: str) -> Any:
        found = self.data[name]
        return __getattr__(found) if isinstance(found, str) else found


MODELS: MutableMapping[str, Any] = ModelNames({
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
    if name == "ESTIMATORS":
        others = map(__getattr__, ("CategoricalNB", "GaussianNB", "KernelPerceptron"))
        return (*(m for m in MODELS.values() if m.traits.learns), *others)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return found
