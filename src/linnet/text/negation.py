"""Words that turn round what follows, and the signs that end their reach; English.

The kernels know the words by their hash, from a table that ``tools/negation_table.py`` writes; a test holds the two
together. Das and Chen (2001) mark every word from such a word to the next punctuation.

>>> is_negation("didn't"), is_negation("NEVER"), is_negation("knot")
(True, True, False)
"""

from __future__ import annotations

_CONTRACTED = [
    "ain't",
    "aren't",
    "can't",
    "couldn't",
    "daren't",
    "didn't",
    "doesn't",
    "don't",
    "hadn't",
    "hasn't",
    "haven't",
    "isn't",
    "mightn't",
    "mustn't",
    "needn't",
    "oughtn't",
    "shan't",
    "shouldn't",
    "wasn't",
    "weren't",
    "won't",
    "wouldn't",
]  # noqa: SIM905 - a list of words reads better as words
_PLAIN = "not no never none nobody nothing nowhere neither nor cannot without hardly scarcely barely n't nope".split()  # noqa: SIM905

NEGATIONS = tuple(
    dict.fromkeys(
        form
        for word in [*_PLAIN, *_CONTRACTED, *(w.replace("'", "") for w in _CONTRACTED)]
        for form in (word, word.capitalize(), word.upper())
    )
)
"""The words, in small letters, with a capital and in capitals; contractions also without their apostrophe."""

STOPS = ".,:;!?()[]{}\u2013\u2014\u2026"
"""A token that begins or ends with one of these ends the reach of a negation."""


def is_negation(token: str) -> bool:
    """Say whether a token is a negation."""
    return token in NEGATIONS
