"""Stochastic steps: the notes' worked example, averages over passes, schedules, stopping, reports."""

from __future__ import annotations

import numpy as np
import pytest

from generated import rows
from linnet._kernels import online
from linnet.errors import LinnetError
from linnet.solvers.matrix import Matrix, distinct
from linnet.solvers.online import SGD, descend
from linnet.solvers.optimisers import Constant, Inverse, InverseRoot
from reference import solvers as reference


def test_perceptron_step_of_the_notes():
    """theta = (0.3, 0.7, 0.8 | -0.2, 2.2, 4 | -4, -4, -4), x = (2, 1, 0), right class 1 of 3."""
    V = np.array([[0.3, -0.2, -4.0], [0.7, 2.2, -4.0], [0.8, 4.0, -4.0]])
    x = np.array([2.0, 1.0, 0.0])
    np.testing.assert_allclose(x @ V, [1.3, 1.8, -12.0])
    zero = np.zeros(1, np.int32)
    taken = online.OnlineSteps(
        zero, np.ones(1), np.zeros(3), np.zeros((3, 3)), loss=0, decay=0.0, bias_rate=0.0, batch=1
    )
    row = np.array([0, 2]), np.array([0, 1], np.int32), np.array([2.0, 1.0])
    changed = online.online_pass(*row, zero, np.ones(1), V, np.zeros((0, 3)), taken)
    assert changed == 1
    np.testing.assert_allclose(V.T, [[2.3, 1.7, 0.8], [-2.2, 1.2, 4.0], [-4.0, -4.0, -4.0]])
    np.testing.assert_allclose(x @ V, [6.3, -3.2, -12.0])


def problem(dtype=np.float64, classes=3, n=40):
    X, y = rows(n=n, classes=classes)
    M = Matrix.from_dense(X)
    M = Matrix(M.indptr, M.indices, M.values.astype(dtype), M.n_features)
    y = y.astype(np.int32)
    return M, y, distinct(M, y)


def by_hand(M, y, of, sgd, loss, decay, passes, seed, bias_scale=1.0, cost=None):
    """The same walk with plain weights and a plain sum over steps."""
    K = int(y.max()) + 1
    theta = reference.Theta([[0.0] * K for _ in range(M.n_features)], [0.0] * K)
    rng = np.random.Generator(np.random.PCG64(seed))
    weight = np.zeros(len(M))
    weight[of.rows] = of.weight / of.weight.mean()
    n = len(of.rows)
    for number in range(passes):
        order = rng.permutation(of.rows)
        rates = sgd.learning_rate * sgd.schedule(number + np.arange(n) / n)
        reference.online_pass(
            reference.rows_of(M.indptr, M.indices, M.values), y.tolist(), order.tolist(), rates.tolist(), weight.tolist(),
            theta, loss=loss, cost=(1 - np.eye(K)) if cost is None else cost, decay=decay, bias_rate=bias_scale**2,
        )  # fmt: skip
    return theta


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("decay", [0.0, 0.01, 1.5])
@pytest.mark.parametrize("loss", ["hinge", "softmax"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_average_over_passes_with_decay(loss, decay, average, dtype):
    """Decay 1.5 takes the scale below 1e-40 in three passes: sections and flushes must not lose a digit."""
    M, y, of = problem(dtype)
    sgd = SGD(learning_rate=0.3, schedule=Constant(), average=average)
    cost = 1 - np.eye(3)
    run = descend(M, y, 3, of, loss=loss, sgd=sgd, decay=decay, cost=cost, max_epochs=3, seed=7)
    theta = by_hand(M, y, of, sgd, loss, decay, 3, 7)
    want_W, want_b = theta.W, theta.b
    if average:
        want_W, want_b = theta.sums.W / theta.sums.steps, theta.sums.b / theta.sums.steps
    tolerance = 1e-10 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(run.W, want_W, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(run.b, want_b, rtol=tolerance, atol=tolerance)
    assert run.epochs == 3


def test_schedules():
    t = np.array([0.0, 1.0, 3.0])
    assert Constant()(t).tolist() == [1, 1, 1]
    assert Inverse(half=3.0)(t)[2] == 0.5
    assert InverseRoot()(t).tolist() == pytest.approx([1, 0.5**0.5, 0.5])
    M, y, of = problem()
    cost = 1 - np.eye(3)
    sgd = SGD(learning_rate=0.5, schedule=Inverse(half=0.5))
    run = descend(M, y, 3, of, loss="hinge", sgd=sgd, cost=cost, max_epochs=2, seed=1)
    theta = by_hand(M, y, of, sgd, "hinge", 0.0, 2, 1)
    np.testing.assert_allclose(run.W, theta.sums.W / theta.sums.steps, atol=1e-12)


def test_perceptron_stops_when_a_pass_changes_nothing():
    X = np.array([[2.0, 0.0], [3.0, 1.0], [0.0, 2.0], [1.0, 3.0]])
    y = np.array([0, 0, 1, 1], np.int32)
    M = Matrix.from_dense(X)
    seen = []
    run = descend(
        M, y, 2, distinct(M, y), loss="perceptron", sgd=SGD(learning_rate=1.0, schedule=Constant(), average=False),
        max_epochs=100, on_epoch=lambda news, weights: seen.append((news, weights())),
    )  # fmt: skip
    assert run.converged
    assert run.epochs < 100
    assert seen[-1][0].active == 0
    assert seen[-1][0].violation == 0
    assert [news.number for news, _ in seen] == list(range(1, run.epochs + 1))
    np.testing.assert_array_equal(seen[-1][1][0], run.W)
    assert ((X @ run.W + run.b).argmax(axis=1) == y).all()
    assert (np.round(run.W) == run.W).all()  # rate 1 on whole numbers stays whole


def test_interrupt_keeps_the_weights():
    M, y, of = problem()

    def stop(news, weights):
        if news.number == 2:
            raise KeyboardInterrupt

    run = descend(M, y, 3, of, loss="softmax", sgd=SGD(), max_epochs=50, on_epoch=stop)
    same = descend(M, y, 3, of, loss="softmax", sgd=SGD(), max_epochs=2)
    assert run.epochs == 2
    np.testing.assert_array_equal(run.W, same.W)


def test_no_intercept():
    M, y, of = problem()
    assert (descend(M, y, 3, of, loss="softmax", sgd=SGD(), bias_scale=0.0).b == 0).all()


def test_units_do_not_matter():
    """With the default rate, features in other units give other weights and the same scores."""
    M, y, of = problem()
    larger = Matrix(M.indptr, M.indices, M.values * 64, M.n_features)
    a = descend(M, y, 3, of, loss="softmax", sgd=SGD(), bias_scale=0.0)
    b = descend(larger, y, 3, of, loss="softmax", sgd=SGD(), bias_scale=0.0)
    np.testing.assert_allclose(M.dot(a.W), larger.dot(b.W), rtol=1e-9, atol=1e-9)


def test_settings_that_cannot_be():
    with pytest.raises(LinnetError, match="learning_rate must be a number above 0, got -1"):
        SGD(learning_rate=-1)
    with pytest.raises(LinnetError, match="decay must be a number from 0"):
        SGD(decay=-0.1)
    M, y, of = problem()
    with pytest.raises(LinnetError, match=r"rate \* decay must be below 1"):
        descend(M, y, 3, of, loss="hinge", sgd=SGD(learning_rate=2.0), decay=1.0)


def test_distinct_rows():
    X = np.array([[1.0, 0, 2], [0, 3, 0], [1.0, 0, 2], [0, 0, 0], [1.0, 0, 2], [0, 0, 0]])
    y = np.array([0, 1, 0, 1, 1, 1], np.int32)
    weight = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 0.0])
    M = Matrix.from_dense(X)
    d = distinct(M, y, weight)
    found = {(tuple(X[i]), int(y[i])): w for i, w in zip(d.rows, d.weight, strict=True)}
    assert found == {((1, 0, 2), 0): 1.5, ((0, 3, 0), 1): 2.0, ((0, 0, 0), 1): 1.0, ((1, 0, 2), 1): 1.0}
    assert d.place[5] == -1
    assert d.place[0] == d.place[2] != d.place[4]
    assert (d.rows[d.place[:5]] == [0, 1, 0, 3, 4]).all()
    # the order of the rows does not matter, nor does the width of the values
    p = np.random.default_rng(0).permutation(6)
    e = distinct(Matrix.from_dense(X[p]), y[p], weight[p])
    np.testing.assert_array_equal(X[p][e.rows], X[d.rows])
    np.testing.assert_array_equal(e.weight, d.weight)
    narrow = Matrix(M.indptr, M.indices, M.values.astype(np.float32), 3)
    np.testing.assert_array_equal(distinct(narrow, y, weight).rows, d.rows)


def test_distinct_rows_of_present_features():
    """Segments with a scale and no values are the same rows as the values written out."""
    indptr, indices = np.array([0, 2, 3, 5, 6, 8, 9]), np.array([0, 1, 2, 0, 1, 2, 1, 0, 2], np.int32)
    scale = np.array([0.5, 1.0, 0.5, 1.0, 0.5, 1.0], np.float32)
    short = Matrix(indptr, indices, np.zeros(0, np.float32), 3, scale=scale, n_blocks=2)
    y = np.zeros(3, np.int32)
    a, b = distinct(short, y), distinct(short.explicit(), y)
    np.testing.assert_array_equal(a.rows, b.rows)
    assert a.weight.tolist() == [3.0]
