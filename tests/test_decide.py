"""Calibration and the stable functions under it."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.model import calibration as decide
from linnet.model.calibration import MIN_SCALE, Calibration
from linnet.solvers import losses as numerics

ODD = [-np.inf, -1e308, -1000.0, -50.0, -1.0, -1e-20, 0.0, 1e-20, 1.0, 50.0, 1000.0, 1e308]


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def close(got, expected, dtype):
    tolerance = 1e-6 if dtype == np.float32 else 1e-14
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=0 if dtype == np.float64 else 1e-45)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sigmoid_against_scipy(dtype):
    with np.errstate(over="ignore"):
        x = np.concatenate([ODD, [np.inf], np.linspace(-80, 80, 401)]).astype(dtype)
    assert numerics.sigmoid(x).dtype == dtype
    assert numerics.log_sigmoid(x).dtype == dtype
    exact = scipy.special.expit(x.astype(np.float64))
    close(numerics.sigmoid(x), exact, dtype)
    close(numerics.log_sigmoid(x), scipy.special.log_expit(x.astype(np.float64)), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_against_scipy(dtype, axis):
    odd = [row for row in itertools.product(ODD, repeat=3) if np.isfinite(row).any()]
    with np.errstate(over="ignore"):
        x = np.array(odd, dtype)
    x = x[np.isfinite(x).any(axis=1) & ~np.isposinf(x).any(axis=1)]
    x = x.T.copy() if axis == 0 else x
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = scipy.special.softmax(wide, axis=axis)
        expected_log = scipy.special.log_softmax(wide, axis=axis)
        expected_sum = scipy.special.logsumexp(wide, axis=axis)
    for got, want in [
        (numerics.softmax(x, axis), expected),
        (numerics.logsumexp(x, axis), expected_sum),
        (numerics.log_softmax(x, axis), expected_log),
    ]:
        assert got.dtype == dtype
        small = 1e-6 if dtype == np.float32 else 1e-14
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(got, want.astype(dtype), rtol=small, atol=small)
    kept = numerics.logsumexp(x, axis, keepdims=True)
    np.testing.assert_array_equal(np.squeeze(kept, axis), numerics.logsumexp(x, axis))


def test_tiny_logarithms_keep_their_digits():
    assert numerics.logsumexp([0.0, -50.0]) == pytest.approx(np.exp(-50), rel=1e-14)
    assert numerics.log_softmax([0.0, -50.0])[0] == pytest.approx(-np.exp(-50), rel=1e-14)


def test_infinite_rows():
    assert numerics.logsumexp([-np.inf, -np.inf]) == -np.inf
    assert numerics.logsumexp([np.inf, 1e308]) == np.inf
    assert np.isnan(numerics.softmax([-np.inf, -np.inf])).all()
    assert np.isnan(numerics.log_softmax([-np.inf, -np.inf])).all()
    assert np.isnan(numerics.sigmoid([np.nan])).all()
    assert numerics.sigmoid(np.array([0, 3])).dtype == np.float64


# ---- calibration


def problem(seed, n, k, weighted=True):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    if k == 2:
        scores = rng.normal(size=n) * 2 + (2 * y - 1) - 0.5
    else:
        scores = rng.normal(size=(n, k)) * 1.5
        scores[np.arange(n), y] += 1.0
        scores[:, 0] += 2
    return scores, y, rng.uniform(0.2, 3, n) if weighted else np.ones(n)


def proba(fitted, scores):
    """The probabilities that a calibration stands for, (n_rows, n_classes)."""
    S = np.asarray(scores, float).reshape(len(scores), -1)
    with np.errstate(over="ignore"):
        if S.shape[1] == 1:
            z = fitted.scale * S[:, 0] + fitted.shift[0]
            return np.stack([numerics.sigmoid(-z), numerics.sigmoid(z)], axis=1)
        return numerics.softmax(fitted.scale * (S - S.max(axis=1, keepdims=True)) + fitted.shift, axis=1)


def plain_loss(theta, scores, y, w, n_classes, prior):
    """The objective of the module docstring, written down without any of its short cuts."""
    scale, shift = theta[0], np.asarray(theta[1:])
    n = len(y)
    rows = np.array([w[y == c].sum() for c in range(n_classes)])
    if scores.ndim == 1:
        z = scale * scores + shift[0]
        t = np.where(y == 1, (rows[1] + 1) / (rows[1] + 2), 1 / (rows[0] + 2))
        loss = -(t * scipy.special.log_expit(z) + (1 - t) * scipy.special.log_expit(-z))
    else:
        t = np.full((n, n_classes), 1 / (w.sum() + 2) / (n_classes - 1))
        t[np.arange(n), y] = (w.sum() + 1) / (w.sum() + 2)
        loss = -(t * scipy.special.log_softmax(scale * scores + shift, axis=1)).sum(axis=1)
    return w @ loss + prior / 2 * shift @ shift


@pytest.mark.parametrize("k", [2, 3, 7])
def test_gradient_and_hessian_against_finite_differences(k):
    scores, y, w = problem(0, 60, k)
    at = decide._one_score(scores, y, w, 0.7) if k == 2 else decide._score_a_class(scores, y, w)
    scale, shift, h = 0.6, 0.4 if k == 2 else 0.0, 1e-5
    value, (by_scale, by_shift), (h_scale, h_both, h_shift) = at(scale, shift)
    np.testing.assert_allclose(value, plain_loss([scale, shift], scores, y, w, k, 0.7), rtol=1e-10)
    up, down = at(scale + h, shift), at(scale - h, shift)
    assert by_scale == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-6, abs=1e-6)
    assert h_scale == pytest.approx((up[1][0] - down[1][0]) / (2 * h), rel=1e-5, abs=1e-5)
    if k == 2:
        assert h_both == pytest.approx((up[1][1] - down[1][1]) / (2 * h), rel=1e-5, abs=1e-5)
        up, down = at(scale, shift + h), at(scale, shift - h)
        assert by_shift == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-6, abs=1e-6)
        assert h_shift == pytest.approx((up[1][1] - down[1][1]) / (2 * h), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("shifted", [True, False])
@pytest.mark.parametrize("prior", [0.01, 1.0, 30.0])
@pytest.mark.parametrize(("n", "k"), [(40, 2), (500, 2), (90, 3), (400, 6)])
def test_optimum_against_scipy(n, k, prior, shifted):
    scores, y, w = problem(n, n, k)
    fitted = Calibration.fit(scores, y, w, prior=prior, shifted=shifted)
    ours = np.array([fitted.scale, *fitted.shift[: k == 2 and shifted]])
    assert k == 2 or not fitted.shift.any()

    def loss(theta):
        return plain_loss([theta[0], theta[1] if len(theta) > 1 else 0.0], scores, y, w, k, prior)

    best = min(
        scipy.optimize.minimize(loss, start, method=method, tol=1e-12).fun
        for method in ("BFGS", "L-BFGS-B", "Nelder-Mead")
        for start in (np.r_[1.0, np.zeros(len(ours) - 1)], ours)
    )
    assert loss(ours) <= best + 1e-8
    again = Calibration.fit(scores, y, w, prior=prior, shifted=shifted, start=3.0 * fitted.scale)
    assert again.scale == pytest.approx(fitted.scale, rel=1e-7)


def test_equals_platt_of_scikit_learn():
    calibration = pytest.importorskip("sklearn.calibration")
    for seed, weighted in itertools.product(range(5), [False, True]):
        scores, y, w = problem(seed, 80, 2, weighted)
        theirs = calibration._SigmoidCalibration().fit(scores, y, sample_weight=w if weighted else None)
        ours = Calibration.fit(scores, y, w if weighted else None, prior=0.0)
        np.testing.assert_allclose([ours.scale, ours.shift[0]], [-theirs.a_, -theirs.b_], atol=2e-5)


def test_platt_by_hand():
    # Two rows per class at -1 and 1, symmetric, so the shift is 0. One of three is misplaced: at s = 1 stand two
    # rows of class 1 (target 3 / 4) ... with targets 4/5 (three rows) and 1/5 the mean target at s = 1 is
    # (2 * 4/5 + 1/5) / 3 = 3/5, so sigmoid(scale) = 3/5 and scale = log(3/2).
    scores = np.array([1, 1, -1, -1, -1, 1])
    fitted = Calibration.fit(scores, np.array([1, 1, 1, 0, 0, 0]))
    assert fitted.scale == pytest.approx(np.log(1.5), abs=1e-9)
    assert fitted.shift[0] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(proba(fitted, [1.0]), [[0.4, 0.6]], atol=1e-9)


def test_separated_rows_give_a_finite_answer():
    n = 100
    scores = np.r_[np.full(n, -1.0), np.full(n, 1.0)]
    y = np.repeat([0, 1], n)
    p = proba(Calibration.fit(scores, y, prior=0.0), scores)
    np.testing.assert_allclose(p[np.arange(2 * n), y], (n + 1) / (n + 2), atol=1e-9)  # the rule of succession
    several = np.eye(4)[np.arange(n) % 4] * 5
    p = proba(Calibration.fit(several, np.arange(n) % 4), several)
    np.testing.assert_allclose(p.max(axis=1), (n + 1) / (n + 2), atol=1e-9)


def test_class_without_rows_can_still_be_the_answer():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    scores = rng.normal(size=(300, 4)) + 3 * np.eye(4)[y]
    fitted = Calibration.fit(scores, y)
    assert proba(fitted, [[0.0, 0.0, 0.0, 9.0]]).argmax() == 3
    one = Calibration.fit(rng.normal(size=50) + 1, np.ones(50, int))
    assert np.isfinite(proba(one, [-3.0])).all()


def test_scale_stays_positive_when_scores_mislead():
    scores = np.linspace(-1, 1, 50)
    fitted = Calibration.fit(scores, (scores < 0).astype(int))
    assert fitted.scale == pytest.approx(MIN_SCALE / np.sqrt(np.mean(scores**2)))
    many = np.random.default_rng(0).normal(size=(60, 3))
    assert Calibration.fit(many, many.argmin(axis=1)).scale > 0


def test_weights_are_repeated_rows_and_order_does_not_matter():
    scores, y, _ = problem(3, 50, 3)
    w = np.random.default_rng(0).integers(0, 4, 50)
    once = Calibration.fit(scores, y, w)
    again = Calibration.fit(np.repeat(scores, w, axis=0)[::-1], np.repeat(y, w)[::-1])
    np.testing.assert_allclose(np.r_[once.scale, once.shift], np.r_[again.scale, again.shift], rtol=1e-7, atol=1e-9)


def test_units_of_the_scores_do_not_matter():
    for k in (2, 3):
        scores, y, _ = problem(4, 80, k)
        plain = proba(Calibration.fit(scores, y), scores)
        for unit in (1e-100, 1e5, 1e300):
            np.testing.assert_allclose(proba(Calibration.fit(scores * unit, y), scores * unit), plain, atol=1e-9)


def test_many_classes_are_fast_enough():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 300, 2000)
    scores = rng.normal(size=(2000, 300))
    scores[np.arange(2000), y] += 4
    fitted = Calibration.fit(scores, y)
    assert abs(decide._score_a_class(scores, y, np.ones(2000))(fitted.scale, 0.0)[1][0]) < 1e-6


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_finite_scores_give_probabilities(data):
    k = data.draw(st.integers(2, 4))
    columns = 1 if k == 2 and data.draw(st.booleans()) else k
    n = data.draw(st.integers(1, 8))
    numbers = st.floats(-1e300, 1e300) | st.sampled_from([0.0, 1.0, -1.0, 1e-310, 1.7e308, -1.7e308])
    scores = np.array(data.draw(st.lists(numbers, min_size=n * columns, max_size=n * columns))).reshape(n, columns)
    y = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
    fitted = Calibration.fit(scores, y)
    p = proba(fitted, scores)
    assert p.shape == (n, k)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
