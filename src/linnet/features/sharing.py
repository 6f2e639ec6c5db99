"""Texts counted once for many fits: every model and every fold takes its rows from the same count.

A part of the texts gets exactly what counting it alone would have given: the same columns, numbered in the order of
first sight within the part, so that models fitted either way are the same to the byte.

>>> shared = Shared(["a b", "c", "b c"])
>>> from linnet.features.blocks import Words
>>> counted = shared.part(np.array([1, 2])).count((Words(1, 1),))
>>> counted.rows.indices.tolist(), counted.rows.n_columns  # c; b c
([0, 1, 0], 2)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.features.blocks import Blocks
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import Counted, Seen, count, count_known

Indices = npt.NDArray[np.int64]


def count_hashed(
    pieces: list[TextBuffer], blocks: Blocks, bits: int, *, counting: bool, threads: int | None
) -> Counted:
    """Count features into 2^bits columns, without a vocabulary."""
    slots, columns = np.zeros(0, np.uint64), np.zeros(0, np.int32)
    rows = count_known(pieces, blocks, slots, 64 - bits, columns, 1 << bits, counting=counting, threads=threads)
    return Counted(rows, slots, Seen(columns, columns, columns, columns.astype(np.uint8)))


@dataclass(frozen=True)
class Texts:
    """What a fit counts: all documents of some pieces. ``pieces`` is what the places in ``Counted.seen`` refer to."""

    pieces: list[TextBuffer]

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    def count(
        self, blocks: Blocks, *, hash_bits: int | None = None, counting: bool = False, threads: int | None = None
    ) -> Counted:
        """Count the documents; the rows are the caller's own, to prune in place."""
        if hash_bits:
            return count_hashed(self.pieces, blocks, hash_bits, counting=counting, threads=threads)
        return count(self.pieces, blocks, counting=counting, threads=threads)


class Shared:
    """Texts and what was counted of them so far, by blocks."""

    def __init__(self, texts: Any) -> None:
        self.pieces = text_buffers(texts)
        self.sizes: Indices = np.concatenate([np.diff(p.offsets) for p in self.pieces])
        """Bytes of each document."""
        self._known: dict[tuple[Blocks, int | None], tuple[Counted, bool, float]] = {}
        self._derived: dict[Any, tuple[Shared, float]] = {}

    def part(self, rows: Indices) -> Part:
        """Return some of the documents, by number, as a fit may count them."""
        return Part(self, rows)

    def forget(self) -> None:
        """Drop the counts, to have their memory back; they are made again when asked for."""
        self._known.clear()

    def counted(
        self, blocks: Blocks, hash_bits: int | None, counting: bool, threads: int | None
    ) -> tuple[Counted, float]:
        """Return the count of all documents, made when first asked for, and the seconds it took."""
        found = self._known.get((blocks, hash_bits))
        if found is None or (counting and not found[1]):
            began = time.perf_counter()
            fresh = Texts(self.pieces).count(blocks, hash_bits=hash_bits, counting=counting, threads=threads)
            found = self._known[blocks, hash_bits] = (fresh, counting, time.perf_counter() - began)
        return found[0], found[2]

    def derived(self, source: Any, derive: Callable[[Any, list[TextBuffer]], list[TextBuffer]]) -> tuple[Shared, float]:
        """Return the texts that a source makes of all documents, made when first asked for, and the seconds it took."""
        if source not in self._derived:
            began = time.perf_counter()
            made = Shared(derive(source, self.pieces))
            self._derived[source] = made, time.perf_counter() - began
        return self._derived[source]


@dataclass
class Part:
    """Some documents of shared texts.

    ``saved`` is how many seconds less the counting took than it would have taken for this part alone; it is negative
    for the fit that counts for all.
    """

    shared: Shared
    rows: Indices
    within: Part | None = None  # the part that these texts were derived from
    saved: float = field(default=0.0, init=False)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def pieces(self) -> list[TextBuffer]:
        """All texts: what the places in ``Counted.seen`` refer to."""
        return self.shared.pieces

    def count(
        self, blocks: Blocks, *, hash_bits: int | None = None, counting: bool = False, threads: int | None = None
    ) -> Counted:
        """Take the documents from the count of all of them."""
        began = time.perf_counter()
        whole, seconds = self.shared.counted(blocks, hash_bits, counting, threads)
        every = whole.rows if counting else replace(whole.rows, counts=np.zeros(0, np.int32))
        if hash_bits:
            whole = replace(whole, rows=every.take(self.rows))
        else:
            rows, columns = every.take_seen(self.rows)
            whole = Counted(rows, whole.fingerprints[columns], whole.seen.take(columns))
        self._note(seconds, began)
        return whole

    def derived(self, source: Any, derive: Callable[[Any, list[TextBuffer]], list[TextBuffer]]) -> Part:
        """Return the same documents of the texts that a source makes of all of them."""
        began = time.perf_counter()
        shared, seconds = self.shared.derived(source, derive)
        part = Part(shared, self.rows, within=self)
        self._note(seconds, began)
        return part

    def _note(self, seconds: float, began: float) -> None:
        """Note the share of what something took for all documents, less what it took now."""
        sizes = self.shared.sizes
        share = float(sizes[self.rows].sum()) / max(1.0, float(sizes.sum()))
        (self.within or self).saved += seconds * share - (time.perf_counter() - began)
