"""Label: one text after the other, by keyboard, the most useful first."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from linnet.errors import LinnetError
from linnet.report.markup import count, safe
from linnet.studio import drawing
from linnet.studio.labelling import LEAST_DRAWN, Labelling
from linnet.studio.pages.opening import opener
from linnet.studio.state import Studio
from linnet.studio.theme import attempt, button, card, empty, frame, heading, html

__all__ = ["KEYS", "build"]

LEAD = "The texts that teach the model most come first. Every answer is on the disk before the next text is shown."
KEYS = "123456789abcdefghijklmnopqrtvwxyz"  # without s (skip) and u (take back)
WHY = {
    "new": "unlike the texts so far",
    "unsure": "the model is unsure",
    "random": "drawn at random, to measure the accuracy",
}
SCRIPT = """
<script>
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const ask = document.querySelector("[data-row]");
  const key = event.key.toLowerCase();
  if (!ask || key.length !== 1 || !ask.dataset.keys.includes(key)) return;
  event.preventDefault();
  emitEvent("label_key", { key: key, row: Number(ask.dataset.row) });
});
</script>
"""


def build(studio: Studio) -> None:
    """Draw the page."""
    with frame(studio, "/label", "Label", LEAD):
        if studio.data is None:
            with empty("No texts to label", "Open a file of texts without labels (labels in it are not shown)."):
                opener(studio, "/label", name="Path of a file of texts")
            return
        if studio.labelling is None or studio.labelling.task != studio.task:
            _begin(studio)
        else:
            Asking(studio, studio.labelling)


def _begin(studio: Studio) -> None:
    data = studio.data
    assert data is not None  # noqa: S101 - build asks
    names = studio.answers.names(studio.task) or data.labels
    kept = len([a for a in studio.answers.of(studio.task) if a.why != "fix" and a.label is not None])
    again = f" {count(kept, 'answer')} from before will be taken up." if kept else ""
    shown = " Its own labels are not shown while you answer." if data.label is not None else ""
    with empty(
        f"Label {len(data):,} texts",
        f"Name the labels to choose from, at least two, with commas between them.{shown}{again}",
    ):
        field = ui.input(label="Labels", value=", ".join(names), placeholder="positive, negative").props(
            "outlined dense autofocus spellcheck=false"
        ).classes("grow")  # fmt: skip

        async def begin() -> None:
            do.props("loading")
            if await attempt(studio.label_texts, (field.value or "").split(",")):
                ui.navigate.to("/label")
            else:
                do.props(remove="loading")

        field.on("keydown.enter", begin)
        do = button("Begin", begin)
        button("Open other texts", lambda: ui.navigate.to("/data"), quiet=True)


class Asking:
    """The page while it is open: one text, the keys, and how far it has got."""

    def __init__(self, studio: Studio, session: Labelling) -> None:
        self.studio, self.session = studio, session
        self.keys = dict(zip(KEYS, session.labels, strict=False))
        self.seen = -1
        ui.add_body_html(SCRIPT)
        ui.on("label_key", self._key)
        with ui.element("div").classes("side"):
            with card("ask"):
                self.why = html("", "row between small soft").style("min-height:1.6rem")
                self.say = html("", "say").props("id=say aria-live=polite tabindex=-1")
                with ui.element("div").classes("choices"):
                    for k, label in enumerate(session.labels):  # more labels than keys: the rest by Tab and Enter
                        key = f"<kbd>{KEYS[k].upper()}</kbd>" if k < len(KEYS) else ""
                        made = html(f"{key}{safe(label)}", "choice", "button").props("type=button")
                        made.on("click", lambda label=label: self._answer(self._row(), label))
                    for key, word, act in (("S", "skip", self._skip), ("U", "take back", self._back)):
                        html(f"<kbd>{key}</kbd>{word}", "choice quiet", "button").props("type=button").on("click", act)
            with ui.element("div").classes("stack"):
                with card():
                    self.figures = html().props("id=figures")
                    self.advice = html("", "small").props("id=advice").style("min-height:4.6rem;margin-top:.6rem")
                with card("narrow"):
                    heading("Estimated accuracy")
                    self.growth = html("", "").style("min-height:9rem")
                    self.note = html("", "soft small").style("min-height:4.2rem")
                with card():
                    heading("Take the answers with you")
                    with ui.element("div").classes("row"):
                        button("CSV", lambda: self._export("csv"), quiet=True)
                        button("JSON lines", lambda: self._export("jsonl"), quiet=True)
                        button("Train on them", self._train, quiet=True)
        ui.timer(0.25, self.refresh)
        self.refresh()

    def _row(self) -> int:
        return -1 if self.session.current is None else self.session.current.row

    def _key(self, event: Any) -> None:
        key, row = event.args["key"], int(event.args["row"])
        if key == "s":
            self._answer(row, None)
        elif key == "u":
            self._back()
        elif key in self.keys:
            self._answer(row, self.keys[key])

    def _answer(self, row: int, label: str | None) -> None:
        self.session.answer(row, label)
        self.refresh()

    def _skip(self) -> None:
        self._answer(self._row(), None)

    def _back(self) -> None:
        if self.session.take_back() is None:
            ui.notify("There is no answer to take back.")
        self.refresh()

    def _export(self, form: str) -> None:
        path = self.studio.folder / f"labels.{form}"
        try:
            n = self.studio.answers.export(self.session.task, path)
        except LinnetError as error:
            ui.notify(str(error), type="negative")
            return
        ui.download.file(path)
        ui.notify(f"{count(n, 'answer')} in {path}")

    async def _train(self) -> None:
        if await attempt(self.studio.take_answers):
            ui.navigate.to("/train")

    def refresh(self) -> None:
        """Show the current text and how far it has got, where anything changed."""
        session = self.session
        if self.seen == session.version:
            return
        self.seen = session.version
        pick, guess = session.current, session.guess()
        if pick is None:
            self.say.set_content('<span class="soft">No text is left.</span>')
            self.why.set_content("")
            self.say.props(remove="data-row data-keys")
        else:
            thinks = "" if guess is None else f"model: {safe(guess[0])} {100 * guess[1]:.0f} %"
            self.why.set_content(f"<span>{WHY.get(pick.why, safe(pick.why))}</span><span>{thinks}</span>")
            self.say.set_content(safe(session.texts[pick.row]))
            self.say.props(f'data-row={pick.row} data-keys="{"".join(self.keys)}su"')
        self._figures(session)

    def _figures(self, session: Labelling) -> None:
        share = session.done / max(1, len(session.texts))
        self.figures.set_content(
            f'<div class="stat"><b id="answered">{session.done:,}</b><span>of {len(session.texts):,} texts labelled'
            f"{f', {len(session.skipped):,} skipped' if session.skipped else ''}</span></div>"
            f'<span class="track thin" style="margin-top:.5rem"><span class="bar" style="width:{max(0.5, 100 * share):.1f}%"></span></span>'
        )
        advice = session.advice()
        badge = (
            f'<span class="badge {"ok" if advice.stop else "note"}">{"you can stop" if advice.stop else "go on"}</span>'
        )
        self.advice.set_content(f"{badge} {safe(advice.words)}")
        found = session.estimate
        self.growth.set_content(drawing.learning(session.growth))
        if found is None or found.n < LEAST_DRAWN:
            n = 0 if found is None else found.n
            self.note.set_content(
                f"Every few texts one is drawn at random; after {LEAST_DRAWN} of them ({n} so far) they give an estimate."
            )
        else:
            low, high = found.interval
            self.note.set_content(
                f"<b>{100 * found.accuracy:.0f} %</b>, probably {100 * low:.0f} to {100 * high:.0f} %: judged on the {found.n} texts "
                "drawn at random, by models that were not told their labels."
            )
