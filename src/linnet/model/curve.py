"""Calibration beyond one scale: a curve over the log-odds of the answer, a line (sigmoid) or steps (isotonic).

Two classes have one event, the second class. With more classes the event is that the class with the highest score is the right one
(top-label calibration, Gupta and Ramdas 2022): the curve moves its log-odds against the rest, the other classes keep their
proportions, and the answer stays what it was.

    sigmoid     new = a * odds + b                                    Platt 1999: two numbers
    isotonic    new = log-odds of the shares that pool adjacent violators gives      Zadrozny and Elkan 2002: as many steps as rows tell

Both are kept as points in the log-odds, with straight lines between them. A step whose rows are all right, or all wrong, has the
share (hits + 1/2) / (rows + 1), so that no probability is 0 or 1, and steps rise a little, so that texts keep their order. The method
is chosen by the log loss of rows that it was not fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.model.calibration import Calibration
from linnet.solvers.numerics import log_sigmoid, log_softmax, logsumexp

__all__ = [
    "METHODS",
    "CalibrationCurve",
    "FittedCalibration",
    "choose_calibration",
    "fit_calibration",
    "pool_adjacent_violators",
]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

METHODS = {"scale": 0, "sigmoid": 200, "isotonic": 1_000}  # and the fewest held-out rows that they take
PARTS = 5  # of the held-out rows, to choose the method
FAR = 40.0  # log-odds: beyond, a probability is 0 or 1 to the last digit
TILT = 1e-4  # slope of a step, so that rows keep their order
BEYOND = 1000.0  # log-odds past the held-out rows, where scores still have an order
AHEAD = 1e-9  # log-odds by which the answer stays ahead of the second


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Points (log-odds before, log-odds after), ascending, with straight lines between and level beyond.

    >>> CalibrationCurve.line(2.0, 1.0).moved(np.array([[0.5]])).tolist()
    [[2.0]]
    """

    points: Floats  # (n_points, 2)

    def __post_init__(self) -> None:
        p = self.points
        if (
            p.ndim != 2
            or p.shape[1:] != (2,)
            or not len(p)
            or not np.isfinite(p).all()
            or (np.diff(p, axis=0) < 0).any()
        ):
            raise ValueError("its calibration curve does not rise")

    @classmethod
    def line(cls, a: float, b: float) -> CalibrationCurve:
        """Return the sigmoid's curve."""
        ends = np.array([-FAR, FAR]) / max(1.0, a)
        return cls(np.stack([ends, a * ends + b], axis=1))

    @classmethod
    def isotonic(cls, odds: Floats, right: Bools) -> CalibrationCurve:
        """Fit steps to log-odds and whether the event came."""
        first, last, hits, rows = pool_adjacent_violators(odds, right)
        share = hits / rows
        if hits[-1] == rows[-1]:
            share[-1] = max((hits[-1] + 0.5) / (rows[-1] + 1.0), share[-2] if len(share) > 1 else 0.0)
        if hits[0] == 0:
            share[0] = min(0.5 / (rows[0] + 1.0), share[1] if len(share) > 1 else 1.0)
        after = arithmetic.log(share) - arithmetic.log1p(-share)
        points = np.stack([np.stack([first, last], axis=1).ravel(), np.repeat(after, 2)], axis=1)
        points = points[np.concatenate([[True], np.any(points[1:] != points[:-1], axis=1)])]
        far = np.array([[BEYOND, 0.0]])
        points = np.concatenate([points[:1] - far, points, points[-1:] + far])
        points[:, 1] += TILT * points[:, 0]
        return cls(points)

    def moved(self, scores: Floats) -> Floats:
        """Return scores that the curve has been applied to: their sigmoid or softmax are the calibrated probabilities."""
        if scores.shape[1] == 1:
            return self._at(scores)
        rows, top = np.arange(len(scores)), scores.argmax(axis=1)
        odds, rest, second = _odds(scores, top)
        out = scores.copy()
        out[rows, top] = np.maximum(rest + self._at(odds), second + AHEAD)
        return out

    def _at(self, odds: Floats) -> Floats:
        """Interpolate, one operation at a time: the same digits on every processor."""
        x, y = self.points.T
        if len(x) == 1:
            return np.full_like(odds, y[0])
        inside = np.clip(odds, x[0], x[-1])
        k = np.clip(np.searchsorted(x, inside, side="right"), 1, len(x) - 1)
        width = x[k] - x[k - 1]
        part = (inside - x[k - 1]) / np.where(width > 0, width, 1.0)
        return np.asarray(y[k - 1] + part * (y[k] - y[k - 1]))


def _odds(scores: Floats, top: Indices) -> tuple[Floats, Floats, Floats]:
    """Return the log-odds of the highest score against the rest, the logsumexp of the rest, and the second highest score."""
    others = scores.copy()
    others[np.arange(len(scores)), top] = -np.inf
    rest = np.asarray(logsumexp(others, axis=1), np.float64)
    return scores[np.arange(len(scores)), top] - rest, rest, others.max(axis=1, initial=-np.inf)


def pool_adjacent_violators(x: Floats, right: Bools) -> tuple[Floats, Floats, Floats, Floats]:
    """Fit rising shares to hits: the first and last x of each step, its hits and its rows.

    >>> [part.tolist() for part in pool_adjacent_violators(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))]
    [[1.0, 3.0], [2.0, 3.0], [1.0, 1.0], [2.0, 1.0]]
    """
    values, group = np.unique(x, return_inverse=True)
    rows, hits = np.bincount(group), np.bincount(group, weights=right)
    steps: list[tuple[float, float, float, float]] = []
    for value, h, n in zip(values.tolist(), hits.tolist(), rows.tolist(), strict=True):
        first = value
        while steps and steps[-1][2] * n >= h * steps[-1][3]:  # whole numbers: exact
            before = steps.pop()
            first, h, n = before[0], h + before[2], n + before[3]
        steps.append((first, value, h, n))
    first, last, h, n = np.array(steps).T
    return first, last, h, n


@dataclass(frozen=True, eq=False)
class FittedCalibration:
    """A scale and a shift, which go into the weights, and a curve, where the method has one."""

    linear: Calibration
    curve: CalibrationCurve | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the card says of the choice: the method, and the log loss of each that was tried."""

    def scaled(self, scores: Floats) -> Floats:
        """Return held-out scores as the model with the scale and the shift in its weights would give them."""
        return np.asarray(self.linear.scale * scores + self.linear.shift)

    def losses(self, scores: Floats, y: Indices) -> Floats:
        """Return the log loss of each row."""
        S = self.scaled(scores) if self.curve is None else self.curve.moved(self.scaled(scores))
        if S.shape[1] == 1:
            return -np.asarray(log_sigmoid(np.where(y == 1, S[:, 0], -S[:, 0])), np.float64)
        return -np.asarray(log_softmax(S, axis=1), np.float64)[np.arange(len(y)), y]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a model card."""
        return {**self.linear.to_dict(), **self.about}


def fit_calibration(
    method: str, scores: Floats, y: Indices, n_classes: int, about: Mapping[str, Any] | None = None
) -> FittedCalibration:
    """Fit the scale, then the curve of a method on top of it, to held-out scores and class numbers."""
    scale, about = Calibration.fit(scores, y, n_classes, shifted=False), about or {"method": method}
    if method == "scale":
        return FittedCalibration(scale, None, about)
    S = scale.scale * scores
    if S.shape[1] == 1:
        odds, right = S[:, 0], y == 1
    else:
        top = S.argmax(axis=1)
        odds, right = _odds(S, top)[0], top == y
    if method == "isotonic":
        return FittedCalibration(scale, CalibrationCurve.isotonic(odds, right), about)
    line = Calibration.fit(odds, right.astype(np.int64), 2, prior=0.0)
    if S.shape[1] == 1:
        return FittedCalibration(Calibration(scale.scale * line.scale, line.shift), None, about)
    return FittedCalibration(scale, CalibrationCurve.line(line.scale, float(line.shift[0])), about)


def choose_calibration(scores: Floats, y: Indices, n_classes: int) -> FittedCalibration:
    """Choose among scale, sigmoid and isotonic by the log loss of held-out rows that a method was not fitted on.

    The methods are tried in this order; a later one must be better than the best so far by more than the standard error of the
    difference. Few rows try fewer of them: sigmoid takes 200, isotonic 1,000.
    """
    part = np.arange(len(scores)) % PARTS
    best, kept = "scale", np.zeros(0)
    tried: dict[str, float] = {}
    for name in (name for name, fewest in METHODS.items() if len(scores) >= max(fewest, METHODS["sigmoid"])):
        losses = np.empty(len(scores))
        for k in range(PARTS):
            rest, mine = part != k, part == k
            losses[mine] = fit_calibration(name, scores[rest], y[rest], n_classes).losses(scores[mine], y[mine])
        tried[name] = arithmetic.mean(losses)
        if not len(kept) or _clearly_less(losses, kept):
            best, kept = name, losses
    return fit_calibration(best, scores, y, n_classes, {"method": best, **({"log_loss": tried} if tried else {})})


def _clearly_less(new: Floats, old: Floats) -> bool:
    gain = old - new
    mean = arithmetic.mean(gain)
    return mean > float(np.sqrt(arithmetic.mean(np.square(gain - mean)) / len(gain)))
