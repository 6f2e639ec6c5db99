"""Texts that say the same: exact duplicates, near duplicates by the share of word shingles in common, repeated sentences.

>>> rows = ["A good film, with a good cast.", "a good film with a good cast", "Something else.", "A good film, with a good cast."]
>>> exact_groups(rows).tolist(), exact_groups(rows, "words").tolist()
([0, 1, 2, 0], [0, 0, 1, 0])
>>> near_groups(["the cat sat on the mat and slept all day long", "the cat sat on the mat and slept all day", "no"], 0.7).tolist()
[0, 0, 1]

Groups are numbered in the order of their first rows. The same rows give the same groups, on any number of threads.

Sentences: where they begin and end, by simple rules that need no model and no language.

A sentence ends after ``.``, ``!``, ``?`` or an ellipsis (with closing quotes and brackets) that white space follows,
after a full stop of Chinese or Japanese, and at the end of a line. A full stop after a title, a common abbreviation or
a single capital letter ends nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from linnet._kernels.text import document_minima, link_similar, sketch_documents, word_keys
from linnet.array_types import Bools, Hashes, Hashes32, Ints
from linnet.data.arrays import call, cast, filled, take, to_numbers
from linnet.errors import DataError, check_choice

#: What counts as the same text: as it stands; but for white space; but for case, white space and signs.
SAME = ("exact", "spaces", "words")
NEAR = 0.8  # the similarity from which two texts are near duplicates
SHINGLE = 3  # words in a row
BANDS, BAND = 4, 4  # for a quick look: how many bands, and the minima of each
KEPT = 256  # smallest hashes kept of each document: similarities are within about 0.03
MISSED = 0.002  # the share of pairs at the threshold that the bands may miss
PATIENCE = 64
MINIMA = 128
_CHUNK = 2048
Made = TypeVar("Made")


def same_keys(texts: Sequence[str], same: str = "exact") -> Hashes:
    """Return a 64-bit fingerprint of each text; texts that are the same have the same.

    Two different texts among a billion share one with a probability of about 3 %.

    >>> a, b, c = same_keys(["A film!", "a  film", "A  film!"], "words").tolist()
    >>> a == b == c, len(set(same_keys(["A film!", "a  film", "A  film!"], "spaces").tolist()))
    (True, 2)
    """
    if same == "words":
        folded = [text if text.isascii() else text.casefold() for text in texts]
        from linnet.features.buffers import text_buffers

        piece = text_buffers(folded)[0]
        keys = np.empty(len(folded), dtype=np.uint64)
        word_keys(piece.data, piece.offsets, np.empty(piece.longest() + 1, np.uint64), keys)
        return keys
    check_choice("kind of sameness", same, SAME)
    plain = texts if same == "exact" else [" ".join(text.split()) for text in texts]
    return np.frombuffer(b"".join([_digest(text) for text in plain]), dtype="<u8").astype(np.uint64)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def exact_groups(texts: Any, same: str = "exact") -> Ints:
    """Return a group number for each row; rows with the same text have the same number.

    `same` says which texts are the same: "exact", "spaces" (white space aside) or "words" (case, white space and signs
    aside).
    """
    if same == "exact" and isinstance(texts, pa.Array | pa.ChunkedArray):
        from linnet.features.buffers import text_buffers, text_numbers

        column = texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts])
        column = filled(cast(column, pa.large_string()))
        first = _first_of(np.concatenate([text_numbers(piece) for piece in text_buffers(column)]))
        alike = np.flatnonzero(np.bincount(first)[first] > 1)  # the same text, or another of the same number
        if len(alike):
            chunks = call("dictionary_encode", take(column, alike)).chunks
            first[alike] = alike[_first_of(np.concatenate([to_numbers(chunk.indices) for chunk in chunks]))]
        return _numbered(first)
    if hasattr(texts, "to_pylist"):
        texts = texts.to_pylist()
    rows = ["" if text is None else text for text in texts]
    return _numbered(_first_of(same_keys(rows, same)))


def repeats(groups: Ints) -> Bools:
    """Return which rows are not the first of their group.

    >>> repeats(np.array([0, 1, 0])).tolist()
    [False, False, True]
    """
    out = np.ones(len(groups), dtype=bool)
    out[np.unique(groups, return_index=True)[1]] = False
    return out


def bands_for(threshold: float) -> tuple[int, int]:
    """Return (bands, rows a band): the longest bands that miss no more than `MISSED` of the pairs at the threshold.

    Two documents of similarity s agree in all r minima of a band with probability s^r, and meet in one of b bands with
    probability 1 - (1 - s^r)^b.

    >>> bands_for(0.8), bands_for(0.5)
    ((21, 6), (64, 2))
    """
    if not 0 < threshold <= 1:
        raise DataError(f"threshold must be above 0 and at most 1, got {threshold}")
    for rows in range(12, 1, -1):
        bands = MINIMA // rows
        if (1 - threshold**rows) ** bands <= MISSED:
            return bands, rows
    return MINIMA, 1


class Sketches(NamedTuple):
    """What is kept of each document to compare it: about half a kilobyte of minima and at most one of small hashes."""

    keys: Hashes  # (n,) a hash of all words, in order
    minima: Hashes32  # (n, bands * rows)
    counts: Ints  # (n,) of the smallest hashes
    values: Hashes32  # the smallest hashes of each document, sorted

    @classmethod
    def of(cls, texts: Any, n_minima: int, shingle: int = SHINGLE, threads: int | None = None) -> Sketches:
        """Sketch texts."""
        multipliers = _multipliers(n_minima)

        def work(piece: Any, a: int, b: int, scratch: Hashes) -> Sketches:
            keys, totals = np.empty(b - a, np.uint64), np.empty(b - a, np.int32)
            smallest, minima = np.empty((b - a, KEPT), np.uint32), np.empty((b - a, n_minima), np.uint32)
            sketch_documents(
                piece.data, piece.offsets, a, b, shingle, multipliers, scratch, keys, totals, smallest, minima
            )
            counts = np.minimum(totals, KEPT).astype(np.int64)
            return cls(keys, minima, counts, smallest[np.arange(KEPT) < counts[:, None]])

        return cls.joined(_each_chunk(texts, work, threads), n_minima)

    @classmethod
    def joined(cls, parts: list[Sketches], n_minima: int) -> Sketches:
        """Put chunks one after the other."""
        none = np.zeros(0, np.uint64), np.zeros((0, n_minima), np.uint32), np.zeros(0, np.int64), np.zeros(0, np.uint32)
        return cls(*(np.concatenate(column) for column in zip(none, *parts, strict=True)))

    def groups(self, threshold: float, bands: int, rows: int) -> Ints:
        """Return the group of each document: those at least as similar as the threshold, and what they bring along."""
        n = len(self.keys)
        first, parent = _first_of(self.keys), np.arange(n, dtype=np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])
        distinct = np.flatnonzero((first == np.arange(n)) & (self.counts > 0))
        for band in range(bands):
            key = _band_keys(self.minima[distinct, band * rows : (band + 1) * rows])
            meets = _meeting(key)
            if len(meets):
                meets = meets[np.argsort(key[meets], kind="stable")]
                link_similar(distinct[meets], key[meets], starts, self.values, KEPT, threshold, PATIENCE, parent)
        while not np.array_equal(parent[parent], parent):
            parent = parent[parent]
        return _numbered(parent[first])


def _each_chunk(texts: Any, work: Callable[[Any, int, int, Hashes], Made], threads: int | None) -> list[Made]:
    """Return work(piece, first, last, scratch) of each some thousand texts, in order; scratch has room for their hashes."""
    from linnet.features.buffers import text_buffers

    pieces = [piece for piece in text_buffers(texts) if len(piece)]
    jobs = [(p, a, min(a + _CHUNK, len(p))) for p in pieces for a in range(0, len(p), _CHUNK)]

    def run(job: tuple[Any, int, int]) -> Made:
        piece, a, b = job
        return work(piece, a, b, np.empty(int(np.diff(piece.offsets[a : b + 1]).max()) + 1, np.uint64))

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        return list(pool.map(run, jobs))


def _multipliers(n: int) -> Hashes:
    """Odd numbers of 64 bits, the same on every machine."""
    rng = np.random.Generator(np.random.PCG64(20021))
    return rng.integers(0, 1 << 63, size=n, dtype=np.uint64) << np.uint64(1) | np.uint64(1)


def _band_keys(minima: Hashes32) -> Hashes:
    """Return one hash for the minima of each row."""
    key = np.full(len(minima), minima.shape[1], dtype=np.uint64)
    for column in range(minima.shape[1]):
        key = (key ^ minima[:, column].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


def _meeting(key: Hashes) -> Ints:
    """Return the rows whose key another row has, too.

    >>> _meeting(np.array([3, 1, 3, 2], np.uint64)).tolist()
    [0, 2]
    """
    ordered = np.sort(key)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return np.zeros(0, np.int64)
    return np.flatnonzero(twice[np.searchsorted(twice, key).clip(max=len(twice) - 1)] == key)


def _first_of(keys: Hashes) -> Ints:
    """Return, for each row, the first row with the same key."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first[inverse].astype(np.int64)


def _numbered(roots: Ints) -> Ints:
    """Number groups in the order of their first rows; a root is the first row of its group."""
    is_first = np.zeros(len(roots), dtype=bool)
    is_first[roots] = True
    return (np.cumsum(is_first) - 1)[roots]


def near_share_bound(texts: Any, threads: int | None = None) -> float:
    """Return about the most that the share of rows with a near duplicate can be, as ``near_groups`` finds them by default.

    Two near duplicates share all minima of one of a few bands with a probability of 0.88 or more. It takes a fifth of the time
    of the groups, and says where they need not be made.

    >>> texts = ["the cat sat on the mat and slept all day long", "the cat sat on the mat and slept all day", "no", "yes"]
    >>> round(near_share_bound(texts), 2)
    0.57
    """
    multipliers = _multipliers(BANDS * BAND)

    def work(piece: Any, a: int, b: int, scratch: Hashes) -> Hashes32:
        minima = np.empty((b - a, len(multipliers)), np.uint32)
        document_minima(piece.data, piece.offsets, a, b, SHINGLE, multipliers, scratch, minima)
        return minima

    found = np.concatenate([np.zeros((0, len(multipliers)), np.uint32), *_each_chunk(texts, work, threads)])
    near = np.zeros(len(found), dtype=bool)
    for band in range(0, len(multipliers), BAND):
        near[_meeting(_band_keys(found[:, band : band + BAND]))] = True
    return min(1.0, float(near.sum() / max(1, len(near)) / (1 - (1 - NEAR**BAND) ** BANDS)))


def near_groups(texts: Any, threshold: float = NEAR, *, shingle: int = SHINGLE, threads: int | None = None) -> Ints:
    """Return a group number for each row; rows that share most of their word shingles have the same number.

    Two rows are near duplicates if the Jaccard similarity of their sets of `shingle` consecutive words (case and signs
    aside) is at least `threshold`; near duplicates of near duplicates are in the group, too. Similarities are exact
    for documents of up to 256 distinct shingles, and within about 0.03 beyond. About two pairs in a thousand whose
    similarity is just at the threshold are missed, fewer above it. Memory: about 1.5 kB a row.
    """
    if shingle < 1:
        raise DataError(f"shingle must be at least 1 word, got {shingle}")
    bands, rows = bands_for(threshold)
    found = Sketches.of(texts, bands * rows, shingle, threads)
    return found.groups(threshold - 1e-12, bands, rows)


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


def span_keys(texts: list[str], size: int = 3) -> tuple[Hashes, list[list[tuple[int, int]]]]:
    """Return the fingerprints of all spans of `size` sentences, in order, and the sentences of each text.

    A text of n sentences has max(0, n - size + 1) spans. Case, white space and signs do not count.

    >>> keys, cut = span_keys(["One. Two. Three. Four.", "Short.", "two, three, four! Two. Three! Four?"])
    >>> len(keys), [len(found) for found in cut], bool(keys[1] == keys[-1])
    (4, [4, 1, 4], True)
    """
    cut = [sentences(text) for text in texts]
    hashes = same_keys([text[a:b] for text, found in zip(texts, cut, strict=True) for a, b in found], "words")
    length = np.array([len(found) for found in cut], dtype=np.int64)
    ends = np.repeat(np.cumsum(length), length)  # of the text that each sentence is in
    first = np.flatnonzero(np.arange(len(hashes)) + size <= ends)
    keys = np.full(len(first), size, dtype=np.uint64)
    for k in range(size):
        keys = mixed(keys ^ hashes[first + k]) + np.uint64(0x9E3779B97F4A7C15)
    return keys, cut


def mixed(h: Hashes) -> Hashes:
    """Return the last step of SplitMix64, as the kernels take it."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(h ^ (h >> np.uint64(31)))
