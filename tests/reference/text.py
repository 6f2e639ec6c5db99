"""The text kernels in plain Python: UTF-8, tokenisers, n-grams of words and characters, counts.

It does what they do, on one document at a time: bytes to characters, characters to tokens, tokens to n-grams with their
fingerprints, places and names, n-grams to counts. Settings are the words of features/blocks.py.

>>> [t.text for t in cut("Don\u2019t  stop!!".encode())]
["don't", 'stop', '!!']
>>> [g.name for g in word_ngrams(cut(b"to be or"), 1, 2)]
['to', 'to be', 'be', 'be or', 'or']
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise

import numpy as np

from linnet._kernels.text import classify, unicode_version

__all__ = ["Char", "Cut", "Gram", "char_class", "char_ngrams", "count", "cut", "fold", "ngrams", "word_ngrams"]

WORD, MARK, SPACE, ALONE, IGNORE, PYSPACE = 1, 2, 4, 8, 16, 32
EDGE_LEFT, EDGE_RIGHT = 1 << 30, 1 << 29
APOSTROPHES = "'\u2019\uff07"
JOINER = "\u200d"
SAME_UNICODE = unicodedata.unidata_version == unicode_version()
ALONE_NAMES = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "THAI", "LAO",
    "KHMER", "MYANMAR", "TIBETAN",
)  # fmt: skip
DIRECTION_AND_HYPHEN = {0x00AD, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}


@dataclass(frozen=True)
class Char:
    """One folded character and the bytes of the document it came from."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Cut:
    """One token: its folded characters and its place in bytes."""

    chars: tuple[Char, ...]
    start: int
    end: int

    @property
    def text(self) -> str:
        return "".join(c.text for c in self.chars)


@dataclass(frozen=True)
class Gram:
    """One n-gram: fingerprint, first byte, length in bytes (with the edge flags of character n-grams) and name."""

    fingerprint: int
    start: int
    length: int
    name: str


# ---- characters


def decode(data: bytes) -> list[Char]:
    """Read UTF-8; each byte that belongs to no character is read as U+FFFD."""
    chars, at = [], 0
    for c in data.decode("utf-8", "surrogateescape"):
        size = 1 if "\ud800" <= c <= "\udfff" else len(c.encode())
        chars.append(Char("\ufffd" if "\ud800" <= c <= "\udfff" else c, at, at + size))
        at += size
    return chars


@cache
def char_class(c: str) -> int:
    """Return the class bits of a character, from the definitions where this Python has the Unicode of the tables."""
    if not SAME_UNICODE:
        out = np.zeros(1, np.uint8)
        classify(np.array([ord(c)], np.uint32), out)
        return int(out[0])
    name, category = unicodedata.name(c, ""), unicodedata.category(c)
    word = c.isalnum() or c == "_"
    bits = WORD * word
    bits |= ALONE * (word and name.startswith(ALONE_NAMES) and not name.endswith("DIGIT"))
    bits |= MARK * (category in ("Mn", "Mc", "Me") or c in "\u200c\u200d")
    bits |= IGNORE * (ord(c) in DIRECTION_AND_HYPHEN)
    bits |= SPACE * (c.isspace() or category in ("Cc", "Zs", "Zl", "Zp") or c in "\u200b\u2060\ufeff")
    return int(bits | PYSPACE * c.isspace())


@cache
def fold(c: str, case: str) -> str:
    """Fold one character; letters that are newer than the tables stay as they are."""
    if case.startswith("ascii-"):
        return c if case == "ascii-keep" or not c.isascii() else c.lower()
    if case == "keep" or (not SAME_UNICODE and c.isalnum() and not char_class(c)):
        return c
    return c.casefold() if case == "fold" else c.lower()


# ---- tokens


def cut(data: bytes, tokens: str = "words", case: str = "fold") -> list[Cut]:
    """Cut a document into tokens."""
    chars = decode(data)
    if tokens == "words":
        spans = _words(chars)
    elif tokens == "penn":
        spans = _penn(chars)
    elif tokens == "bytes":
        spans = [[Char(chr(b), k, k + 1)] for k, b in enumerate(data)]
        case = "ascii-" + case
    elif tokens == "characters":
        spans = [[c] for c in chars]
    elif tokens == "pattern":
        spans = [s for s in _runs(chars, lambda c: bool(char_class(c) & WORD)) if len(s) >= 2]
    else:
        spans = _runs(chars, lambda c: not char_class(c) & PYSPACE)
    return [Cut(tuple(_folded(span, case)), span[0].start, span[-1].end) for span in spans]


def _folded(span: list[Char], case: str) -> list[Char]:
    return [Char(f, c.start, c.end) for c in span for f in fold(c.text, case)]


def _runs(chars: list[Char], inside: Callable[[str], bool]) -> list[list[Char]]:
    return [list(run) for wanted, run in groupby(chars, lambda c: inside(c.text)) if wanted]


def _words(chars: list[Char]) -> list[list[Char]]:
    spans, i = [], 0
    while i < len(chars):
        kind = char_class(chars[i].text)
        if kind & (SPACE | IGNORE):
            i += 1
            continue
        take = _word if kind & (WORD | MARK) and not kind & ALONE else _symbol
        span, i = take(chars, i)
        spans.append([Char("'", c.start, c.end) if c.text in APOSTROPHES else c for c in span])
    return spans


def _in_word(c: str) -> bool:
    return bool(char_class(c) & (WORD | MARK)) and not char_class(c) & ALONE


def _word(chars: list[Char], i: int) -> tuple[list[Char], int]:
    """Letters, digits, marks, and apostrophes before a letter or digit; soft hyphens and the like are left out."""
    span = []
    while i < len(chars):
        c = chars[i].text
        follows = chars[i + 1].text if i + 1 < len(chars) else " "
        if _in_word(c) or (c in APOSTROPHES and char_class(follows) & (WORD | ALONE) == WORD):
            span.append(chars[i])
        elif not char_class(c) & IGNORE:
            break
        i += 1
    return span, i


def _symbol(chars: list[Char], i: int, repeats: bool | None = None) -> tuple[list[Char], int]:
    """One sign and its marks; signs, not characters that stand alone, also take their own repetitions."""
    first, span, i = chars[i].text, [chars[i]], i + 1
    repeats = not char_class(first) & ALONE if repeats is None else repeats
    while i < len(chars):
        c = chars[i].text
        joined = len(span) > 1 and span[-1].text == JOINER and not char_class(c) & (WORD | SPACE | IGNORE)
        if not ((repeats and c == first) or char_class(c) & MARK or joined):
            break
        span.append(chars[i])
        i += 1
    return span, i


_APOSTROPHE = f"[{APOSTROPHES}]"
_UNIT = f"(?:[nN]{_APOSTROPHE}[tT]|{_APOSTROPHE}(?:[sSmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))"
_STEM = re.compile(f"(.*?)((?:{_UNIT})*)", re.DOTALL)
_TWO = re.compile("(?:can(?=not)|gon(?=na)|wan(?=na)|got(?=ta)|gim(?=me)|lem(?=me))(?:not|na|ta|me)", re.I | re.A)
_DOTTED = re.compile(r"[a-z](?:\.[a-z])+|mrs?|ms|dr|prof|st|jr|sr|vs|etc", re.I | re.A)


def _penn(chars: list[Char]) -> list[list[Char]]:
    """English in the manner of the Penn Treebank: did n't, cat . ; runs of . - ' and ` are one token."""
    spans: list[list[Char]] = []
    i = 0
    while i < len(chars):
        c, kind = chars[i].text, char_class(chars[i].text)
        if kind & (SPACE | IGNORE):
            i += 1
            continue
        found: list[list[Char]] = []
        if _in_word(c) or c in APOSTROPHES:
            found, after = _penn_word(chars, i)
        if not found:
            span, after = _symbol(chars, i, repeats=c in ".-`" + APOSTROPHES)
            found = [span]
        spans += found
        i = after
    out = [[c for c in span if not char_class(c.text) & IGNORE] for span in spans]
    return [[Char("'", c.start, c.end) if c.text in APOSTROPHES else c for c in span] for span in out]


def _penn_end(chars: list[Char], i: int) -> tuple[int, int]:
    """Where a word ends, and where to read on: behind what is dropped at its end."""
    start, end = i, i
    while i < len(chars):
        c = chars[i].text
        follows = chars[i + 1].text if i + 1 < len(chars) else " "
        if _in_word(c):
            end = i + 1
        elif not (char_class(c) & IGNORE or (i == start and c in APOSTROPHES)):
            joins = c in "-./,:" + APOSTROPHES and char_class(follows) & (WORD | ALONE) == WORD
            if not joins or (c in ",:" and not (chars[i - 1].text in "0123456789" and follows in "0123456789")):
                break
        i += 1
    return end, i


def _penn_word(chars: list[Char], i: int) -> tuple[list[list[Char]], int]:
    """Return a word with its clitics apart; nothing where an apostrophe begins no clitic."""
    end, after = _penn_end(chars, i)
    raw = "".join(c.text for c in chars[i:end])
    parts = _STEM.fullmatch(raw)
    stem = parts.group(1) if parts else raw
    if chars[i].text in APOSTROPHES:
        if stem or not raw:
            return [], i
    elif (
        after == end
        and "".join(c.text for c in chars[end : end + 2]) not in ("", "..")
        and chars[end].text == "."
        and _DOTTED.fullmatch(raw)
    ):
        return [chars[i : end + 1]], end + 1
    sizes = [3, len(stem) - 3] if _TWO.fullmatch(stem) else [len(stem)] * bool(stem)
    sizes += [len(unit) for unit in re.findall(_UNIT, raw[len(stem) :])]
    cuts = [i + sum(sizes[:k]) for k in range(len(sizes) + 1)]
    return [chars[a:b] for a, b in pairwise(cuts)], after


# ---- fingerprints

MASK = (1 << 64) - 1


def mix(h: int) -> int:
    """splitmix64."""
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & MASK
    h = (h ^ h >> 27) * 0x94D049BB133111EB & MASK
    return h ^ h >> 31


def join(h: int, piece: int) -> int:
    """Add one piece to an n-gram."""
    h = (h ^ piece) * 0xD6E8FEB86659FD93 & MASK
    return h ^ h >> 32


def token_hash(token: str) -> int:
    """Hash the UTF-8 bytes of a folded token, eight at a time, and their number."""
    data = token.encode()
    h = 0
    for k in range(0, len(data), 8):
        h = (h ^ int.from_bytes(data[k : k + 8], "little")) * 0x9E3779B97F4A7C15 & MASK
        h ^= h >> 32
    return mix(h ^ len(data))


def word_ngrams(tokens: list[Cut], low: int, high: int, seed: int = 0, blank: str = " ") -> list[Gram]:
    """Return the n-grams of neighbouring tokens, low <= n <= high; blank stands between them in names."""
    grams = []
    for i in range(len(tokens)):
        for n in range(low, min(high, len(tokens) - i) + 1):
            part = tokens[i : i + n]
            h = seed & MASK
            for t in part:
                h = join(h, token_hash(t.text))
            grams.append(Gram(h or 1, part[0].start, part[-1].end - part[0].start, blank.join(t.text for t in part)))
    return grams


def char_ngrams(tokens: list[Cut], low: int, high: int, seed: int = 0) -> list[Gram]:
    """Return the n-grams of the characters of each token, padded by a blank; a shorter token counts once, whole."""
    grams: list[Gram] = []
    for t in tokens:
        padded = [Char(" ", t.chars[0].start, t.chars[0].start), *t.chars, Char(" ", t.chars[-1].end, t.chars[-1].end)]
        least = min(low, len(padded))
        for i in range(len(padded) - least + 1):
            grams += [_char_ngram(padded, i, n, seed) for n in range(least, min(high, len(padded) - i) + 1)]
    return grams


def _char_ngram(padded: list[Char], i: int, n: int, seed: int) -> Gram:
    part = padded[i : i + n]
    h = seed & MASK
    for c in part:
        h = join(h, ord(c.text))
    edges = EDGE_LEFT * (i == 0) | EDGE_RIGHT * (i + n == len(padded))
    return Gram(h or 1, part[0].start, part[-1].end - part[0].start | edges, "".join(c.text for c in part))


def ngrams(data: bytes, kind: str, tokens: str, case: str, low: int, high: int, seed: int = 0) -> list[Gram]:
    """Return what one block makes of a document."""
    cuts = cut(data, tokens, case)
    if kind == "words":
        return word_ngrams(cuts, low, high, seed, "" if tokens in ("characters", "bytes") else " ")
    return char_ngrams(cuts, low, high, seed)


def count(grams: list[Gram]) -> dict[int, int]:
    """Return the counts of a document's fingerprints, in the order of first sight."""
    return dict(Counter(g.fingerprint for g in grams))


def take(indices: list[int], begin: list[int], lengths: list[int]) -> tuple[list[list[int]], list[int]]:
    """Return segments of columns, numbered afresh in the order of first sight, and the old number of each new one."""
    columns: list[int] = []
    out = []
    for first, n in zip(begin, lengths, strict=True):
        old = indices[first : first + n]
        columns += [c for k, c in enumerate(old) if c not in columns and c not in old[:k]]
        out.append([columns.index(c) for c in old])
    return out, columns
