"""The feature blocks of the kernels in plain Python.

>>> [g.name for g in ngrams(b"It is not good, no.", "negated", "words", "fold", 1, 1)]
['it', 'is', 'not', 'NOT_good', ',', 'no', '.']
>>> [g.name for g in ngrams(b"up or down we go", "skips", "words", "fold", 1, 2)][:3]
['up … down', 'up … we', 'or … we']
"""

from __future__ import annotations

from linnet.text.tokens import STOPS, is_negation
from reference import text as reference
from reference.text import EDGE_LEFT, EDGE_RIGHT, MARK, MASK, WORD, Char, Cut, Gram, char_class, join, token_hash

__all__ = ["lengths", "ngrams", "shape"]

NEGATION_WORD, POSITION_WORD, FLAG_SHIFT, SHAPE_RUN = 0x4E4F54, 0x504F53, 29, 4


def _gram(pieces: list[int], seed: int, first: Cut, last: Cut, name: str, flag: int = 0) -> Gram:
    h = seed & MASK
    for piece in pieces:
        h = join(h, piece)
    return Gram(h or 1, first.start, last.end - first.start | flag << FLAG_SHIFT, name)


def _windows(n: int, low: int, high: int) -> list[tuple[int, int]]:
    return [(i, i + k) for i in range(n) for k in range(low, min(high, n - i) + 1)]


def _begins(data: bytes, t: Cut) -> bool:
    return reference.decode(data[t.start : t.end])[0].text in STOPS


def _ends(data: bytes, t: Cut) -> bool:
    return chr(data[t.end - 1]) in STOPS


def negated(data: bytes, tokens: list[Cut], low: int, high: int, seed: int) -> list[Gram]:
    """Return word n-grams with the words in the reach of a negation marked."""
    before, marked, inside = [], [], False
    for t in tokens:
        before.append(inside)
        marked.append(inside and not _begins(data, t))
        inside = (inside or is_negation(t.text)) and not _begins(data, t) and not _ends(data, t)
    hashes = [
        join(NEGATION_WORD, token_hash(t.text)) if m else token_hash(t.text)
        for t, m in zip(tokens, marked, strict=True)
    ]
    names = ["NOT_" * m + t.text for t, m in zip(tokens, marked, strict=True)]
    return [
        _gram(hashes[a:b], seed, tokens[a], tokens[b - 1], " ".join(names[a:b]), before[a])
        for a, b in _windows(len(tokens), low, high)
    ]


def nots(data: bytes, tokens: list[Cut], low: int, high: int, seed: int) -> list[Gram]:
    """Return what follows each negation."""
    grams = []
    for i, t in enumerate(tokens):
        for n in range(1, high + 1) if is_negation(t.text) else ():
            part = tokens[i + 1 : i + 1 + n]
            if len(part) < n or _begins(data, part[-1]):
                break
            if n >= low:
                name = " ".join(["not", *(p.text for p in part)])
                grams.append(_gram([token_hash(p.text) for p in part], seed, t, part[-1], name))
            if _ends(data, part[-1]):
                break
    return grams


def position(_: bytes, tokens: list[Cut], low: int, high: int, seed: int) -> list[Gram]:
    """Return word n-grams with their part of the text."""
    grams = []
    for a, b in _windows(len(tokens), low, high):
        part = 0 if a < len(tokens) / 4 else 1 if a < len(tokens) * 3 / 4 else 2
        pieces = [POSITION_WORD + part, *(token_hash(t.text) for t in tokens[a:b])]
        name = " ".join(t.text for t in tokens[a:b]) + ("@first", "@middle", "@last")[part]
        grams.append(_gram(pieces, seed, tokens[a], tokens[b - 1], name, part))
    return grams


def skips(_: bytes, tokens: list[Cut], low: int, high: int, seed: int) -> list[Gram]:
    """Return pairs with low to high tokens left out between them."""
    return [
        _gram([token_hash(t.text), token_hash(u.text)], seed, t, u, f"{t.text} … {u.text}")
        for i, t in enumerate(tokens)
        for u in tokens[i + 1 + low : i + 2 + high]
    ]


def affixes(_: bytes, tokens: list[Cut], low: int, high: int, seed: int) -> list[Gram]:
    """Return how longer tokens begin and end."""
    grams = []
    for t in tokens:
        sizes = range(low, min(high, len(t.chars) - 1) + 1)
        for edge, parts in ((EDGE_LEFT, [t.chars[:n] for n in sizes]), (EDGE_RIGHT, [t.chars[-n:] for n in sizes])):
            for part in parts:
                text = "".join(c.text for c in part)
                codes = [ord(c) for c in text]
                h = seed & MASK
                for piece in [32, *codes] if edge == EDGE_LEFT else [*codes, 32]:
                    h = join(h, piece)
                name = f"{text}-" if edge == EDGE_LEFT else f"-{text}"
                grams.append(Gram(h or 1, part[0].start, part[-1].end - part[0].start | edge, name))
    return grams


def shape(token: str) -> str:
    """Return the shape of a word.

    >>> shape("McDonald's"), shape("2026-10"), shape("internationally")
    ("XxXxxxx'x", 'dddd-dd', 'xxxx')
    """
    out = ""
    for c in token:
        kind = (
            "X"
            if reference.fold(c, "lower") != c
            else "d"
            if c in "0123456789"
            else "x"
            if char_class(c) & (WORD | MARK)
            else c
        )
        if not out.endswith(kind * SHAPE_RUN):
            out += kind
    return out


def shapes(_: bytes, tokens: list[Cut], low: int, high: int, seed: int) -> list[Gram]:
    """Return n-grams of the shapes of tokens."""
    kinds = [shape(t.text) for t in tokens]
    return [
        _gram([token_hash(k) for k in kinds[a:b]], seed, tokens[a], tokens[b - 1], " ".join(kinds[a:b]))
        for a, b in _windows(len(tokens), low, high)
    ]


def lengths(data: bytes) -> list[int]:
    """Return words, their characters, capitals, words in capitals, digits, !, ?, commas, other signs."""
    out = [0] * 9
    for t in reference.cut(data, "words", "keep"):
        if not char_class(t.text[0]) & (WORD | MARK):
            out[{"!": 5, "?": 6, ",": 7}.get(t.text[0], 8)] += len(t.text)
            continue
        kinds = [shape(c) for c in t.text]
        loud = kinds.count("X") > 1 and "x" not in kinds
        for k, more in enumerate((1, len(kinds), kinds.count("X"), loud, kinds.count("d"))):
            out[k] += more
    return out


def across(data: bytes, case: str, low: int, high: int, seed: int) -> list[Gram]:
    """Return the n-grams of all characters of a text, by where they end."""
    chars: list[Char] = []
    blank = None
    for c in reference.decode(data):
        if char_class(c.text) & (reference.SPACE | reference.PYSPACE):
            blank = blank or c
        elif not char_class(c.text) & reference.IGNORE:
            if blank and chars:
                chars.append(Char(" ", blank.start, blank.end))
            blank = None
            text = "'" if c.text in reference.APOSTROPHES else c.text
            chars += [Char(f, c.start, c.end) for f in reference.fold(text, case)]
    grams = []
    for end in range(1, len(chars) + 1):
        for n in range(low, min(high, end) + 1):
            part = chars[end - n : end]
            h = seed & MASK
            for piece in part:
                h = join(h, ord(piece.text))
            name = "".join(piece.text for piece in part)
            grams.append(Gram(h or 1, part[0].start, part[-1].end - part[0].start, name))
    return grams


def ngrams(data: bytes, kind: str, tokens: str, case: str, low: int, high: int, seed: int = 0) -> list[Gram]:
    """Return what one block makes of a document."""
    if kind in ("words", "chars"):
        return reference.ngrams(data, kind, tokens, case, low, high, seed)
    if kind == "across":
        return across(data, case, low, high, seed)
    makers = {
        "negated": negated, "not": nots, "position": position, "skips": skips, "affixes": affixes, "shapes": shapes,
    }  # fmt: skip
    return makers[kind](data, reference.cut(data, tokens, case), low, high, seed)
