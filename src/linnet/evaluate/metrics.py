"""The metrics, of labels, probabilities and rankings; ``evaluate``, ``compare``, ``tune`` and the report read the registry.

A metric of predicted labels is a function of counts. For each class they hold the rows that are right (``hits``), the
rows of the class (``support``) and the rows put into it (``predicted``), as arrays of shape (draws, n_classes): one
draw for the data as they are, many for the resampled tables of a bootstrap. The function returns one number a draw,
nan where it is undefined. A metric of probabilities is a function of the :class:`~linnet.evaluate.Evaluation`.

>>> truth, predicted = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
>>> {name: round(score_of(name, truth, predicted, 2), 3) for name in ("accuracy", "macro-f1", "matthews")}
{'accuracy': 0.75, 'macro-f1': 0.733, 'matthews': 0.577}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Bools, Floats, Ints
from linnet.errors import check_choice
from linnet.evaluate.intervals import Interval, jackknife_interval, mean_interval, wilson

if TYPE_CHECKING:
    from linnet.evaluate.evaluation import Evaluation

# ---- Are the probabilities right? Log loss and Brier score with intervals, and the calibration error.


BINS = 15  # of the calibration error, of equal mass
TINY = float(np.finfo(np.float64).eps)
MOST_LOSS = float(-np.log(TINY))


def log_losses(t: Ints, P: Floats) -> Floats:
    """Return -log of the probability of the true class, row by row; of an unknown class it is 0, clipped to 2.2e-16.

    >>> log_losses(np.array([0, 1]), np.array([[0.5, 0.5], [0.75, 0.25]])).round(4).tolist()
    [0.6931, 1.3863]
    """
    known = t < P.shape[1]
    p = np.where(known, P[np.arange(len(t)), np.where(known, t, 0)], 0.0)
    return np.asarray(-np.log(np.clip(p, TINY, 1 - TINY)))


def briers(t: Ints, P: Floats) -> Floats:
    """Return |P - truth|^2 row by row, halved for two classes.

    >>> briers(np.array([0, 1]), np.array([[0.5, 0.5], [0.75, 0.25]])).tolist()
    [0.25, 0.5625]
    """
    known = t < P.shape[1]
    squares = P**2
    squares[known, t[known]] = (P[known, t[known]] - 1) ** 2
    score = squares.sum(axis=1) + ~known
    return np.asarray(score / 2 if P.shape[1] == 2 else score)


@dataclass(frozen=True)
class CalibrationBin:
    """Rows of like confidence: how many, how confident on average, how many of them right (a share, with interval)."""

    size: int
    confidence: float
    accuracy: float
    interval: Interval


def calibration_bins(right: Bools, confidence: Floats, bins: int = BINS) -> tuple[CalibrationBin, ...]:
    """Put rows into bins of equal mass by confidence; rows of equal confidence share their accuracy.

    >>> first, second = calibration_bins(np.array([True, False, True, True]), np.array([0.6, 0.5, 0.9, 0.8]), bins=2)
    >>> second.size, round(second.confidence, 2), second.accuracy
    (2, 0.85, 1.0)
    """
    _, group, size = np.unique(confidence, return_inverse=True, return_counts=True)
    shared = (np.bincount(group, weights=right) / size)[group]
    order = np.argsort(confidence, kind="stable")
    found = []
    for part in np.array_split(order, min(bins, len(order))):
        hits, n = min(float(shared[part].sum()), float(len(part))), len(part)
        found.append(CalibrationBin(n, float(confidence[part].mean()), hits / n, wilson(hits, n)))
    return tuple(found)


def calibration_error(bins: tuple[CalibrationBin, ...]) -> float:
    """Return the mean distance of confidence and accuracy, over rows.

    >>> calibration_error((CalibrationBin(3, 0.7, 0.5, (0, 1)), CalibrationBin(1, 0.9, 0.9, (0, 1)))).__round__(4)
    0.15
    """
    return sum(b.size * abs(b.confidence - b.accuracy) for b in bins) / sum(b.size for b in bins)


def calibration_by_chance(
    bins: tuple[CalibrationBin, ...], *, level: float = 0.95, draws: int = 2000, seed: int = 0
) -> float:
    """Return the calibration error that a calibrated model with these confidences stays below in `level` of samples.

    What is measured is never below the truth on average: a calibrated model has gaps too, by luck. There is no interval
    whose coverage would hold for all shapes of the gaps (docs/decisions.md), so this is what it is compared with.

    >>> bins = (CalibrationBin(100, 0.75, 0.6, (0, 1)),)
    >>> round(calibration_error(bins), 2), round(calibration_by_chance(bins), 2)
    (0.15, 0.09)
    """
    n = np.array([b.size for b in bins])
    p = np.clip([b.confidence for b in bins], 0.0, 1.0)
    hits = np.random.default_rng(seed).binomial(n, p, size=(draws, len(bins)))
    return float(np.quantile(np.abs(hits / n - p) @ (n / n.sum()), level))


# ---- How well probabilities put rows in order: areas under the ROC and precision-recall curves, and the top k.


@dataclass(frozen=True, eq=False)
class Area:
    """The area under a curve, with its interval and what each row adds to it (for means over classes)."""

    value: float
    interval: Interval
    influence: Floats
    n: int  # rows of the class, or of all others if they are fewer

    @classmethod
    def of(cls, value: float, influence: Floats, n: int, level: float) -> Area:
        """Make the interval by the infinitesimal jackknife."""
        value = min(1.0, max(0.0, value))
        return cls(value, jackknife_interval(value, influence, n, level), influence, n)


@dataclass(frozen=True)
class TopK:
    """How often the true class is among the k most probable ones."""

    k: int
    accuracy: float
    interval: Interval


def top_k(t: Ints, P: Floats, k: int, level: float = 0.95) -> TopK:
    """Count the rows whose true class is among the k most probable; of equal probabilities the later class is first.

    >>> top_k(np.array([2, 0]), np.array([[0.5, 0.2, 0.3], [0.1, 0.3, 0.6]]), 2).accuracy
    0.5
    """
    best = np.argsort(P, axis=1, kind="stable")[:, ::-1][:, :k]
    right = int((best == t[:, None]).any(axis=1).sum())
    return TopK(k, right / len(t), wilson(right, len(t), level))


def roc_and_pr(positive: Bools, scores: Floats, level: float = 0.95) -> tuple[Area, Area] | None:
    """Return the areas under both curves for one class against the rest; None where all rows are on one side.

    The ROC area is the share of pairs (a row of the class, another row) that are in the right order, ties by half; the
    precision-recall area is the average precision, steps and not slopes, as in scikit-learn. Both are smooth functions
    of the weights of the rows, so one sort gives the derivative for every row, and the interval from it.

    >>> roc, pr = roc_and_pr(np.array([False, False, True, True]), np.array([0.1, 0.4, 0.35, 0.8]))
    >>> roc.value, round(pr.value, 4)
    (0.75, 0.8333)

    References: DeLong, DeLong and Clarke-Pearson (1988) for the ROC area; the same idea for the average precision.
    """
    n, n1 = len(positive), int(positive.sum())
    n0 = n - n1
    if not n1 or not n0:
        return None
    _, group = np.unique(-scores, return_inverse=True)  # the highest score first
    ones = np.bincount(group, weights=positive)
    zeros = np.bincount(group, weights=~positive)
    above1, above0 = np.cumsum(ones), np.cumsum(zeros)  # at this score or higher
    beaten = (n0 - above0 + zeros / 2) / n0  # for a row of the class: the share of others below it
    beats = (above1 - ones / 2) / n1  # for another row: the share of the class above it
    roc = float(ones @ beaten) / n1
    spread = np.where(positive, (beaten[group] - roc) / n1, (beats[group] - roc) / n0)
    precision = above1 / (above1 + above0)
    average = float(ones @ precision) / n1
    whole = (above1 + above0) ** 2
    gain = np.cumsum((ones * above0 / whole)[::-1])[::-1]  # a row of the class raises precision at and below its score
    loss = np.cumsum((ones * above1 / whole)[::-1])[::-1]
    added = np.where(positive, (precision[group] - average + gain[group]) / n1, -loss[group] / n1)
    smaller = min(n0, n1)
    return Area.of(roc, spread, smaller, level), Area.of(average, added, n1, level)


def areas(t: Ints, P: Floats, level: float = 0.95) -> list[tuple[Area, Area] | None]:
    """Return both areas of each class against the rest.

    >>> found = areas(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]))
    >>> [round(roc.value, 2) for roc, pr in found]
    [1.0, 1.0]
    """
    return [roc_and_pr(t == c, P[:, c], level) for c in range(P.shape[1])]


def mean_area(found: list[Area], level: float = 0.95) -> Area | None:
    """Return the mean over classes; rows count in several classes, and the interval knows."""
    if not found:
        return None
    influence = np.mean([area.influence for area in found], axis=0)
    value = float(np.mean([area.value for area in found]))
    return Area.of(value, influence, min(area.n for area in found), level)


def share(part: Array, whole: Array) -> Floats:
    """Return part / whole, 0.0 where the whole is 0.

    >>> share(np.array([1, 0]), np.array([2, 0])).tolist()
    [0.5, 0.0]
    """
    return np.asarray(np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0))


@dataclass(frozen=True)
class Counts:
    """Rows by true and predicted class. ``weights``, (draws, cells), says how many rows of each cell a draw has."""

    truth: Ints  # (cells,) class numbers
    answers: Ints  # (cells,)
    n_classes: int
    weights: Array

    @staticmethod
    def of_rows(truth: Ints, answers: Ints, n_classes: int, weights: Floats | None = None) -> Counts:
        """Count rows, by default every row once; of several labels a row both are indicator matrices."""
        kind = Counts if truth.ndim == 1 else LabelSetCounts
        return kind(truth, answers, n_classes, np.ones((1, len(truth))) if weights is None else weights)

    @cached_property
    def n(self) -> Floats:
        """Rows of each draw, (draws,)."""
        return np.asarray(self.weights.sum(axis=1), np.float64)

    @cached_property
    def right(self) -> Floats:
        """Rows of each draw that are right, (draws,)."""
        return np.asarray(self.weights @ (self.truth == self.answers).astype(np.float64))

    @cached_property
    def hits(self) -> Floats:
        """Right rows of each class, (draws, n_classes)."""
        same = self.truth == self.answers
        return self._by_class(self.truth[same], self.weights[:, same])

    @cached_property
    def support(self) -> Floats:
        """Rows of each class."""
        return self._by_class(self.truth, self.weights)

    @cached_property
    def predicted(self) -> Floats:
        """Rows put into each class."""
        return self._by_class(self.answers, self.weights)

    def _by_class(self, classes: Ints, weights: Array) -> Floats:
        return np.array([np.bincount(classes, drawn, self.n_classes) for drawn in weights])

    @property
    def precision(self) -> Floats:
        """The share of the rows put into a class that belong there."""
        return share(self.hits, self.predicted)

    @property
    def recall(self) -> Floats:
        """The share of the rows of a class that were put into it."""
        return share(self.hits, self.support)

    @property
    def f1(self) -> Floats:
        """The harmonic mean of precision and recall, 2 hits / (support + predicted)."""
        return share(2 * self.hits, self.support + self.predicted)


class LabelSetCounts(Counts):
    """The same of rows that may have several labels: truth and answers are indicator matrices, (rows, n_classes)."""

    @cached_property
    def right(self) -> Floats:
        """Rows of each draw all of whose labels are right."""
        return np.asarray(self.weights @ (self.truth == self.answers).all(axis=1))

    @cached_property
    def hits(self) -> Floats:
        """Rows that have a label and are given it."""
        return np.asarray(self.weights @ (self.truth & self.answers))

    @cached_property
    def support(self) -> Floats:
        """Rows that have a label."""
        return np.asarray(self.weights @ self.truth)

    @cached_property
    def predicted(self) -> Floats:
        """Rows that are given a label."""
        return np.asarray(self.weights @ self.answers)


# ---- metrics of predicted labels


def accuracy(c: Counts) -> Floats:
    """Return the share of rows that are right."""
    return share(c.right, c.n)


def macro(c: Counts, scores: Floats) -> Floats:
    """Return the mean over the classes that occur in the truth or in the predictions."""
    return share(arithmetic.total(scores, axis=1), (c.support + c.predicted > 0).sum(axis=1))


def micro_f1(c: Counts) -> Floats:
    """Return the F1 of all classes together; with one label a row it is the accuracy."""
    return share(2 * c.hits.sum(axis=1), (c.support + c.predicted).sum(axis=1))


def weighted(c: Counts, scores: Floats) -> Floats:
    """Return the mean over classes, weighted by support."""
    return share(arithmetic.total(scores * c.support, axis=1), c.support.sum(axis=1))


def balanced_accuracy(c: Counts) -> Floats:
    """Return the mean recall of the classes that occur in the truth."""
    return share(arithmetic.total(c.recall, axis=1), (c.support > 0).sum(axis=1))


def matthews(c: Counts) -> Floats:
    """Return the correlation of truth and prediction: 0 for guessing, 1 for no error (Gorodkin, 2004)."""
    agree = c.right * c.n - (c.support * c.predicted).sum(axis=1)
    spread = np.sqrt((c.n**2 - (c.support**2).sum(axis=1)) * (c.n**2 - (c.predicted**2).sum(axis=1)))
    return np.asarray(np.clip(np.divide(agree, spread, out=np.full_like(agree, np.nan), where=spread > 0), -1, 1))


@dataclass(frozen=True)
class LabelMetric:
    """A metric of predicted labels. ``bounds`` are its least and largest value; ``shown``: in the summary of a result."""

    title: str
    score: Callable[[Counts], Floats]
    bounds: Interval = (0.0, 1.0)
    shown: bool = True


METRICS: dict[str, LabelMetric] = {
    "accuracy": LabelMetric("accuracy", accuracy),
    "macro-f1": LabelMetric("macro F1", lambda c: macro(c, c.f1)),
    "weighted-f1": LabelMetric("weighted F1", lambda c: weighted(c, c.f1)),
    "balanced-accuracy": LabelMetric("balanced accuracy", balanced_accuracy),
    "matthews": LabelMetric("Matthews correlation", matthews, bounds=(-1.0, 1.0)),
    "macro-precision": LabelMetric("macro precision", lambda c: macro(c, c.precision), shown=False),
    "macro-recall": LabelMetric("macro recall", lambda c: macro(c, c.recall), shown=False),
    "weighted-precision": LabelMetric("weighted precision", lambda c: weighted(c, c.precision), shown=False),
    "weighted-recall": LabelMetric("weighted recall", lambda c: weighted(c, c.recall), shown=False),
}
"""Metrics of predicted labels, by the name that ``--metric`` takes; in JSON and Python _ stands for -."""
SET_METRICS: dict[str, LabelMetric] = {
    "micro-f1": LabelMetric("micro F1", micro_f1),
    **{name: METRICS[name] for name in ("macro-f1", "weighted-f1")},
    "subset-accuracy": LabelMetric("subset accuracy", accuracy),
}
"""The same where rows may have several labels."""


# ---- metrics of probabilities


@dataclass(frozen=True)
class ProbabilityMetric:
    """A metric of probabilities: its value and its interval, from an evaluation that has them; None: undefined."""

    title: str
    score: Callable[[Evaluation], tuple[float | None, Interval | None]]


def _mean_of(title: str, losses: Callable[[Ints, Any], Floats], most: Callable[[int], float]) -> ProbabilityMetric:
    """Return the metric that is the mean of a loss of each row; most is the largest loss for so many classes."""

    def score(e: Evaluation) -> tuple[float, Interval]:
        each = losses(e.truth, e.proba)
        return float(each.mean()), mean_interval(each, 0.0, most(len(e.classes)), e.level)

    return ProbabilityMetric(title, score)


def _area(title: str, which: int) -> ProbabilityMetric:
    return ProbabilityMetric(
        title, lambda e: (None, None) if (area := e.mean_areas[which]) is None else (area.value, area.interval)
    )


PROBABILITY_METRICS: dict[str, ProbabilityMetric] = {
    "log-loss": _mean_of("log loss", log_losses, lambda _: MOST_LOSS),
    "brier": _mean_of("Brier score", briers, lambda classes: 1.0 if classes == 2 else 2.0),
    "calibration-error": ProbabilityMetric(
        "calibration error", lambda e: (calibration_error(e.calibration_bins), None)
    ),
    "roc-area": _area("ROC area", 0),
    "pr-area": _area("precision-recall area", 1),
}


ALL_METRICS: dict[str, LabelMetric | ProbabilityMetric] = {**METRICS, **PROBABILITY_METRICS}


# ---- use


def find_metric(name: str | None, several: bool = False) -> str:
    """Return the name of a metric of predicted labels, the first where none is given; _ may stand for -.

    >>> find_metric("macro_f1"), find_metric(None, several=True)
    ('macro-f1', 'micro-f1')
    """
    known = SET_METRICS if several else METRICS
    found = next(iter(known)) if name is None else str(name).replace("_", "-")
    check_choice("metric of several labels a row" if several else "metric", found, known)
    return found


def _score(metric: str) -> Callable[[Counts], Floats]:
    return (METRICS.get(metric) or SET_METRICS[metric]).score


def score_of(metric: str, truth: Ints, predicted: Ints, n_classes: int) -> float:
    """Return a metric of predicted class numbers; 0.0 where it is undefined."""
    return float(np.nan_to_num(_score(metric)(Counts.of_rows(truth, predicted, n_classes))[0]))


def resampled_scores(metric: str, truth: Ints, answers: list[Ints], weights: Floats, n_classes: int) -> Floats:
    """Return the metric of each set of answers in each draw, (draws, len(answers)).

    weights, (draws, rows), says how often a row was drawn.
    """
    score = _score(metric)
    return np.nan_to_num(np.stack([score(Counts.of_rows(truth, one, n_classes, weights)) for one in answers], axis=1))
