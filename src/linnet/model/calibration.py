"""From scores to probabilities: one scale and one shift per class, fitted on held-out rows.

A margin of 1.3 says which class wins, not how often such a row is right. Calibration maps scores s to probabilities:

    two classes, one score:     p(class 1) = sigmoid(scale * s + shift)
    K classes, K scores:        p(class c) = softmax_c(scale * s + shift)

Problem. Over scale >= a small positive number (the order of the scores is kept) and shift, minimise

    sum_i w_i * cross_entropy(t_i, p_i)  +  prior / 2 * |shift|^2

Targets t_i are a little less certain than the labels, so the answer is finite even where the held-out rows are
perfectly separated. One score: Platt's (N + 1) / (N + 2) for a class of N rows. K scores: every row gives 1 / (N + 2)
of its target, N rows in all, in equal parts to the other classes: no error on N rows makes a model that sure, no surer.
The prior, a normal distribution with mean 0 and variance 1 / prior on every shift, holds the shift of a class with few
held-out rows, or none, near 0; it counts as much as a handful of rows. `prior=0` with one score is Platt's method.

The objective is convex. It is minimised by Newton's method with conjugate gradients, which need only products with the
Hessian: O(rows * classes) each, whatever the number of classes.

References: Platt, Probabilistic outputs for support vector machines (1999); Lin, Lin and Weng, A note on Platt's
probabilistic outputs (2007); Guo et al., On calibration of modern neural networks (2017).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError, ModelFileError
from linnet.solvers.numerics import logsumexp, sigmoid, softmax

__all__ = ["Calibration"]

Floats = npt.NDArray[np.float64]

MIN_SCALE = 1e-3  # in units of 1 / spread of the scores
MAX_STEPS = 200


@dataclass(frozen=True, eq=False)
class Calibration:
    """Maps scores to probabilities.

    `shift` has one number per class, or a single one when two classes share one score.

    >>> scores = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> calibration = Calibration.fit(scores, [0, 0, 1, 1], n_classes=2)
    >>> calibration.proba(scores)[:, 1].round(2).tolist()
    [0.21, 0.34, 0.66, 0.79]
    """

    scale: float
    shift: Floats

    def __post_init__(self) -> None:
        """Copy and freeze the shift; refuse numbers that cannot be a calibration."""
        shift = np.array(self.shift, np.float64)
        if shift.ndim != 1 or not shift.size or not np.isfinite(shift).all():
            raise ValueError(f"shift must be a row of finite numbers, got {self.shift!r}")
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"scale must be positive and finite, got {self.scale!r}")
        shift.flags.writeable = False
        object.__setattr__(self, "shift", shift)
        object.__setattr__(self, "scale", float(self.scale))

    @property
    def n_classes(self) -> int:
        """How many classes the probabilities are of."""
        return max(2, self.shift.size)

    @classmethod
    def fit(
        cls,
        scores: npt.ArrayLike,
        y_index: npt.ArrayLike,
        n_classes: int,
        sample_weight: npt.ArrayLike | None = None,
        *,
        prior: float = 1.0,
        shifted: bool = True,
    ) -> Calibration:
        """Fit on held-out rows: scores of shape (n,), (n, 1) or (n, n_classes), class numbers 0 ... n_classes - 1.

        With shifted=False only the scale is fitted (temperature scaling): no decision changes.
        """
        S, y, w = _checked(scores, y_index, n_classes, sample_weight)
        if not prior >= 0:
            raise ValueError(f"prior must be 0 or more, got {prior!r}")
        objective, spread = _objective(S, y, w, n_classes, prior)
        if not shifted:
            objective.free[1:] = False
        theta = _newton(objective)
        shift = theta[2:] if S.shape[1] == 1 else theta[1:]
        return cls(float(theta[0] / spread), shift)

    def proba(self, scores: npt.ArrayLike) -> Floats:
        """Probabilities of shape (n, n_classes)."""
        S = _two_dimensional(np.asarray(scores, np.float64))
        if S.shape[1] != self.shift.size:
            raise DataError(f"calibrated for {self.shift.size} scores per row, got {S.shape[1]}")
        with np.errstate(over="ignore", invalid="ignore"):
            if self.shift.size == 1:
                z = self.scale * S[:, 0] + self.shift[0]
                return np.stack([sigmoid(-z), sigmoid(z)], axis=1)
            S = S - S.max(axis=1, keepdims=True)  # before scaling: the product cannot become +inf
            return np.asarray(softmax(self.scale * S + self.shift, axis=1), np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for a model card.

        >>> Calibration(2.0, np.array([0.5])).to_dict()
        {'scale': 2.0, 'shift': [0.5]}
        """
        return {"scale": self.scale, "shift": self.shift.tolist()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Calibration:
        """Take back what `to_dict` gave."""
        try:
            return cls(float(stored["scale"]), np.asarray(stored["shift"], np.float64))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"a calibration needs a positive 'scale' and a list 'shift', got {stored}") from error


@dataclass(frozen=True)
class _Objective:
    """f(theta) = sum_i w_i * logsumexp(z_i) - linear . theta + prior / 2 * |shift|^2, z_i = scale * S_i + shift.

    theta = (scale, shift_1 ... shift_K). The targets enter through `linear` alone, because the cross-entropy of t and
    softmax(z) is logsumexp(z) - t . z. One score for two classes is S = (0, s) with the first shift held at 0 (`free`).
    """

    S: Floats  # (n, K)
    w: Floats  # (n,)
    linear: Floats  # (1 + K,)
    prior: float
    free: npt.NDArray[np.bool_]  # (1 + K,)

    def value(self, theta: Floats) -> float:
        losses = (_dot(self.w[block], logsumexp(self.logits(theta, block), axis=1)) for block in self._blocks())
        return sum(losses) - _dot(self.linear, theta) + 0.5 * self.prior * _dot(theta[1:], theta[1:])

    def proba(self, theta: Floats) -> Floats:
        return np.concatenate([softmax(self.logits(theta, block), axis=1) for block in self._blocks()])

    def gradient(self, theta: Floats, P: Floats) -> Floats:
        gradient = -self.linear
        for block in self._blocks():
            gradient += self._pull_back(P[block], block)
        gradient[1:] += self.prior * theta[1:]
        return np.where(self.free, gradient, 0.0)

    def hessian_product(self, v: Floats, P: Floats) -> Floats:
        product = np.concatenate([[0.0], self.prior * v[1:]])
        for block in self._blocks():
            dz, p = self.logits(v, block), P[block]
            dz -= arithmetic.total(p * dz, axis=1)[:, None]
            product += self._pull_back(p * dz, block)
        return product

    def logits(self, theta: Floats, block: slice) -> Floats:
        z: Floats = theta[0] * self.S[block]
        z += theta[1:]
        return z

    def _pull_back(self, G: Floats, block: slice) -> Floats:
        """The derivative by theta of what has the derivative G by the logits."""
        weighted = G * self.w[block, None]
        return np.concatenate([[_dot(weighted, self.S[block])], arithmetic.total(weighted, axis=0)])

    def _blocks(self) -> list[slice]:
        """Rows in blocks that stay in the cache."""
        size = max(1, 2**15 // self.S.shape[1])
        return [slice(row, row + size) for row in range(0, len(self.S), size)]


def _objective(S: Floats, y: npt.NDArray[np.intp], w: Floats, n_classes: int, prior: float) -> tuple[_Objective, float]:
    """The problem on scores divided by their spread, and that spread."""
    n = len(S)
    largest = float(np.abs(S).max()) or 1.0
    S = S / largest  # now no square overflows
    binary = S.shape[1] == 1
    if not binary:
        S = S - arithmetic.mean(S, axis=1)[:, None]
    spread = float(np.sqrt(arithmetic.mean(np.square(S))))
    if spread * largest < 1e-290:  # no difference to scale
        largest, spread, S = 1.0, 1.0, np.zeros_like(S)
    S, spread = S / spread, spread * largest
    rows = np.bincount(y, weights=w, minlength=n_classes)  # (K,)
    if binary:
        S = np.hstack([np.zeros((n, 1)), S])
        sure = ((rows + 1) / (rows + 2))[y]
    else:
        total = arithmetic.total(w)
        sure = np.full(n, (total + 1) / (total + 2))
    rest = (1 - sure) / (n_classes - 1)
    own = S[np.arange(n), y]
    targets_dot_scores = (sure - rest) * own + rest * arithmetic.total(S, axis=1)
    target_mass = np.bincount(y, weights=w * (sure - rest), minlength=n_classes) + _dot(w, rest)
    free = np.ones(1 + n_classes, bool)
    free[1] = not binary
    return _Objective(S, w, np.concatenate([[_dot(w, targets_dot_scores)], target_mass]), prior, free), spread


def _newton(objective: _Objective) -> Floats:
    """Minimise over theta with theta[0] >= MIN_SCALE: projected Newton steps, halved until the value falls enough."""
    theta = np.zeros(len(objective.linear))
    theta[0] = 1.0
    value = objective.value(theta)
    total = arithmetic.total(objective.w)
    tolerance = 1e-10 * (1 + total)
    for _ in range(MAX_STEPS):
        P = objective.proba(theta)
        gradient = objective.gradient(theta, P)
        moving = objective.free.copy()
        moving[0] = theta[0] > MIN_SCALE or gradient[0] < 0  # at the bound and pushed against it: stay
        gradient = np.where(moving, gradient, 0.0)
        if np.abs(gradient).max() <= tolerance:
            break
        direction = _conjugate_gradients(objective, gradient, P, moving)
        step, found = 1.0, False
        while not found and step > 1e-12:
            trial = theta + step * direction
            trial[0] = max(trial[0], MIN_SCALE)
            trial_value = objective.value(trial)
            found = trial_value <= value + 1e-4 * _dot(gradient, trial - theta) + 1e-14 * abs(value)
            step /= 2
        if not found:  # the value is flat to the last digit
            break
        theta, value = trial, trial_value
    return theta


def _conjugate_gradients(objective: _Objective, gradient: Floats, P: Floats, moving: npt.NDArray[np.bool_]) -> Floats:
    """Solve H d = -gradient over the moving coordinates."""
    d = np.zeros_like(gradient)
    residual = -gradient
    v = residual.copy()
    square = _dot(residual, residual)
    total = arithmetic.total(objective.w)
    goal = square * min(0.01, square / (total * total))  # loose far from the optimum, superlinear near it
    for _ in range(2 * len(gradient)):
        Hv = np.where(moving, objective.hessian_product(v, P), 0.0)
        curvature = _dot(v, Hv)
        if curvature <= 1e-14 * _dot(v, v):  # flat: nothing to be gained along v
            break
        step = square / curvature
        d += step * v
        residual -= step * Hv
        square, previous = _dot(residual, residual), square
        if square <= goal:
            break
        v = residual + (square / previous) * v
    return d if d.any() else -gradient


def _dot(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """The sum of a * b in a fixed order."""
    return arithmetic.total(a * b)


def _checked(
    scores: npt.ArrayLike, y_index: npt.ArrayLike, n_classes: int, sample_weight: npt.ArrayLike | None
) -> tuple[Floats, npt.NDArray[np.intp], Floats]:
    S = _two_dimensional(np.asarray(scores, np.float64))
    y = np.asarray(y_index)
    w = np.ones(len(S)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if not len(S):
        raise DataError("calibration needs held-out rows, got none")
    if n_classes < 2 or S.shape[1] not in ({1, 2} if n_classes == 2 else {n_classes}):
        raise DataError(f"calibration needs one score per class, got {S.shape[1]} scores for {n_classes} classes")
    if y.shape != (len(S),) or w.shape != (len(S),):
        raise DataError(f"{len(S)} rows of scores, but labels of shape {y.shape} and weights of shape {w.shape}")
    if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= n_classes:
        raise DataError(f"class numbers must be whole numbers from 0 to {n_classes - 1}, got {y.min()} to {y.max()}")
    if not np.isfinite(S).all():
        raise DataError(f"calibration needs finite scores; row {int(np.argmin(np.isfinite(S).all(axis=1)))} has others")
    if not np.isfinite(w).all() or w.min() < 0 or not w.any():
        raise DataError("weights must be finite and 0 or more, and not all 0")
    return S, y.astype(np.intp), w


def _two_dimensional(scores: Floats) -> Floats:
    if scores.ndim not in (1, 2):
        raise DataError(f"scores must have one or two dimensions, got shape {scores.shape}")
    return scores.reshape(-1, 1) if scores.ndim == 1 else scores
