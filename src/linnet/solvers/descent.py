"""Bring a problem and an optimiser together: passes, mini-batches, L1, reports, patience, Ctrl-C.

>>> from linnet.solvers.optimisers import GradientDescent
>>> from linnet.solvers.problem import Function
>>> bowl = Function(lambda w: (float((w - 3.0) @ (w - 3.0)) / 2, w - 3.0), size=1)
>>> found = optimise(bowl, GradientDescent(learning_rate=0.5))
>>> found.w.round(4).tolist(), found.converged
([3.0], True)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Floats
from linnet.errors import LinnetError
from linnet.estimator import share, whole
from linnet.solvers import optimisers
from linnet.solvers.callbacks import Callback, Epoch, Found, OnEpoch
from linnet.solvers.newton import LBFGS, Newton, ProximalGradient, Told, Whole
from linnet.solvers.online import SGD
from linnet.solvers.optimisers import Optimiser, Stepwise, with_settings
from linnet.solvers.problem import Here, Problem, least_subgradient, soft_threshold

PIECE = 1 << 14  # of a vector: a few arrays of this many numbers stay in the cache

OPTIMISERS: dict[str, type[Optimiser]] = {
    "gradient-descent": optimisers.GradientDescent,
    "momentum": optimisers.Momentum,
    "adagrad": optimisers.Adagrad,
    "adadelta": optimisers.Adadelta,
    "adam": optimisers.Adam,
    "newton": Newton,
    "lbfgs": LBFGS,
    "proximal-gradient": ProximalGradient,
}
"""What ``solver=NAME`` and ``linnet train --solver NAME`` know, beside each model's own."""
SOLVERS: dict[str, Any] = {"sgd": SGD, **OPTIMISERS}


@dataclass(frozen=True)
class EarlyStopping(Optimiser):
    """An optimiser that models run on part of the rows, judged on the rest after every pass.

    A share ``validation_fraction`` of the rows, drawn by class, is held out. Once ``patience`` passes in a row were no better
    on them than the best before, the best weights are the answer.

    >>> EarlyStopping(LBFGS(), patience=3)
    EarlyStopping(optimiser=LBFGS(tol=1e-08, history=10), patience=3, validation_fraction=0.1)
    """

    optimiser: Optimiser | SGD = field(default_factory=optimisers.Adam)
    patience: int = 5
    validation_fraction: float = 0.1

    def __post_init__(self) -> None:
        if not isinstance(self.optimiser, Stepwise | Whole | SGD):
            raise LinnetError(f"an optimiser is a value such as Adam() or LBFGS(), got {self.optimiser!r}")
        whole("patience", self.patience)
        share("validation_fraction", self.validation_fraction)

    def passes(self, n_rows: int) -> int:
        """Return what the optimiser itself would make."""
        return self.optimiser.passes(n_rows)


def solver_settings(name: str) -> tuple[str, ...]:
    """Return the settings of a solver that is named: its own, and those of what is put around it."""
    kind = SOLVERS[name]
    around = ("patience", "validation_fraction", *(("clip",) if issubclass(kind, Stepwise) else ()))
    return (*(f.name for f in fields(kind)), *around)


def make_solver(name: str, settings: Mapping[str, Any]) -> SGD | Optimiser:
    """Return the solver of a name with some settings; clip and patience put what does that around it.

    >>> make_solver("gradient-descent", {"learning_rate": 0.5, "clip": 1.0})
    Chain(Clip(most=1.0), GradientDescent(learning_rate=0.5, schedule=Constant(), batch_size=None, tol=1e-06))
    """
    own = {f.name for f in fields(SOLVERS[name])}
    made = SOLVERS[name](**{k: v for k, v in settings.items() if k in own})
    if settings.get("clip") is not None:
        made = optimisers.Chain(optimisers.Clip(settings["clip"]), made)
    stopping = {k: settings[k] for k in ("patience", "validation_fraction") if settings.get(k) is not None}
    return EarlyStopping(made, **stopping) if stopping else made


class _Enough(Exception):  # noqa: N818
    """Patience has run out."""


def optimise(
    problem: Problem,
    optimiser: Optimiser,
    *,
    w: Floats | None = None,
    max_epochs: int | None = None,
    watch: Callback | OnEpoch | None = None,
    seed: int = 0,
) -> Found:
    """Minimise the problem from w (zeros), in at most so many passes over the rows.

    watch is told of each pass: number, loss, |g| / |g_0|, rows. A :class:`~linnet.solvers.callbacks.Callback` with a judge
    keeps the best point; it is returned when patience or Ctrl-C ends the passes. Otherwise the last point is. seed
    draws the order of the rows, anew each pass, for optimisers with batches; the others do not use it.
    """
    passes = optimiser.passes(problem.n_rows) if max_epochs is None else max_epochs
    w = np.zeros(problem.size) if w is None else np.array(w, dtype=np.float64)
    last, best = Found(w, 0, 1.0, converged=False), w

    def told(number: int, loss: float, violation: float, at: Floats) -> None:
        nonlocal last, best
        last = Found(at, number, violation, converged=False)
        if watch is None:
            return
        before = getattr(watch, "best", None)
        report = Epoch(number, loss * problem.total, violation, problem.n_rows)
        enough = watch(report, lambda: problem.weights(at))
        if getattr(watch, "best", None) is not before:
            best = at.copy()
        if enough:
            raise _Enough

    converged = stopped = interrupted = False
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            converged = _run(problem, optimiser, w, passes, seed, told)
    except _Enough:
        stopped = True
    except KeyboardInterrupt:
        interrupted = True
    at = best if (stopped or interrupted) and getattr(watch, "best", None) is not None else last.w
    return Found(at, last.passes, last.violation, converged, stopped, interrupted)


def _run(problem: Problem, optimiser: Optimiser, w: Floats, passes: int, seed: int, told: Told) -> bool:
    if isinstance(optimiser, Whole):
        return optimiser.run(problem, w, passes, told)
    if not isinstance(optimiser, Stepwise):
        raise LinnetError(f"an optimiser is a value such as Adam() or LBFGS(), got {optimiser!r}")
    if optimiser.learning_rate is None:
        optimiser = with_settings(optimiser, learning_rate=problem.gentle_rate())
    walk = _Descent(problem, optimiser, w)
    if optimiser.batch_size is None or optimiser.batch_size >= problem.n_rows:
        return _all_rows(walk, passes, told)
    return _batches(walk, optimiser.batch_size, passes, seed, told)


class _Descent:
    """A point, moved by an optimiser on a problem.

    Where each weight moves by itself, the vector is moved in pieces that stay in the cache, each with its own memory.
    """

    def __init__(self, problem: Problem, optimiser: Stepwise, w: Floats) -> None:
        self.problem, self.optimiser, self.w = problem, optimiser, w
        ends = [*range(0, len(w), PIECE if optimiser.separable else len(w)), len(w)]
        self.pieces = [slice(a, b) for a, b in pairwise(ends)]
        self.memory: list[Any] = [optimiser.init(w[piece]) for piece in self.pieces]

    def step(self, gradient: Floats, t: float) -> None:
        """Move; under an L1 penalty, soft-threshold by the lengths of the step."""
        for k, piece in enumerate(self.pieces):
            step, length, self.memory[k] = self.optimiser.update(gradient[piece], self.memory[k], t)
            w = self.w[piece]
            w += step
            if self.problem.l1 > 0.0:
                cut = max(0, min(self.problem.n_penalised - piece.start, len(w)))
                by = length[:cut] if isinstance(length, np.ndarray) else length
                w[:cut] = soft_threshold(w[:cut], self.problem.l1 * by)

    def size(self, gradient: Floats) -> float:
        """Return the length of the least subgradient."""
        g = least_subgradient(self.w, gradient, self.problem.l1, self.problem.n_penalised)
        return arithmetic.norm(g)

    def checked(self, here: Here, number: int) -> Here:
        """Refuse to go on from a loss that is no number."""
        if not np.isfinite(here.value):
            name, rate = type(self.optimiser).__name__, self.optimiser.learning_rate
            raise LinnetError(
                f"{name} diverged in pass {number}: the loss is {here.value}; give a learning_rate below {rate:g} "
                "(linnet.solvers.find_rate suggests one)"
            )
        return here


def _all_rows(walk: _Descent, passes: int, told: Told) -> bool:
    here = walk.problem.everything(walk.w)
    first = walk.size(here.gradient)
    if first == 0.0:
        return True
    for number in range(1, passes + 1):
        walk.step(here.gradient, number - 1.0)
        here = walk.checked(walk.problem.everything(walk.w), number)
        violation = walk.size(here.gradient) / first
        told(number, here.loss, violation, walk.w)
        if violation <= walk.optimiser.tol:
            return True
    return False


def _batches(walk: _Descent, batch: int, passes: int, seed: int, told: Told) -> bool:
    """Every pass in a new order; what is reported is the mean over the batches, met while the weights moved."""
    n = walk.problem.n_rows
    cuts = np.linspace(0, n, -(-n // batch) + 1).round().astype(int)  # batches that differ by one row at most
    rng = np.random.Generator(np.random.PCG64(seed))
    first = 0.0
    for number in range(1, passes + 1):
        order = rng.permutation(n)
        loss, mean = 0.0, np.zeros_like(walk.w)
        for k in range(len(cuts) - 1):
            here = walk.checked(walk.problem.some(walk.w, order[cuts[k] : cuts[k + 1]]), number)
            share = float(cuts[k + 1] - cuts[k]) / n
            loss += share * here.loss
            mean += share * here.gradient
            first = first or walk.size(here.gradient)
            walk.step(here.gradient, number - 1.0 + cuts[k] / n)
        violation = walk.size(mean) / first if first else 0.0
        told(number, loss, violation, walk.w)
        if violation <= walk.optimiser.tol:
            return True
    return False
