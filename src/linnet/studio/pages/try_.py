"""Try: type a text and see what a model makes of it, word by word; two models side by side."""

from __future__ import annotations

import time
from typing import Any

from nicegui import run, ui

from linnet.classifier import TextClassifier
from linnet.report.markup import safe
from linnet.studio import drawing
from linnet.studio.state import BUILT_IN, Studio
from linnet.studio.theme import attempt, button, card, empty, frame, html
from linnet.studio.trying import Verdict, judge

__all__ = ["build"]

LEAD = "Type, and the label, the probabilities and the words behind them change as you go."
EXAMPLE = "Not a bad book at all: I never once wanted to put it down, though the ending is a little dull."
NONE = "none"


def build(studio: Studio) -> None:
    """Draw the page."""
    with frame(studio, "/try", "Try", LEAD):
        if not studio.models():
            _nothing(studio)
            return
        Trying(studio)


def _nothing(studio: Studio) -> None:
    with empty("No model yet", "Train one on your data, open a model file, or take the quick one: a model of the built-in book "
               "reviews, trained in a second."):  # fmt: skip
        path = ui.input(label="Path of a .linnet file").props("outlined dense spellcheck=false").classes("grow")

        async def opened() -> None:
            if await attempt(studio.open, path.value if path.value.endswith(".linnet") else f"{path.value}.linnet"):
                ui.navigate.to("/try")

        async def quick() -> None:
            do.props("loading")
            if await attempt(_quick, studio):
                ui.navigate.to("/try")

        path.on("keydown.enter", opened)
        button("Open", opened, quiet=True)
        button("Train on my data", lambda: ui.navigate.to("/train"), quiet=True)
        do = button("Make the quick model", quick)


def _quick(studio: Studio) -> None:
    if studio.data is None or studio.data.label is None:
        studio.open(BUILT_IN)
    studio.train({"model": "svm", "features": "words:1-2"}, wait=True)


class Trying:
    """The page while it is open: a text, one model or two, and what they say."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        names = studio.models()
        self.first = studio.best() or next(iter(names))
        self.second = NONE
        self.text = EXAMPLE
        self.asked = 0
        with card():
            with ui.element("div").classes("row"):
                ui.select(names, value=self.first, label="Model", on_change=self._first).props(
                    "outlined dense"
                ).classes("grow")
                ui.select({NONE: "no other", **names}, value=NONE, label="Compare with", on_change=self._second).props(
                    "outlined dense"
                ).classes("grow")
            box = ui.textarea(label="Text", value=self.text, on_change=self._typed).props(
                "outlined autogrow autofocus spellcheck=false input-style=min-height:7.5rem"
            )
            box.style("width:100%;margin-top:.8rem")
        with ui.element("div").classes("two").props("id=verdicts"):
            self.places = [self._place(), self._place()]
        self.places[1][0].set_visibility(False)
        ui.timer(0, self.show, once=True)

    def _place(self) -> tuple[Any, Any]:
        with card() as made:
            made.style("min-height:22rem")
            shown = html("", "verdict-body").props("aria-live=polite")
        return made, shown

    async def _first(self, event: Any) -> None:
        self.first = event.value
        await self.show()

    async def _second(self, event: Any) -> None:
        self.second = event.value
        self.places[1][0].set_visibility(self.second != NONE)
        await self.show()

    async def _typed(self, event: Any) -> None:
        self.text = event.value or ""
        await self.show()

    async def show(self) -> None:
        """Ask the model, or both, about the text; a newer text overtakes an older one."""
        self.asked += 1
        mine = self.asked
        for name, (_, shown) in zip((self.first, self.second), self.places, strict=True):
            if name == NONE:
                continue
            if not self.text.strip():
                shown.set_content('<p class="soft">Type something above.</p>')
                continue
            began = time.perf_counter()
            clf = self.studio.model(name)
            found = await run.io_bound(judge, clf, self.text)
            if mine != self.asked or found is None:  # None: the program ends
                return
            shown.set_content(_verdict(found, clf, self.studio.models().get(name, name), time.perf_counter() - began))


def _verdict(found: Verdict, clf: TextClassifier, name: str, seconds: float) -> str:
    rest = len(clf.classes_) - len(found.probabilities)
    more = f'<p class="soft small">{rest:,} more labels are less likely.</p>' if rest > 0 else ""
    words = "".join(
        f'<tr><td class="n" style="width:5rem">{value:+.2f}</td><td>{safe(word)}</td></tr>'
        for word, value in found.words
    )
    notes = []
    if found.unknown:
        notes.append(f"{found.unknown:,} pieces of the text are new to the model and say nothing.")
    if not found.exact:
        notes.append("This model is a net: the words' shares are approximate.")
    if found.cut:
        notes.append("Only the beginning of the text is read here.")
    return (
        f'<div class="soft small">{safe(name)}</div><div class="answer" data-label="{safe(found.label)}">{safe(found.label)}</div>'
        f'<div style="margin:.7rem 0 1rem">{drawing.meters(found.probabilities, found.label)}{more}</div>'
        f'<div class="marked">{found.shown}</div>'
        '<details style="margin-top:.8rem"><summary>the words that weigh most</summary>'
        f'<table class="plain"><tbody>{words}</tbody></table></details>'
        f'<p class="soft small" style="margin-top:.7rem">{" ".join(map(safe, notes))} '
        f'<mark class="for">Blue</mark> speaks for {safe(found.label)}, <mark class="against">orange</mark> against. '
        f"{1000 * seconds:.0f} ms.</p>"
    )
