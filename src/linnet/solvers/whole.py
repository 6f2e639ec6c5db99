"""Optimisers that look at all rows in every step and choose the length of the step themselves.

    Newton            a few steps, each solved by conjugate gradients: the default of logistic regression
    LBFGS             curvature guessed from the last few gradients (scipy's code): a step costs one or two gradients
    ProximalGradient  gradient steps with momentum and a soft threshold: exact zeros under an L1 penalty (FISTA)

Each is a frozen record with ``run(problem, w, tol, max_passes, on_pass)``, which reports every step and returns whether
it converged: |g| <= tol |g_0|, g the least subgradient where there is an L1 penalty.

References: Nocedal and Wright, chapters 5 to 7; Liu and Nocedal: On the Limited Memory BFGS Method, 1989; Beck and
Teboulle: A Fast Iterative Shrinkage-Thresholding Algorithm, 2009; O'Donoghue and Candes: Adaptive Restart, 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from linnet.errors import LinnetError
from linnet.solvers.newton import inner, minimise
from linnet.solvers.optimisers import Optimiser
from linnet.solvers.problem import Here, Problem, least_subgradient, soft_threshold

__all__ = ["LBFGS", "Newton", "ProximalGradient", "Whole"]

Floats = npt.NDArray[np.float64]
Told = Callable[[int, float, float, Floats], None]
"""Told of each step: its number, the training loss, |g| / |g_0|, and the point."""


@dataclass(frozen=True)
class Whole(Optimiser):
    """The settings that methods on all rows share. tol: |gradient| / |first gradient| at which to stop."""

    most_steps: ClassVar[int] = 100

    tol: float = 1e-8

    def __post_init__(self) -> None:
        if not self.tol >= 0.0:
            raise LinnetError(f"tol must not be negative, got {self.tol!r}")

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
            told(number, (value - 0.5 * problem.l2 * inner(W, W)) / problem.total, violation, at)

        found = minimise(problem.local, w, tol=self.tol, max_steps=max_epochs, on_step=step)
        if not found.converged and found.steps < max_epochs:  # it keeps its point when interrupted; here it is news
            raise KeyboardInterrupt
        return found.converged


@dataclass(frozen=True)
class LBFGS(Whole):
    """The quasi-Newton method of scipy, with the last ``history`` pairs of steps and gradients.

    Its inner products run on one thread of BLAS, so that the number of threads does not change the answer.

    >>> LBFGS(history=20)
    LBFGS(tol=1e-08, history=20)
    """

    most_steps: ClassVar[int] = 1000
    history: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.history < 1:
            raise LinnetError(f"history must be a whole number from 1, got {self.history!r}")

    def run(self, problem: Problem, w: Floats, max_epochs: int, told: Told) -> bool:
        """Minimise from w."""
        from scipy.optimize import minimize
        from threadpoolctl import threadpool_limits

        self._refuse_l1(problem)
        first = problem.everything(w)
        size = inner(first.gradient, first.gradient) ** 0.5
        if size == 0.0:
            return True
        last: list[Here] = [first]
        steps, violation = 0, 1.0

        def both(at: Floats) -> tuple[float, Floats]:
            here = problem.everything(at)
            last[0] = here
            return here.value / size, here.gradient / size  # scipy's own limits are absolute: bring |g_0| to 1

        def after(intermediate_result: Any) -> None:
            nonlocal steps, violation
            at = intermediate_result.x.copy()
            if last[0].value / size != intermediate_result.fun:  # the line search looked further
                last[0] = problem.everything(at)
            steps += 1
            violation = inner(last[0].gradient, last[0].gradient) ** 0.5 / size
            told(steps, last[0].loss, violation, at)
            if violation <= self.tol:
                raise StopIteration

        options = {"maxcor": self.history, "maxiter": max_epochs, "maxfun": 100 * max_epochs, "ftol": 0.0, "gtol": 0.0}
        with threadpool_limits(limits=1, user_api="blas"):
            result = minimize(both, w, jac=True, method="L-BFGS-B", callback=after, options=options)
        # with its limits at zero scipy ends by itself only where no step lowers the value: the digits ended
        return violation <= self.tol or (steps < max_epochs and result.nit < max_epochs)


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
            g = least_subgradient(at, gradient, l1, cut)
            return float(inner(g, g) ** 0.5)

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
            if self.accelerated and inner(z - new, new - w) <= 0.0:
                after = 0.5 + (0.25 + momentum * momentum) ** 0.5
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
            bound = here.value + inner(here.gradient, d) + 0.5 * L * inner(d, d)
            if there.value <= bound + 1e-14 * abs(here.value) or L > 1e300:
                return new, there, L
            L *= 2.0
