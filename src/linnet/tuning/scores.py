"""The metric that a search is after, of one set of answers or of many resampled ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import LinnetError, nearest
from linnet.evaluate import evaluate
from linnet.evaluate.intervals import Interval

__all__ = ["METRICS", "interval_of", "metric_named", "resampled", "score_of"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def _accuracy(hits: Floats, truth: Floats, put: Floats) -> Floats:
    return np.asarray(arithmetic.total(hits, axis=1) / np.maximum(arithmetic.total(truth, axis=1), 1e-300))


def _macro_f1(hits: Floats, truth: Floats, put: Floats) -> Floats:
    both = truth + put
    f1 = np.divide(2 * hits, both, out=np.zeros_like(hits), where=both > 0)
    return np.asarray(arithmetic.total(f1, axis=1) / np.maximum((both > 0).sum(axis=1), 1))


def _balanced(hits: Floats, truth: Floats, put: Floats) -> Floats:
    recall = np.divide(hits, truth, out=np.zeros_like(hits), where=truth > 0)
    return np.asarray(arithmetic.total(recall, axis=1) / np.maximum((truth > 0).sum(axis=1), 1))


METRICS: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "accuracy": _accuracy,
    "macro-f1": _macro_f1,
    "balanced-accuracy": _balanced,
}
"""Each from right answers, true rows and answers of each class, (draws, n_classes) all, to one number a draw."""


def metric_named(name: str) -> str:
    """Return the name of a metric that is known; underscores will do for hyphens."""
    found = str(name).replace("_", "-")
    if found not in METRICS:
        raise LinnetError(nearest("metric", str(name), METRICS))
    return found


def score_of(metric: str, truth: Indices, predicted: Indices, n_classes: int) -> float:
    """Return the metric of some answers.

    >>> truth, predicted = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    >>> [round(score_of(name, truth, predicted, 2), 3) for name in METRICS]
    [0.75, 0.733, 0.75]
    """
    return float(METRICS[metric](*_tables(truth, predicted, np.ones((1, len(truth))), n_classes))[0])


def interval_of(metric: str, truth: Indices, predicted: Indices, n_classes: int) -> Interval:
    """Return the 95 % interval of the metric, as ``linnet evaluate`` gives it."""
    found: Any = evaluate(truth, predicted, range(n_classes))
    low, high = getattr(found, metric.replace("-", "_") + "_interval")
    return float(low), float(high)


def resampled(metric: str, truth: Indices, answers: list[Indices], weights: Floats, n_classes: int) -> Floats:
    """Return the metric of each candidate in each draw, (draws, candidates); weights say how often a row was drawn."""
    if metric == "accuracy":  # one product for all
        right = np.stack([predicted == truth for predicted in answers], axis=1).astype(np.float64)
        return np.asarray(weights @ right / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))
    columns = [METRICS[metric](*_tables(truth, predicted, weights, n_classes)) for predicted in answers]
    return np.stack(columns, axis=1)


def _tables(truth: Indices, predicted: Indices, weights: Floats, n_classes: int) -> tuple[Floats, Floats, Floats]:
    """Return right answers, true rows and answers of each class, each (draws, n_classes)."""
    rows = np.arange(len(truth))
    found = []
    for classes, kept in ((truth, truth == predicted), (truth, slice(None)), (predicted, slice(None))):
        one = np.zeros((len(truth), n_classes))
        one[rows[kept], classes[kept]] = 1.0
        found.append(weights @ one)
    return found[0], found[1], found[2]
