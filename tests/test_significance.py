"""Paired tests against scipy and hand-computed numbers, and by simulation where both classifiers are equally good."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from linnet.errors import DataError
from linnet.evaluate import corrected_t, holm, mcnemar, paired_bootstrap


def rows(both, only_a, only_b, neither):
    """Whether a and b are right, for so many rows of each kind."""
    a = [True] * (both + only_a) + [False] * (only_b + neither)
    b = [True] * both + [False] * only_a + [True] * only_b + [False] * neither
    return np.array(a), np.array(b)


# ---- McNemar


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 9))
def test_exact_mcnemar_is_the_binomial_test(only_a, only_b, both):
    found = mcnemar(*rows(both, only_a, only_b, 3), exact=True)
    n = only_a + only_b
    expected = stats.binomtest(only_a, n, 0.5).pvalue if n else 1.0
    assert found.p == pytest.approx(expected, abs=1e-12)
    assert found.difference == pytest.approx((only_a - only_b) / (n + both + 3))


@given(st.integers(0, 500), st.integers(13, 500))
def test_chi_square_mcnemar(only_a, only_b):
    """The formula of statsmodels: (|b - c| - 1)^2 / (b + c), upper tail of chi-square with one degree of freedom."""
    found = mcnemar(*rows(5, only_a, only_b, 3), exact=False)
    statistic = (abs(only_a - only_b) - 1) ** 2 / (only_a + only_b)
    assert found.statistic == pytest.approx(statistic)
    assert found.p == pytest.approx(stats.chi2.sf(statistic, 1), abs=1e-10)


def test_mcnemar_reference_values():
    """86 against 150 rows: 63^2 / 236 = 16.8178, whose upper tail in a table of chi-square is 0.0000411."""
    found = mcnemar(*rows(794, 150, 86, 570))
    assert found.statistic == pytest.approx(3969 / 236, abs=1e-12)
    assert found.p == pytest.approx(4.114562e-05, rel=1e-5)
    assert found.test == "McNemar, chi-square"
    few = mcnemar(*rows(10, 6, 1, 3))
    assert few.test == "McNemar, exact"
    assert few.p == pytest.approx(2 * (1 + 7) / 2**7)


def test_exact_mcnemar_of_many_rows():
    for only_a, only_b in ((480, 521), (520, 520), (700, 301), (5000, 5300)):
        expected = stats.binomtest(only_a, only_a + only_b, 0.5).pvalue
        assert mcnemar(*rows(5, only_a, only_b, 3), exact=True).p == pytest.approx(expected, rel=1e-9)


def test_which_mcnemar_depends_on_the_rows_that_differ():
    assert mcnemar(*rows(1000, 12, 12, 0)).test == "McNemar, exact"
    assert mcnemar(*rows(1000, 13, 12, 0)).test == "McNemar, chi-square"


def test_mcnemar_of_equals_and_of_opposites():
    assert mcnemar(*rows(50, 0, 0, 50)).p == 1.0
    assert mcnemar(*rows(50, 0, 0, 50), exact=False).p == 1.0
    assert mcnemar(*rows(0, 1000, 0, 0)).p < 1e-200


@pytest.mark.parametrize("pair", [([], []), ([True], [True, False]), ([[True]], [[True]])])
def test_pairs_must_be_of_the_same_rows(pair):
    with pytest.raises(DataError, match="same rows"):
        mcnemar(*pair)


# ---- the bootstrap


@pytest.mark.parametrize("metric", ["accuracy", "macro-f1"])
def test_paired_bootstrap_measures_what_sklearn_does(metric):
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 400)
    a = np.where(rng.random(400) < 0.8, truth, rng.integers(0, 3, 400))
    b = np.where(rng.random(400) < 0.7, truth, rng.integers(0, 4, 400))
    found = paired_bootstrap(truth, a, b, metric=metric)

    def score(rows, answers):
        if metric == "accuracy":
            return float(np.mean(truth[rows] == answers[rows]))
        return f1_score(truth[rows], answers[rows], average="macro", zero_division=0)

    everything = np.arange(400)
    assert found.difference == pytest.approx(score(everything, a) - score(everything, b), abs=1e-12)
    drawn = [score(r, a) - score(r, b) for r in rng.integers(0, 400, (1000, 400))]  # the plain way: rows
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert found.interval == pytest.approx((low, high), abs=0.012)
    assert found.statistic == pytest.approx(np.std(drawn), rel=0.12)


def test_paired_bootstrap_is_seeded_and_takes_any_labels():
    truth, a, b = ["x", "y", "x", "y"] * 20, ["x", "y", "x", "x"] * 20, ["x"] * 80
    one, two = paired_bootstrap(truth, a, b, seed=5), paired_bootstrap(truth, a, b, seed=5)
    assert one == two
    assert paired_bootstrap(truth, a, b, seed=6).interval != one.interval or one.p == 2 / 2001
    assert paired_bootstrap(truth, a, a).p == 1.0
    assert paired_bootstrap(truth, b, a).difference == -one.difference
    with pytest.raises(DataError, match="did you mean 'macro-f1'"):
        paired_bootstrap(truth, a, b, metric="macro_f1")


# ---- the corrected t-test


@given(st.lists(st.floats(-0.1, 0.1), min_size=2, max_size=30), st.integers(2, 20))
@settings(deadline=None)
def test_without_the_correction_it_is_the_t_test(differences, folds):
    """n_held / n_train next to nothing leaves the plain one-sample t-test."""
    if np.std(differences) < 1e-6:
        return
    found = corrected_t(differences, 1e18, 1)
    plain = stats.ttest_1samp(differences, 0.0)
    assert found.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert found.p == pytest.approx(plain.pvalue, rel=1e-8)
    low, high = plain.confidence_interval(0.95)
    assert found.interval == pytest.approx((low, high), abs=1e-10)
    fold = corrected_t(differences, folds - 1, 1)
    shrunk = np.sqrt((1 / len(differences)) / (1 / len(differences) + 1 / (folds - 1)))
    assert fold.statistic == pytest.approx(plain.statistic * shrunk, rel=1e-9)


def test_corrected_t_by_hand():
    """mean 0.02, variance 0.00005, (1/5 + 1/4) 0.00005 = 0.0000225, t = 0.02 / 0.0047434."""
    found = corrected_t([0.02, 0.01, 0.03, 0.02, 0.02], 800, 200)
    assert found.statistic == pytest.approx(4.2163702135578, abs=1e-10)
    assert found.p == pytest.approx(2 * stats.t.sf(4.2163702135578, 4), abs=1e-12)


def test_corrected_t_where_every_fold_is_the_same():
    assert corrected_t([0.0, 0.0, 0.0], 2, 1).p == 1.0
    assert corrected_t([0.1, 0.1, 0.1], 2, 1).p == 0.0
    with pytest.raises(DataError, match="two folds"):
        corrected_t([0.1], 2, 1)


# ---- several comparisons


def test_holm_by_hand():
    assert holm([0.01, 0.02, 0.03, 0.5]).tolist() == pytest.approx([0.04, 0.06, 0.06, 0.5])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []
    with pytest.raises(DataError, match="from 0 to 1"):
        holm([1.5])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_the_p_values_and_bonferroni(p):
    raised = holm(p)
    assert (raised >= p).all()
    assert (raised <= np.minimum(1, np.array(p) * len(p)) + 1e-15).all()
    assert (np.diff(raised[np.argsort(p, kind="stable")]) >= 0).all()


# ---- equally good classifiers are told apart in 5 of 100 trials


def equals(rng, n, agree=0.7):
    """Two classifiers that are right on 80 % of the rows each, and agree more often than chance."""
    shared = rng.random(n) < agree
    common = rng.random(n) < 0.8
    return np.where(shared, common, rng.random(n) < 0.8), np.where(shared, common, rng.random(n) < 0.8)


def test_false_alarms_of_mcnemar_and_bootstrap():
    rng = np.random.default_rng(1)
    trials = [equals(rng, 600) for _ in range(1500)]
    chi = np.mean([mcnemar(a, b).p < 0.05 for a, b in trials])
    assert 0.025 < chi < 0.06  # the continuity correction errs on the safe side
    exact = np.mean([mcnemar(a[:120], b[:120], exact=True).p < 0.05 for a, b in trials])
    assert 0.01 < exact < 0.06
    ones = np.ones(600, dtype=bool)
    drawn = [paired_bootstrap(ones, a, b, draws=400, seed=k) for k, (a, b) in enumerate(trials[:700])]
    assert 0.03 < np.mean([found.p < 0.05 for found in drawn]) < 0.075
    covered = np.mean([found.interval[0] <= 0 <= found.interval[1] for found in drawn])
    assert 0.925 < covered < 0.975


def test_the_correction_keeps_false_alarms_low_where_folds_share_their_training_rows():
    """Ridge against ridge with another feature set of the same use: 5 x 2 folds; the plain t-test finds too much."""
    rng = np.random.default_rng(2)
    plain, corrected = [], []
    for _ in range(300):
        n = 60
        X, Z = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
        y = X[:, 0] + Z[:, 0] + rng.normal(size=n)
        differences = []
        for _ in range(10):
            order = rng.permutation(n)
            train, held = order[:48], order[48:]
            loss = []
            for M in (X, Z):
                w = np.linalg.solve(M[train].T @ M[train] + np.eye(3), M[train].T @ y[train])
                loss.append(np.mean((y[held] - M[held] @ w) ** 2))
            differences.append(loss[0] - loss[1])
        plain.append(stats.ttest_1samp(differences, 0.0).pvalue < 0.05)
        corrected.append(corrected_t(differences, 48, 12).p < 0.05)
    assert np.mean(plain) > 0.15
    assert np.mean(corrected) < 0.11


def test_holm_keeps_the_chance_of_any_false_alarm():
    rng = np.random.default_rng(3)
    raised = [holm(rng.random(10)).min() < 0.05 for _ in range(2000)]
    assert 0.035 < np.mean(raised) < 0.065
