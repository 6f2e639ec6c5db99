"""Sigmoid and isotonic calibration: against scikit-learn, chosen on held-out rows, kept in the file, the answer unchanged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

import linnet
from linnet.classifier import TextClassifier
from linnet.errors import LinnetError
from linnet.model.calibration import (
    METHODS,
    CalibrationCurve,
    choose_calibration,
    fit_calibration,
    pool_adjacent_violators,
)
from linnet.solvers.losses import sigmoid, softmax


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_pooling_against_scikit_learn(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-20, 20, n) / 4 if rng.random() < 0.5 else rng.normal(size=n)
    right = rng.random(n) < 1 / (1 + np.exp(-x))
    first, last, hits, rows = pool_adjacent_violators(x, right)
    theirs = IsotonicRegression().fit(x, right.astype(float))
    for where in (first, last):
        np.testing.assert_allclose(hits / rows, theirs.predict(where), atol=1e-12)
    assert rows.sum() == n
    assert (np.diff(hits / rows) > 0).all()
    curve = CalibrationCurve.isotonic(x, right)
    inner = (hits > 0) & (hits < rows)
    np.testing.assert_allclose(sigmoid(curve.moved(first[inner][:, None]))[:, 0], (hits / rows)[inner], atol=1e-3)
    assert np.isfinite(curve.moved(np.array([[-1e9], [0.0], [1e9]]))).all()
    ranked = np.unique(np.append(x, [-100.0, 100.0]))
    assert (np.diff(curve.moved(ranked[:, None])[:, 0]) > 0).all()


def test_sigmoid_against_scikit_learn():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(800, 1)) * 2
    y = (rng.random(800) < sigmoid(1.7 * scores[:, 0] - 0.6)).astype(int)
    ours = fit_calibration("sigmoid", scores, y)
    theirs = _SigmoidCalibration().fit(scores[:, 0], y)
    np.testing.assert_allclose(sigmoid(ours.scaled(scores)[:, 0]), theirs.predict(scores[:, 0]), atol=2e-5)
    assert ours.curve is None  # it goes into the weights


def drawn(rng, n, k, bend):
    """Scores of k classes whose softmax is wrong in a way that one scale cannot mend."""
    logits = rng.normal(size=(n, k)) * 2
    P = softmax(logits)
    y = (rng.random(n)[:, None] > np.cumsum(P, axis=1)).sum(axis=1).clip(max=k - 1)
    top = logits.argmax(axis=1)
    scores = logits.copy()
    scores[np.arange(n), top] += bend
    return scores, y


def calibration_error(P, y):
    found = linnet.evaluate.evaluate(y.tolist(), P, list(range(P.shape[1])), draws=1)
    return found.calibration_error


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_many_classes_are_calibrated_and_keep_their_order(method):
    rng = np.random.default_rng(1)
    scores, y = drawn(rng, 4000, 6, 2.0)
    new, truth = drawn(rng, 4000, 6, 2.0)
    found = fit_calibration(method, scores, y)
    moved = found.curve.moved(found.scaled(new))
    P = softmax(moved)
    assert np.array_equal(P.argmax(axis=1), new.argmax(axis=1))
    others = np.argsort(new, axis=1)[:, :-1]
    before, after = (np.take_along_axis(S, others, axis=1) for S in (found.scaled(new), moved))
    np.testing.assert_array_equal(before, after)  # their proportions stay
    plain = fit_calibration("scale", scores, y)
    assert calibration_error(P, truth) < 0.6 * calibration_error(softmax(plain.scaled(new)), truth)
    chosen = choose_calibration(scores, y).about
    assert chosen["method"] in ("sigmoid", "isotonic")
    assert set(chosen["log_loss"]) == set(METHODS)


def test_what_is_chosen():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(3000, 1)) * 2
    line = (rng.random(3000) < sigmoid(scores[:, 0])).astype(int)
    assert choose_calibration(scores, line).about["method"] == "scale"
    shifted = (rng.random(3000) < sigmoid(scores[:, 0] - 1)).astype(int)
    assert choose_calibration(scores, shifted).about["method"] == "sigmoid"
    bent = (rng.random(3000) < np.clip(0.5 + 0.2 * np.sign(scores[:, 0]), 0, 1)).astype(int)
    assert choose_calibration(scores, bent).about["method"] == "isotonic"
    assert choose_calibration(scores[:999], bent[:999]).about["method"] != "isotonic"
    assert choose_calibration(scores[:100], bent[:100]).about == {"method": "scale"}


def test_the_order_of_classes_does_not_matter():
    rng = np.random.default_rng(3)
    scores, y = drawn(rng, 1500, 4, 1.5)
    order = rng.permutation(4)
    place = np.argsort(order)
    for method in METHODS:
        one, two = fit_calibration(method, scores, y), fit_calibration(method, scores[:, order], place[y])
        np.testing.assert_allclose(one.losses(scores, y), two.losses(scores[:, order], place[y]), rtol=1e-6, atol=1e-9)


WORDS = {"a": ["alpha", "axe"], "b": ["beta", "box"], "c": ["cat", "cup"]}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.choice(list(WORDS), 1500)
    texts = [
        " ".join(rng.choice(WORDS[k if rng.random() < 0.6 else str(rng.choice(list(WORDS)))]) for _ in range(3))
        for k in y
    ]
    return texts, y.tolist()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_file_keeps_it_bit_for_bit(rows, method, classes, tmp_path):
    texts, labels = zip(*((text, y) for text, y in zip(*rows, strict=True) if classes == 3 or y != "c"), strict=True)
    clf = TextClassifier("logistic", features="words:1", ratio=0.0, params={"C": 1.0}, calibrate=method).fit(
        list(texts), list(labels)
    )
    assert clf.card["calibration"]["method"] == method
    clf.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    assert np.array_equal(again.predict_proba(texts[:99]), clf.predict_proba(texts[:99]))
    assert again.evaluate(list(texts), list(labels)).calibration_error < 0.08
    again.save(tmp_path / "n.linnet")
    assert (tmp_path / "m.linnet").read_bytes() == (tmp_path / "n.linnet").read_bytes()
    one = TextClassifier("logistic", features="words:1", ratio=0.0, params={"C": 1.0}, calibrate=method, n_jobs=1)
    one.fit(list(texts), list(labels)).save(tmp_path / "o.linnet")
    assert (tmp_path / "m.linnet").read_bytes() == (tmp_path / "o.linnet").read_bytes()


def test_what_is_refused():
    with pytest.raises(LinnetError, match="isotonic"):
        TextClassifier("nb", calibrate="isotonc").fit(["a b", "c d"], ["x", "y"])
    with pytest.raises(ValueError, match="does not rise"):
        CalibrationCurve(np.array([[0.0, 1.0], [1.0, 0.0]]))
