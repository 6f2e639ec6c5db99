"""Dual coordinate descent: optimality conditions, the duality gap, gains, present features, interrupts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from generated import rows
from linnet.solvers import dual
from linnet.solvers.losses import SquaredHinge
from linnet.solvers.matrix import Matrix
from linnet.solvers.newton import minimise
from linnet.solvers.problem import LinearProblem


def solved(squared=True, tol=1e-9, classes=2, C=1.0, **extra):
    X, y = rows(n=80, classes=classes)
    M = Matrix.from_dense(X)
    costs = C * np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    signs = dual.signs_of(y, classes)
    p = dual.SVMProblem(M, signs, costs, **extra)
    return X, signs, costs, dual.solve(p, squared=squared, tol=tol, max_epochs=20_000)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("squared", [True, False])
def test_optimality_conditions_and_duality_gap(squared, C):
    X, signs, costs, found = solved(squared, C=C)
    t, w, b = signs[:, 0].astype(float), found.W[:, 0], found.b
    alpha = found.signed[:, 0] * t
    np.testing.assert_allclose(w, X.T @ (alpha * t), atol=1e-9 * max(1, C))  # w is a sum of rows
    np.testing.assert_allclose(b[0], alpha @ t, atol=1e-9 * max(1, C))
    slack = 1 - t * (X @ w + b[0])
    if squared:
        np.testing.assert_allclose(alpha, 2 * costs * np.maximum(slack, 0), atol=1e-7 * max(1, C))
        primal = costs @ np.maximum(slack, 0) ** 2
        dual_value = alpha.sum() - np.sum(alpha**2 / (4 * costs))
    else:
        inside = (alpha > 1e-9) & (alpha < costs - 1e-9)
        assert np.abs(slack[inside]).max(initial=0) < 1e-7
        assert (slack[alpha <= 0] <= 1e-7).all()
        assert (slack[alpha >= costs] >= -1e-7).all()
        primal = costs @ np.maximum(slack, 0)
        dual_value = alpha.sum()
    penalty = (w @ w + b[0] ** 2) / 2
    gap = (penalty + primal) - (dual_value - penalty)
    assert abs(gap) <= 1e-8 * (penalty + primal)


def test_agrees_with_newton_on_the_primal():
    """Two solvers that share nothing: coordinates of the dual, and Newton steps on the primal."""
    X, signs, costs, found = solved(classes=3)
    with_one = np.hstack([X, np.ones((len(X), 1))])
    for c in range(3):
        y = (signs[:, c] > 0).astype(np.int32)
        f = LinearProblem(Matrix.from_dense(with_one), y, costs, SquaredHinge(), 1, fit_intercept=False)
        w = minimise(f, np.zeros(f.size), tol=1e-12).w
        np.testing.assert_allclose(np.append(found.W[:, c], found.b[c]), w, atol=1e-7)


def test_gain_is_a_change_of_features():
    """u = g w on x is w on g x; with the last feature off, its weight is zero."""
    X, y = rows(n=80, classes=2)
    gain = np.random.default_rng(0).uniform(0.2, 2.0, X.shape[1])
    gain[-1] = 0.0
    signs, C = dual.signs_of(y, 2), np.ones(len(y))
    M, scaled = Matrix.from_dense(X), Matrix.from_dense(X * gain)
    folded = dual.SVMProblem(replace(M, gain=gain[None]), signs, C)
    plain = dual.SVMProblem(scaled, signs, C)
    u, w = dual.solve(folded, tol=1e-10, max_epochs=5000), dual.solve(plain, tol=1e-10, max_epochs=5000)
    np.testing.assert_allclose(u.W, w.W * gain[:, None], atol=1e-9)
    np.testing.assert_allclose(u.b, w.b, atol=1e-9)


def test_present_features_need_no_values():
    rng = np.random.default_rng(1)
    present = rng.random((50, 12)) < 0.4
    y = np.where(present[:, 0] ^ (rng.random(50) < 0.1), 1, -1).astype(np.int8)[:, None]
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    indices = np.nonzero(present)[1].astype(np.int32)
    scale = 1 / np.sqrt(np.maximum(present.sum(axis=1), 1)).astype(np.float64)
    C = np.ones(50)
    values = np.repeat(scale, np.diff(indptr))
    short = dual.SVMProblem(Matrix(indptr, indices, np.zeros(0), 12, scale=scale), y, C)
    whole = dual.SVMProblem(Matrix(indptr, indices, values, 12), y, C)
    a, b = dual.solve(short, tol=1e-10), dual.solve(whole, tol=1e-10)
    np.testing.assert_allclose(a.W, b.W, atol=1e-8)


def test_rows_of_weight_zero_are_not_visited():
    *_, found = solved(rows=np.arange(10, dtype=np.int32))
    assert (found.signed[10:] == 0).all()
    assert found.signed.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gains", [False, True])
def test_a_problem_is_solved_alike_in_any_company(dtype, gains):
    """To the last bit: with others beside it in any order, alone, and with any number of threads."""
    X, y = rows(n=120, classes=20)
    M, signs = Matrix.from_dense(X), dual.signs_of(y, 20)
    gain = np.random.default_rng(0).uniform(0.2, 2.0, (20, X.shape[1])).astype(dtype) if gains else None

    def weights(classes, threads=1):
        some = replace(M, values=M.values.astype(dtype), gain=None if gain is None else gain[classes])
        p = dual.SVMProblem(some, np.ascontiguousarray(signs[:, classes]), np.ones(120))
        found = dual.solve(p, tol=0.01, threads=threads)
        return found.W, found.b

    W, b = weights(np.arange(20))
    mixed = np.random.default_rng(1).permutation(20)
    for classes, threads in ((np.arange(20), 3), (mixed, 1), (mixed[:9], 2), *((np.array([c]), 1) for c in range(20))):
        V, a = weights(classes, threads)
        assert V.tobytes() == np.ascontiguousarray(W[:, classes]).tobytes()
        assert a.tobytes() == b[classes].tobytes()


def test_interrupt_keeps_the_weights():
    X, y = rows(n=80, classes=2)
    M = Matrix.from_dense(X)
    p = dual.SVMProblem(M, dual.signs_of(y, 2), np.ones(80))
    seen = []

    def stop(news, weights):
        seen.append((news, weights()))
        if news.number == 3:
            raise KeyboardInterrupt

    W = dual.solve(p, tol=1e-12, on_epoch=stop).W
    assert [news.number for news, _ in seen] == [1, 2, 3]
    np.testing.assert_array_equal(W, seen[-1][1][0])
    assert all(news.violation > 0 and news.active > 0 for news, _ in seen)


@pytest.mark.parametrize("squared", [True, False])
def test_a_start_ends_at_the_same_optimum_sooner(squared):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 12))
    y = X[:, :3].argmax(axis=1).astype(np.int32)
    signs = dual.signs_of(y, 3)
    gain = rng.uniform(0.5, 2.0, (3, 12)).astype(np.float32)
    M = replace(Matrix.from_dense(X), gain=gain)
    p = dual.SVMProblem(M, signs, np.full(80, 0.5), np.arange(80, dtype=np.int32))
    cold = dual.solve(p, squared=squared, tol=1e-6, max_epochs=20_000)
    near = dual.solve(replace(p, C=np.full(80, 0.4)), squared=squared, tol=1e-6, max_epochs=20_000)
    warm = dual.solve(replace(p, start=near.signed), squared=squared, tol=1e-6, max_epochs=20_000)
    np.testing.assert_allclose(warm.W, cold.W, atol=1e-5)
    np.testing.assert_allclose(warm.b, cold.b, atol=1e-5)
    again = dual.solve(replace(p, start=cold.signed), squared=squared, tol=1e-6, max_epochs=20_000)
    assert again.epochs < cold.epochs
    np.testing.assert_array_equal(
        again.W, dual.solve(replace(p, start=cold.signed), squared=squared, tol=1e-6, threads=2).W
    )


@pytest.mark.parametrize(("tf", "features"), [("presence", "words:1-2+chars:2-3"), ("sublinear", "words:1-2")])
def test_columns_of_one_row_made_one_change_no_weight(monkeypatch, tf, features):
    """On texts, with a gain a feature: the problem over fewer columns has the same optimum."""
    from linnet import TextClassifier
    from linnet.datasets import whole
    from linnet.models import svm

    texts, labels = (column.to_pylist()[::5] for column in (whole("reviews").text, whole("reviews").label))
    models = []
    for limit in (0, 1 << 40):
        monkeypatch.setattr(svm, "LARGE", limit)
        given = {"features": features, "tf": tf, "ratio": 0.5, "params": {"C": 1.0, "tol": 1e-5}}
        clf = TextClassifier("svm", **given, calibrate=False, full_precision=True).fit(texts, labels)
        models.append(clf.artefact)
    assert models[0].n_features > 1000
    np.testing.assert_allclose(models[0].rows, models[1].rows, atol=2e-4)
    np.testing.assert_allclose(models[0].b, models[1].b, atol=2e-4)
