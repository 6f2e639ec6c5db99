"""What every text model does at the edges: a very long text, no text, one class, a class that dev lacks, odd labels."""

from __future__ import annotations

import numpy as np
import pytest

from linnet import TextClassifier
from linnet.errors import LinnetError
from linnet.models import MODELS

TEXTS = ["loved the cast", "great fun, loved it", "a joy", "dull", "an awful bore", "dull and awful"] * 4
LABELS = ["positive", "positive", "positive", "negative", "negative", "negative"] * 4
every_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def fitted():
    return {name: TextClassifier(name, features="words:1").fit(TEXTS, LABELS) for name in MODELS}


@every_model
def test_a_text_of_a_hundred_thousand_words(fitted, name):
    clf = fitted[name]
    long = " ".join(["loved", "it"] * 50_000)
    P = clf.predict_proba([long, long + " dull"])
    assert np.isfinite(clf.decision_function([long])).all()
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert clf.predict([long]).tolist() == ["positive"]


@every_model
def test_texts_with_nothing_known_in_them(fitted, name):
    """They get one answer, the same for all: nothing but the intercept speaks."""
    clf = fitted[name]
    scores = clf.decision_function(["", "   ", "zyxw", "\x00", "漢字"])
    assert np.isfinite(scores).all()
    assert len(set(scores.tolist())) == 1


@every_model
def test_one_class_only_is_refused(name):
    with pytest.raises(LinnetError, match="positive"):
        TextClassifier(name).fit(["good", "fine"], ["positive", "positive"])


@every_model
def test_a_class_that_dev_lacks(name):
    dev = (["loved it", "great"], ["positive", "positive"])
    clf = TextClassifier(name, features="words:1").fit(TEXTS, LABELS, dev=dev)
    assert clf.classes_.tolist() == ["negative", "positive"]
    assert clf.predict(["dull and awful"]).tolist() == ["negative"]


@every_model
def test_training_texts_may_be_empty(name):
    clf = TextClassifier(name, features="words:1").fit([*TEXTS, "", ""], [*LABELS, "positive", "negative"])
    assert clf.predict(["loved it"]).tolist() == ["positive"]


@every_model
def test_weights_of_a_million(name):
    """A million is as good as one: what counts is how the weights compare."""
    clf = TextClassifier(name, features="words:1")
    clf.fit(TEXTS, LABELS, sample_weight=np.full(len(TEXTS), 1e6))
    assert np.isfinite(clf.decision_function(["loved it", "dull"])).all()
    assert clf.predict(["loved it", "dull"]).tolist() == ["positive", "negative"]
