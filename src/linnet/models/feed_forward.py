"""The feed-forward net: a line over features that are learned too.

A line weighs every word by itself. Here each word j has an embedding E_j, a short row of numbers; a text is the sum of
its words' embeddings (TextClassifier makes it their average, weighted by idf), a hidden layer looks at combinations of
them, and a line on top of that gives the scores:

    e = sum_j x_j E_j,    h = max(0, e A + a),    z = h B + c,    P(y | x) = softmax(z)_y

Two classes have one score and the sigmoid. All of E, A, a, B, c are found by small steps down the cross-entropy,

    sum_i s_i (-sum_y t_iy log P(y | x_i)) / sum_i s_i,      t_i = (1 - smoothing) one-hot(y_i) + smoothing / classes

a batch of rows at a time; a step touches only the embeddings of the words in the batch. The problem is not convex: the
answer depends on the seed. Three things hold it back from learning rows by heart: dropout sets hidden numbers to zero at
random while training, label smoothing asks for less than certainty, and a share of the rows is held out to see when to
stop.

References: Joulin et al., Bag of Tricks for Efficient Text
Classification, 2016; Srivastava et al., Dropout, 2014; Szegedy et al., Rethinking the Inception Architecture, 2016
(label smoothing); Duchi et al., Adaptive Subgradient Methods, 2011.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Floats, Ints32
from linnet.data.splitting import split_indices
from linnet.estimator import above_zero, one_of, share_below_one, whole
from linnet.features.blocks import Words
from linnet.features.plan import FeaturePlan
from linnet.models.estimator import DecisionModel, ProbabilityModel, Traits
from linnet.models.inputs import seed_of
from linnet.solvers.callbacks import Callback, Epoch
from linnet.solvers.losses import log_softmax
from linnet.solvers.matrix import Distinct, TrainingSet
from linnet.solvers.network import STEPS, DenseLayers, Net, Shape, Steps, start, train

Learned = tuple[Array, DenseLayers]

FEWEST_HELD = 20  # rows: accuracy on fewer says too little to stop by
NO_BETTER = 1e-4  # share of the loss on held-out rows: to lower it by less is no better


@dataclass(eq=False, repr=False)
class FeedForward(DecisionModel, ProbabilityModel):
    """Averaged embeddings, a ReLU hidden layer, a line.

    Parameters: ``dim``, numbers an embedding; ``hidden``, numbers of the hidden layer (0: none); ``dropout``, the share
    of hidden numbers (without a hidden layer, of the embedding's) set to zero in a step; ``label_smoothing``, the share of each
    label spread over all classes; ``learning_rate``, ``batch_size`` and ``step`` ("adagrad" or "sgd"): how steps are taken;
    ``clip``, the greatest length of a gradient (None: any);
    ``max_iter``, the most passes; ``validation_fraction``, the share of rows held out to judge passes by (None: none; where that
    is fewer than 20 rows none are held out either, and all passes are made); ``patience``, how many passes in a row may
    be no better on held-out rows, in accuracy or loss, than the best; ``class_weight`` None, "balanced" or
    {label: factor}; ``random_state``; ``n_jobs`` do not change the answer.

    The weights of the best pass on held-out rows are kept. The order of the rows never matters, and a row given twice is
    a row of weight 2, exactly. Ctrl-C keeps the best weights so far.

    Learned: ``embedding_``, (n_features, dim); ``head_``, the dense layers; ``history_``, a report a pass; ``classes_``,
    ``n_features_in_``, ``n_iter_``.

    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["same", "other", "other", "same"]
    >>> net = FeedForward(dim=8, hidden=16, learning_rate=0.2, dropout=0.0, label_smoothing=0.0).fit(X, y)
    >>> net.predict(X).tolist()
    ['same', 'other', 'other', 'same']
    """

    plan = FeaturePlan(
        features=(Words(1, 2),),
        norm="mean",
        min_df=2,
        grid=(("learning_rate", (0.02, 0.005, 0.08)),),
        many=(("learning_rate", 0.005),),
        fixed=(("label_smoothing", 0.1), ("dropout", 0.3)),
    )

    traits = Traits(multilabel=False)

    dim: int = 32
    _: KW_ONLY
    hidden: int = 64
    dropout: float = 0.0
    label_smoothing: float = 0.0
    learning_rate: float = 0.05
    batch_size: int = 32
    step: str = "adagrad"
    clip: float | None = None
    max_iter: int = 200
    validation_fraction: float | None = 0.1
    patience: int = 5
    class_weight: Any = None
    random_state: Any = 0
    n_jobs: int | None = 1

    def solve(self, rows: TrainingSet) -> Learned:
        """Fit to encoded rows; returns the embeddings and the head that turns their sums into scores."""
        shape = Shape(whole("dim", self.dim), whole("hidden", self.hidden, 0), rows.n_outputs)
        passes, patience = whole("max_iter", self.max_iter), whole("patience", self.patience)
        seed = seed_of(self.random_state)
        rng = np.random.Generator(np.random.PCG64(seed))
        of = rows.distinct()
        kept, held = self._held_out(of, rows.y, seed)
        weight = np.zeros(len(rows))
        weight[of.rows] = of.weight
        rows = replace(rows, weight=weight)
        how = self._steps(len(kept), arithmetic.total(weight[kept]))
        net = start(shape, rows.X, kept, rng)
        watch = _Watched(net, rows, held, patience)
        self.interrupted_ = False
        try:
            train(net, rows, kept, how, rng, passes, watch)
        except KeyboardInterrupt:
            self.interrupted_ = True
        self.history_ = watch.history
        self.n_iter_ = max(1, len(self.history_))
        found: Learned = watch.best if watch.best is not None else (net.E, net.head())
        return found

    def _steps(self, n_rows: int, total: float) -> Steps:
        """Read the settings; a batch of rows of mean weight has the mean gradient of its rows."""
        batch = min(whole("batch_size", self.batch_size), n_rows)
        return Steps(
            one_of("step", self.step, STEPS), above_zero("learning_rate", self.learning_rate), batch,
            share_below_one("dropout", self.dropout), share_below_one("label_smoothing", self.label_smoothing),
            n_rows / (total * batch), 0.0 if self.clip is None else above_zero("clip", self.clip),
        )  # fmt: skip

    def _held_out(self, of: Distinct, y: Ints32, seed: int) -> tuple[Ints32, Ints32]:
        """Return the rows to learn from and the rows to judge by."""
        part = self.validation_fraction
        share = 0.0 if part is None else share_below_one("validation_fraction", part)
        if share * len(of.rows) < FEWEST_HELD:
            return of.rows, of.rows[:0]
        learn, judge = split_indices(y[of.rows], seed, (1.0 - share, share))
        return of.rows[learn], of.rows[judge]

    def _keep(self, W: Array, b: DenseLayers) -> None:  # type: ignore[override]
        self.embedding_, self.head_ = W, b

    def _scores(self, X: Any) -> Floats:
        M = self._rows(X)
        return self.head_.apply(M.dot(self.embedding_))


class _Watched(Callback):
    """Judges passes by accuracy on held-out rows, of equals by their loss; keeps the weights of the best.

    A pass that is better in either is not held against the net: while it has learned little, accuracy stands still and
    the loss falls. Without held-out rows nothing stops it early, and the last weights are kept.
    """

    def __init__(self, net: Net, rows: TrainingSet, held: Ints32, patience: int) -> None:
        super().__init__(rows.on_epoch, patience=patience)
        self.net, self.n_held = net, len(held)
        self.X, self.y, self.weight = rows.X.take(held), rows.y[held], rows.weights[held]
        self.lowest, self.waited = np.inf, 0

    def weights(self) -> Learned:
        """Return a copy of the weights as they are."""
        return self.net.E.copy(), self.net.head()

    def __call__(self, report: Epoch, weights: Any = None) -> bool:
        """Take the report of a pass; returns whether to stop."""
        if self.n_held:
            accuracy, loss = self._judged()
            report = replace(report, score=accuracy)
            better = accuracy > self.best_score
            if better or (accuracy == self.best_score and loss < self.lowest):
                self.best, self.best_score = self.weights(), accuracy
            better = better or loss < self.lowest * (1.0 - NO_BETTER)
            self.lowest = min(self.lowest, loss)
            self.waited = 0 if better else self.waited + 1
        super().__call__(report, self.weights)
        return self.patience is not None and self.waited >= self.patience

    def _judged(self) -> tuple[float, float]:
        """Return accuracy and mean loss on the held-out rows."""
        scores = self.net.head().apply(self.X.dot(self.net.E))
        if scores.shape[1] == 1:
            scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
        right = scores.argmax(axis=1) == self.y
        losses = -log_softmax(scores)[np.arange(len(scores)), self.y]
        return arithmetic.mean(right, weights=self.weight), arithmetic.mean(losses, weights=self.weight)
