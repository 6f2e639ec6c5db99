"""One text through one model: label, probabilities, the words that made it so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linnet.classifier import TextClassifier
from linnet.errors import LinnetError
from linnet.report.markup import safe
from linnet.report.mistakes import marked

__all__ = ["Verdict", "contrast", "judge"]

LONGEST = 20_000  # characters that are explained
MOST = 6  # labels shown


@dataclass(frozen=True)
class Verdict:
    """What a model says of a text."""

    label: str
    probability: float
    probabilities: tuple[tuple[str, float], ...]  # the best few, in a steady order
    words: tuple[tuple[str, float], ...]  # the largest first
    shown: str  # the text as HTML, its words marked
    unknown: int
    exact: bool
    cut: bool


def judge(clf: TextClassifier, text: str) -> Verdict:
    """Ask a model about a text.

    >>> clf = TextClassifier("nb", features="words:1").fit(["good", "so good", "bad", "so bad"], ["pos", "pos", "neg", "neg"])
    >>> found = judge(clf, "good")
    >>> found.label, [word for word, _ in found.words]
    ('pos', ['good'])
    """
    asked = text[:LONGEST]
    proba = clf.predict_proba([asked])[0]
    names = [str(c) for c in clf.classes_.tolist()]
    label = names[int(proba.argmax())]
    kept = sorted(range(len(names)), key=lambda k: -proba[k])[:MOST]
    order = sorted(kept) if len(names) <= MOST else kept
    rows = tuple((names[k], float(proba[k])) for k in order)
    try:
        found = clf.explain(asked)
        words = tuple((w, v) for w, v in found.by_word()[:8] if v)
        shown = marked(found.words(), characters=LONGEST)
        unknown, exact = found.unknown, found.exact
    except LinnetError:  # a model that cannot be taken apart
        words, shown, unknown, exact = (), safe(asked), 0, True
    return Verdict(label, float(proba.max()), rows, words, shown, unknown, exact, len(text) > LONGEST)


def contrast(clf: TextClassifier, text: str, answer: Any, other: Any, characters: int = 700) -> str:
    """Return a text as HTML with the words that speak for the answer rather than the other label."""
    text = text[:LONGEST]
    try:
        classes = list(clf.artefact.classes)
        pieces = clf.explain(text, answer).words()
        if len(classes) > 2 and other in classes and other != answer:
            against = clf.explain(text, other).words()
            pieces = [(piece, a - b) for (piece, a), (_, b) in zip(pieces, against, strict=True)]
        return marked(pieces, characters)
    except LinnetError:
        return safe(text[:characters])
