"""Least squares: give every class a number, and draw the plane that comes closest to the numbers.

With features A, (n_rows, n_features), and labels B in numbers, a linear model is A W = B. More rows than features leave
no exact W, so one takes the W of least squared error, W = (A^T A)^-1 A^T B: the pseudo-inverse of A times B.

    min_{W, b}  sum_i s_i |x_i W + b - t_i|^2 + alpha |W|^2

Two classes are the numbers -1 and 1 and share one score; more classes have one score each, 1 for the right class and 0
for the others, and the largest wins. b is the weight of a column of ones, and is not penalised.

No iteration and no rate, and the answer is a formula. But the error of a row that is right by far (a score of 5 where 1
was asked) counts as much as that of a row that is wrong, so rows far from the line pull it towards them: the losses of
the perceptron, the SVM and logistic regression do not have this fault. With some alpha the fault is small on text.

Reference: Hastie, Tibshirani, Friedman: The Elements of Statistical Learning, section 4.2.

Least squares in three ways: singular values, normal equations, LSQR.

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

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet._kernels import factors, sparse
from linnet.array_types import Bools, Floats, Ints32
from linnet.errors import LinnetError
from linnet.estimator import above_zero, not_negative, one_of, truth, whole
from linnet.features.plan import FeaturePlan
from linnet.models.estimator import DecisionModel
from linnet.solvers.callbacks import Epoch, OnEpoch, SolverResult, Weights, ignore
from linnet.solvers.matrix import Matrix, TrainingSet

SOLVERS = ("pinv", "normal", "lsqr")
SMALL = 3e8  # multiplications that are quickly done
FEW = 3e7  # rows * features * the smaller of both: singular values take some fifty times as many
PASSES = 1000


@dataclass(eq=False, repr=False)
class LeastSquares(DecisionModel):
    """The plane of least squared error through -1 and 1, or through one-hot labels.

    Parameters: ``alpha`` is the penalty (ridge); with 0, of many W that do equally well the shortest is taken.
    ``solver`` is "pinv" (singular values: exact, for small data), "normal" (the normal equations: exact, for few
    features; columns must not depend on each other, or alpha be above 0), "lsqr" (passes over sparse rows: for anything
    large), or None to choose by size. ``tol`` bounds |gradient| / |gradient at zero| and ``max_iter`` the passes of
    lsqr. ``fit_intercept``, ``class_weight``.

    Learned, beside the usual: ``solver_``, which of the three it was; ``n_iter_``, the passes of lsqr (else 1).

    >>> model = LeastSquares().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([[0.8]], [-1.2])
    >>> model.decision_function([[1.5], [2.0]]).round(3).tolist()
    [0.0, 0.4]
    """

    plan = FeaturePlan(
        ratio=(0.5, 0.0), grid=(("alpha", (1.0, 0.3, 3.0, 10.0)),), fixed=(("solver", "lsqr"), ("tol", 1e-2))
    )

    alpha: float = 0.0
    _: KW_ONLY
    solver: str | None = None
    tol: float = 1e-8
    max_iter: int | None = None
    fit_intercept: bool = True
    class_weight: Any = None

    def solve(self, rows: TrainingSet) -> Weights:
        """Fit to encoded rows. Only lsqr has passes to report."""
        T, alpha = targets(rows.y, rows.n_classes), not_negative("alpha", self.alpha)
        problem = Squares(rows.X, T, rows.weights, alpha=alpha, intercept=truth("fit_intercept", self.fit_intercept))
        self.solver_ = self._solver(problem)
        self.n_iter_, self.interrupted_ = 1, False
        if self.solver_ == "lsqr":
            tol = above_zero("tol", self.tol)
            most = PASSES if self.max_iter is None else whole("max_iter", self.max_iter)
            found = lsqr(problem, tol=tol, max_epochs=most, on_epoch=rows.on_epoch)
            self._finish(found.epochs, most, found.violation, found.converged)
            W, b = found.W, found.b
        else:
            W, b = problem.weights(pinv(problem) if self.solver_ == "pinv" else normal(problem))
        return np.ascontiguousarray(W, dtype=rows.X.values.dtype), b

    def _solver(self, problem: Squares) -> str:
        if self.solver is not None:
            return one_of("solver", self.solver, SOLVERS)
        n, d = len(problem.X), problem.X.n_features
        if float(n) * d * min(n, d) <= FEW:
            return "pinv"
        quick = float(len(problem.X.values)) * d <= SMALL and float(d) ** 3 <= SMALL
        return "normal" if problem.alpha > 0.0 and quick else "lsqr"


def targets(y: Ints32, n_classes: int) -> Floats:
    """Return the numbers that stand for the classes: -1 and 1 for two, one-hot for more, (n_rows, n_outputs).

    >>> targets(np.array([0, 1, 2]), 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if n_classes == 2:
        return np.where(y == 1, 1.0, -1.0)[:, None]
    return np.asarray(y[:, None] == np.arange(n_classes), dtype=np.float64)


# ---- the three ways to solve it

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
        out = self.X.dot(V)
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
        raise LinnetError("columns depend on each other; give alpha above 0, or solver='pinv' or 'lsqr'")
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
        self.u, beta = _unit(T)
        self.v, self.alpha = _unit(problem.transposed_dot(self.u))
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
        self.u, beta = _unit(problem.dot(self.v) - self.alpha * self.u)
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


def _unit(M: Floats) -> tuple[Floats, Floats]:
    """Return the columns with length 1, and their lengths."""
    lengths = _lengths(M)
    return _over(M, lengths), lengths
