"""Models against scikit-learn's, and by their optimality conditions."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.svm

from generated import counts, rows
from linnet.models import LinearSVM, LogisticRegression, MultinomialNB
from linnet.solvers import dual_logistic
from linnet.solvers.losses import Softmax
from linnet.solvers.matrix import Matrix
from linnet.solvers.online import SGD
from linnet.solvers.optimisers import Inverse
from linnet.solvers.problem import LinearProblem

TIGHT = {"tol": 1e-10, "max_iter": 200_000}


def svm_objective(model, X, y, weight, C, squared):
    """1/2 |w|^2 + C sum loss, summed over the one-vs-rest problems; the intercept is a weight."""
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    T = np.where(y[:, None] == classes, 1.0, -1.0)
    slack = np.maximum(0, 1 - T * (X @ model.coef_.T + model.intercept_))
    penalty = (np.sum(model.coef_**2) + np.sum(model.intercept_**2)) / 2
    return penalty + C * np.sum(weight @ slack ** (2 if squared else 1))


def logistic_objective(model, X, y, weight, C):
    scores = np.atleast_2d((X @ model.coef_.T) + model.intercept_)
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    top = scores.max(axis=1, keepdims=True)
    right = scores[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    losses = np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0] - right
    return np.sum(model.coef_**2) / 2 + C * weight @ losses


def data(classes, seed=0):
    X, y = rows(n=150, d=40, classes=classes, seed=seed)
    return sp.csr_array(X), y, np.random.default_rng(seed).uniform(0.2, 3.0, len(y))


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_svm_is_linear_svc(loss, C, classes):
    X, y, weight = data(classes)
    ours = LinearSVM(C, loss=loss, **TIGHT).fit(X, y, weight)
    theirs = sklearn.svm.LinearSVC(C=C, loss=loss, dual=True, **TIGHT).fit(X, y, weight)
    a = svm_objective(ours, X, y, weight, C, loss == "squared_hinge")
    b = svm_objective(theirs, X, y, weight, C, loss == "squared_hinge")
    assert abs(a - b) <= 1e-6 * b
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_svm_without_intercept_and_with_a_larger_one():
    X, y, _ = data(2)
    for settings in ({"fit_intercept": False}, {"intercept_scaling": 10.0}):
        ours = LinearSVM(**settings, **TIGHT).fit(X, y)
        theirs = sklearn.svm.LinearSVC(dual=True, **settings, **TIGHT).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_svm_default_tolerance_is_enough():
    X, y, _ = data(2)
    one = np.ones(len(y))
    best = svm_objective(LinearSVM(**TIGHT).fit(X, y), X, y, one, 1.0, True)
    assert svm_objective(LinearSVM().fit(X, y), X, y, one, 1.0, True) <= best * (1 + 1e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_support_vectors_and_margin(loss):
    X, y, _ = data(2)
    X = sp.vstack([X, X[:20]]).tocsr()
    y = np.concatenate([y, y[:20]])
    model = LinearSVM(loss=loss, **TIGHT).fit(X, y)
    t = np.where(y == 1, 1, -1)
    missing = 1 - t * model.decision_function(X)
    assert set(np.flatnonzero(missing > 1e-6)) <= set(model.support_)
    assert (missing[model.support_] > -1e-6).all()
    assert 0 < len(model.support_) < len(y)
    np.testing.assert_allclose(model.margin_, 2 / np.linalg.norm(model.coef_))
    # the rows that do not hold the line can go
    rest = LinearSVM(loss=loss, **TIGHT).fit(X[model.support_], y[model.support_])
    np.testing.assert_allclose(rest.coef_, model.coef_, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_logistic_is_scikit_learns(C, classes, intercept):
    X, y, weight = data(classes)
    ours = LogisticRegression(C, fit_intercept=intercept, tol=1e-12).fit(X, y, weight)
    theirs = sklearn.linear_model.LogisticRegression(
        C=C, tol=1e-12, solver="newton-cg", max_iter=1000, fit_intercept=intercept
    ).fit(X, y, weight)
    a, b = (logistic_objective(m, X, y, weight, C) for m in (ours, theirs))
    assert abs(a - b) <= 1e-6 * b
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_ - theirs.intercept_.mean() * (classes > 2), atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("classes", [2, 5])
def test_logistic_gradient_vanishes(classes):
    X, y, weight = data(classes)
    model = LogisticRegression(3.0).fit(X, y, weight)
    error = weight[:, None] * (model.predict_proba(X) - (y[:, None] == model.classes_))
    error = error[:, 1:] if classes == 2 else error
    gradient = model.coef_ + 3.0 * (X.T @ error).T
    first = 3.0 * np.linalg.norm(X.T @ (weight[:, None] * (1 / classes - (y[:, None] == model.classes_))))
    assert np.linalg.norm(gradient) <= 1e-6 * first
    assert np.abs(3.0 * error.sum(axis=0)).max() <= 1e-6 * first


@pytest.mark.parametrize("classes", [2, 4])
def test_logistic_with_rows_that_hold_each_other_back(classes, monkeypatch):
    """Pairs of rows that are nearly the same with different labels: visited again, they take fewer passes to the same optimum."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.2)
    y = rng.integers(0, classes, 300)
    X[:20], y[:20] = X[20:40] + 0.01 * rng.normal(size=(20, 40)), (y[20:40] + 1) % classes
    best = LogisticRegression(30.0, solver="newton", tol=1e-10).fit(X, y)
    passes = []
    for revisits in (dual_logistic.REVISITS, 0):
        monkeypatch.setattr(dual_logistic, "REVISITS", revisits)
        model = LogisticRegression(30.0, tol=1e-3).fit(X, y)
        passes.append(model.n_iter_)
        one = np.ones(len(y))
        objective = logistic_objective(model, X, y, one, 30.0)
        assert objective <= logistic_objective(best, X, y, one, 30.0) * (1 + 1e-3)
    assert passes[0] < passes[1]


@pytest.mark.parametrize("classes", [3, 6])
def test_intercepts_move_to_where_the_weights_want_them(classes):
    rng = np.random.default_rng(classes)
    X, y = Matrix.from_dense(rng.normal(size=(200, 5))), rng.integers(0, classes, 200).astype(np.int32)
    f = LinearProblem(X, y, rng.uniform(0.5, 2.0, 200), Softmax(), classes)
    W, b = rng.normal(size=(5, classes)), rng.normal(size=classes)
    S, slopes = X.dot(W) + b, []
    for _ in range(12):
        R, moved = f.centred(S, b)
        np.testing.assert_allclose(S, X.dot(W) + moved)
        np.testing.assert_allclose(R, Softmax().gradient(S, y, f.c))
        slopes.append(np.abs(R.sum(axis=0)).max())
        b = moved
    assert slopes[-1] < 1e-6 * slopes[0]


def test_logistic_keeps_rows_that_are_far_away():
    model = LogisticRegression(C=1e6).fit([[0.0], [1e4]], [0, 1])
    P = model.predict_proba([[-1e6], [0.0], [1e4], [1e6]])
    assert np.isfinite(model.predict_log_proba([[-1e9], [1e9]])).all()
    assert (np.diff(P[:, 1]) >= 0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_sgd_comes_near_the_optimum(classes):
    """Not by 'the loss went down': the objective after many passes against the optimum of the same problem."""
    X, y, weight = data(classes)
    best = LogisticRegression(1.0).fit(X, y, weight)
    steps = LogisticRegression(1.0, solver="sgd", max_iter=500).fit(X, y, weight)
    f = [logistic_objective(m, X, y, weight, 1.0) for m in (best, steps)]
    assert f[0] < f[1] < 1.01 * f[0]


def test_svm_sgd_comes_near_the_optimum():
    """Two classes with unit costs are the ordinary hinge; the intercept is not penalised, so leave it out."""
    X, y, weight = data(2)
    best = LinearSVM(loss="hinge", fit_intercept=False, **TIGHT).fit(X, y, weight)
    steps = LinearSVM(solver=SGD(schedule=Inverse(half=5.0)), fit_intercept=False, max_iter=2000).fit(X, y, weight)
    f = [svm_objective(m, X, y, weight, 1.0, False) for m in (best, steps)]
    assert f[0] < f[1] < 1.01 * f[0]


def test_svm_cost_moves_the_line():
    """Rows at -1 and +1 that must be right by 1 and by 3: the smallest such w is 2, with the intercept at 1."""
    X, y = np.array([[-1.0], [1.0]]), ["low", "high"]
    cost = [[0.0, 3.0], [1.0, 0.0]]  # classes sorted: high, low; missing a high one costs 3
    steps = LinearSVM(C=50.0, solver=SGD(schedule=Inverse(half=50.0)), cost=cost, max_iter=20_000).fit(X, y)
    np.testing.assert_allclose([-steps.coef_[0, 0], -steps.intercept_[0]], [2.0, 1.0], atol=0.05)
    assert steps.predict([[-0.4], [-0.6]]).tolist() == ["high", "low"]


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("settings", [{}, {"alpha": 0.01}, {"fit_prior": False}, {"alpha": np.linspace(0.1, 2, 25)}])
def test_naive_bayes_is_scikit_learns(settings, classes):
    X, y = counts(classes=classes)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    for w in (None, weight):
        ours, theirs = (
            MultinomialNB(**settings).fit(X, y, w),
            sklearn.naive_bayes.MultinomialNB(**settings).fit(X, y, w),
        )
        for name in ("feature_log_prob_", "class_log_prior_", "feature_count_", "class_count_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12, atol=1e-12)
        for method in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
            np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_naive_bayes_class_prior():
    X, y = counts()
    prior = [0.2, 0.5, 0.3]
    ours, theirs = (m(class_prior=prior).fit(X, y) for m in (MultinomialNB, sklearn.naive_bayes.MultinomialNB))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)


def test_naive_bayes_smoothing_of_the_notes():
    """10,000 tokens in the class, 500 word types and one for unknown words: an unseen one gets 1 / 10,501."""
    X = np.zeros((2, 501))
    X[0, 0], X[1, 1] = 10_000, 1
    model = MultinomialNB().fit(X, ["a", "b"])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0, 500]), 1 / 10_501)


def test_naive_bayes_long_text_does_not_underflow():
    model = MultinomialNB().fit([[3, 1], [1, 3]], ["a", "b"])
    scores = model.predict_joint_log_proba([[100_000, 0]])
    assert np.isfinite(scores).all()
    assert model.predict([[50_001, 50_000]]).tolist() == ["a"]


def test_naive_bayes_in_batches():
    X, y = counts(classes=4)
    whole = MultinomialNB().fit(X, y)
    parts = MultinomialNB()
    for rows_ in np.array_split(np.random.default_rng(0).permutation(len(y)), 5):
        parts.partial_fit(X[rows_], y[rows_], classes=range(4))
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-12)
    with pytest.raises(ValueError, match=r"y holds \[9\], which are not in classes: \[0, 1, 2, 3\]"):
        parts.partial_fit(X[:1], [9])
    with pytest.raises(ValueError, match="are not those of the first call"):
        parts.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        MultinomialNB().partial_fit(X, y)
    parts.fit(X[:8], y[:8])  # fit forgets what came before
    np.testing.assert_allclose(parts.coef_, MultinomialNB().fit(X[:8], y[:8]).coef_)


def test_naive_bayes_waits_for_a_class():
    model = MultinomialNB().partial_fit([[1, 0]], ["a"], classes=["a", "b"])
    assert model.predict([[0, 5]]).tolist() == ["a"]
    assert model.predict_proba([[0, 5]]).tolist() == [[1.0, 0.0]]
    model.partial_fit([[0, 2]], ["b"])
    assert model.predict([[0, 5]]).tolist() == ["b"]


# ---- L1


def l1_violation(model, X, y, weight, C, R):
    """Largest distance from the conditions of the optimum, given the gradient by the scores: also of the intercept."""
    G = (X.T @ R).T
    W = model.coef_
    off = np.where(W == 0, np.maximum(np.abs(G) - 1, 0), np.abs(G + np.sign(W)))
    return max(off.max(), np.abs(R.sum(axis=0)).max() if model.fit_intercept else 0.0)


def errors(model, X, y, weight, C):
    """The derivative of C times the loss by the scores."""
    if isinstance(model, LinearSVM):
        classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
        T = np.where(y[:, None] == classes, 1.0, -1.0)
        slack = np.maximum(0, 1 - T * (X @ model.coef_.T + model.intercept_))
        return -2 * C * weight[:, None] * T * slack
    P = model.predict_proba(X) - (y[:, None] == model.classes_)
    return C * weight[:, None] * (P[:, 1:] if len(model.classes_) == 2 else P)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 4, 5])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("Model", [LinearSVM, LogisticRegression])
def test_l1_optimality_conditions(Model, C, classes, intercept):
    X, y, weight = data(classes)
    model = Model(C, penalty="l1", fit_intercept=intercept, tol=1e-11).fit(X, y, weight)
    assert l1_violation(model, X, y, weight, C, errors(model, X, y, weight, C)) < 1e-6 * max(1.0, C)
    if C < 1:
        assert (model.coef_ == 0).mean() > 0.3


@pytest.mark.parametrize("C", [0.3, 3.0])
def test_l1_is_liblinears(C):
    """Without an intercept, which liblinear would penalise."""
    X, y, weight = data(2)
    ours = LogisticRegression(C, penalty="l1", fit_intercept=False, tol=1e-10).fit(X, y, weight)
    theirs = sklearn.linear_model.LogisticRegression(
        C=C, l1_ratio=1.0, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_array_equal(ours.coef_ == 0, theirs.coef_ == 0)
    mine = LinearSVM(C, penalty="l1", fit_intercept=False, tol=1e-10).fit(X, y, weight)
    svc = sklearn.svm.LinearSVC(C=C, penalty="l1", dual=False, fit_intercept=False, tol=1e-8, max_iter=10**6)
    svc.fit(X, y, weight)
    np.testing.assert_allclose(mine.coef_, svc.coef_, atol=1e-4)
    np.testing.assert_array_equal(mine.coef_ == 0, svc.coef_ == 0)


def test_l1_softmax_is_sagas():
    X, y, weight = data(5)
    ours = LogisticRegression(0.5, penalty="l1", tol=1e-10).fit(X, y, weight)
    theirs = sklearn.linear_model.LogisticRegression(
        C=0.5, l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=100_000, random_state=0
    )
    theirs.fit(X, y, weight)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(np.abs(ours.coef_).sum(), np.abs(theirs.coef_).sum(), rtol=1e-4)


# ---- real text


@pytest.fixture(scope="module")
def rt():
    """RT-s, tf-idf of words and pairs: short, noisy, more features than rows."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    path = Path(os.environ.get("LINNET_DATA", "/nowhere")) / "rt_polarity" / "all.csv"
    if not path.exists():
        pytest.skip(f"{path} is absent: point LINNET_DATA at the data sets")
    import pyarrow.csv

    table = pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True))
    X = TfidfVectorizer(ngram_range=(1, 2)).fit_transform(table["text"].to_pylist())
    return X, np.array(table["label"].to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_svm_on_rt(rt, loss):
    X, y = rt
    ours = LinearSVM(loss=loss, **TIGHT).fit(X, y)
    theirs = sklearn.svm.LinearSVC(loss=loss, dual=True, **TIGHT).fit(X, y)
    one = np.ones(len(y))
    a, b = (svm_objective(m, X, y, one, 1.0, loss == "squared_hinge") for m in (ours, theirs))
    assert abs(a - b) <= 1e-6 * b
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.slow
def test_logistic_on_rt(rt):
    X, y = rt
    ours = LogisticRegression(tol=1e-12).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(tol=1e-12, solver="newton-cg", max_iter=1000).fit(X, y)
    one = np.ones(len(y))
    a, b = (logistic_objective(m, X, y, one, 1.0) for m in (ours, theirs))
    assert abs(a - b) <= 1e-6 * b
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.slow
def test_l1_on_rt(rt):
    """Real zeros, the same as liblinear's; columns that are equal share a weight in any way, so one of each is kept."""
    X, y = rt
    X = X[:, np.unique(np.asarray(X.T @ np.random.default_rng(0).random(X.shape[0])).round(12), return_index=True)[1]]
    settings = {"C": 1.0, "fit_intercept": False}
    ours = LogisticRegression(**settings, penalty="l1", tol=1e-10).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(
        **settings, l1_ratio=1.0, solver="liblinear", tol=1e-8, max_iter=10_000
    ).fit(X, y)
    np.testing.assert_array_equal(ours.coef_ != 0, theirs.coef_ != 0)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert (ours.coef_ != 0).mean() < 0.02


@pytest.fixture(scope="module")
def groups():
    """20 Newsgroups, tf-idf of words and pairs."""
    import pyarrow.parquet
    from sklearn.feature_extraction.text import TfidfVectorizer

    path = Path(os.environ.get("LINNET_DATA", "/nowhere")) / "20newsgroups" / "train.parquet"
    if not path.exists():
        pytest.skip(f"{path} is absent: point LINNET_DATA at the data sets")
    table = pyarrow.parquet.read_table(path)
    X = TfidfVectorizer(ngram_range=(1, 2), min_df=2).fit_transform(table["text"].to_pylist())
    return X, np.array(table["label"].to_pylist())


@pytest.mark.slow
def test_solvers_on_20_newsgroups(groups):
    """One class against the rest, and without an intercept, which liblinear would penalise."""
    X, y = groups
    y, one = (y == "comp.graphics").astype(int), np.ones(len(y))
    mine = LogisticRegression(fit_intercept=False).fit(X, y)
    liblinear = sklearn.linear_model.LogisticRegression(solver="liblinear", dual=True, tol=1e-8, max_iter=10_000)
    yours = liblinear.set_params(fit_intercept=False).fit(X, y)
    a, b = (logistic_objective(m, X, y, one, 1.0) for m in (mine, yours))
    assert abs(a - b) <= 1e-6 * b
    np.testing.assert_allclose(mine.coef_, yours.coef_, atol=1e-4)
    svm = LinearSVM(tol=1e-6, max_iter=10_000).fit(X, y)
    svc = sklearn.svm.LinearSVC(dual=True, tol=1e-8, max_iter=10_000).fit(X, y)
    a, b = (svm_objective(m, X, y, one, 1.0, True) for m in (svm, svc))
    assert abs(a - b) <= 1e-6 * b
    np.testing.assert_allclose(svm.coef_, svc.coef_, atol=1e-4)


@pytest.mark.slow
def test_naive_bayes_on_rt(rt):
    X, y = rt
    ours, theirs = MultinomialNB().fit(X, y), sklearn.naive_bayes.MultinomialNB().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-10)
