"""Try: type a text and see what a model predicts, word by word; two models side by side."""

from __future__ import annotations

from typing import Any

from nicegui import run, ui

from linnet.draw.markup import safe
from linnet.errors import LinnetError
from linnet.studio import layout
from linnet.studio.pages.errors import evidence
from linnet.studio.state import BUILT_IN, LABELS, Studio, prediction_html

LEAD = "The label, the probabilities and the words behind them change as you type."
EXAMPLE = "Not a bad book at all: I never once wanted to put it down, though the ending is a little dull."
NONE = "none"
RULES: dict[str, tuple[str, dict[str, float]]] = {
    "trained": ("as it was trained", {}),
    **{f"p{p}": (f"from a probability of {p}", {"threshold": p}) for p in (0.5, 0.7, 0.9)},
    **{f"a{a}": (f"with an accuracy of {a:.0%}", {"abstain": a}) for a in (0.9, 0.95, 0.98)},
}


def build(studio: Studio) -> None:
    """Draw the body of the page."""
    if studio.models():
        TryPage(studio)
    else:
        _no_model(studio)


def _no_model(studio: Studio) -> None:
    with layout.empty("No model yet", "Train one on your data, open a model file, or make the quick model: the built-in book reviews, "
               "trained in a second."):  # fmt: skip

        async def opened() -> None:
            await layout.go("/try", studio.open, f"{path.value.removesuffix('.linnet')}.linnet")

        path = layout.field("Path of a .linnet file", opened)
        layout.button("Open", opened, quiet=True)
        layout.link("Train on my data", "/train", quiet=True)
        layout.button("Make the quick model", lambda: layout.go("/try", _quick, studio))


def _quick(studio: Studio) -> None:
    if not studio.labelled:
        studio.open(BUILT_IN)
    studio.train({"model": "svm", "features": "words:1-2"}, wait=True)


class TryPage:
    """The page while it is open: a text, one model or two, and what they predict."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        names = studio.models()
        self.models = [layout.asked_model(studio), NONE]
        self.dev = studio.rows("dev").tolist() if studio.labelled else []
        self.asked = 0
        with layout.card():
            with layout.row():
                layout.select("Model", names, self.models[0], lambda event: self._choose(0, event.value))
                others = {NONE: "no other", **names}
                layout.select("Compare with", others, NONE, lambda event: self._choose(1, event.value))
                rules = {key: words for key, (words, _) in RULES.items()}
                self.rule = layout.select("Answer", rules, "trained", self.show)
                self.top = layout.select("Labels shown", [3, LABELS, 20], LABELS, self.show)
            text = studio.text(self.dev[0]) if self.dev else EXAMPLE
            self.box = ui.textarea(label="Text", value=text, on_change=self.show).style("width:100%;margin-top:.8rem")
            self.box.props("outlined autogrow autofocus spellcheck=false input-style=min-height:7.5rem")
            if self.dev:
                with layout.row("between").style("margin-top:.5rem"):
                    self.about = layout.html("", "soft small")
                    layout.button("Another dev row", self._another, quiet=True).props("dense")
                self._name_row()
            evidence(studio, lambda: (self.models[0], self.box.value or ""))
        with layout.columns().props("id=verdicts"):
            self.places = [self._place(), self._place()]
        self.places[1][0].set_visibility(False)
        ui.timer(0, self.show, once=True)

    def _another(self) -> None:
        self.dev = [*self.dev[1:], self.dev[0]]
        self.box.set_value(self.studio.text(self.dev[0]))
        self._name_row()

    def _name_row(self) -> None:
        row, label = self.studio.source_row(self.dev[0]), self.studio.label(self.dev[0])
        self.about.set_content(f"row {row:,} of the file, labelled <b>{safe(label)}</b>; or type a text of your own")

    def _place(self) -> tuple[Any, Any]:
        with layout.card() as made:
            made.style("min-height:22rem")
            return made, layout.html("", "verdict-body").props("aria-live=polite")

    async def _choose(self, which: int, name: str) -> None:
        self.models[which] = name
        self.places[which][0].set_visibility(name != NONE)
        await self.show()

    async def show(self) -> None:
        """Predict the text with the model, or with both; a newer text replaces an older one."""
        self.asked += 1
        mine, text = self.asked, self.box.value or ""
        for name, (_, shown) in zip(self.models, self.places, strict=True):
            if name == NONE:
                continue
            if not text.strip():
                shown.set_content(layout.soft("Type something above."))
                continue
            clf, title, rule = self.studio.model(name), self.studio.models().get(name, name), RULES[self.rule.value][1]
            try:
                found = await run.io_bound(prediction_html, clf, text, title, self.top.value, **rule)
            except LinnetError as error:  # a rule that this model cannot keep
                shown.set_content(layout.soft(str(error)))
                continue
            if mine != self.asked or found is None:  # None: the program ends
                return
            shown.set_content(found)
