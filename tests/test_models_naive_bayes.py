"""The naive Bayes family: held to scikit-learn, to scipy's distributions, to plain Python, and to its extremes."""

from __future__ import annotations

import itertools
import math
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.sparse as sp
import scipy.stats
import sklearn.datasets
import sklearn.naive_bayes
from hypothesis import given, settings
from hypothesis import strategies as st

from generated import counts
from linnet.errors import DataError
from linnet.models import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from linnet.models.naive_bayes import LOG_ZERO
from linnet.solvers.matrix import Matrix

pytestmark = pytest.mark.filterwarnings("error")
FAMILY = [MultinomialNB, BernoulliNB, CategoricalNB, GaussianNB]
ESTIMATES = ["mle", "map", "predictive"]
every_member = pytest.mark.parametrize("Model", FAMILY)
every_estimate = pytest.mark.parametrize("estimate", ESTIMATES)


def measured(n=80, d=6, classes=3, seed=0, offset=0.0):
    """Rows of measurements whose means and spreads differ by class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = offset + rng.normal(size=(classes, d))[y] * 2 + rng.normal(size=(n, d)) * rng.uniform(0.5, 2, (classes, d))[y]
    return X, y


def data_for(Model, classes=3, **settings):
    return measured(classes=classes, **settings) if Model is GaussianNB else counts(classes=classes, **settings)


def agree(ours, theirs, X, tolerance=1e-10):
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=tolerance, atol=tolerance
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


# ---- scikit-learn


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("chosen", [{}, {"alpha": 0.01}, {"fit_prior": False}, {"class_prior": True}])
@pytest.mark.parametrize("Model", [BernoulliNB, CategoricalNB])
def test_is_scikit_learns(Model, chosen, classes):
    X, y = counts(classes=classes)
    if "class_prior" in chosen:
        chosen = {"class_prior": np.arange(1, classes + 1) / sum(range(classes + 1))}
    theirs = getattr(sklearn.naive_bayes, Model.__name__)
    for weight in (None, np.random.default_rng(0).uniform(0.2, 3.0, len(y))):
        a, b = Model(**chosen).fit(X, y, weight), theirs(**chosen).fit(X, y, weight)
        agree(a, b, X)
        for ours, other in zip(a.feature_log_prob_, b.feature_log_prob_, strict=True):
            np.testing.assert_allclose(ours, other, rtol=1e-12)
        np.testing.assert_allclose(a.class_count_, b.class_count_, rtol=1e-12)


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_gaussian_is_scikit_learns(name):
    X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    agree(GaussianNB().fit(X, y), sklearn.naive_bayes.GaussianNB().fit(X, y), X)
    if name != "digits":  # some pixels are always white
        weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
        ours = GaussianNB(var_smoothing=0).fit(X, y, weight)
        theirs = sklearn.naive_bayes.GaussianNB(var_smoothing=0).fit(X, y, weight)
        agree(ours, theirs, X)
        np.testing.assert_allclose(ours.theta_, theirs.theta_, rtol=1e-12)
        np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-10)


def test_digits_as_categories_and_as_presence():
    X, y = sklearn.datasets.load_digits(return_X_y=True)
    agree(CategoricalNB().fit(X, y), sklearn.naive_bayes.CategoricalNB().fit(X, y), X)
    agree(BernoulliNB(0.5).fit(X, y), sklearn.naive_bayes.BernoulliNB(alpha=0.5).fit(X, y), X)


@pytest.mark.slow
def test_bernoulli_on_rt():
    from sklearn.feature_extraction.text import CountVectorizer

    path = Path(os.environ.get("LINNET_DATA", "/nowhere")) / "rt_polarity" / "all.csv"
    if not path.exists():
        pytest.skip(f"{path} is absent: point LINNET_DATA at the data sets")
    import pyarrow.csv

    table = pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True))
    X, y = CountVectorizer(ngram_range=(1, 2)).fit_transform(table["text"].to_pylist()), table["label"].to_numpy()
    a, b = BernoulliNB().fit(X, y), sklearn.naive_bayes.BernoulliNB().fit(X, y)
    np.testing.assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), rtol=1e-10)
    np.testing.assert_allclose(a.predict_log_proba(X), b.predict_log_proba(X), rtol=1e-9, atol=1e-9)


# ---- what the estimates are


def test_shares_of_classes():
    X, y = counts(n=7, classes=2)
    y = np.array([0, 0, 0, 0, 0, 1, 1])
    for estimate, want in (("mle", [5, 2]), ("map", [6.5, 2]), ("predictive", [7.5, 3])):
        model = MultinomialNB(estimate=estimate, class_alpha=[2.5, 1.0]).fit(X, y)
        np.testing.assert_allclose(np.exp(model.class_log_prior_), np.array(want) / sum(want), rtol=1e-14)
    np.testing.assert_allclose(np.exp(MultinomialNB().fit(X, y).class_log_prior_), [5 / 7, 2 / 7], rtol=1e-14)
    with pytest.raises(DataError, match="drop class_prior and fit_prior=False"):
        MultinomialNB(class_alpha=1.0, fit_prior=False).fit(X, y)
    with pytest.raises(DataError, match=r"class_alpha must be above 0, one number or one a class \(2\)"):
        MultinomialNB(class_alpha=[1.0]).fit(X, y)


@pytest.mark.parametrize("Model", [MultinomialNB, BernoulliNB, CategoricalNB])
def test_map_with_alpha_one_is_mle(Model):
    X, y = counts(n=400, d=5)
    X[:, 2] = 1.0
    a, b = Model(estimate="map").fit(X, y), Model(estimate="mle").fit(X, y)
    assert a.coef_.tobytes() == b.coef_.tobytes()
    assert a.intercept_.tobytes() == b.intercept_.tobytes()


@pytest.mark.parametrize("Model", [MultinomialNB, BernoulliNB, CategoricalNB])
def test_map_that_is_not_defined(Model):
    X = [[1, 0], [0, 1], [1, 1]]
    with pytest.raises(DataError, match=r"estimate='map' is not defined for alpha=0.5: the posterior has no mode"):
        Model(0.5, estimate="map").fit(X, [0, 1, 1])
    with pytest.raises(DataError, match=r"is not defined for class_alpha=0.2"):  # a class no batch has held
        Model(estimate="map", class_alpha=0.2).partial_fit(X, [0, 0, 0], classes=[0, 1])
    with pytest.raises(DataError, match="alpha must be a number above 0"):
        Model(0.0).fit(X, [0, 1, 1])
    with pytest.raises(DataError, match=r"unknown estimate 'ml'; choose one of: mle, map, predictive"):
        Model(estimate="ml").fit(X, [0, 1, 1])


def test_map_below_one_is_defined_where_everything_was_seen():
    model = MultinomialNB(0.5, estimate="map").fit([[3, 2], [1, 4]], [0, 1])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[2.5 / 4, 1.5 / 4], [0.5 / 4, 3.5 / 4]], rtol=1e-14)


def test_dirichlet_estimates_are_mode_and_mean():
    """MAP maximises the log posterior of the shares; the predictive is its mean."""
    N, alpha = np.array([4.0, 1.0, 0.0]), np.array([1.5, 2.0, 3.0])
    X, y = [N, [1, 1, 1]], ["a", "b"]
    mode = np.exp(MultinomialNB(alpha, estimate="map").fit(X, y).feature_log_prob_[0])
    mean = np.exp(MultinomialNB(alpha).fit(X, y).feature_log_prob_[0])
    posterior = scipy.stats.dirichlet(N + alpha)
    np.testing.assert_allclose(mean, posterior.mean(), rtol=1e-14)

    def loss(z):
        shares = np.exp(z - np.logaddexp.reduce(z))
        return -np.sum((N + alpha - 1) * np.log(shares))

    found = scipy.optimize.minimize(loss, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(mode, np.exp(found - np.logaddexp.reduce(found)), rtol=1e-5)


def gaussian_by_hand(x, mu0, kappa0, nu0, psi0):
    """The negative log of the joint posterior density of (m, log v), up to a constant, as a function of m and v."""

    def loss(at):
        m, v = at[0], math.exp(at[1])
        likelihood = scipy.stats.norm(m, math.sqrt(v)).logpdf(x).sum()
        prior = scipy.stats.norm(mu0, math.sqrt(v / kappa0)).logpdf(m)
        return -(likelihood + prior + scipy.stats.invgamma(nu0 / 2, scale=psi0 / 2).logpdf(v))

    return loss


PRIOR = {"mu0": 1.5, "kappa0": 2.0, "nu0": 3.0, "psi0": 4.0}


def test_gaussian_map_is_the_mode():
    x = np.array([2.0, 3.5, 2.2, 4.0])
    model = GaussianNB(estimate="map", **PRIOR).fit(np.r_[x, 9.0, 8.0][:, None], list("aaaabb"))
    found = scipy.optimize.minimize(gaussian_by_hand(x, **PRIOR), [2.0, 0.0], method="Nelder-Mead", tol=1e-12).x
    np.testing.assert_allclose([model.theta_[0, 0], model.var_[0, 0]], [found[0], math.exp(found[1])], rtol=1e-5)


def test_gaussian_predictive_is_the_integral():
    """Student's t, and the same as integrating the bell curve over the posterior of its variance."""
    x = np.array([2.0, 3.5, 2.2, 4.0])
    model = GaussianNB(estimate="predictive", class_alpha=1.0, **PRIOR).fit(np.r_[x, 9.0, 8.0][:, None], list("aaaabb"))
    kappa, nu = PRIOR["kappa0"] + 4, PRIOR["nu0"] + 4
    mu = (PRIOR["kappa0"] * PRIOR["mu0"] + x.sum()) / kappa
    psi = PRIOR["psi0"] + ((x - x.mean()) ** 2).sum() + PRIOR["kappa0"] * 4 / kappa * (x.mean() - PRIOR["mu0"]) ** 2
    variance = scipy.stats.invgamma(nu / 2, scale=psi / 2)
    for new in (-3.0, 2.0, 11.0):
        found = model.predict_joint_log_proba([[new]])[0, 0] - model.class_log_prior_[0]
        t = scipy.stats.t(nu, mu, math.sqrt(psi * (kappa + 1) / (kappa * nu)))
        assert found == pytest.approx(t.logpdf(new), rel=1e-12)
        whole, _ = scipy.integrate.quad(
            lambda v, new=new: scipy.stats.norm(mu, math.sqrt(v * (1 + 1 / kappa))).pdf(new) * variance.pdf(v),
            0,
            np.inf,
        )
        assert found == pytest.approx(math.log(whole), rel=1e-6)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "quadratic_coef_")
    with pytest.raises(DataError, match=r"GaussianNB\(estimate='predictive'.*is not linear"):
        model.fit_matrix(Matrix.from_dense(np.ones((2, 1)) * [[1], [2]]), np.array([0, 1], np.int32), 2)
    model.set_params(estimate="mle").fit(np.r_[x, 9.0, 8.0][:, None], list("aaaabb"))
    assert model.coef_.shape == model.quadratic_coef_.shape == (1, 1)


def test_gaussian_prior_settings():
    X, y = measured()
    for wrong in ({"kappa0": 0}, {"nu0": -1}, {"psi0": 0.0}, {"psi0": [1.0]}, {"mu0": np.nan}, {"var_smoothing": -1}):
        with pytest.raises(DataError, match=next(iter(wrong))):
            GaussianNB(estimate="map", **wrong).fit(X, y)
    with pytest.raises(DataError, match="feature 1 does not vary in class 0; leave it out"):
        GaussianNB(var_smoothing=0).fit([[1, 5], [2, 5], [3, 1], [4, 2]], [0, 0, 1, 1])
    weak = GaussianNB(estimate="map", mu0=np.zeros(6), psi0=np.full(6, 1e-9), kappa0=1e-9, nu0=1e-9).fit(X, y)
    mle, n = GaussianNB(var_smoothing=0).fit(X, y), np.bincount(y)[:, None]
    np.testing.assert_allclose(weak.theta_, mle.theta_, rtol=1e-6)
    np.testing.assert_allclose(weak.var_ * (n + 3) / n, mle.var_, rtol=1e-6)


# ---- the linear form


@pytest.mark.parametrize("classes", [2, 3])
@every_estimate
@every_member
def test_scores_are_the_linear_form(Model, estimate, classes):
    if Model is GaussianNB and estimate == "predictive":
        return
    X, y = data_for(Model, classes, n=500, d=4)
    X = X if Model is GaussianNB else np.minimum(X, 2)
    X[:, 2] += 1
    X[7, 2] = 2
    model = Model(estimate=estimate).fit(X, y)
    if Model is BernoulliNB:
        scores = (X > 0) @ model.coef_.T + model.intercept_
    elif Model is CategoricalNB:
        hot = np.stack([X[:, j] == v for j, v in model.encoded_], axis=1)
        scores = hot @ model.coef_.T + model.intercept_
    elif Model is GaussianNB:
        scores = X @ model.coef_.T + X**2 @ model.quadratic_coef_.T + model.intercept_
    else:
        scores = X @ model.coef_.T + model.intercept_
    found = model._scores(X)
    possible = np.isfinite(found)
    assert possible.mean() > 0.2
    np.testing.assert_allclose(found[possible], scores[possible], rtol=1e-9, atol=1e-9)
    assert np.isfinite(scores).all()  # log 0 is LOG_ZERO there
    if classes > 2:
        assert (scores[~possible] < -700).all()
    M = model.encode(X)
    np.testing.assert_allclose(model.form_.joint(M), model.predict_joint_log_proba(X), rtol=1e-9)


def test_bernoulli_is_the_product_over_words():
    X, y = counts(n=200, d=5, classes=2)
    model = BernoulliNB((0.7, 2.0)).fit(X, y)
    mu = np.exp(model.feature_log_prob_)
    for x, found in zip(X[:20] > 0, model.predict_joint_log_proba(X[:20]), strict=True):
        want = np.exp(model.class_log_prior_) * np.where(x, mu, 1 - mu).prod(axis=1)
        np.testing.assert_allclose(np.exp(found), want, rtol=1e-12)


def test_gaussian_far_from_zero():
    """The mean is 1e8 times the spread: squares of the values would have lost every digit."""
    X, y = measured()
    near, far = GaussianNB(var_smoothing=0).fit(X, y), GaussianNB(var_smoothing=0).fit(X + 1e8, y)
    np.testing.assert_allclose(far.var_, near.var_, rtol=1e-6)
    np.testing.assert_allclose(far.predict_proba(X + 1e8), near.predict_proba(X), atol=1e-5)


# ---- log 0


def by_hand(Model, estimate, X, y, x, K, alpha=Fraction(3, 2)):
    """P(x, y) of each class in fractions; 0 where a class has nothing to say."""
    add = {"mle": 0, "map": alpha - 1, "predictive": alpha}[estimate]
    found = []
    for c in range(K):
        rows = [row for row, label in zip(X, y, strict=True) if label == c]
        p = Fraction(len(rows), len(X))
        if Model is MultinomialNB:
            N = [sum(row[j] for row in rows) + add for j in range(len(x))]
            shares = [n / Fraction(sum(N)) if sum(N) else Fraction(0) for n in map(Fraction, N)]
            p *= math.prod(share ** int(k) for share, k in zip(shares, x, strict=True))
        else:
            for j, value in enumerate(x):
                values = range(2) if Model is BernoulliNB else range(int(max(row[j] for row in X)) + 1)
                v = min(value, 1) if Model is BernoulliNB else value
                if v not in values:
                    continue
                seen = [min(r[j], 1) if Model is BernoulliNB else r[j] for r in rows]
                total = Fraction(len(rows)) + add * len(values)
                p *= (sum(s == v for s in seen) + add) / total if total else 0
        found.append(p)
    return found


@settings(max_examples=60, deadline=None)
@given(st.data())
@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("Model", [MultinomialNB, BernoulliNB, CategoricalNB])
def test_against_fractions(Model, estimate, data):
    """Probabilities in whole-number arithmetic: zeros, ties, rows that are impossible under some classes or all."""
    K, d = data.draw(st.integers(2, 3)), data.draw(st.integers(1, 3))
    row = st.lists(st.integers(0, 2), min_size=d, max_size=d)
    X = data.draw(st.lists(row, min_size=K, max_size=6))
    y = [*range(K), *data.draw(st.lists(st.integers(0, K - 1), min_size=len(X) - K, max_size=len(X) - K))]
    new = data.draw(st.lists(row, min_size=1, max_size=5))
    model = Model(1.5, estimate=estimate).fit(X, y)
    P, joint, answers = model.predict_proba(new), model.predict_joint_log_proba(new), model.predict(new)
    assert not np.isnan(P).any()
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    prior = [Fraction(y.count(c), len(y)) for c in range(K)]
    for k, x in enumerate(new):
        want = by_hand(Model, estimate, X, y, x, K)
        np.testing.assert_allclose(np.exp(joint[k]), [float(p) for p in want], rtol=1e-12)
        if not any(want):
            assert np.isneginf(joint[k]).all()
            want = prior
        shares = [float(p / sum(want)) for p in want]
        np.testing.assert_allclose(P[k], shares, rtol=1e-12)
        best = [c for c in range(K) if want[c] == max(want)]
        assert answers[k] in best  # of equals, the last digit of a sum of logarithms may decide


def test_impossible_rows():
    model = MultinomialNB(estimate="mle").fit([[2, 1, 0, 0], [0, 1, 2, 0], [0, 1, 2, 0]], ["a", "b", "b"])
    X = [[1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]]
    P = model.predict_proba(X)
    prior = [1 / 3, 2 / 3]
    np.testing.assert_allclose(P, [[1, 0], [0, 1], prior, prior, prior, prior])
    assert model.predict(X).tolist() == ["a", "b", "b", "b", "b", "b"]
    logs = model.predict_log_proba(X)
    assert logs[0].tolist() == [0.0, -np.inf]
    assert not np.isnan(logs).any()
    assert model.coef_[0, 0] == pytest.approx(LOG_ZERO - math.log(2 / 3))
    assert model.coef_[0, 3] == 0.0  # impossible for both
    stored = sp.csr_array((np.zeros(1), np.array([0]), np.array([0, 1])), shape=(1, 4))  # a zero that is written down
    np.testing.assert_allclose(model.predict_proba(stored), [prior])


def test_a_word_every_row_has():
    """Bernoulli, mle: a review without the word is impossible for the class that never lacks it."""
    model = BernoulliNB(estimate="mle").fit([[1, 0], [1, 1], [1, 0], [0, 1]], [0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[0, 1], [1, 1]]), [[0, 1], [2 / 3, 1 / 3]])
    smooth = BernoulliNB().fit([[1, 0], [1, 1], [1, 0], [0, 1]], [0, 0, 1, 1])
    assert 0 < smooth.predict_proba([[0, 1]])[0, 0] < 0.5


# ---- batches, weights, order


@every_estimate
@every_member
def test_batches_are_one_fit(Model, estimate):
    X, y = data_for(Model, 4)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    whole = Model(estimate=estimate).fit(X, y, weight)
    for size in (1, 7, 30):
        parts = Model(estimate=estimate)
        order = np.argsort(y, kind="stable")  # so that most batches lack most classes
        for k in range(0, len(y), size):
            rows = order[k : k + size]
            parts.partial_fit(X[rows], y[rows], classes=range(4), sample_weight=weight[rows])
        np.testing.assert_allclose(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-11)
        np.testing.assert_allclose(parts.class_count_, whole.class_count_, rtol=1e-12)
        np.testing.assert_array_equal(parts.predict(X), whole.predict(X))


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_gaussian_batches_to_the_last_digits(offset):
    X, y = measured(n=600, offset=offset)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    whole, parts = GaussianNB().fit(X, y, weight), GaussianNB()
    for rows in np.array_split(np.random.default_rng(0).permutation(len(y)), 23):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
    np.testing.assert_allclose(parts.theta_, whole.theta_, rtol=1e-12)
    np.testing.assert_allclose(parts.var_, whole.var_, rtol=1e-12 if offset == 0 else 1e-9)
    np.testing.assert_allclose(
        whole.var_, [np.cov(X[y == c].T, aweights=weight[y == c], ddof=0).diagonal() for c in range(3)]
    )


def test_a_class_that_no_batch_held():
    for Model in FAMILY:
        X, y = data_for(Model, 3)
        first = y < 2
        for estimate in ESTIMATES:
            model = Model(estimate=estimate).partial_fit(X[first], y[first], classes=[0, 1, 2])
            P = model.predict_proba(X)
            assert not np.isnan(P).any()
            assert (P[:, 2] == 0).all()
            alone = Model(estimate=estimate).fit(X[first], y[first])
            np.testing.assert_allclose(P[:, :2], alone.predict_proba(X), rtol=1e-9, atol=1e-12)
            if Model is not GaussianNB or estimate != "predictive":
                assert np.isfinite(model.coef_).all()
                assert np.isfinite(model.intercept_).all()
            model.partial_fit(X[~first], y[~first])
            np.testing.assert_allclose(
                model.predict_proba(X), Model(estimate=estimate).fit(X, y).predict_proba(X), rtol=1e-9
            )


@every_member
def test_a_class_without_rows_is_impossible_under_mle(Model):
    """Whatever its prior: nothing was seen of it. With a prior on features it is as the prior says."""
    X, y = data_for(Model, 2)
    X[:, 0] += 1.0
    for settings_ in ({"fit_prior": False}, {"class_prior": [0.2, 0.3, 0.5]}):
        model = Model(estimate="mle", **settings_).partial_fit(X, y, classes=[0, 1, 2])
        assert np.isneginf(model.predict_joint_log_proba(X)[:, 2]).all()
        smooth = Model(estimate="predictive", **settings_).partial_fit(X, y, classes=[0, 1, 2])
        assert np.isfinite(smooth.predict_joint_log_proba(X)).all()


def test_new_values_in_a_later_batch():
    X, y = np.array([[0, 1], [1, 0], [2, 5], [1, 1]]), np.array([0, 1, 0, 1])
    model = CategoricalNB().partial_fit(X[:2], y[:2], classes=[0, 1]).partial_fit(X[2:], y[2:])
    whole = CategoricalNB().fit(X, y)
    assert model.n_categories_.tolist() == whole.n_categories_.tolist() == [3, 6]
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    unknown = whole.predict_joint_log_proba([[9, 1]])[0]
    np.testing.assert_allclose(unknown, whole.class_log_prior_ + whole.feature_log_prob_[1][:, 1])
    wide = CategoricalNB(min_categories=[3, 10]).fit(X, y)
    assert wide.n_categories_.tolist() == [3, 10]
    with pytest.raises(DataError, match="min_categories must be a whole number from 1, or one a feature"):
        CategoricalNB(min_categories=[3]).fit(X, y)
    with pytest.raises(DataError, match=r"a feature has the value 99,999,999: number the categories"):
        CategoricalNB().fit([[99_999_999], [0]], [0, 1])
    with pytest.warns(UserWarning, match=r"takes the numbers of categories, 0, 1, 2, ...: 1.5 counts as 1"):
        CategoricalNB().fit([[1.5], [0]], [0, 1])


@every_estimate
@pytest.mark.parametrize("Model", [CategoricalNB, GaussianNB])
def test_order_weights_and_dress(Model, estimate):
    """What the sweep asks of models that take text, for those that do not."""
    X, y = data_for(Model, 3)
    model = Model(estimate=estimate).fit(X, y)
    want = model.predict_joint_log_proba(X)
    order = np.random.default_rng(1).permutation(len(y))
    columns = np.random.default_rng(1).permutation(X.shape[1])
    repeats = np.random.default_rng(2).integers(1, 4, len(y))
    again = np.repeat(np.arange(len(y)), repeats)
    for other, rows, target in (
        (Model(estimate=estimate).fit(X[order], y[order]), X, want),
        (Model(estimate=estimate).fit(sp.csr_array(X), y), sp.csc_array(X), want),
        (Model(estimate=estimate).fit(X[:, columns], y), X[:, columns], want),
        (
            Model(estimate=estimate).fit(X, y, sample_weight=repeats),
            X,
            Model(estimate=estimate).fit(X[again], y[again]).predict_joint_log_proba(X),
        ),
    ):
        np.testing.assert_allclose(other.predict_joint_log_proba(rows), target, rtol=1e-9, atol=1e-9)
    narrow = Model(estimate=estimate).fit(X.astype(np.float32), y)
    assert (narrow.predict(X) == model.predict(X)).mean() > 0.95
    left = np.where(np.arange(len(y)) % 5, 1.0, 0.0)
    labels = np.where(left > 0, y, 99)
    with_zero = Model(estimate=estimate).fit(X, labels, sample_weight=left)
    assert with_zero.classes_.tolist() == [0, 1, 2]
    without = Model(estimate=estimate).fit(X[left > 0], y[left > 0])
    np.testing.assert_allclose(with_zero.predict_proba(X), without.predict_proba(X), rtol=1e-9, atol=1e-9)


# ---- other words


def test_rare_words_are_other_words():
    X = np.array([[4, 1, 0, 2, 0], [0, 1, 1, 3, 0]])
    model = MultinomialNB(oov=True, rare=2).fit(X, ["a", "b"])
    assert model.oov_.tolist() == [False, False, True, False, True]  # seen once, and never
    np.testing.assert_allclose(np.exp(model.oov_log_prob_), [1 / (7 + 4), 2 / (5 + 4)])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]), np.array([5, 2, 1, 3, 1]) / 11)
    pooled = np.c_[X[:, [0, 1, 3]], X[:, [2, 4]].sum(axis=1)]
    np.testing.assert_allclose(
        model.feature_log_prob_[:, [0, 1, 3, 2]], MultinomialNB().fit(pooled, ["a", "b"]).feature_log_prob_
    )
    assert np.exp(model.feature_log_prob_[:, [0, 1, 3]]).sum(axis=1) + np.exp(model.oov_log_prob_) == pytest.approx(1.0)
    everything = MultinomialNB(oov=True, rare=100).fit(X, ["a", "b"])
    assert everything.oov_.all()
    np.testing.assert_allclose(everything.oov_log_prob_, 0.0)
    some = MultinomialNB(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), oov=True, rare=2).fit(X, ["a", "b"])
    np.testing.assert_allclose(np.exp(some.oov_log_prob_), [3 / (7 + 7 + 3), 4 / (5 + 7 + 3)])
    with pytest.raises(DataError, match="rare=2 makes words part of the entry for other words: set oov=True too"):
        MultinomialNB(rare=2).fit(X, ["a", "b"])
    model.set_params(oov=False, rare=0).fit(X, ["a", "b"])
    assert not hasattr(model, "oov_log_prob_")


def test_words_without_a_column():
    """Left out, they change no answer where classes hold equally many words; else they would speak for the shorter one."""
    even = MultinomialNB(oov=True).fit([[3, 1], [1, 3]], ["a", "b"])
    assert even.oov_log_prob_[0] == even.oov_log_prob_[1]
    uneven = MultinomialNB(oov=True).fit([[30, 10], [1, 3]], ["a", "b"])
    assert uneven.oov_log_prob_[0] < uneven.oov_log_prob_[1]


# ---- sampling


@every_estimate
@every_member
def test_samples_look_like_the_model(Model, estimate):
    X, y = data_for(Model, 3, n=90, d=4)
    labels = np.array(["a", "b", "c"])[y]
    settings_ = {"nu0": 8.0} if Model is GaussianNB else {}
    model = Model(estimate=estimate, **settings_).fit(X, labels)
    n = 60_000
    new, drawn = model.sample(n, random_state=3)
    assert new.shape == (n, 4)
    assert set(drawn) == {"a", "b", "c"}
    again, _ = model.sample(n, random_state=3)
    assert new.tobytes() == again.tobytes()
    assert model.sample(n, random_state=4)[0].tobytes() != new.tobytes()
    for c, label in enumerate(model.classes_):
        rows = new[drawn == label]
        p = math.exp(model.class_log_prior_[c])
        assert abs(len(rows) - n * p) < 5 * math.sqrt(n * p * (1 - p))
        if Model is MultinomialNB:
            theta = np.exp(model.feature_log_prob_[c])
            total = rows.sum()
            assert (np.abs(rows.sum(axis=0) - total * theta) <= 5 * np.sqrt(total * theta * (1 - theta)) + 1e-9).all()
            mean = model.feature_count_[c].sum() / model.class_count_[c]
            assert abs(rows.sum(axis=1).mean() - mean) < 5 * math.sqrt(mean / len(rows))
        elif Model is BernoulliNB:
            mu = np.exp(model.feature_log_prob_[c])
            assert (np.abs(rows.mean(axis=0) - mu) <= 5 * np.sqrt(mu * (1 - mu) / len(rows)) + 1e-12).all()
        elif Model is CategoricalNB:
            for j, logs in enumerate(model.feature_log_prob_):
                mu = np.exp(logs[c])
                share = np.bincount(rows[:, j].astype(int), minlength=len(mu)) / len(rows)
                assert (np.abs(share - mu) <= 5 * np.sqrt(mu * (1 - mu) / len(rows)) + 1e-12).all()
        else:
            wide = model.freedom_[c] / (model.freedom_[c] - 2) if estimate == "predictive" else 1.0
            assert (np.abs(rows.mean(axis=0) - model.theta_[c]) < 5 * np.sqrt(wide * model.var_[c] / len(rows))).all()
            np.testing.assert_allclose(rows.var(axis=0), wide * model.var_[c], rtol=0.1)
    relearned = Model(estimate=estimate, **settings_).fit(new, drawn)
    assert (relearned.predict(X) == model.predict(X)).mean() > 0.9


def test_samples_of_a_length():
    X, y = counts(classes=2)
    model = MultinomialNB(oov=True, rare=15).fit(X, y)
    assert model.oov_.any()
    new, _ = model.sample(50, random_state=0, length=100)
    assert (new.sum(axis=1) == 100).all()
    assert (model.sample(3, length=0)[0] == 0).all()
    with pytest.raises(DataError, match="n must be a whole number from 1, got 0"):
        model.sample(0)
    with pytest.raises(DataError, match="length must be a whole number from 0"):
        model.sample(2, length=-1)
    from sklearn.exceptions import NotFittedError

    for Model in FAMILY:
        with pytest.raises(NotFittedError):
            Model().sample(2)


# ---- extremes


def test_probabilities_of_1e_300():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1])
    weight = [1.0, 1e-300, 1.0]
    for Model, rows, new in (
        (MultinomialNB, X, [[0.0, 1.0]]),
        (BernoulliNB, X[:, 1:], [[1.0]]),
        (CategoricalNB, X[:, 1:], [[1.0]]),
    ):
        model = Model(estimate="mle").fit(rows, y, sample_weight=weight)
        joint = model.predict_joint_log_proba(new)[0]
        assert joint[0] == pytest.approx(math.log(0.5) + math.log(1e-300))
        assert joint[1] == -np.inf
        assert model.predict_proba(new).tolist() == [[1.0, 0.0]]
    small = MultinomialNB(1e-300).fit(X, y)
    assert np.exp(small.feature_log_prob_[1, 1]) == pytest.approx(1e-300)
    assert small.predict([[0, 1], [0, 1000]]).tolist() == [0, 0]
    joint = small.predict_joint_log_proba([[0, 1_000_000]])
    assert joint[0, 1] == pytest.approx(math.log(1 / 3) + 1e6 * math.log(1e-300), rel=1e-12)
    prior = MultinomialNB(class_prior=[1e-300, 1.0]).fit(X, y)
    assert prior.predict_proba([[0, 0]])[0, 0] == pytest.approx(1e-300)
    assert prior.predict_log_proba([[0, 0]])[0, 0] == pytest.approx(math.log(1e-300))


@every_member
def test_one_class(Model):
    with pytest.raises(DataError, match=f"{Model.__name__} needs rows of two classes or more; got 1 class"):
        Model().fit([[1, 2], [2, 1]], ["a", "a"])
    with pytest.raises(DataError, match=f"{Model.__name__} needs two classes or more; got 1 class"):
        Model().partial_fit([[1, 2], [2, 1]], ["a", "a"], classes=["a"])
    with pytest.raises(DataError, match="classes must be passed on the first call"):
        Model().partial_fit([[1, 2], [2, 1]], ["a", "a"])


@every_estimate
@every_member
def test_empty_rows(Model, estimate):
    X, y = data_for(Model, 3)
    X[:3] = 0.0
    model = Model(estimate=estimate).fit(X, y)
    P = model.predict_proba(np.zeros((2, X.shape[1])))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    if Model is MultinomialNB:
        np.testing.assert_allclose(P[0], np.exp(model.class_log_prior_))


def test_gaussian_far_away():
    """Where a bell curve underflows its logarithm does not; where that overflows too, the prior answers."""
    model = GaussianNB().fit([[0.0], [1.0], [10.0], [12.0], [11.0]], list("aabbb"))
    assert model.predict([[1e5], [-1e150]]).tolist() == ["b", "b"]  # the wider curve
    assert model.predict([[1e300]]).tolist() == ["b"]
    heavy = GaussianNB(estimate="predictive").fit([[0.0], [1.0], [10.0], [12.0], [11.0]], list("aabbb"))
    P = heavy.predict_proba([[1e300], [-1e300]])
    assert np.isfinite(P).all()
    assert (P[:, 0] > 0.99).all()  # fewer rows, heavier tails


def test_members_agree_where_they_are_the_same():
    """Two values are a coin: categorical with two values is Bernoulli."""
    X, y = counts()
    X = np.minimum(X, 1)
    X[0, 2] = 1
    for estimate, alpha in itertools.product(ESTIMATES, (1.0, 2.5)):
        a, b = BernoulliNB(alpha, estimate=estimate).fit(X, y), CategoricalNB(alpha, estimate=estimate).fit(X, y)
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-9)
