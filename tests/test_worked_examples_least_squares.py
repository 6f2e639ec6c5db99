"""Least squares: the notes' formula, NumPy, SciPy and scikit-learn as oracles, optimality, extremes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from generated import counts, matrices, rows
from linnet.errors import DataError, LinnetError
from linnet.models import LeastSquares
from linnet.models.least_squares import Squares, lsqr, normal, pinv
from linnet.solvers.callbacks import ConvergenceWarning

DATA = Path(os.environ.get("LINNET_DATA", "/nowhere"))
SOLVERS = ["pinv", "normal", "lsqr"]
every_solver = pytest.mark.parametrize("solver", SOLVERS)
TIGHT = {"tol": 1e-13}


def numbers(y, classes):
    return np.where(y == 1, 1.0, -1.0)[:, None] if classes == 2 else np.eye(classes)[y]


def tall(classes=3, n=90, d=12, seed=0):
    """Full column rank, so that W is the only answer."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0.0)
    return X, rng.integers(0, classes, n)


@every_solver
@pytest.mark.parametrize("classes", [2, 4])
def test_formula_of_the_notes(solver, classes):
    """W = (A^T A)^-1 A^T B, the intercept the weight of a column of ones."""
    X, y = tall(classes)
    A, B = np.column_stack([X, np.ones(len(X))]), numbers(y, classes)
    want = np.linalg.inv(A.T @ A) @ A.T @ B
    np.testing.assert_allclose(want, np.linalg.lstsq(A, B, rcond=None)[0], atol=1e-10)
    model = LeastSquares(solver=solver, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.coef_.T, want[:-1], atol=1e-9)
    np.testing.assert_allclose(model.intercept_, want[-1], atol=1e-9)
    bare = LeastSquares(solver=solver, fit_intercept=False, **TIGHT).fit(X, y)
    np.testing.assert_allclose(bare.coef_.T, np.linalg.lstsq(X, B, rcond=None)[0], atol=1e-9)
    assert (bare.intercept_ == 0).all()


def test_an_example_by_hand():
    """x = 0, 1, 2, 3 with -1, -1, 1, 1: slope 4/5, and zero in the middle."""
    model = LeastSquares().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    np.testing.assert_allclose([model.coef_[0, 0], model.intercept_[0]], [0.8, -1.2])


@pytest.mark.parametrize("solver", ["pinv", "lsqr"])
@pytest.mark.parametrize("intercept", [True, False])
def test_of_many_answers_the_shortest(solver, intercept):
    """More features than rows, an empty column and a column given twice."""
    from sklearn.linear_model import LinearRegression

    X, y = rows(n=20, d=40)
    X[:, 9] = X[:, 8]
    B = numbers(y, 3)
    theirs = LinearRegression(fit_intercept=intercept).fit(X, B)
    model = LeastSquares(solver=solver, fit_intercept=intercept, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-8)
    if not intercept:
        np.testing.assert_allclose(model.coef_.T, np.linalg.pinv(X) @ B, atol=1e-8)
    assert (model.coef_[:, 2] == 0).all() or solver == "pinv"


@every_solver
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_ridge(solver, classes, alpha):
    from sklearn.linear_model import Ridge

    X, y = rows(n=50, d=70, classes=classes)
    weight = np.random.default_rng(0).uniform(0.0, 3.0, len(y))
    theirs = Ridge(alpha=alpha, solver="svd").fit(X, numbers(y, classes), sample_weight=weight)
    for data in (X, sp.csr_array(X)):
        model = LeastSquares(alpha, solver=solver, **TIGHT).fit(data, y, sample_weight=weight)
        np.testing.assert_allclose(model.coef_, np.atleast_2d(theirs.coef_), atol=1e-8)
        np.testing.assert_allclose(model.intercept_, np.ravel(theirs.intercept_), atol=1e-8)


@settings(deadline=None, max_examples=80)
@given(matrices(least_rows=2), st.sampled_from([0.0, 0.1, 5.0]), st.booleans(), st.integers(1, 3), st.integers(0, 99))
def test_the_gradient_is_zero(X, alpha, intercept, outputs, seed):
    """Of every solver's answer: A^T (A W - T) + alpha W = 0, and the residuals of the intercept add up to zero."""
    rng = np.random.default_rng(seed)
    T, weight = rng.normal(size=(len(X), outputs)), rng.uniform(0.5, 2.0, len(X))
    problem = Squares(X, T, weight, alpha=alpha, intercept=intercept)
    D = np.zeros((len(X), X.n_features))
    for i in range(len(X)):
        for k in range(X.indptr[i], X.indptr[i + 1]):
            D[i, X.indices[k]] += X.values[k]
    found = {"pinv": pinv(problem), "lsqr": lsqr(problem, tol=1e-14, max_epochs=200).W}
    try:
        found["normal"] = normal(problem)
    except LinnetError:
        assert alpha == 0.0
    for W in found.values():
        W, b = problem.weights(W)
        rest = weight[:, None] * (D @ W + b - T)
        np.testing.assert_allclose(D.T @ rest + alpha * W, 0.0, atol=1e-8)
        if intercept:
            np.testing.assert_allclose(rest.sum(axis=0), 0.0, atol=1e-8)
    np.testing.assert_allclose(found["lsqr"], found["pinv"], atol=1e-6)  # the shortest of all


def test_products():
    X, y = counts()
    from linnet.solvers.matrix import Matrix

    weight = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    problem = Squares(Matrix.from_dense(X), numbers(y, 3), weight, alpha=0.0, intercept=True)
    A = np.sqrt(weight)[:, None] * (X - np.average(X, axis=0, weights=weight))
    V, R = np.random.default_rng(1).normal(size=(25, 2)), np.random.default_rng(2).normal(size=(60, 2))
    np.testing.assert_allclose(problem.dense(), A, atol=1e-12)
    np.testing.assert_allclose(problem.dot(V), A @ V, atol=1e-12)
    np.testing.assert_allclose(problem.transposed_dot(R), A.T @ R, atol=1e-12)
    np.testing.assert_allclose(problem.gram(), A.T @ A, atol=1e-11)


@pytest.mark.parametrize("damp", [0.0, 0.7])
def test_lsqr_is_scipys(damp):
    """Pass by pass, and the violation it reports is that of its weights."""
    from scipy.sparse.linalg import lsqr as theirs

    from linnet.solvers.matrix import Matrix

    X, y = rows(n=80, d=30)
    T = numbers(y, 3)
    problem = Squares(Matrix.from_dense(X), T, np.ones(len(y)), alpha=damp**2, intercept=False)
    for passes in (1, 2, 5, 12):
        seen = []
        found = lsqr(
            problem, tol=1e-14, max_epochs=passes, on_epoch=lambda report, W, seen=seen: seen.append((report, W()[0]))
        )
        want = [theirs(X, t, damp=damp, iter_lim=passes, atol=0, btol=0, conlim=0)[0] for t in T.T]
        np.testing.assert_allclose(found.W, np.transpose(want), atol=1e-9)
        assert len(seen) == found.epochs == passes
        for report, W in seen:
            gradient = np.linalg.norm(X.T @ (T - X @ W) - damp**2 * W, axis=0) / np.linalg.norm(X.T @ T, axis=0)
            np.testing.assert_allclose(report.violation, gradient.max(), rtol=1e-6)
            np.testing.assert_allclose(report.loss, np.sum((T - X @ W) ** 2), rtol=1e-9)


def test_the_solver_by_size():
    X, y = rows()
    assert LeastSquares().fit(X, y).solver_ == "pinv"
    rng = np.random.default_rng(0)
    wide = sp.random_array((600, 30_000), density=0.001, rng=rng, format="csr")
    assert LeastSquares(1.0).fit(wide, np.arange(600) % 3).solver_ == "lsqr"
    long = sp.random_array((300_000, 40), density=0.05, rng=rng, format="csr")
    model = LeastSquares(1.0).fit(long, np.arange(300_000) % 2)
    assert model.solver_ == "normal"
    other = LeastSquares(1.0, tol=1e-12).fit(long, np.arange(300_000) % 2)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-9)


def test_normal_equations_without_an_answer():
    X, y = counts()
    with pytest.raises(LinnetError, match=r"columns depend on each other; give alpha above 0, or solver='pinv'"):
        LeastSquares(solver="normal").fit(np.column_stack([X, X[:, :1]]), y)
    X, y = tall()
    with pytest.raises(LinnetError, match="columns depend on each other"):
        LeastSquares(solver="normal").fit(np.column_stack([X, np.full(len(X), 0.1)]), y)


def test_out_of_passes():
    X, y = counts()
    with pytest.warns(ConvergenceWarning, match="LeastSquares stopped after max_iter=1 passes"):
        LeastSquares(solver="lsqr", max_iter=1).fit(X, y)


@every_solver
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_extreme_units(solver, scale):
    X, y = tall(2)
    model = LeastSquares(solver=solver, **TIGHT).fit(X * scale, y)
    np.testing.assert_allclose(model.coef_ * scale, LeastSquares().fit(X, y).coef_, atol=1e-7)
    mixed = X * np.where(np.arange(X.shape[1]) % 2, scale, 1.0)  # columns in different units
    if solver == "normal":
        found = LeastSquares(solver=solver, **TIGHT).fit(mixed, y).decision_function(mixed)
        np.testing.assert_allclose(found, LeastSquares().fit(X, y).decision_function(X), atol=1e-7)


def test_empty_rows_and_one_class():
    for solver in ("pinv", "lsqr"):
        model = LeastSquares(solver=solver).fit(np.zeros((4, 2)), [0, 1, 1, 1])
        assert (model.coef_ == 0).all()
        np.testing.assert_allclose(model.intercept_, [0.5])  # the mean of -1, 1, 1, 1
    with pytest.raises(DataError, match="LeastSquares needs rows of two classes or more; got 1 class"):
        LeastSquares().fit(np.ones((4, 2)), [1, 1, 1, 1])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LeastSquares(-1), "alpha must be a number from 0, got -1"),
        (LeastSquares(solver="lsq"), r"unknown solver 'lsq'; choose one of: pinv, normal, lsqr \(did you mean 'lsqr'"),
        (LeastSquares(solver="lsqr", tol=0), "tol must be a number above 0, got 0"),
        (LeastSquares(solver="lsqr", max_iter=0), "max_iter must be a whole number from 1, got 0"),
    ],
)
def test_settings_that_cannot_be(model, message):
    X, y = rows()
    with pytest.raises(DataError, match=message):
        model.fit(X, y)


@pytest.mark.slow
def test_on_real_text():
    """RT-s, bigrams: LSQR reaches scikit-learn's ridge."""
    from sklearn.linear_model import RidgeClassifier

    import linnet

    path = DATA / "rt_polarity/all.csv"
    if not path.exists():
        pytest.skip("LINNET_DATA/rt_polarity is not there")
    data = linnet.read(path, labelled=True)
    X = linnet.features.Vectorizer("words:1-2", idf=True, norm="l2").fit_transform(data.text)
    y = np.array(data.label.to_pylist())
    ours = LeastSquares(1.0, tol=1e-8).fit(X, y)
    theirs = RidgeClassifier(alpha=1.0, solver="sparse_cg", tol=1e-10).fit(X, y)
    assert ours.solver_ == "lsqr"
    np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), atol=1e-5)
