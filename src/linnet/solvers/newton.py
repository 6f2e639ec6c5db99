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
from contextlib import suppress
from math import sqrt
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Floats
from linnet.solvers.callbacks import Epoch, Found, OnEpoch, Weights
from linnet.solvers.losses import Softmax
from linnet.solvers.matrix import RowBlocks
from linnet.solvers.problem import Local, SmoothObjective, SumProblem

MOST_PRODUCTS = 250  # in one step
SHORTEST = 2.0**-30
EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 8.0 * EPSILON
SUFFICIENT = 1e-4  # of the decrease that the slope promises
FLAT = 1e-14


def minimise(
    problem: Callable[[Floats], Local],
    w: Floats,
    *,
    tol: float = 1e-6,
    max_steps: int = 100,
    scale: float | None = None,
    on_step: Callable[[int, float, float, Floats], None] | None = None,
) -> Found:
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
    with suppress(KeyboardInterrupt):
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
            stuck = here.value - there.value <= ROUNDING * abs(here.value) and size_there > 0.5 * before
            if stuck and size_there >= before:
                break
            w, here, size = tried, there, size_there
            if on_step is not None:
                on_step(steps, here.value, size / first, w)
    violation = size / first if first else 0.0
    converged = violation <= tol or stuck
    return Found(w, steps, violation, converged, interrupted=not converged and steps < max_steps)


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
    slack = ROUNDING * abs(value)
    t = 1.0
    while t > SHORTEST:
        tried = w + t * d
        there = problem(tried)
        if there.value <= value + SUFFICIENT * t * slope + slack:
            return tried, there
        t *= 0.5
    return None


# ---- rows in blocks on disk


def fit_sum(
    model: Any, objective: SmoothObjective, rows: RowBlocks, *, tol: float, most: int, start: Floats | None, made: int
) -> Weights:
    """Minimise the objective over all blocks by Newton's method; Ctrl-C keeps the weights so far.

    start is a point to go on from, made the epochs that led there; they count. Sets the model's n_iter_ and interrupted_.
    """
    shape, total = (rows.n_features, rows.n_outputs), objective.C * rows.total_weight
    problem, scale = SumProblem(rows.add_up, objective, shape, total, rows.gain), None
    if start is not None:
        zero = problem.everything(np.zeros(problem.size)).gradient
        scale = problem.total * float(np.sqrt(arithmetic.dot(zero, zero)))
    centred = isinstance(objective.loss, Softmax)
    return newton_steps(
        model, problem, start, rows.on_epoch, rows.n_rows, tol=tol, most=most, scale=scale, made=made,
        shown=lambda W, b: (W, b - arithmetic.mean(b) if centred else b),
    )  # fmt: skip


def newton_steps(
    model: Any, problem: Any, start: Floats | None, on_epoch: OnEpoch, n_rows: int, *, tol: float, most: int,
    scale: float | None, made: int, shown: Callable[..., Weights],
) -> Weights:  # fmt: skip
    """Take Newton steps from a start that made some epochs; shown turns W and b into the weights of the model."""

    def report(number: int, value: float, violation: float, w: Floats) -> None:
        W = w[: problem.n_penalised]
        told = Epoch(made + number, value - 0.5 * arithmetic.dot(W, W), violation, n_rows)
        on_epoch(told, lambda: shown(*problem.weights(w)))

    w = np.zeros(problem.size) if start is None else start
    found = minimise(problem.local, w, tol=tol, max_steps=max(1, most - made), scale=scale, on_step=report)
    model._finish(made + found.passes, most, found.violation, found.converged)
    return shown(*problem.weights(found.w))
