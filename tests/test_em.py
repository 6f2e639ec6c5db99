"""Naive Bayes with unlabelled texts: EM against a plain implementation, and where it is chosen."""

import numpy as np
import pytest

import linnet
from linnet import TextClassifier, load
from linnet.errors import LinnetError
from linnet.features.buffers import text_buffers
from linnet.pipeline.events import Log
from linnet.pipeline.rows import MemoryRows
from linnet.pipeline.unlabelled import _EM, MOST

TOPICS = {"sport": "ball goal team coach match league", "money": "bank loan rate bond fund tax"}


def texts_of(n, seed, words=3):
    """Texts of a topic: words of its own and words that say nothing."""
    rng = np.random.default_rng(seed)
    labels = [list(TOPICS)[k % 2] for k in range(n)]
    common = [f"w{k}" for k in range(50)]
    return [
        " ".join([*rng.choice(TOPICS[label].split(), words, replace=False), *rng.choice(common, 6)]) for label in labels
    ], labels


def test_the_steps_are_those_of_the_paper():
    """Against NumPy: the same posterior of every unlabelled text after the same steps."""
    few, labels = texts_of(8, 0)
    more, _ = texts_of(60, 1)
    plan = TextClassifier("nb", unlabelled=more).plan()
    rows, log = MemoryRows(plan, few, labels), Log()
    em = _EM(plan, rows, text_buffers(more), log)
    em.run(np.arange(8), 0.5)

    words = sorted({word for text in few + more for word in text.split()})
    X = np.array([[float(word in text.split()) for word in words] for text in few + more])
    y = np.array([sorted(TOPICS).index(label) for label in labels])

    def m_step(X, T):
        counts = T.T @ X + 0.1
        return np.log(counts / counts.sum(axis=1, keepdims=True)), np.log(T.sum(axis=0) / T.sum())

    T, before = np.eye(2)[y], None
    logs, prior = m_step(X[:8], T)
    for _ in range(MOST):
        S = X[8:] @ logs.T + prior
        P = np.exp(S - S.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        if before is not None and np.array_equal(P.argmax(axis=1), before):
            break
        before = P.argmax(axis=1)
        logs, prior = m_step(X, np.concatenate([T, 0.5 * P]))
    np.testing.assert_allclose(em.soft[8:], 0.5 * P, atol=1e-6)


def test_unlabelled_texts_help_where_topics_are_clear(tmp_path):
    few, labels = texts_of(12, 0, words=1)
    more, _ = texts_of(600, 1)
    test, right = texts_of(200, 2)
    plain = TextClassifier("nb", features="words:1").fit(few, labels)
    clf = TextClassifier("nb", unlabelled=more).fit(few, labels)
    about = clf.card["unlabelled"]
    assert about["texts"] == 600
    assert about["weight"] > 0
    assert clf.card["data"]["rows"] == 12
    assert np.mean(clf.predict(test) == right) > np.mean(plain.predict(test) == right) + 0.05
    clf.save(tmp_path / "m.linnet")
    again = load(tmp_path / "m.linnet")
    np.testing.assert_array_equal(again.predict_proba(test), clf.predict_proba(test))
    assert again.explain(test[0]).label == again.predict(test[:1])[0]
    assert clf.refitted(few, labels).card["unlabelled"] == about


def test_unlabelled_texts_are_left_out_where_they_do_not_help():
    rng = np.random.default_rng(0)
    texts, labels = texts_of(40, 0)
    noise = [" ".join(rng.choice(["x", "y", "z", "ball", "bank"], 5)) for _ in range(200)]
    clf = TextClassifier("nb", unlabelled=noise).fit(texts, labels)
    plain = TextClassifier("nb").fit(texts, labels)
    assert "unlabelled" not in clf.card
    np.testing.assert_array_equal(clf.predict_proba(texts), plain.predict_proba(texts))


def test_what_cannot_be_is_refused():
    with pytest.raises(LinnetError, match="one label a row"):
        TextClassifier("nb", unlabelled=["a b"]).fit(["a", "b"], [("x", "y"), ("y",)])
    assert linnet.TextClassifier("svm", unlabelled=texts_of(60, 1)[0]).plan().unlabelled is None  # vectors instead
