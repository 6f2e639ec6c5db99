"""Try: type a text and see what a model predicts, word by word; two models side by side."""

from __future__ import annotations

import time
from typing import Any

from nicegui import run, ui

from linnet.classifier import TextClassifier
from linnet.draw.markup import bars, mark, safe, table
from linnet.draw.terminal import percent
from linnet.errors import LinnetError
from linnet.studio import layout
from linnet.studio.pages.errors import evidence
from linnet.studio.state import BUILT_IN, LABELS, ExplainedPrediction, Studio, explained_prediction

LEAD = "The label, the probabilities and the words behind them change as you type."
EXAMPLE = "Not a bad book at all: I never once wanted to put it down, though the ending is a little dull."
NONE = "none"
RULES: dict[str, tuple[str, dict[str, float]]] = {
    "trained": ("as it was trained", {}),
    **{f"p{p}": (f"from a probability of {p}", {"threshold": p}) for p in (0.5, 0.7, 0.9)},
    **{f"a{a}": (f"with an accuracy of {a:.0%}", {"abstain": a}) for a in (0.9, 0.95, 0.98)},
}
TOPS = (3, LABELS, 20)


def build(studio: Studio) -> None:
    """Draw the page."""
    with layout.frame(studio, "/try", "Try", LEAD):
        if studio.models():
            TryPage(studio)
        else:
            _no_model(studio)


def _no_model(studio: Studio) -> None:
    with layout.empty("No model yet", "Train one on your data, open a model file, or make the quick model: the built-in book reviews, "
               "trained in a second."):  # fmt: skip

        async def opened() -> None:
            if await layout.attempt(
                studio.open, path.value if path.value.endswith(".linnet") else f"{path.value}.linnet"
            ):
                ui.navigate.to("/try")

        async def quick() -> None:
            do.props("loading")
            if await layout.attempt(_quick, studio):
                ui.navigate.to("/try")

        path = layout.field("Path of a .linnet file", opened)
        layout.button("Open", opened, quiet=True)
        layout.link("Train on my data", "/train", quiet=True)
        do = layout.button("Make the quick model", quick)


def _quick(studio: Studio) -> None:
    if studio.data is None or studio.data.label is None:
        studio.open(BUILT_IN)
    studio.train({"model": "svm", "features": "words:1-2"}, wait=True)


class TryPage:
    """The page while it is open: a text, one model or two, and what they predict."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        names, asked = studio.models(), ui.context.client.request.query_params.get("model", "")
        self.models = [asked if asked in names else studio.best() or next(iter(names)), NONE]
        self.dev = [] if studio.data is None or studio.data.label is None else studio.rows("dev").tolist()
        self.text = studio.text(self.dev[0]) if self.dev else EXAMPLE
        self.asked = 0
        self.rule, self.top = "trained", LABELS
        with layout.card():
            with layout.row():
                layout.select("Model", names, self.models[0], lambda event: self._choose(0, event.value))
                layout.select(
                    "Compare with", {NONE: "no other", **names}, NONE, lambda event: self._choose(1, event.value)
                )
                rules = {key: words for key, (words, _) in RULES.items()}
                layout.select("Answer", rules, self.rule, lambda event: self._set("rule", event.value))
                layout.select("Labels shown", list(TOPS), self.top, lambda event: self._set("top", event.value))
            self.box = ui.textarea(label="Text", value=self.text, on_change=self._typed).props(
                "outlined autogrow autofocus spellcheck=false input-style=min-height:7.5rem"
            )
            self.box.style("width:100%;margin-top:.8rem")
            if self.dev:
                with layout.row("between").style("margin-top:.5rem"):
                    self.about = layout.html("", "soft small")
                    layout.button("Another dev row", self._another, quiet=True).props("dense")
                self._name_row()
            evidence(studio, lambda: (self.models[0], self.text))
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

    async def _set(self, name: str, value: Any) -> None:
        setattr(self, name, value)
        await self.show()

    async def _typed(self, event: Any) -> None:
        self.text = event.value or ""
        await self.show()

    async def show(self) -> None:
        """Predict the text with the model, or with both; a newer text replaces an older one."""
        self.asked += 1
        mine = self.asked
        for name, (_, shown) in zip(self.models, self.places, strict=True):
            if name == NONE:
                continue
            if not self.text.strip():
                shown.set_content(layout.soft("Type something above."))
                continue
            began = time.perf_counter()
            clf = self.studio.model(name)
            try:
                found = await run.io_bound(explained_prediction, clf, self.text, self.top, **RULES[self.rule][1])
            except LinnetError as error:  # a rule that this model cannot keep
                shown.set_content(layout.soft(str(error)))
                continue
            if mine != self.asked or found is None:  # None: the program ends
                return
            shown.set_content(_shown(found, clf, self.studio.models().get(name, name), time.perf_counter() - began))


def _shown(found: ExplainedPrediction, clf: TextClassifier, name: str, seconds: float) -> str:
    rest = len(clf.classes_) - len(found.probabilities)
    more = layout.soft(f"{rest:,} more labels are less likely.") if rest > 0 else ""
    notes = []
    if found.unknown:
        notes.append(f"{found.unknown:,} features of the text are not in the model.")
    if not found.exact:
        notes.append("This model is a neural network: contributions are approximate.")
    if found.cut:
        notes.append("Only the beginning of the text is used here.")
    probabilities = bars([(label, p, percent(p)) for label, p in found.probabilities], "probabilities", found.label)
    words = table(["", ""], [[f"{value:+.2f}", safe(word)] for word, value in found.words])
    return (
        f'<div class="soft small">{safe(name)}</div><div class="answer" data-label="{safe(found.label)}">{safe(found.label)}</div>'
        f'<div style="margin:.7rem 0 1rem">{probabilities}{more}</div><div class="marked">{found.shown}</div>'
        f'<details style="margin-top:.8rem"><summary>largest contributions</summary>{words}</details>'
        f'<p class="soft small" style="margin-top:.7rem">{" ".join(map(safe, notes))} {mark("Blue", "for")} words support '
        f"{safe(found.label)}, {mark('orange', 'against')} words are against it. {1000 * seconds:.0f} ms.</p>"
    )
