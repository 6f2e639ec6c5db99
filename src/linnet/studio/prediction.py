"""One text and one model: the label, the probabilities, and the words that decided."""

from __future__ import annotations

from dataclasses import dataclass

from linnet.classifier import TextClassifier
from linnet.draw.markup import marked, safe
from linnet.errors import LinnetError
from linnet.report.predictions import LONGEST

__all__ = ["ExplainedPrediction", "explained_prediction"]

LABELS = 6  # that are shown
WORDS = 8
NO_ANSWER = "(no answer)"


@dataclass(frozen=True)
class ExplainedPrediction:
    """What a model predicts for a text, and why."""

    label: str
    probabilities: tuple[tuple[str, float], ...]  # the most probable few, in the order of the classes if all are shown
    words: tuple[tuple[str, float], ...]  # the largest contributions first
    shown: str  # the text as HTML, its words marked
    unknown: int
    exact: bool
    cut: bool


def explained_prediction(clf: TextClassifier, text: str) -> ExplainedPrediction:
    """Predict the label of a text and explain it.

    >>> clf = TextClassifier("nb", features="words:1").fit(["good", "so good", "bad", "so bad"], ["pos", "pos", "neg", "neg"])
    >>> found = explained_prediction(clf, "good")
    >>> found.label, [word for word, _ in found.words]
    ('pos', ['good'])
    """
    beginning = text[:LONGEST]
    answers = clf.artefact.answers(clf.artefact.scores([beginning], clf.n_jobs))
    proba = answers.proba[0]
    names = [str(c) for c in clf.classes_.tolist()]
    kept = sorted(range(len(names)), key=lambda k: -proba[k])[:LABELS]
    order = sorted(kept) if len(names) <= LABELS else kept
    try:
        found = clf.explain(beginning)
        words = tuple((word, value) for word, value in found.by_word()[:WORDS] if value)
        shown, unknown, exact = marked(found.words(), LONGEST), found.unknown, found.exact
    except LinnetError:  # a model that has no contributions to show
        words, shown, unknown, exact = (), safe(beginning), 0, True
    probabilities = tuple((names[k], float(proba[k])) for k in order)
    if clf.artefact.multilabel:
        label = ", ".join(name for name, chosen in zip(names, answers.chosen[0], strict=True) if chosen) or NO_ANSWER
    else:
        label = names[int(answers.best[0])] if answers.best[0] >= 0 else NO_ANSWER
    return ExplainedPrediction(label, probabilities, words, shown, unknown, exact, len(text) > LONGEST)
