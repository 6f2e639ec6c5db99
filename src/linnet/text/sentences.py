"""Sentences: where they begin and end, by simple rules that need no model and no language.

A sentence ends after ``.``, ``!``, ``?`` or an ellipsis (with closing quotes and brackets) that white space follows,
after a full stop of Chinese or Japanese, and at the end of a line. A full stop after a title, a common abbreviation or
a single capital letter ends nothing.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

# It begins with a plain set of characters, which re finds quickly; what must hold around them is asked after.
_END = re.compile(
    "[.!?\u2026\u3002\uff01\uff1f\n][.!?\u2026\u3002\uff01\uff1f]*+[\"'\u201d\u2019\u00bb\u300d\u300f)\\]]*+"
)
_WIDE = "\u3002\uff01\uff1f"
_ABBREVIATED = (
    "mr mrs ms dr prof st sr jr vs etc e.g i.e cf al no vol pp fig gen col sen rep gov capt lt sgt inc ltd co corp dept "
    "approx est u.s u.k a.m p.m"
)
_SHORT = frozenset(_ABBREVIATED.split())


def sentences(text: str) -> list[tuple[int, int]]:
    r"""Return the start and end of each sentence that holds a letter or a digit.

    >>> text = 'Dr. No met J. Doe. "Really?" Yes!\nNo end'
    >>> [text[a:b] for a, b in sentences(text)]
    ['Dr. No met J. Doe.', '"Really?"', 'Yes!', 'No end']
    """
    found: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        mark = match[0]
        at, end = match.span()
        if mark[0] == "\n":
            end = at + 1
        elif (text[end : end + 1].strip() and mark[0] not in _WIDE) or (mark == "." and _abbreviated(text, at)):
            continue
        _add(text, start, end, found)
        start = end
    _add(text, start, len(text), found)
    return found


def _abbreviated(text: str, at: int) -> bool:
    """Say whether the word before a full stop is one that full stops follow."""
    before = text[at - 8 if at > 8 else 0 : at].split()
    if not before:
        return False
    word = before[-1].lstrip("(\"'\u201c\u2018[")
    return word.isupper() if len(word) == 1 else word.lower() in _SHORT


def _add(text: str, start: int, end: int, found: list[tuple[int, int]]) -> None:
    piece = text[start:end]
    kept = piece.strip()
    if kept and (kept[0].isalnum() or any(map(str.isalnum, kept))):
        start += piece.find(kept)
        found.append((start, start + len(kept)))


def span_keys(texts: list[str], size: int = 3) -> tuple[npt.NDArray[np.uint64], list[list[tuple[int, int]]]]:
    """Return the fingerprints of all spans of `size` sentences, in order, and the sentences of each text.

    A text of n sentences has max(0, n - size + 1) spans. Case, white space and signs do not count.

    >>> keys, cut = span_keys(["One. Two. Three. Four.", "Short.", "two, three, four! Two. Three! Four?"])
    >>> len(keys), [len(found) for found in cut], bool(keys[1] == keys[-1])
    (4, [4, 1, 4], True)
    """
    from linnet.text.duplicates import same_keys

    cut = [sentences(text) for text in texts]
    hashes = same_keys([text[a:b] for text, found in zip(texts, cut, strict=True) for a, b in found], "words")
    length = np.array([len(found) for found in cut], dtype=np.int64)
    ends = np.repeat(np.cumsum(length), length)  # of the text that each sentence is in
    first = np.flatnonzero(np.arange(len(hashes)) + size <= ends)
    keys = np.full(len(first), size, dtype=np.uint64)
    for k in range(size):
        keys = _mixed(keys ^ hashes[first + k]) + np.uint64(0x9E3779B97F4A7C15)
    return keys, cut


def _mixed(h: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    out: npt.NDArray[np.uint64] = h ^ (h >> np.uint64(31))
    return out
