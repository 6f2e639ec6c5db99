"""``Report``: a classifier on labelled rows, as one page."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

from linnet.classifier import TextClassifier
from linnet.draw.markup import page, resource, safe
from linnet.errors import DataError, LinnetError, check_choice
from linnet.files import write_atomic
from linnet.report import scores, training
from linnet.report.errors import confusion, errors, features
from linnet.report.inputs import ReportInputs

# ---- The sections of a report, in reading order. A new one is a function in its own file and a row here.


Render = Callable[[Any], str | None]


class Section(NamedTuple):
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
    "verdict": Section("Verdict", scores.verdict),
    "data": Section("Data", training.data),
    "check": Section("Data check", _given("check")),
    "training": Section("Training", training.training),
    "learning-curve": Section("Learning curve", training.curve_section),
    "comparison": Section("Model comparison", _given("comparison")),
    "scores": Section("Scores", scores.scores),
    "confusion": Section("Confusion matrix", confusion),
    "errors": Section("Most confident errors", errors),
    "calibration": Section("Calibration", scores.calibration),
    "thresholds": Section("Thresholds", scores.thresholds),
    "features": Section("Top features", features),
    "card": Section("Model card", training.card),
    "reproduce": Section("How to reproduce", training.reproduce),
}


# The sections of a report on rows that may have several labels.
SET_SECTIONS: dict[str, Section] = {
    "verdict": Section("Verdict", scores.set_verdict),
    "scores": Section("Scores", scores.set_scores),
    **{name: SECTIONS[name] for name in ("check", "training", "comparison")},
    "errors": Section("Errors", scores.set_errors),
    **{name: SECTIONS[name] for name in ("features", "card", "reproduce")},
}


def register(name: str, title: str, render: Render, *, after: str = "data") -> None:
    """Add a section to every report made from now on, after another one.

    >>> register("greeting", "Greeting", lambda inputs: f"<p>{inputs.n} rows say hello</p>", after="verdict")
    >>> list(SECTIONS)[:2]
    ['verdict', 'greeting']
    >>> SECTIONS.pop("greeting").title
    'Greeting'
    """
    check_choice("section", after, SECTIONS, LinnetError)
    SECTIONS.pop(name, None)
    items = list(SECTIONS.items())
    at = [key for key, _ in items].index(after) + 1
    SECTIONS.clear()
    SECTIONS.update([*items[:at], (name, Section(title, render)), *items[at:]])


COMMAND = 'linnet.Report(clf, data).save("report.html")'


class Report:
    """A page on how good a classifier is on labelled rows, what it gets wrong, and why.

    Give a Dataset, or texts and labels. ``save`` writes one file that opens offline; notebooks show the page in place.
    ``comparison`` and ``check`` take the results of ``linnet.compare`` and ``linnet.check``, ``curve`` a learning curve of
    a comparison and ``seal`` the seal of a blind test set; the page shows them too.

    >>> from linnet import TextClassifier
    >>> texts, labels = ["good fun", "so good", "bad", "too bad"] * 5, ["pos", "pos", "neg", "neg"] * 5
    >>> clf = TextClassifier("nb", features="words:1").fit(texts, labels)
    >>> report = Report(clf, texts, labels)
    >>> report
    <Report: accuracy 1.0000 on 20 rows>
    >>> report.html.startswith("<!doctype html>"), "<h2>Verdict</h2>" in report.html
    (True, True)
    """

    def __init__(
        self,
        clf: TextClassifier,
        data: Any,
        labels: Any = None,
        *,
        title: str | None = None,
        command: str = COMMAND,
        seed: int = 0,
        files: dict[str, str] | None = None,
        comparison: Any = None,
        check: Any = None,
        curve: Any = None,
        seal: Any = None,
    ) -> None:
        from linnet.data import Dataset

        if not isinstance(data, Dataset):
            if labels is None:
                raise DataError("a report needs labels; give a Dataset, or texts and their labels")
            data = Dataset.from_lists(data, labels)
        extra = {"comparison": comparison, "check": check, "curve": curve, "seal": seal}
        several = clf.artefact.multilabel
        self.sections = SET_SECTIONS if several else SECTIONS
        inputs: Any = scores.LabelSetInputs if several else ReportInputs
        self.inputs = inputs.of(clf, data, command=command, seed=seed, files=files or {}, extra=extra)
        self.title = title or f"{clf.card.get('settings', {}).get('model', 'model')} on {data.source}"

    @property
    def evaluation(self) -> Any:
        """The scores, with intervals: an Evaluation, or a MultilabelEvaluation where rows may have several labels."""
        return self.inputs.result

    @cached_property
    def html(self) -> str:
        """The whole file."""
        parts, links = [], []
        for name, section in list(self.sections.items()):
            body = section.render(self.inputs)
            if body:
                links.append(f'<a href="#{safe(name)}">{safe(section.title)}</a>')
                parts.append(f'<section id="{safe(name)}"><h2>{safe(section.title)}</h2>{body}</section>')
        head = f'<header><h1>{safe(self.title)}</h1><nav aria-label="Sections">{"".join(links)}</nav></header>'
        return page(
            self.title, f"{head}<main>{''.join(parts)}</main>", more_style=resource(__package__, "report.css"),
            script=resource(__package__, "report.js"),
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to one file, whole or not at all."""
        write_atomic(path, self.html)

    def __repr__(self) -> str:
        found = self.evaluation
        several = self.sections is SET_SECTIONS
        return f"<Report: {f'micro F1 {found.micro_f1:.4f}' if several else f'accuracy {found.accuracy:.4f}'} on {found.n:,} rows>"

    def _repr_html_(self) -> str:
        frame = "width:100%;height:42rem;border:1px solid #8884;border-radius:6px"
        return f'<iframe title="linnet report" style="{frame}" srcdoc="{escape(self.html, quote=True)}"></iframe>'
