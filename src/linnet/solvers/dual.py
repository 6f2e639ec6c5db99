"""The linear SVM by dual coordinate descent: one binary problem a class, all of them pass by pass, in threads.

The kernel makes one pass over one problem; this file keeps the passes: order, shrinking, stopping, reporting. Each
class has its own tables and its own random order, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import dual, sparse
from linnet.solvers.callbacks import Epoch

__all__ = ["SVMProblem", "State", "solve", "signs_of"]

Floats = npt.NDArray[Any]


@dataclass(frozen=True)
class SVMProblem:
    """Rows and, for each binary problem, signs; x_ij = values_ij * weight_jc.

    Without weight, scale and blocks the rows are plain: their kernel keeps one 64-bit weight a feature.
    """

    indptr: npt.NDArray[np.int64]  # (n_rows * n_blocks + 1,)
    indices: npt.NDArray[np.int32]
    values: Floats  # float32 or float64; empty: all ones
    signs: npt.NDArray[np.int8]  # (n_problems, n_rows), +1 or -1
    n_features: int
    C: npt.NDArray[np.float64]  # (n_problems, n_rows) or (1, n_rows): the cost of each row
    weight: Floats | None = None  # (n_problems, n_features) or (1, n_features): g
    scale: Floats | None = None  # (n_rows * n_blocks,): times the values of each segment
    n_blocks: int = 1
    rows: npt.NDArray[np.int32] | None = None  # which rows to visit; without, all whose C is above zero
    norms: npt.NDArray[np.float64] | None = None  # (n_rows,), squared, of plain rows; without, they are computed

    @property
    def plain(self) -> bool:
        """Whether a row is values at columns, and nothing else."""
        bare = self.weight is None and self.scale is None and self.n_blocks == 1
        return bare and len(self.values) == len(self.indices)

    def squared_norms(self) -> npt.NDArray[np.float64]:
        """Return |x_i|^2 of plain rows."""
        if self.norms is not None:
            return self.norms
        out, ones = np.empty((self.signs.shape[1], 1)), np.ones((self.n_features, 1))
        sparse.dot(self.indptr, self.indices, np.square(self.values), ones, 0, len(out), out)
        return out[:, 0]


@dataclass
class State:
    """The tables of one binary problem: u = g w and g^2 in pairs, (n_features, 2), or w alone, (n_features, 1)."""

    table: Floats
    bias: npt.NDArray[np.float64]
    alpha: npt.NDArray[np.float64]
    diag: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    q: npt.NDArray[np.float64]
    C: npt.NDArray[np.float64]
    signs: npt.NDArray[np.int8]
    rows: npt.NDArray[np.int32]
    active: npt.NDArray[np.int32]
    keep: npt.NDArray[np.int32]
    rng: np.random.Generator
    bounds: npt.NDArray[np.float64] = field(default_factory=lambda: np.array([np.inf, -np.inf]))
    stats: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    slack: npt.NDArray[np.float64] = field(
        default_factory=lambda: np.zeros(0)
    )  # as rows were last met; plain rows only
    done: bool = False

    @property
    def u(self) -> Floats:
        """The folded weights."""
        return self.table[:, 0]

    def length(self) -> float:
        """|w|; in pieces, because the tables may be large."""
        total = 0.0
        for k in range(0, len(self.table), 1 << 16):
            u = self.table[k : k + (1 << 16), 0].astype(np.float64)
            squares = self.table[k : k + (1 << 16), 1].astype(np.float64) if self.table.shape[1] > 1 else np.ones(1)
            total += arithmetic.total(u * u / np.where(squares > 0.0, squares, 1.0))
        return float(np.sqrt(total))


def _start(p: SVMProblem, c: int, squared: bool, bias_scale: float, seed: int) -> State:
    n = p.signs.shape[1]
    C = p.C[c if len(p.C) > 1 else 0]
    if p.plain:
        table, q = np.zeros((p.n_features, 1)), p.squared_norms() + bias_scale * bias_scale
    else:
        table, q = np.zeros((p.n_features, 2), dtype=p.values.dtype), np.full(n, -1.0)
        if p.weight is None:
            table[:, 1] = 1.0
        else:
            np.square(p.weight[c if len(p.weight) > 1 else 0], out=table[:, 1])
    rows = np.flatnonzero(C > 0).astype(np.int32) if p.rows is None else p.rows
    with np.errstate(divide="ignore"):
        diag = 0.5 / C if squared else np.zeros(n)
    upper = np.full(n, np.inf) if squared else C.copy()
    rng = np.random.Generator(np.random.PCG64([seed, c]))
    state = State(
        table, np.zeros(1), np.zeros(n), diag, upper, q, C, p.signs[c], rows, rows, np.empty(n, np.int32), rng
    )
    state.slack = np.zeros(n if p.plain else 0)
    return state


def _pass(p: SVMProblem, c: int, s: State, squared: bool, bias_scale: float, tol: float) -> None:
    """One pass over one problem, then decide what is active in the next and whether it is solved."""
    order = s.rng.permutation(s.active)
    if p.plain:
        left = dual.plain_pass(
            p.indptr, p.indices, p.values, p.signs[c], order, s.u, s.bias, bias_scale, s.alpha, s.diag, s.upper, s.q,
            s.C, squared, s.bounds, s.stats, s.keep, s.slack,
        )  # fmt: skip
    else:
        scale = p.scale if p.scale is not None else np.zeros(0, p.values.dtype)
        left = dual.svm_pass(
            p.indptr, p.n_blocks, p.indices, p.values, scale, p.signs[c], order, s.table, s.bias, bias_scale, s.alpha,
            s.diag, s.upper, s.q, s.C, squared, s.bounds, s.stats, s.keep,
        )  # fmt: skip
    if left == 0:
        s.stats[:2] = 0.0
    top, low = s.stats[0], s.stats[1]
    if left == 0 or top - low <= tol:
        if len(order) == len(s.rows):
            s.done = True
            return
        s.active = s.rows
        s.bounds[:] = np.inf, -np.inf
        return
    s.active = s.keep[:left].copy()
    s.bounds[:] = top if top > 0 else np.inf, low if low < 0 else -np.inf


def solve(
    p: SVMProblem,
    *,
    squared: bool = True,
    bias_scale: float = 1.0,
    tol: float = 0.1,
    max_epochs: int = 1000,
    seed: int = 0,
    threads: int = 1,
    on_epoch: Callable[[Epoch, Callable[[], tuple[Floats, npt.NDArray[np.float64]]]], None] | None = None,
) -> tuple[Floats, npt.NDArray[np.float64], list[State]]:
    """Solve every binary problem; returns u = g w, (n_problems, n_features), the intercepts, and the states.

    tol bounds the spread of the projected gradient (as in LIBLINEAR). on_pass is called after each pass with a report
    and a function that gives the weights so far. KeyboardInterrupt ends the passes and keeps the weights.
    """
    n_problems = len(p.signs)
    pool = ThreadPoolExecutor(threads) if threads > 1 and n_problems > 1 else None
    mapper: Callable[..., Any] = pool.map if pool else map
    try:
        states = list(mapper(lambda c: _start(p, c, squared, bias_scale, seed), range(n_problems)))

        def weights() -> tuple[Floats, npt.NDArray[np.float64]]:
            return np.stack([s.u for s in states]), np.array([s.bias[0] * bias_scale for s in states])

        try:
            for number in range(1, max_epochs + 1):
                open_problems = [c for c in range(n_problems) if not states[c].done]
                list(mapper(lambda c: _pass(p, c, states[c], squared, bias_scale, tol), open_problems))
                if on_epoch is not None:
                    violation = max(float(s.stats[0] - s.stats[1]) for s in states)
                    active = sum(len(s.active) for s in states if not s.done)
                    on_epoch(Epoch(number, sum(float(s.stats[2]) for s in states), violation, active), weights)
                if all(s.done for s in states):
                    break
        except KeyboardInterrupt:
            pass
    finally:
        if pool:
            pool.shutdown()
    W, b = weights()
    return W, b, states


def signs_of(y: npt.NDArray[Any], n_classes: int) -> npt.NDArray[np.int8]:
    """Return 1 for the class of an output and -1 for the rest, (n_rows, n_outputs); y may be an indicator matrix."""
    positive = y if y.ndim == 2 else (y == 1)[:, None] if n_classes == 2 else y[:, None] == np.arange(n_classes)
    return np.where(positive, 1, -1).astype(np.int8)
