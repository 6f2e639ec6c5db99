"""The perceptron: the notes' numbers, Novikoff's bound, starts, batches, averages, stopping."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generated import rows
from linnet.errors import DataError
from linnet.models import LogisticRegression, Perceptron
from linnet.solvers.matrix import Matrix, as_given
from linnet.solvers.online import SGD, descend
from linnet.solvers.optimisers import Constant

THETA = np.array([[0.3, 0.7, 0.8], [-0.2, 2.2, 4.0], [-4.0, -4.0, -4.0]])  # one row a class, as in the notes
ROW = np.array([2.0, 1.0, 0.0])
PLAIN = {"average": False, "shuffle": False}


@pytest.mark.parametrize("weight", [4.0, -0.4])  # 000 has 4, 001 has -.4: its feature is 0, so no score changes
def test_step_of_the_notes(weight):
    """Scores 1.3, 1.8, -12 with class 1 right: one step, and they are 6.3, -3.2, -12.

    The notes show one row, of class 1. A row of each other class, right after that step, makes three classes of it.
    """
    theta = THETA.copy()
    theta[1, 2] = weight
    np.testing.assert_allclose(theta @ ROW, [1.3, 1.8, -12.0])
    data = [ROW, [-1.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    model = Perceptron(start=theta, max_iter=1, fit_intercept=False, **PLAIN).fit(data, [1, 2, 3])
    np.testing.assert_allclose(model.coef_, [[2.3, 1.7, 0.8], [-2.2, 1.2, weight], [-4.0, -4.0, -4.0]])
    np.testing.assert_allclose(model.decision_function([ROW])[0], [6.3, -3.2, -12.0])
    assert model.predict([ROW]).tolist() == [1]
    assert (model.mistakes_, model.settled_) == (1, False)
    assert (model.intercept_ == 0).all()
    again = Perceptron(start=theta, max_iter=9, fit_intercept=False, **PLAIN).fit(data, [1, 2, 3])
    assert (again.settled_, again.n_iter_) == (True, 2)
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_step_of_the_svm_from_the_same_table():
    """000 section 11: the cost is added before the best label is taken, and the weights decay: theta <- (1 - lambda) theta.

    With class 1 right and a cost of 1 the best is 2 (2.8 beside 1.3 and -11): the perceptron's step on smaller weights.
    After it class 1 leads by 9.5; with a cost of 20 for answering 3 the row still moves, now away from class 3.
    """
    X, y = Matrix.from_dense(ROW[None, :]), np.zeros(1, np.int32)
    sgd = SGD(learning_rate=1.0, schedule=Constant(), average=False)
    options = {"loss": "hinge", "sgd": sgd, "bias_scale": 0.0, "max_epochs": 1}
    of, zero = as_given(1), np.zeros(3)
    run = descend(X, y, 3, of, decay=0.1, cost=1 - np.eye(3), start=(THETA.T, zero), **options)
    step = np.array([[2.0, 1.0, 0.0], [-2.0, -1.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(run.W.T, 0.9 * THETA + step)
    after = THETA + step
    cost = np.array([[0.0, 1.0, 20.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    run = descend(X, y, 3, of, cost=cost, start=(after.T, zero), **options)
    np.testing.assert_allclose(run.W.T, after + step[[0, 2, 1]])
    run = descend(X, y, 3, of, cost=1 - np.eye(3), start=(after.T, zero), **options)
    assert run.converged  # a margin above every cost: nothing to do
    np.testing.assert_array_equal(run.W.T, after)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 4), st.integers(1, 5), st.floats(0.02, 0.5), st.booleans(), st.integers(0, 10_000))
def test_novikoffs_bound(classes, d, gamma, shuffle, seed):
    """Rows no longer than R, kept apart by gamma: at most (R / gamma)^2 mistakes for two classes, twice that for more."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(classes, d))
    if classes == 2:
        U[0] = -U[1]
        U /= 2 * np.linalg.norm(U[1])  # w = u_1 - u_0 has length one
    else:
        U /= np.linalg.norm(U)
    X = rng.normal(size=(400, d))
    scores = np.sort(X @ U.T, axis=1)
    margin = scores[:, -1] - scores[:, -2]
    X = X[margin >= gamma]
    y = (X @ U.T).argmax(axis=1)
    if len(np.unique(y)) < classes:
        return
    R = np.linalg.norm(X, axis=1).max()
    bound = (R / gamma) ** 2 * (1 if classes == 2 else 2)
    model = Perceptron(fit_intercept=False, average=False, shuffle=shuffle, max_iter=10**6).fit(X, y)
    assert model.settled_
    assert 0 < model.mistakes_ <= bound
    assert model.score(X, y) == 1.0
    assert [p.active for p in model.history_][-1] == 0


def test_mistakes_by_hand():
    """Unit vectors, one a feature, classes by turns: the first row that is wrong teaches nothing about the others."""
    X = np.eye(6)
    y = np.array([0, 1] * 3)
    model = Perceptron(fit_intercept=False, **PLAIN).fit(X, y)
    # class 0 wins ties, so its three rows are right; the three of class 1 each need their own step: half of R^2/gamma^2 = 6
    assert model.mistakes_ == 3
    assert model.n_iter_ == 2


def test_not_separable_is_said():
    X = [[0.0], [1.0], [2.0], [3.0]]
    model = Perceptron(max_iter=50).fit(X, [0, 1, 0, 1])
    assert not model.settled_
    assert model.n_iter_ == 50
    assert len(model.history_) == 50
    assert min(p.active for p in model.history_) > 0


def test_a_batch_is_scored_with_the_weights_at_its_start():
    """By hand: all rows in one batch from zero. Class 0 wins the ties, so the rows of class 1 all move the weights."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    y = np.array([0, 1, 1])
    model = Perceptron(batch_size=3, max_iter=1, **PLAIN).fit(X, y)
    np.testing.assert_array_equal(model.coef_, [[0.0, 8.0]])  # twice x, for w = v_1 - v_0
    np.testing.assert_array_equal(model.intercept_, [4.0])
    single = Perceptron(max_iter=1, **PLAIN).fit(X, y)  # the second step is not needed any more
    np.testing.assert_array_equal(single.coef_, [[0.0, 2.0]])


@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("classes", [2, 3])
def test_against_a_plain_loop(classes, batch):
    X, y = rows(n=50, classes=classes)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    start = np.random.default_rng(1).normal(size=(classes, X.shape[1]))
    b0 = np.arange(classes) / 10
    W, b, total_W, total_b = start.copy(), b0.copy(), 0.0, 0.0
    mistakes = 0
    for _ in range(4):
        for first in range(0, len(y), batch):
            now = range(first, min(first + batch, len(y)))
            guesses = [(W @ X[i] + b).argmax() for i in now]
            for i, guess in zip(now, guesses, strict=True):
                step = 0.5 * weight[i] / weight.mean()
                if guess != y[i]:
                    mistakes += 1
                    W[y[i]] += step * X[i]
                    W[guess] -= step * X[i]
                    b[y[i]] += step
                    b[guess] -= step
            total_W, total_b = total_W + len(now) * W, total_b + len(now) * b
    for average, want_W, want_b in ((False, W, b), (True, total_W / (4 * len(y)), total_b / (4 * len(y)))):
        model = Perceptron(
            learning_rate=0.5, start=(start, b0), batch_size=batch, max_iter=4, shuffle=False, average=average
        )
        model.fit(X, y, sample_weight=weight)
        if classes == 2:
            want_W, want_b = want_W[1:] - want_W[:1], want_b[1:] - want_b[:1]
        np.testing.assert_allclose(model.coef_, want_W, atol=1e-12)
        np.testing.assert_allclose(model.intercept_, want_b, atol=1e-12)
        assert model.mistakes_ == mistakes


def test_the_rate_changes_the_length_alone():
    X, y = rows(n=80, noise=2.0)
    one, two = (Perceptron(learning_rate=r, max_iter=7).fit(X, y) for r in (1.0, 4.0))
    np.testing.assert_array_equal(4.0 * one.coef_, two.coef_)
    other = Perceptron(learning_rate=4.0, max_iter=7, start="random").fit(X, y)
    assert not np.allclose(other.coef_, two.coef_)


def test_random_start():
    X, y = rows(n=80)
    one, again, other = (Perceptron(start="random", random_state=s).fit(X, y) for s in (1, 1, 2))
    assert one.coef_.tobytes() == again.coef_.tobytes()
    assert one.coef_.tobytes() != other.coef_.tobytes()
    assert (Perceptron(start="random", fit_intercept=False).fit(X, y).intercept_ == 0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_going_on_from_another_model(classes):
    """A line that separates the rows is left alone, in the shape of coef_ and intercept_."""
    X, y = rows(n=60, classes=classes, noise=0.0)
    X, y = X[3:], y[3:]
    first = LogisticRegression(C=1e6, tol=1e-10).fit(X, y)
    right = first.predict(X) == y
    model = Perceptron(start=(first.coef_, first.intercept_), average=False).fit(X[right], y[right])
    assert (model.settled_, model.n_iter_, model.mistakes_) == (True, 1, 0)
    np.testing.assert_allclose(model.coef_, first.coef_, rtol=1e-15)


def test_validation_keeps_the_best_pass():
    X, y = rows(n=300, noise=3.0)
    model = Perceptron(validation_fraction=0.3, patience=3, max_iter=60).fit(X, y)
    scores = [p.score for p in model.history_]
    best = int(np.argmax(scores))
    assert model.n_iter_ == len(scores) == best + 1 + 3
    kept = Perceptron(validation_fraction=0.3, patience=60, max_iter=best + 1).fit(X, y)
    np.testing.assert_array_equal(kept.coef_, model.coef_)
    order = np.random.default_rng(0).permutation(len(y))
    again = Perceptron(validation_fraction=0.3, patience=3, max_iter=60).fit(X[order], y[order])
    assert again.coef_.tobytes() == model.coef_.tobytes()


def test_interrupted_with_held_out_rows_keeps_the_best():
    X, y = rows(n=300, noise=3.0)
    found = []

    def stop(news, weights):
        found.append((news.score, weights()[0].copy()))
        if news.number == 6:
            raise KeyboardInterrupt

    model = Perceptron(validation_fraction=0.3, patience=50)
    W, _ = model.fit_matrix(Matrix.from_dense(X), y.astype(np.int32), 3, on_epoch=stop)
    assert model.interrupted_
    np.testing.assert_array_equal(W, max(found, key=lambda f: f[0])[1])


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_extreme_units(scale):
    X, y = rows(n=80, noise=0.0)
    model = Perceptron(fit_intercept=False, max_iter=2000).fit(X[4:] * scale, y[4:])
    assert np.isfinite(model.coef_).all()
    assert model.score(X[4:] * scale, y[4:]) > 0.95


def test_empty_rows_and_one_class():
    model = Perceptron().fit(np.zeros((4, 2)), [0, 1, 1, 1])
    assert np.isfinite(model.intercept_).all()
    assert (model.coef_ == 0).all()
    with pytest.raises(DataError, match="Perceptron needs rows of two classes or more; got 1 class"):
        Perceptron().fit(np.ones((4, 2)), [1, 1, 1, 1])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Perceptron(learning_rate=0), "learning_rate must be a number above 0, got 0"),
        (Perceptron(batch_size=0), "batch_size must be a whole number from 1, got 0"),
        (Perceptron(start="zeros"), r"unknown start 'zeros'.*did you mean 'zero'"),
        (Perceptron(start=np.ones((3, 4))), r"start must be W of shape \(3, 25\).*got \(3, 4\)"),
        (Perceptron(start=(np.ones((3, 25)), [1.0])), r"b of shape \(3,\); got \(3, 25\) and \(1,\)"),
        (Perceptron(start=np.full((3, 25), np.nan)), "start must hold finite numbers"),
        (Perceptron(validation_fraction=1.0), "validation_fraction must be a number between 0 and 1, got 1.0"),
        (Perceptron(validation_fraction=0.2, patience=0), "patience must be a whole number from 1, got 0"),
        (Perceptron(average=1), "average must be True or False, got 1"),
        (Perceptron(shuffle="no"), "shuffle must be True or False, got 'no'"),
    ],
)
def test_settings_that_cannot_be(model, message):
    X, y = rows()
    with pytest.raises(DataError, match=message):
        model.fit(X, y)
