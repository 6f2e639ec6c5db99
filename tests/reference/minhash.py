"""The minhash kernel in plain Python: the same hashes, the same sketches."""

from __future__ import annotations

import re

__all__ = ["alike", "key", "shingles", "sketch", "words"]

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
# Characters that stand alone: Thai, Lao, Burmese, Khmer, and from U+3000 on, but for signs and forms near U+FFFF.
_ALONE = "\u0e00-\u0eff\u1000-\u10bf\u1780-\u17ff\u3000-\ufdff\uff40-\uffbf\U00010000-\U0010ffff"
_SIGN = "\u2000-\u207f\u00a0"


def mix(h: int) -> int:
    """splitmix64."""
    h ^= h >> 30
    h = h * 0xBF58476D1CE4E5B9 & _MASK
    h ^= h >> 27
    h = h * 0x94D049BB133111EB & _MASK
    return h ^ (h >> 31)


def words(text: str) -> list[bytes]:
    r"""Cut a text into words.

    >>> words("It\u2019s GOOD, \u6f22\u5b57!")
    [b'It', b's', b'GOOD', b'\xe6\xbc\xa2', b'\xe5\xad\x97']
    """
    found = re.findall(f"[{_ALONE}]|(?:(?![{_ALONE}{_SIGN}])[0-9A-Za-z\x80-\U0010ffff])+", text)
    return [word.encode() for word in found]


def word_hash(word: bytes) -> int:
    """FNV-1a over the bytes, ASCII letters lowered."""
    h = _STEP
    alone = re.fullmatch(f"[{_ALONE}]", word.decode()) is not None
    for c in word if alone else word.lower():
        h = (h ^ c) * 0x100000001B3 & _MASK
    return mix(h)


def key(text: str) -> int:
    """A hash of all words; of the bytes where there are none."""
    found = words(text)
    h = len(found)
    for word in found:
        h = mix(h ^ word_hash(word)) + _STEP & _MASK
    if not found:
        for c in text.encode():
            h = (h ^ c) * 0x100000001B3 & _MASK
    return mix(h)


def shingles(text: str, size: int) -> list[int]:
    """Sorted distinct hashes of the runs of `size` words; all of them if there are fewer."""
    hashes = [word_hash(word) for word in words(text)]
    top = min(size, len(hashes))
    out = set()
    for i in range(len(hashes) - top + 1 if hashes else 0):
        h = top
        for k in range(top):
            h = mix(h ^ hashes[i + k]) + _STEP & _MASK
        out.add(mix(h))
    return sorted(out)


def sketch(text: str, size: int, multipliers: list[int], kept: int) -> tuple[list[int], list[int]]:
    """The smallest hashes, and a minimum for each multiplier."""
    found = shingles(text, size)
    minima = [min([(h * a & _MASK) >> 32 for h in found], default=(1 << 32) - 1) for a in multipliers]
    return [h >> 32 for h in found[:kept]], minima


def alike(a: list[int], b: list[int], kept: int) -> float:
    """Jaccard similarity from the smallest of two sets.

    >>> alike([1, 2, 3], [2, 3, 4], 256)
    0.5
    """
    union = sorted(set(a) | set(b))[:kept]
    return sum(h in set(a) and h in set(b) for h in union) / len(union) if union else 0.0
