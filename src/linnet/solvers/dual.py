"""The linear SVM by dual coordinate descent: one binary problem a class, all of them pass by pass, in threads.

The kernel makes one pass over several problems side by side; this file keeps the passes: order, shrinking, stopping,
reporting. All problems visit rows in the same random order, each those that are active in it, so that the result of one
depends neither on those beside it nor on the number of threads. After each pass the few variables that are far from where
they belong are visited again: it is they that decide when the passes end.

The linear SVM by dual coordinate descent over rows on disk: load a block, improve its variables, write them back.

Problem   as in :mod:`linnet.solvers.dual`: min_w 1/2 |w|^2 + C sum_i s_i loss(t_i w.x_i), one problem a class
Visit     all rows of a block in random order, then a few more passes over those still in play; w stays in memory
State     alpha_i and |x_i|^2, 16 bytes a row and class, on disk beside the rows; blocks are visited in random order
Stop      the spread of the projected gradient, as rows are first met in a round, is at most tol, as in LIBLINEAR
Paper     Yu, Hsieh, Chang, Lin: Large Linear Classification When Data Cannot Fit In Memory, 2010.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet._kernels import dual
from linnet.array_types import Array, Bools, Floats, Ints32, Signs
from linnet.solvers.callbacks import Epoch, OnEpoch, SolverResult, Weights, ignore
from linnet.solvers.matrix import LEAST, BlockNumbers, Matrix, RowBlocks

LANES = 8  # problems side by side: 32-bit weights and gains of a feature are then one cache line
REVISITS = 6  # after each pass, at most
FAR = 0.1  # share of the spread in the pass before, or of the tolerance, from which a gradient is far from zero
ROUGH = 1.0  # tolerance from which rows that were set aside are not visited once more at the end


@dataclass(frozen=True)
class SVMProblem:
    """Rows and, for each binary problem, signs; x_ij = values_ij * gain_cj."""

    X: Matrix  # values float32 or float64, as the weights will be; gain: (n_problems, n_features) or (1, n_features)
    signs: Signs  # (n_rows, n_problems), +1 or -1
    C: Floats  # (n_rows,): the cost of each row, or (n_rows, n_problems)
    rows: Ints32 | None = None  # which rows to visit; without, all
    start: Floats | None = None  # (n_rows, n_problems): a_i y_i to begin with; 0 for rows not visited


@dataclass
class Group:
    """Problems side by side: the tables of the kernel, which problems they are, and which of them are solved."""

    first: int
    n: int
    table: Array  # (n_features, 1 or 2, lanes)
    hinge: dual.HingeDual
    done: Bools  # (lanes,)
    whole: Bools  # (lanes,): whether the next pass visits every row
    loss: Floats  # (lanes,): of the last pass that each was in

    @property
    def u(self) -> Array:
        """The folded weights, (n_features, n)."""
        return self.table[:, 0, : self.n]


@dataclass(frozen=True)
class Solution(SolverResult):
    """The folded weights u = g w, (n_features, n_problems), intercepts, and a_i y_i, (n_rows, n_problems)."""

    groups: tuple[Group, ...] = ()

    @property
    def signed(self) -> Floats:
        """What each row adds to the weights of each problem."""
        parts = [(g.hinge.alpha * g.hinge.signs)[:, : g.n] for g in self.groups]
        return np.concatenate(parts, axis=1)


def groups_of(n_problems: int) -> list[tuple[int, int, int]]:
    """Return the first problem of each group, how many there are, and the lanes of the kernel.

    >>> groups_of(1), groups_of(20)
    ([(0, 1, 1)], [(0, 8, 8), (8, 8, 8), (16, 4, 4)])
    """
    if n_problems == 1:
        return [(0, 1, 1)]
    sizes = ((first, min(LANES, n_problems - first)) for first in range(0, n_problems, LANES))
    return [(first, n, LANES if n > LANES // 2 else LANES // 2) for first, n in sizes]


LINE = 64  # bytes of a cache line


def aligned(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Return zeros that begin with a cache line, so that what lies side by side for eight problems is one line.

    >>> aligned((3, 8)).ctypes.data % LINE
    0
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + LINE, np.uint8)
    first = -raw.ctypes.data % LINE
    return np.asarray(raw[first : first + size].view(dtype).reshape(shape))


def table_of(n_features: int, gain: Array | None, first: int, n: int, lanes: int, dtype: Any) -> Array:
    """Return the table of the kernel: weights of zero and, where features have a gain, g^2."""
    table = aligned((n_features, 1 if gain is None else 2, lanes), dtype)
    if gain is not None:
        np.square(gain[first : first + n].T if len(gain) > 1 else gain.T, out=table[:, 1, :n])
    return table


def hinge_of(
    signs: Signs, C: Array, place: tuple[int, int, int], *, squared: bool, bias_scale: float
) -> dual.HingeDual:
    """Return the duals of a group of problems, with variables of zero."""
    first, n, lanes = place
    t, cost = np.zeros((len(signs), lanes), np.int8), np.ones((len(signs), 1 if C.ndim == 1 else lanes))
    t[:, :n] = signs[:, first : first + n]
    cost[:, :n] = C[:, None] if C.ndim == 1 else C[:, first : first + n]
    of = dual.HingeDual(t, cost, aligned(t.shape), aligned(t.shape), squared=squared, bias_scale=bias_scale)
    of.q[:] = -1.0
    of.active[:, n:] = 0
    return of


def _start(p: SVMProblem, place: tuple[int, int, int], squared: bool, bias_scale: float, X: Matrix | None) -> Group:
    """Return a group of problems as they begin; X is the matrix written out, where there is a start."""
    first, n, lanes = place
    of = hinge_of(p.signs, p.C, place, squared=squared, bias_scale=bias_scale)
    table = table_of(p.X.n_features, p.X.gain, first, n, lanes, p.X.values.dtype)
    if p.start is not None and X is not None:
        signed = np.ascontiguousarray(p.start[:, first : first + n])
        if not squared:  # a variable of the hinge is at most its cost
            cost = p.C[:, None] if p.C.ndim == 1 else p.C[:, first : first + n]
            signed = np.clip(signed, -cost, cost)
        of.alpha[:, :n], of.bias[:n] = np.abs(signed), bias_scale * arithmetic.total(signed, axis=0)
        some = np.flatnonzero(signed.any(axis=1))
        table[:, 0, :n] = X.take(some).transposed_dot(signed[some]) * (1.0 if X.gain is None else table[:, 1, :n])
    return Group(first, n, table, of, np.arange(lanes) >= n, np.arange(lanes) < n, np.zeros(lanes))


def _visit(X: Matrix, order: Ints32, table: Array, of: dual.HingeDual, **again: Any) -> None:
    scale = np.zeros(0, X.values.dtype) if X.scale is None else X.scale
    dual.svm_pass(X.indptr, X.n_blocks, X.indices, X.values, scale, order, table, of, **again)


def _pass(p: SVMProblem, order: Ints32, tol: float, g: Group) -> tuple[float, int]:
    """One pass over the problems of a group, then decide what is active in the next and which are solved.

    Returns the largest violation, and how many variables are active in the next pass.
    """
    n_rows, active = len(order), np.asarray(g.hinge.active)
    together = active.view(f"u{active.shape[1]}")[:, 0]  # the bytes of a row as one number, in place
    if not g.whole.any():
        order = order[(together != 0)[order]]
    _visit(p.X, order, g.table, g.hinge)
    spread, left, g.loss = g.hinge.spread, np.array(g.hinge.left), np.where(g.done, g.loss, g.hinge.loss)
    rest = ~g.done & ((left == 0) | (spread <= tol))  # nothing left to do among the active rows
    g.done |= rest & (g.whole | (tol >= ROUGH))
    g.hinge.narrow()
    g.whole = rest & ~g.done
    # Variables far from where they belong are few, and hold the others back. Each problem visits its own, in the order of the pass.
    _visit(p.X, order, g.table, g.hinge, revisited=(~(g.done | g.whole)).astype(np.int8), revisits=REVISITS)
    g.hinge.near[:] = np.maximum(FAR * tol, FAR * spread)
    if g.whole.any():
        g.hinge.widen(g.whole)
    if g.done.any():
        together &= np.where(g.done, 0, 255).astype(np.uint8).view(together.dtype)
    left = np.where(g.whole, n_rows, np.where(g.done, 0, left))
    return float(spread[: g.n].max()), int(left.sum())


def solve(
    p: SVMProblem,
    *,
    squared: bool = True,
    bias_scale: float = 1.0,
    tol: float = 0.1,
    max_epochs: int = 1000,
    seed: int = 0,
    threads: int = 1,
    on_epoch: OnEpoch = ignore,
) -> Solution:
    """Solve every binary problem.

    tol bounds the spread of the projected gradient (as in LIBLINEAR). on_epoch is called after each pass with a report
    and a function that gives the weights so far. KeyboardInterrupt ends the passes and keeps the weights.
    """
    places = groups_of(p.signs.shape[1])
    with ThreadPoolExecutor(threads) if threads > 1 and len(places) > 1 else nullcontext() as pool:
        mapper: Callable[..., Any] = pool.map if pool else map
        plain = None if p.start is None else p.X.explicit()
        groups: list[Group] = list(mapper(lambda at: _start(p, at, squared, bias_scale, plain), places))

        def weights() -> Weights:
            b = np.concatenate([g.hinge.bias[: g.n] * bias_scale for g in groups])
            return np.concatenate([g.u for g in groups], axis=1), b

        rows = np.arange(len(p.C), dtype=np.int32) if p.rows is None else p.rows
        rng, number, violation = np.random.Generator(np.random.PCG64(seed)), 0, np.inf
        with suppress(KeyboardInterrupt):
            for number in range(1, max_epochs + 1):
                visit = partial(_pass, p, rng.permutation(rows), tol)
                found = list(mapper(visit, [g for g in groups if not g.done.all()]))
                loss, violation = sum(arithmetic.total(g.loss) for g in groups), max(v for v, _ in found)
                on_epoch(Epoch(number, loss, violation, sum(n for _, n in found)), weights)
                if all(g.done.all() for g in groups):
                    break
    return Solution(*weights(), number, violation, all(g.done.all() for g in groups), groups=tuple(groups))


def signs_of(y: Array, n_classes: int) -> Signs:
    """Return 1 for the class of an output and -1 for the rest, (n_rows, n_outputs); y may be an indicator matrix."""
    positive = y if y.ndim == 2 else (y == 1)[:, None] if n_classes == 2 else y[:, None] == np.arange(n_classes)
    return np.asarray(2 * positive.astype(np.int8) - 1, dtype=np.int8)


def hinge_steps(
    X: Matrix, signs: Signs, cost: Floats, W: Array, b: Array,
    orders: Sequence[Ints32], *, squared: bool, bias_scale: float,
) -> tuple[Array, Array, float, int]:  # fmt: skip
    """Go on from weights: coordinate steps on the dual of  1/2 |w - W|^2 + sum_i cost_i loss_i,  a pass for each order.

    One pass is the passive-aggressive algorithm; many are the least change of the weights that fits the rows. Returns W, b,
    the loss of the rows as they were last met, and how many of them moved a weight.
    """
    W, b, unit = np.array(W, dtype=np.float64), np.array(b, dtype=np.float64), bias_scale or 1.0
    moved, loss = np.zeros(len(X), dtype=bool), 0.0
    for first, n, lanes in groups_of(W.shape[1]):
        mine, table = slice(first, first + n), table_of(len(W), None, first, n, lanes, X.values.dtype)
        of = hinge_of(signs, cost, (first, n, lanes), squared=squared, bias_scale=bias_scale)
        table[:, 0, :n], of.bias[:n] = W[:, mine], b[mine] / unit
        for order in orders:
            _visit(X, order, table, of)
        W[:, mine], b[mine] = table[:, 0, :n], of.bias[:n] * unit
        moved |= (of.alpha > 0.0).any(axis=1)
        loss += arithmetic.total(of.loss[:n])
    return W, b, loss, int(moved.sum())


INNER = 3  # passes over a block in one visit
MOST_ROUNDS = 200


class _BlockProblems:
    """The weights of problems side by side, and what the last round said of them."""

    def __init__(self, rows: RowBlocks, first: int, n: int, lanes: int) -> None:
        assert rows.gain is not None  # noqa: S101 - the model's traits ask for it
        self.table = table_of(rows.gain.shape[1], rows.gain, first, n, lanes, np.float32)
        self.first, self.n, self.lanes, self.bias = first, n, lanes, np.zeros(lanes)
        self.begin()

    def begin(self) -> None:
        self.top, self.low, self.loss = np.full(self.lanes, -np.inf), np.full(self.lanes, np.inf), np.zeros(self.lanes)
        self.active = 0

    @property
    def spread(self) -> float:
        return float(np.maximum(self.top - self.low, 0.0).max())


def solve_blocks(
    rows: RowBlocks, *, squared: bool, C: float, tol: float, bias_scale: float, max_epochs: int, seed: int
) -> SolverResult:
    """Fit the SVM of every output; Ctrl-C keeps the weights so far."""
    groups = [_BlockProblems(rows, *place) for place in groups_of(rows.n_outputs)]

    def weights() -> Weights:
        W = np.concatenate([g.table[:, 0, : g.n] for g in groups], axis=1)
        return W, np.concatenate([g.bias[: g.n] * bias_scale for g in groups])

    rng = np.random.Generator(np.random.PCG64([seed, 5]))
    done, number, spread = False, 0, np.inf
    threads = rows.threads if len(groups) > 1 else 1
    with suppress(KeyboardInterrupt), ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        for number in range(1, max_epochs + 1):
            for g in groups:
                g.begin()
            for blocks, block in rows.visit(rng):
                state = _state(rows, blocks, len(block))
                signs, cost = signs_of(block.y, rows.n_classes), C * np.maximum(block.weights, LEAST)
                draw = np.random.Generator(np.random.PCG64([seed, blocks[0], number]))
                orders = [draw.permutation(len(block)).astype(np.int32) for _ in range(INNER)]
                improve = partial(_improve, block.X, signs, cost, state, orders, squared, bias_scale, tol)
                list((pool.map if pool else map)(improve, groups))
                rows.keep_state(blocks, state)
            spread = max(g.spread for g in groups)
            loss = sum(arithmetic.total(g.loss) for g in groups)
            rows.on_epoch(Epoch(number, loss, spread, sum(g.active for g in groups)), weights)
            if spread <= tol:
                done = True
                break
    return SolverResult(*weights(), number, spread, done, not done and number < max_epochs)


def _improve(
    X: Matrix, signs: Signs, cost: Array, state: Array, orders: list[Ints32],
    squared: bool, scale: float, tol: float, g: _BlockProblems,
) -> None:  # fmt: skip
    """Improve the variables of one block for the problems of a group."""
    mine = slice(g.first, g.first + g.n)
    of = hinge_of(signs, cost, (g.first, g.n, g.lanes), squared=squared, bias_scale=scale)
    of.alpha[:, : g.n], of.q[:, : g.n], of.bias[:] = state[mine, 0].T, state[mine, 1].T, g.bias
    for turn, order in enumerate(orders):
        _visit(X, order, g.table, of)
        if turn == 0:
            g.loss += of.loss
            g.active += int(of.left.sum())
            g.top, g.low = np.maximum(g.top, of.top), np.minimum(g.low, of.low)
        of.active[:, of.spread <= tol] = 0
        if not of.active.any():
            break
        of.narrow()
    g.bias, state[mine, 0], state[mine, 1] = of.bias, of.alpha[:, : g.n].T, of.q[:, : g.n].T


def _state(rows: RowBlocks, blocks: BlockNumbers, n: int) -> Array:
    """Return alpha and |x|^2 of each problem and row, (n_outputs, 2, n_rows); 0 and -1 (not known) at first."""
    state = rows.state(blocks, (rows.n_outputs, 2))
    if state is None:
        state = np.zeros((rows.n_outputs, 2, n))
        state[:, 1] = -1.0
    return state
