"""Label: one text after another, by keyboard, the most useful first."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from linnet.draw.markup import bar, safe
from linnet.draw.terminal import count
from linnet.errors import LinnetError
from linnet.studio import layout
from linnet.studio.labelling import LEAST_DRAWN, Labelling
from linnet.studio.layout import estimate_chart
from linnet.studio.pages.data import open_data
from linnet.studio.state import Studio

LEAD = "The texts that help the model most come first. Every label is saved before the next text is shown."
KEYS = "123456789abcdefghijklmnopqrtvwxz"  # without s (skip), u (undo) and y (yes, as the model says)
WHY = {
    "new": "unlike the texts so far",
    "unsure": "the model is uncertain",
    "random": "drawn at random, to measure accuracy",
}


def build(studio: Studio) -> None:
    """Draw the page."""
    with layout.frame(studio, "/label", "Label", LEAD):
        if studio.data is None:
            with layout.empty("No texts open", "Open a file of texts without labels (labels in it are not shown)."):
                open_data(studio, "/label", name="Path of a file of texts")
        elif studio.labelling is None or studio.labelling.task != studio.task:
            _begin(studio)
        else:
            LabelPage(studio, studio.labelling)


def _begin(studio: Studio) -> None:
    data = studio.data
    assert data is not None  # noqa: S101 - build asks
    names = studio.answers.names(studio.task) or data.labels
    kept = len([a for a in studio.answers.of(studio.task) if a.why != "fix" and a.label is not None])
    again = f" Labelling continues with {count(kept, 'label')} from before." if kept else ""
    blank = len(studio.unlabelled) if data.label is not None else 0
    shown = " The labels of the file are not shown while you label." if data.label is not None else ""
    if blank:
        shown = f" The {len(data):,} labels of the file teach the model."
    with layout.empty(
        f"Label {blank or len(data):,} texts",
        f"Enter the labels to choose from, at least two, separated by commas.{shown}{again}",
    ):

        async def begin() -> None:
            do.props("loading")
            if await layout.attempt(studio.label_texts, (labels.value or "").split(",")):
                ui.navigate.to("/label")
            else:
                do.props(remove="loading")

        labels = layout.field("Labels", begin, value=", ".join(names), placeholder="positive, negative").props(
            "autofocus"
        )
        do = layout.button("Begin", begin)
        layout.link("Open other texts", "/data", quiet=True)


class LabelPage:
    """The page while it is open: one text, the keys, and the progress."""

    def __init__(self, studio: Studio, session: Labelling) -> None:
        self.studio, self.session = studio, session
        self.keys = dict(zip(KEYS, session.labels, strict=False))
        self.seen = -1
        layout.script("label.js")
        ui.on("label_key", self._key)
        with layout.columns("side"):
            with layout.card("ask"):
                self.why = layout.html("", "row between small soft").style("min-height:1.6rem")
                self.say = layout.html("", "say").props("id=say aria-live=polite tabindex=-1")
                with ui.element("div").classes("choices"):
                    for k, label in enumerate(session.labels):  # more labels than keys: the rest by Tab and Enter
                        key = f"<kbd>{KEYS[k].upper()}</kbd>" if k < len(KEYS) else ""
                        made = layout.html(f"{key}{safe(label)}", "choice", "button").props("type=button")
                        made.on("click", lambda label=label: self._answer(self._row(), label))
                    others = (
                        ("Y", "as the model says", self._accept),
                        ("S", "skip", self._skip),
                        ("U", "undo", self._undo),
                    )
                    for key, word, act in others:
                        layout.html(f"<kbd>{key}</kbd>{word}", "choice quiet", "button").props("type=button").on(
                            "click", act
                        )
            with layout.columns("stack"):
                with layout.card():
                    self.figures = layout.html().props("id=figures")
                    self.advice = (
                        layout.html("", "small").props("id=advice").style("min-height:4.6rem;margin-top:.6rem")
                    )
                with layout.card("narrow"):
                    layout.heading("Estimated accuracy")
                    self.growth = layout.html("", "").style("min-height:9rem")
                    self.note = layout.html("", "soft small").style("min-height:4.2rem")
                with layout.card():
                    layout.heading("Use the labels")
                    with layout.row():
                        layout.button("CSV", lambda: self._export("csv"), quiet=True)
                        layout.button("JSON lines", lambda: self._export("jsonl"), quiet=True)
                        layout.button("Train on them", self._train, quiet=True)
        ui.timer(0.25, self.refresh)
        self.refresh()

    def _row(self) -> int:
        return -1 if self.session.current is None else self.session.current.row

    def _key(self, event: Any) -> None:
        key, at = event.args["key"], int(event.args["row"])
        if key == "s":
            self._answer(at, None)
        elif key == "u":
            self._undo()
        elif key == "y" and at == self._row():
            self._accept()
        elif key in self.keys:
            self._answer(at, self.keys[key])

    def _answer(self, at: int, label: str | None) -> None:
        self.session.answer(at, label)
        self.refresh()

    def _accept(self) -> None:
        guess = self.session.guess()
        if guess is None:
            ui.notify("The model has no answer yet.")
        else:
            self._answer(self._row(), guess[0])

    def _skip(self) -> None:
        self._answer(self._row(), None)

    def _undo(self) -> None:
        if self.session.undo() is None:
            ui.notify("There is no label to undo.")
        self.refresh()

    def _export(self, form: str) -> None:
        path = self.studio.folder / f"labels.{form}"
        try:
            n = self.studio.export(path)
        except LinnetError as error:
            ui.notify(str(error), type="negative")
            return
        ui.download.file(path)
        ui.notify(f"wrote {path} with {count(n, 'label')} of yours")

    async def _train(self) -> None:
        if await layout.attempt(self.studio.take_answers):
            ui.navigate.to("/train")

    def refresh(self) -> None:
        """Show the current text and the progress, where anything changed."""
        session = self.session
        if self.seen == session.version:
            return
        self.seen = session.version
        pick, guess = session.current, session.guess()
        if pick is None:
            self.say.set_content('<span class="soft">No texts left.</span>')
            self.why.set_content("")
            self.say.props(remove="data-row data-keys")
        else:
            predicted = "" if guess is None else f"model: {safe(guess[0])} {100 * guess[1]:.0f} %"
            self.why.set_content(f"<span>{WHY.get(pick.why, safe(pick.why))}</span><span>{predicted}</span>")
            self.say.set_content(safe(session.texts[pick.row]))
            self.say.props(f'data-row={pick.row} data-keys="{"".join(self.keys)}suy"')
        skipped = f", {len(session.skipped):,} skipped" if session.skipped else ""
        share = max(0.005, session.done / max(1, len(session.texts)))
        self.figures.set_content(
            f'<div class="stat"><b id="answered">{session.done:,}</b><span>of {len(session.texts):,} texts labelled{skipped}'
            f'</span></div><div style="margin-top:.5rem">{bar(share, "thin")}</div>'
        )
        advice = session.advice()
        badge = (
            '<span class="badge ok">you can stop</span>' if advice.stop else '<span class="badge note">continue</span>'
        )
        self.advice.set_content(f"{badge} {safe(advice.words)}")
        self.growth.set_content(estimate_chart(session.growth))
        self.note.set_content(_estimate(session))


def _estimate(session: Labelling) -> str:
    found = session.estimate
    if found is None or found.n < LEAST_DRAWN:
        n = 0 if found is None else found.n
        return f"Some texts are drawn at random; {LEAST_DRAWN} of them ({n} so far) give an estimate."
    low, high = found.interval
    return (
        f"<b>{100 * found.accuracy:.0f} %</b> (95 % interval {100 * low:.0f} to {100 * high:.0f} %), cross-validated on the "
        f"{found.n} texts drawn at random."
    )
