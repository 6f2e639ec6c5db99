"""The feed-forward net on rows of numbers: what its parts do, how it stops, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from generated import as_bytes, learned, rows
from linnet.errors import DataError
from linnet.models import FeedForward, LinearSVM, LogisticRegression
from linnet.solvers.losses import log_softmax, softmax
from linnet.solvers.matrix import Matrix
from linnet.solvers.network import DenseLayers, Net, Shape, Steps, _chunks

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
ODD = np.array([0, 1, 1, 0])


def many(n=600, d=40, classes=3, seed=0, noise=1.0):
    """Enough rows to hold some out."""
    return rows(n=n, d=d, classes=classes, seed=seed, noise=noise)


# ---- what the notes ask of a hidden layer


@pytest.mark.parametrize("seed", range(5))
def test_xor_needs_the_hidden_layer(seed):
    net = FeedForward(dim=8, hidden=16, learning_rate=0.2, max_iter=1000, random_state=seed).fit(XOR, ODD)
    assert net.predict(XOR).tolist() == ODD.tolist()
    P = net.predict_proba(XOR)
    assert P[np.arange(4), ODD].min() > 0.9
    flat = FeedForward(dim=8, hidden=0, learning_rate=0.2, random_state=seed).fit(XOR, ODD)
    for line in (flat, LinearSVM().fit(XOR, ODD), LogisticRegression().fit(XOR, ODD)):
        assert line.score(XOR, ODD) <= 0.75  # three of four is the best a line can do


def test_features_that_look_alike_at_first_part_ways():
    """Two XORs side by side: whole batches see all four features in the same light, and still two pairs come out."""
    X = np.array([[a, b, c, d] for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)], dtype=float)
    y = (X[:, 0] != X[:, 1]) & (X[:, 2] != X[:, 3])
    net = FeedForward(dim=16, hidden=32, learning_rate=0.1, max_iter=1000).fit(X, y)
    assert net.score(X, y) == 1.0


def test_a_bend_that_no_line_follows():
    """Inside or outside a ring."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (np.hypot(*X.T) > 1.1).astype(int)
    net = FeedForward(dim=16, hidden=16, learning_rate=0.1, validation_fraction=None, max_iter=100).fit(
        X[:300], y[:300]
    )
    assert net.score(X[300:], y[300:]) > 0.93
    assert LogisticRegression().fit(X[:300], y[:300]).score(X[300:], y[300:]) < 0.8


def test_without_a_hidden_layer_it_ends_where_logistic_regression_does():
    """A product of two matrices is one matrix: with enough passes the loss is that of the best line, not penalised."""
    X, y = rows(n=80, d=5, classes=3, noise=3.0, density=0.8)
    net = FeedForward(dim=8, hidden=0, learning_rate=0.1, batch_size=80, max_iter=4000).fit(X, y)
    line = LogisticRegression(C=1e6).fit(X, y)
    loss, best = (-np.log(m.predict_proba(X)[np.arange(80), y]).mean() for m in (net, line))
    assert best - 1e-9 <= loss < best * 1.001
    A, a = net.head_.layers[0]
    np.testing.assert_allclose(net.decision_function(X), X @ (net.embedding_ @ A) + a, atol=1e-9)


def test_scores_are_those_of_the_formula():
    X, y = many()
    net = FeedForward(dim=7, hidden=9).fit(X, y)
    (A, a), (B, c) = net.head_.layers
    z = np.maximum(0, X @ net.embedding_ @ A + a) @ B + c
    np.testing.assert_allclose(net.decision_function(X), z, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(net.predict_proba(X), softmax(z), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(net.predict_log_proba(X), log_softmax(z), rtol=1e-9, atol=1e-9)
    assert (A.shape, B.shape) == ((7, 9), (9, 3))
    assert net.embedding_.shape == (40, 7)


# ---- label smoothing and dropout


@pytest.mark.parametrize("classes", [2, 4])
def test_smoothing_is_what_probabilities_end_at(classes):
    """On rows that can be told apart, the loss is least where each label has 1 - s + s / K."""
    X, y = np.eye(classes), np.arange(classes)
    for s in (0.1, 0.4):
        net = FeedForward(dim=8, hidden=8, learning_rate=0.2, label_smoothing=s, max_iter=3000).fit(X, y)
        want = np.full((classes, classes), s / classes) + (1 - s) * np.eye(classes)
        np.testing.assert_allclose(net.predict_proba(X), want, atol=0.003)
        entropy = -(want * np.log(want)).sum()  # no loss can be lower than the entropy of the targets
        assert entropy - 1e-9 < net.history_[-1].loss < entropy + 0.01


def test_dropout_masks_have_mean_one_and_drop_their_share():
    rng = np.random.default_rng(0)
    order = np.arange(1000, dtype=np.int32)
    for share in (0.2, 0.7):
        how = Steps("adagrad", 0.1, 32, share, 0.0, 1.0)
        parts = list(_chunks(order, how, 20, rng))
        assert [i for part, _ in parts for i in part] == order.tolist()
        mask = np.concatenate([m for _, m in parts])
        assert mask.shape == (1000, 20)
        np.testing.assert_allclose(np.unique(mask), [0.0, 1 / (1 - share)])
        assert abs(mask.mean() - 1) < 0.03
        assert abs((mask == 0).mean() - share) < 0.02
    assert all(len(mask) == 0 for _, mask in _chunks(order, Steps("adagrad", 0.1, 32, 0.0, 0.0, 1.0), 20, rng))


def test_dropout_keeps_the_expected_score_and_is_off_when_predicting():
    """The mean over many masks of the masked scores is the score without a mask."""
    rng = np.random.default_rng(1)
    B, c = rng.normal(size=(6, 2)), rng.normal(size=2)
    h = np.abs(rng.normal(size=6))
    masks = (rng.random((200_000, 6)) >= 0.4) / 0.6
    np.testing.assert_allclose(((masks * h) @ B + c).mean(axis=0), h @ B + c, atol=0.02)
    X, y = many()
    net = FeedForward(dropout=0.5, max_iter=5).fit(X, y)
    assert net.predict_proba(X).tobytes() == net.predict_proba(X).tobytes()
    (A, a), (B, c) = net.head_.layers
    np.testing.assert_allclose(net.decision_function(X), np.maximum(0, X @ net.embedding_ @ A + a) @ B + c, atol=1e-9)
    assert as_bytes(learned(net)) != as_bytes(learned(FeedForward(dropout=0.0, max_iter=5).fit(X, y)))


def test_dropout_holds_back_learning_by_heart():
    """On labels that are noise, the training loss stays higher with dropout."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 30)), rng.integers(0, 2, 100)
    losses = [
        FeedForward(dropout=d, max_iter=40, validation_fraction=None).fit(X, y).history_[-1].loss for d in (0.0, 0.6)
    ]
    assert losses[1] > 3 * losses[0]


# ---- stopping


def test_patience_keeps_the_best_pass():
    X, y = many(noise=4.0)
    seen = []
    M, codes = Matrix.from_dense(X), y.astype(np.int32)
    net = FeedForward(patience=3, learning_rate=0.2, max_iter=100)
    found = net.fit_matrix(M, codes, 3, on_epoch=lambda news, weights: seen.append(weights()))
    scores = [p.score for p in net.history_]
    best = int(np.argmax(scores))
    assert scores.count(max(scores)) == 1
    assert best + 3 < net.n_iter_ == len(scores) < 100
    assert all(s is not None and 0 <= s <= 1 for s in scores)
    assert found[0].tobytes() == seen[best][0].tobytes()
    assert found[0].tobytes() != seen[-1][0].tobytes()
    assert [p.number for p in net.history_] == list(range(1, len(scores) + 1))


def test_without_held_out_rows_all_passes_are_made():
    X, y = many()
    net = FeedForward(validation_fraction=None, patience=1, max_iter=7).fit(X, y)
    assert net.n_iter_ == 7
    assert all(p.score is None for p in net.history_)
    assert net.history_[-1].active == len(np.unique(np.c_[X, y], axis=0))


def test_few_rows_are_all_learned_from():
    X, y = many(n=199)
    with_share, without = FeedForward(max_iter=3).fit(X, y), FeedForward(max_iter=3, validation_fraction=None).fit(X, y)
    assert as_bytes(learned(with_share)) == as_bytes(learned(without))
    X, y = many(n=240)
    assert FeedForward(max_iter=3).fit(X, y).history_[-1].active < 240


def test_held_out_rows_are_not_learned_from():
    """Features that only held-out rows have keep the embedding they began with: zero."""
    X, y = many(n=300)
    X = np.hstack([X, np.eye(300)])  # a feature of its own for every row
    net = FeedForward(max_iter=2).fit(X, y)
    own = np.abs(net.embedding_[40:]).max(axis=1)
    assert net.history_[-1].active == (own > 0).sum()
    assert 20 <= (own == 0).sum() <= 40


def test_interrupt_keeps_the_best_weights():
    X, y = many(noise=4.0)
    M, codes = Matrix.from_dense(X), y.astype(np.int32)
    seen = []

    def stop(news, weights):
        seen.append((news.score, weights()))
        if len(seen) == 4:
            raise KeyboardInterrupt

    net = FeedForward(learning_rate=0.3)
    found = net.fit_matrix(M, codes, 3, on_epoch=stop)
    best = int(np.argmax([score for score, _ in seen]))
    assert net.interrupted_
    assert net.n_iter_ == 4
    assert found[0].tobytes() == seen[best][1][0].tobytes()


# ---- weights, sparsity, precision


def test_weights_count_like_rows_also_with_held_out_rows():
    X, y = many(n=400)
    repeats = np.random.default_rng(0).integers(0, 3, 400)
    repeats[:3] = 1
    again = np.repeat(np.arange(400), repeats)
    a = FeedForward(max_iter=4).fit(X[again], y[again])
    b = FeedForward(max_iter=4).fit(sp.csr_array(X), y, sample_weight=repeats)
    assert as_bytes(learned(a)) == as_bytes(learned(b))
    order = np.random.default_rng(1).permutation(400)
    c = FeedForward(max_iter=4).fit(X[order], y[order], sample_weight=repeats[order])
    assert as_bytes(learned(a)) == as_bytes(learned(c))


def test_scaling_all_weights_changes_nothing_but_rounding():
    X, y = many(n=120)
    a, b = (FeedForward(max_iter=5).fit(X, y, sample_weight=np.full(120, w)) for w in (1.0, 1e6))
    for one, other in zip(learned(a), learned(b), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_values_of_any_size():
    X, y = many(n=100, classes=2)
    for factor in (1e-6, 1e6):
        net = FeedForward(max_iter=20).fit(X * factor, y)
        assert all(np.isfinite(a).all() for a in learned(net))
        assert np.isfinite(net.predict_proba(X * factor)).all()
        assert np.isfinite(net.predict_log_proba(X * factor)).all()


def test_empty_rows_and_no_entries_at_all():
    net = FeedForward(max_iter=3).fit(np.zeros((6, 4)), [0, 1, 0, 1, 1, 1])
    P = net.predict_proba(np.zeros((2, 4)))
    assert P[0].tolist() == P[1].tolist()
    assert P[0, 1] > 0.5  # only the intercepts can tell: the larger class
    X, y = many(n=50)
    X[10:20] = 0.0
    assert np.isfinite(FeedForward(max_iter=3).fit(X, y).predict_proba(X)).all()


def test_a_row_longer_than_the_others_together():
    X = sp.csr_array((np.ones(30_000), (np.r_[np.zeros(29_990), np.arange(1, 11)].astype(int), np.arange(30_000))))
    y = np.arange(11) % 2
    net = FeedForward(max_iter=3, batch_size=2).fit(X, y)
    assert np.isfinite(net.decision_function(X)).all()


def test_steps_that_run_away_are_a_clear_error():
    X, y = many(n=100)
    with pytest.raises(DataError, match=r"in pass \d+ the weights ran away to infinity; lower learning_rate=1e\+06"):
        FeedForward(step="sgd", learning_rate=1e6).fit(X * 1e3, y)


def test_one_class_is_a_clear_error():
    with pytest.raises(
        DataError, match="needs rows of two classes or more; got 1 class: every row with a weight is 'a'"
    ):
        FeedForward().fit(XOR, ["a"] * 4)


def test_a_class_with_one_row_among_many():
    X, y = many(n=400, classes=2)
    labels = y.astype(int)
    labels[5] = 2
    net = FeedForward(max_iter=3).fit(X, labels)
    assert net.classes_.tolist() == [0, 1, 2]
    assert net.predict_proba(X).shape == (400, 3)


def test_a_net_is_a_value_that_heads_come_from():
    net = Net(Shape(2, 0, 1), np.zeros((3, 2)), np.array([1.0, 2.0, 0.5]))
    assert isinstance(net.head(), DenseLayers)
    assert net.head().apply(np.array([[1.0, 1.0]])).tolist() == [[3.5]]
