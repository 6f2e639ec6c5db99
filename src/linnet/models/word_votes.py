"""Word votes: each word votes for the label it was most often seen with; the label with most votes wins.

The empirical lexicon: a word list for each label, read off the data. The lists are W, one 1 a word:

    W_jy = 1 where label y is the one that word j occurred with most often in training, else 0;      score = votes = X W

For two labels there is one score, votes for the second less votes for the first. There is no prior and no intercept, and
a word counts the same whether it was seen 1 time out of 1 or 999 times out of 1,000: what naive Bayes mends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnet.features.blocks import Words
from linnet.features.plan import FeaturePlan
from linnet.models.estimator import CountingModel, DecisionModel, Traits
from linnet.models.naive_bayes import Statistics, class_sums
from linnet.solvers.callbacks import Weights
from linnet.solvers.matrix import TrainingSet

EQUAL = 1e-9  # sums of weights in another order are equal all the same


class WordVotes(CountingModel, DecisionModel):
    """A word list for each label, learned by counting.

    There are no settings. Where one label is much more frequent than the others, it wins every common word: weigh the
    rows (``sample_weight``, or ``class_weight="balanced"`` of TextClassifier).

    Ties. A word that is equally frequent with two labels, and more with none, has no most frequent label and does not
    vote; nor does one that training never saw. Labels with equally many votes: the first in sorted order is answered.

    Learned, beside the usual: ``feature_count_`` (n_classes, n_features); ``votes_`` (n_features,), the number of the
    class that each feature votes for, -1 for none.

    >>> model = WordVotes().fit([[2, 0, 1], [0, 3, 1]], ["sport", "trade"])
    >>> model.votes_.tolist()
    [0, 1, -1]
    >>> model.decision_function([[1, 4, 7]]).tolist()
    [3.0]
    """

    plan = FeaturePlan(features=(Words(1, 1),), idf=False, norm=None)
    traits = Traits(sums="statistics", non_negative=True, poor_score=True, bytes_per_weight=90)

    def __init__(self) -> None:
        pass

    def statistics(self, rows: TrainingSet) -> Statistics:
        """Sum each feature by class."""
        return class_sums(rows)

    def learn(self, statistics: Statistics, dtype: Any) -> Weights:
        """Find the largest count of each feature."""
        counts = statistics.features  # (n_features, n_classes)
        n_classes = counts.shape[1]
        best = counts.max(axis=1)
        alone = (best > 0.0) & ((counts >= (1.0 - EQUAL) * best[:, None]).sum(axis=1) == 1)
        self.feature_count_ = counts.T
        self.votes_ = np.where(alone, counts.argmax(axis=1), -1)
        W = (self.votes_[:, None] == np.arange(n_classes)).astype(dtype)
        W = np.ascontiguousarray(W[:, 1:] - W[:, :1]) if n_classes == 2 else W
        return W, np.zeros(W.shape[1])
