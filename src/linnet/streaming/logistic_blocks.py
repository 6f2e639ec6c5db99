"""Logistic regression over rows on disk.

Two classes: dual coordinate descent as in :mod:`linnet.solvers.dual_logistic`, a block at a time; a_i, C_i - a_i and
|x_i|^2 of each row, 24 bytes, lie on disk beside the rows. The intercept moves on after each round. Where rounds bring
little (very large C), Newton's method goes on from there. More classes: Newton's method, whose gradients and products
with the curvature are sums over the blocks.

Papers: Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011; Yu,
Hsieh, Chang, Lin: Large Linear Classification When Data Cannot Fit In Memory, 2010.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import dual, sparse
from linnet.errors import LinnetError
from linnet.models.inputs import seed_of
from linnet.models.settings import above_zero, truth, whole
from linnet.solvers.callbacks import Epoch
from linnet.solvers.dual_logistic import FIRST_SLOPE, LAST_SLOPE, PATIENCE, start_at
from linnet.solvers.losses import Logistic, Loss, Softmax
from linnet.solvers.newton import inner, minimise
from linnet.streaming.blockwise import Found, Job
from linnet.streaming.sums import PartSum, SumProblem, part_product, part_sum

__all__ = ["fit", "problem_of"]

Floats = npt.NDArray[np.float64]
MOST_ROUNDS = 200


def fit(model: Any, job: Job) -> Found:
    """Fit a LogisticRegression; Ctrl-C keeps the weights so far."""
    if model.solver not in (None, "dual", "newton") or model.penalty != "l2" or model.decay is not None:
        raise LinnetError("on streams logistic takes --solver dual or newton, and the L2 penalty")
    most = MOST_ROUNDS if model.max_iter is None else whole("max_iter", model.max_iter)
    start, made = None, 0
    if job.n_outputs == 1 and model.solver != "newton":
        rounds = _Rounds(model, job)
        try:
            done = rounds.run(most)
        except KeyboardInterrupt:
            done = True
            model.interrupted_ = True
        model.n_iter_ = max(1, rounds.number)
        if done or rounds.number >= most:
            return rounds.weights()
        start, made = rounds.vector(), rounds.number
    return _descend(model, job, most, start, made)


def problem_of(model: Any, job: Job) -> SumProblem:
    """Return the objective of the model over all blocks."""
    loss: Loss = Logistic() if job.n_outputs == 1 else Softmax()
    C = above_zero("C", model.C)

    def ask(W: Floats, b: Floats) -> PartSum:
        total: PartSum | None = None
        for _, X, y in job.passing():
            part = part_sum(X, y, job.cost(y, C), loss, W, b)
            total = part if total is None else total + part
        assert total is not None  # noqa: S101 - there are rows
        return total

    def ask_product(at: tuple[Floats, Floats], d: tuple[Floats, Floats]) -> PartSum:
        total: PartSum | None = None
        for _, X, y in job.passing():
            part = part_product(X, y, job.cost(y, C), loss, at, d)
            total = part if total is None else total + part
        assert total is not None  # noqa: S101 - there are rows
        return total

    rows = job.rows if job.per_class is None else _weight(job)
    return SumProblem(
        ask, job.cache.n_columns, job.n_outputs, C * rows, ask_product=ask_product,
        fit_intercept=truth("fit_intercept", model.fit_intercept),
    )  # fmt: skip


def _weight(job: Job) -> float:
    assert job.per_class is not None  # noqa: S101 - asked before
    sizes = [np.bincount(job.cache.read(k)[1], minlength=len(job.per_class)) for k in job.numbers]
    return arithmetic.dot(np.sum(sizes, axis=0), job.per_class)


def _descend(model: Any, job: Job, most: int, start: Floats | None, made: int) -> Found:
    """Go on with Newton's method; rounds that were made count."""
    problem, tol = problem_of(model, job), above_zero("tol", model.tol)

    def shown(w: Floats) -> Found:
        W, b = problem.weights(w)
        return W, b - arithmetic.mean(b) if job.n_outputs > 1 else b

    def told(number: int, value: float, violation: float, w: Floats) -> None:
        W = w[: problem.n_penalised]
        job.on_epoch(Epoch(made + number, value - 0.5 * inner(W, W), violation, job.rows), lambda: shown(w))

    first = None
    if start is not None:
        zero = problem.everything(np.zeros(problem.size)).gradient
        first = problem.total * sqrt(inner(zero, zero))
    w = np.zeros(problem.size) if start is None else start
    found = minimise(problem.local, w, tol=tol, max_steps=max(1, most - made), scale=first, on_step=told)
    model.n_iter_ = made + max(1, found.steps)
    model.interrupted_ = not found.converged and found.steps < most - made
    return shown(found.w)


class _Rounds:
    """Dual coordinate descent: what lasts from block to block."""

    def __init__(self, model: Any, job: Job) -> None:
        self.job, self.C, self.tol = job, above_zero("C", model.C), above_zero("tol", model.tol)
        self.seed, self.intercept = seed_of(model.random_state), truth("fit_intercept", model.fit_intercept)
        self.number, self.offset, self.bias = 0, 0.0, np.zeros(1)
        self.gradient, self.norm, self.total = self._at_zero()
        self.rho = (self.norm or 1.0) if self.intercept else 0.0
        self.first = sqrt(inner(self.gradient, self.gradient))
        slope = float(self.gradient[-1]) if self.intercept else 0.0
        self.share = start_at(4.0 * (self.first * self.first + (self.rho - 1.0) * slope * slope), self.total)
        self.w = -2.0 * self.share * self.gradient[: job.cache.n_columns]
        self.bias[0] = -2.0 * self.share * slope * sqrt(self.rho)
        self.rows = job.rows

    def weights(self) -> Found:
        return self.w[:, None].copy(), np.array([self.offset])

    def vector(self) -> Floats:
        return np.append(self.w, self.offset)[: len(self.w) + self.intercept]

    def _at_zero(self) -> tuple[Floats, float, float]:
        """Return the gradient at zero, the mean squared norm and the sum of C; writes the norms of all rows."""
        g = np.zeros((self.job.cache.n_columns, 1))
        drift = norms = total = 0.0
        for group, X, y in self.job.passing():
            c = self.job.cost(y, self.C)
            r = np.ascontiguousarray((-0.5 * c * np.where(y == 1, 1.0, -1.0))[:, None])
            sparse.transposed_dot(X.indptr, X.indices, X.values, r, g)
            square = np.empty((len(y), 1))
            ones = np.ones((X.n_features, 1), dtype=X.values.dtype)
            sparse.dot(X.indptr, X.indices, np.square(X.values), ones, 0, len(y), square)
            drift, norms = drift + arithmetic.total(r), norms + arithmetic.total(square)
            total += arithmetic.total(c)
            self.job.keep(group, np.stack([np.full(len(y), np.nan), c, square[:, 0]]))
        flat = np.append(g[:, 0], drift) if self.intercept else g[:, 0]
        return flat, norms / self.job.rows, total

    def _state(self, group: tuple[int, ...]) -> Floats:
        """Return a, C - a and |x|^2 of rows, (3, n_rows); before the first round C stands in the second place."""
        state = self.job.kept(group, (3,))
        assert state is not None  # noqa: S101 - written for all rows at the start
        fresh = np.isnan(state[0])
        if fresh.any():
            state[0] = np.where(fresh, self.share * state[1], state[0])
            state[1] = np.where(fresh, (1.0 - self.share) * state[1], state[1])
        return state

    def run(self, most: int) -> bool:
        """Make rounds until the violation is at most tol; returns False where rounds bring too little."""
        if self.first == 0.0:
            return True
        rng = np.random.Generator(np.random.PCG64([self.seed, 5]))
        slope, target, history = FIRST_SLOPE, self.tol, [np.inf]
        while self.number < most:
            steps, loss, square, drift, moved = 0, 0.0, 0.0, 0.0, 0.0
            stats = np.zeros(3)
            for group, X, y in self.job.passing(rng.permutation(len(self.job.numbers))):
                state = self._state(group)
                order = np.random.Generator(np.random.PCG64([self.seed, group[0], self.number])).permutation(len(y))
                steps += dual.logistic_pass(
                    X.indptr, X.indices, X.values, np.where(y == 1, 1, -1).astype(np.int8), order.astype(np.int32), self.w,
                    self.bias, sqrt(self.rho), self.offset, state[0], state[1], state[2] + self.rho, slope, stats,
                )  # fmt: skip
                self.job.keep(group, state)
                moved += float(self.bias[0]) * len(y) / self.rows
                loss, square, drift = loss + float(stats[0]), square + float(stats[1]), drift + float(stats[2])
            self.number += 1
            self.offset += moved * sqrt(self.rho)  # the mean over the blocks: that of the last one is noise
            violation = sqrt(square + (drift * drift if self.intercept else 0.0)) / self.first
            history.append(violation)
            self.job.on_epoch(Epoch(self.number, loss, violation, self.rows), self.weights)
            if violation <= target:
                estimate, violation = violation, self.violation()
                if violation <= self.tol:
                    return True
                target, slope = estimate * max(0.3, 0.7 * self.tol / violation), 0.1 * slope
            if history[-1] > 0.5 * history[-1 - min(PATIENCE, self.number)]:
                return False
            if steps <= self.rows // 2:
                slope = max(LAST_SLOPE, 0.1 * slope)
        return True

    def violation(self) -> float:
        """Return |gradient| / |gradient at zero|."""
        g, drift = self.w.copy(), 0.0
        for _, X, y in self.job.passing():
            rows, signs = np.arange(len(y), dtype=np.int32), np.where(y == 1, 1, -1).astype(np.int8)
            cost = self.job.cost(y, self.C)
            drift += dual.logistic_gradient(X.indptr, X.indices, X.values, signs, rows, cost, self.w, self.offset, g)
        return sqrt(inner(g, g) + (drift * drift if self.intercept else 0.0)) / self.first
