"""Words by what they mean in a language: lemmas, stems, parts of speech, adjectives. Needs ``pip install linnet[lang]``.

Each function takes a text and returns tokens as ``linnet.text.tokens.tokenize`` does: the new word, and its place in the
original. ``TRANSFORMS`` lists them by name. These run in Python, a hundred to ten thousand times slower than the kernels:
for experiments and for small texts.

>>> [t.text for t in stems("The dogs were running")]  # doctest: +SKIP
['the', 'dog', 'were', 'run']
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import groupby
from typing import Any

from linnet.errors import DataError, MissingExtraError, nearest
from linnet.text.tokens import Token, tokenize

__all__ = ["TRANSFORMS", "adjectives", "lemmas", "parts_of_speech", "stems"]

_LANGUAGES = {"de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "nl": "dutch"}
_END = re.compile(r"[.!?\u2026]+$")
_ADJECTIVE = re.compile(r"AJ|JJ|ADJ")  # as the tag sets of the BNC, Penn and German and universal tags begin


def _module(name: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(what, "lang") from None


def lemmas(text: str, language: str = "en") -> list[Token]:
    """Return words in the form that a dictionary lists (simplemma): "ran" is "run"."""
    lemmatize = _module("simplemma", "lemmas").lemmatize
    try:
        return [Token(lemmatize(t.text, lang=language).casefold(), t.start, t.end) for t in tokenize(text)]
    except ValueError as error:
        raise DataError(f"simplemma knows no language {language!r}: {error}") from None


def stems(text: str, language: str = "en") -> list[Token]:
    """Return words without their endings (the Snowball stemmers): "runs" and "running" are "run"."""
    stem = _stemmer(language)
    return [Token(stem(t.text), t.start, t.end) for t in tokenize(text)]


@cache
def _stemmer(language: str) -> Any:
    stemmer = _module("Stemmer", "stems")
    name = _LANGUAGES.get(language, language)
    if name not in stemmer.algorithms():
        raise DataError(nearest("language of stems", language, stemmer.algorithms()))
    return stemmer.Stemmer(name).stemWord


def parts_of_speech(text: str, language: str = "en", pipeline: Any = None) -> list[Token]:
    """Return words with their part of speech, "good/AJ0": of HanTa, or of a spaCy pipeline that you hand in."""
    return [Token(f"{t.text}/{tag}", t.start, t.end) for t, tag in _tagged(text, language, pipeline)]


def adjectives(text: str, language: str = "en", pipeline: Any = None) -> list[Token]:
    """Return the adjectives of a text and nothing else."""
    return [t for t, tag in _tagged(text, language, pipeline) if _ADJECTIVE.match(tag)]


def _tagged(text: str, language: str, pipeline: Any) -> list[tuple[Token, str]]:
    if pipeline is not None:
        found = [t for t in pipeline(text) if not t.is_space]
        return [(Token(t.text.casefold(), t.idx, t.idx + len(t.text)), t.tag_ or t.pos_) for t in found]
    tokens = tokenize(text, case="keep")
    out: list[tuple[Token, str]] = []
    ended = [0]
    for t in tokens:  # a sentence is what lies between two stops
        ended.append(ended[-1] + bool(_END.match(t.text)))
    for _, group in groupby(zip(tokens, ended, strict=False), key=lambda pair: pair[1]):
        sentence = [t for t, _ in group]
        tags = _tagger(language).tag_sent([t.text for t in sentence], taglevel=1)
        out += [(Token(t.text.casefold(), t.start, t.end), str(tag[-1])) for t, tag in zip(sentence, tags, strict=True)]
    return out


@cache
def _tagger(language: str) -> Any:
    tagger = _module("HanTa.HanoverTagger", "parts of speech")
    known = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz", "nl": "morphmodel_dutch.pgz"}
    if language not in known:
        raise DataError(nearest("language of parts of speech", language, known))
    return tagger.HanoverTagger(known[language])


TRANSFORMS: dict[str, Callable[..., list[Token]]] = {
    "lemmas": lemmas, "stems": stems, "parts_of_speech": parts_of_speech, "adjectives": adjectives,
}  # fmt: skip
"""The functions of this file by name: text -> tokens with their places."""
