"""Lemmas, stems and parts of speech: their words, and places in the original."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings

from linnet.errors import DataError, MissingExtraError
from linnet.text import lang
from linnet.text.tokens import tokenize
from test_kernels_text import any_text

TEXT = "The DOGS were running happily. It's a wonderful, strange film!"


def installed(name: str) -> None:
    pytest.importorskip({"stems": "Stemmer", "lemmas": "simplemma"}.get(name, "HanTa"))


def test_words():
    installed("stems")
    assert [t.text for t in lang.stems("running dogs")] == ["run", "dog"]
    installed("lemmas")
    assert [t.text for t in lang.lemmas(TEXT)][:4] == ["the", "dog", "be", "run"]
    installed("adjectives")
    assert {"wonderful", "strange"} <= {t.text for t in lang.adjectives(TEXT)} < {t.text for t in tokenize(TEXT)}
    assert "dogs/NN2" in [t.text for t in lang.parts_of_speech(TEXT)]


@pytest.mark.parametrize("name", lang.TRANSFORMS)
def test_places_point_at_the_words(name):
    installed(name)
    places = {(t.start, t.end) for t in tokenize(TEXT)}
    found = lang.TRANSFORMS[name](TEXT)
    assert {(t.start, t.end) for t in found} == places or name == "adjectives"
    assert {(t.start, t.end) for t in found} <= places


@pytest.mark.parametrize("name", lang.TRANSFORMS)
@settings(max_examples=25, deadline=None)
@given(text=any_text)
def test_any_text_goes_through(name, text):
    installed(name)
    assert all(0 <= t.start < t.end <= len(text) for t in lang.TRANSFORMS[name](text[:60]))


def test_a_spacy_pipeline_of_the_user():
    class Word:
        def __init__(self, text: str, idx: int, tag: str) -> None:
            self.text, self.idx, self.tag_, self.pos_, self.is_space = text, idx, tag, "", not text.strip()

    found = lang.adjectives("Big dog", pipeline=lambda text: [Word("Big", 0, "JJ"), Word("dog", 4, "NN")])
    assert [(t.text, t.start, t.end) for t in found] == [("big", 0, 3)]


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(MissingExtraError, match=r"lemmas needs an optional package; .*linnet\[lang\]"):
        lang.lemmas("a")
    monkeypatch.undo()
    installed("stems")
    with pytest.raises(DataError, match="unknown language of stems"):
        lang.stems("a", "klingon")
