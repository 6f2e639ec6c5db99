"""Logistic regression of two classes over rows on disk, by its dual.

Dual coordinate descent as in :mod:`linnet.solvers.dual_logistic`, a block at a time; a_i, C_i - a_i and |x_i|^2 of each
row, 24 bytes, lie on disk with the rows. The intercept moves after each round. Where rounds bring little (very large C),
Newton's method goes on from there (:mod:`linnet.solvers.sums`).

Papers: Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011; Yu,
Hsieh, Chang, Lin: Large Linear Classification When Data Cannot Fit In Memory, 2010.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import dual, sparse
from linnet.solvers.callbacks import Epoch, Weights
from linnet.solvers.dual_logistic import FIRST_SLOPE, LAST_SLOPE, PATIENCE, start_at
from linnet.solvers.newton import inner
from linnet.solvers.row_blocks import RowBlocks
from linnet.solvers.sums import SmoothObjective

__all__ = ["MOST_ROUNDS", "Rounds"]

Floats = npt.NDArray[np.float64]
MOST_ROUNDS = 200


class Rounds:
    """Dual coordinate descent: what lasts from block to block."""

    def __init__(self, blocks: RowBlocks, objective: SmoothObjective, *, tol: float, seed: int) -> None:
        self.blocks, self.C, self.tol = blocks, objective.C, tol
        self.seed, self.intercept = seed, objective.fit_intercept
        self.number, self.offset = 0, 0.0
        self.gradient, self.norm, self.total = self._at_zero()
        self.rho = (self.norm or 1.0) if self.intercept else 0.0
        self.first = sqrt(inner(self.gradient, self.gradient))
        slope = float(self.gradient[-1]) if self.intercept else 0.0
        self.share = start_at(4.0 * (self.first * self.first + (self.rho - 1.0) * slope * slope), self.total)
        self.w = -2.0 * self.share * self.gradient[: blocks.n_features]
        self.bias = -2.0 * self.share * slope * sqrt(self.rho)
        self.rows = blocks.n_rows

    def weights(self) -> Weights:
        return self.w[:, None].copy(), np.array([self.offset])

    def vector(self) -> Floats:
        return np.append(self.w, self.offset)[: len(self.w) + self.intercept]

    def _at_zero(self) -> tuple[Floats, float, float]:
        """Return the gradient at zero, the mean squared norm and the sum of C; writes the norms of all rows."""
        g = np.zeros((self.blocks.n_features, 1))
        drift = norms = total = 0.0
        for group, block in self.blocks.visit():
            X, y, c = block.X, block.y, self.C * block.weights
            r = np.ascontiguousarray((-0.5 * c * np.where(y == 1, 1.0, -1.0))[:, None])
            sparse.transposed_dot(X.indptr, X.indices, X.values, r, g)
            square = np.empty((len(y), 1))
            ones = np.ones((X.n_features, 1), dtype=X.values.dtype)
            sparse.dot(X.indptr, X.indices, np.square(X.values), ones, 0, len(y), square)
            drift, norms = drift + arithmetic.total(r), norms + arithmetic.total(square)
            total += arithmetic.total(c)
            self.blocks.keep_state(group, np.stack([np.full(len(y), np.nan), c, square[:, 0]]))
        flat = np.append(g[:, 0], drift) if self.intercept else g[:, 0]
        return flat, norms / self.blocks.n_rows, total

    def _state(self, group: tuple[int, ...]) -> Floats:
        """Return a, C - a and |x|^2 of rows, (3, n_rows); before the first round C stands in the second place."""
        state = self.blocks.state(group, (3,))
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
            for group, block in self.blocks.visit(rng.permutation(len(self.blocks.numbers))):
                X, y = block.X, block.y
                state = self._state(group)
                order = np.random.Generator(np.random.PCG64([self.seed, group[0], self.number])).permutation(len(y))
                signs = np.where(y == 1, 1, -1).astype(np.int8)
                of = dual.LogisticDual(
                    signs, state[0], state[1], state[2] + self.rho, bias_scale=sqrt(self.rho), bias=self.bias
                )
                steps += dual.logistic_pass(
                    X.indptr, X.indices, X.values, order.astype(np.int32), self.w, of, self.offset, slope
                )
                self.bias = of.bias
                self.blocks.keep_state(group, state)
                moved += self.bias * len(y) / self.rows
                loss, square, drift = loss + of.loss, square + of.square, drift + of.drift
            self.number += 1
            self.offset += moved * sqrt(self.rho)  # the mean over the blocks: that of the last one is noise
            violation = sqrt(square + (drift * drift if self.intercept else 0.0)) / self.first
            history.append(violation)
            self.blocks.on_epoch(Epoch(self.number, loss, violation, self.rows), self.weights)
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
        for _, block in self.blocks.visit():
            X, y, cost = block.X, block.y, self.C * block.weights
            rows, signs = np.arange(len(y), dtype=np.int32), np.where(y == 1, 1, -1).astype(np.int8)
            drift += dual.logistic_gradient(X.indptr, X.indices, X.values, signs, rows, cost, self.w, self.offset, g)
        return sqrt(inner(g, g) + (drift * drift if self.intercept else 0.0)) / self.first
