"""From scores to probabilities: a scale, and with one score for two classes a shift, fitted on held-out rows.

A margin of 1.3 says which class wins, not how often such a row is right. Calibration maps scores s to probabilities:

    two classes, one score:     p(class 1) = sigmoid(scale * s + shift)
    K classes, K scores:        p(class c) = softmax_c(scale * s)

Problem. Over scale >= a small positive number (the order of the scores is kept) and shift, minimise

    sum_i w_i * cross_entropy(t_i, p_i)  +  prior / 2 * shift^2

Targets t_i are a little less certain than the labels, so the answer is finite even where the held-out rows are
perfectly separated. One score: Platt's (N + 1) / (N + 2) for a class of N rows. K scores: every row gives 1 / (N + 2)
of its target, N rows in all, in equal parts to the other classes: no error on N rows makes a model that sure, no surer.
The prior, a normal distribution with mean 0 and variance 1 / prior on the shift, holds it near 0 where a class has few
held-out rows, or none; it counts as much as a handful of rows. `prior=0` is Platt's method.

The objective is convex in one or two unknowns, and is minimised by Newton's method.

References: Platt, Probabilistic outputs for support vector machines (1999); Lin, Lin and Weng, A note on Platt's
probabilistic outputs (2007); Guo et al., On calibration of modern neural networks (2017).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Bools, Floats, Ints
from linnet.errors import DataError
from linnet.solvers.losses import log_sigmoid, log_softmax, logsumexp, sigmoid

MIN_SCALE = 1e-3  # in units of 1 / spread of the scores
MAX_STEPS = 200


@dataclass(frozen=True, eq=False)
class Calibration:
    """Maps scores to probabilities.

    `shift` has a number per score; with a score a class they are 0.

    >>> scores = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> calibration = Calibration.fit(scores, np.array([0, 0, 1, 1]))
    >>> (calibration.scale * scores + calibration.shift).round(2).tolist()
    [-1.35, -0.67, 0.67, 1.35]
    """

    scale: float
    shift: Floats
    curve: CalibrationCurve | None = None
    """What is done to the log-odds beyond the scale and the shift, which go into the weights."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the card says of the choice: the method, and the log loss of each that was tried."""

    @classmethod
    def fit(
        cls, scores: Floats, y: Array, weight: Floats | None = None, *, prior: float = 1.0, shifted: bool = True,
        start: float | None = None,
    ) -> Calibration:  # fmt: skip
        """Fit on held-out rows: scores of shape (n,), (n, 1) or (n, n_classes), class numbers 0 ... n_classes - 1.

        With shifted=False only the scale is fitted (temperature scaling): no decision changes. start is a scale near the best.
        """
        S = scores.reshape(len(scores), -1).astype(np.float64, copy=False)
        w = np.ones(len(S)) if weight is None else weight
        if not len(S) or not np.isfinite(S).all():
            raise DataError("calibration needs held-out rows with finite scores")
        largest = float(np.abs(S).max()) or 1.0
        S = S / largest  # now no square overflows
        one = S.shape[1] == 1
        if not one:
            S = S - arithmetic.mean(S, axis=1)[:, None]
        spread = float(np.sqrt(arithmetic.mean(np.square(S))))
        if spread * largest < 1e-290:  # no difference to scale
            largest, spread, S = 1.0, 1.0, np.zeros_like(S)
        S, spread = S / spread, spread * largest
        at = _one_score(S[:, 0], y, w, prior) if one else _score_a_class(S, y, w)
        first = 1.0 if start is None else max(start * spread, MIN_SCALE)
        scale, shift = _minimised(at, arithmetic.total(w), first, one and shifted)
        return cls(scale / spread, np.full(S.shape[1], shift))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a model card.

        >>> Calibration(2.0, np.array([0.5])).to_dict()
        {'scale': 2.0, 'shift': [0.5]}
        """
        return {"scale": self.scale, "shift": self.shift.tolist(), **self.about}

    def scaled(self, scores: Floats) -> Floats:
        """Return held-out scores as the model with the scale and the shift in its weights would give them."""
        return np.asarray(self.scale * scores + self.shift)

    def losses(self, scores: Floats, y: Ints) -> Floats:
        """Return the log loss of each row."""
        S = self.scaled(scores) if self.curve is None else self.curve.moved(self.scaled(scores))
        if S.shape[1] == 1:
            return -np.asarray(log_sigmoid(np.where(y == 1, S[:, 0], -S[:, 0])), np.float64)
        return -np.asarray(log_softmax(S, axis=1), np.float64)[np.arange(len(y)), y]


At = Callable[[float, float], tuple[float, tuple[float, float], tuple[float, float, float]]]
"""Of a scale and a shift: the objective, its gradient, and its second derivatives by scale twice, by both, by shift twice."""


def _one_score(s: Floats, y: Ints, w: Floats, prior: float) -> At:
    rows = np.bincount(y, weights=w, minlength=2)
    target = np.where(y == 1, (rows[1] + 1) / (rows[1] + 2), 1 / (rows[0] + 2))

    def at(scale: float, shift: float) -> Any:
        z = scale * s + shift
        p = np.asarray(sigmoid(z), np.float64)
        value = -_dot(w, np.asarray(log_sigmoid(-z), np.float64) + target * z) + 0.5 * prior * shift * shift
        pull, curve = w * (p - target), w * p * (1.0 - p)
        gradient = _dot(pull, s), arithmetic.total(pull) + prior * shift
        return value, gradient, (_dot(curve * s, s), _dot(curve, s), arithmetic.total(curve) + prior)

    return at


def _score_a_class(S: Floats, y: Ints, w: Floats) -> At:
    total = arithmetic.total(w)
    sure = (total + 1) / (total + 2)
    rest = (1 - sure) / (S.shape[1] - 1)
    target = _dot(w, (sure - rest) * S[np.arange(len(S)), y] + rest * arithmetic.total(S, axis=1))
    size = max(1, 2**15 // S.shape[1])  # rows in blocks that stay in the cache

    def at(scale: float, shift: float) -> Any:
        value = slope = curve = 0.0
        for block in (slice(row, row + size) for row in range(0, len(S), size)):
            z = scale * S[block]
            top = z.max(axis=1)
            P = arithmetic.exp(z - top[:, None])
            sums = arithmetic.total(P, axis=1)
            P /= sums[:, None]
            mean = arithmetic.total(P * S[block], axis=1)
            spread = arithmetic.total(P * np.square(S[block] - mean[:, None]), axis=1)
            value += _dot(w[block], top + arithmetic.log(sums))
            slope, curve = slope + _dot(w[block], mean), curve + _dot(w[block], spread)
        return value - scale * target, (slope - target, 0.0), (curve, 0.0, 1.0)

    return at


def _minimised(at: At, total: float, start: float, shifted: bool) -> tuple[float, float]:
    """Minimise over scale >= MIN_SCALE and shift by Newton's method."""
    from linnet.solvers.newton import minimise
    from linnet.solvers.problem import Local

    def best(point: Floats, free: list[int]) -> Floats:
        def problem(w: Floats) -> Local:
            tried = point.copy()
            tried[free] = w
            value, gradient, (h_scale, h_both, h_shift) = at(*tried.tolist())
            H = np.array([[h_scale, h_both], [h_both, h_shift]])[np.ix_(free, free)]
            g, size = np.array(gradient)[free], np.maximum(np.diagonal(H), np.finfo(np.float64).tiny)
            return Local(value, lambda: g, lambda: (lambda d: arithmetic.matmul(H, d[:, None])[:, 0], size))

        found = minimise(problem, point[free], tol=1e-10, max_steps=MAX_STEPS, scale=1.0 + total)
        if found.interrupted:
            raise KeyboardInterrupt
        point[free] = found.w
        return point

    scale, shift = best(np.array([start, 0.0]), [0, 1] if shifted else [0])
    if scale < MIN_SCALE:
        scale, shift = best(np.array([MIN_SCALE, shift]), [1]) if shifted else (MIN_SCALE, 0.0)
    return float(scale), float(shift)


def _dot(a: Array, b: Array) -> float:
    """The sum of a * b in a fixed order."""
    return arithmetic.total(a * b)


# ---- Calibration beyond one scale: a curve over the log-odds of the answer, a line (sigmoid) or steps (isotonic).
#
# Two classes have one event, the second class. With more classes the event is that the class with the highest score is the right one
# (top-label calibration, Gupta and Ramdas 2022): the curve moves its log-odds against the rest, the other classes keep their
# proportions, and the answer stays what it was.
#
#     sigmoid     new = a * odds + b                                    Platt 1999: two numbers
#     isotonic    new = log-odds of the shares that pool adjacent violators gives      Zadrozny and Elkan 2002: as many steps as rows tell
#
# Both are kept as points in the log-odds, with straight lines between them. A step whose rows are all right, or all wrong, has the
# share (hits + 1/2) / (rows + 1), so that no probability is 0 or 1, and steps rise a little, so that texts keep their order. The method
# is chosen by the log loss of rows that it was not fitted on.


METHODS = {"scale": 0, "sigmoid": 200, "isotonic": 1_000}  # and the fewest held-out rows that they take
PARTS = 5  # of the held-out rows, to choose the method
MOST_CELLS = 1 << 19  # rows times classes that are looked at, evenly spaced, and
FEWEST_ROWS = 2_000
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
        points = p.shape[1:] == (2,) and len(p) > 1
        if not points or not np.isfinite(p).all() or (np.diff(p, axis=0) < 0).any():
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
            return self.at(scores)
        rows, top = np.arange(len(scores)), scores.argmax(axis=1)
        odds, rest, second = _odds(scores, top)
        out = scores.copy()
        out[rows, top] = np.maximum(rest + self.at(odds), second + AHEAD)
        return out

    def at(self, odds: Floats) -> Floats:
        """Interpolate, one operation at a time: the same digits on every processor."""
        x, y = self.points.T
        inside = np.clip(odds, x[0], x[-1])
        k = np.clip(np.searchsorted(x, inside, side="right"), 1, len(x) - 1)
        width = x[k] - x[k - 1]
        part = (inside - x[k - 1]) / np.where(width > 0, width, 1.0)
        return np.asarray(y[k - 1] + part * (y[k] - y[k - 1]))


def _odds(scores: Floats, top: Ints) -> tuple[Floats, Floats, Floats]:
    """Return the log-odds of the highest score against the rest, the logsumexp of the rest, and the second highest score."""
    others = scores.copy()
    others[np.arange(len(scores)), top] = -np.inf
    rest = np.asarray(logsumexp(others, axis=1), np.float64)
    return scores[np.arange(len(scores)), top] - rest, rest, others.max(axis=1, initial=-np.inf)


def pool_adjacent_violators(x: Floats, right: Bools) -> tuple[Floats, Floats, Ints, Ints]:
    """Fit rising shares to hits: the first and last x of each step, its hits and its rows.

    >>> [part.tolist() for part in pool_adjacent_violators(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))]
    [[1.0, 3.0], [2.0, 3.0], [1, 1], [2, 1]]
    """
    values, group = np.unique(x, return_inverse=True)
    rows, hits, first = np.bincount(group), np.bincount(group[right], minlength=len(values)), np.arange(len(values))
    while not (rises := hits[:-1] * rows[1:] < hits[1:] * rows[:-1]).all():  # whole numbers: exact
        # neighbours that do not rise are of one step in the end, so all at once
        at = np.flatnonzero(np.append(True, rises))
        first, hits, rows = first[at], np.add.reduceat(hits, at), np.add.reduceat(rows, at)
    return values[first], values[np.append(first[1:], len(values)) - 1], hits, rows


def fit_calibration(
    method: str, scores: Floats, y: Ints, about: Mapping[str, Any] | None = None, scale: Calibration | None = None
) -> Calibration:
    """Fit the scale, where it is not given, then the curve of a method on top of it, to held-out scores and class numbers."""
    scale, about = scale or Calibration.fit(scores, y, shifted=False), about or {"method": method}
    if method == "scale":
        return replace(scale, about=about)
    S = scale.scale * scores
    if S.shape[1] == 1:
        odds, right = S[:, 0], y == 1
    else:
        top = S.argmax(axis=1)
        odds, right = _odds(S, top)[0], top == y
    if method == "isotonic":
        return replace(scale, curve=CalibrationCurve.isotonic(odds, right), about=about)
    line = Calibration.fit(odds, right.astype(np.int64), prior=0.0)
    if S.shape[1] == 1:
        return Calibration(scale.scale * line.scale, line.shift, about=about)
    return replace(scale, curve=CalibrationCurve.line(line.scale, float(line.shift[0])), about=about)


def choose_calibration(scores: Floats, y: Ints) -> Calibration:
    """Choose among scale, sigmoid and isotonic by the log loss of held-out rows that a method was not fitted on.

    The methods are tried in this order; a later one must be better than the best so far by more than the standard error of the
    difference. Few rows try fewer of them: sigmoid takes 200, isotonic 1,000.
    """
    most = max(FEWEST_ROWS, MOST_CELLS // scores.shape[1])
    scores, y = scores[:: -(-len(scores) // most)], y[:: -(-len(scores) // most)]
    whole = Calibration.fit(scores, y, shifted=False)
    part = np.arange(len(scores)) % PARTS
    best, kept = "scale", np.zeros(0)
    tried: dict[str, float] = {}
    names = [name for name, fewest in METHODS.items() if len(scores) >= max(fewest, METHODS["sigmoid"])]
    folds = [(scores[part != k], y[part != k]) for k in range(PARTS if names else 0)]
    scales = [Calibration.fit(*fold, shifted=False, start=whole.scale) for fold in folds]  # all methods begin with it
    for name in names:
        losses = np.empty(len(scores))
        for k, (fold, scale) in enumerate(zip(folds, scales, strict=True)):
            found = fit_calibration(name, *fold, scale=scale)
            losses[part == k] = found.losses(scores[part == k], y[part == k])
        tried[name] = arithmetic.mean(losses)
        if not len(kept) or _clearly_less(losses, kept):
            best, kept = name, losses
    return fit_calibration(best, scores, y, {"method": best, **({"log_loss": tried} if tried else {})}, whole)


def _clearly_less(new: Floats, old: Floats) -> bool:
    gain = old - new
    mean = arithmetic.mean(gain)
    return mean > float(np.sqrt(arithmetic.mean(np.square(gain - mean)) / len(gain)))
