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
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import dual
from linnet.errors import LinnetError
from linnet.models.inputs import seed_of
from linnet.models.settings import above_zero, one_of, whole
from linnet.models.svm import signs_of
from linnet.solvers.callbacks import Epoch, warn_unfinished
from linnet.solvers.matrix import Matrix
from linnet.streaming.blockwise import Found, Job

__all__ = ["fit"]

Floats = npt.NDArray[np.float64]
INNER = 3  # passes over a block in one visit
MOST_ROUNDS = 200


class _Outputs:
    """The weights of every binary problem, and what the last round said of them."""

    def __init__(self, job: Job) -> None:
        n, gain = job.n_outputs, job.weights.gain
        self.tables = [np.zeros((gain.shape[1], 2), dtype=np.float32) for _ in range(n)]
        for c, table in enumerate(self.tables):
            np.square(gain[c if len(gain) > 1 else 0], out=table[:, 1])
        self.bias = [np.zeros(1) for _ in range(n)]
        self.top, self.low, self.loss, self.active = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.int64)

    def begin(self) -> None:
        self.top[:], self.low[:], self.loss[:], self.active[:] = -np.inf, np.inf, 0.0, 0

    @property
    def spread(self) -> Floats:
        return np.where(self.active > 0, np.maximum(self.top - self.low, 0.0), 0.0)


def fit(model: Any, job: Job) -> Found:
    """Fit a LinearSVM; Ctrl-C keeps the weights so far."""
    if model.solver not in (None, "dual") or model.penalty != "l2" or model.cost is not None:
        raise LinnetError("on streams the svm is solved by its dual: leave out --solver, penalty and cost")
    squared = one_of("loss", model.loss or "squared_hinge", ("squared_hinge", "hinge")) == "squared_hinge"
    C, tol, seed = above_zero("C", model.C), above_zero("tol", model.tol), seed_of(model.random_state)
    most = MOST_ROUNDS if model.max_iter is None else whole("max_iter", model.max_iter)
    scale, out = model._bias_scale(), _Outputs(job)

    def weights() -> Found:
        W = np.stack([table[:, 0] for table in out.tables], axis=1)
        return W, np.array([float(b[0]) * scale for b in out.bias])

    rng = np.random.Generator(np.random.PCG64([seed, 5]))
    done, number, spread = False, 0, np.inf
    pool = ThreadPoolExecutor(job.threads) if job.threads > 1 and job.n_outputs > 1 else None
    mapper: Any = pool.map if pool else map
    try:
        for number in range(1, most + 1):
            out.begin()
            for group, X, y in job.passing(rng.permutation(len(job.numbers)), own_gain=True):
                state = _state(job, group, len(y))
                signs, cost = signs_of(y, job.n_classes).T, job.cost(y, C)
                visits = [
                    (
                        np.ascontiguousarray(signs[c]),
                        state[c],
                        c,
                        np.random.Generator(np.random.PCG64([seed, c, group[0], number])),
                    )
                    for c in range(job.n_outputs)
                ]
                list(mapper(_visitor(X, cost, out, squared, scale, tol), visits))
                job.keep(group, state)
            spread = float(out.spread.max())
            job.on_epoch(Epoch(number, arithmetic.total(out.loss), spread, int(out.active.sum())), weights)
            if spread <= tol:
                done = True
                break
    except KeyboardInterrupt:
        pass
    finally:
        if pool:
            pool.shutdown()
    model.n_iter_, model.interrupted_ = number, not done and number < most
    if not done and number == most:
        warn_unfinished(type(model).__name__, most, spread, tol)
    return weights()


def _visitor(X: Matrix, cost: Floats, out: _Outputs, squared: bool, scale: float, tol: float) -> Callable[[Any], None]:
    """Return what improves the variables of one block for one problem: (signs, state, problem, random numbers)."""
    n = len(cost)
    diag = 0.5 / cost if squared else np.zeros(n)
    upper = np.full(n, np.inf) if squared else cost
    segments = X.scale if X.scale is not None else np.zeros(0, X.values.dtype)

    def visit(one: tuple[npt.NDArray[np.int8], Floats, int, np.random.Generator]) -> None:
        signs, (alpha, q), c, rng = one
        bounds, stats, keep = np.array([np.inf, -np.inf]), np.zeros(3), np.empty(n, dtype=np.int32)
        rows = np.arange(n, dtype=np.int32)
        for turn in range(INNER):
            left = dual.svm_pass(
                X.indptr, X.n_blocks, X.indices, X.values, segments, signs, rng.permutation(rows), out.tables[c],
                out.bias[c], scale, alpha, diag, upper, q, cost, squared, bounds, stats, keep,
            )  # fmt: skip
            top, low = float(stats[0]), float(stats[1])
            if turn == 0:
                out.loss[c] += stats[2]
                out.active[c] += left
                if left:
                    out.top[c], out.low[c] = max(out.top[c], top), min(out.low[c], low)
            if left == 0 or top - low <= tol:
                return
            rows = keep[:left].copy()
            bounds[:] = top if top > 0 else np.inf, low if low < 0 else -np.inf

    return visit


def _state(job: Job, group: tuple[int, ...], n: int) -> Floats:
    """Return alpha and |x|^2 of each problem and row, (n_outputs, 2, n_rows); 0 and -1 (not known) at first."""
    state = job.kept(group, (job.n_outputs, 2))
    if state is None:
        state = np.zeros((job.n_outputs, 2, n))
        state[:, 1] = -1.0
    return state
