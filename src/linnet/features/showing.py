r"""What does the model see? The pieces that blocks make of one text, by name and place, and what the tokeniser changes.

>>> [p.name for p in seen("I did not like it.", "negated:1")[0].pieces]
['i', 'did', 'not', 'NOT_like', 'NOT_it', '.']
>>> for change in changes("DON\u2019T\x07 so\u00adft"):
...     print(change)
folded: 'DON’T' is read as "don't"
dropped: U+0007 (no name)
folded: 'so\xadft' is read as 'soft'
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from linnet.features.blocks import Block, as_blocks, needed
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import LENGTH, count
from linnet.features.derived import character_places, place
from linnet.text.tokens import tokenize

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
    piece, at = (piece, character_places(piece)) if block.source is None else place(block.source, piece)
    counted = count([piece], (block,), counting=True, threads=1)  # of one text: columns in the order of first sight
    first, names = counted.seen, counted.names([piece], (block,))
    ends = at[first.start + (first.length & LENGTH)]
    columns = (at[first.start].tolist(), ends.tolist(), counted.rows.counts.tolist())
    return Shown(str(block), tuple(PieceSeen(*one) for one in zip(names, *columns, strict=True)))


class Change(NamedTuple):
    """Something that the tokeniser does to a text: kind is "folded" or "dropped"."""

    kind: str
    start: int
    end: int
    was: str
    now: str

    def __str__(self) -> str:
        if self.kind == "dropped":
            return f"dropped: U+{ord(self.was):04X} ({unicodedata.name(self.was, 'no name').lower()})"
        return f"folded: {self.was!r} is read as {self.now!r}"


def changes(text: str, tokens: str = "words", case: str = "fold") -> list[Change]:
    """Return what the tokeniser changes in a text, in its order: letters folded, characters dropped; blanks left out."""
    out, at = [], 0
    for token in tokenize(text, tokens, case):
        out += [_dropped(text, k) for k in range(at, token.start) if not text[k].isspace()]
        was = text[token.start : token.end]
        if was != token.text:
            out.append(Change("folded", token.start, token.end, was, token.text))
        at = token.end
    return out + [_dropped(text, k) for k in range(at, len(text)) if not text[k].isspace()]


def _dropped(text: str, k: int) -> Change:
    return Change("dropped", k, k + 1, text[k], "")
