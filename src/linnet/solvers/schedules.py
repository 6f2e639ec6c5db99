"""How the rate of an optimiser falls: factors of the first rate after t passes over the rows.

A schedule is a value, called with times in passes (t = 0, 1/n, 2/n, ... 1, ...), that returns one factor a time. It
knows nothing of optimisers; every optimiser here and :class:`~linnet.solvers.online.SGD` take any of them. They compose:
``WarmUp(1, then=Cosine(20))`` climbs for one pass, then falls for twenty; ``Step(10) * Exponential(0.9)`` multiplies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import LinnetError
from linnet.estimator import above_zero, share

Floats = npt.NDArray[np.float64]


class Schedule:
    """How the rate falls: the factor of the first rate after t passes, t = 0, 1/n, 2/n, ... 1, 1 + 1/n, ...

    Schedules multiply to a schedule.
    """

    def __call__(self, t: Floats) -> Floats:
        """Return the factors."""
        raise NotImplementedError

    def __mul__(self, other: Schedule) -> Product:
        return Product(self, other)


@dataclass(frozen=True)
class Product(Schedule):
    """One schedule times another.

    >>> (Step(2, factor=0.5) * Exponential(0.1))(np.array([0.0, 1.0, 2.0])).round(6).tolist()
    [1.0, 0.1, 0.005]
    """

    first: Schedule
    second: Schedule

    def __call__(self, t: Floats) -> Floats:
        """Return the products of the factors."""
        return self.first(t) * self.second(t)


@dataclass(frozen=True)
class Constant(Schedule):
    """The first rate, always."""

    def __call__(self, t: Floats) -> Floats:
        """Return ones."""
        return np.ones_like(t)


@dataclass(frozen=True)
class Inverse(Schedule):
    """1 / (1 + t / half): half the first rate after ``half`` passes. For a sum with strong decay.

    >>> Inverse()(np.array([0.0, 1.0, 3.0])).tolist()
    [1.0, 0.5, 0.25]
    """

    half: float = 1.0

    def __call__(self, t: Floats) -> Floats:
        """Return the factors."""
        return 1.0 / (1.0 + t / self.half)


@dataclass(frozen=True)
class InverseRoot(Schedule):
    """1 / sqrt(1 + t / over): falls slowly enough to get anywhere. The default, with the average."""

    over: float = 1.0

    def __call__(self, t: Floats) -> Floats:
        """Return the factors."""
        return 1.0 / np.sqrt(1.0 + t / self.over)


@dataclass(frozen=True)
class Step(Schedule):
    """factor^floor(t / every): stays, then drops, every so many passes.

    >>> Step(10, factor=0.1)(np.array([0.0, 9.9, 10.0, 20.0])).round(6).tolist()
    [1.0, 1.0, 0.1, 0.01]
    """

    every: float = 10.0
    factor: float = 0.5

    def __post_init__(self) -> None:
        above_zero("every", self.every)
        _check_factor(self.factor)

    def __call__(self, t: Floats) -> Floats:
        """Return the factors."""
        return np.asarray(arithmetic.power(self.factor, np.floor(np.asarray(t) / self.every)))


@dataclass(frozen=True)
class Exponential(Schedule):
    """factor^t: the same share is lost each pass.

    >>> Exponential(0.5)(np.array([0.0, 1.0, 3.0])).tolist()
    [1.0, 0.5, 0.125]
    """

    factor: float = 0.95

    def __post_init__(self) -> None:
        _check_factor(self.factor)

    def __call__(self, t: Floats) -> Floats:
        """Return the factors."""
        return np.asarray(arithmetic.power(self.factor, t))


@dataclass(frozen=True)
class Cosine(Schedule):
    """Half a wave from 1 down to ``least`` over so many passes, then level: quick in the middle, gentle at both ends.

    Reference: Loshchilov and Hutter, SGDR, 2017.

    >>> Cosine(over=4)(np.array([0.0, 2.0, 4.0, 9.0])).round(6).tolist()
    [1.0, 0.5, 0.0, 0.0]
    """

    over: float = 20.0
    least: float = 0.0

    def __post_init__(self) -> None:
        above_zero("over", self.over)
        share("least", self.least, one=True)

    def __call__(self, t: Floats) -> Floats:
        """Return the factors."""
        wave = 0.5 + 0.5 * arithmetic.cos(pi * np.clip(np.asarray(t) / self.over, 0.0, 1.0))
        return np.asarray(self.least + (1.0 - self.least) * wave, dtype=np.float64)


@dataclass(frozen=True)
class WarmUp(Schedule):
    """Climb in a line from ``first`` to 1 over so many passes, then follow another schedule from its beginning.

    >>> WarmUp(2, then=Inverse())(np.array([0.0, 1.0, 2.0, 3.0])).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """

    over: float = 1.0
    then: Schedule = field(default_factory=Constant)
    first: float = 0.0

    def __post_init__(self) -> None:
        above_zero("over", self.over)
        share("first", self.first, one=True)

    def __call__(self, t: Floats) -> Floats:
        """Return the factors."""
        t = np.asarray(t, dtype=np.float64)
        climb = self.first + (1.0 - self.first) * t / self.over
        return np.where(t < self.over, climb, self.then(np.maximum(t - self.over, 0.0)))


def _check_factor(factor: float) -> None:
    if not 0.0 < factor <= 1.0:
        raise LinnetError(f"factor must be above 0 and at most 1, got {factor!r}")
