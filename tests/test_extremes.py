"""What every text model does at the edges: a very long text, no text, one class, a class that dev lacks, odd labels."""

from __future__ import annotations

import subprocess
import sys

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


# ---- one long text


@pytest.mark.timeout(120, method="thread")  # a loop without an end is a failure, too
@pytest.mark.parametrize(
    "settings",
    [
        {"features": "words:1-3+chars:2-6*0.8"},
        {"features": "words:1-2:pattern+skips:1-2+affixes:2-3", "tf": "sublinear"},
        {"features": "words:1-2:penn+shapes:1-2+not:1-2", "tf": "count", "norm": "mean"},
        {"features": "negated:1+across:2-3+position:1"},
        {"features": "words:1-2", "hash_bits": 12, "tf": "sublinear"},
    ],
)
def test_a_long_text_in_pieces_scores_as_a_whole(settings):
    from linnet.features.buffers import text_buffers
    from linnet.features.counting import count_known
    from linnet.features.plan import FeaturePlan, FeatureWeights
    from linnet.pipeline.crossval import Weighting

    rng = np.random.default_rng(0)
    known = ["good", "bad", "isn't", "not", "it's", "fine", "U.S.", "naïve", "(so)", "end.", "ÄÖÜ", "x"]
    rows = [" ".join(rng.choice(known, 8)) for _ in range(60)]
    model = TextClassifier(params={"C": 1.0}, ratio=0.5, **settings).fit(rows, ["p", "q"] * 30).artefact
    gaps = rng.choice([" ", "  ", "\n", "\t "], 120_000, p=[0.9, 0.04, 0.03, 0.03])
    long = "".join(word + gap for word, gap in zip(rng.choice(known, 120_000), gaps, strict=True))
    texts = [long, "good", long[: 1 << 18], long[: (1 << 18) + 1], "x" * 600_000 + " good", "a " + "x" * 300_000, ""]
    assert len(long) > 2 * (1 << 18)
    n = len(model.rows)
    columns = np.zeros(0, np.int32) if model.slots.size == 0 else np.arange(n, dtype=np.int32)
    counted = count_known(
        text_buffers(texts), model.blocks, np.ascontiguousarray(model.slots), model.shift, columns, n, counting=True
    )
    norm = np.ascontiguousarray(model.rows[:, 0])
    plan = FeaturePlan(tf=model.tf, norm=model.norm)
    W = np.ascontiguousarray(model.rows[:, 1:])
    expected = Weighting(FeatureWeights(norm, norm[None]), plan, model.blocks).scores(counted, W, model.b)
    assert np.allclose(model.scores(texts), expected, rtol=1e-5, atol=1e-5)


def test_a_long_text_takes_little_memory():
    """60 MB of text: below three times its size more than a short one takes."""
    code = (
        "import resource, linnet\n"
        "clf = linnet.TextClassifier(params={'C': 1.0}, ratio=0.5).fit(['a good one', 'a bad one'] * 9, ['p', 'n'] * 9)\n"
        "text = 'the quick brown fox came home, and not once. ' * 1_350_000\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "clf.predict([text])\n"
        "print(len(text), 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    size, more = map(int, done.stdout.split())
    assert more < 3 * size


def test_many_labels_are_evaluated_without_a_matrix():
    from linnet.evaluate import evaluate

    labels = [f"c{k}" for k in range(5000)]
    answers = [*labels[1:], labels[0]]
    found = evaluate(labels * 2, labels + answers, labels, draws=50)
    written = found.to_dict()
    assert written["confusion"] is None
    assert len(written["largest_confusions"]) == 100
    assert found.accuracy == 0.5
    assert "table" not in vars(found)
    few = evaluate(["a", "b", "z"], ["b", "b", "a"], ["a", "b"])
    assert few.to_dict()["confusion"] == [[0, 1], [0, 1]]
    assert sorted(few.largest_confusions()) == [("a", "b", 1), ("z", "a", 1)]
