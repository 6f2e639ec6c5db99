"""What an explanation is: a score and the parts it is the sum of, by feature, by character and by word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Contribution", "Explanation"]


@dataclass(frozen=True)
class Contribution:
    """One feature of the text: its name, block, places (character offsets) and what it adds to the score.

    amount is what a computed feature came to for this text; its places are those of the words behind it, where it has any.
    """

    feature: str
    block: str
    value: float
    count: int
    spans: tuple[tuple[int, int], ...]
    amount: float | None = None

    @property
    def shown(self) -> str:
        """The name, with how often it occurs or what it came to."""
        if self.amount is not None:
            return f"{self.feature} = {self.amount:g}"
        return self.feature + (f" x{self.count}" if self.count > 1 else "")


@dataclass(frozen=True)
class Explanation:
    """Why a text got its score for a label: ``bias`` and the contributions add up to ``score`` (log-odds)."""

    text: str
    label: Any
    against: Any
    score: float
    probability: float
    bias: float
    contributions: tuple[Contribution, ...]
    unknown: int
    exact: bool = True

    @property
    def method(self) -> str:
        """How the parts were found."""
        return "exact" if self.exact else "approximate (gradient x input)"

    def top(self, n: int = 10) -> tuple[Contribution, ...]:
        """Return the n largest contributions, for or against."""
        return self.contributions[:n]

    def characters(self) -> npt.NDArray[np.float64]:
        """Return what each character of the text adds, (len(text),)."""
        out = np.zeros(len(self.text))
        solid = np.array([not c.isspace() for c in self.text], dtype=bool)
        for c in self.contributions:
            for start, end in c.spans:
                here = np.flatnonzero(solid[start:end]) + start
                out[here] += c.value / (len(c.spans) * max(1, len(here)))
        return out

    def words(self) -> list[tuple[str, float]]:
        """Return the text in pieces (words and what lies between them), each with what its characters add."""
        weight = self.characters()
        pieces: list[tuple[str, float]] = []
        start = 0
        for k in range(1, len(self.text) + 1):
            if k == len(self.text) or _kind(self.text[k]) != _kind(self.text[k - 1]):
                pieces.append((self.text[start:k], float(weight[start:k].sum())))
                start = k
        return pieces

    def by_word(self) -> list[tuple[str, float]]:
        """Return what each word of the text adds, largest first; they and the intercept add up to the score.

        What computed features without places add stands among the words, under "name = amount".
        """
        totals: dict[str, float] = {}
        for piece, weight in self.words():
            if piece.strip():
                totals[piece.casefold()] = totals.get(piece.casefold(), 0.0) + weight
        for c in self.contributions:
            if c.amount is not None and not c.spans:
                totals[c.shown] = c.value
        return sorted(totals.items(), key=lambda item: (-abs(item[1]), item[0]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "label": self.label,
            "against": self.against,
            "score": self.score,
            "probability": self.probability,
            "bias": self.bias,
            "exact": self.exact,
            "method": self.method,
            "unknown_features": self.unknown,
            "words": [{"word": w, "value": v} for w, v in self.by_word()],
            "contributions": [
                {
                    "feature": c.feature,
                    "block": c.block,
                    "value": c.value,
                    "count": c.count,
                    "spans": [list(s) for s in c.spans],
                    **({} if c.amount is None else {"amount": c.amount}),
                }
                for c in self.contributions
            ],
        }

    def to_text(self, n: int = 12, color: bool = False) -> str:
        """Return the text with its words marked and a table of contributions, for a terminal."""
        from linnet.explain.terminal import render

        return render(self, n, color)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from linnet.explain.page import fragment

        return fragment(self)


def _kind(c: str) -> int:
    return 0 if c.isspace() else 1 if c.isalnum() or c in "_'’" else 2
