"""What more labels would bring: a power law through a learning curve, and how far it can be trusted.

Accuracy grows with the number of training rows as a - b n^-c, quickly at first, then ever more slowly towards a. The
law is fitted by least squares; leaving out one fold at a time (the jackknife), and trusting small sizes more or less,
says how much its forecast shakes.

>>> rows = np.array([100, 200, 400, 800, 1600])
>>> law = fit_power_law(rows, 0.9 - 2.0 * rows**-0.5)
>>> round(float(law.at(3200)), 3)  # 0.9 - 2 / sqrt(3200) = 0.86464
0.865

Reference: Hestness et al., Deep Learning Scaling is Predictable, Empirically, 2017; Efron, The Jackknife, 1982.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.evaluate.intervals import Interval, two_sided_quantile

Floats = npt.NDArray[np.float64]

SPEEDS = np.geomspace(0.05, 2.0, 120)
LEAST_POINTS = 4
LEAST_FOLDS = 3


@dataclass(frozen=True)
class PowerLaw:
    """a - b n^-c with b >= 0: what n training rows give."""

    a: float
    b: float
    c: float

    def at(self, n: npt.ArrayLike) -> Floats:
        """Return the score that n rows are expected to give."""
        return np.asarray(self.a - self.b * np.asarray(n, np.float64) ** -self.c)


@dataclass(frozen=True)
class Forecast:
    """What ``rows`` training rows would add to the score of those there are, with a rough interval."""

    rows: int
    gain: float
    interval: Interval
    law: PowerLaw


def fit_power_law(rows: npt.ArrayLike, scores: npt.ArrayLike, trust: float = 1.0) -> PowerLaw:
    """Fit a - b n^-c by least squares, with a <= 1 and b >= 0; c from 0.05 to 2, as close as the steps of a grid.

    A size counts by n^trust: the law holds for many rows better than for few, and what is asked is how it goes on.
    Given c the law is linear in a and b, so each c has its best a and b, and the best c is looked up.
    """
    n, y = np.asarray(rows, np.float64), np.asarray(scores, np.float64)
    w = n**trust / np.sum(n**trust)
    x = n[None, :] ** -SPEEDS[:, None]  # (speeds, sizes)
    mean = x @ w
    spread = x - mean[:, None]
    b = np.maximum(0.0, -(spread @ (w * y)) / (spread**2 @ w))
    a = w @ y + b * mean
    b = np.where(a > 1.0, np.maximum(0.0, x @ (w * (1.0 - y))) / (x**2 @ w), b)
    a = np.minimum(a, 1.0)
    errors = (y - a[:, None] + b[:, None] * x) ** 2 @ w
    k = int(errors.argmin())
    level = float(w @ y)
    if errors[k] > float(w @ (y - level) ** 2) - 1e-15:  # no better than a flat line
        return PowerLaw(level, 0.0, 1.0)
    return PowerLaw(float(a[k]), float(b[k]), float(SPEEDS[k]))


def forecast(
    rows: npt.ArrayLike, right: npt.NDArray[np.int64], held: npt.NDArray[np.int64], factor: float = 2.0
) -> Forecast | None:
    """Say what factor times the rows would bring; None where that cannot be told: too few sizes or folds.

    rows are the training rows of each size, the last one all of them; right, (sizes, folds), how many of the held-out
    rows of a fold are right; held, (folds,), how many those are. The interval is for the gain as it would be measured on
    the rows then at hand, and adds up three doubts: what leaving out a fold changes; what it changes to count all sizes
    alike, or the large ones even more, for the law is only a law of thumb; and the luck of which rows come in.
    """
    n = np.asarray(rows, np.float64)
    folds = right.shape[1]
    if len(n) < LEAST_POINTS or folds < LEAST_FOLDS:
        return None
    target = factor * n[-1]

    def gain(kept: npt.NDArray[np.bool_], trust: float = 1.0) -> tuple[float, PowerLaw]:
        law = fit_power_law(n, right[:, kept].sum(axis=1) / held[kept].sum(), trust)
        return float(law.at(target) - law.at(n[-1])), law

    every = np.ones(folds, dtype=bool)
    whole, law = gain(every)
    without = np.array([gain(np.arange(folds) != k)[0] for k in range(folds)])
    noise = math.sqrt((folds - 1) / folds * float(np.sum((without - without.mean()) ** 2)))
    misfit = max(abs(gain(every, trust)[0] - whole) for trust in (0.0, 2.0))
    most = 1.0 - float(right[-1].sum() / held.sum())
    luck = math.sqrt(most * (1.0 - most) / float(held.sum()) * (1 - 1 / factor))
    half = math.hypot(two_sided_quantile(0.95, folds - 1) * noise, misfit, 1.96 * luck)
    return Forecast(round(target), whole, (max(0.0, whole - half), min(most, whole + half)), law)
