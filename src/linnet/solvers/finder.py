"""Find a learning rate: take steps on mini-batches while the rate grows, and watch where the loss falls fastest.

Too small a rate and the loss stands still; too large and it explodes. In between it falls. One sweep from ``low`` to
``high`` in equal ratios shows all three on one curve. The suggestion is the rate at which the smoothed loss falls most
steeply per decade, and at most a tenth of the rate at which it was lowest: beyond that point steps begin to overshoot.

Reference: Smith, Cyclical Learning Rates for Training Neural Networks, 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.array_types import Array, Floats, Ints32
from linnet.draw.terminal import sparkline
from linnet.errors import LinnetError
from linnet.solvers.callbacks import curve
from linnet.solvers.losses import Logistic, Loss, Softmax
from linnet.solvers.matrix import Matrix
from linnet.solvers.online import LOSSES as ONLINE_LOSSES
from linnet.solvers.online import SGD
from linnet.solvers.optimisers import Constant, Stepwise, with_settings
from linnet.solvers.problem import LinearProblem

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
        step = _online(X, y, n_classes, loss or "softmax")
    elif isinstance(solver, Stepwise):
        step = _batches(X, y, n_classes, solver, loss, C)
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
        raise LinnetError(
            f"the loss never fell between the rates {low:g} and {rates[max(n - 1, 0)]:g}; try a smaller low"
        )
    curve = np.array(smoothed)
    lowest = int(np.argmin(curve))
    slope = np.gradient(curve, np.log(rates[:n]))
    steepest = int(np.argmin(slope[: lowest + 1]))
    suggestion = min(float(rates[steepest]), float(rates[lowest]) / SAFE)
    return Sweep(rates[:n], np.array(losses), curve, max(suggestion, low))


def _batches(
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
        move, _, memory = with_settings(solver, learning_rate=rate, schedule=Constant()).update(
            here.gradient, memory, 0.0
        )
        w[:] += move
        return here.loss

    return step


def _online(X: Matrix, y: Ints32, n_classes: int, loss: Loss | str) -> Callable[[float, Array], float]:
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
