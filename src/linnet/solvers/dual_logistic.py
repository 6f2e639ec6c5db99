"""Logistic regression by dual coordinate descent, with intercepts that are not penalised.

Problem   min_{W, b}  1/2 |W|^2 + sum_i C_i (-log P(y_i | x_i)), P the softmax of W^T x + b; two classes have one score
Passes    the kernels solve for the dual variables of a row, a_ic = C_i P(c | x_i) at the optimum: W is a sum of rows, each
          times its errors C_i [c = y_i] - a_ic
Intercept b is the multiplier of the constraint that errors sum to zero. The passes see a penalised intercept around an
          offset, 1/(2 rho) (b - offset)^2 with rho = mean |x|^2, and after each pass the offset moves on to b: the proximal
          point method in one variable a class, whose fixed point is the constraint. Where the weights have converged first, a
          Newton step moves the offset alone.
Revisits  most of the gradient soon comes from a few rows, such as texts that are nearly the same with different labels: after
          each pass those that add more than the mean row, and more than their share of what the tolerance allows, are visited again.
Stop      |gradient| / |gradient at zero| is at most tol: computed when an estimate, which costs nothing, says so; or
          passes bring little (very large C): Newton's method finishes what is left.
Paper     Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011.

Logistic regression of two classes over rows on disk, by its dual.

Dual coordinate descent as in :mod:`linnet.solvers.dual_logistic`, a block at a time; a_i, C_i - a_i and |x_i|^2 of each
row, 24 bytes, lie on disk with the rows. The intercept moves after each round. Where rounds bring little (very large C),
Newton's method goes on from there (:mod:`linnet.solvers.newton`).

Papers: Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011; Yu,
Hsieh, Chang, Lin: Large Linear Classification When Data Cannot Fit In Memory, 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import sqrt
from typing import Any, TypeAlias

import numpy as np

from linnet import arithmetic
from linnet._kernels import dual, sparse
from linnet.array_types import Array, Floats, Ints32, Signs
from linnet.solvers.callbacks import Epoch, OnEpoch, SolverResult, Weights, ignore
from linnet.solvers.dual import signs_of
from linnet.solvers.losses import sigmoid
from linnet.solvers.matrix import LEAST, BlockNumbers, Matrix, RowBlocks
from linnet.solvers.problem import LinearProblem, SmoothObjective

FIRST_SLOPE = 1e-2  # slope at which a single variable is solved, at first
LAST_SLOPE = 1e-10
REVISITS = 10  # after each pass, at most
TOGETHER = 4  # classes of which the gradient is computed at a time
PATIENCE = 5  # passes in which the estimate must have halved


class DualPasses:
    """A problem that passes are made over by ``visit``, with its weights so far and their violation."""

    n_rows: int
    first: float
    """|gradient at zero|."""
    loss = 0.0
    estimate = np.inf
    """Of the violation, as rows were met in the last pass."""
    patience = PATIENCE
    """In how many passes the estimate must have halved: the more, the dearer a Newton step is beside a pass."""
    nearest = 0.1
    """The violation is computed again at this share of the estimate at which it was too large, or before."""
    sharper = 1.0
    """What the slope at which variables are solved is multiplied by then."""

    def _revisit(
        self,
        visit: Callable[[Ints32], int],
        of: dual.LogisticDual | dual.SoftmaxDual,
        rng: np.random.Generator,
        tol: float,
    ) -> None:
        """Visit the rows that add most to the gradient, some times."""
        most = max((tol * self.first) ** 2 / self.n_rows, arithmetic.mean(of.squares))
        for _ in range(REVISITS):
            rows = np.flatnonzero(of.squares > most).astype(np.int32)
            if not len(rows):
                break
            visit(rng.permutation(rows))


class TwoClassPasses(DualPasses):
    """Two classes."""

    def __init__(self, f: LinearProblem, norms: Floats) -> None:
        gradient = f(np.zeros(f.size)).gradient()  # -sum_i C_i t_i x_i / 2, then that of the intercept
        self.X, self.signs, self.C, self.n_rows = f.X, signs_of(f.y, 2)[:, 0], f.c, len(f.c)
        share, bias = self._begin(gradient, f.X.n_features, arithmetic.mean(norms), arithmetic.total(f.c))
        a = share * f.c, (1.0 - share) * f.c
        self.of = dual.LogisticDual(self.signs, *a, norms + self.rho, bias_scale=self.root, bias=bias)

    def _begin(self, gradient: Floats, n_features: int, norm: float, total: float) -> tuple[float, float]:
        """Start where all rows have the same share of the wrong label; returns it, and the intercept of the passes."""
        self.intercept = len(gradient) > n_features
        self.first = sqrt(arithmetic.dot(gradient, gradient))
        self.rho, drift = (norm or 1.0, float(gradient[-1])) if self.intercept else (0.0, 0.0)
        share = start_at(4.0 * (self.first * self.first + (self.rho - 1.0) * drift * drift), total)
        self.root, self.offset, self.w = sqrt(self.rho), 0.0, -2.0 * share * gradient[:n_features]
        return share, -2.0 * share * drift * self.root

    def _length(self, square: float, drift: float = 0.0) -> float:
        """Return |gradient| / |gradient at zero| from the square of its weights and that of the intercept."""
        return sqrt(square + (drift * drift if self.intercept else 0.0)) / self.first

    def visit(self, rng: np.random.Generator, slope: float, tol: float) -> int:
        """Visit the rows once, in a new order, and some of them again; returns the Newton steps of the pass on their variables."""
        of = self.of
        steps = self._visit(self.X, of, slope, rng.permutation(np.arange(self.n_rows, dtype=np.int32)))
        self.loss, self.estimate = of.loss, self._length(arithmetic.total(of.squares))
        self.offset += of.bias * self.root
        self._revisit(partial(self._visit, self.X, of, slope), of, rng, tol)
        return steps

    def _visit(self, X: Matrix, of: dual.LogisticDual, slope: float, order: Ints32) -> int:
        return dual.logistic_pass(X.indptr, X.indices, X.values, order, self.w, of, self.offset, slope)

    def weights(self) -> tuple[Floats, Any]:
        """Return w and b."""
        return self.w, self.offset

    def parts(self) -> Iterator[tuple[Matrix, Signs, Floats]]:
        """Yield the rows with their signs and costs."""
        yield self.X, self.signs, self.C

    def violation(self) -> float:
        """Return |gradient| / |gradient at zero|; the intercept moves first where most of it is its own."""
        g, drift, slope = self._gradient()
        if self.intercept and drift * drift > arithmetic.dot(g, g):
            self.offset -= drift / slope
            g, drift, _ = self._gradient()
        return self._length(arithmetic.dot(g, g), drift)

    def _gradient(self) -> tuple[Floats, float, float]:
        """Return the gradient by the weights and by the intercept, and the slope of that."""
        g, drift, slope = self.w.copy(), 0.0, 0.0
        for X, signs, C in self.parts():
            rows = np.arange(len(C), dtype=np.int32)
            found = dual.logistic_gradient(X.indptr, X.indices, X.values, signs, rows, C, self.w, self.offset, g)
            drift, slope = drift + found[0], slope + found[1]
        return g, drift, slope


class SoftmaxPasses(DualPasses):
    """Several classes, all of them in one visit of a row; the weights of a feature lie side by side."""

    patience = 2 * PATIENCE

    def __init__(self, f: LinearProblem, norms: Floats) -> None:
        K, n, X, self.f, self.n_rows = f.n_outputs, len(f.y), f.X, f, len(f.y)
        # The table begins as the gradient at zero, turned round: what each class has more than the mean.
        self.table = np.zeros((X.n_features, -(-K // 4) * 4), dtype=X.values.dtype)
        sparse.class_sums(X.indptr, X.indices, X.values, f.y, f.c, self.table)
        G, drift, weight = self.table[:, :K], np.zeros(K), np.bincount(f.y, f.c, minlength=K).astype(np.float64)
        G -= (arithmetic.total(G, axis=1) / K)[:, None]
        if f.fit_intercept:
            drift = weight - arithmetic.mean(weight)
        flat, drifted = self.table.ravel(), arithmetic.dot(drift, drift)
        square = arithmetic.dot(flat, flat)
        self.first = sqrt(square + drifted)
        rho = 0.05 * (arithmetic.mean(norms) or 1.0) if f.fit_intercept else 0.0  # of 0.05, 0.2, 1 and 5 the fastest
        share = start_at((square + rho * drifted) * (K / (K - 1)) ** 2, arithmetic.total(f.c), K - 1)
        step = share * K / (K - 1)
        G *= step
        self.root, self.offset = sqrt(rho), np.zeros(K)
        t = np.full((n, K), float(arithmetic.log(share / (K - 1))))
        t[np.arange(n), f.y] = float(arithmetic.log(1.0 - share))
        self.of = dual.SoftmaxDual(f.y, f.c, norms + rho, t, step * self.root * drift, bias_scale=self.root)

    def visit(self, rng: np.random.Generator, slope: float, tol: float) -> int:
        """Visit the rows once, and some of them again."""
        of = self.of
        steps = self._visit(slope, rng.permutation(np.arange(self.n_rows, dtype=np.int32)))
        self.loss, self.estimate = of.loss, sqrt(arithmetic.total(of.squares)) / self.first
        self.offset = self.offset + of.bias * self.root
        self._revisit(partial(self._visit, slope), of, rng, tol)
        return steps

    def _visit(self, slope: float, order: Ints32) -> int:
        X = self.f.X
        return dual.softmax_pass(X.indptr, X.indices, X.values, order, self.table, self.of, self.offset, slope)

    def weights(self) -> tuple[Array, Floats]:
        """Return W and b."""
        return self.table[:, : self.f.n_outputs], self.offset

    def violation(self) -> float:
        """Return |gradient| / |gradient at zero|, with the intercepts about where the weights want them."""
        f, (W, b) = self.f, self.weights()
        S = f.rows_times(f.X, f.X.values, self.table)[:, : f.n_outputs] + b
        R, self.offset = f.centred(S, b)
        drift = arithmetic.total(R, axis=0)
        square = arithmetic.dot(drift, drift) if f.fit_intercept else 0.0
        for c in range(0, f.n_outputs, TOGETHER):  # few classes at a time: no table of all in double precision
            G = f.X.transposed_dot(R[:, c : c + TOGETHER])
            G += W[:, c : c + TOGETHER]
            square += arithmetic.dot(G.ravel(), G.ravel())
        return sqrt(square) / self.first


Passes: TypeAlias = TwoClassPasses | SoftmaxPasses


def solve(
    p: Passes, *, tol: float = 1e-4, max_epochs: int = 100, seed: int | Sequence[int] = 0, on_epoch: OnEpoch = ignore
) -> SolverResult:
    """Make passes until the violation is at most tol, or passes bring little.

    >>> from linnet.solvers.losses import Logistic
    >>> X = Matrix.from_dense(np.array([[0.0], [1.0], [2.0], [3.0]]))
    >>> f = LinearProblem(X, np.array([0, 0, 1, 1], np.int32), np.ones(4), Logistic(), 1)
    >>> found = solve(TwoClassPasses(f, np.array([0.0, 1.0, 4.0, 9.0])), tol=1e-6)
    >>> round(float(found.W[0]), 3), round(found.b, 3)
    (0.958, -1.437)
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    slope, passes, target, violation = FIRST_SLOPE, 0, tol, np.inf
    history = [np.inf]
    done, interrupted = p.first == 0.0, False
    try:
        while passes < max_epochs and not done:
            steps = p.visit(rng, slope, tol)
            passes += 1
            violation = p.estimate
            history.append(violation)
            on_epoch(Epoch(passes, p.loss, violation, p.n_rows), p.weights)
            if violation <= target:
                estimate, violation = violation, p.violation()
                done = violation <= tol
                if not done:
                    target = estimate * max(p.nearest, 0.7 * tol / violation)
                    slope *= p.sharper
            if done or history[-1] > 0.5 * history[-1 - min(p.patience, passes)]:
                break
            if steps <= p.n_rows // 2:
                slope = max(LAST_SLOPE, 0.1 * slope)
    except KeyboardInterrupt:
        interrupted = True
    W, b = p.weights()
    return SolverResult(W, b, passes, violation, done, interrupted)


def start_at(curvature: float, total: float, others: int = 1) -> float:
    """Return the share s of all wrong labels that minimises the dual where they share it alike.

    curvature s + total (log(s / (1 - s)) - log others) = 0.

    >>> start_at(0.0, 1.0)
    0.5
    >>> round(start_at(10.0, 1.0), 4)
    0.1634
    """
    even = float(arithmetic.log(float(others)))
    low, high = -300.0, even  # of log(s / (1 - s))
    for _ in range(60):
        middle = 0.5 * (low + high)
        slope = curvature * float(sigmoid(middle)) + total * (middle - even)
        low, high = (middle, high) if slope < 0.0 else (low, middle)
    return float(sigmoid(high))


MOST_ROUNDS = 200


class BlockPasses(TwoClassPasses):
    """Two classes, rows in blocks on disk: what lasts from block to block."""

    nearest, sharper = 0.3, 0.1

    def __init__(self, blocks: RowBlocks, objective: SmoothObjective, seed: int) -> None:
        self.blocks, self.cost, self.n_rows = blocks, objective.C, blocks.n_rows
        self.seed, self.number = seed, 0
        self.share, self.bias = self._begin(*self._at_zero(objective.fit_intercept))

    def weights(self) -> Weights:
        return self.w[:, None].copy(), np.array([self.offset])

    def vector(self) -> Floats:
        return np.append(self.w, self.offset)[: len(self.w) + self.intercept]

    def parts(self) -> Iterator[tuple[Matrix, Signs, Floats]]:
        for _, block in self.blocks.visit():
            yield block.X, signs_of(block.y, 2)[:, 0], self.cost * np.maximum(block.weights, LEAST)

    def _at_zero(self, intercept: bool) -> tuple[Floats, int, float, float]:
        """Return the gradient at zero, the features, the mean squared norm and the sum of C; writes the norms of rows."""
        g = np.zeros((self.blocks.n_features, 1))
        drift = norms = total = 0.0
        for group, block in self.blocks.visit():
            X, y, c = block.X, block.y, self.cost * np.maximum(block.weights, LEAST)
            r = np.ascontiguousarray((-0.5 * c * np.where(y == 1, 1.0, -1.0))[:, None])
            sparse.transposed_dot(X.indptr, X.indices, X.values, r, g)
            square = X.squared_norms()
            drift, norms = drift + arithmetic.total(r), norms + arithmetic.total(square)
            total += arithmetic.total(c)
            self.blocks.keep_state(group, np.stack([np.full(len(y), np.nan), c, square]))
        flat = np.append(g[:, 0], drift) if intercept else g[:, 0]
        return flat, len(g), norms / self.blocks.n_rows, total

    def _state(self, group: BlockNumbers) -> Floats:
        """Return a, C - a and |x|^2 of rows, (3, n_rows); before the first round C stands in the second place."""
        state = self.blocks.state(group, (3,))
        assert state is not None  # noqa: S101 - written for all rows at the start
        fresh = np.isnan(state[0])
        if fresh.any():
            state[0] = np.where(fresh, self.share * state[1], state[0])
            state[1] = np.where(fresh, (1.0 - self.share) * state[1], state[1])
        return state

    def visit(self, rng: np.random.Generator, slope: float, tol: float) -> int:
        """Visit the blocks once, and some rows of each again."""
        steps, square, moved, self.loss = 0, 0.0, 0.0, 0.0
        for group, block in self.blocks.visit(rng):
            X, y = block.X, block.y
            state = self._state(group)
            draw = np.random.Generator(np.random.PCG64([self.seed, group[0], self.number]))
            order = draw.permutation(len(y)).astype(np.int32)
            signs, norms = signs_of(y, 2)[:, 0], state[2] + self.rho
            of = dual.LogisticDual(signs, state[0], state[1], norms, bias_scale=self.root, bias=self.bias)
            visit = partial(self._visit, X, of, slope)
            steps += visit(order)
            self.loss, square = self.loss + of.loss, square + arithmetic.total(of.squares)
            self._revisit(visit, of, draw, tol)
            self.bias = of.bias
            self.blocks.keep_state(group, state)
            moved += self.bias * len(y) / self.n_rows
        self.number += 1
        self.offset += moved * self.root  # the mean over the blocks: that of the last one is noise
        self.estimate = self._length(square)
        return steps
