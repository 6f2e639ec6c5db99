"""NBSVM: the ratios by hand, the interpolation of the paper, and linnet's default as one of its settings."""

from __future__ import annotations

import math

import numpy as np
import pytest

from generated import counts
from linnet import TextClassifier
from linnet.errors import DataError
from linnet.features import Vectorizer
from linnet.features.plan import idf
from linnet.models import NBSVM, LinearSVM
from linnet.solvers.matrix import Matrix

TIGHT = {"tol": 1e-10, "max_iter": 100_000}
TEXTS = [
    "a fine film", "fine fun and a fine cast", "a great cast", "great fun", "the plot is fine",
    "a dull film", "dull and dull again", "the cast is poor", "a poor plot", "no fun",
]  # fmt: skip
LABELS = ["pos"] * 5 + ["neg"] * 5


def signed_ratio(X, is_class, alpha):
    """The formula of the paper, for one class against the rest."""
    p, q = alpha + X[is_class].sum(axis=0), alpha + X[~is_class].sum(axis=0)
    return np.log((p / p.sum()) / (q / q.sum()))


def test_ratios_by_hand():
    """Three features, counts 2 0, 0 2, 1 1, alpha = 1: r = ln 1/3, ln 3, 0 (the second class against the first)."""
    X, y = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]]), np.array([0, 0, 1, 1])
    np.testing.assert_allclose(NBSVM().fit(X, y).ratio_, [[-math.log(3), math.log(3), 0.0]], rtol=1e-6)
    np.testing.assert_allclose(NBSVM(power=0.5).fit(X, y).ratio_[0, :2], [-(math.log(3) ** 0.5), math.log(3) ** 0.5])
    # presence: once a row, however often
    many = NBSVM(counts="presence").fit(X * [[7], [1], [1], [3]], y)
    np.testing.assert_allclose(many.ratio_, [[-math.log(3), math.log(3), 0.0]], rtol=1e-6)
    assert not np.allclose(NBSVM().fit(X * [[7], [1], [1], [3]], y).ratio_, many.ratio_)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("beta", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_interpolation_of_the_paper(classes, beta, alpha):
    """With signed r, one class against the rest: w from an SVM on x * r, then w' = (1 - beta) mean|w| + beta w; b likewise."""
    X, y = counts(n=80, classes=classes)
    model = NBSVM(0.7, alpha=alpha, beta=beta, **TIGHT).fit(X, y)
    for k, c in enumerate([1] if classes == 2 else range(classes)):
        r = signed_ratio(X, y == c, alpha)
        svm = LinearSVM(0.7, **TIGHT).fit(X * r, y == c)
        w = svm.coef_[0]
        blended = (1 - beta) * np.abs(w).mean() + beta * w
        np.testing.assert_allclose(model.ratio_[k], r, atol=1e-6)
        np.testing.assert_allclose(model.coef_[k], r * blended, atol=2e-6)
        odds = math.log((y == c).sum() / (y != c).sum())
        b = (1 - beta) * np.abs(w).mean() * odds + beta * svm.intercept_[0]
        np.testing.assert_allclose(model.intercept_[k], b, atol=2e-6)


def test_power_zero_is_the_plain_svm():
    X, y = counts()
    X = np.delete(X, 2, axis=1)  # the empty column has a ratio of its own, too
    np.testing.assert_allclose(
        NBSVM(beta=1.0, power=0.0, **TIGHT).fit(X, y).coef_, LinearSVM(**TIGHT).fit(X, y).coef_, atol=1e-7
    )


@pytest.mark.parametrize("labels", [LABELS, ["a", "b", "c", "a", "b"] * 2])
@pytest.mark.parametrize("p", [0.5, 1.0])
def test_the_default_recipe_is_nbsvm(labels, p):
    """TextClassifier("svm", ratio=p) learns the line of NBSVM(power=p, beta=1), and so does NBSVM on the matrix itself."""
    settings = {"features": "words:1-2", "idf": False, "norm": None, "calibrate": False}
    params = {"C": 1.0, "tol": 1e-6}
    ours = TextClassifier("svm", ratio=p, params=params, **settings).fit(TEXTS, labels)
    same = TextClassifier("nbsvm", params={"beta": 1.0, "power": p, **params}, **settings).fit(TEXTS, labels)
    np.testing.assert_allclose(same.decision_function(TEXTS), ours.decision_function(TEXTS), atol=1e-6)
    X = Vectorizer("words:1-2").fit_transform(TEXTS)
    model = NBSVM(beta=1.0, power=p, **params).fit(X, labels)
    np.testing.assert_allclose(model.decision_function(X), ours.decision_function(TEXTS), atol=1e-5)


def test_the_default_recipe_with_idf_and_norms():
    """Decision 8 to the letter: tf-idf times |r|^p, rows of length one. The ratio counts presence."""
    p = 0.5
    params = {"C": 1.0, "tol": 1e-8}
    ours = TextClassifier("svm", features="words:1-2", ratio=p, params=params, calibrate=False).fit(TEXTS, LABELS)
    X = Vectorizer("words:1-2").fit_transform(TEXTS).toarray().astype(float)
    y = np.array(LABELS)
    rare = idf(X.sum(axis=0), len(X))
    r = np.abs(signed_ratio(X, y == "pos", 1.0)) ** p
    X *= rare / np.linalg.norm(X * rare * r, axis=1, keepdims=True)
    model = NBSVM(beta=1.0, power=p, counts="presence", **params).fit(X, LABELS)
    np.testing.assert_allclose(model.decision_function(X), ours.decision_function(TEXTS), atol=1e-5)


def test_beta_zero_is_naive_bayes_up_to_a_scale():
    from sklearn.naive_bayes import MultinomialNB

    X, y = counts(classes=2)
    theirs, ours = MultinomialNB(alpha=1.0).fit(X, y), NBSVM(beta=0.0).fit(X, y)
    log_odds = np.diff(theirs.predict_log_proba(X), axis=1)[:, 0]
    scores = ours.decision_function(X)
    np.testing.assert_allclose(scores / np.linalg.norm(scores), log_odds / np.linalg.norm(log_odds), atol=1e-6)


def test_reports_are_of_the_weights_returned():
    X, y = counts()
    seen = []
    model = NBSVM()
    W, b = model.fit_matrix(
        Matrix.from_dense(X), y.astype(np.int32), 3, on_epoch=lambda report, weights: seen.append(weights())
    )
    np.testing.assert_array_equal(seen[-1][0], W)
    np.testing.assert_array_equal(seen[-1][1], b)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_extremes(scale):
    X, y = counts()
    with np.errstate(all="raise"):
        model = NBSVM(max_iter=20_000, tol=0.1, counts="presence").fit(X * scale, y)
    assert np.isfinite(model.coef_).all()
    empty = NBSVM().fit(np.zeros((4, 2)), [0, 1, 1, 1])
    assert (empty.coef_ == 0).all()
    with pytest.raises(DataError, match="NBSVM needs rows of two classes or more; got 1 class"):
        NBSVM().fit(X, np.ones(len(X)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NBSVM(beta=1.5), "beta must be a number from 0 to 1, got 1.5"),
        (NBSVM(alpha=0), "alpha must be a number above 0, got 0"),
        (NBSVM(power=-1), "power must be a number from 0, got -1"),
        (NBSVM(counts="value"), r"unknown counts 'value'.*did you mean 'values'"),
        (NBSVM(C=0), "C must be a number above 0, got 0"),
    ],
)
def test_settings_that_cannot_be(model, message):
    X, y = counts()
    with pytest.raises(DataError, match=message):
        model.fit(X, y)
