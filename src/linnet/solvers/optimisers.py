"""Optimisers as values: how to walk down any smooth loss, one gradient at a time, on all rows or on mini-batches.

Each is a frozen record of its settings with two functions, after optax:

    init(w)                   what it remembers before the first step
    update(g, memory, t)      the step to add to w, the length it gave to each direction, and the new memory

g is a gradient, t the passes made so far (what the schedule is asked with). The length is what an L1 penalty needs: a
step w - length * g is followed by a soft threshold at length * l1, which makes zeros that are zeros. Nothing here knows
of rows, losses or models: :func:`~linnet.solvers.descent.optimise` brings them together.

A step changes every weight, whatever the batch: n_features * n_outputs numbers, several times for Adam. With a million
features, take batches of hundreds of rows, or :class:`~linnet.solvers.online.SGD`, whose steps cost one row.

References: Polyak 1964; Nesterov 1983; Duchi, Hazan, Singer: Adaptive Subgradient Methods, 2011; Zeiler: ADADELTA,
2012; Kingma and Ba: Adam, 2015.

How the rate of an optimiser falls: factors of the first rate after t passes over the rows.

A schedule is a value, called with times in passes (t = 0, 1/n, 2/n, ... 1, ...), that returns one factor a time. It
knows nothing of optimisers; every optimiser here and :class:`~linnet.solvers.online.SGD` take any of them. They compose:
``WarmUp(1, then=Cosine(20))`` climbs for one pass, then falls for twenty; ``Step(10) * Exponential(0.9)`` multiplies.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import pi
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from linnet import arithmetic
from linnet.array_types import Floats
from linnet.errors import LinnetError
from linnet.estimator import above_zero, not_negative, share, share_below_one, whole

Memory = tuple[Any, ...]
Move = tuple[Floats, float | Floats, Memory]
"""The step, the length given to each direction, and the new memory."""


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


# ---- optimisers

Rate: TypeAlias = float | Literal["find"] | None


def check_rate(rate: Rate) -> None:
    """Refuse a learning rate that is neither None, "find" nor above zero."""
    if rate is not None and rate != "find":
        above_zero("learning_rate", rate)


BATCH = 256
LEAST_PASSES, LEAST_STEPS = 20, 1000


class Optimiser:
    """What a model takes as its ``solver``: any of the values of this package."""

    tol: float
    """Stop when the gradient is this share of the first one."""

    def passes(self, n_rows: int) -> int:
        """Return how many passes over the rows are made at most, where nobody says."""
        raise NotImplementedError


@dataclass(frozen=True)
class Stepwise(Optimiser):
    """The settings that all methods of single steps share.

    learning_rate is the length of the first step; "find" lets a model sweep it (see ``find_rate``). schedule says how it
    falls. batch_size is how many rows a step looks at; None: all of them, the deterministic method of the
    textbook. tol: |gradient| / |first gradient| at which to stop.
    """

    separable: ClassVar[bool] = True
    """Whether each weight's step depends on its own gradient alone."""
    n_vectors: ClassVar[int] = 0
    """How many numbers are remembered for each weight; all begin at zero."""

    learning_rate: Rate = None
    schedule: Schedule = field(default_factory=Constant)
    batch_size: int | None = None
    tol: float = 1e-6

    def __post_init__(self) -> None:
        check_rate(self.learning_rate)
        if self.batch_size is not None:
            whole("batch_size", self.batch_size)
        not_negative("tol", self.tol)
        for name in ("beta", "beta1", "beta2", "rho"):
            share_below_one(name, getattr(self, name, 0.0))

    def passes(self, n_rows: int) -> int:
        """Return 1000 steps, or with batches 20 passes where that is more.

        >>> Adam(batch_size=100).passes(1000), Adam(batch_size=100).passes(100_000)
        (100, 20)
        """
        steps = 1 if self.batch_size is None else -(-n_rows // self.batch_size)
        return max(LEAST_PASSES, -(-LEAST_STEPS // steps))

    def rate_at(self, t: float) -> float:
        """Return the rate after t passes."""
        if self.learning_rate is None or self.learning_rate == "find":
            raise LinnetError(f"{type(self).__name__} has no rate yet; give one, for example learning_rate=0.1")
        return self.learning_rate * float(self.schedule(np.array(t, dtype=np.float64)))

    def init(self, w: Floats) -> Memory:
        """Return the memory before the first step."""
        return tuple(np.zeros_like(w) for _ in range(self.n_vectors))

    def update(self, g: Floats, memory: Memory, t: float) -> Move:
        """Return the step for a gradient. The arrays of the memory are changed in place."""
        raise NotImplementedError


@dataclass(frozen=True)
class GradientDescent(Stepwise):
    """w <- w - rate g. With ``batch_size`` this is mini-batch stochastic gradient descent.

    learning_rate None takes 1 / (bound on the curvature), at which a step on all rows never climbs.

    >>> step, _, _ = GradientDescent(learning_rate=0.5).update(np.array([2.0, -4.0]), (), 0.0)
    >>> step.tolist()
    [-1.0, 2.0]
    """

    def update(self, g: Floats, memory: Memory, t: float) -> Move:
        """Go against the gradient."""
        rate = self.rate_at(t)
        return -rate * g, rate, memory


@dataclass(frozen=True)
class Momentum(Stepwise):
    """v <- beta v + g;  w <- w - rate v: a ball that keeps rolling. In a long valley 1 / (1 - beta) times as fast.

    nesterov looks ahead: w <- w - rate (g + beta v). learning_rate None is as for GradientDescent.

    >>> method = Momentum(learning_rate=1.0, beta=0.5)
    >>> step, _, memory = method.update(np.array([1.0]), method.init(np.zeros(1)), 0.0)
    >>> step, _, memory = method.update(np.array([1.0]), memory, 1.0)
    >>> step.tolist()
    [-1.5]
    """

    n_vectors: ClassVar[int] = 1
    beta: float = 0.9
    nesterov: bool = False

    def update(self, g: Floats, memory: Memory, t: float) -> Move:
        """Add the gradient to the speed, and move at that speed."""
        (v,) = memory
        rate = self.rate_at(t)
        v *= self.beta
        v += g
        return -rate * (g + self.beta * v if self.nesterov else v), rate / (1.0 - self.beta), memory


@dataclass(frozen=True)
class Adagrad(Stepwise):
    """G <- G + g^2;  w <- w - rate g / (sqrt(G) + eps): rare features get long steps, frequent ones short.

    >>> method = Adagrad(learning_rate=1.0, eps=0.0)
    >>> step, _, memory = method.update(np.array([3.0, 0.01]), method.init(np.zeros(2)), 0.0)
    >>> step, _, memory = method.update(np.array([4.0, 0.01]), memory, 1.0)
    >>> step.round(3).tolist()
    [-0.8, -0.707]
    """

    n_vectors: ClassVar[int] = 1
    learning_rate: Rate = 0.5
    batch_size: int | None = BATCH
    eps: float = 1e-10

    def update(self, g: Floats, memory: Memory, t: float) -> Move:
        """Divide by the root of the sum of squares so far."""
        (G,) = memory
        G += g * g
        length = _over(self.rate_at(t), np.sqrt(G), self.eps)
        return -length * g, length, memory


@dataclass(frozen=True)
class Adadelta(Stepwise):
    """Steps in the unit of the weights: E <- rho E + (1 - rho) g^2;  d = g sqrt(D + eps) / sqrt(E + eps);
    w <- w - rate d;  D <- rho D + (1 - rho) d^2.

    It needs no rate (1 is the paper's), but begins slowly: the first steps are about sqrt(eps) long.

    >>> method = Adadelta(rho=0.5, eps=0.01)
    >>> step, _, _ = method.update(np.array([1.0]), method.init(np.zeros(1)), 0.0)
    >>> step.round(6).tolist()
    [-0.140028]
    """

    n_vectors: ClassVar[int] = 2
    learning_rate: Rate = 1.0
    batch_size: int | None = BATCH
    rho: float = 0.95
    eps: float = 1e-4

    def update(self, g: Floats, memory: Memory, t: float) -> Move:
        """Scale by the ratio of recent steps to recent gradients."""
        E, D = memory
        E *= self.rho
        E += (1.0 - self.rho) * (g * g)
        length = np.sqrt((D + self.eps) / (E + self.eps))
        d = length * g
        D *= self.rho
        D += (1.0 - self.rho) * (d * d)
        rate = self.rate_at(t)
        return -rate * d, rate * length, memory


@dataclass(frozen=True)
class Adam(Stepwise):
    """Running means of g and g^2, corrected for their start at zero:

    m <- beta1 m + (1 - beta1) g;  v <- beta2 v + (1 - beta2) g^2;
    w <- w - rate m / (1 - beta1^k) / (sqrt(v / (1 - beta2^k)) + eps)     in step k.

    Every weight moves by about the rate at first, whatever the unit of its feature.

    >>> method = Adam(learning_rate=0.1)
    >>> step, _, _ = method.update(np.array([1e-3, -50.0]), method.init(np.zeros(2)), 0.0)
    >>> step.round(4).tolist()
    [-0.1, 0.1]
    """

    learning_rate: Rate = 0.1
    batch_size: int | None = BATCH
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8

    def init(self, w: Floats) -> Memory:
        """No step was made."""
        return np.zeros_like(w), np.zeros_like(w), 0

    def update(self, g: Floats, memory: Memory, t: float) -> Move:
        """Divide the mean gradient by the root of the mean square."""
        m, v, k = memory
        k += 1
        m *= self.beta1
        m += (1.0 - self.beta1) * g
        v *= self.beta2
        v += (1.0 - self.beta2) * (g * g)
        root = np.sqrt(v / (1.0 - arithmetic.power(self.beta2, k)))
        length = _over(self.rate_at(t), root, self.eps)
        return -length * (m / (1.0 - arithmetic.power(self.beta1, k))), length, (m, v, k)


def _over(rate: float, root: Floats, eps: float) -> Floats:
    """Return rate / (root + eps), and 0 where both are 0: a weight that never had a gradient stays."""
    root += eps
    return np.divide(rate, root, out=np.zeros_like(root), where=root > 0.0)


# ---- composition


@dataclass(frozen=True)
class Clip:
    """A link for a chain: gradients longer than ``most`` are shortened to it.

    >>> Clip(1.0).update(np.array([3.0, 4.0]), (), 0.0)[0].round(6).tolist()
    [0.6, 0.8]
    """

    most: float = 1.0

    def __post_init__(self) -> None:
        above_zero("most", self.most)

    def init(self, w: Floats) -> Memory:
        """Nothing is remembered."""
        return ()

    def update(self, g: Floats, memory: Memory, t: float) -> tuple[Floats, float, Memory]:
        """Shorten the gradient."""
        size = arithmetic.norm(g)
        return (g if size <= self.most else g * (self.most / size)), 1.0, memory


@dataclass(frozen=True, init=False)
class Chain(Stepwise):
    """Links that change the gradient, then an optimiser that takes the step.

    >>> method = Chain(Clip(1.0), GradientDescent(learning_rate=0.5))
    >>> method.update(np.array([3.0, 4.0]), method.init(np.zeros(2)), 0.0)[0].round(6).tolist()
    [-0.3, -0.4]
    """

    separable: ClassVar[bool] = False  # a link may look at the whole gradient

    links: tuple[Any, ...] = ()

    def __init__(self, *links: Any) -> None:
        if not links or not isinstance(links[-1], Stepwise):
            raise LinnetError("a chain ends in an optimiser that takes steps, for example Chain(Clip(1.0), Adam())")
        own = {name: getattr(links[-1], name) for name in ("learning_rate", "schedule", "batch_size", "tol")}
        for name, value in {"links": links, **own}.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Chain({', '.join(map(repr, self.links))})"

    def init(self, w: Floats) -> Memory:
        """Return the memories of the links."""
        return tuple(link.init(w) for link in self.links)

    def update(self, g: Floats, memory: Memory, t: float) -> Move:
        """Hand the gradient from link to link."""
        after = []
        length: float | Floats = 1.0
        for link, own in zip(self.links, memory, strict=True):
            g, length, kept = link.update(g, own, t)
            after.append(kept)
        return g, length, tuple(after)


def with_settings(optimiser: Stepwise, **changes: Any) -> Stepwise:
    """Return the optimiser with some settings changed; those of a chain are those of its last link.

    >>> with_settings(Chain(Clip(1.0), GradientDescent()), learning_rate=0.5)
    Chain(Clip(most=1.0), GradientDescent(learning_rate=0.5, schedule=Constant(), batch_size=None, tol=1e-06))
    """
    if isinstance(optimiser, Chain):
        return Chain(*optimiser.links[:-1], with_settings(optimiser.links[-1], **changes))
    return replace(optimiser, **changes)
