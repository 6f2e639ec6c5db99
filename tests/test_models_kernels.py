"""Kernels and explicit products: exclusive-or solved by both and by no line, and both the same machine."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from generated import matrices, rows
from linnet.errors import DataError
from linnet.features import Quadratic
from linnet.models import (
    RBF,
    KernelPerceptron,
    LeastSquares,
    Linear,
    LinearSVM,
    LogisticRegression,
    Perceptron,
    Polynomial,
)  # fmt: skip
from linnet.models.kernel_perceptron import inner_products
from linnet.solvers.matrix import Matrix

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
ODD = np.array([0, 1, 1, 0])
LINES = [
    Perceptron(average=False, max_iter=1000), Perceptron(max_iter=1000), LinearSVM(C=1e3, max_iter=10**6),
    LogisticRegression(C=1e3), LeastSquares(),
]  # fmt: skip
kinds = pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Polynomial(3, 0.5), RBF(0.3)])


def written_out(X):
    D = np.zeros((len(X), X.n_features))
    np.add.at(D, (np.repeat(np.arange(len(X)), np.diff(X.indptr)), X.indices), X.values)
    return D


# ---- exclusive-or


@pytest.mark.parametrize("model", LINES, ids=repr)
@pytest.mark.parametrize("signs", [False, True])
def test_no_line_solves_exclusive_or(model, signs):
    X = 2 * XOR - 1 if signs else XOR
    assert model.fit(X, ODD).score(X, ODD) <= 0.75
    if isinstance(model, Perceptron):
        assert not model.settled_


@pytest.mark.parametrize("model", LINES, ids=repr)
def test_a_line_over_products_solves_it(model):
    X = Quadratic().fit_transform(XOR)
    model.fit(X, ODD)
    if isinstance(model, Perceptron):
        assert model.settled_  # the last weights separate the rows; their mean over the steps need not
    if not getattr(model, "average", False):
        assert model.score(X, ODD) == 1.0


@pytest.mark.parametrize("kernel", [Polynomial(2), Polynomial(2, 0.5), Polynomial(3), RBF(1.0), RBF(10.0)], ids=repr)
def test_a_kernel_solves_it(kernel):
    model = KernelPerceptron(kernel, max_iter=1000).fit(XOR, ODD)
    assert model.settled_
    assert model.score(XOR, ODD) == 1.0


def test_the_linear_kernel_does_not():
    for kernel in (Linear(), Polynomial(1)):
        model = KernelPerceptron(kernel).fit(XOR, ODD)
        assert not model.settled_
        assert model.score(XOR, ODD) <= 0.75


# ---- kernels


@kinds
@settings(deadline=None, max_examples=30)
@given(matrices(), st.integers(0, 99))
def test_kernel_values(kernel, X, seed):
    from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

    Z = Matrix.from_dense(np.random.default_rng(seed).normal(size=(3, X.n_features)))
    D, E = written_out(X), written_out(Z)
    want = {
        Linear: lambda: D @ E.T,
        Polynomial: lambda: polynomial_kernel(D, E, degree=kernel.degree, coef0=kernel.constant, gamma=1.0),
        RBF: lambda: rbf_kernel(D, E, gamma=kernel.gamma),
    }[type(kernel)]()
    np.testing.assert_allclose(kernel(X, Z), want, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(kernel(D, E), want, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(kernel(sp.csr_array(D), E), want, rtol=1e-6, atol=1e-9)


def test_inner_products_in_pieces(monkeypatch):
    X, _ = rows(n=30)
    M = Matrix.from_dense(X)
    monkeypatch.setattr("linnet.models.kernel_perceptron.WRITTEN_OUT", 60)
    np.testing.assert_allclose(inner_products(M, M), X @ X.T, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Polynomial(0), "degree must be a whole number from 1, got 0"),
        (lambda: Polynomial(2, -1.0), "constant must be a number from 0, got -1.0"),
        (lambda: RBF(0.0), "gamma must be a number above 0, got 0.0"),
        (lambda: KernelPerceptron("rbf").fit(XOR, ODD), r"kernel must be a value such as Polynomial\(2\).*got 'rbf'"),
        (lambda: KernelPerceptron(RBF).fit(XOR, ODD), "kernel must be a value"),
        (lambda: KernelPerceptron(max_iter=0).fit(XOR, ODD), "max_iter must be a whole number from 1, got 0"),
        (lambda: KernelPerceptron().fit(XOR, [1, 1, 1, 1]), "KernelPerceptron needs rows of two classes or more"),
        (lambda: Quadratic(constant=-1).fit(XOR), "constant must be None or a number from 0, got -1"),
        (lambda: Quadratic().fit(sp.csr_array((2, 70_000))), "70,000 features have too many products"),
    ],
)
def test_settings_that_cannot_be(make, message):
    with pytest.raises(DataError, match=message):
        make()


# ---- the same machine twice


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("constant", [1.0, 0.5, 0.0])
def test_a_quadratic_kernel_is_the_perceptron_on_explicit_products(constant, classes, average):
    """Rows in the same order, the same mistakes, the same scores, to the rounding."""
    X, y = rows(n=60, d=5, classes=classes, density=0.8)
    kernel = KernelPerceptron(Polynomial(2, constant), shuffle=False, average=average, max_iter=15).fit(X, y)
    explicit = Quadratic(constant=constant).fit(X)
    line = Perceptron(fit_intercept=False, shuffle=False, average=average, max_iter=15)
    line.fit(explicit.transform(X), y)
    assert [p.active for p in kernel.history_] == [p.active for p in line.history_]
    new = np.random.default_rng(0).normal(size=(20, 5))
    scores = line.decision_function(explicit.transform(new))
    np.testing.assert_allclose(kernel.decision_function(new), scores, rtol=1e-9, atol=1e-9 * np.abs(scores).max())


def test_on_whole_numbers_exactly():
    """Polynomial(2, 2): the factors are sqrt(2 c) = 2, sqrt(2) twice in a product, c = 2; scores are whole numbers."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(-3, 4, size=(40, 4)).astype(float), rng.integers(0, 3, 40)
    model = KernelPerceptron(Polynomial(2, 2.0), shuffle=False, max_iter=10).fit(X, y)
    W, mistakes = np.zeros((3, 40)), 0  # by hand, with coefficients of the rows
    K = (X @ X.T + 2) ** 2
    for _ in range(10):
        for i in range(40):
            best = int((W @ K[:, i]).argmax())
            if best != y[i]:
                mistakes += 1
                W[y[i], i] += 1
                W[best, i] -= 1
    assert model.mistakes_ == mistakes
    np.testing.assert_array_equal(model.decision_function(X), (W @ K).T)
    np.testing.assert_array_equal(np.sort(model.support_), np.flatnonzero(W.any(axis=0)))


@pytest.mark.parametrize("average", [False, True])
def test_the_linear_kernel_is_the_perceptron(average):
    X, y = rows(n=80, noise=2.0)
    settings = {"average": average, "max_iter": 9}
    kernel = KernelPerceptron(Linear(), **settings).fit(X, y)
    line = Perceptron(fit_intercept=False, **settings).fit(X, y)
    assert kernel.mistakes_ == line.mistakes_
    np.testing.assert_allclose(kernel.decision_function(X), line.decision_function(X), atol=1e-9)


# ---- what holds for every model


@kinds
@pytest.mark.parametrize("classes", [2, 4])
def test_sweep(kernel, classes):
    X, y = rows(n=70, classes=classes)
    make = lambda **s: KernelPerceptron(kernel, max_iter=20, **s)  # noqa: E731
    model = make().fit(X, y)
    assert model.dual_coef_.shape == (1 if classes == 2 else classes, len(model.support_))
    want = kernel(X, X[model.support_]) @ model.dual_coef_.T
    np.testing.assert_allclose(model.decision_function(X), want[:, 0] if classes == 2 else want, atol=1e-6)
    again = make().fit(sp.csr_array(X), y)
    assert again.dual_coef_.tobytes() == model.dual_coef_.tobytes()
    np.testing.assert_array_equal(again.predict(sp.csc_array(X)), model.predict(X))
    order = np.random.default_rng(0).permutation(len(y))
    moved = make().fit(X[order], y[order])
    np.testing.assert_array_equal(moved.decision_function(X), model.decision_function(X))
    repeats = np.random.default_rng(2).integers(0, 4, len(y))
    repeats[:classes] = 1
    twice = np.repeat(np.arange(len(y)), repeats)
    a, b = make().fit(X[twice], y[twice]), make().fit(X, y, sample_weight=repeats)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


def test_interrupts_and_reports():
    X, y = rows(n=70, noise=3.0)
    M, y = Matrix.from_dense(X), y.astype(np.int32)

    def stop(news, weights):
        if news.number == 2:
            raise KeyboardInterrupt

    part, whole = KernelPerceptron(Linear()), KernelPerceptron(Linear(), max_iter=2)
    W, _ = part.fit_matrix(M, y, 3, on_epoch=stop)
    V, _ = whole.fit_matrix(M, y, 3)
    np.testing.assert_array_equal(W, V)
    assert (part.interrupted_, whole.interrupted_, part.n_iter_) == (True, False, 2)


def test_forgetting_kernel_values_changes_nothing(monkeypatch):
    X, y = rows(n=70, noise=3.0)
    model = KernelPerceptron(RBF(0.2)).fit(X, y)
    monkeypatch.setattr("linnet.models.kernel_perceptron.REMEMBERED", 200)
    monkeypatch.setattr("linnet.models.kernel_perceptron.SCORED", 7)
    again = KernelPerceptron(RBF(0.2)).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_extreme_units(scale):
    X, y = rows(n=60, noise=0.0)
    for kernel in (Polynomial(2, scale**2), RBF(0.1 / scale**2)):
        model = KernelPerceptron(kernel, max_iter=500).fit(X * scale, y)
        assert np.isfinite(model.decision_function(X * scale)).all()
        kept = np.arange(len(y)) > 3
        assert model.score(X[kept] * scale, y[kept]) > 0.95
    empty = KernelPerceptron().fit(np.zeros((4, 2)), [0, 1, 1, 1])
    assert np.isfinite(empty.decision_function(np.zeros((1, 2)))).all()


# ---- Quadratic


@settings(deadline=None, max_examples=60)
@given(matrices(), st.sampled_from([np.float32, np.float64]))
def test_products_are_scikit_learns(X, dtype):
    from sklearn.preprocessing import PolynomialFeatures

    D = written_out(X).astype(dtype)
    theirs = PolynomialFeatures(2, include_bias=False)
    want = theirs.fit_transform(D)
    ours = Quadratic()
    np.testing.assert_array_equal(ours.fit_transform(D), want)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    sparse = ours.transform(sp.csc_array(D))
    assert sp.issparse(sparse)
    assert sparse.dtype == dtype
    assert sparse.has_sorted_indices or len(sparse.indices) == 0
    np.testing.assert_array_equal(sparse.toarray(), want)
    assert sparse.nnz <= sum(k + k * (k + 1) // 2 for k in (D != 0).sum(axis=1))


@settings(deadline=None, max_examples=60)
@given(matrices(dtype=np.float64), st.sampled_from([0.0, 0.5, 1.0, 3.0]))
def test_products_with_factors_are_the_kernel(X, constant):
    D = written_out(X)
    ours = Quadratic(constant=constant)
    F = ours.fit_transform(D)
    np.testing.assert_allclose(F @ F.T, (D @ D.T + constant) ** 2, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(F @ F.T, Polynomial(2, constant)(D, D), rtol=1e-12, atol=1e-12)
    assert len(ours.get_feature_names_out()) == F.shape[1]


def test_many_sparse_columns():
    """20,000 features have 200 million products; rows of three features have six each."""
    X = sp.csr_array(([1.0, 2.0, 3.0], ([0, 0, 0], [7, 19_999, 3])), shape=(2, 20_000))
    F = Quadratic().fit_transform(X)
    assert F.shape == (2, 20_000 + 20_000 * 20_001 // 2)
    assert F.nnz == 9
    assert F[0, F.shape[1] - 1] == 4.0  # the square of the last column
    assert F[1].nnz == 0


def test_names_and_pipelines():
    import pandas as pd
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline

    frame = pd.DataFrame(XOR, columns=["left", "right"])
    pipe = make_pipeline(Quadratic(), LinearSVM(C=100.0)).fit(frame, ODD)
    assert pipe.score(frame, ODD) == 1.0
    names = pipe[0].get_feature_names_out().tolist()
    assert names == ["left", "right", "left^2", "left right", "right^2"]
    weights = dict(zip(names, pipe[1].coef_[0], strict=True))
    assert weights["left right"] < 0 < weights["left"]
    assert repr(clone(Quadratic(constant=2.0))) == "Quadratic(constant=2.0)"
    with pytest.raises(DataError, match="The feature names should match"):
        pipe[0].transform(frame[["right", "left"]])
    with pytest.raises(DataError, match="unknown setting of Quadratic 'constants'"):
        Quadratic().set_params(constants=1)


def test_contract_of_quadratic():
    from sklearn.utils.estimator_checks import check_estimator

    for made in (Quadratic(), Quadratic(constant=1.0)):
        found = check_estimator(made, on_fail=None, on_skip=None)
        assert len(found) > 40
        bad = [c["check_name"] for c in found if c["status"] == "failed"]
        assert bad == []
