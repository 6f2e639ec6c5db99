r"""What does the model see? The pieces that blocks make of one text, by name and place, and what the tokeniser changes.

>>> [p.name for p in seen("I did not like it.", "negated:1")[0].pieces]
['i', 'did', 'not', 'NOT_like', 'NOT_it', '.']
>>> for change in changes("DON\u2019T\x07 so\u00adft"):
...     print(change)
folded: 'DON’T' is read as "don't" (case, apostrophe)
dropped: U+0007 (no name)
folded: 'so\xadft' is read as 'soft' (hidden characters)
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from linnet._kernels.text import Scratch, emit_chunk
from linnet.array_types import Hashes, Ints, Ints32
from linnet.features.blocks import Block, Blocks, as_blocks, compile_blocks, needed
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import Names, Seen
from linnet.features.derived import place
from linnet.text.tokens import tokenize

LENGTH = (1 << 29) - 1  # the bits above hold the flags of a block

SENTENCE = "Isn't ACT 2 great? No, I did not like it at all!"
EXAMPLES = {
    "words": ("words:1-2", "words and pairs of neighbours"),
    "chars": ("chars:3", "characters inside words, with a blank at either end"),
    "across": ("across:4", "characters across words"),
    "skips": ("skips:1", "pairs of words with up to n words left out between them"),
    "negated": ("negated:1", "words, marked from a negation to the next stop (Das and Chen)"),
    "not": ("not:1", "what follows a negation, whichever it is"),
    "position": ("position:1", "words with their part of the text: first quarter, middle, last quarter"),
    "affixes": ("affixes:2-3", "how longer words begin and end"),
    "shapes": ("shapes:1", "capitals, small letters, digits"),
    "bpe": ("bpe:8000:1-2", "pieces of words, learned from the training texts to a budget"),
    "wordpiece": ("wordpiece:8000:1-2", "pieces of words, learned; ## goes on a word"),
    "lemmas": ("lemmas:1", "words as a dictionary lists them (lemmas:1:de for another language)"),
    "stems": ("stems:1", "words without their endings (stems:1:de for another language)"),
    "pos": ("pos:1", "words with their part of speech (pos:1:spacy=NAME takes a spaCy pipeline)"),
    "adjectives": ("adjectives:1", "adjectives and nothing else"),
    "lengths": ("lengths", "words, letters a word, capitals, digits, signs (log-scaled)"),
    "vectors": ("vectors:FILE", "word vectors of a file, folded into a weight a word"),
    "lists": ("lists:FILE", "entries of word lists and the sum of their valences, turned round by a negation"),
    "field": ("field:title:1-2", "words of another column of the data, title here, as a block of their own"),
    "column": (
        "column:NAME",
        "another column of the data: categories, numbers or dates (column:NAME:category settles it)",
    ),
    "functions": ("functions:linnet.features.functions.word_count", "functions of your own: tokens to a number"),
}
"""For every block an example and what it is."""


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


@dataclass(frozen=True)
class PieceSeen:
    """A feature of a text: its name, its first place in characters and how often it occurs."""

    name: str
    start: int
    end: int
    count: int


@dataclass(frozen=True)
class Shown:
    """What one block makes of a text: pieces of a counted block, values of a computed one, or a note why it cannot say."""

    block: str
    pieces: tuple[PieceSeen, ...] = ()
    values: tuple[tuple[str, float], ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        pieces = [asdict(p) for p in self.pieces]
        note = {"note": self.note} if self.note else {}
        return {"block": self.block, "pieces": pieces, "values": dict(self.values), **note}


def seen(text: str | Mapping[str, Any], features: Any) -> list[Shown]:
    """Return what each block makes of one text, in the order of first sight; of a row, also of its other columns."""
    blocks = as_blocks(features)
    there = () if isinstance(text, str) else [name for name in needed(blocks) if name in text]
    (piece,) = text_buffers([text], there)
    out = []
    for block in blocks:
        missing = [name for name in block.needs if name not in there]
        if missing:
            out.append(Shown(str(block), note=f"column '{missing[0]}' of the data, beside the text"))
        elif block.waits:
            out.append(Shown(str(block), note=f"{block.waits} is learned from the training rows"))
        elif isinstance(block, Block):
            out.append(_counted(piece, block))
        else:
            pairs = zip(block.columns, block.values_of(piece)[0].tolist(), strict=True)
            out.append(Shown(str(block), (), tuple(p for p in pairs if p[1] or not block.indicators)))
    return out


def _counted(piece: TextBuffer, block: Block) -> Shown:
    at = None
    if block.source is not None:
        piece, at = place(block.source, piece)
    emitted = Emitted.of(piece, (block,))
    _, first, counts = np.unique(emitted.fps, return_index=True, return_counts=True)
    order = np.argsort(first)
    names, spans = emitted.names(first[order], 0), emitted.spans(at)[first[order]].tolist()
    seen = [PieceSeen(n, a, z, c) for n, (a, z), c in zip(names, spans, counts[order].tolist(), strict=True)]
    return Shown(str(block), tuple(seen))


class Change(NamedTuple):
    """Something that the tokeniser does to a text: kind is "folded" or "dropped"."""

    kind: str
    start: int
    end: int
    was: str
    now: str
    why: str

    def __str__(self) -> str:
        if self.kind == "dropped":
            return f"dropped: U+{ord(self.was):04X} ({self.why})"
        return f"folded: {self.was!r} is read as {self.now!r} ({self.why})"


def changes(text: str, tokens: str = "words", case: str = "fold") -> list[Change]:
    """Return what the tokeniser changes in a text, in its order: letters folded, characters dropped; blanks left out."""
    out, at = [], 0
    for token in tokenize(text, tokens, case):
        out += [_dropped(text, k) for k in range(at, token.start) if not text[k].isspace()]
        was = text[token.start : token.end]
        if was != token.text:
            out.append(Change("folded", token.start, token.end, was, token.text, _why(was, token.text)))
        at = token.end
    return out + [_dropped(text, k) for k in range(at, len(text)) if not text[k].isspace()]


def _dropped(text: str, k: int) -> Change:
    return Change("dropped", k, k + 1, text[k], "", unicodedata.name(text[k], "no name").lower())


def _why(was: str, now: str) -> str:
    plain = was.replace("\u2019", "'").replace("\uff07", "'")
    visible = "".join(c for c in plain if unicodedata.category(c) != "Cf" or c in "\u200c\u200d")
    reasons = {"case": visible != now, "apostrophe": plain != was, "hidden characters": visible != plain}
    return ", ".join(name for name, holds in reasons.items() if holds)
