"""Newton's method for a smooth convex function, with truncated conjugate gradients and a line search.

Problem   min_w f(w). A problem is a function that, given w, returns a :class:`Local` view of f: its value, its
          gradient, products with its Hessian, and a preconditioner. The optimiser knows nothing else.
Step      H d = -g, solved by preconditioned conjugate gradients only as far as the point is worth it: the residual goes
          down to min(1/2, sqrt(|g| / |g_0|)) |g|, so few products are spent far away and the end converges faster
          than linearly. Then the longest of d, d/2, d/4, ... that lowers f enough (Armijo).
Stop      |g| <= tol |g_0|, or no step lowers f any more (rounding).
Cost      one gradient and a few Hessian products a step.
Paper     Lin, Weng, Keerthi: Trust Region Newton Method for Large-Scale Logistic Regression, 2008; Hsia, Chiang, Lin:
          Preconditioned Conjugate Gradient Methods in Truncated Newton Frameworks, 2018; Nocedal and Wright, chapter 7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from linnet import arithmetic

Floats = npt.NDArray[np.float64]

MOST_PRODUCTS = 250  # in one step
SUFFICIENT = 1e-4  # of the decrease that the slope promises
SHORTEST = 2.0**-30
FLAT = 1e-14


@dataclass(frozen=True)
class Local:
    """A function near one point: the value is known, the rest is computed when asked for."""

    value: float
    gradient: Callable[[], Floats]
    curvature: Callable[[], tuple[Callable[[Floats], Floats], Floats]]
    """Returns the product with the Hessian, and positive numbers that are something like its diagonal."""


@dataclass(frozen=True)
class Minimum:
    """Where the search ended: the point, how many steps it took, and |g| / |g_0| there."""

    w: Floats
    steps: int
    violation: float
    converged: bool


def minimise(
    problem: Callable[[Floats], Local],
    w: Floats,
    *,
    tol: float = 1e-6,
    max_steps: int = 100,
    scale: float | None = None,
    on_step: Callable[[int, float, float, Floats], None] | None = None,
) -> Minimum:
    """Minimise from w; on_step is called after each step with its number, the value, |g| / |g_0| and the point.

    scale is |g_0|; without, it is that of w, the first point: give it where w is a good start already.
    KeyboardInterrupt ends the search and keeps the point so far.

    >>> def parabola(w):
    ...     A, target = np.diag([1.0, 100.0]), np.array([1.0, 2.0])
    ...     g = A @ (w - target)
    ...     return Local(float(g @ (w - target)) / 2, lambda: g, lambda: (lambda d: A @ d, A.diagonal()))
    >>> minimise(parabola, np.zeros(2)).w.round(6).tolist()
    [1.0, 2.0]
    """
    here = problem(w)
    g = here.gradient()
    size = sqrt(arithmetic.dot(g, g))
    first = size if scale is None else scale
    steps = 0
    stuck = size == 0.0
    try:
        while steps < max_steps and size > tol * first and not stuck:
            product, preconditioner = here.curvature()
            d = _direction(product, preconditioner, g, min(0.5, sqrt(size / first)))
            step = _step(problem, w, d, here.value, arithmetic.dot(g, d))
            steps += 1
            if step is None:
                stuck = True
                break
            tried, there = step
            g = there.gradient()
            before, size_there = size, sqrt(arithmetic.dot(g, g))
            # at the end of the digits the value stands still; go on only while the gradient still shrinks
            stuck = here.value - there.value <= _rounding(here.value) and size_there > 0.5 * before
            if stuck and size_there >= before:
                break
            w, here, size = tried, there, size_there
            if on_step is not None:
                on_step(steps, here.value, size / first, w)
    except KeyboardInterrupt:
        pass
    violation = size / first if first else 0.0
    return Minimum(w, steps, violation, violation <= tol or stuck)


def _direction(product: Callable[[Floats], Floats], preconditioner: Floats, g: Floats, eta: float) -> Floats:
    """Solve H d = -g until the residual is eta |g|, in the norm that the preconditioner gives."""
    d = np.zeros_like(g)
    r = -g
    z = r / preconditioner
    p = z.copy()
    rz = arithmetic.dot(r, z)
    target = eta * eta * rz
    for _ in range(MOST_PRODUCTS):
        Hp = product(p)
        curvature = arithmetic.dot(p, Hp)
        if curvature <= FLAT * arithmetic.dot(p, preconditioner * p):  # no curvature that rounding could not have made
            break
        alpha = rz / curvature
        d += alpha * p
        r -= alpha * Hp
        np.divide(r, preconditioner, out=z)
        before, rz = rz, arithmetic.dot(r, z)
        if rz <= target:
            break
        p *= rz / before
        p += z
    return d if d.any() else z.copy()


def _step(
    problem: Callable[[Floats], Local], w: Floats, d: Floats, value: float, slope: float
) -> tuple[Floats, Local] | None:
    """Take the longest of d, d/2, d/4, ... that lowers the value by a share of what the slope promises."""
    slack = _rounding(value)
    t = 1.0
    while t > SHORTEST:
        tried = w + t * d
        there = problem(tried)
        if there.value <= value + SUFFICIENT * t * slope + slack:
            return tried, there
        t *= 0.5
    return None


def _rounding(value: float) -> float:
    """How much of a value may be rounding."""
    return float(8.0 * np.finfo(np.float64).eps * abs(value))
