"""What an explanation is: a score and the parts it is the sum of; as text, as HTML, before and after a learning step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linnet.array_types import Floats
from linnet.draw.markup import marked, page, safe, table, text_table
from linnet.draw.terminal import aligned, cut
from linnet.solvers.callbacks import Curves

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier
    from linnet.explain.nearest import Neighbour
    from linnet.explain.parts import DocumentChunk

FACTS = ("label", "against", "score", "probability", "against_probability", "bias", "placeless", "exact", "method")
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

    def places(self) -> list[tuple[int, int]]:
        """Return the spans that hold a character."""
        return [(a, b) for a, b in self.spans if b > a]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        found = {name: getattr(self, name) for name in ("feature", "block", "value", "count")}
        more = {"amount": self.amount, "also": list(self.also), "said": self.said}
        given = {name: value for name, value in more.items() if value not in (None, [], "")}
        return {**found, "spans": [list(span) for span in self.spans], **given}


class Span(NamedTuple):
    """A stretch of the text, its place in characters and what it adds to the score."""

    start: int
    end: int
    text: str
    value: float


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
    chunk: DocumentChunk | None  # None: it was looked at, and the explanation was stored
    row: int  # of the chunk
    unknown: int
    exact: bool = True
    against_probability: float | None = None

    @cached_property
    def contributions(self) -> tuple[Contribution, ...]:
        """All contributions, largest first."""
        assert self.chunk is not None
        return self.chunk.top(self.row, None)

    @cached_property
    def _shared(self) -> tuple[Floats, float]:
        """What each character adds, and what the contributions without a place do."""
        assert self.chunk is not None
        return self.chunk.characters(self.row, self.text)

    def __getstate__(self) -> dict[str, Any]:
        kept = {"contributions": self.contributions, "_shared": self._shared}
        return {**vars(self), **kept, "chunk": None}

    @property
    def rather(self) -> str:
        """What the label is compared with, in words; nothing without."""
        other = "" if self.against_probability is None else f" ({self.against_probability:.3f})"
        return "" if self.against is None else f" rather than {self.against}{other}"

    @property
    def method(self) -> str:
        """How the parts were found."""
        return "exact" if self.exact else "approximate (gradient x input)"

    @property
    def placeless(self) -> float:
        """What parts without a place in the text add: bias, placeless and the characters add up to the score."""
        return self._shared[1]

    def top(self, n: int = 10) -> tuple[Contribution, ...]:
        """Return the n largest contributions, for or against."""
        return self.contributions[:n] if self.chunk is None else self.chunk.top(self.row, n)

    def characters(self) -> Floats:
        """Return what each character of the text adds, (len(text),)."""
        return self._shared[0]

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
        for c in (c for c in self.contributions if not c.places()):
            totals[c.shown] = totals.get(c.shown, 0.0) + c.value
        return sorted(totals.items(), key=lambda item: (-abs(item[1]), item[0]))

    def summed(self, parts: list[tuple[str, float]], n: int, what: str) -> list[tuple[str, float]]:
        """Return the first n of some (name, value), the sum of the rest, the intercept and the score they add up to."""
        rest = [(f"({len(parts) - n:,} more {what}s)", sum(value for _, value in parts[n:]))] if len(parts) > n else []
        return [*parts[:n], *rest, ("(intercept)", self.bias), ("= score", self.score)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; keys are only ever added."""
        return {
            **{name: getattr(self, name) for name in FACTS},
            "unknown_features": self.unknown,
            "words": [{"word": w, "value": v} for w, v in self.by_word()],
            "spans": [s._asdict() for s in self.spans() if s.value],
            "contributions": [c.to_dict() for c in self.contributions],
        }

    def to_text(self, n: int = 12, color: bool = False) -> str:
        """Return the text with its words marked and a table of contributions, for a terminal."""
        pieces = self.words()
        largest = max((abs(w) for _, w in pieces), default=0.0) or 1.0
        marked = []
        for piece, weight in pieces:
            shade = abs(weight) / largest
            if not color or shade < FAINT or not piece.strip():
                marked.append(piece)
            else:
                tone = (BLUE if weight > 0 else ORANGE)[int(shade * 2.99)]
                marked.append(f"\x1b[{tone}m{piece}\x1b[0m")
        head = f"{self.label}{self.rather}: probability {self.probability:.3f}, score {self.score:+.4f}"
        lines = ["".join(marked), "", head]
        if not self.exact:
            lines.append(f"contributions are {self.method}: they add up, but hold for this text only")
        lines += ["", f"{'contribution':>12}  word", *(_line(*one) for one in self.summed(self.by_word(), n, "word"))]
        blocks = {c.shown: c.block for c in self.contributions}
        lines += ["", "the features behind it", f"{'contribution':>12}  feature"]
        by_feature = [(c.shown, c.value) for c in self.contributions]
        parts = self.summed(by_feature, n // 2, "feature")
        lines += [_line(name, value, blocks.get(name, "")) for name, value in parts]
        if self.unknown:
            lines.append(f"{self.unknown:,} features of the text are not in the model and add nothing")
        return "\n".join(lines)

    def to_html(self, n: int = 12) -> str:
        """Return an HTML file that loads nothing, for light and dark screens."""
        return page(f"linnet: why {self.label}?", explanation_html(self, n))

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Explanation: {self.label}{self.rather}, score {self.score:+.4f}, {self.text[:40]!r}>"

    def _repr_html_(self) -> str:
        return explanation_html(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Explanation) and self.to_dict() == other.to_dict() and self.text == other.text

    def __hash__(self) -> int:
        return hash((self.text, self.label, self.against, self.score))


# ---- An explanation as text: words in colour, and tables that add up to the score.


FAINT = 0.08  # words below this share of the largest weight have no colour
BLUE, ORANGE = ("38;5;153", "38;5;75", "1;38;5;33"), ("38;5;222", "38;5;214", "1;38;5;208")


def _line(name: str, value: float, block: str = "") -> str:
    plain = "".join(c if c.isprintable() else "·" for c in name)
    return f"{value:>+12.4f}  {cut(plain, 32):<32} {block}".rstrip()


# ---- An explanation as HTML. Blue words support the label, orange words are against it; the lines below them differ too.
#
# A fragment takes its colours from the page around it, light or dark (notebooks); `linnet.draw.markup` makes a file of it.


def explanation_html(e: Explanation, n: int = 12) -> str:
    """Write the marked text and its tables."""
    head = f"<p><b>{safe(e.label)}</b> (probability {e.probability:.3f}){safe(e.rather)}"
    method = "" if e.exact else f"; contributions are {safe(e.method)}"
    by_feature = [(f"{c.shown} ({c.block})", c.value) for c in e.contributions]
    tables = "".join(
        f"<div>{table(['contribution', what], [[f'{value:+.4f}', safe(name)] for name, value in e.summed(parts, n, what)])}</div>"
        for what, parts in (("word", e.by_word()), ("feature", by_feature))
    )
    return (
        f"<div>{head}: score {e.score:+.4f}{method}</p><p style='line-height:1.75;white-space:pre-wrap'>{marked(e.words())}</p>"
        f"<div style='display:flex;flex-wrap:wrap;gap:0 2rem'>{tables}</div></div>"
    )


def neighbours_html(found: Sequence[Neighbour]) -> str:
    """Write the examples most like a text as a table."""
    rows = []
    for n in found:
        about = f"<small>row {n.row + 1:,}; in common: {safe(', '.join(n.shared))}</small>"
        rows.append([f"{n.similarity:.3f}", safe(n.label), f"{safe(n.text)}<br>{about}"])
    return table(["similarity", "label", "example"], rows)


def model_html(clf: TextClassifier) -> str:
    """Describe a fitted classifier in a notebook."""
    settings = [[safe(k), safe(v)] for k, v in clf.card.get("settings", {}).items() if v is not None]
    best = {c: ", ".join(name for name, _ in clf.top_features(c, 12)) for c in clf.artefact.classes[:10]}
    tops = "".join(f"<p><b>{safe(c)}</b>: {safe(names)}</p>" for c, names in best.items())
    passes = [entry for entry in clf.history_ if entry["kind"] == "pass"]
    curves = Curves.of(passes)._repr_html_() if passes else ""
    size = f"{clf.artefact.n_features:,} features, {len(clf.artefact.classes)} classes"
    return f"<div><p><code>{safe(repr(clf))}</code> {size}</p>{table(['', ''], settings)}{tops}{curves}</div>"


# ---- One update of a model, shown: the scores of a text, who is blamed, and what its features add, before and after.


MOST = 12  # features that are shown


@dataclass(frozen=True)
class LearningStep:
    """What learning one row did to the score of each class, and to what each feature of the text adds to it.

    ``blamed`` are the other classes whose score went down. ``weights`` holds, for each class, (feature, before, after), those that
    moved most first.
    """

    text: str
    label: Any
    predicted: Any
    scores: Mapping[Any, tuple[float, float]]
    blamed: tuple[Any, ...]
    weights: Mapping[Any, tuple[tuple[str, float, float], ...]]

    def _rows(self) -> list[list[str]]:
        changes = [("score", c, a, b) for c, (a, b) in self.scores.items()]
        changes += [(name, c, a, b) for c in (self.label, *self.blamed) for name, a, b in self.weights[c][:MOST]]
        rows = [[name, str(c), f"{a:+.4f}", f"{b:+.4f}", f"{b - a:+.4f}"] for name, c, a, b in changes]
        return [["feature", "class", "before", "after", "change"], *rows]

    def _head(self) -> str:
        blamed = ", ".join(map(str, self.blamed)) or "none"
        return f"predicted {self.predicted}, the label is {self.label}; classes blamed: {blamed}"

    def __str__(self) -> str:
        return "\n".join([self._head(), *aligned(self._rows(), 100, 2)])

    def _repr_html_(self) -> str:
        return f"<div><p>{safe(self._head())}</p>{text_table(self._rows())}</div>"


def learning_step(
    text: str, label: Any, predicted: Any, before: Mapping[Any, Explanation], after: Mapping[Any, Explanation]
) -> LearningStep:
    """Compare the explanations of a text for every class before and after a step; new classes begin at zero."""
    scores, weights = {}, {}
    for c, new in after.items():
        old = before.get(c)
        scores[c] = (0.0 if old is None else old.score, new.score)
        was = {} if old is None else {one.feature: one.value for one in old.contributions}
        both = [(one.feature, was.get(one.feature, 0.0), one.value) for one in new.contributions]
        weights[c] = tuple(sorted(both, key=lambda one: -abs(one[2] - one[1])))
    blamed = tuple(c for c, (a, b) in scores.items() if c != label and b < a - 1e-9)
    return LearningStep(text, label, predicted, scores, blamed, weights)
