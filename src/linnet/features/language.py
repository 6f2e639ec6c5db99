"""Blocks over derived words, lemmas, stems, tags or learned pieces: ``lemmas:1-2``, ``stems:1:de``, ``pos:1``, ``adjectives:1``.

Lemmas and stems count "runs" and "running" as one word; pos tells "a like" from "to like"; adjectives drops the rest of
the text. ``linnet.text.lang`` makes the words, and needs ``pip install linnet[lang]``; ``pos:1:spacy=en_core_web_sm``
takes a spaCy pipeline instead. The model file keeps the names of the language and the pipeline, not the data behind them.

>>> str(Lemmas(1, 2, language="de", weight=0.5)), str(Pos(1, 1, pipeline="en_core_web_sm"))
('lemmas:1-2:de*0.5', 'pos:1:spacy=en_core_web_sm')

Blocks over the pieces of a learned tokeniser: ``bpe:8000:1-2`` counts pieces and pairs of neighbouring pieces.

The tokeniser is learned from the training texts and travels in the model file.

>>> str(Bpe(1, 2, size=500)), str(WordPiece(2, 3, size=500, weight=0.5))
('bpe:500:1-2', 'wordpiece:500:2-3*0.5')
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from linnet.array_types import Ints
from linnet.errors import LinnetError
from linnet.features.blocks import LONGEST
from linnet.features.buffers import TextBuffer
from linnet.features.derived import DerivedBlock
from linnet.text.lang import Transform
from linnet.text.tokens import SIZE, Subword

_LANGUAGE = re.compile(r"[a-z]+(?:[-_][a-z]+)*\Z")


@dataclass(frozen=True)
class Language(DerivedBlock):
    """n-grams of transformed words; ``pipeline`` names a spaCy pipeline, which then does what the language would."""

    language: str = "en"
    pipeline: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _LANGUAGE.match(self.language):
            raise LinnetError(f"{self.name}: the language is a short name such as en or de, got '{self.language}'")
        _ = self.source  # refuses a pipeline where there is no use for one

    @property
    def source(self) -> Transform:
        """The transform."""
        return Transform(self.name, self.language, self.pipeline)

    @property
    def about(self) -> str:
        """The pipeline, or a language that is not English."""
        return f"spacy={self.pipeline}" if self.pipeline else self.language if self.language != "en" else ""

    @classmethod
    def setting(cls, part: str) -> dict[str, Any] | None:
        """Read a language, or spacy=NAME."""
        if part.startswith("spacy="):
            return {"pipeline": part.removeprefix("spacy=")} if part != "spacy=" else None
        return {"language": part} if _LANGUAGE.match(part) else None

    @classmethod
    def wanted(cls, settings: dict[str, Any]) -> list[str]:
        """A spaCy pipeline is a package, or a folder that names functions."""
        return [f"the spaCy pipeline {settings['pipeline']}"] if settings.get("pipeline") else []

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain values."""
        named = {"pipeline": self.pipeline} if self.pipeline else {"language": self.language}
        return {"block": self.name, "low": self.low, "high": self.high, **named, "weight": self.weight}

    def written(self) -> list[str]:
        """Return the n-grams, then the language or the pipeline."""
        return [self.grams, *filter(None, [self.about])]


class Lemmas(Language):
    """n-grams of words in the form that a dictionary lists: "ran" and "runs" are "run"."""

    name, seed = "lemmas", 0x452821E638D01377


class Stems(Language):
    """n-grams of words without their endings: "running" and "runs" are "run"."""

    name, seed = "stems", 0x7EF84F78FD955CB1


class Pos(Language):
    """n-grams of words with their part of speech: "like/VVB" is not "like/PRP"."""

    name, seed = "pos", 0x18BFB7BDFA5A6B13


class Adjectives(Language):
    """n-grams of the adjectives of a text and nothing else."""

    name, seed = "adjectives", 0x2F2F2218E7C0D3A9


@dataclass(frozen=True)
class Subwords(DerivedBlock):
    """n-grams of the pieces of a tokeniser that is learned to a budget of size pieces, and kept in ``learned``."""

    size: int = SIZE
    learned: Subword | None = field(default=None, repr=False)

    @property
    def source(self) -> Subword | None:
        """The tokeniser, once it is learned."""
        return self.learned

    @property
    def waits(self) -> str:
        """The tokeniser, until it is learned."""
        return "the tokeniser" if self.learned is None else ""

    @property
    def about(self) -> str:
        """The budget, where it is not the usual one."""
        return "" if self.size == SIZE else str(self.size)

    def learn(self, pieces: list[TextBuffer], rows: Ints | None, known: dict[Any, Any]) -> Subwords:
        """Learn the tokeniser; blocks of one budget share one."""
        if self.learned is not None:
            return self
        key = (self.name, self.size)
        if key not in known:
            texts = [p.text(d) for p in pieces for d in range(len(p))]
            some = texts if rows is None else [texts[r] for r in rows.tolist()]
            known[key] = Subword.train(self.name, some, self.size)
        return replace(self, learned=known[key])

    @property
    def state(self) -> bytes | None:
        """The tokeniser as bytes."""
        return None if self.learned is None else self.learned.to_bytes()

    def with_state(self, state: bytes) -> Subwords:
        """Return the block with its tokeniser."""
        return replace(self, learned=Subword.from_bytes(state))

    @classmethod
    def setting(cls, part: str) -> dict[str, Any] | None:
        """Read the budget: a number above 12."""
        return {"size": int(part)} if part.isdecimal() and int(part) > LONGEST else None

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain values; the tokeniser itself is an array of the model file."""
        return {"block": self.name, "low": self.low, "high": self.high, "size": self.size, "weight": self.weight}

    def written(self) -> list[str]:
        """Return the budget, then the n-grams."""
        return [str(self.size), self.grams]


class Bpe(Subwords):
    """n-grams of byte-pair pieces."""

    name, seed = "bpe", 0x2B7E151628AED2A7


class WordPiece(Subwords):
    """n-grams of WordPiece pieces."""

    name, seed = "wordpiece", 0x3243F6A8885A308D
