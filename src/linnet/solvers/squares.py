"""Least squares in three ways: singular values, normal equations, LSQR.

Problem   min_{W, b}  sum_i s_i |x_i W + b - t_i|^2 + alpha |W|^2,   s_i the weight of a row, t_i its targets
Intercept b is not penalised. At the optimum b = mean t - mean x W, so the problem is that of A W = T with
          A = sqrt(s) (X - mean x) and T = sqrt(s) (t - mean t). A stays a product: sparse rows are not filled.
pinv      A = U S V^T;  W = V S / (S^2 + alpha) U^T T. Where A does not decide, the shortest W: the pseudo-inverse.
normal    (A^T A + alpha) W = A^T T by Cholesky's factors. Squares the condition of A, so it must be a sound one.
lsqr      Paige and Saunders: conjugate gradients on the normal equations without squaring the condition; two
          products a pass, and from zero it goes to the shortest W. All outputs share the products.
Stop      lsqr: |A^T R - alpha W| <= tol |A^T T| for every output
Paper     Paige and Saunders, LSQR: An Algorithm for Sparse Linear Equations and Sparse Least Squares, 1982.
"""

from __future__ import annotations

import numpy as np

from linnet import arithmetic
from linnet._kernels import factors, sparse
from linnet.array_types import Bools, Floats
from linnet.errors import LinnetError
from linnet.solvers.callbacks import Epoch, OnEpoch, SolverResult, ignore
from linnet.solvers.matrix import Matrix

CHUNK = 256  # rows that are written out at a time
EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 64 * EPSILON  # of the length of X: a new direction as short as this is noise
CONSTANT = 1e-12  # a column with less variance than this part of its square is one number
MOST_SWEEPS = 60
UNSOUND = 1e-7  # ratio of Cholesky's diagonal below which half the digits are lost


class Squares:
    """The problem as a product: A is never written out.

    >>> rows = Matrix.from_dense(np.array([[0.0], [1.0], [2.0]]))
    >>> problem = Squares(rows, np.array([[1.0], [3.0], [5.0]]), np.ones(3), alpha=0.0, intercept=True)
    >>> W, b = problem.weights(pinv(problem))
    >>> round(float(W[0, 0]), 6), round(float(b[0]), 6)
    (2.0, 1.0)
    """

    def __init__(self, X: Matrix, T: Floats, weight: Floats, *, alpha: float, intercept: bool) -> None:
        self.X = X.explicit()
        self.alpha = alpha
        self.root = np.sqrt(weight)[:, None]  # (n_rows, 1)
        self.total = arithmetic.total(weight)
        self.mean_x, self.mean_t = np.zeros(X.n_features), np.zeros(T.shape[1])
        if intercept:
            self.mean_x = self.X.transposed_dot(weight[:, None])[:, 0] / self.total
            self.mean_t = arithmetic.matmul(weight[None, :], T)[0] / self.total
        self.T = self.root * (T - self.mean_t)  # (n_rows, n_outputs)

    def dot(self, V: Floats) -> Floats:
        """Return A V, (n_rows, n_outputs)."""
        X, out = self.X, np.empty((len(self.X), V.shape[1]))
        sparse.dot(X.indptr, X.indices, X.values, np.ascontiguousarray(V), 0, len(X), out)
        out -= arithmetic.matmul(self.mean_x[None, :], V)[0]
        out *= self.root
        return out

    def transposed_dot(self, R: Floats) -> Floats:
        """Return A^T R, (n_features, n_outputs)."""
        weighted = self.root * R
        out = self.X.transposed_dot(weighted)
        out -= self.mean_x[:, None] * arithmetic.total(weighted, axis=0)
        return out

    def dense(self) -> Floats:
        """Return A written out."""
        return np.asarray(self.root * (self.X.dense() - self.mean_x))

    def gram(self) -> Floats:
        """Return A^T A, a few rows of X at a time, without BLAS: its threads would change the last digits."""
        X, d = self.X, self.X.n_features
        total = np.zeros((d, d))
        for first in range(0, len(X), CHUNK):
            part = X.take(np.arange(first, min(first + CHUNK, len(X))))
            rows = part.dense() * np.square(self.root[first : first + CHUNK])
            sparse.transposed_dot(part.indptr, part.indices, part.values, rows, total)
        return total - self.total * np.multiply.outer(self.mean_x, self.mean_x)

    def noise(self) -> float:
        """Return the length below which a direction of A is nothing but rounding, of X and of its means."""
        return ROUNDING * arithmetic.norm(self.X.values * np.repeat(self.root[:, 0], np.diff(self.X.indptr)))

    def weights(self, W: Floats) -> tuple[Floats, Floats]:
        """Return W and the intercept that belongs to it."""
        return W, self.mean_t - arithmetic.matmul(self.mean_x[None, :], W)[0]


def pinv(problem: Squares) -> Floats:
    """Return W by singular values; those below the rounding of the largest count as zero."""
    A = problem.dense()
    wide = A.shape[0] < A.shape[1]
    M = np.ascontiguousarray(A if wide else A.T)  # the shorter side in rows
    V, squares = np.eye(len(M)), np.zeros(len(M))
    for _ in range(MOST_SWEEPS):
        if factors.sweep(M, V, squares, EPSILON) == 0:
            break
    S = np.sqrt(squares)
    keep = max(EPSILON * max(A.shape) * S.max(initial=0.0), problem.noise()) < S
    left, right = (M, V) if wide else (V, M)  # the vectors of A's columns, and of its rows
    inside = arithmetic.matmul(right[keep], problem.T) / (np.square(S[keep]) + problem.alpha)[:, None]
    return arithmetic.matmul(left[keep].T, inside)


def normal(problem: Squares) -> Floats:
    """Return W by the normal equations; LinnetError where they have no single sound answer."""
    G = problem.gram()
    G[np.diag_indices_from(G)] += problem.alpha
    squares = np.diagonal(G)
    cancelled = squares <= CONSTANT * (squares + problem.total * np.square(problem.mean_x))
    size = np.sqrt(np.where(cancelled, 1.0, squares))
    L = G / np.multiply.outer(size, size)  # a unit diagonal: features in any unit
    if cancelled.any() or not factors.cholesky(L) or np.diagonal(L).min(initial=1.0) < UNSOUND:
        raise LinnetError(
            "the normal equations have no single answer: columns depend on each other; give alpha above 0, or solver='pinv' "
            "(few features) or 'lsqr' (many), which take the shortest weights"
        )
    right = problem.transposed_dot(problem.T) / size[:, None]
    factors.solve(L, right)
    return np.asarray(right / size[:, None])


def lsqr(problem: Squares, *, tol: float, max_epochs: int, on_epoch: OnEpoch = ignore) -> SolverResult:
    """Return W and b by LSQR. KeyboardInterrupt ends the passes and keeps the weights so far."""
    W = np.zeros((problem.X.n_features, problem.T.shape[1]))
    violation = np.zeros(W.shape[1])
    squares = np.square(_lengths(problem.T))  # the objective of each output
    state = _Bidiagonal(problem, problem.T)
    live = np.flatnonzero(state.first > 0.0)  # the others are solved by zero
    state.keep(state.first > 0.0)
    passes, interrupted = 0, False
    try:
        while len(live) and passes < max_epochs:
            violation[live] = state.step(problem)
            W[:, live], squares[live] = state.W, state.squares
            passes += 1
            data = arithmetic.total(squares) - problem.alpha * arithmetic.total(np.square(W))
            report = Epoch(passes, max(data, 0.0), float(violation.max()), len(problem.X))
            on_epoch(report, lambda: problem.weights(W.copy()))
            going = violation[live] > tol
            live = live[going]
            state.keep(going)
    except KeyboardInterrupt:
        interrupted = True
    worst = float(violation.max(initial=0.0))
    return SolverResult(*problem.weights(W), passes, worst, worst <= tol and not interrupted, interrupted)


class _Bidiagonal:
    """The running state of LSQR, one column an output; names as in the paper, phi and rho with a bar spelt out."""

    def __init__(self, problem: Squares, T: Floats) -> None:
        self.damp = np.sqrt(problem.alpha)
        beta = _lengths(T)
        self.u = _over(T, beta)
        self.v = problem.transposed_dot(self.u)
        self.alpha = _lengths(self.v)
        self.v = _over(self.v, self.alpha)
        self.w, self.W = self.v.copy(), np.zeros_like(self.v)
        self.rho_bar, self.phi_bar = self.alpha.copy(), beta
        self.lost = np.zeros_like(beta)  # what the damping keeps out of reach, squared
        self.squares = np.square(beta)
        self.first = self.alpha * beta  # |A^T T|
        self.noise = problem.noise()
        self.first[self.alpha <= self.noise] = 0.0

    def keep(self, columns: Bools) -> None:
        """Go on with some of the outputs."""
        for name in ("u", "v", "w", "W"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)[:, columns]))
        for name in ("alpha", "rho_bar", "phi_bar", "lost", "squares", "first"):
            setattr(self, name, getattr(self, name)[columns])

    def step(self, problem: Squares) -> Floats:
        """Make one pass; returns |gradient| / |first gradient| of each output."""
        self.u = problem.dot(self.v) - self.alpha * self.u
        beta = _lengths(self.u)
        self.u = _over(self.u, beta)
        self.v = problem.transposed_dot(self.u) - beta * self.v
        self.alpha = _lengths(self.v)
        self.alpha[(beta <= self.noise) | (self.alpha <= self.noise)] = 0.0
        self.v = _over(self.v, self.alpha)
        # the row of sqrt(alpha) is rotated away first
        damped = np.sqrt(self.rho_bar * self.rho_bar + self.damp * self.damp)
        psi = self.damp / damped * self.phi_bar
        self.phi_bar = self.rho_bar / damped * self.phi_bar
        rho = np.sqrt(damped * damped + beta * beta)
        c, s = damped / rho, beta / rho
        phi = c * self.phi_bar
        theta = s * self.alpha
        self.rho_bar, self.phi_bar = -c * self.alpha, s * self.phi_bar
        self.W += phi / rho * self.w
        self.w = self.v - theta / rho * self.w
        self.lost += np.square(psi)
        self.squares = np.square(self.phi_bar) + self.lost
        return np.asarray(self.alpha * np.abs(c * self.phi_bar) / self.first)


def _lengths(M: Floats) -> Floats:
    """The length of each column."""
    return np.asarray(arithmetic.norm(M, axis=0))


def _over(M: Floats, lengths: Floats) -> Floats:
    return np.asarray(M / np.where(lengths > 0.0, lengths, 1.0))
