"""Lemmas, stems, parts of speech and adjectives as feature blocks: in training, prediction, explanation and the file."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linnet
from linnet import TextClassifier, compare
from linnet.datasets import whole
from linnet.errors import LinnetError, MissingExtraError
from linnet.features.blocks import DERIVED, describe, from_dict, parse
from linnet.features.buffers import text_buffers
from linnet.features.derived import derive, place
from linnet.features.language import Adjectives, Lemmas, Pos, Stems
from linnet.features.showing import EXAMPLES, seen
from linnet.text import lang
from linnet.text.lang import Transform
from linnet.text.tokens import tokenize
from test_kernels_text import any_text

for module in ("HanTa", "Stemmer", "simplemma"):
    pytest.importorskip(module, reason="the extra lang is not installed")

BLOCKS = {"lemmas": Lemmas, "stems": Stems, "pos": Pos, "adjectives": Adjectives}
DATA = whole("reviews").take(range(0, 2282, 11))
TEXTS, LABELS = DATA.text.to_pylist(), DATA.label_list()


def fitted(features: str, **settings: object) -> TextClassifier:
    return TextClassifier("nb", features=features, **settings).fit(TEXTS, LABELS)


def test_blocks_are_read_as_they_are_written():
    for text in ("lemmas:1-2:de*0.5", "stems:1", "words:1+pos:1-2", "adjectives:1:spacy=en_core_web_sm", "pos:1:nl"):
        assert describe(parse(text)) == text
    assert parse("lemmas") == (Lemmas(1, 1),)
    assert parse("stems:de:2 * 0.5") == (Stems(2, 2, language="de", weight=0.5),)
    assert eval(repr(Pos(1, 2, pipeline="en_core_web_sm"))) == Pos(1, 2, pipeline="en_core_web_sm")
    assert set(BLOCKS) <= set(DERIVED) <= set(EXAMPLES)
    for block in (Lemmas(1, 2, language="de", weight=0.5), Adjectives(1, 1, pipeline="x")):
        (again,) = parse(str(block))
        assert again == block == from_dict(block.to_dict())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lemmas:1-2:de:fr", r"cannot read the feature block 'lemmas:1-2:de:fr'; write for example lemmas:1"),
        ("stems:99", "give 1 <= low <= high <= 12"),
        ("stems:13-14", "give 1 <= low <= high <= 12"),
        ("stems::1", "cannot read"),
        ("pos:1:spacy=", "cannot read"),
        ("lemmas:1:spacy=en_core_web_sm", "lemmas takes a language, not a spaCy pipeline; pos and adjectives take one"),
        ("lemmata:1", "unknown feature block 'lemmata'.*did you mean 'lemmas'"),
        ("lemmas:1+lemmas:1", "given twice"),
    ],
)
def test_blocks_that_cannot_be(text, message):
    with pytest.raises(LinnetError, match=message):
        parse(text)


def test_a_block_has_no_tokens_and_case_of_its_own():
    with pytest.raises(LinnetError, match="in its own way"):
        Lemmas(1, 1, tokens="words")


@pytest.mark.parametrize("name", BLOCKS)
@settings(max_examples=30, deadline=None)
@given(texts=st.lists(any_text, max_size=3))
def test_derived_texts_and_places(name, texts):
    source = Transform(name)
    clean = [t.encode("utf-8", "replace").decode() for t in texts]
    words = source.words(clean)
    assert words == [[t.text for t in source.tokens(text)] for text in clean]
    whole_texts = [p.text(d) for p in derive(source, text_buffers(clean)) for d in range(len(p))]
    assert [t.split(" ") if t else [] for t in whole_texts] == [
        ["␣".join(w.split()) if w.split() else w for w in ws] for ws in words
    ]
    for text in clean:
        piece, at = place(source, text_buffers([text])[0])
        begin = 0
        for token, (start, end) in zip(piece.text(0).split(" "), [t[1:] for t in source.tokens(text)], strict=False):
            stop = begin + len(token.encode())
            assert (at[begin], at[stop]) == (start, end)
            begin = stop + 1


@pytest.mark.parametrize(
    "features", ["lemmas:1-2", "stems:1:de", "words:1+stems:1*0.5+lemmas:1", "stems:1:en+stems:1:de"]
)
@pytest.mark.parametrize("bits", [None, 12])
def test_scores_of_training_file_and_explanation_agree(features, bits, tmp_path):
    clf = fitted(features, hash_bits=bits)
    clf.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    assert again.card["settings"]["features"] == describe(parse(features))
    scores = clf.decision_function(TEXTS)
    np.testing.assert_array_equal(again.decision_function(TEXTS), scores)
    for row in (0, 5, 9):
        found = again.explain(TEXTS[row], "positive")
        assert found.score == pytest.approx(scores[row], abs=1e-5)
        assert found.bias + sum(c.value for c in found.contributions) == pytest.approx(found.score, abs=1e-5)
        for c in found.contributions:
            for start, end in c.spans:
                assert 0 <= start < end <= len(TEXTS[row])


def test_training_counts_the_very_words():
    """Lemmas of a text are what a model of words learns from the lemmatised text."""
    words = [" ".join(w) for w in Transform("lemmas").words(TEXTS)]
    a = fitted("lemmas:1-2", calibrate=False)
    b = TextClassifier("nb", features="words:1-2:whitespace:keep", calibrate=False).fit(words, LABELS)
    np.testing.assert_allclose(a.decision_function(TEXTS), b.decision_function(words), rtol=0, atol=1e-6)
    assert sorted(name for name, _ in a.top_features("positive", 50)) == sorted(
        name for name, _ in b.top_features("positive", 50)
    )


def test_an_explanation_marks_the_word_that_was_written():
    clf = TextClassifier("nb", features="stems:1").fit(["it was running", "it stops"] * 5, ["a", "b"] * 5)
    found = {c.feature: c.spans for c in clf.explain("She runs, they RUN.").contributions}
    assert found["run"] == ((4, 8), (15, 18))


def test_parts_of_speech_end_to_end(tmp_path):
    texts = ["a wonderful, strange film", "I like it", "it looks like a dull film", "what a strange plot"] * 3
    clf = TextClassifier("nb", features="pos:1+adjectives:1").fit(texts, ["a", "b", "a", "b"] * 3)
    names = {name for name, _ in clf.top_features("a", 100)}
    assert "wonderful/AJ0" in names
    assert "wonderful" in names
    assert "it" not in names
    clf.save(tmp_path / "m.linnet")
    assert linnet.load(tmp_path / "m.linnet").predict(texts).tolist() == clf.predict(texts).tolist()


def test_tags_are_those_of_the_tagger():
    """Cached sentences and tags without lemmas are what HanTa says when asked in full."""
    from HanTa.HanoverTagger import HanoverTagger

    fresh = HanoverTagger("morphmodel_en.pgz")
    for text in TEXTS[:5]:
        words = [t.text for t in tokenize(text.split(".")[0], case="keep")]
        assert list(lang._tags("en", tuple(words))) == [found[-1] for found in fresh.tag_sent(words, taglevel=1)]


def test_folds_share_one_derived_text(monkeypatch):
    """Comparing models splits every text once, and finds what it finds without sharing."""
    calls = []
    whole_ = Transform.words
    monkeypatch.setattr(Transform, "words", lambda self, texts: calls.append(len(texts)) or whole_(self, texts))
    shared = compare(TEXTS, LABELS, models=["nb", "perceptron"], features="stems:1+words:1", folds=3)
    asked = 2 * len(TEXTS)  # held-out rows, by two models
    assert sum(calls) == len(TEXTS) + asked
    alone = compare(TEXTS, LABELS, models=["nb", "perceptron"], features="stems:1+words:1", folds=3, share=False)
    assert [m.accuracy for m in shared.models] == [m.accuracy for m in alone.models]


def test_what_is_shown():
    (shown,) = seen("The dogs were running", "lemmas:1")
    assert [(p.name, p.start, p.end) for p in shown.pieces] == [
        ("the", 0, 3), ("dog", 4, 8), ("be", 9, 13), ("run", 14, 21),
    ]  # fmt: skip
    assert "learned from the training rows" in seen("x", "bpe:300")[0].note


def test_what_is_missing_is_one_line(monkeypatch, tmp_path):
    clf = fitted("lemmas:1")
    clf.save(tmp_path / "m.linnet")

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setitem(sys.modules, "simplemma", None)
    monkeypatch.setattr(lang, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"lemmas needs an optional package; .*linnet\[lang\]"):
        linnet.load(tmp_path / "m.linnet").predict(["a text"])
    with pytest.raises(LinnetError, match=r"there is no spaCy pipeline .*pip install spacy"):
        Transform("pos", pipeline="en_no_such").tokens("a")


def test_a_spacy_pipeline_by_name(tmp_path):
    spacy = pytest.importorskip("spacy")
    made = spacy.blank("en")
    ruler = made.add_pipe("attribute_ruler")
    for word, tag in {"big": "JJ", "small": "JJ", "dog": "NN"}.items():
        ruler.add([[{"LOWER": word}]], {"TAG": tag})
    made.to_disk(tmp_path / "tagger")
    features = f"adjectives:1:spacy={tmp_path / 'tagger'}"
    texts = ["a Big dog", "the small dog", "big big", "so small"] * 3
    clf = TextClassifier("nb", features=features).fit(texts, ["a", "b"] * 6)
    assert {name for name, _ in clf.top_features("a", 9)} == {"big", "small"}
    clf.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    assert again.predict(["a BIG one", "small"]).tolist() == ["a", "b"]
    assert again.explain("a BIG one").contributions[0].spans == ((2, 5),)
    with pytest.raises(LinnetError, match=r"there is no spaCy pipeline en_no_such; .*python -m spacy"):
        Transform("pos", pipeline="en_no_such").tokens("a")
    for name in ("numpy", "os", "linnet", str(tmp_path)):
        with pytest.raises(LinnetError, match="is no spaCy pipeline"):
            Transform("pos", pipeline=name).tokens("a")
