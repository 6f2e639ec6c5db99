"""Worked examples of the notes on words: the framework (000 section 4), word lists (5), joint features (8)."""

from __future__ import annotations

import numpy as np
import pytest

from linnet import TextClassifier
from linnet.features.functions import Functions, joint, word_count
from linnet.models import Lexicon
from linnet.text import tokenize


def some_word_ends_in_s(tokens):
    return any(t.endswith("s") for t in tokens)


def contains_happy(tokens):
    return "happy" in tokens


ROCKS = Functions(word_count, some_word_ends_in_s, contains_happy)


def test_it_rocks():
    assert ROCKS.vector("it rocks").tolist() == [2, 1, 0]
    assert ROCKS.joint("it rocks", "+", ["+", "-", "0"], bias=False).tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 0]
    assert ROCKS.joint("it rocks", "-", ["+", "-", "0"], bias=False).tolist() == [0, 0, 0, 2, 1, 0, 0, 0, 0]
    assert ROCKS.joint("it rocks", "0", ["+", "-", "0"], bias=False).tolist() == [0, 0, 0, 0, 0, 0, 2, 1, 0]
    with_bias = ROCKS.joint("it rocks", "+", ["+", "-", "0"])
    assert with_bias.tolist() == [2, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert len(with_bias) == 12


def test_scores_of_the_perceptron_table_are_theta_times_the_joint_vector():
    theta = np.array([0.3, 0.7, 0.8, -0.2, 2.2, 4.0, -4.0, -4.0, -4.0])
    scores = [float(theta @ joint([2, 1, 0], y, [1, 2, 3], bias=False)) for y in (1, 2, 3)]
    np.testing.assert_allclose(scores, [1.3, 1.8, -12.0])
    theta += joint([2, 1, 0], 1, [1, 2, 3], bias=False) - joint([2, 1, 0], 2, [1, 2, 3], bias=False)
    np.testing.assert_allclose(theta, [2.3, 1.7, 0.8, -2.2, 1.2, 4.0, -4.0, -4.0, -4.0])
    scores = [float(theta @ joint([2, 1, 0], y, [1, 2, 3], bias=False)) for y in (1, 2, 3)]
    np.testing.assert_allclose(scores, [6.3, -3.2, -12.0])


@pytest.mark.parametrize("model", ["logistic", "svm", "nb"])
def test_a_fitted_table_is_theta_in_blocks(model):
    """Psi(x, y) = theta . f(x, y), where theta is the weights and the intercept of each label behind one another."""
    texts = ["it rocks", "so happy", "no", "boss rules this class", "happy happy days", "meh", "fine", "gas leaks"] * 3
    labels = ["+", "+", "-", "0", "+", "-", "0", "-"] * 3
    clf = TextClassifier(model, features=ROCKS).fit(texts, labels)
    order = clf.classes_.tolist()
    weights = clf.named_weights()
    theta = np.concatenate(
        [[*(weights[y][name] for name in ROCKS.columns), clf.artefact.b[k]] for k, y in enumerate(order)]
    )
    for text in ("it rocks", "happy gas", ""):
        for y in order:
            assert clf.label_score(text, y) == pytest.approx(float(theta @ ROCKS.joint(text, y, order)), abs=1e-6)


def test_market_up():
    """With presence features, 'market up market up up' scores w[market] + w[up] + b."""
    texts = ["market up", "shares up", "market down again", "game on", "goal in the game", "match and game up"]
    clf = TextClassifier("logistic", features="words:1", tf="presence", norm=None)
    clf = clf.fit(texts, ["business"] * 3 + ["sport"] * 3)
    for label, sign in (("business", -1), ("sport", 1)):
        w = clf.named_weights()[label]
        expected = w["market"] + w["up"] + sign * clf.artefact.b[0]
        assert clf.label_score("market up market up up", label) == pytest.approx(expected, abs=1e-12)
        assert clf.label_score("up market", label) == clf.label_score("market up market up up", label)
    counting = TextClassifier("logistic", features="words:1", tf="count", norm=None)
    counting = counting.fit(texts, ["business"] * 3 + ["sport"] * 3)
    w = counting.named_weights()["sport"]
    expected = 2 * w["market"] + 3 * w["up"] + counting.artefact.b[0]
    assert counting.label_score("market up market up up", "sport") == pytest.approx(expected, abs=1e-12)


def notes_evaluate(sentence, option, model):
    """Count matches, as the notes do, over our tokens."""
    return sum(t.text in model[option] for t in tokenize(sentence))


def notes_classify(sentence, options, model):
    scores = {option: notes_evaluate(sentence, option, model) for option in options}
    return max(scores, key=scores.get)


LISTS = {"bad": {"boo", "terrible", "drab"}, "good": {"yay", "love", "bright"}, "odd": {"weird", "bright"}}
SENTENCES = [
    "",
    "nothing here",
    "yay yay boo",
    "Boo! terrible love",
    "bright",
    "weird bright boo boo",
    "LOVE, drab; love.",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_lexicon_of_the_notes(sentence):
    model = Lexicon(LISTS)
    for label in LISTS:
        assert model.label_score(sentence, label) == notes_evaluate(sentence, label, LISTS)
    for labels in (["bad", "good", "odd"], ["good", "odd"], ["odd"], ["bad", "odd"]):
        assert model.classify(sentence, labels) == notes_classify(sentence, labels, LISTS)


# ---- the framework: evaluate(text, label) and classify(text, labels)


@pytest.fixture(scope="module", params=[2, 3, 7])
def framework(request):
    words = ["sun", "rain", "snow", "wind", "hail", "fog", "ice"][: request.param]
    texts = [f"{w} today {v}" for w in words for v in ("and on", "maybe", "again")]
    return TextClassifier("nb", features="words:1").fit(texts, [w for w in words for _ in range(3)]), words


def test_classify_is_the_best_of_evaluate(framework):
    clf, words = framework
    for text in ("sun and rain", "snow rain", "wind", words[-1], words[0], "something else"):
        for labels in (words, words[::-1], words[:2], words[1:], [words[-1]], [words[0], words[0]]):
            scores = {y: clf.label_score(text, y) for y in sorted(set(labels))}
            assert clf.classify(text, labels) == max(scores, key=scores.get)
            assert clf.predict([text], labels).tolist() == [clf.classify(text, labels)]
        assert clf.classify(text) == clf.classify(text, words) == clf.predict([text])[0]


def test_ties_go_to_the_first_label_always():
    """Equal evidence for all labels: the first in the order of the labels, however they are listed."""
    for labels in (["a", "b"], ["a", "b", "c"], [3, 1, 2, 0], [False, True]):
        clf = TextClassifier("nb", features="words:1", params={"alpha": 1.0})
        clf = clf.fit(["same text"] * 10 * len(labels), labels * 10)
        first = min(labels)
        for text in ("same text", "", "unknown"):
            assert len({clf.label_score(text, y) for y in labels}) == 1
            assert clf.classify(text) == first
            for some in (labels, labels[::-1], sorted(labels)[-2:]):
                assert clf.classify(text, some) == min(some)
                assert clf.predict([text] * 3, some).tolist() == [min(some)] * 3


def test_labels_that_cannot_be(framework):
    clf, _ = framework
    with pytest.raises(Exception, match="labels is empty"):
        clf.classify("x", [])
    with pytest.raises(Exception, match="put it in a list"):
        clf.classify("x", "sun")
    with pytest.raises(Exception, match=r"unknown label 'sunn'; .* \(did you mean 'sun'\?\)"):
        clf.label_score("x", "sunn")
