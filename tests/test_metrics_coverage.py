"""Do 95 % intervals hold the truth 95 times in 100? Worlds whose true scores are known, sampled again and again."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from linnet.evaluate import evaluate, evaluate_multilabel, paired_bootstrap
from linnet.evaluate.significance import paired_t
from linnet.tuning.search import corrected


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


def printed(result):
    """Return every score that is printed with an interval: means, classes, areas, orders, cells."""
    found = {name: (value, result.averages_intervals[name]) for name, value in result.averages.items()}
    found |= {name: result.score(name) for name in ("log_loss", "brier", "roc_area", "pr_area")}
    found |= {f"top {t.k}": (t.accuracy, t.interval) for t in result.top_k} | (result.ordinal or {})
    for one, areas in zip(result.per_class, result.areas, strict=True):
        scores = {
            name: (getattr(one, name), getattr(one, f"{name}_interval")) for name in ("precision", "recall", "f1")
        }
        scores |= {name: (area.value, area.interval) for name, area in zip(("roc", "pr"), areas, strict=True)}
        found |= {f"{name} of {one.label}": score for name, score in scores.items()}
    share = result.confusion[0, 1] / result.confusion[0].sum()
    return found | {"confusion": (share, result.confusion_interval(0, 1))}


def coverage(n, k, scale, scores, repeats, draws=300, **truth):
    large = evaluate(*world(10**6, 1_000_000, k, scale), range(k), draws=2)
    truth = {name: value for name, (value, _) in scores(large).items()} | truth
    hits = dict.fromkeys(truth, 0)
    for seed in range(repeats):
        for name, (_, (low, high)) in scores(evaluate(*world(seed, n, k, scale), range(k), draws=draws)).items():
            hits[name] += low <= truth[name] <= high
    return {name: hit / repeats for name, hit in hits.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k", "scale"), [(300, 2, 1.5), (600, 4, 1.0)])
def test_intervals_hold_the_truth(n, k, scale):
    shares = coverage(n, k, scale, printed, 1500)
    wrong = {name: share for name, share in shares.items() if not 0.93 <= share <= 0.97}
    assert not wrong, wrong


@pytest.mark.slow
@pytest.mark.parametrize(("n", "candidates", "spread"), [(400, 12, 0.01), (1000, 4, 0.02)])
def test_what_tune_says_to_expect(n, candidates, spread):
    """The score of new rows of the candidate that was chosen among several by the rows of the interval."""
    hits, repeats = 0, 400
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n])
        accuracy = 0.8 + spread * rng.normal(size=candidates)
        y, hard = rng.integers(0, 2, n), rng.random(n)  # rows that are hard for one are hard for most
        luck = np.where(rng.random((candidates, n)) < 0.7, hard, rng.random((candidates, n)))
        answers = [np.where(one < a, y, 1 - y) for one, a in zip(luck, accuracy, strict=True)]
        low, high = corrected("accuracy", np.arange(n), y, answers, 2, seed=seed).interval
        hits += low <= accuracy[int(np.argmax([np.mean(one == y) for one in answers]))] <= high
    assert 0.93 <= hits / repeats <= 0.97


@pytest.mark.slow
def test_intervals_of_paired_differences():
    """The paired t-test of scores of rows, and the paired bootstrap of predictions."""
    hits, repeats = np.zeros(2), 600
    for seed in range(repeats):
        rng = np.random.default_rng([seed, 5])
        hard = rng.normal(size=300)
        a, b = (hard + rng.normal(size=300) < level for level in (1.0, 0.7))
        tests = (paired_t(a, b), paired_bootstrap(np.ones(300), a, b, draws=300, seed=seed))
        gap = NormalDist(0, 2**0.5).cdf(1.0) - NormalDist(0, 2**0.5).cdf(0.7)
        hits += [low <= gap <= high for low, high in (test.interval for test in tests)]
    assert all(0.93 <= share <= 0.97 for share in hits / repeats), hits / repeats


def labels_world(seed, n):
    """Three labels that hang together, and predictions that err together."""
    rng = np.random.default_rng([seed, 99])
    topic = rng.normal(size=(n, 1))
    T = topic + rng.normal(size=(n, 3)) > [0.0, 0.7, 1.2]
    return T, T ^ (topic + rng.normal(size=(n, 3)) > 1.5)


@pytest.mark.slow
def test_multilabel_intervals_hold_the_truth():
    names = ("subset_accuracy", "hamming_loss", "micro_precision", "micro_recall", "micro_f1", "macro_f1", "weighted_f1",
             "samples_f1", "precision_at_1", "precision_at_3")  # fmt: skip

    def judged(seed, n):
        T, P = labels_world(seed, n)
        return evaluate_multilabel(T, P, proba=P + np.random.default_rng(seed).random(P.shape))

    large, hits = judged(10**6, 1_000_000), dict.fromkeys(names, 0)
    for seed in range(1000):
        for name, (_, (low, high)) in judged(seed, 300).scores.items():
            hits[name] += low <= getattr(large, name) <= high
    shares = {name: hit / 1000 for name, hit in hits.items()}
    assert all(0.93 <= share <= 0.97 for share in shares.values()), shares
