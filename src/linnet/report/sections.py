"""The sections of a report, in reading order. A new one is a function in its own file and a row here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from linnet.errors import LinnetError, nearest
from linnet.report.material import Material

__all__ = ["SECTIONS", "Section", "register"]

Render = Callable[[Material], str | None]


@dataclass(frozen=True)
class Section:
    """A title and where to find the function that writes it: Material to HTML, or None to leave the section out."""

    title: str
    where: str | Render

    def render(self, material: Material) -> str | None:
        """Write the section."""
        if not isinstance(self.where, str):
            return self.where(material)
        module, function = self.where.split(":")
        found: str | None = getattr(importlib.import_module(module), function)(material)
        return found


SECTIONS: dict[str, Section] = {
    "verdict": Section("Verdict", "linnet.report.verdict:verdict"),
    "health": Section("The data", "linnet.report.health:health"),
    "check": Section("Data check", "linnet.report.extras:check"),
    "learning": Section("Learning", "linnet.report.learning:learning"),
    "size": Section("Would more rows help?", "linnet.report.size:size"),
    "comparison": Section("Comparison of models", "linnet.report.extras:comparison"),
    "scores": Section("Scores", "linnet.report.scores:scores"),
    "confusion": Section("What is taken for what", "linnet.report.confusion:confusion"),
    "mistakes": Section("Most confident errors", "linnet.report.mistakes:mistakes"),
    "calibration": Section("Can the probabilities be trusted?", "linnet.report.calibration:calibration"),
    "thresholds": Section("Where to draw the line", "linnet.report.thresholds:thresholds"),
    "features": Section("What it goes by", "linnet.report.features:features"),
    "card": Section("Model card", "linnet.report.card:card"),
    "reproduce": Section("How to reproduce", "linnet.report.reproduce:reproduce"),
}


def register(name: str, title: str, render: Render, *, after: str = "health") -> None:
    """Add a section to every report made from now on, behind another one.

    >>> register("greeting", "Greeting", lambda material: f"<p>{material.n} rows say hello</p>", after="verdict")
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
