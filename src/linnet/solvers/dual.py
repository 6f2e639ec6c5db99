"""The linear SVM by dual coordinate descent: one binary problem a class, all of them pass by pass, in threads.

The kernel makes one pass over one problem; this file keeps the passes: order, shrinking, stopping, reporting. Each
class has its own tables and its own random order, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import dual, sparse
from linnet.solvers.callbacks import Epoch
from linnet.solvers.matrix import Matrix

__all__ = ["SVMProblem", "State", "hinge_steps", "solve", "signs_of"]

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
    """One binary problem: u = g w and g^2 in pairs, (n_features, 2), or w alone, (n_features, 1), and its dual."""

    table: Floats
    hinge: dual.HingeDual
    rows: npt.NDArray[np.int32]
    active: npt.NDArray[np.int32]
    rng: np.random.Generator
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
    of = dual.HingeDual(p.signs[c], C, np.zeros(n), q, squared=squared, bias_scale=bias_scale)
    return State(table, of, rows, rows, np.random.Generator(np.random.PCG64([seed, c])))


def _pass(p: SVMProblem, s: State, tol: float) -> None:
    """One pass over one problem, then decide what is active in the next and whether it is solved."""
    order = s.rng.permutation(s.active)
    if p.plain:
        left = dual.plain_pass(p.indptr, p.indices, p.values, order, s.u, s.hinge)
    else:
        scale = p.scale if p.scale is not None else np.zeros(0, p.values.dtype)
        left = dual.svm_pass(p.indptr, p.n_blocks, p.indices, p.values, scale, order, s.table, s.hinge)
    if left == 0 or s.hinge.spread <= tol:
        s.done = len(order) == len(s.rows)
        s.active = s.rows
        s.hinge.widen()
    else:
        s.active = s.hinge.keep[:left].copy()
        s.hinge.narrow()


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
            return np.stack([s.u for s in states]), np.array([s.hinge.bias * bias_scale for s in states])

        try:
            for number in range(1, max_epochs + 1):
                list(mapper(lambda s: _pass(p, s, tol), [s for s in states if not s.done]))
                if on_epoch is not None:
                    violation = max(s.hinge.spread for s in states)
                    active = sum(len(s.active) for s in states if not s.done)
                    on_epoch(Epoch(number, sum(s.hinge.loss for s in states), violation, active), weights)
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


def hinge_steps(
    X: Matrix, signs: npt.NDArray[np.int8], cost: npt.NDArray[np.float64], W: Floats, b: Floats,
    orders: Sequence[npt.NDArray[np.int32]], *, squared: bool, bias_scale: float,
) -> tuple[Floats, Floats, float, int]:  # fmt: skip
    """Go on from weights: coordinate steps on the dual of  1/2 |w - W|^2 + sum_i cost_i loss_i,  a pass for each order.

    One pass is the passive-aggressive algorithm; many are the least change of the weights that fits the rows. Returns W, b,
    the loss of the rows as they were last met, and how many of them moved a weight.
    """
    norms, W, b = np.full(len(X), -1.0), np.array(W, dtype=np.float64), np.array(b, dtype=np.float64)
    moved, loss, none = np.zeros(len(X), dtype=bool), 0.0, np.zeros(0, X.values.dtype)
    for c in range(W.shape[1]):
        pair = np.stack([W[:, c].astype(X.values.dtype), np.ones(len(W), X.values.dtype)], axis=1)
        one, bias = np.ascontiguousarray(signs[:, c]), b[c] / (bias_scale or 1.0)
        hinge = dual.HingeDual(one, cost, np.zeros(len(X)), norms, squared=squared, bias_scale=bias_scale, bias=bias)
        for order in orders:
            dual.svm_pass(X.indptr, X.n_blocks, X.indices, X.values, none, order, pair, hinge)
        W[:, c], b[c] = pair[:, 0], hinge.bias * (bias_scale or 1.0)
        moved |= hinge.alpha > 0.0
        loss += hinge.loss
    return W, b, loss, int(moved.sum())
