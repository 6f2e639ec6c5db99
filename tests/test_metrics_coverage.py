"""Do 95 % intervals hold the truth 95 times in 100? Worlds whose true scores are known, sampled again and again."""

from __future__ import annotations

import numpy as np
import pytest

from linnet.evaluate import evaluate, evaluate_multilabel

NAMES = ("accuracy", "macro_precision", "macro_recall", "macro_f1", "weighted_precision", "weighted_f1",
         "balanced_accuracy", "log_loss", "brier", "roc_area", "pr_area")  # fmt: skip


def world(seed, n, k, scale):
    """Rows of known difficulty; scale 1 claims what it keeps, above 1 it claims too much."""
    rng = np.random.default_rng([seed, k])
    prior = np.array([0.4, 0.3, 0.2, 0.1])[:k]
    prior = prior / prior.sum()
    y = rng.choice(k, n, p=prior)
    scores = rng.normal(size=(n, k))
    scores[np.arange(n), y] += 1.4
    z = scale * (1.4 * scores + np.log(prior))
    P = np.exp(z - z.max(axis=1, keepdims=True))
    return y, P / P.sum(axis=1, keepdims=True)


def found(result, name):
    if name in result.averages:
        return result.averages[name], result.averages_intervals[name]
    return getattr(result, name), getattr(result, f"{name}_interval")


def coverage(n, k, scale, names, repeats, draws=300):
    y, P = world(10**6, 1_000_000, k, scale)
    large = evaluate(y, P, range(k))
    truth = {name: found(large, name)[0] if name in large.averages else getattr(large, name) for name in names}
    if scale == 1:
        truth["calibration_error"] = 0.0
    hits = dict.fromkeys(names, 0)
    for seed in range(repeats):
        result = evaluate(*world(seed, n, k, scale), range(k), draws=draws)
        for name in names:
            low, high = found(result, name)[1]
            hits[name] += low <= truth[name] <= high
    return {name: hit / repeats for name, hit in hits.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k", "scale"), [(300, 2, 1.5), (600, 4, 1.0)])
def test_intervals_hold_the_truth(n, k, scale):
    shares = coverage(n, k, scale, NAMES, 2000)
    wrong = {name: share for name, share in shares.items() if not 0.93 <= share <= 0.97}
    assert not wrong, shares


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k", "scale"), [(1000, 2, 1.0), (1000, 4, 1.6), (2000, 2, 0.6)])
def test_interval_of_the_calibration_error(n, k, scale):
    """The boundary at 0 and the estimated shape of the gaps make this one less exact: 92 to 99."""
    share = coverage(n, k, scale, ("calibration_error",), 600)["calibration_error"]
    assert 0.92 <= share <= 0.99


def labels_world(seed, n):
    """Three labels that hang together, and predictions that err together."""
    rng = np.random.default_rng([seed, 99])
    topic = rng.normal(size=(n, 1))
    T = topic + rng.normal(size=(n, 3)) > [0.0, 0.7, 1.2]
    return T, T ^ (topic + rng.normal(size=(n, 3)) > 1.5)


@pytest.mark.slow
def test_multilabel_intervals_hold_the_truth():
    names = ("subset_accuracy", "hamming_loss", "micro_precision", "micro_recall", "micro_f1", "macro_f1", "weighted_f1",
             "samples_f1")  # fmt: skip
    large = evaluate_multilabel(*labels_world(10**6, 1_000_000))
    hits = dict.fromkeys(names, 0)
    for seed in range(2000):
        result = evaluate_multilabel(*labels_world(seed, 300))
        for name in names:
            low, high = getattr(result, f"{name}_interval")
            hits[name] += low <= getattr(large, name) <= high
    shares = {name: hit / 2000 for name, hit in hits.items()}
    assert all(0.93 <= share <= 0.97 for share in shares.values()), shares
