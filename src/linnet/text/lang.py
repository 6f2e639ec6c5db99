"""Words by what they mean in a language: lemmas, stems, parts of speech, adjectives. Needs ``pip install linnet[lang]``.

Each function takes a text and returns tokens as ``linnet.text.tokens.tokenize`` does: the new word, and its place in the
original. ``TRANSFORMS`` lists them by name; a ``Transform`` is one of them with its language, a value that feature blocks
read texts through. These run in Python, a hundred to ten thousand times slower than the kernels: for experiments and for
small texts.

>>> [t.text for t in stems("The dogs were running")]  # doctest: +SKIP
['the', 'dog', 'were', 'run']
>>> Transform("stems").words(["The dogs were running"])  # doctest: +SKIP
[['the', 'dog', 'were', 'run']]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, ClassVar

from linnet.errors import DataError, LinnetError, check_choice, nearest, require
from linnet.text.tokens import Token, tokenize

_LANGUAGES = {"de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "nl": "dutch"}
_PIPELINE = re.compile(r"[a-z]{2,3}_[a-z0-9]+(?:_[a-z0-9]+)+$")
_END = re.compile(r"[.!?\u2026]+$")
KNOWN = 1 << 16  # words and sentences whose tags are kept: every fold of a comparison asks about the same ones
_ADJECTIVE = re.compile(r"AJ|JJ|ADJ")  # as the tag sets of the BNC, Penn and German and universal tags begin


def lemmas(text: str, language: str = "en") -> list[Token]:
    """Return words in the form that a dictionary lists (simplemma): "ran" is "run"."""
    lemmatize = require("simplemma", "lemmas", "lang").lemmatize
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
    stemmer = require("Stemmer", "stems", "lang")
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
        words = [t for t in pipeline(text) if not t.is_space]
        return [(Token(t.text.casefold(), t.idx, t.idx + len(t.text)), t.tag_ or t.pos_) for t in words]
    tokens = tokenize(text, case="keep")
    out: list[tuple[Token, str]] = []
    ended = accumulate((bool(_END.match(t.text)) for t in tokens), initial=0)  # a sentence lies between two stops
    for _, group in groupby(zip(tokens, ended, strict=False), key=lambda pair: pair[1]):
        sentence = [t for t, _ in group]
        tags = _tags(language, tuple(t.text for t in sentence))
        out += [(Token(t.text.casefold(), t.start, t.end), tag) for t, tag in zip(sentence, tags, strict=True)]
    return out


@lru_cache(KNOWN)
def _tags(language: str, sentence: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tag of each word of a sentence; with taglevel 0 HanTa leaves out the lemmas, which take most time."""
    return tuple(map(str, _tagger(language).tag_sent(list(sentence), taglevel=0)))


@cache
def _tagger(language: str) -> Any:
    tagger = require("HanTa.HanoverTagger", "parts of speech", "lang")
    known = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz", "nl": "morphmodel_dutch.pgz"}
    check_choice("language of parts of speech", language, known)
    # The whole path: HanTa prefers a file of that name in the current folder, and unpickles it.
    made = tagger.HanoverTagger(str(Path(tagger.__file__).with_name(known[language])))
    made.analyze_forward = lru_cache(KNOWN)(made.analyze_forward)  # a word is taken apart once
    return made


@cache
def _pipeline(name: str) -> Any:
    """Load a spaCy pipeline by its name or folder, as the user has it.

    Loading one imports a package, so a model file that names one is loaded only where the caller trusts it.
    """
    if not _PIPELINE.match(name) and not (Path(name) / "meta.json").is_file():
        raise LinnetError(f"'{name}' is no spaCy pipeline: neither a name such as en_core_web_sm nor a folder of one")
    try:
        return import_module("spacy").load(name)
    except (ImportError, OSError):
        raise LinnetError(
            f"there is no spaCy pipeline {name}; pip install spacy, then python -m spacy download {name}"
        ) from None


TRANSFORMS: dict[str, Callable[..., list[Token]]] = {
    "lemmas": lemmas, "stems": stems, "pos": parts_of_speech, "adjectives": adjectives,
}  # fmt: skip
"""The functions of this file by name: text -> tokens with their places."""
TAGGED = ("pos", "adjectives")
"""Those that a spaCy pipeline can do too."""


@dataclass(frozen=True)
class Transform:
    """A transform by name with its language, or with the name (or folder) of a spaCy pipeline."""

    name: str
    language: str = "en"
    pipeline: str = ""

    lasting: ClassVar[bool] = True  # what it makes of a text does not depend on other texts

    def __post_init__(self) -> None:
        check_choice("transform of words", self.name, TRANSFORMS, LinnetError)
        if self.pipeline and self.name not in TAGGED:
            raise LinnetError(f"{self.name} takes a language, not a spaCy pipeline; {' and '.join(TAGGED)} take one")

    def tokens(self, text: str) -> list[Token]:
        """Return the new words of a text with their places in it."""
        return self._all([text])[0]

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the new words of some texts."""
        return [[t.text for t in found] for found in self._all(texts)]

    def _all(self, texts: Sequence[str]) -> list[list[Token]]:
        make = TRANSFORMS[self.name]
        if self.pipeline:
            found = zip(texts, _pipeline(self.pipeline).pipe(texts), strict=True)
            return [make(text, pipeline=lambda _, doc=doc: doc) for text, doc in found]
        return [make(text, self.language) for text in texts]
