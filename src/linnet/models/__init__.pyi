from collections.abc import MutableMapping
from typing import Any

from linnet.models.feed_forward import FeedForward as FeedForward
from linnet.models.kernel_perceptron import RBF as RBF
from linnet.models.kernel_perceptron import KernelPerceptron as KernelPerceptron
from linnet.models.kernel_perceptron import Linear as Linear
from linnet.models.kernel_perceptron import Polynomial as Polynomial
from linnet.models.least_squares import LeastSquares as LeastSquares
from linnet.models.lexicon import Lexicon as Lexicon
from linnet.models.logistic import LogisticRegression as LogisticRegression
from linnet.models.naive_bayes import BernoulliNB as BernoulliNB
from linnet.models.naive_bayes import MultinomialNB as MultinomialNB
from linnet.models.naive_bayes_columns import CategoricalNB as CategoricalNB
from linnet.models.naive_bayes_columns import GaussianNB as GaussianNB
from linnet.models.nbsvm import NBSVM as NBSVM
from linnet.models.passive_aggressive import PassiveAggressive as PassiveAggressive
from linnet.models.perceptron import Perceptron as Perceptron
from linnet.models.svm import LinearSVM as LinearSVM
from linnet.models.word_votes import WordVotes as WordVotes

MODELS: MutableMapping[str, Any]
ESTIMATORS: tuple[type[Any], ...]
