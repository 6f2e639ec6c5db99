"""Examples of the notes, and examples small enough to solve by hand, for the SVM and logistic regression."""

from __future__ import annotations

import numpy as np
import pytest

from linnet.models import LinearSVM, LogisticRegression
from linnet.solvers.losses import Softmax
from linnet.solvers.online import SGD
from linnet.solvers.optimisers import Constant

# Vocabulary: stock, game, monday, friday. "stock monday" is business, "game friday" is sports; then "game monday" comes.
X = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
Y = np.array(["business", "sports"])
NEW = np.array([[0.0, 1.0, 1.0, 0.0]])


def test_days_of_999_reach_zero_loss_and_answer_by_the_day():
    W = np.array([[0.0, 0.0], [0.0, 0.0], [999.0, 0.0], [0.0, 999.0]])
    assert Softmax().value(X @ W, np.array([0, 1], np.int32), np.ones(2)) == 0.0  # exp(-999) is zero in 64 bits
    assert (NEW @ W).tolist() == [[999.0, 0.0]]  # business, with probability 1


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), LogisticRegression(solver="newton"), LogisticRegression(C=1e6), LinearSVM(tol=1e-8), LinearSVM(C=1e6, tol=1e-8)],
    ids=repr,
)  # fmt: skip
def test_a_regularised_model_does_not_answer_by_the_day(model):
    """Under an L2 penalty words that say the same share the weight: 'game' pulls as hard as 'monday', for any C."""
    model.fit(X, Y)
    w = model.coef_[0]
    np.testing.assert_allclose(w, [-w[1], w[1], -w[1], w[1]], rtol=1e-4)
    assert w[1] > 0.1
    np.testing.assert_allclose(model.decision_function(NEW), 0.0, atol=1e-4 * abs(w[1]))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(NEW), [[0.5, 0.5]], atol=1e-3)
    # one more row, stock on a friday: the days say less, and the word decides
    model.set_params(fit_intercept=False).fit(np.vstack([X, [[1.0, 0.0, 0.0, 1.0]]]), [*Y, "business"])
    assert model.predict(NEW).tolist() == ["sports"]


def test_one_cost_augmented_step():
    """The update of the notes: with cost 1 a right answer that leads by less than 1 still moves the weights."""
    rows, y = np.array([[2.0, 1.0]]), ["b"]
    start = LinearSVM(solver=SGD(learning_rate=1.0, schedule=Constant(), average=False), decay=0.0, max_iter=1)
    model = start.fit(np.vstack([rows, [[0.0, 0.0]], [[0.0, 0.0]]]), [*y, "a", "c"])
    # classes a, b, c; the row of b scores 0 everywhere, a and c lead by the cost, a is the first: b += x, a -= x
    assert model.coef_.tolist() == [[-2.0, -1.0], [2.0, 1.0], [0.0, 0.0]]


def test_decay_shrinks_the_weights_before_the_step():
    """Two passes over one row that is never right by enough: w = x, then (1 - rate decay) x + x."""
    cost = [[0.0, 100.0], [100.0, 0.0]]
    model = LinearSVM(
        solver=SGD(learning_rate=1.0, schedule=Constant(), average=False),
        decay=0.1,
        cost=cost,
        max_iter=2,
        fit_intercept=False,
    ).fit([[1.0], [0.0]], ["b", "a"])
    # the empty row also shrinks: four steps in all, two of them add; the one score is that of b less that of a
    orders = {round(2 * (a + b), 9) for a in (0.9**2, 0.9**3) for b in (1.0, 0.9)} | {round(2 * (0.9 + 1.0), 9)}
    assert round(float(model.coef_[0, 0]), 9) in orders


# ---- two points, by hand


def test_the_widest_street():
    """Rows at -1 and 1 on a line: w = 1, b = 0, the street is 2 wide; both hold it with alpha = 1/2, the others not."""
    model = LinearSVM(C=10.0, loss="hinge", tol=1e-12, max_iter=10**6)
    model.fit([[-1.0], [1.0], [4.0], [-5.0]], ["no", "yes", "yes", "no"])
    np.testing.assert_allclose([model.coef_[0, 0], model.intercept_[0]], [1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(model.margin_, [2.0], atol=1e-9)
    assert model.support_.tolist() == [0, 1]
    np.testing.assert_allclose(model.dual_coef_, [[-0.5, 0.5]], atol=1e-9)
    np.testing.assert_allclose(model.slack_, np.zeros(4), atol=1e-9)


def test_slack_and_complementarity():
    """A row on the wrong side: its alpha is at the bound C, its slack is 1 - t f, and alpha (1 - slack - t f) = 0."""
    X = np.array([[0.0], [2.0], [-1.0], [3.0], [2.5], [2.5]])
    t = np.array([-1, 1, -1, 1, -1, -1])
    weight = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 3.0])
    for loss in ("hinge", "squared_hinge"):
        model = LinearSVM(C=0.7, loss=loss, tol=1e-12, max_iter=10**6).fit(X, t, weight)
        f = model.decision_function(X)
        np.testing.assert_allclose(model.slack_, np.maximum(0, 1 - t * f), atol=1e-9)
        alpha = np.zeros(6)
        alpha[model.support_] = model.dual_coef_[0] * t[model.support_]
        assert (alpha >= 0).all()
        np.testing.assert_allclose(alpha * (1 - model.slack_ - t * f), 0.0, atol=1e-9)
        np.testing.assert_allclose(X.T @ (alpha * t), model.coef_[0], atol=1e-9)
        np.testing.assert_allclose(alpha[5], 3 * alpha[4])  # equal rows share in proportion to their weights
        if loss == "hinge":
            late = model.slack_ > 1e-6
            assert late.any()
            np.testing.assert_allclose(alpha[late], 0.7 * weight[late])
        else:
            np.testing.assert_allclose(alpha, 2 * 0.7 * weight * model.slack_, atol=1e-9)


def test_slack_of_several_outputs():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.5, 0.4]])
    y = np.array([0, 1, 2, 0])
    model = LinearSVM(tol=1e-12, max_iter=10**6).fit(X, y, [1.0, 1.0, 1.0, 2.0])
    T = np.where(y[:, None] == np.arange(3), 1, -1)
    np.testing.assert_allclose(model.slack_, np.maximum(0, 1 - T * model.decision_function(X)), atol=1e-9)
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-9)


# ---- extremes


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize(
    "model", [LogisticRegression(tol=1e-6), LinearSVM(tol=1e-3, max_iter=10**5), LogisticRegression(penalty="l1"), LinearSVM(penalty="l1")],
    ids=repr,
)  # fmt: skip
def test_features_of_any_size(model, scale):
    """C and the features may trade places: w over scale, with C over scale^2 (L2) or scale (L1), is the same answer."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 5))
    y = (rows[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(int)
    model.set_params(fit_intercept=False, C=1.0)
    small = model.fit(rows, y).coef_.copy()
    model.set_params(C=1.0 / (scale if model.penalty == "l1" else scale**2))
    np.testing.assert_allclose(model.fit(rows * scale, y).coef_ * scale, small, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize(
    "model", [LogisticRegression(), LogisticRegression(penalty="l1"), LinearSVM(max_iter=10**5)], ids=repr
)
def test_weights_of_a_million(model):
    """Rows of weight 1e6: finite weights, right answers."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 4))
    y = (rows @ [1.0, -2.0, 0.5, 0.0] > 0).astype(int)
    model.fit(rows, y, np.full(60, 1e6))
    assert np.isfinite(model.coef_).all()
    assert model.score(rows, y) == 1.0


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("Model", [LogisticRegression, LinearSVM])
def test_one_class_only_and_empty_rows(Model, penalty):
    with pytest.raises(ValueError, match="needs rows of two classes or more; got 1 class"):
        Model(penalty=penalty).fit([[1.0], [2.0]], ["a", "a"])
    model = Model(penalty=penalty).fit(np.zeros((3, 2)), ["a", "b", "b"])  # nothing to go by but the classes
    assert (model.coef_ == 0).all()
    assert model.predict([[0.0, 0.0]]).tolist() == ["b"]
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba([[0.0, 0.0]]), [[1 / 3, 2 / 3]], atol=1e-6)
