"""Losses, the regularised objective, and Newton's method: derivatives by differences, answers by optimality."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.optimize

from generated import rows
from linnet.solvers.losses import Logistic, Softmax, SquaredHinge
from linnet.solvers.matrix import Matrix
from linnet.solvers.newton import minimise
from linnet.solvers.problem import LinearProblem, Local, transposed

LOSSES = [(Logistic(), 1), (Softmax(), 3), (Softmax(), 2), (SquaredHinge(), 1), (SquaredHinge(), 3)]


def scores(n_outputs, seed=0, n=12):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, max(2, n_outputs), n).astype(np.int32)
    return rng.normal(size=(n, n_outputs)) * 2, y, rng.random(n)


@pytest.mark.parametrize(("loss", "n_outputs"), LOSSES)
def test_loss_gradient_by_differences(loss, n_outputs):
    S, y, c = scores(n_outputs)
    got = loss.gradient(S, y, c)
    for i, k in np.ndindex(*S.shape):
        step = np.zeros_like(S)
        step[i, k] = 1e-6
        slope = (loss.value(S + step, y, c) - loss.value(S - step, y, c)) / 2e-6
        np.testing.assert_allclose(got[i, k], slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("loss", "n_outputs"), LOSSES)
def test_loss_curvature_by_differences(loss, n_outputs):
    S, y, c = scores(n_outputs)
    curvature = loss.curvature(S, y, c)
    for i, k in np.ndindex(*S.shape):
        step = np.zeros_like(S)
        step[i, k] = 1.0
        change = (loss.gradient(S + 1e-6 * step, y, c) - loss.gradient(S - 1e-6 * step, y, c)) / 2e-6
        np.testing.assert_allclose(curvature.product(step), change, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(curvature.diagonal[i, k], change[i, k], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("loss", "n_outputs"), [(Logistic(), 1), (Softmax(), 3)])
def test_losses_at_huge_scores(loss, n_outputs):
    S = np.full((2, n_outputs), -1e4)
    S[0, 0] = 1e4
    y, c = np.array([0, 1], np.int32), np.ones(2)
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(loss.value(S, y, c))
        assert np.isfinite(loss.gradient(S, y, c)).all()
        assert (loss.curvature(S, y, c).diagonal >= 0).all()


def objective(loss, n_outputs, intercept=True, dtype=np.float64, threads=1, pool=None):
    X, y = rows(classes=max(2, n_outputs))
    X = X.astype(dtype).astype(np.float64)
    M = Matrix.from_dense(X)
    M = Matrix(M.indptr, M.indices, M.values.astype(dtype), M.n_features)
    c = np.random.default_rng(1).random(len(X)) * 3
    y = y.astype(np.int32)
    return LinearProblem(M, y, c, loss, n_outputs, fit_intercept=intercept, threads=threads, pool=pool)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("loss", "n_outputs"), [(Logistic(), 1), (Softmax(), 3)])
def test_objective_derivatives(loss, n_outputs, intercept):
    f = objective(loss, n_outputs, intercept)
    rng = np.random.default_rng(2)
    w = rng.normal(size=f.size)
    here = f(w)
    gradient = here.gradient()
    product, preconditioner = here.curvature()
    assert (preconditioner > 0).all()
    for _ in range(5):
        d = rng.normal(size=f.size)
        slope = (f(w + 1e-5 * d).value - f(w - 1e-5 * d).value) / 2e-5
        np.testing.assert_allclose(gradient @ d, slope, rtol=1e-7)
        change = (f(w + 1e-5 * d).gradient() - f(w - 1e-5 * d).gradient()) / 2e-5
        np.testing.assert_allclose(product(d), change, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("loss", "n_outputs"), [(Logistic(), 1), (Softmax(), 3), (SquaredHinge(), 1)])
def test_newton_reaches_the_optimum(loss, n_outputs):
    f = objective(loss, n_outputs)
    found = minimise(f, np.zeros(f.size), tol=1e-12)
    assert found.converged
    assert found.violation < 1e-11
    assert found.passes < 20
    other = scipy.optimize.minimize(
        lambda w: f(w).value, np.zeros(f.size), jac=lambda w: f(w).gradient(), method="BFGS", options={"gtol": 1e-9}
    )
    assert f(found.w).value <= other.fun + 1e-10


def test_newton_on_badly_scaled_features():
    X, y = rows(n=80, d=6, classes=2)
    X = X * np.array([1e-3, 1.0, 1.0, 1e3, 1.0, 1e2])
    f = LinearProblem(Matrix.from_dense(X), y.astype(np.int32), np.ones(len(X)), Logistic(), 1)
    found = minimise(f, np.zeros(f.size), tol=1e-10)
    assert found.violation < 1e-10
    assert found.passes < 40


def test_newton_knows_nothing_but_the_problem():
    """Rosenbrock's valley is not convex, but has one minimum; the line search and the curvature test must cope."""

    def valley(w):
        x, y = w
        H = np.array([[2 - 400 * (y - 3 * x * x), -400 * x], [-400 * x, 200.0]])
        g = np.array([-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)])
        return Local((1 - x) ** 2 + 100 * (y - x * x) ** 2, lambda: g, lambda: (lambda d: H @ d, np.ones(2)))

    seen = []
    found = minimise(valley, np.array([-1.2, 1.0]), tol=1e-10, on_step=lambda *news: seen.append(news))
    np.testing.assert_allclose(found.w, [1.0, 1.0], atol=1e-8)
    assert [n for n, *_ in seen] == list(range(1, found.passes + 1))
    assert all(a[1] >= b[1] for a, b in pairwise(seen))


def test_newton_starts_at_the_optimum():
    found = minimise(lambda w: Local(0.0, lambda: np.zeros(2), lambda: (lambda d: d, np.ones(2))), np.zeros(2))
    assert found.converged
    assert found.passes == 0


def test_newton_stops_at_the_end_of_the_digits():
    f = objective(Logistic(), 1)
    found = minimise(f, np.zeros(f.size), tol=1e-300)
    assert found.converged
    assert found.violation < 1e-13


def test_newton_interrupted_keeps_the_point():
    f = objective(Softmax(), 3)

    def stop(number, *_):
        if number == 2:
            raise KeyboardInterrupt

    found = minimise(f, np.zeros(f.size), on_step=stop)
    assert found.passes == 2
    assert f(found.w).value < f(np.zeros(f.size)).value
    assert not found.converged


def test_float32_values_are_solved_in_double():
    narrow = objective(Logistic(), 1, dtype=np.float32)
    found = minimise(narrow, np.zeros(narrow.size), tol=1e-12)
    assert found.violation < 1e-11


def test_transposed():
    X, _ = rows()
    M = Matrix.from_dense(X)
    np.testing.assert_array_equal(transposed(M).dot(np.eye(len(X))), X.T)
