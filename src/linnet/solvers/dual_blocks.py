"""The linear SVM by dual coordinate descent over rows on disk: load a block, improve its variables, write them back.

Problem   as in :mod:`linnet.solvers.dual`: min_w 1/2 |w|^2 + C sum_i s_i loss(t_i w.x_i), one problem a class
Visit     all rows of a block in random order, then a few more passes over those still in play; w stays in memory
State     alpha_i and |x_i|^2, 16 bytes a row and class, on disk beside the rows; blocks are visited in random order
Stop      the spread of the projected gradient, as rows are first met in a round, is at most tol, as in LIBLINEAR
Paper     Yu, Hsieh, Chang, Lin: Large Linear Classification When Data Cannot Fit In Memory, 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import dual
from linnet.solvers.callbacks import Epoch, Weights
from linnet.solvers.dual import groups_of, hinge_of, signs_of, table_of
from linnet.solvers.matrix import Matrix
from linnet.solvers.row_blocks import RowBlocks

__all__ = ["Solved", "solve"]

Floats = npt.NDArray[np.float64]
INNER = 3  # passes over a block in one visit
MOST_ROUNDS = 200


@dataclass(frozen=True)
class Solved:
    """The weights, and how the rounds ended."""

    W: npt.NDArray[Any]
    b: Floats
    epochs: int
    violation: float
    converged: bool
    interrupted: bool


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


def solve(
    rows: RowBlocks, *, squared: bool, C: float, tol: float, bias_scale: float, max_epochs: int | None, seed: int
) -> Solved:
    """Fit the SVM of every output; Ctrl-C keeps the weights so far."""
    most = MOST_ROUNDS if max_epochs is None else max_epochs
    groups = [_BlockProblems(rows, *place) for place in groups_of(rows.n_outputs)]

    def weights() -> Weights:
        W = np.concatenate([g.table[:, 0, : g.n] for g in groups], axis=1)
        return W, np.concatenate([g.bias[: g.n] * bias_scale for g in groups])

    rng = np.random.Generator(np.random.PCG64([seed, 5]))
    done, number, spread = False, 0, np.inf
    pool = ThreadPoolExecutor(rows.threads) if rows.threads > 1 and len(groups) > 1 else None
    mapper: Any = pool.map if pool else map
    try:
        for number in range(1, most + 1):
            for g in groups:
                g.begin()
            for blocks, block in rows.visit(rng.permutation(len(rows.numbers))):
                state = _state(rows, blocks, len(block))
                signs, cost = signs_of(block.y, rows.n_classes), C * block.weights
                draw = np.random.Generator(np.random.PCG64([seed, blocks[0], number]))
                orders = [draw.permutation(len(block)).astype(np.int32) for _ in range(INNER)]
                list(mapper(_visitor(block.X, signs, cost, state, orders, squared, bias_scale, tol), groups))
                rows.keep_state(blocks, state)
            spread = max(g.spread for g in groups)
            loss = sum(arithmetic.total(g.loss) for g in groups)
            rows.on_epoch(Epoch(number, loss, spread, sum(g.active for g in groups)), weights)
            if spread <= tol:
                done = True
                break
    except KeyboardInterrupt:
        pass
    finally:
        if pool:
            pool.shutdown()
    return Solved(*weights(), number, spread, done, not done and number < most)


def _visitor(
    X: Matrix,
    signs: npt.NDArray[np.int8],
    cost: Floats,
    state: Floats,
    orders: list[npt.NDArray[np.int32]],
    squared: bool,
    scale: float,
    tol: float,
) -> Callable[[_BlockProblems], None]:
    """Return what improves the variables of one block for the problems of a group."""
    segments = X.scale if X.scale is not None else np.zeros(0, X.values.dtype)

    def visit(g: _BlockProblems) -> None:
        mine = slice(g.first, g.first + g.n)
        of = hinge_of(signs, cost, (g.first, g.n, g.lanes), squared=squared, bias_scale=scale)
        of.alpha[:, : g.n], of.q[:, : g.n], of.bias[:] = state[mine, 0].T, state[mine, 1].T, g.bias
        for turn, order in enumerate(orders):
            dual.svm_pass(X.indptr, X.n_blocks, X.indices, X.values, segments, order, g.table, of)
            if turn == 0:
                g.loss += of.loss
                g.active += int(of.left.sum())
                g.top, g.low = np.maximum(g.top, of.top), np.minimum(g.low, of.low)
            of.active[:, of.spread <= tol] = 0
            if not of.active.any():
                break
            of.narrow()
        g.bias, state[mine, 0], state[mine, 1] = of.bias, of.alpha[:, : g.n].T, of.q[:, : g.n].T

    return visit


def _state(rows: RowBlocks, blocks: tuple[int, ...], n: int) -> Floats:
    """Return alpha and |x|^2 of each problem and row, (n_outputs, 2, n_rows); 0 and -1 (not known) at first."""
    state = rows.state(blocks, (rows.n_outputs, 2))
    if state is None:
        state = np.zeros((rows.n_outputs, 2, n))
        state[:, 1] = -1.0
    return state
