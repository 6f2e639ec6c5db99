"""Explanations add up to the score, exactly, for every model and kind of feature."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet import TextClassifier
from linnet.datasets import load
from linnet.errors import LinnetError
from linnet.models import MODELS

TRAIN, DEV, TEST = load("reviews")


@pytest.fixture(scope="module", params=["svm", "svm-hash", "svm-count", "svm-long", "nb", "logistic"])
def clf(request):
    name, _, kind = request.param.partition("-")
    extra = {"hash": {"hash_bits": 14}, "count": {"tf": "count"}, "long": {"features": "words:1-3+chars:2-6*0.8"}}.get(
        kind, {}
    )
    return TextClassifier(name, **{"features": "words:1-2+chars:3", **extra}).fit(TRAIN, dev=DEV)


def check(clf, text):
    for label in clf.artefact.classes:
        e = clf.explain(text, label)
        total = e.bias + sum(c.value for c in e.contributions)
        assert e.score == pytest.approx(total, abs=1e-6)
        assert e.score == pytest.approx(clf.label_score(text, label), abs=1e-9)
        assert e.bias + e.characters().sum() == pytest.approx(e.score, abs=1e-6)
        assert e.bias + sum(v for _, v in e.by_word()) == pytest.approx(e.score, abs=1e-6)
        for c in e.contributions:
            assert len(c.spans) == c.count
            assert all(0 <= a <= b <= len(text) for a, b in c.spans)


def test_parts_add_up_on_real_texts(clf):
    for text in TEST.text.to_pylist()[:20]:
        check(clf, text)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_parts_add_up_on_any_text(clf, text):
    check(clf, text)


def test_every_model_explains():
    for name in MODELS:
        e = TextClassifier(name, features="words:1").fit(TRAIN).explain("I loved this wonderful book")
        assert e.contributions


def test_spans_point_at_what_was_written():
    clf = TextClassifier("nb", features="words:1").fit(["Straße gut", "café schlecht"] * 4, ["p", "n"] * 4)
    e = clf.explain("Die STRASSE 😀 Café, straße!")
    found = {text for c in e.contributions for text in [e.text[a:b] for a, b in c.spans]}
    assert found == {"STRASSE", "Café", "straße"}


def test_three_classes():
    texts = ["red apple", "green leaf", "blue sky"] * 6
    clf = TextClassifier("svm", features="words:1-2").fit(texts, ["r", "g", "b"] * 6)
    check(clf, "red sky leaf")
    assert clf.explain("red").against is None


def test_forms(clf):
    e = clf.explain('Never <b>dull</b>, not once & "fun"')
    assert json.loads(json.dumps(e.to_dict()))["label"] == e.label
    assert "= score" in str(e)
    assert "\x1b[" in e.to_text(color=True)
    assert "\x1b[" not in e.to_text(color=False)
    html = e._repr_html_()
    assert "<b>dull</b>" not in html
    assert "&lt;b&gt;" in html or "&lt;" in html


def test_errors(clf):
    with pytest.raises(LinnetError, match="unknown label"):
        clf.explain("x", "neutral")
    with pytest.raises(LinnetError, match="one text"):
        clf.explain(["x"])


def test_top_features_are_those_with_the_largest_weights():
    clf = TextClassifier("nb", features="words:1").fit(TRAIN)
    names = [n for n, _ in clf.top_features("positive", 30)]
    weights = [w for _, w in clf.top_features("positive", 30)]
    assert weights == sorted(weights, reverse=True)
    assert len(set(names)) == 30
    best = names[0]
    alone = clf.explain(best, "positive")
    assert alone.contributions[0].feature == best
    assert np.sign(alone.contributions[0].value) > 0
