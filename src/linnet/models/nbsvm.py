"""NBSVM: an SVM that listens first to the words naive Bayes trusts.

Naive Bayes weighs a feature by how much more often it occurs in one class than in the rest, the log-count ratio

    r = log((p / |p|_1) / (q / |q|_1)),   p = alpha + counts in the class,   q = alpha + counts in the rest

An SVM then learns weights w for the rows x * r, feature by feature: with a penalty on w, a feature of large |r| is
cheap and one that occurs everywhere alike costs much. Between naive Bayes (all w the same) and the SVM lies

    w' = (1 - beta) mean|w| + beta w

so a small beta trusts naive Bayes unless the SVM is very sure. The model is linear in x: its weights are r * w'. The
paper says nothing of the intercept; here it lies between the two in the same way, b' = (1 - beta) mean|w| log(rows of
the class / other rows) + beta b. Left as the SVM's it would outweigh words that beta has made quieter: on MPQA, where
two phrases of three are negative, that costs ten points.

``power`` takes sign(r) |r|^p in place of r: 0 is the plain SVM on x (for beta = 1), 1 the paper's NBSVM. The sign of r
does not matter to the SVM, because w takes it over; it does to the interpolation, where w is replaced by a number.

linnet's default model, the SVM on rows weighted by |log-count ratio|^p, is NBSVM with beta = 1 and power = p.

Several classes are taken one against the rest, each with its own ratio.

Reference: Wang and Manning, Baselines and Bigrams: Simple, Good Sentiment and Topic Classification, 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Floats, Floats32
from linnet.estimator import above_zero, not_negative, one_of, share, truth
from linnet.features.blocks import Words
from linnet.features.plan import FeaturePlan, log_count_ratio
from linnet.models.estimator import DecisionModel, Traits, label_statistics
from linnet.models.naive_bayes import Statistics, class_sums
from linnet.models.svm import LinearSVM
from linnet.solvers.callbacks import OnEpoch, Weights, showing
from linnet.solvers.matrix import RowBlocks, TrainingSet

COUNTS = ("values", "presence")
Draw = Callable[[Any, Floats], Weights]


@dataclass(eq=False, repr=False)
class NBSVM(DecisionModel):
    """A linear SVM on log-count ratios, drawn towards naive Bayes.

    Parameters: ``C`` and the rest as in :class:`~linnet.models.svm.LinearSVM` with squared hinge loss. ``alpha`` is
    added to every count. ``beta`` is the share of the SVM in the weights; 1 leaves naive Bayes to the ratios alone, 0
    takes nothing of the SVM but its scale and intercept. ``power`` p makes the ratios sign(r) |r|^p. ``counts`` says
    what is counted for r: the "values" of the features, or their "presence", once a row that holds them.

    Features are meant to be counts or presence; a negative value counts by its size. Learned, beside the usual:
    ``ratio_`` (n_outputs, n_features), sign(r) |r|^p; ``n_iter_``.

    >>> texts = [[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]]
    >>> model = NBSVM().fit(texts, ["good", "good", "poor", "poor"])
    >>> model.ratio_.tolist()  # ln 1/3, ln 3, ln 1
    [[-1.0986123085021973, 1.0986123085021973, 0.0]]
    >>> model.predict([[1, 0, 0], [0, 1, 0]]).tolist()
    ['good', 'poor']
    """

    plan = FeaturePlan(
        features=(Words(1, 2),),
        idf=False,
        norm=None,
        grid=(("beta", (0.25, 0.5, 1.0)), ("C", (1.0, 0.1, 0.01))),
        fixed=(("tol", 0.1),),
    )

    traits = Traits(sums="problem", poor_score=True)

    C: float = 1.0
    _: KW_ONLY
    alpha: float = 1.0
    beta: float = 0.25
    power: float = 1.0
    counts: str = "values"
    tol: float = 0.01
    max_iter: int | None = None
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    class_weight: Any = None
    random_state: Any = 0
    n_jobs: int | None = 1

    def solve(self, rows: TrainingSet) -> Weights:
        """Fit to encoded rows; the weights are folded: they apply to the values as they are."""

        def fit(svm: LinearSVM, gain: Floats32, on_epoch: OnEpoch) -> Weights:
            return svm.solve(replace(rows, X=replace(rows.X, gain=gain), on_epoch=on_epoch))

        return self._fit_svm([self._interpolation(self._statistics(rows))], fit, rows.on_epoch)

    def fit_blocks(self, rows: RowBlocks) -> Weights:
        """Fit to rows in blocks: count, then the SVM."""
        counted = rows.add_up(partial(label_statistics, statistics=self._statistics))
        each = [self._interpolation(one) for one in (counted.labels if rows.multilabel else (counted,))]

        def fit(svm: LinearSVM, gain: Floats32, on_epoch: OnEpoch) -> Weights:
            return svm.fit_blocks(replace(rows, gain=gain, on_epoch=on_epoch))

        return self._fit_svm(each, fit, rows.on_epoch)

    def _fit_svm(self, each: list[tuple[Any, Draw]], fit: Callable[..., Weights], on_epoch: OnEpoch) -> Weights:
        """Fit the SVM and draw its weights towards naive Bayes; each has ratios and interpolation, of several labels one each."""
        ratio = np.concatenate([one for one, _ in each])

        def interpolated(W: Array, b: Floats) -> Weights:
            if len(each) == 1:
                return each[0][1](W, b)
            parts = [draw(W[:, c : c + 1], b[c : c + 1]) for c, (_, draw) in enumerate(each)]
            return np.concatenate([V for V, _ in parts], axis=1), np.concatenate([a for _, a in parts])

        shared = ("C", "tol", "max_iter", "fit_intercept", "intercept_scaling", "random_state")
        svm = LinearSVM(**{name: getattr(self, name) for name in shared})
        W, b = fit(svm, np.abs(ratio), showing(on_epoch, interpolated))
        self.ratio_, self.n_iter_, self.interrupted_ = ratio, svm.n_iter_, svm.interrupted_
        return interpolated(W, b)

    def _statistics(self, rows: TrainingSet) -> Statistics:
        """Sum the size of each feature, or count the rows that hold it, by class."""
        X = rows.X.explicit()
        values = np.abs(X.values)
        if one_of("counts", self.counts, COUNTS) == "presence":
            values = (values != 0.0).astype(values.dtype)
        return class_sums(replace(rows, X=replace(X, values=values)))

    def _interpolation(self, counted: Statistics) -> tuple[Any, Draw]:
        """Return sign(r) |r|^p, one row an output, and what draws the weights of an SVM towards naive Bayes."""
        alpha, power = above_zero("alpha", self.alpha), not_negative("power", self.power)
        beta = share("beta", self.beta, one=True)
        r = np.ascontiguousarray(log_count_ratio(counted.features, alpha, signed=True).T)
        ratio = r if power == 1.0 else np.sign(r) * arithmetic.power(np.abs(r), power)
        gain = np.abs(ratio)
        rows = np.maximum(counted.rows, 0.5)  # a class without rows, as a fold may have, counts as half a row
        odds = arithmetic.log(rows) - arithmetic.log(arithmetic.total(rows) - rows)  # of the class against the others
        odds = (odds[1:] if len(rows) == 2 else odds) * truth("fit_intercept", self.fit_intercept)

        def interpolated(W: Array, b: Floats) -> Weights:
            if beta < 1.0:
                alone = np.divide(W, gain.T, out=np.zeros_like(W), where=gain.T > 0.0)  # w; where r = 0, w = 0
                mean = arithmetic.mean(np.abs(alone), axis=0)
                W = (beta * W + (1.0 - beta) * mean * ratio.T).astype(W.dtype)
                b = beta * b + (1.0 - beta) * mean * odds
            return W, b

        return ratio, interpolated
