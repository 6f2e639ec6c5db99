"""The fewest words to take out of a text so that the answer changes.

Greedy: take out, one after another, the word without which the label is least ahead, judged by the model itself. Then
put words back as long as the answer stays changed, and look at every smaller choice among those that are left: of the
words that come out, no proper subset changes the answer. (Where more than EVERY words are needed, that is too many
choices: then no single one of them can be put back.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

import numpy as np

from linnet.array_types import Floats
from linnet.draw.markup import mark, safe
from linnet.errors import LinnetError
from linnet.explain.parts import explain_many
from linnet.explain.weights import class_number
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.model.model import Model
from linnet.text.tokens import tokenize

EVERY = 10  # words: up to here all subsets are tried
CANDIDATES = 96  # words that are tried in a greedy step, fewer in a long text:
CHARACTERS = 100_000  # that are scored in such a step
STEPS = 32  # greedy steps; behind them words go in the order of what they add, twice as many each time
BATCH = 512

Place = tuple[int, int]


@dataclass(frozen=True)
class Flip:
    """A text, the words to remove, and the prediction without them; ``found`` says whether removing words changes it."""

    text: str
    label: Any
    probability: float
    found: bool
    removed: tuple[Place, ...]
    left: str
    new_label: Any
    new_probability: float
    minimal: bool

    @property
    def words(self) -> tuple[str, ...]:
        """The words to take out, in the order of the text."""
        return tuple(self.text[a:b] for a, b in self.removed)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        names = ("label", "probability", "found", "minimal", "new_label", "new_probability")
        removed = [{"start": a, "end": b, "text": self.text[a:b]} for a, b in self.removed]
        return {**{name: getattr(self, name) for name in names}, "removed": removed, "new_text": self.left}

    @property
    def summary(self) -> str:
        """What was found, in a sentence."""
        if not self.found:
            return f"there are no words whose removal changes the prediction {self.label}"
        n = len(self.removed)
        words = "this word" if n == 1 else f"these {n} words"
        return f"without {words}: {self.new_label} ({self.new_probability:.3f}) instead of {self.label} ({self.probability:.3f})"

    def _marked(self, mark: Callable[[str], str], escape: Callable[[str], str] = str) -> str:
        out, at = [], 0
        for a, b in self.removed:
            out += [escape(self.text[at:a]), mark(self.text[a:b])]
            at = b
        return "".join([*out, escape(self.text[at:])])

    def to_text(self, color: bool = False) -> str:
        """Return the text with the removed words marked, and the new prediction."""
        on, off = ("\x1b[9;38;5;214m", "\x1b[0m") if color else ("[-", "-]")
        return f"{self._marked(lambda word: on + word + off)}\n{self.summary}" if self.found else self.summary

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        text = self._marked(lambda word: f"<del>{mark(word, 'against')}</del>", safe) if self.found else ""
        return f"<div><p>{text}</p><p>{safe(self.summary)}</p></div>"


def flip(model: Model, text: str | Mapping[str, Any], to: Any = None) -> Flip:
    """Find words whose removal changes the answer, to a given label or to any other; columns beside the text stay."""
    if not isinstance(text, str | Mapping):
        raise LinnetError(f"flip takes one text or one row as a dict, got {type(text).__name__}")
    search = _Search(model, text, to)
    removed = search.greedy()
    minimal = False
    if removed is not None:
        removed = search.pruned(removed)
        removed, minimal = search.smallest(removed)
    return search.result(removed, minimal)


class _Search:
    """The words of one text, and what the model makes of it without some of them."""

    def __init__(self, model: Model, given: str | Mapping[str, Any], to: Any) -> None:
        (piece,) = model.pieces([given])
        self.model, self.also = model, piece.also
        self.text = text = given if isinstance(given, str) else piece.text(0)
        self.places: list[Place] = [(t.start, t.end) for t in tokenize(text)]
        self.label, self.probability = self._answer(text)
        self.to = class_number(model, to)
        if self.to == self.label:
            raise LinnetError(f"the answer is {to!r} already; name another label, or none")

    def _answer(self, text: str) -> tuple[int, float]:
        scores = self.model.scores(self._pieces([text]))
        best = int(self.model.best(scores)[0])
        return best, float(self.model.proba(scores)[0, best])

    def _pieces(self, texts: list[str]) -> list[TextBuffer]:
        """Return texts, each with what stands beside the original."""
        (piece,) = text_buffers(texts)
        many = np.zeros(len(texts), np.int64)
        return [replace(piece, also={name: column.take(many) for name, column in self.also.items()})]

    def without(self, words: Iterable[int]) -> str:
        """Return the text without some words, and without the blanks that would stand double."""
        out, at, open_ = "", 0, True  # open_: a blank here would stand double
        for k in sorted(words):
            a, b = self.places[k]
            if a > at:
                out += self.text[at:a]
                open_ = self.text[a - 1].isspace()
            at = b
            while open_ and at < len(self.text) and self.text[at].isspace():
                at += 1
        return out + self.text[at:]

    def ahead(self, choices: list[tuple[int, ...]]) -> Floats:
        """Return how far the label is ahead without each choice of words; below zero the answer is changed as asked."""
        out = []
        for k in range(0, len(choices), BATCH):
            scores = self.model.scores(self._pieces([self.without(words) for words in choices[k : k + BATCH]]))
            if self.model.n_outputs == 1:
                scores = np.concatenate([-scores, scores], axis=1)
            best = scores.argmax(axis=1)  # ties go to the first, as in the model
            rest = scores.copy()
            rest[:, self.label if self.to is None else self.to] = -np.inf
            if self.to is None:
                gap = scores[:, self.label] - rest.max(axis=1)
                done = best != self.label
            else:
                gap = rest.max(axis=1) - scores[:, self.to]
                done = best == self.to
            out.append(np.where(done, np.minimum(gap, -1e-300), np.maximum(gap, 0.0)))
        return np.concatenate(out) if out else np.zeros(0)

    def greedy(self) -> list[int] | None:
        """Return words whose removal changes the answer, in the order they were taken, or None."""
        rest, size = self._order(), 1
        removed: list[int] = []
        room = min(CANDIDATES, max(8, CHARACTERS // max(1, len(self.text))))
        while rest:
            if len(removed) < STEPS:
                some = [rest[int(self.ahead([(*removed, k) for k in rest[:room]]).argmin())]]
            else:
                some, size = rest[:size], 2 * size
            removed += some
            rest = [k for k in rest if k not in some]
            if self.ahead([tuple(removed)])[0] < 0:
                return removed
        return None

    def _order(self) -> list[int]:
        """Return the words by what they add to the score of the label, largest first."""
        against = None if self.to is None else self.model.classes[self.to]
        (found,) = explain_many(self.model, self._pieces([self.text]), self.model.classes[self.label], against)
        added = found.characters()
        sums = [float(added[a:b].sum()) for a, b in self.places]
        return sorted(range(len(sums)), key=lambda k: (-sums[k], k))

    def pruned(self, removed: list[int]) -> list[int]:
        """Put words back, those taken last first, as long as the answer stays changed; until none can be."""
        kept = removed
        for k in reversed(removed):
            fewer = [w for w in kept if w != k]
            if fewer and self.ahead([tuple(fewer)])[0] < 0:
                kept = fewer
        return kept if kept == removed else self.pruned(kept)

    def smallest(self, removed: list[int]) -> tuple[list[int], bool]:
        """Return the first of the smallest subsets that changes the answer too, and whether all were tried."""
        n = len(removed)
        every = n <= EVERY
        sizes = range(1, n) if every else [1]
        choices = (c for size in sizes for c in combinations(sorted(removed), size))
        while some := list(islice(choices, BATCH)):
            done = np.flatnonzero(self.ahead(some) < 0)
            if len(done):
                fewer = list(some[int(done[0])])
                return (fewer, True) if every else self.smallest(fewer)
        return removed, every

    def result(self, removed: list[int] | None, minimal: bool) -> Flip:
        """Score the text that is left once more, as anyone would."""
        words = sorted(removed or [])
        left = self.without(words)
        label, probability = self._answer(left)
        classes = self.model.classes
        return Flip(
            self.text, classes[self.label], self.probability, removed is not None,
            tuple(self.places[k] for k in words), left, classes[label], probability, minimal,
        )  # fmt: skip
