"""Lengths and signs as features: how long a text is, how loud, how much of it is figures.

>>> [f"{name} {value:.2f}" for name, value in zip(Lengths().columns, Lengths().values(["NO! Not 2 of them?!"])[0])][:4]
['words 1.79', 'letters a word 2.40', 'capitals 1.39', 'words in capitals 0.69']

Every number x but the mean length is log(1 + x): the tenth exclamation mark says less than the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels.text import Scratch, count_lengths
from linnet.errors import LinnetError
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.computed import Computed

_TEXT = re.compile(r"lengths(?:\*(\d*\.?\d+))?$")


class Lengths(Computed):
    """Words, mean length of a word, capitals, words in capitals, digits, exclamation and question marks, commas, signs."""

    name: ClassVar[str] = "lengths"
    columns = (
        "words", "letters a word", "capitals", "words in capitals", "digits", "exclamation marks", "question marks",
        "commas", "other signs",
    )  # fmt: skip

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = weight
        self._check_weight()

    def values_of(self, piece: TextBuffer, first: int = 0) -> npt.NDArray[np.float64]:
        """Return the numbers of all documents, (n_texts, 9)."""
        out = np.zeros((len(piece), len(self.columns)))
        count_lengths(piece.data, piece.offsets, Scratch(piece.longest(), room=0), out)
        mean = out[:, 1] / np.maximum(out[:, 0], 1.0)
        out = arithmetic.log1p(out)
        out[:, 1] = mean
        return out

    def values(self, texts: Sequence[str], first: int = 0) -> npt.NDArray[np.float64]:
        """Return the numbers of some texts."""
        return np.concatenate([self.values_of(p) for p in text_buffers(texts)])

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain values."""
        return {"block": self.name, "weight": self.weight}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Lengths:
        """Read back what ``to_dict`` wrote."""
        return cls(float(values["weight"]))

    @classmethod
    def from_text(cls, text: str) -> Lengths:
        """Read ``lengths``, with an optional ``*weight``."""
        match = _TEXT.match(text.replace(" ", ""))
        if not match:
            raise LinnetError(f"cannot read '{text}'; lengths takes a weight only, as in lengths*0.5")
        return cls(float(match[1]) if match[1] else 1.0)

    def __str__(self) -> str:
        return self.name + (f"*{self.weight:g}" if self.weight != 1 else "")

    def __repr__(self) -> str:
        return f"Lengths({'' if self.weight == 1 else f'weight={self.weight!r}'})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lengths) and self.weight == other.weight

    def __hash__(self) -> int:
        return hash((self.name, self.weight))
