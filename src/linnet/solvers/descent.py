"""Bring a problem and an optimiser together: passes, mini-batches, L1, reports, patience, Ctrl-C.

>>> from linnet.solvers.optimisers import GradientDescent
>>> from linnet.solvers.problem import Function
>>> bowl = Function(lambda w: (float((w - 3.0) @ (w - 3.0)) / 2, w - 3.0), size=1)
>>> found = optimise(bowl, GradientDescent(learning_rate=0.5))
>>> found.w.round(4).tolist(), found.converged
([3.0], True)

Find a learning rate: take steps on mini-batches while the rate grows, and watch where the loss falls fastest.

Too small a rate and the loss stands still; too large and it explodes. In between it falls. One sweep from ``low`` to
``high`` in equal ratios shows all three on one curve. The suggestion is the rate at which the smoothed loss falls most
steeply per decade, and at most a tenth of the rate at which it was lowest: beyond that point steps begin to overshoot.

Reference: Smith, Cyclical Learning Rates for Training Neural Networks, 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Floats, Ints32
from linnet.draw.terminal import sparkline
from linnet.errors import LinnetError
from linnet.estimator import share, whole
from linnet.solvers import optimisers
from linnet.solvers.callbacks import Callback, Epoch, Found, OnEpoch, curve
from linnet.solvers.full_batch import LBFGS, Newton, ProximalGradient, Told, Whole
from linnet.solvers.losses import Logistic, Loss, Softmax
from linnet.solvers.matrix import Matrix
from linnet.solvers.online import LOSSES as ONLINE_LOSSES
from linnet.solvers.online import SGD
from linnet.solvers.optimisers import Constant, Optimiser, Stepwise, with_settings
from linnet.solvers.problem import Here, LinearProblem, Problem, least_subgradient, soft_threshold

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
    converged = stopped = interrupted = False

    def told(number: int, loss: float, violation: float, at: Floats) -> None:
        nonlocal last, best, stopped
        last = Found(at, number, violation, converged=False)
        if watch is None:
            return
        before = getattr(watch, "best", None)
        report = Epoch(number, loss * problem.total, violation, problem.n_rows)
        stopped = bool(watch(report, lambda: problem.weights(at)))
        if getattr(watch, "best", None) is not before:
            best = at.copy()
        if stopped:
            raise KeyboardInterrupt  # as Ctrl-C would

    try:
        with np.errstate(over="ignore", invalid="ignore"):
            converged = _run(problem, optimiser, w, passes, seed, told)
    except KeyboardInterrupt:
        interrupted = not stopped
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
        return arithmetic.norm(least_subgradient(self.w, gradient, self.problem.l1, self.problem.n_penalised))

    def checked(self, here: Here, number: int) -> Here:
        """Refuse to go on from a loss that is no number."""
        if not np.isfinite(here.value):
            name, rate = type(self.optimiser).__name__, self.optimiser.learning_rate
            raise LinnetError(f"{name}, pass {number}: the loss is {here.value}; give a learning_rate below {rate:g}")
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


BATCH = 64
SMOOTHING = 0.9
EXPLODED = 4.0  # times the lowest loss: the rest of the sweep would say nothing
SAFE = 10.0


@dataclass(frozen=True)
class Sweep:
    """The rates tried, the loss of the batch met at each, the same smoothed, and the rate to take.

    Print it for a small plot; notebooks draw it.
    """

    rates: Floats
    losses: Floats
    smoothed: Floats
    suggestion: float

    def _shown(self) -> list[float]:
        """The smoothed losses, cut off where they would flatten the rest of the picture."""
        return [min(float(v), 1.5 * float(self.smoothed[0])) for v in self.smoothed]

    def __str__(self) -> str:
        width = min(60, len(self.rates))
        mark = int(np.argmin(np.abs(np.log(self.rates / self.suggestion)))) * width // len(self.rates)
        low, high = f"{self.rates[0]:.1g}", f"{self.rates[-1]:.1g}"
        return (
            f"loss {sparkline(self._shown(), width)}\n     {' ' * mark}^ rate {self.suggestion:.2g}\n"
            f"     {low}{' ' * max(1, width - len(low) - len(high))}{high}"
        )

    def _repr_html_(self) -> str:
        caption = f"loss at rates {self.rates[0]:.1g} to {self.rates[-1]:.1g}; suggested {self.suggestion:.2g}"
        points = list(zip(self.rates.tolist(), self._shown(), strict=True))
        return curve(points, "rate", "loss", caption, mark=self.suggestion, log=True)


def find_rate(
    X: Any, y: Any, solver: Any, *, loss: Loss | str | None = None, C: float = 1.0, low: float = 1e-4, high: float = 100.0,
    steps: int = 100, batch: int | None = None, seed: int = 0,
) -> Sweep:  # fmt: skip
    """Sweep the rate of an optimiser, or of the one-row-at-a-time SGD, on labelled rows.

    X and y are what models take, or encoded rows. loss is one of :mod:`linnet.solvers.losses` for an optimiser (None: cross-entropy),
    a name for SGD (None: "softmax"). C is the model's. batch: rows a step (None: the optimiser's own, or 64).

    >>> from linnet.solvers.optimisers import Adam
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 20))
    >>> found = find_rate(X, X @ rng.normal(size=20) > 0, Adam())
    >>> 0.001 < found.suggestion < 1
    True
    """
    if not isinstance(X, Matrix):
        from linnet.models import inputs  # this is a front door too: it takes what users have

        X = inputs.as_matrix(X, "find_rate").explicit()
        _, y = inputs.index_of(inputs.as_labels(y, len(X), "find_rate"), None, "find_rate")
    n_classes = int(y.max()) + 1
    size = min(len(X), batch or (None if isinstance(solver, SGD) else getattr(solver, "batch_size", None)) or BATCH)
    if isinstance(solver, SGD):
        step = _by_rows(X, y, n_classes, loss or "softmax")
    elif isinstance(solver, Stepwise):
        step = _stepwise(X, y, n_classes, solver, loss, C)
    else:
        raise LinnetError(f"only optimisers with a rate can be swept, such as Adam() or SGD(), got {solver!r}")
    rng = np.random.Generator(np.random.PCG64(seed))
    left = np.zeros(0, dtype=np.int64)

    def draw(rate: float) -> float:
        nonlocal left
        if len(left) < size:
            left = rng.permutation(len(X))
        rows, left = left[:size], left[size:]
        return step(rate, rows)

    return sweep(draw, low=low, high=high, steps=steps)


def sweep(step: Callable[[float], float], *, low: float = 1e-4, high: float = 100.0, steps: int = 100) -> Sweep:
    """Call step(rate), which takes a step and returns the loss it met, with rates from low to high.

    >>> at = [1.0]
    >>> def walk(rate):  # down a slope at 1 - rate / 2 a step
    ...     at[0] *= abs(1 - rate / 2)
    ...     return at[0]
    >>> round(sweep(walk, low=1e-3, high=100, steps=50).suggestion, 1)
    0.7
    """
    if not 0.0 < low < high or steps < 10:
        raise LinnetError(f"a sweep needs 0 < low < high and 10 steps or more, got {low!r}, {high!r} and {steps!r}")
    rates = np.geomspace(low, high, steps)
    losses, smoothed, mean = [], [], 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for k, rate in enumerate(rates, 1):
            loss = step(float(rate))
            if not np.isfinite(loss):
                break
            mean = SMOOTHING * mean + (1.0 - SMOOTHING) * loss
            losses.append(loss)
            smoothed.append(mean / (1.0 - SMOOTHING**k))
            if k > 10 and smoothed[-1] > EXPLODED * min(smoothed):
                break
    n = len(losses)
    if n < 3 or int(np.argmin(smoothed)) == 0:
        raise LinnetError(f"the loss never fell from the rate {low:g} to {rates[max(n - 1, 0)]:g}; try a smaller low")
    curve = np.array(smoothed)
    lowest = int(np.argmin(curve))
    slope = np.gradient(curve, np.log(rates[:n]))
    steepest = int(np.argmin(slope[: lowest + 1]))
    suggestion = min(float(rates[steepest]), float(rates[lowest]) / SAFE)
    return Sweep(rates[:n], np.array(losses), curve, max(suggestion, low))


def _stepwise(
    X: Matrix, y: Ints32, n_classes: int, solver: Stepwise, loss: Loss | str | None, C: float
) -> Callable[[float, Array], float]:
    if isinstance(loss, str):
        raise LinnetError(f"an optimiser takes a loss of linnet.solvers.losses, such as SquaredHinge(), got {loss!r}")
    smooth: Loss = (Logistic() if n_classes == 2 else Softmax()) if loss is None else loss
    problem = LinearProblem(X, y, np.full(len(X), C), smooth, 1 if n_classes == 2 else n_classes)
    w = np.zeros(problem.size)
    memory = solver.init(w)

    def step(rate: float, rows: Array) -> float:
        nonlocal memory
        here = problem.some(w, rows)
        optimiser = with_settings(solver, learning_rate=rate, schedule=Constant())
        move, _, memory = optimiser.update(here.gradient, memory, 0.0)
        w[:] += move
        return here.loss

    return step


def _by_rows(X: Matrix, y: Ints32, n_classes: int, loss: Loss | str) -> Callable[[float, Array], float]:
    from linnet._kernels import online

    if not isinstance(loss, str) or loss not in ONLINE_LOSSES:
        raise LinnetError(f"SGD takes the loss {', '.join(ONLINE_LOSSES)}, got {loss!r}")
    V, none = (np.zeros((n, n_classes), dtype=X.values.dtype) for n in (X.n_features, 0))
    taken = online.OnlineSteps(
        y, np.ones(len(X)), np.zeros(n_classes), 1.0 - np.eye(n_classes), loss=ONLINE_LOSSES[loss], decay=0.0,
        bias_rate=1.0, batch=1,
    )  # fmt: skip

    def step(rate: float, rows: Array) -> float:
        rates = np.full(len(rows), rate)
        online.online_pass(X.indptr, X.indices, X.values, rows.astype(np.int32), rates, V, none, taken)
        return taken.loss_sum / len(rows)

    return step
