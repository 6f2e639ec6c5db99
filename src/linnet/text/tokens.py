"""Cut one text into tokens, the way the feature blocks do, with offsets into the original.

>>> for token in tokenize("Isn\u2019t it GREAT?!"):
...     print(token)
Token(text="isn't", start=0, end=5)
Token(text='it', start=6, end=8)
Token(text='great', start=9, end=14)
Token(text='?', start=14, end=15)
Token(text='!', start=15, end=16)

``words`` are Unicode words: letters, digits and marks, with apostrophes inside them; signs are tokens, a run of the
same sign is one; characters of scripts that are written without spaces stand alone. ``pattern`` is scikit-learn's
default: two or more letters, digits or underscores, everything else dropped. ``whitespace`` is ``str.split``.
``characters`` and ``bytes`` are every one of them, blanks too; a byte is written as the character of its number and
stands at the character it is part of. ``penn`` cuts English as the Penn Treebank does:

>>> [t.text for t in tokenize("The cat didn\u2019t.", "penn")]
['the', 'cat', 'did', "n't", '.']

Words that turn round what follows, and the signs that end their reach; English.

The kernels know the words by their hash, from a table that ``tools/negation_table.py`` writes; a test holds the two
together. Das and Chen (2001) mark every word from such a word to the next punctuation.

>>> is_negation("didn't"), is_negation("NEVER"), is_negation("knot")
(True, True, False)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linnet._kernels.text import Scratch, tokenise_text
from linnet.array_types import Bytes, Ints
from linnet.errors import DataError, LinnetError, check_choice

TOKENS = {"words": 0, "pattern": 1, "whitespace": 2, "characters": 3, "bytes": 4, "penn": 5}
CASES = {"keep": 0, "fold": 1, "lower": 2}

IN_CONTEXT = "\u03a3\u0130"
"""Capital sigma and dotted I: ``str.lower`` of a text is not that of its characters. Lower such texts first."""

SURROGATES = re.compile("[\ud800-\udfff]")


class Token(NamedTuple):
    """A folded piece of a text; ``start`` and ``end`` are its place in the original, in characters."""

    text: str
    start: int
    end: int


def check_tokens(tokens: str, case: str, error: type[LinnetError] = DataError) -> None:
    """Refuse unknown names of tokens and of what becomes of their case."""
    check_choice("tokens", tokens, TOKENS, error)
    check_choice("case", case, CASES, error)


def tokenize(text: str, tokens: str = "words", case: str = "fold") -> list[Token]:
    """Return the tokens of a text; see the head of this file for the choices.

    Case "fold" makes letters that differ only in case alike in every script, "lower" is ``str.lower``, "keep" keeps.

    >>> [t.text for t in tokenize("The 2 Stra\u00dfen", tokens="pattern")]
    ['the', 'strassen']
    >>> tokenize("No!!", case="keep")[1]
    Token(text='!!', start=2, end=4)
    """
    if not isinstance(text, str):
        raise DataError(f"tokenize takes one text, got {type(text).__name__}: {text!r:.60}")
    check_tokens(tokens, case)
    if case == "lower" and any(c in text for c in IN_CONTEXT):
        lowered = text.lower()
        origin = np.repeat(np.arange(len(text)), [len(c.lower()) for c in text])  # of each lowered character
        found = _cut(lowered, tokens, case)
        return [Token(t.text, int(origin[t.start]), int(origin[t.end - 1]) + 1) for t in found]
    return _cut(text, tokens, case)


def words_of(texts: Iterable[str], tokens: str = "words", case: str = "fold") -> Iterator[list[str]]:
    """Yield the tokens of each text without their places, which is quicker than ``tokenize`` for many texts.

    >>> list(words_of(["It ROCKS!", ""]))
    [['it', 'rocks', '!'], []]
    """
    scratch = Scratch(1 << 10, room=0)
    for text in texts:
        if case == "lower" and any(c in text for c in IN_CONTEXT):
            text = text.lower()
        data = np.frombuffer(SURROGATES.sub("\ufffd", text).encode(), dtype=np.uint8)
        if len(data) > scratch.longest:
            scratch = Scratch(max(2 * scratch.longest, len(data)), room=0)
        yield _tokens(data, tokens, case, scratch)


def _tokens(data: Bytes, tokens: str, case: str, scratch: Scratch) -> list[str]:
    number = tokenise_text(data, TOKENS[tokens], CASES[case], scratch)
    first = scratch.token_places[2, : number + 1].tolist()
    folded = scratch.codes[: first[number]].astype("<u4", copy=False).tobytes().decode("utf-32-le")
    return [folded[a:b] for a, b in pairwise(first)]


def _cut(text: str, tokens: str, case: str) -> list[Token]:
    data = np.frombuffer(SURROGATES.sub("\ufffd", text).encode(), dtype=np.uint8)
    scratch = Scratch(len(data), room=0)
    found = _tokens(data, tokens, case, scratch) if text else []
    places, at = scratch.token_places[:, : len(found)], _character_of(data)
    return list(map(Token, found, (at[places[0] + 1] - 1).tolist(), at[places[1]].tolist()))


def _character_of(data: Bytes) -> Ints:
    """Return how many characters begin before each byte, and in all: the number of the character that begins there."""
    out = np.zeros(len(data) + 1, dtype=np.int64)
    np.cumsum((data & 0xC0) != 0x80, out=out[1:])
    return out


_CONTRACTED = (
    "ain't aren't can't couldn't daren't didn't doesn't don't hadn't hasn't haven't isn't mightn't mustn't needn't "
    "oughtn't shan't shouldn't wasn't weren't won't wouldn't"
)
_PLAIN = "not no never none nobody nothing nowhere neither nor cannot without hardly scarcely barely n't nope"
NEGATIONS = tuple(
    dict.fromkeys(
        form
        for word in f"{_PLAIN} {_CONTRACTED} {_CONTRACTED.replace(chr(39), '')}".split()
        for form in (word, word.capitalize(), word.upper())
    )
)
"""The words, in small letters, with a capital and in capitals; contractions also without their apostrophe."""

STOPS = ".,:;!?()[]{}\u2013\u2014\u2026"
"""A token that begins or ends with one of these ends the reach of a negation."""


def is_negation(token: str) -> bool:
    """Say whether a token is a negation."""
    return token in NEGATIONS
