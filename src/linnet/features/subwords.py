"""Blocks over the pieces of a learned tokeniser: ``bpe:8000:1-2`` counts pieces and pairs of neighbouring pieces.

The kernels know no BPE, but they can cut at blanks. So each text is turned into a second one, its pieces with blanks
between them, and the block counts the words of that one; scores of the two texts are added. The tokeniser is learned
from the training texts, travels in the model file, and maps places back to the original text.

>>> str(Bpe(1, 2, size=500)), from_text("wordpiece:2-3*0.5")
('bpe:500:1-2', WordPiece(2, 3, size=8000, weight=0.5))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import LinnetError
from linnet.features.blocks import LONGEST, AnyBlocks, Block, Blocks
from linnet.features.buffers import Piece, pieces_of
from linnet.features.counting import Counted, Seen, count
from linnet.features.rows import Rows
from linnet.features.sharing import Part, Texts, count_hashed
from linnet.text.subword import SIZE, Subword

__all__ = [
    "Bpe",
    "Derived",
    "Subwords",
    "WordPiece",
    "by_source",
    "derive",
    "from_dict",
    "from_text",
    "learn",
    "place",
    "tokenisers",
]

BATCH = 1 << 12  # texts
_BLANK = re.compile(r"\s")
_ITEM = re.compile(r"([a-z]+)((?::\d+(?:-\d+)?)*)(?:\*(\d*\.?\d+))?$")


@dataclass(frozen=True, repr=False)
class Subwords(Block):
    """n-grams of the pieces of a tokeniser that is learned to a budget of size pieces, and kept in ``learned``."""

    tokens: str = "whitespace"
    case: str = "keep"
    size: int = SIZE
    learned: Subword | None = None

    def __str__(self) -> str:
        grams = str(self.low) if self.low == self.high else f"{self.low}-{self.high}"
        return f"{self.name}:{self.size}:{grams}" + (f"*{self.weight:g}" if self.weight != 1 else "")

    def __repr__(self) -> str:
        extra = f", weight={self.weight!r}" if self.weight != 1 else ""
        return f"{type(self).__name__}({self.low}, {self.high}, size={self.size}{extra})"

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain values; the tokeniser itself is an array of the model file."""
        return {"block": self.name, "low": self.low, "high": self.high, "size": self.size, "weight": self.weight}


class Bpe(Subwords):
    """n-grams of byte-pair pieces."""

    kind, name, seed = 0, "bpe", 0x2B7E151628AED2A7


class WordPiece(Subwords):
    """n-grams of WordPiece pieces."""

    kind, name, seed = 0, "wordpiece", 0x3243F6A8885A308D


KINDS: dict[str, type[Subwords]] = {"bpe": Bpe, "wordpiece": WordPiece}


def from_text(item: str) -> Subwords:
    """Read ``bpe``, ``bpe:8000``, ``bpe:1-2``, ``bpe:8000:1-2*0.5``: a number above 12 is the budget."""
    match = _ITEM.match(item)
    if not match or match.group(1) not in KINDS:
        raise LinnetError(f"cannot read the feature block '{item}'; write for example bpe:8000:1-2")
    settings: dict[str, Any] = {}
    for part in filter(None, match.group(2).split(":")):
        low, _, high = part.partition("-")
        if not high and int(low) > LONGEST:
            settings["size"] = int(low)
        else:
            settings["low"], settings["high"] = int(low), int(high or low)
    if match.group(3):
        settings["weight"] = float(match.group(3))
    return KINDS[match.group(1)](**settings)


def from_dict(values: dict[str, Any]) -> Subwords:
    """Read back what ``to_dict`` wrote; the tokeniser is put in by the caller."""
    settings = dict(values)
    return KINDS[settings.pop("block")](**settings)


def learn(blocks: AnyBlocks, pieces: list[Piece], rows: npt.NDArray[np.int64] | None) -> AnyBlocks:
    """Learn the tokenisers that blocks ask for, from some documents (None: all); blocks of one budget share one."""
    known: dict[tuple[str, int], Subword] = {}
    out = []
    for block in blocks:
        if isinstance(block, Subwords) and block.learned is None:
            key = (block.name, block.size)
            if key not in known:
                texts = [p.text(d) for p in pieces for d in range(len(p))]
                known[key] = Subword.train(
                    block.name, texts if rows is None else [texts[r] for r in rows.tolist()], block.size
                )
            block = replace(block, learned=known[key])
        out.append(block)
    return tuple(out)


def by_source(blocks: Blocks) -> list[tuple[Subword | None, list[int]]]:
    """Group the numbers of blocks by the text they read: None is the original, the others are tokenisers."""
    groups: dict[Subword | None, list[int]] = {}
    for k, block in enumerate(blocks):
        groups.setdefault(block.learned if isinstance(block, Subwords) else None, []).append(k)
    return list(groups.items())


def derive(source: Subword, pieces: list[Piece]) -> list[Piece]:
    """Return the derived texts: the pieces of each document with blanks between them."""
    out = []
    for piece in pieces:
        joined: list[str] = []
        for first in range(0, len(piece), BATCH):
            texts = [piece.text(d) for d in range(first, min(first + BATCH, len(piece)))]
            joined += [_joined(found.tokens) for found in source.encoded(texts)]
        out += pieces_of(joined)
    return out


def _joined(tokens: Sequence[str]) -> str:
    return " ".join(_BLANK.sub("\u2423", t) for t in tokens)


def place(source: Subword, texts: Sequence[str]) -> tuple[Piece, npt.NDArray[np.int64]]:
    """Return the derived texts, and for each byte where a piece begins or ends the character of the original.

    Byte k of text d is entry ``offsets[d] + d + k``: every text has one entry more than bytes, for its end.
    """
    found = source.encoded(texts)
    piece = pieces_of([_joined(f.tokens) for f in found])[0]
    at = np.zeros(len(piece.data) + len(texts), dtype=np.int64)
    for d, one in enumerate(found):
        begin = int(piece.offsets[d]) + d
        for token, (start, end) in zip(one.tokens, one.offsets, strict=True):
            stop = begin + len(_BLANK.sub("\u2423", token).encode())
            at[begin], at[stop] = start, end
            begin = stop + 1
    return piece, at


@dataclass(frozen=True)
class Derived:
    """Texts and the texts derived from them: what a fit counts where blocks read several.

    The documents of the derived texts are numbered behind those of the original ones, so that the places in
    ``Counted.seen`` refer to ``pieces``.
    """

    texts: Texts | Part
    sources: dict[Subword, list[Piece]]

    @classmethod
    def of(cls, texts: Texts | Part, blocks: Blocks, pieces: list[Piece]) -> Texts | Part | Derived:
        """Return texts as they are where blocks read nothing else; pieces are the documents of texts alone."""
        sources = {source: derive(source, pieces) for source, _ in by_source(blocks) if source is not None}
        return cls(texts, sources) if sources else texts

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def pieces(self) -> list[Piece]:
        """All texts, the derived ones last."""
        return self.texts.pieces + [piece for pieces in self.sources.values() for piece in pieces]

    def count(
        self, blocks: Blocks, *, hash_bits: int | None = None, counting: bool = False, threads: int | None = None
    ) -> Counted:
        """Count each group of blocks in its own texts and put the segments of a document side by side."""
        parts = []
        starts = dict(zip(self.sources, self._starts(), strict=True))
        for source, numbers in by_source(blocks):
            mine = tuple(blocks[k] for k in numbers)
            if source is None:
                found = self.texts.count(mine, hash_bits=hash_bits, counting=counting, threads=threads)
                parts.append((found, numbers, 0))
            else:
                pieces = self.sources[source]
                found = (
                    count_hashed(pieces, mine, hash_bits, counting=counting, threads=threads)
                    if hash_bits
                    else count(pieces, mine, counting=counting, threads=threads)
                )
                parts.append((found, numbers, starts[source]))
        return _side_by_side(parts, len(blocks), shared=bool(hash_bits))

    def _starts(self) -> list[int]:
        """The number of the first document of each source."""
        sizes = [sum(map(len, self.texts.pieces)), *(sum(map(len, p)) for p in self.sources.values())]
        return [int(k) for k in np.cumsum(sizes)[:-1]]


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
    seen = Seen(*(np.concatenate([getattr(s, f) for s in seens]) for f in ("document", "start", "length", "block")))
    return Counted(
        Rows(indptr, indices, counts, n_blocks, first), np.concatenate([c.fingerprints for c, _, _ in parts]), seen
    )


def tokenisers(blocks: Iterable[Block]) -> list[Subword]:
    """Return the different tokenisers of blocks, in order."""
    return list(dict.fromkeys(b.learned for b in blocks if isinstance(b, Subwords) and b.learned is not None))
