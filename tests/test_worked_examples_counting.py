"""The notes' own numbers for the models that count: smoothing, underflow, reviews, vectors, coins, mind readers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from linnet.features import Vectorizer, Words
from linnet.models import BernoulliNB, CategoricalNB, MultinomialNB, WordVotes
from linnet.solvers.matrix import Matrix

VOCABULARY = ("blue", "red", "dog", "cat", "biscuit", "apple")


def test_add_one_smoothing():
    """10,000 words in the class, 500 known words: one never seen in it and one never seen at all both get 1 / 10,501."""
    X = np.zeros((2, 501))
    X[0, :499] = 1.0
    X[0, 0] += 10_000 - 499
    X[1, 499] = 3.0  # 'amazing': known from the other class only; column 500, 'blargh', was never seen
    assert X[0].sum() == 10_000
    assert (X.sum(axis=0) > 0).sum() == 500
    model = MultinomialNB(oov=True).fit(X, ["negative", "positive"])
    assert np.exp(model.feature_log_prob_[0, 499]) == pytest.approx(1 / 10_501, rel=1e-14)
    assert np.exp(model.feature_log_prob_[0, 500]) == pytest.approx(1 / 10_501, rel=1e-14)
    assert np.exp(model.oov_log_prob_[0]) == pytest.approx(1 / 10_501, rel=1e-14)
    without = MultinomialNB(estimate="mle").fit(X, ["negative", "positive"])
    assert np.exp(without.feature_log_prob_[0, 499:]).tolist() == [0.0, 0.0]
    no_column = MultinomialNB(oov=True).fit(X[:, :500], ["negative", "positive"])
    assert np.exp(no_column.oov_log_prob_[0]) == pytest.approx(1 / 10_501, rel=1e-14)


def test_underflow():
    """Multiplying by 0.0001 a hundred times is 0.0 by step 80, counted from 0; a sum of logarithms is not."""
    a, steps = 1.0, []
    for _ in range(100):
        a *= 0.0001
        steps.append(a)
    assert steps.index(0.0) == 80
    assert steps[-1] == 0.0
    X = np.zeros((2, 2))
    X[0], X[1] = (1, 9_999), (2, 9_998)
    model = MultinomialNB(estimate="mle").fit(X, ["a", "b"])
    assert np.exp(model.feature_log_prob_[0, 0]) == pytest.approx(0.0001)
    score = model.predict_joint_log_proba([[100, 0]])[0]
    assert score[0] == pytest.approx(math.log(0.5) + 100 * math.log(0.0001))
    assert model.predict_proba([[100, 0]])[0, 1] == pytest.approx(1.0)
    assert model.predict_log_proba([[100, 0]])[0, 0] == pytest.approx(-100 * math.log(2))


def test_long_text():
    """100,000 words, every one of them rare: the scores are finite, and one word more decides."""
    rng = np.random.default_rng(0)
    X = rng.poisson(2.0, size=(2, 50_000)).astype(float)
    model = MultinomialNB().fit(X, ["a", "b"])
    text = np.full((1, 50_000), 2.0)
    scores = model.predict_joint_log_proba(text)
    assert np.isfinite(scores).all()
    assert scores.max() < -1_000_000
    even = MultinomialNB().fit([[3, 1], [1, 3]], ["a", "b"])
    assert even.predict([[50_001, 50_000], [50_000, 50_001]]).tolist() == ["a", "b"]
    assert even.predict_proba([[50_001, 50_000]])[0, 0] == pytest.approx(4 / 6)


def test_eight_reviews():
    """Of four good reviews two hold 'great', of four bad ones one: 'great' speaks 2 to 1 for a good one."""
    great = np.array([[1], [0], [1], [0], [0], [0], [0], [1]])
    y = list("++++----")
    model = BernoulliNB(estimate="mle").fit(great, y)
    assert model.classes_.tolist() == ["+", "-"]
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [0.5, 0.5], rtol=1e-15)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_).ravel(), [1 / 2, 1 / 4], rtol=1e-15)
    np.testing.assert_allclose(model.predict_proba([[1]]), [[2 / 3, 1 / 3]], rtol=1e-15)
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba([[1]])), [[1 / 4, 1 / 8]], rtol=1e-15)
    np.testing.assert_allclose(model.predict_proba([[0]]), [[2 / 5, 3 / 5]], rtol=1e-15)  # its absence counts too


def test_vectors_of_a_document():
    text = ["the blue dog ate a blue biscuit"]
    found = {}
    for tf in ("presence", "count"):
        vectorizer = Vectorizer(Words(1, 1), tf=tf)
        row = vectorizer.fit_transform(text).toarray()[0]
        value = dict(zip(vectorizer.get_feature_names_out(), row, strict=True))
        found[tf] = tuple(int(value.get(word, 0)) for word in VOCABULARY)
    assert found == {"presence": (1, 0, 1, 0, 1, 0), "count": (2, 0, 1, 0, 1, 0)}
    model = BernoulliNB().fit(np.eye(6)[[0, 1]], ["x", "y"])
    encoded = model.encode([found["count"]])
    assert encoded.indices[encoded.values > 0].tolist() == [0, 2, 4]
    assert encoded.values.tolist() == [1, 1, 1]


def test_presence_of_numbered_words():
    """The document [4, 2, 2, 1, 2] over eight words holds words 1, 2 and 4 (the notes draw the ones in other rows)."""
    document = [4, 2, 2, 1, 2]
    counts = np.bincount(np.array(document) - 1, minlength=8)
    model = BernoulliNB().fit(np.eye(8)[[0, 1]], ["x", "y"])
    M = model.encode([counts])
    present = np.zeros(8, int)
    present[M.indices] = M.values
    assert present.tolist() == [1, 1, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("Model", [BernoulliNB, CategoricalNB])
def test_coin(Model):
    """H, H, H, T: the most likely coin shows heads 3 times out of 4."""
    flips = np.array([[1], [1], [1], [0], [0]])
    model = Model(estimate="mle").fit(flips, list("ccccx"))
    shares = model.feature_log_prob_ if Model is BernoulliNB else model.feature_log_prob_[0][:, 1:]
    assert np.exp(shares[0, 0]) == pytest.approx(3 / 4, rel=1e-15)
    p = np.linspace(0.01, 0.99, 99)
    assert p[np.argmax(3 * np.log(p) + np.log(1 - p))] == pytest.approx(0.75)
    # the same as shares of classes
    classes = Model(estimate="mle").fit([[0], [0], [0], [0]], list("HHHT"))
    np.testing.assert_allclose(np.exp(classes.class_log_prior_), [3 / 4, 1 / 4], rtol=1e-15)


def test_mind_reader():
    """One in 100,000 reads minds; the test finds 95 % of them and wrongly 0.5 % of the others: P(reader | test) = 0.0019."""
    rows = [[1], [0], [1], [0]]
    y = ["nobody", "nobody", "reader", "reader"]
    people = [0.005 * 99_999, 0.995 * 99_999, 0.95, 0.05]
    model = BernoulliNB(estimate="mle").fit(rows, y, sample_weight=people)
    found = model.predict_proba([[1]])[0, 1]
    assert found == pytest.approx(0.95e-5 / (0.95e-5 + 0.005 * 0.99999), rel=1e-12)
    assert round(found, 4) == 0.0019
    assert round(found, 3) == 0.002


def test_posterior_of_a_coin():
    """Errata: Beta(N_jc + beta_1, N_c - N_jc + beta_0); its mean is the predictive, its mode, the MAP, is another."""
    flips, labels = [[1], [1], [1], [0], [0]], list("ccccx")
    beta_1, beta_0 = 2.0, 5.0
    posterior = scipy.stats.beta(3 + beta_1, 1 + beta_0)
    mean = BernoulliNB((beta_1, beta_0)).fit(flips, labels)
    assert np.exp(mean.feature_log_prob_[0, 0]) == pytest.approx(posterior.mean(), rel=1e-14)
    assert posterior.mean() == pytest.approx(5 / 11)
    mode = BernoulliNB((beta_1, beta_0), estimate="map").fit(flips, labels)
    p = np.linspace(0, 1, 9001)
    assert np.exp(mode.feature_log_prob_[0, 0]) == pytest.approx(4 / 9, rel=1e-14)
    assert p[np.argmax(posterior.pdf(p))] == pytest.approx(4 / 9, abs=1e-4)


def test_bias_of_the_linear_form_sums_over_features():
    """Errata: b_c = log pi_c + sum_j log(1 - mu_jc)."""
    X = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0]])
    model = BernoulliNB().fit(X, [0, 0, 1, 2, 2])
    mu, pi = np.exp(model.feature_log_prob_), np.exp(model.class_log_prior_)
    np.testing.assert_allclose(model.coef_, np.log(mu / (1 - mu)), rtol=1e-13)
    np.testing.assert_allclose(model.intercept_, np.log(pi) + np.log(1 - mu).sum(axis=1), rtol=1e-13)


def notes_train(labelled):
    """The counts of the empirical model, as the notes write it."""
    scores = defaultdict(Counter)
    for words, label in labelled:
        for word in words:
            scores[word][label] += 1
    return scores


def test_word_votes_are_the_notes():
    texts = ["good good film", "great fun", "good cast", "bad film", "bad bad bore", "good bore", "dull plot plot"]
    labels = ["+", "+", "+", "-", "-", "-", "-"]
    tables = notes_train([(t.split(), label) for t, label in zip(texts, labels, strict=True)])
    words = sorted(tables)
    X = np.array([[t.split().count(w) for w in words] for t in texts])
    model = WordVotes().fit(X, labels)
    for k, word in enumerate(words):
        table = tables[word]
        best = [label for label in "+-" if table[label] == max(table.values())]
        want = "+-".index(best[0]) if len(best) == 1 else -1
        assert model.votes_[k] == want, word
    assert model.votes_[words.index("film")] == -1  # once each
    new = ["good good bore film", "film", "unknown words"]
    N = np.array([[t.split().count(w) for w in words] for t in new])
    assert model.decision_function(N).tolist() == [1 - 2, 0, 0]
    assert model.predict(N).tolist() == ["+", "+", "+"]  # no votes or a tie: the first label


def test_a_matrix_without_values_is_present_words():
    M = Matrix(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.zeros(0), 2)
    W, _ = BernoulliNB().fit_matrix(M, np.array([0, 1], np.int32), 2)
    np.testing.assert_allclose(W[:, 0], [np.log((1 / 3) / (2 / 3)) - np.log(2), 0.0], atol=1e-15)


def test_votes_of_several_labels():
    """Counted by hand, with weights whose sums differ in the last digit by the order of rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(60, 12))
    y, weight = rng.integers(0, 4, 60), rng.integers(1, 4, 60) * 0.1
    tables = [[sum(Fraction(round(w * 10)) * int(v) for v, w, c in zip(X[:, j], weight, y, strict=True) if c == k)
               for k in range(4)] for j in range(12)]  # fmt: skip
    want = [t.index(max(t)) if t.count(max(t)) == 1 else -1 for t in tables]
    for order in (np.arange(60), np.argsort(y, kind="stable"), rng.permutation(60)):
        model = WordVotes().fit(X[order], y[order], sample_weight=weight[order])
        assert model.votes_.tolist() == want
    votes = np.array([[sum(int(x[j]) for j in range(12) if want[j] == k) for k in range(4)] for x in X])
    np.testing.assert_array_equal(model.decision_function(X), votes)
    np.testing.assert_array_equal(model.predict(X), votes.argmax(axis=1))
    pair = WordVotes().fit([[1, 2, 0], [3, 2, 0]], ["a", "b"], sample_weight=[0.3, 0.1])  # 0.3 and 0.1 * 3: a tie
    assert pair.votes_.tolist() == [-1, 0, -1]
