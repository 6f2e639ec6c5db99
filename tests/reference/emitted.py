"""The fingerprints of one text with their places, one by one: what the kernels count, before it is counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linnet._kernels.text import Scratch, emit_chunk
from linnet.array_types import Hashes, Ints, Ints32
from linnet.features.blocks import Blocks, compile_blocks
from linnet.features.buffers import TextBuffer
from linnet.features.counting import LENGTH, Names, Seen


@dataclass(frozen=True)
class Emitted:
    """The fingerprints of one text with their places; those of block b end at ends[b]."""

    piece: TextBuffer
    blocks: Blocks
    fps: Hashes
    starts: Ints32
    lengths: Ints32  # with flags
    ends: Ints

    @classmethod
    def of(cls, piece: TextBuffer, blocks: Blocks) -> Emitted:
        """Walk one text as the scorer does."""
        scratch = Scratch(piece.longest())
        ends = np.zeros(len(blocks), dtype=np.int64)
        emit_chunk(piece.data, piece.offsets, 0, 1, compile_blocks(blocks), scratch, ends)
        n = int(ends[-1])
        return cls(piece, blocks, scratch.fps[:n], scratch.starts[:n], scratch.lengths[:n], ends)

    def part(self, b: int) -> slice:
        """Return where the fingerprints of one block are."""
        return slice(int(self.ends[b - 1]) if b else 0, int(self.ends[b]))

    def names(self, entries: Ints, b: int) -> list[str]:
        """Write the names of some entries of a block, as training would have."""
        zeros, which = np.zeros(len(entries), np.int32), np.full(len(entries), b, np.uint8)
        at = Seen(zeros, self.starts[entries], self.lengths[entries], which)
        return list(Names.seen([self.piece], self.blocks, at, self.fps[entries]))

    def spans(self, at: Ints | None = None) -> Ints:
        """Return the first and the last character of each entry, (n, 2); at maps bytes to characters of another text."""
        if at is None:
            data = self.piece.data[self.piece.offsets[0] : self.piece.offsets[1]]
            at = np.concatenate([np.zeros(1, np.int64), np.cumsum((data & 0xC0) != 0x80)])  # begun before a byte
        starts = self.starts.astype(np.int64)
        return np.stack([at[starts], at[starts + (self.lengths & LENGTH)]], axis=1)
