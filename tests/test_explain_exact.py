"""Parts add up to the score for every model and every kind of feature, before and after a save, one text or many."""

from __future__ import annotations

import json
import pickle
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linnet
from linnet import TextClassifier
from linnet.datasets import load
from linnet.explain import Explanation
from linnet.features.blocks import as_blocks
from linnet.features.buffers import text_buffers
from linnet.features.counting import NORM
from linnet.features.derived import by_source, derive
from linnet.features.functions import Functions
from linnet.models import MODELS
from reference.emitted import Emitted

TRAIN, DEV, TEST = load("reviews")
TEXTS = [
    *TEST.text.to_pylist()[:3],
    "",
    " ",
    "NOT good. Not GOOD, die Straße 😀 \ud800 ΟΔΟΣ no no no!",
    "好看 n't\n\x00 \u00ad",
]
NEWS = ["red apple pie", "green leaf tea", "blue sky today", "red sky at night", "green apple", "blue tea"] * 3
KINDS = ["r", "g", "b", "r", "g", "b"] * 3
FEATURES = [
    "words:1-2", "chars:2-4", "words:1+chars:3*0.5", "across:1-3", "skips:1", "negated:1-2", "not:1-2", "position:1", "affixes:2-3",
    "shapes:1", "words:1+lengths", "words:1:whitespace:keep+words:2", "words:1-2:bytes",
]  # fmt: skip


def good(tokens):
    return sum(t == "good" for t in tokens)


def check(clf, texts, labels):
    """The whole promise, for one model."""
    for label in labels:
        for text, e in zip(texts, clf.explain_many(texts, label), strict=True):
            total = e.bias + sum(c.value for c in e.contributions)
            assert e.score == pytest.approx(clf.label_score(text, e.label), abs=1e-9)
            assert e.score == pytest.approx(total, abs=1e-6)
            assert e.characters().shape == (len(text),)
            assert e.bias + e.characters().sum() + e.placeless == pytest.approx(e.score, abs=1e-6)
            assert e.bias + sum(v for _, v in e.by_word()) == pytest.approx(e.score, abs=1e-6)
            assert e.bias + sum(s.value for s in e.spans()) + e.placeless == pytest.approx(e.score, abs=1e-6)
            assert "".join(s.text for s in e.spans()) == text
            sizes = [abs(c.value) for c in e.contributions]
            assert sizes == sorted(sizes, reverse=True)
            assert all(0 <= a <= b <= len(text) for c in e.contributions for a, b in c.spans)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model(name, tmp_path):
    clf = TextClassifier(name, features=None if name == "lexicon" else "words:1-2+chars:3").fit(TRAIN, dev=DEV)
    check(clf, TEXTS, [None, *clf.artefact.classes])
    clf.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    for text in TEXTS:
        assert again.explain(text).to_dict() == clf.explain(text).to_dict()


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("extra", [{}, {"hash_bits": 9}, {"tf": "count"}, {"tf": "sublinear", "norm": None}], ids=str)
def test_every_feature(features, extra):
    clf = TextClassifier("logistic", features=features, params={"C": 1.0}, ratio=0.0, calibrate=False, **extra).fit(
        TRAIN.text.to_pylist()[:60] + TRAIN.text.to_pylist()[-60:],
        TRAIN.label.to_pylist()[:60] + TRAIN.label.to_pylist()[-60:],
    )
    check(clf, TEXTS, ["positive"])


def test_nothing_but_computed_columns():
    check(TextClassifier("logistic", features="lengths").fit(TRAIN, dev=DEV), TEXTS, [None, "positive"])


@pytest.mark.parametrize("extra", [{}, {"hash_bits": 10}, {"norm": "mean", "tf": "count"}], ids=str)
def test_lists_functions_and_pieces_of_words(extra, tmp_path):
    lists = tmp_path / "words.csv"
    lists.write_text("word,valence\ngood,2\nnot good,-1\ndull,-3\n", encoding="utf-8")
    features = (*as_blocks(f"words:1+bpe:300:1-2*0.5+lists:{lists}+lengths"), Functions(good))
    clf = TextClassifier("logistic", features=features, **extra).fit(TRAIN, dev=DEV)
    check(clf, TEXTS, ["positive", "negative"])
    clf = TextClassifier("svm", features="wordpiece:200:1-2+words:2", **extra).fit(TRAIN, dev=DEV)
    check(clf, TEXTS, ["positive"])


@pytest.mark.parametrize("name", ["svm", "nb", "logistic", "feed-forward", "perceptron"])
def test_two_of_three_classes_compared(name):
    clf = TextClassifier(name, features="words:1+chars:2").fit(NEWS, KINDS)
    for text in ["red sky leaf tea", "", "nothing known"]:
        one, two = clf.explain(text, "r"), clf.explain(text, "g")
        both = clf.explain(text, "r", against="g")
        assert both.against == "g"
        assert both.score == pytest.approx(one.score - two.score, abs=1e-9)
        assert both.score == pytest.approx(both.bias + sum(c.value for c in both.contributions), abs=1e-6)
        assert (both.probability, both.against_probability) == (one.probability, two.probability)
        turned = clf.explain(text, "g", against="r")
        assert turned.score == pytest.approx(-both.score, abs=1e-9)
        assert clf.explain(text, against="g").label != "g"
    if name != "feed-forward":  # of a net both have pieces of their own
        apart = {
            c.feature: c.value - d.value for c in one.contributions for d in two.contributions if c.feature == d.feature
        }
        assert {c.feature: c.value for c in both.contributions} == pytest.approx(apart)


def test_many_are_each_one(monkeypatch):
    import linnet.explain.parts as module

    monkeypatch.setattr(module, "CHUNK", 300)
    clf = TextClassifier("svm", features="words:1-2+chars:3+lengths").fit(TRAIN, dev=DEV)
    texts = TEXTS + TRAIN.text.to_pylist()[:40]
    many = clf.explain_many(texts)
    assert len(many) == len(texts)
    assert [e.to_dict() for e in many] == [clf.explain(t).to_dict() for t in texts]
    assert many[-1] == clf.explain(texts[-1])
    assert [e.text for e in many[3:5]] == texts[3:5]
    assert [e.text for e in clf.explain_many(TRAIN.text)][:40] == TRAIN.text.to_pylist()[:40]  # an Arrow column
    assert len(clf.explain_many([])) == 0
    with pytest.raises(IndexError):
        many[len(texts)]


def test_the_largest_are_the_first_of_all():
    clf = TextClassifier("nb", features="words:1-2+chars:3").fit(TRAIN)
    for e in clf.explain_many(TEXTS * 2):
        for n in (1, 3, 10, 1000):
            assert e.top(n) == e.contributions[:n]


@settings(max_examples=80)
@given(st.text(max_size=60), st.sampled_from(["svm", "hashed", "pieces"]))
def test_any_text(models, text, name):
    check(models[name], [text], ["p"])


@pytest.fixture(scope="module")
def models():
    texts = ["good fun ß", "not good at all", "Straße! fun fun", "dull café", "a dull bore", "no fun: dull"] * 3
    labels = ["p", "n", "p", "n", "n", "n"] * 3
    kinds = {
        "svm": {"features": "words:1-3+chars:2-6+across:1-2+negated:1"},
        "hashed": {"features": "words:1-2+chars:1-3", "hash_bits": 8, "tf": "count"},
        "pieces": {"features": "bpe:280:1-2+position:1+shapes:1-2"},
    }
    return {name: TextClassifier("svm", **kind).fit(texts, labels) for name, kind in kinds.items()}


# ---- the kernel in plain Python: the same walk, feature by feature, in NumPy and dictionaries


def reference(model, text, column):
    """{(block, places): contribution} and the number of unknown pieces."""
    out, unknown = {}, 0
    for source, numbers in by_source(model.blocks):
        piece = text_buffers([text])[0] if source is None else derive(source, text_buffers([text]))[0]
        blocks = tuple(model.blocks[k] for k in numbers)
        emitted = Emitted.of(piece, blocks)
        for b, block in enumerate(blocks):
            groups: dict[int, list[int]] = {}
            for k in range(emitted.part(b).start, emitted.part(b).stop):
                fp = int(emitted.fps[k])
                groups.setdefault(fp if len(model.slots) else fp >> model.shift, []).append(k)
            known, norm = [], 0.0
            for key, places in groups.items():
                slot = key
                if len(model.slots):
                    here = np.flatnonzero(model.slots == np.uint64(key))
                    if not len(here):
                        unknown += len(places)
                        continue
                    slot = int(here[0])
                n = len(places)
                tf = {"presence": 1.0, "count": float(n), "sublinear": 1.0 + np.log(n)}[model.tf]
                weight = tf * float(model.rows[slot, 0])
                norm += weight if NORM[model.norm] == 2 else weight**2
                known.append((places, tf * float(model.rows[slot, 1 + column])))
            norm = 1.0 if not model.norm or norm == 0 else norm if model.norm == "mean" else np.sqrt(norm)
            for places, value in known:
                spots = tuple((int(emitted.starts[k]), int(emitted.lengths[k])) for k in places)
                out[numbers[b], spots] = block.weight * value / norm
    return out, unknown


@pytest.mark.parametrize("name", ["svm", "hashed", "pieces"])
def test_the_kernel_is_the_reference(models, name):
    from linnet.explain.parts import walk

    model = models[name].artefact
    texts = ["Not good at ALL, fun fun ß straße", "", "dull\x00 dull 😀", "x " * 3000]
    walked = walk(model, text_buffers(texts)[0])
    for d, text in enumerate(texts):
        wanted, unknown = reference(model, text, 0)
        found = {}
        for f in range(int(walked.ptr[d]), int(walked.ptr[d + 1])):
            places = range(int(walked.first[f]), int(walked.first[f] + walked.count[f]))
            spots = tuple((int(walked.start[p]), int(walked.length[p])) for p in places)
            found[int(walked.block[f]), spots] = walked.factor[f] * float(model.rows[walked.slot[f], 1])
        assert found == pytest.approx(wanted)
        assert walked.unknown[d] == unknown


# ---- forms


class Strict(HTMLParser):
    """Collects tags; a script, an outside address or a handler is an error."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "link", "img", "iframe", "object")
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@settings(max_examples=60)
@given(st.text(alphabet=st.sampled_from("<>&\"'/ab \n\x00\ud800=😀;script"), max_size=60))
def test_html_escapes(models, text):
    e = models["svm"].explain(text)
    for page in (e.to_html(), e._repr_html_(), models["svm"].flip(text)._repr_html_()):
        parser = Strict()
        parser.feed(page)
        parser.close()
        assert parser.open == []
        assert "\ud800" not in page
    assert "prefers-color-scheme:dark" in e.to_html()
    assert "http" not in e.to_html()


def test_keys_are_stable_and_values_plain(models):
    e = models["svm"].explain("good fun")
    found = json.loads(json.dumps(e.to_dict()))
    assert list(found) == [
        "label", "against", "score", "probability", "against_probability", "bias", "placeless", "exact", "method",
        "unknown_features", "words", "spans", "contributions",
    ]  # fmt: skip
    assert set(found["contributions"][0]) == {"feature", "block", "value", "count", "spans"}
    assert set(found["spans"][0]) == {"start", "end", "text", "value"}


def test_pickled_and_listed_are_the_same(models):
    for e in models["svm"].explain_many(["good fun, not dull", " \n", "ß"]):
        again = pickle.loads(pickle.dumps(e))
        assert isinstance(again, Explanation)
        assert again.chunk is None
        assert again == e
        assert hash(again) == hash(e)
        assert again.characters() == pytest.approx(e.characters())
        assert again.top(2) == e.top(2)


def test_blanks_have_their_share():
    clf = TextClassifier("nb", features="across:1").fit(["a b", "c"] * 3, ["p", "n"] * 3)
    check(clf, ["a b c", "   a  b "], ["p"])
    assert clf.explain("a b", "p").characters()[1] != 0
