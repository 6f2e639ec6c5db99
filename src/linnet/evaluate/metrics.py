"""The metrics: one function and one row each; ``evaluate``, ``compare``, ``tune`` and the report read the registry.

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
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError, nearest
from linnet.evaluate import probability
from linnet.evaluate.intervals import Interval, mean_interval

if TYPE_CHECKING:
    from linnet.evaluate.evaluation import Evaluation

__all__ = ["ALL_METRICS", "METRICS", "PROBABILITY_METRICS", "Counts", "LabelMetric", "ProbabilityMetric", "find_metric", "resampled_scores",
           "score_of", "share"]  # fmt: skip

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Floats:
    """Return part / whole, 0.0 where the whole is 0.

    >>> share(np.array([1, 0]), np.array([2, 0])).tolist()
    [0.5, 0.0]
    """
    return np.asarray(np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0))


@dataclass(frozen=True)
class Counts:
    """Rows by true and predicted class. ``weights``, (draws, cells), says how many rows of each cell a draw has."""

    truth: Indices  # (cells,) class numbers
    answers: Indices  # (cells,)
    n_classes: int
    weights: npt.NDArray[Any]

    @classmethod
    def of_rows(cls, truth: Indices, answers: Indices, n_classes: int) -> Counts:
        """Count every row once."""
        return cls(truth, answers, n_classes, np.ones((1, len(truth))))

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

    def _by_class(self, classes: Indices, weights: npt.NDArray[Any]) -> Floats:
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


# ---- metrics of predicted labels


def accuracy(c: Counts) -> Floats:
    """Return the share of rows that are right."""
    return share(c.right, c.n)


def macro(c: Counts, scores: Floats) -> Floats:
    """Return the mean over the classes that occur in the truth or in the predictions."""
    return share(arithmetic.total(scores, axis=1), (c.support + c.predicted > 0).sum(axis=1))


def weighted(c: Counts, scores: Floats) -> Floats:
    """Return the mean over classes, weighted by support."""
    return share(arithmetic.total(scores * c.support, axis=1), c.n)


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


# ---- metrics of probabilities


@dataclass(frozen=True)
class ProbabilityMetric:
    """A metric of probabilities: its value and its interval, from an evaluation that has them; None: undefined."""

    title: str
    value: Callable[[Evaluation], float | None]
    interval: Callable[[Evaluation], Interval | None]


def _mean_of(title: str, losses: Callable[[Indices, Any], Floats], most: Callable[[int], float]) -> ProbabilityMetric:
    """Return the metric that is the mean of a loss of each row; most is the largest loss for so many classes."""
    return ProbabilityMetric(
        title,
        lambda e: float(losses(e.truth, e.proba).mean()),
        lambda e: mean_interval(losses(e.truth, e.proba), 0.0, most(len(e.classes)), e.level),
    )


def _area(title: str, which: int) -> ProbabilityMetric:
    return ProbabilityMetric(
        title,
        lambda e: None if (area := e.mean_areas[which]) is None else area.value,
        lambda e: None if (area := e.mean_areas[which]) is None else area.interval,
    )


PROBABILITY_METRICS: dict[str, ProbabilityMetric] = {
    "log-loss": _mean_of("log loss", probability.log_losses, lambda _: probability.MOST_LOSS),
    "brier": _mean_of("Brier score", probability.briers, lambda classes: 1.0 if classes == 2 else 2.0),
    "calibration-error": ProbabilityMetric(
        "calibration error",
        lambda e: probability.calibration_error(e.calibration_bins),
        lambda e: probability.calibration_interval(e.calibration_bins, level=e.level, seed=e.seed),
    ),
    "roc-area": _area("ROC area", 0),
    "pr-area": _area("precision-recall area", 1),
}


ALL_METRICS: dict[str, LabelMetric | ProbabilityMetric] = {**METRICS, **PROBABILITY_METRICS}


# ---- use


def find_metric(name: str) -> str:
    """Return the name of a metric of predicted labels; _ may stand for -.

    >>> find_metric("macro_f1")
    'macro-f1'
    """
    found = str(name).replace("_", "-")
    if found not in METRICS:
        raise DataError(nearest("metric", str(name), METRICS))
    return found


def score_of(metric: str, truth: Indices, predicted: Indices, n_classes: int) -> float:
    """Return a metric of predicted class numbers; 0.0 where it is undefined."""
    return float(np.nan_to_num(METRICS[metric].score(Counts.of_rows(truth, predicted, n_classes))[0]))


def resampled_scores(metric: str, truth: Indices, answers: list[Indices], weights: Floats, n_classes: int) -> Floats:
    """Return the metric of each set of answers in each draw, (draws, len(answers)).

    weights, (draws, rows), says how often a row was drawn.
    """
    score = METRICS[metric].score
    return np.nan_to_num(np.stack([score(Counts(truth, one, n_classes, weights)) for one in answers], axis=1))
