"""Averages, areas, top k, calibration and multi-label scores against scikit-learn and scipy; what is undefined."""

from __future__ import annotations

import json
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap
from sklearn import metrics as sk

from linnet.errors import DataError
from linnet.evaluate import evaluate, evaluate_multilabel, jackknife_interval, mean_interval, wilson
from linnet.evaluate.metrics import calibration_bins, calibration_by_chance, calibration_error

EXACT = {"rel": 1e-10, "abs": 1e-12}


def sample(seed, n, k, ties=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    scores = rng.normal(size=(n, k))
    scores[np.arange(n), y] += 1.2
    if ties:
        scores = np.round(scores)
    P = np.exp(scores)
    return y, P / P.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("n", "k"), [(30, 2), (400, 2), (60, 3), (500, 7)])
def test_areas_are_those_of_scikit_learn(n, k, ties):
    y, P = sample(n, n, k, ties)
    result = evaluate(y, P, range(k))
    one_hot = np.eye(k)[y]
    for c, (roc, pr) in enumerate(result.areas):
        assert roc.value == pytest.approx(sk.roc_auc_score(one_hot[:, c], P[:, c]), **EXACT)
        assert pr.value == pytest.approx(sk.average_precision_score(one_hot[:, c], P[:, c]), **EXACT)
        for area in (roc, pr):
            assert area.interval[0] <= area.value <= area.interval[1]
            assert area.influence.sum() == pytest.approx(0, abs=1e-12)  # the scale of the weights does not matter
    if k == 2:
        assert result.roc_area == pytest.approx(sk.roc_auc_score(y, P[:, 1]), **EXACT)
        assert result.pr_area == pytest.approx(sk.average_precision_score(y, P[:, 1]), **EXACT)
    else:
        assert result.roc_area == pytest.approx(sk.roc_auc_score(y, P, multi_class="ovr"), **EXACT)
        assert result.pr_area == pytest.approx(sk.average_precision_score(one_hot, P), **EXACT)


def test_influence_is_the_derivative():
    y, P = sample(3, 40, 2, ties=True)
    roc, pr = evaluate(y, P, [0, 1]).areas[1]
    step = 1e-6
    for row in range(0, 40, 7):
        weight = np.ones(40)
        weight[row] += step
        up = (
            sk.roc_auc_score(y, P[:, 1], sample_weight=weight),
            sk.average_precision_score(y, P[:, 1], sample_weight=weight),
        )
        assert roc.influence[row] == pytest.approx((up[0] - roc.value) / step, abs=1e-6)
        assert pr.influence[row] == pytest.approx((up[1] - pr.value) / step, abs=1e-6)


def test_areas_where_they_are_undefined():
    result = evaluate([0, 0, 1], [[0.8, 0.1, 0.1], [0.6, 0.2, 0.2], [0.3, 0.4, 0.3]], [0, 1, 2])
    assert result.areas[2] is None
    assert result.roc_area == 1.0
    assert result.roc_area_interval == wilson(1, 1)  # nothing to go by but one row
    assert result.to_dict()["per_class"][2]["pr_area"] is None
    alone = evaluate([0, 0], [[0.8, 0.2], [0.6, 0.4]], [0, 1])
    assert alone.roc_area is None
    assert "ROC area undefined" in alone.to_text()
    assert evaluate([0, 1], [0, 1], [0, 1]).roc_area is None
    unknown = evaluate([0, 1, 7, 7], [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.4, 0.6]], [0, 1])
    assert unknown.roc_area == pytest.approx(sk.roc_auc_score([0, 1, 0, 0], [0.1, 0.8, 0.5, 0.6]))


@pytest.mark.parametrize("k", [3, 5, 12])
def test_top_k_is_that_of_scikit_learn(k):
    y, P = sample(k, 300, k)
    result = evaluate(y, P, range(k))
    assert [t.k for t in result.top_k] == [t for t in (2, 3, 5, 10) if t < k]
    for t in result.top_k:
        assert t.accuracy == pytest.approx(sk.top_k_accuracy_score(y, P, k=t.k, labels=range(k)), **EXACT)
        assert t.interval == wilson(round(t.accuracy * 300), 300)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_averages_are_those_of_scikit_learn(data):
    k = data.draw(st.integers(1, 5))
    y = data.draw(st.lists(st.integers(0, k + 1), min_size=1, max_size=15))
    guess = data.draw(st.lists(st.integers(0, k - 1), min_size=len(y), max_size=len(y)))
    result = evaluate(y, guess, range(k), draws=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("macro", "weighted"):
            for name, score in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
                expected = score(y, guess, average=kind, zero_division=0)
                assert result.averages[f"{kind}_{name}"] == pytest.approx(expected, **EXACT)
                low, high = result.averages_intervals[f"{kind}_{name}"]
                assert 0 <= low <= high <= 1
    assert result.averages["macro_f1"] == pytest.approx(result.macro_f1, **EXACT)
    assert result.averages["balanced_accuracy"] == pytest.approx(result.balanced_accuracy, **EXACT)


def test_interval_of_a_mean_is_that_of_bca():
    values = np.random.default_rng(0).exponential(size=300)
    expected = scipy_bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", vectorized=True, rng=np.random.default_rng(1)
    ).confidence_interval
    assert mean_interval(values, 0.0, 36.0) == pytest.approx((expected.low, expected.high), abs=0.006)
    assert mean_interval([0.3], 0.0, 1.0) == (0.0, 1.0)
    assert mean_interval([0.3, 0.3], 0.0, 1.0) == (0.3, 0.3)
    assert mean_interval([0.0, 1.0], 0.0, 1.0)[1] <= 1.0


def test_jackknife_interval_of_a_share_is_near_wilson():
    hits = np.r_[np.ones(80), np.zeros(20)]
    assert jackknife_interval(0.8, (hits - 0.8) / 100, 100) == pytest.approx(wilson(80, 100), abs=0.005)
    assert jackknife_interval(1.0, np.zeros(10), 10) == wilson(10, 10)
    assert jackknife_interval(0.0, np.zeros(10), 10) == wilson(0, 10)


def test_the_calibration_error_of_a_calibrated_model_is_chance():
    rng, below = np.random.default_rng(0), 0
    for seed in range(300):
        confidence = rng.uniform(0.5, 1.0, 500)
        bins = calibration_bins(rng.uniform(size=500) < confidence, confidence)
        below += calibration_error(bins) <= calibration_by_chance(bins, draws=500, seed=seed)
    assert 0.93 <= below / 300 <= 0.97
    boaster = calibration_bins(rng.uniform(size=500) < confidence - 0.2, confidence)
    assert calibration_error(boaster) > 2 * calibration_by_chance(boaster)
    assert sum(b.size for b in calibration_bins(np.ones(3, bool), np.array([0.5, 0.6, 0.7]))) == 3


def test_confusion_interval():
    result = evaluate(["a"] * 10 + ["x"] * 4, ["a"] * 7 + ["b"] * 3 + ["b"] * 4, ["a", "b"])
    assert result.confusion_interval(0, 1) == wilson(3, 10)
    assert result.confusion_interval(2, 1) == wilson(4, 4)  # a label that the classifier does not know


def test_a_hundred_thousand_rows_take_seconds():
    y, P = sample(0, 100_000, 4)
    start = time.process_time()
    found = evaluate(y, P, range(4)).to_dict()
    assert time.process_time() - start < 10  # generous: other work may share the machine
    assert found["log_loss_interval"][0] < found["log_loss"] < found["log_loss_interval"][1]


# ---- several labels


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_multilabel_scores_are_those_of_scikit_learn(data):
    n, k = data.draw(st.integers(1, 12)), data.draw(st.integers(2, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    T, P = rng.integers(0, 2, (n, k)), rng.integers(0, 2, (n, k)) * rng.integers(0, 2, (1, k))
    found = evaluate_multilabel(T, P)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found.subset_accuracy == pytest.approx(sk.accuracy_score(T, P), **EXACT)
        assert found.hamming_loss == pytest.approx(sk.hamming_loss(T, P), **EXACT)
        for kind in ("micro", "macro", "weighted", "samples"):
            expected = sk.f1_score(T, P, average=kind, zero_division=0)
            assert getattr(found, f"{kind}_f1") == pytest.approx(expected, **EXACT)
            low, high = getattr(found, f"{kind}_f1_interval")
            assert 0 <= low <= high <= 1
        assert found.micro_precision == pytest.approx(
            sk.precision_score(T, P, average="micro", zero_division=0), **EXACT
        )
        assert found.micro_recall == pytest.approx(sk.recall_score(T, P, average="micro", zero_division=0), **EXACT)
        f1 = sk.f1_score(T, P, average=None, zero_division=0)
    assert [one.f1 for one in found.per_label] == pytest.approx(f1.tolist(), **EXACT)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["n"] == n


def test_multilabel_errors():
    with pytest.raises(DataError, match="one shape"):
        evaluate_multilabel([[1, 0]], [[1, 0, 1]])
    with pytest.raises(DataError, match="indicator matrix of 0 and 1"):
        evaluate_multilabel([[1, 2]], [[1, 0]])
    with pytest.raises(DataError, match="2 columns but 1 labels"):
        evaluate_multilabel([[1, 0]], [[1, 0]], ["a"])


def test_multilabel_takes_sparse_matrices():
    from scipy.sparse import csr_matrix

    assert evaluate_multilabel(csr_matrix([[1, 0], [0, 1]]), [[1, 0], [0, 1]]).subset_accuracy == 1.0
