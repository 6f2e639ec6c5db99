"""How well probabilities put rows in order: areas under the ROC and precision-recall curves, and the top k."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.evaluate.intervals import Interval, jackknife_interval, wilson

__all__ = ["Area", "TopK", "areas", "mean_area", "roc_and_pr", "top_k"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


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


def top_k(t: Indices, P: Floats, k: int, level: float = 0.95) -> TopK:
    """Count the rows whose true class is among the k most probable; of equal probabilities the later class is first.

    >>> top_k(np.array([2, 0]), np.array([[0.5, 0.2, 0.3], [0.1, 0.3, 0.6]]), 2).accuracy
    0.5
    """
    best = np.argsort(P, axis=1, kind="stable")[:, ::-1][:, :k]
    right = int((best == t[:, None]).any(axis=1).sum())
    return TopK(k, right / len(t), wilson(right, len(t), level))


def roc_and_pr(positive: Flags, scores: Floats, level: float = 0.95) -> tuple[Area, Area] | None:
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


def areas(t: Indices, P: Floats, level: float = 0.95) -> list[tuple[Area, Area] | None]:
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
