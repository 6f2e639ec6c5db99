"""Entries of word lists as the kernels will meet them in texts: fingerprints, names, and a weight for each class.

>>> from linnet.data.wordlists import word_lists
>>> known = listed(word_lists({"pos": ["Good", "not bad"], "neg": ["bad"]}), ["neg", "pos"])
>>> known.block, known.names, known.weights.tolist()
(Words(1, 2), [b'good', b'bad', b'not bad'], [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.data.wordlists import WordEntry
from linnet.errors import DataError
from linnet.features.blocks import LONGEST, Words
from linnet.features.buffers import text_buffers
from linnet.features.counting import count, names_of

_WORDS = Words(1, 1)


@dataclass(frozen=True)
class Listed:
    """Distinct entries as the kernels see them, with a weight for each class."""

    block: Words
    fingerprints: npt.NDArray[np.uint64]
    names: list[bytes]
    weights: npt.NDArray[np.float64]  # (n_entries, n_classes)


def listed(entries: list[WordEntry], classes: Sequence[Any], block: Words = _WORDS) -> Listed:
    """Fingerprint the entries, by length, as the kernels will meet them in texts, and add up who says what."""
    by_length: dict[int, list[WordEntry]] = {}
    for e, length in zip(entries, _lengths(entries, block), strict=True):
        if not 1 <= length <= LONGEST:
            raise DataError(f"{e.where}: {e.text!r} is {length} words long; an entry has 1 to {LONGEST}")
        by_length.setdefault(length, []).append(e)
    number = {c: k for k, c in enumerate(classes)}
    fingerprints, names, weights = [np.zeros(0, np.uint64)], list[bytes](), [np.zeros((0, len(classes)))]
    for length, mine in sorted(by_length.items()):
        blocks = (Words(length, length, block.tokens, block.case),)
        pieces = text_buffers([e.text for e in mine])
        counted = count(pieces, blocks, threads=1)
        columns = counted.rows.indices.tolist()  # one entry, one feature
        W = np.zeros((counted.rows.n_columns, len(classes)))
        first: dict[tuple[int, int], WordEntry] = {}
        for column, e in zip(columns, mine, strict=True):
            before = first.setdefault((column, number[e.label]), e)
            if before.weight != e.weight and before.text == e.text:
                raise DataError(
                    f"{e.where}: {e.text!r} weighs {e.weight:g} for {e.label!r}, but {before.where} says "
                    f"{before.weight:g}; keep one of them"
                )
            W[column, number[e.label]] = before.weight  # of "No!" and "NO!" the first counts
        data, at = names_of(pieces, blocks, counted.seen, counted.fingerprints)
        names += [data[a:b].tobytes() for a, b in pairwise(at.tolist())]
        fingerprints.append(counted.fingerprints)
        weights.append(W)
    low, high = (min(by_length), max(by_length)) if by_length else (1, 1)
    found = Words(low, high, block.tokens, block.case)
    return Listed(found, np.concatenate(fingerprints), names, np.concatenate(weights))


def _lengths(entries: list[WordEntry], block: Words) -> list[int]:
    """Return how many words each entry has."""
    words = (Words(1, 1, block.tokens, block.case),)
    rows = count(text_buffers([e.text for e in entries]), words, counting=True, threads=1).rows
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(rows.counts)])
    return [int(n) for n in np.diff(before[rows.row_ptr])]
