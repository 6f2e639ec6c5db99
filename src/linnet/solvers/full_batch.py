"""Optimisers that look at all rows in every step and choose the length of the step themselves.

    Newton            a few steps, each solved by conjugate gradients: see linnet.solvers.newton
    LBFGS             curvature guessed from the last few gradients: a step costs one or two gradients
    ProximalGradient  gradient steps with momentum and a soft threshold: exact zeros under an L1 penalty (FISTA)

Each is a frozen record with ``run(problem, w, tol, max_passes, on_pass)``, which reports every step and returns whether
it converged: |g| <= tol |g_0|, g the least subgradient where there is an L1 penalty.

References: Nocedal and Wright, chapters 5 to 7; Liu and Nocedal: On the Limited Memory BFGS Method, 1989; Beck and
Teboulle: A Fast Iterative Shrinkage-Thresholding Algorithm, 2009; O'Donoghue and Candes: Adaptive Restart, 2015.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from linnet import arithmetic
from linnet.array_types import Floats
from linnet.errors import LinnetError
from linnet.estimator import not_negative, whole
from linnet.solvers.newton import EPSILON, ROUNDING, SUFFICIENT, minimise
from linnet.solvers.optimisers import Optimiser
from linnet.solvers.problem import Here, Problem, least_subgradient, soft_threshold

STEEP = 0.9  # of the slope: what a step of L-BFGS may leave
MOST_TRIES = 60
PATIENCE = 10  # steps that change nothing but the last digits

Told = Callable[[int, float, float, Floats], None]
"""Told of each step: its number, the training loss, |g| / |g_0|, and the point."""


@dataclass(frozen=True)
class Whole(Optimiser):
    """The settings that methods on all rows share. tol: |gradient| / |first gradient| at which to stop."""

    most_steps: ClassVar[int] = 100

    tol: float = 1e-8

    def __post_init__(self) -> None:
        not_negative("tol", self.tol)

    def passes(self, n_rows: int) -> int:
        """Return how many steps are taken at most; each looks at all rows."""
        return self.most_steps

    def run(self, problem: Problem, w: Floats, max_epochs: int, told: Told) -> bool:
        """Minimise from w; returns whether the tolerance was met (or the digits ended)."""
        raise NotImplementedError

    def _refuse_l1(self, problem: Problem) -> None:
        if problem.l1 > 0.0:
            raise LinnetError(f"{type(self).__name__} needs a smooth penalty; for L1 use ProximalGradient")


@dataclass(frozen=True)
class Newton(Whole):
    """H d = -g by conjugate gradients, then a line search: see :mod:`linnet.solvers.newton`. For any loss with curvature.

    >>> Newton(tol=1e-10)
    Newton(tol=1e-10)
    """

    def run(self, problem: Problem, w: Floats, max_epochs: int, told: Told) -> bool:
        """Minimise from w."""
        self._refuse_l1(problem)

        def step(number: int, value: float, violation: float, at: Floats) -> None:
            W = at[: problem.n_penalised]
            told(number, (value - 0.5 * problem.l2 * arithmetic.dot(W, W)) / problem.total, violation, at)

        found = minimise(problem.local, w, tol=self.tol, max_steps=max_epochs, on_step=step)
        if found.interrupted:  # it keeps its point when interrupted; here it is news
            raise KeyboardInterrupt
        return found.converged


@dataclass(frozen=True)
class LBFGS(Whole):
    """The quasi-Newton method of Liu and Nocedal, with the last ``history`` pairs of steps and gradients.

    Not that of scipy: its inner products are those of BLAS, whose last digits change with the processor.

    >>> LBFGS(history=20)
    LBFGS(tol=1e-08, history=20)
    """

    most_steps: ClassVar[int] = 1000
    history: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("history", self.history)

    def run(self, problem: Problem, w: Floats, max_epochs: int, told: Told) -> bool:
        """Minimise from w."""
        self._refuse_l1(problem)
        here = problem.everything(w)
        first = size = arithmetic.norm(here.gradient)
        # steps s, changes of the gradient y, and s.y
        pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=self.history)
        flat = 0
        if first == 0.0:
            return True
        for number in range(1, max_epochs + 1):
            d = _against(here.gradient, pairs)
            found = _weak_wolfe(problem, w, here, d, 1.0 if pairs else 1.0 / first)
            if found is None:  # no step lowers the value: the digits ended
                return True
            new, there = found
            s, y = new - w, there.gradient - here.gradient
            bend = arithmetic.dot(s, y)
            if bend > EPSILON * arithmetic.dot(y, y):
                pairs.append((s, y, bend))
            before, size = size, arithmetic.norm(there.gradient)
            flat = flat + 1 if here.value - there.value <= ROUNDING * abs(here.value) and size >= before else 0
            w, here = new, there
            told(number, here.loss, size / first, w)
            if size <= self.tol * first or flat == PATIENCE:
                return True
        return False


def _against(gradient: Floats, pairs: deque[tuple[Floats, Floats, float]]) -> Floats:
    """Return -H gradient, H the inverse curvature that the last steps tell of (the two-loop recursion)."""
    d = -gradient
    if not pairs:
        return d
    shares = []
    for s, y, bend in reversed(pairs):
        shares.append(arithmetic.dot(s, d) / bend)
        d -= shares[-1] * y
    _, y, bend = pairs[-1]
    d *= bend / arithmetic.dot(y, y)
    for (s, y, bend), share in zip(pairs, reversed(shares), strict=True):
        d += (share - arithmetic.dot(y, d) / bend) * s
    return d


def _weak_wolfe(problem: Problem, w: Floats, here: Here, d: Floats, t: float) -> tuple[Floats, Here] | None:
    """Find a step that lowers the value enough and leaves the slope less steep: twice as long, then by halves.

    Near the optimum the value has no digits left to show that a step is right; there one is taken that does not raise it
    by more than rounding.
    """
    slope, low, high = arithmetic.dot(here.gradient, d), 0.0, np.inf
    slack = ROUNDING * abs(here.value)
    for _ in range(MOST_TRIES):
        new = w + t * d
        there = problem.everything(new)
        if not there.value <= here.value + SUFFICIENT * t * slope + slack:
            high = t
        elif arithmetic.dot(there.gradient, d) < STEEP * slope:
            low = t
        else:
            return new, there
        t = 0.5 * (low + high) if high < np.inf else 2.0 * t
    return None


@dataclass(frozen=True)
class ProximalGradient(Whole):
    """w <- S(z - g(z) / L, l1 / L), S the soft threshold and z = w + momentum: exact zeros under an L1 penalty.

    L, the curvature, is found by doubling. ``accelerated`` gives the momentum of FISTA, started again when it points
    uphill; without it this is ISTA. Without an L1 penalty it is Nesterov's accelerated gradient descent.

    >>> ProximalGradient()
    ProximalGradient(tol=1e-08, accelerated=True)
    """

    most_steps: ClassVar[int] = 2000
    accelerated: bool = True

    def run(self, problem: Problem, w: Floats, max_epochs: int, told: Told) -> bool:
        """Minimise from w."""
        cut, l1 = problem.n_penalised, problem.l1

        def length(at: Floats, gradient: Floats) -> float:
            return arithmetic.norm(least_subgradient(at, gradient, l1, cut))

        z, momentum = w.copy(), 1.0
        here = problem.everything(z)
        first = length(w, here.gradient)
        L = 1.0 / problem.gentle_rate()
        if first == 0.0:
            return True
        for number in range(1, max_epochs + 1):
            new, there, L = self._step(problem, z, here, L)
            violation = length(new, there.gradient) / first
            told(number, there.loss, violation, new)
            if violation <= self.tol:
                return True
            if self.accelerated and arithmetic.dot(z - new, new - w) <= 0.0:
                after = 0.5 + sqrt(0.25 + momentum * momentum)
                z = new + ((momentum - 1.0) / after) * (new - w)
                momentum = after
                here = problem.everything(z)
            else:
                z, momentum, here = new, 1.0, there
            w = new
        return False

    def _step(self, problem: Problem, z: Floats, here: Here, L: float) -> tuple[Floats, Here, float]:
        """Take a step no longer than the curvature allows: the value stays below the parabola it was made from."""
        cut = problem.n_penalised
        L *= 0.9  # let it grow again
        while True:
            new = z - here.gradient / L
            if problem.l1 > 0.0:
                new[:cut] = soft_threshold(new[:cut], problem.l1 / L)
            there = problem.everything(new)
            d = new - z
            bound = here.value + arithmetic.dot(here.gradient, d) + 0.5 * L * arithmetic.dot(d, d)
            if there.value <= bound + 1e-14 * abs(here.value) or L > 1e300:
                return new, there, L
            L *= 2.0
