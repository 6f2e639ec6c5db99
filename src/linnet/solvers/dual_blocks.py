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
from linnet.solvers.dual import signs_of
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


class _Outputs:
    """The weights of every binary problem, and what the last round said of them."""

    def __init__(self, rows: RowBlocks) -> None:
        n, gain = rows.n_outputs, rows.gain
        assert gain is not None  # noqa: S101 - the model's traits ask for it
        self.tables = [np.zeros((gain.shape[1], 2), dtype=np.float32) for _ in range(n)]
        for c, table in enumerate(self.tables):
            np.square(gain[c if len(gain) > 1 else 0], out=table[:, 1])
        self.bias = [0.0] * n
        self.top, self.low, self.loss, self.active = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.int64)

    def begin(self) -> None:
        self.top[:], self.low[:], self.loss[:], self.active[:] = -np.inf, np.inf, 0.0, 0

    @property
    def spread(self) -> Floats:
        return np.where(self.active > 0, np.maximum(self.top - self.low, 0.0), 0.0)


def solve(
    rows: RowBlocks, *, squared: bool, C: float, tol: float, bias_scale: float, max_epochs: int | None, seed: int
) -> Solved:
    """Fit the SVM of every output; Ctrl-C keeps the weights so far."""
    most = MOST_ROUNDS if max_epochs is None else max_epochs
    out = _Outputs(rows)

    def weights() -> Weights:
        W = np.stack([table[:, 0] for table in out.tables], axis=1)
        return W, np.array([b * bias_scale for b in out.bias])

    rng = np.random.Generator(np.random.PCG64([seed, 5]))
    done, number, spread = False, 0, np.inf
    pool = ThreadPoolExecutor(rows.threads) if rows.threads > 1 and rows.n_outputs > 1 else None
    mapper: Any = pool.map if pool else map
    try:
        for number in range(1, most + 1):
            out.begin()
            for group, block in rows.visit(rng.permutation(len(rows.numbers))):
                state = _state(rows, group, len(block))
                signs, cost = (
                    signs_of(block.y, rows.n_classes).T,
                    np.ascontiguousarray(np.atleast_2d(C * block.weights.T)),
                )
                visits = [
                    (
                        np.ascontiguousarray(signs[c]),
                        state[c],
                        c,
                        np.random.Generator(np.random.PCG64([seed, c, group[0], number])),
                    )
                    for c in range(rows.n_outputs)
                ]
                list(mapper(_visitor(block.X, cost, out, squared, bias_scale, tol), visits))
                rows.keep_state(group, state)
            spread = float(out.spread.max())
            rows.on_epoch(Epoch(number, arithmetic.total(out.loss), spread, int(out.active.sum())), weights)
            if spread <= tol:
                done = True
                break
    except KeyboardInterrupt:
        pass
    finally:
        if pool:
            pool.shutdown()
    return Solved(*weights(), number, spread, done, not done and number < most)


def _visitor(X: Matrix, cost: Floats, out: _Outputs, squared: bool, scale: float, tol: float) -> Callable[[Any], None]:
    """Return what improves the variables of one block for one problem: (signs, state, problem, random numbers)."""
    segments = X.scale if X.scale is not None else np.zeros(0, X.values.dtype)

    def visit(one: tuple[npt.NDArray[np.int8], Floats, int, np.random.Generator]) -> None:
        signs, (alpha, q), c, rng = one
        of = dual.HingeDual(
            signs, cost[c if len(cost) > 1 else 0], alpha, q, squared=squared, bias_scale=scale, bias=out.bias[c]
        )
        rows = np.arange(len(signs), dtype=np.int32)
        for turn in range(INNER):
            order = rng.permutation(rows)
            left = dual.svm_pass(X.indptr, X.n_blocks, X.indices, X.values, segments, order, out.tables[c], of)
            out.bias[c] = of.bias
            if turn == 0:
                out.loss[c] += of.loss
                out.active[c] += left
                if left:
                    out.top[c], out.low[c] = max(out.top[c], of.top), min(out.low[c], of.low)
            if left == 0 or of.spread <= tol:
                return
            rows = of.keep[:left].copy()
            of.narrow()

    return visit


def _state(rows: RowBlocks, group: tuple[int, ...], n: int) -> Floats:
    """Return alpha and |x|^2 of each problem and row, (n_outputs, 2, n_rows); 0 and -1 (not known) at first."""
    state = rows.state(group, (rows.n_outputs, 2))
    if state is None:
        state = np.zeros((rows.n_outputs, 2, n))
        state[:, 1] = -1.0
    return state
