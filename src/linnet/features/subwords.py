"""Blocks over the pieces of a learned tokeniser: ``bpe:8000:1-2`` counts pieces and pairs of neighbouring pieces.

The tokeniser is learned from the training texts and travels in the model file.

>>> str(Bpe(1, 2, size=500)), WordPiece.from_text("wordpiece:2-3*0.5")
('bpe:500:1-2', WordPiece(2, 3, size=8000, weight=0.5))
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from linnet.features.buffers import TextBuffer
from linnet.features.derived import DerivedBlock
from linnet.text.subword import SIZE, Subword

__all__ = ["Bpe", "Subwords", "WordPiece"]


@dataclass(frozen=True, repr=False)
class Subwords(DerivedBlock):
    """n-grams of the pieces of a tokeniser that is learned to a budget of size pieces, and kept in ``learned``."""

    size: int = SIZE
    learned: Subword | None = None

    example: ClassVar[str] = "bpe:8000:1-2"

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

    def learn(self, pieces: list[TextBuffer], rows: npt.NDArray[np.int64] | None, known: dict[Any, Any]) -> Subwords:
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
    def read(cls, part: str) -> dict[str, Any] | None:
        """Read the budget: a number above 12."""
        return {"size": int(part)} if part.isdecimal() else None

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain values; the tokeniser itself is an array of the model file."""
        return {"block": self.name, "low": self.low, "high": self.high, "size": self.size, "weight": self.weight}

    def __str__(self) -> str:
        return self._written(str(self.size), "")

    def __repr__(self) -> str:
        extra = f", weight={self.weight!r}" if self.weight != 1 else ""
        return f"{type(self).__name__}({self.low}, {self.high}, size={self.size}{extra})"


class Bpe(Subwords):
    """n-grams of byte-pair pieces."""

    name, seed = "bpe", 0x2B7E151628AED2A7


class WordPiece(Subwords):
    """n-grams of WordPiece pieces."""

    name, seed = "wordpiece", 0x3243F6A8885A308D
