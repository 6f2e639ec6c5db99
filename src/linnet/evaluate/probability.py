"""Are the probabilities right? Log loss, Brier score and calibration error, each with its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.evaluate.intervals import Interval, mean_interval, wilson

__all__ = ["BINS", "MOST_LOSS", "CalibrationBin", "briers", "calibration_bins", "calibration_error", "calibration_interval",
           "log_losses", "mean_interval"]  # fmt: skip

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

BINS = 15  # of the calibration error, of equal mass
TINY = float(np.finfo(np.float64).eps)
MOST_LOSS = float(-np.log(TINY))


def log_losses(t: Indices, P: Floats) -> Floats:
    """Return -log of the probability of the true class, row by row; of an unknown class it is 0, clipped to 2.2e-16.

    >>> log_losses(np.array([0, 1]), np.array([[0.5, 0.5], [0.75, 0.25]])).round(4).tolist()
    [0.6931, 1.3863]
    """
    known = t < P.shape[1]
    p = np.where(known, P[np.arange(len(t)), np.where(known, t, 0)], 0.0)
    return np.asarray(-np.log(np.clip(p, TINY, 1 - TINY)))


def briers(t: Indices, P: Floats) -> Floats:
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


def calibration_bins(right: npt.NDArray[np.bool_], confidence: Floats, bins: int = BINS) -> tuple[CalibrationBin, ...]:
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


def calibration_interval(
    bins: tuple[CalibrationBin, ...], *, level: float = 0.95, draws: int = 2000, seed: int = 0
) -> Interval:
    """Return the true calibration errors that could well have given the measured one.

    What is measured is never below the truth on average: a perfect forecaster has gaps too, by luck. So resampling the
    rows is of no use. Instead the gaps of the bins, drawn towards their mean by as much as luck spreads them, are scaled
    by a share s, luck is added (binomial, as much as bins of their size have), and s is accepted where the measured
    error is not among the outer 4 % of what comes out; the fifth is for the shape of the gaps, which is estimated too.
    The lower end is 0 where a perfect forecaster would often look as bad. Simulated, it covers the truth in 94 to 98 of
    100 samples from 400 rows on; with 200 rows, 13 in a bin, sometimes in 84 only.

    >>> one = CalibrationBin(100, 0.75, 0.6, (0, 1))
    >>> low, high = calibration_interval((one,))
    >>> 0.04 < low < 0.08 and 0.23 < high < 0.26
    True
    """
    n = np.array([b.size for b in bins], np.float64)
    gaps = np.array([b.confidence - b.accuracy for b in bins])
    measured = calibration_error(bins)
    smooth = (np.array([b.accuracy for b in bins]) * n + 1) / (n + 2)
    noise, share_of_rows = smooth * (1 - smooth) / n, n / n.sum()
    luck = np.random.default_rng(seed).normal(size=(draws, len(bins))) * np.sqrt(noise)
    mean = float(share_of_rows @ gaps)
    spread = float(share_of_rows @ (gaps - mean) ** 2)
    shape = mean + max(0.0, 1 - float(share_of_rows @ noise) / max(spread, 1e-12)) * (gaps - mean)
    size = float(np.abs(shape) @ share_of_rows)
    direction = shape / size if size > 0 else np.ones(len(bins))  # a calibration error of 1 in the shape of the gaps
    tails = [0.4 * (1 - level), 1 - 0.4 * (1 - level)]

    def outcomes(share: float) -> Interval:
        low, high = np.quantile(np.abs(share * direction + luck) @ share_of_rows, tails)
        return float(low), float(high)

    low = 0.0 if outcomes(0.0)[1] >= measured else _crossing(lambda s: outcomes(s)[1] >= measured)
    high = 1.0 if outcomes(1.0)[0] <= measured else _crossing(lambda s: outcomes(s)[0] > measured)
    return low, high


def _crossing(passed: Callable[[float], bool], steps: int = 14) -> float:
    """Return where, between 0 and 1, a condition begins to hold.

    >>> round(_crossing(lambda share: share > 0.3), 3)
    0.3
    """
    low, high = 0.0, 1.0
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if passed(middle) else (middle, high)
    return (low + high) / 2
