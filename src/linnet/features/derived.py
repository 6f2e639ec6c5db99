"""Blocks over texts derived from the original: pieces of a learned tokeniser, lemmas, stems, words with their tags.

The kernels know no BPE and no grammar, but they can cut at blanks. So each text is turned into a second one, its new
tokens with blanks between them, and the block counts the words of that one; scores of the two texts are added. What turns
texts into tokens is a *source*: a hashable value that the model file can keep, and that knows the places in the original.
Blocks of one source share one derived text.

A new derived block is a class with a ``source`` and a row of ``DERIVED`` in ``features.blocks``.

Texts counted once for many fits: every model and every fold takes its rows from the same count.

A part of the texts gets exactly what counting it alone would have given: the same columns, numbered in the order of
first sight within the part, so that models fitted either way are the same to the byte.

>>> shared = Shared(["a b", "c", "b c"])
>>> from linnet.features.blocks import Words
>>> counted = shared.part(np.array([1, 2])).count((Words(1, 1),))
>>> counted.rows.indices.tolist(), counted.rows.n_columns  # c; b c
([0, 1, 0], 2)
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock, Thread
from typing import Any, ClassVar, TypeAlias

import numpy as np

from linnet.array_types import Ints
from linnet.errors import LinnetError
from linnet.features.blocks import Block, Blocks
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import Counted, Seen, SparseCounts, count, count_known, hashing
from linnet.text.lang import Transform
from linnet.text.tokens import Subword


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
            return unnamed(count_known(self.pieces, blocks, *hashing(hash_bits), counting=counting, threads=threads))
        return count(self.pieces, blocks, counting=counting, threads=threads)


def unnamed(rows: SparseCounts) -> Counted:
    """Return counts without a vocabulary: no fingerprints, and no places where features were seen."""
    none = np.zeros(0, np.int32)
    return Counted(rows, np.zeros(0, np.uint64), Seen(none, none, none, none.astype(np.uint8)))


class Shared:
    """Texts and what was counted of them so far, by blocks."""

    def __init__(self, texts: Any) -> None:
        self.pieces = text_buffers(texts)
        self.sizes: Ints = np.concatenate([np.diff(p.offsets) for p in self.pieces])
        """Bytes of each document."""
        self._known: dict[tuple[Blocks, int | None], tuple[Counted, bool, float]] = {}
        self._lock = Lock()
        self._derived: dict[Any, tuple[Shared, float]] = {}

    def part(self, rows: Ints) -> Part:
        """Return some of the documents, by number, as a fit may count them."""
        return Part(self, rows)

    @property
    def n_entries(self) -> int:
        """Entries of all counts that are kept."""
        return sum(len(counted.rows.indices) for counted, _, _ in self._known.values())

    def forget(self) -> None:
        """Drop the counts, to have their memory back; they are made again when asked for."""
        self._known.clear()

    def counted(
        self, blocks: Blocks, hash_bits: int | None, counting: bool, threads: int | None
    ) -> tuple[Counted, float]:
        """Return the count of all documents, made when first asked for, and the seconds it took."""
        with self._lock:  # two threads that ask for the same share one count
            found = self._known.get((blocks, hash_bits))
            if found is None or (counting and not found[1]):
                began = time.perf_counter()
                fresh = Texts(self.pieces).count(blocks, hash_bits=hash_bits, counting=counting, threads=threads)
                for array in (fresh.rows.indptr, fresh.rows.indices, fresh.rows.counts):
                    array.flags.writeable = False  # who drops columns makes a copy
                found = self._known[blocks, hash_bits] = (fresh, counting, time.perf_counter() - began)
            return found[0], found[2]

    def begin(self, blocks: Blocks, hash_bits: int | None, counting: bool, threads: int | None) -> None:
        """Begin to count in a thread of its own; who asks for the count waits for it, and an error is theirs."""

        def work() -> None:
            with suppress(Exception):
                self.counted(blocks, hash_bits, counting, threads)

        Thread(target=work, daemon=True).start()

    def derived(self, source: TextSource) -> tuple[Shared, float]:
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
    rows: Ints
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
        if np.array_equal(self.rows, np.arange(len(every))):
            whole = replace(whole, rows=every)
        elif hash_bits:
            whole = replace(whole, rows=every.take(self.rows))
        else:
            rows, columns = every.take_seen(self.rows)
            whole = Counted(rows, whole.fingerprints[columns], whole.seen.take(columns))
        self._note(seconds, began)
        return whole

    def derived(self, source: TextSource) -> Part:
        """Return the same documents of the texts that a source makes of all of them."""
        began = time.perf_counter()
        shared, seconds = self.shared.derived(source)
        part = Part(shared, self.rows, within=self)
        self._note(seconds, began)
        return part

    def _note(self, seconds: float, began: float) -> None:
        """Note the share of what something took for all documents, less what it took now."""
        sizes = self.shared.sizes
        share = float(sizes[self.rows].sum()) / max(1.0, float(sizes.sum()))
        (self.within or self).saved += seconds * share - (time.perf_counter() - began)


BATCH = 1 << 12  # texts
_BLANK = re.compile(r"\s")


@dataclass(frozen=True)
class ColumnText:
    """Another column of the data as a text of its own."""

    column: str
    lasting: ClassVar[bool] = True


TextSource: TypeAlias = Subword | Transform | ColumnText
"""What splits texts into tokens: `words` of some texts, and `tokens` of one with their places; `lasting` ones are the same for all
training texts, so that all folds share one derived text."""


@dataclass(frozen=True)
class DerivedBlock(Block):
    """n-grams of the tokens of a source, which has folded letters already, or kept them on purpose."""

    tokens: str = "whitespace"
    case: str = "keep"

    kind: ClassVar[int] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.tokens, self.case) != ("whitespace", "keep"):
            raise LinnetError(f"{self.name} cuts and folds words in its own way; leave out tokens and case")

    @property
    def state(self) -> bytes | None:
        """What was learned and is too large for the card; the model file keeps it once for all blocks that share it."""
        return None

    def with_state(self, state: bytes) -> DerivedBlock:
        """Return the block with what ``state`` was."""
        raise NotImplementedError


@dataclass(frozen=True)
class Field(Block):
    """Word n-grams of another column of the data: ``field:title:1-2*0.5``."""

    column: str = ""

    kind, name, seed = 0, "field", 0x3F84D5B5B5470917

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.column, str) or not self.column:
            raise LinnetError("field: name a column, field:title:1-2")

    @classmethod
    def read(cls, written: str, **settings: Any) -> Field | None:
        """Read the column, then what words have."""
        column, _, rest = written.partition(":")
        return super().read(rest, column=column, **settings) if column else None

    def written(self) -> list[str]:
        """Return the column, then what words have."""
        return [self.column, *super().written()]

    @property
    def needs(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    @property
    def source(self) -> ColumnText:
        """The column as a text."""
        return ColumnText(self.column)

    @property
    def about(self) -> str:
        """The column."""
        return self.column


def by_source(blocks: Blocks) -> list[tuple[TextSource | None, list[int]]]:
    """Group the numbers of blocks by the text they read: None is the original."""
    groups: dict[TextSource | None, list[int]] = {}
    for k, block in enumerate(blocks):
        groups.setdefault(block.source, []).append(k)
    return list(groups.items())


def derive(source: TextSource, pieces: list[TextBuffer]) -> list[TextBuffer]:
    """Return the derived texts: the tokens of each document with blanks between them."""
    out = []
    for piece in pieces:
        if isinstance(source, ColumnText):
            out += text_buffers([cell or "" for cell in piece.column(source.column)])
            continue
        joined: list[str] = []
        for first in range(0, len(piece), BATCH):
            texts = [piece.text(d) for d in range(first, min(first + BATCH, len(piece)))]
            joined += map(_joined, source.words(texts))
        out += text_buffers(joined)
    return out


def _joined(tokens: Iterable[str]) -> str:
    return " ".join([_BLANK.sub("\u2423", t) for t in tokens])


def place(source: TextSource, original: TextBuffer) -> tuple[TextBuffer, Ints]:
    """Return the derived texts, and for each byte where a token begins or ends the character of the original.

    Byte k of text d is entry ``offsets[d] + d + k``: every text has one entry more than bytes, for its end.
    """
    texts = [original.text(d) for d in range(len(original))]
    if isinstance(source, ColumnText):
        (piece,) = derive(source, [original])
        return piece, np.zeros(len(piece.data) + len(texts), dtype=np.int64)
    found = [source.tokens(text) for text in texts]
    piece = text_buffers([_joined(t.text for t in tokens) for tokens in found])[0]
    at = np.zeros(len(piece.data) + len(texts), dtype=np.int64)
    for d, tokens in enumerate(found):
        begin = int(piece.offsets[d]) + d
        for token in tokens:
            stop = begin + len(_BLANK.sub("\u2423", token.text).encode())
            at[begin], at[stop] = token.start, token.end
            begin = stop + 1
    return piece, at


def character_places(piece: TextBuffer) -> Ints:
    """Return the character that each byte of the original texts belongs to, and one more for the end, as ``place`` does."""
    starts, sizes, each = piece.offsets[:-1] - piece.offsets[0], np.diff(piece.offsets), np.arange(len(piece))
    data = piece.data[piece.offsets[0] : piece.offsets[-1]]
    begun = np.concatenate([np.zeros(1, np.int64), np.cumsum((data & 0xC0) != 0x80)])
    document = np.repeat(each, sizes + 1)
    return np.asarray(begun[np.arange(len(document)) - document] - begun[starts][document])


@dataclass(frozen=True)
class Derived:
    """Texts and the texts derived from them: what a fit counts where blocks read several.

    The documents of the derived texts are numbered behind those of the original ones, so that the places in
    ``Counted.seen`` refer to ``pieces``.
    """

    texts: dict[TextSource | None, Texts | Part]  # the original ones first

    @classmethod
    def of(cls, texts: Texts | Part, blocks: Blocks, pieces: list[TextBuffer]) -> Texts | Part | Derived:
        """Return texts as they are where blocks read nothing else; pieces are the documents of texts alone."""
        found: dict[TextSource | None, Texts | Part] = {None: texts}
        for source, _ in by_source(blocks):
            if source is not None and isinstance(texts, Part) and source.lasting:
                found[source] = texts.derived(source)
            elif source is not None:
                found[source] = Texts(derive(source, pieces))
        return cls(found) if len(found) > 1 else texts

    def __len__(self) -> int:
        return len(self.texts[None])

    @property
    def pieces(self) -> list[TextBuffer]:
        """All texts, the derived ones last."""
        return [piece for texts in self.texts.values() for piece in texts.pieces]

    def count(self, blocks: Blocks, **how: Any) -> Counted:
        """Count each group of blocks in its own texts, as ``Texts.count`` does; put the segments of a document side by side."""
        sizes = [sum(map(len, texts.pieces)) for texts in self.texts.values()]
        first = dict(zip(self.texts, np.cumsum([0, *sizes]).tolist(), strict=False))  # document of each source
        parts = []
        for source, numbers in by_source(blocks):
            mine = tuple(blocks[k] for k in numbers)
            found = self.texts[source].count(mine, **how)
            parts.append((found, numbers, first[source]))
        return _side_by_side(parts, len(blocks), shared=bool(how.get("hash_bits")))


def _side_by_side(parts: list[tuple[Counted, list[int], int]], n_blocks: int, shared: bool) -> Counted:
    """Merge counts of the same documents; with shared columns (hashing) numbers stay, else they go on."""
    n = len(parts[0][0].rows)
    lengths = np.zeros((n, n_blocks), dtype=np.int64)
    for counted, numbers, _ in parts:
        lengths[:, numbers] = np.diff(counted.rows.indptr).reshape(n, len(numbers))
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths.ravel())])
    indices = np.empty(indptr[-1], np.int32)
    counts = np.empty(indptr[-1] if any(len(c.rows.counts) for c, _, _ in parts) else 0, np.int32)
    first, seens = 0, []
    begin = indptr[:-1].reshape(n, n_blocks)
    for counted, numbers, document in parts:
        rows = counted.rows
        sizes = np.diff(rows.indptr)
        where = np.repeat(begin[:, numbers].ravel() - rows.indptr[:-1], sizes) + np.arange(rows.indptr[-1])
        indices[where] = rows.indices + (0 if shared else first)
        if len(counts):
            counts[where] = rows.counts
        seen = counted.seen
        block = np.asarray(numbers, np.uint8)[seen.block]
        seens.append(Seen((seen.document + document).astype(np.int32), seen.start, seen.length, block))
        first = rows.n_columns if shared else first + rows.n_columns
    fingerprints = np.concatenate([c.fingerprints for c, _, _ in parts])
    seen = Seen(*map(np.concatenate, zip(*seens, strict=True)))
    return Counted(SparseCounts(indptr, indices, counts, n_blocks, first), fingerprints, seen)


def states(blocks: Blocks) -> list[bytes]:
    """Return what blocks have learned, once each, in order: the model file keeps it beside the weights."""
    found = [b.state for b in blocks if isinstance(b, DerivedBlock)]
    return list(dict.fromkeys(state for state in found if state is not None))
