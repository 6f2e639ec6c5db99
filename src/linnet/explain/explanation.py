"""What an explanation is: a score and the parts it is the sum of, by feature, by character and by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Contribution", "Explanation", "ListedParts", "ScoreParts", "Span"]

Floats = npt.NDArray[np.float64]
_PIECE = re.compile(r"\s+|[\w'’]+|[^\w\s'’]+")  # blanks, words, signs


@dataclass(slots=True, unsafe_hash=True)  # a value like the others; frozen ones take five times as long to make
class Contribution:
    """One feature of the text: its name, block, places (character offsets) and what it adds to the score.

    amount is what a computed feature came to for this text; its places are those of the words behind it, where it has any.
    also are other features, of this text or of the training texts, that share the column of a hashed feature: the weight
    is theirs too. said is what a computed feature is called for this text, where that is not its name and amount:
    "priority=high".
    """

    feature: str
    block: str
    value: float
    count: int
    spans: tuple[tuple[int, int], ...]
    amount: float | None = None
    also: tuple[str, ...] = ()
    said: str = ""

    @property
    def shown(self) -> str:
        """The name, with how often it occurs or what it came to, and what shares its column."""
        if self.said:
            return self.said
        if self.amount is not None:
            return f"{self.feature} = {self.amount:g}"
        name = " | ".join((self.feature, *self.also))
        return name + (f" x{self.count}" if self.count > 1 else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "feature": self.feature,
            "block": self.block,
            "value": self.value,
            "count": self.count,
            "spans": [list(s) for s in self.spans],
            **({} if self.amount is None else {"amount": self.amount}),
            **({"also": list(self.also)} if self.also else {}),
            **({"said": self.said} if self.said else {}),
        }


class Span(NamedTuple):
    """A stretch of the text, its place in characters and what it adds to the score."""

    start: int
    end: int
    text: str
    value: float


class ScoreParts(Protocol):
    """Where an explanation has its parts from; they are made when they are asked for."""

    def top(self, n: int | None) -> tuple[Contribution, ...]:
        """Return the n largest contributions, None: all; ties in the order of the text."""
        ...

    def characters(self, text: str) -> tuple[Floats, float]:
        """Return what each character adds, and what has no place in the text."""
        ...

    def placeless(self) -> tuple[Contribution, ...]:
        """Return the contributions without a place."""
        ...


@dataclass(eq=False, repr=False)
class Explanation:
    """Why a text got its score for a label: ``bias`` and the contributions add up to ``score`` (log-odds).

    With ``against`` the score is how far the label is ahead of that one. ``probability`` is the label's among all,
    ``against_probability`` the other's.
    """

    text: str
    label: Any
    against: Any
    score: float
    probability: float
    bias: float
    parts: ScoreParts
    unknown: int
    exact: bool = True
    against_probability: float | None = None

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """All contributions, largest first."""
        if not isinstance(self.parts, ListedParts):
            self.parts = ListedParts(self.parts.top(None))
        return self.parts.contributions

    @property
    def method(self) -> str:
        """How the parts were found."""
        return "exact" if self.exact else "approximate (gradient x input)"

    @property
    def placeless(self) -> float:
        """What parts without a place in the text add: bias, placeless and the characters add up to the score."""
        return self.parts.characters(self.text)[1]

    def top(self, n: int = 10) -> tuple[Contribution, ...]:
        """Return the n largest contributions, for or against."""
        return self.parts.top(n)

    def characters(self) -> Floats:
        """Return what each character of the text adds, (len(text),)."""
        return self.parts.characters(self.text)[0]

    def spans(self) -> list[Span]:
        """Return the text in pieces, words and what lies between them, each with its place and what it adds."""
        cuts = [m.span() for m in _PIECE.finditer(self.text)]
        sums = np.add.reduceat(self.characters(), [a for a, _ in cuts]).tolist() if cuts else []
        return [Span(a, b, self.text[a:b], v) for (a, b), v in zip(cuts, sums, strict=True)]

    def words(self) -> list[tuple[str, float]]:
        """Return the text in pieces (words and what lies between them), each with what its characters add."""
        return [(s.text, s.value) for s in self.spans()]

    def by_word(self) -> list[tuple[str, float]]:
        """Return what each word of the text adds, largest first; they and the intercept add up to the score.

        What computed features without places add stands among the words, under "name = amount".
        """
        totals: dict[str, float] = {}
        for piece, weight in self.words():
            word = piece.casefold() if not piece.isspace() else "(blanks)"
            if weight or word != "(blanks)":
                totals[word] = totals.get(word, 0.0) + weight
        for c in self.parts.placeless():
            totals[c.shown] = totals.get(c.shown, 0.0) + c.value
        return sorted(totals.items(), key=lambda item: (-abs(item[1]), item[0]))

    def summed(self, parts: list[tuple[str, float]], n: int, what: str) -> list[tuple[str, float]]:
        """Return the first n of some (name, value), the sum of the rest, the intercept and the score they add up to."""
        rest = [(f"({len(parts) - n:,} more {what}s)", sum(value for _, value in parts[n:]))] if len(parts) > n else []
        return [*parts[:n], *rest, ("(intercept)", self.bias), ("= score", self.score)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; keys are only ever added."""
        return {
            "label": self.label,
            "against": self.against,
            "score": self.score,
            "probability": self.probability,
            "against_probability": self.against_probability,
            "bias": self.bias,
            "placeless": self.placeless,
            "exact": self.exact,
            "method": self.method,
            "unknown_features": self.unknown,
            "words": [{"word": w, "value": v} for w, v in self.by_word()],
            "spans": [s._asdict() for s in self.spans() if s.value],
            "contributions": [c.to_dict() for c in self.contributions],
        }

    def to_text(self, n: int = 12, color: bool = False) -> str:
        """Return the text with its words marked and a table of contributions, for a terminal."""
        from linnet.explain.terminal import explanation_text

        return explanation_text(self, n, color)

    def to_html(self, n: int = 12) -> str:
        """Return an HTML file that loads nothing, for light and dark screens."""
        from linnet.draw.page import page
        from linnet.explain.html import explanation_html

        return page(f"linnet: why {self.label}?", explanation_html(self, n))

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        against = "" if self.against is None else f" rather than {self.against}"
        return f"<Explanation: {self.label}{against}, score {self.score:+.4f}, {self.text[:40]!r}>"

    def _repr_html_(self) -> str:
        from linnet.explain.html import explanation_html

        return explanation_html(self)

    def __eq__(self, other: object) -> bool:
        return self.__reduce__() == other.__reduce__() if isinstance(other, Explanation) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.text, self.label, self.against, self.score))

    def __reduce__(self) -> tuple[Any, ...]:
        return Explanation, (
            self.text, self.label, self.against, self.score, self.probability, self.bias, ListedParts(self.contributions),
            self.unknown, self.exact, self.against_probability,
        )  # fmt: skip


@dataclass(frozen=True)
class ListedParts:
    """Parts that are there already."""

    contributions: tuple[Contribution, ...]

    def top(self, n: int | None) -> tuple[Contribution, ...]:
        """Return the first n."""
        return self.contributions[:n]

    def characters(self, text: str) -> tuple[Floats, float]:
        """Share each contribution between its places and their characters."""
        out, left = np.zeros(len(text)), 0.0
        for c in self.contributions:
            left += add(out, text, c.value, c.spans)
        return out, left

    def placeless(self) -> tuple[Contribution, ...]:
        """Return those without a place that has characters."""
        return tuple(c for c in self.contributions if not any(b > a for a, b in c.spans))


def add(out: Floats, text: str, value: float, spans: tuple[tuple[int, int], ...]) -> float:
    """Share a value between spans, and each share between its characters but blanks; return it where there are none."""
    real = [(a, b) for a, b in spans if b > a]
    for a, b in real:
        here = [k for k in range(a, b) if not text[k].isspace()] or list(range(a, b))
        out[here] += value / (len(real) * len(here))
    return 0.0 if real else value
