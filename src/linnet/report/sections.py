"""The sections of a report, in reading order. A new one is a function in its own file and a row here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linnet.errors import LinnetError, nearest
from linnet.report.calibration import calibration
from linnet.report.card import card
from linnet.report.confusion import confusion
from linnet.report.data import data
from linnet.report.errors import errors
from linnet.report.features import features
from linnet.report.inputs import ReportInputs
from linnet.report.label_sets import set_errors, set_scores
from linnet.report.learning_curve import curve_section
from linnet.report.reproduce import reproduce
from linnet.report.scores import scores
from linnet.report.thresholds import thresholds
from linnet.report.training import training
from linnet.report.verdict import verdict

__all__ = ["SECTIONS", "SET_SECTIONS", "Section", "register"]

Render = Callable[[Any], str | None]


@dataclass(frozen=True)
class Section:
    """A title and the function that writes the section: inputs to HTML, or None to leave the section out."""

    title: str
    render: Render


def _given(name: str) -> Render:
    """Return a section that shows what the report was given under a name."""

    def render(inputs: ReportInputs) -> str | None:
        found = inputs.extra.get(name)
        return None if found is None else f'<div class="wide">{found._repr_html_()}</div>'

    return render


SECTIONS: dict[str, Section] = {
    "verdict": Section("Verdict", verdict),
    "data": Section("Data", data),
    "check": Section("Data check", _given("check")),
    "training": Section("Training", training),
    "learning-curve": Section("Learning curve", curve_section),
    "comparison": Section("Model comparison", _given("comparison")),
    "scores": Section("Scores", scores),
    "confusion": Section("Confusion matrix", confusion),
    "errors": Section("Most confident errors", errors),
    "calibration": Section("Calibration", calibration),
    "thresholds": Section("Thresholds", thresholds),
    "features": Section("Top features", features),
    "card": Section("Model card", card),
    "reproduce": Section("How to reproduce", reproduce),
}


SET_SECTIONS: dict[str, Section] = {
    "scores": Section("Scores", set_scores),
    **{name: SECTIONS[name] for name in ("check", "training", "comparison")},
    "errors": Section("Errors", set_errors),
    **{name: SECTIONS[name] for name in ("features", "card", "reproduce")},
}
"""The sections of a report on rows that may have several labels."""


def register(name: str, title: str, render: Render, *, after: str = "data") -> None:
    """Add a section to every report made from now on, after another one.

    >>> register("greeting", "Greeting", lambda inputs: f"<p>{inputs.n} rows say hello</p>", after="verdict")
    >>> list(SECTIONS)[:2]
    ['verdict', 'greeting']
    >>> SECTIONS.pop("greeting").title
    'Greeting'
    """
    if after not in SECTIONS:
        raise LinnetError(nearest("section", after, SECTIONS))
    SECTIONS.pop(name, None)
    items = list(SECTIONS.items())
    at = [key for key, _ in items].index(after) + 1
    SECTIONS.clear()
    SECTIONS.update([*items[:at], (name, Section(title, render)), *items[at:]])
