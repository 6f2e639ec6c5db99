"""Errors: what is taken for what, the texts behind each cell, and labels fixed where they are wrong."""

from __future__ import annotations

from typing import Any

from nicegui import run, ui

from linnet.errors import LinnetError
from linnet.report.markup import count, safe
from linnet.studio.mistakes import Mistakes
from linnet.studio.state import PARTS, Studio
from linnet.studio.theme import attempt, button, card, empty, frame, heading, html
from linnet.studio.trying import contrast

__all__ = ["build"]

LEAD = "Press a cell to read the texts behind it. Where the words look right and the label does not, fix the label."
SHOWN = 10
KINDS = {"dev": "dev rows", "train": "training rows", "test": "test rows: look once, at the end"}


def build(studio: Studio) -> None:
    """Draw the page."""
    with frame(studio, "/errors", "Errors", LEAD):
        if studio.data is None or studio.data.label is None:
            with empty(
                "Nothing to compare with", "Errors are where a model and the labels differ: open labelled data first."
            ):
                button("Open data", lambda: ui.navigate.to("/data"))
        elif not studio.models():
            with empty("No model yet", "Train one on this data; its errors on the dev rows are shown here."):
                button("Train a model", lambda: ui.navigate.to("/train"))
        else:
            Errors(studio)


class Errors:
    """The page while it is open."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        names = studio.models()
        self.model, self.part = studio.best() or next(iter(names)), "dev"
        self.cell: tuple[int, int] | None = None
        self.word, self.least, self.most, self.first = "", 0.0, 1.0, 0
        self.found: Mistakes | None = None
        self.buttons: dict[tuple[int, int], Any] = {}
        with card(), ui.element("div").classes("row"):
            ui.select(names, value=self.model, label="Model", on_change=self._model).props("outlined dense").classes(
                "grow"
            )
            ui.select({p: KINDS[p] for p in PARTS}, value="dev", label="Rows", on_change=self._part).props(
                "outlined dense"
            ).classes("grow")
        with ui.element("div").classes("side table"):
            with card():
                heading("Truth by answer")
                self.table = ui.element("div").classes("wide").props("id=matrix").style("min-height:9rem")
                self.note = html("", "soft small").style("margin-top:.6rem")
            with card():
                with ui.element("div").classes("row between"):
                    self.title = html("", "", "h2").props("id=cell-title aria-live=polite")
                    self.all = button("All errors", self._all, quiet=True).props("dense")
                with ui.element("div").classes("row"):
                    ui.input(label="Texts that hold the word", on_change=self._word).props(
                        "outlined dense clearable spellcheck=false debounce=150"
                    ).classes("grow")
                    with ui.element("div").classes("grow"):
                        self.sure = html("confidence 0 to 100 %", "soft small")
                        ui.range(min=0, max=100, value={"min": 0, "max": 100}, on_change=self._sure).props(
                            'dense aria-label="confidence"'
                        )
                self.list = ui.element("div").props("id=texts").style("min-height:24rem;margin-top:.6rem")
        ui.timer(0, self.load, once=True)

    async def load(self) -> None:
        """Ask the model about the rows, then draw."""
        self.note.set_content('<span class="wait">asking the model …</span>')
        try:
            self.found = await run.io_bound(self.studio.mistakes, self.model, self.part)
        except LinnetError as error:
            self.note.set_content(safe(error))
            return
        self._matrix()
        self.show()

    async def _model(self, event: Any) -> None:
        self.model, self.cell, self.first = event.value, None, 0
        await self.load()

    async def _part(self, event: Any) -> None:
        self.part, self.cell, self.first = event.value, None, 0
        await self.load()

    def _word(self, event: Any) -> None:
        self.word, self.first = event.value or "", 0
        self.show()

    def _sure(self, event: Any) -> None:
        self.least, self.most, self.first = event.value["min"] / 100, event.value["max"] / 100, 0
        self.sure.set_content(f"confidence {event.value['min']} to {event.value['max']} %")
        self.show()

    def _all(self) -> None:
        self.cell, self.first = None, 0
        self.show()

    def _matrix(self) -> None:
        found = self.found
        if found is None:
            return
        chosen = found.classes()
        self.table.clear()
        self.buttons = {}
        with self.table, ui.element("table").classes("matrix"):
            with ui.element("thead"), ui.element("tr"):
                html('<span class="small">truth</span>', "", "th")
                for k in chosen:
                    html(safe(found.names[k]), "", "th").props(f'scope=col title="{safe(found.names[k])}"')
            with ui.element("tbody"):
                for t in chosen:
                    with ui.element("tr"):
                        html(safe(found.names[t]), "", "th").props(f'scope=row title="{safe(found.names[t])}"')
                        for a in chosen:
                            with ui.element("td"):
                                self._cell(found, t, a)
        n = len(found.truth)
        of = (
            ""
            if len(chosen) == len(found.names)
            else f" The {len(chosen)} classes with the most errors of {len(found.names):,}."
        )
        self.note.set_content(
            f"{count(found.wrong, 'error')} in {n:,} rows: {100 * (1 - found.wrong / max(1, n)):.1f} % right. Rows are the "
            f"truth, columns the answer.{of}"
        )

    def _cell(self, found: Mistakes, t: int, a: int) -> None:
        n = int(found.table[t, a])
        share = n / max(1, int(found.table[t].sum()))
        made = html(f"{n:,}", f"cell {'right' if t == a else 'wrong'}", "button").style(f"--share:{share:.3f}")
        made.props(
            f'type=button aria-label="{n:,} of {safe(found.names[t])} answered {safe(found.names[a])}" data-cell="{t},{a}"'
        )
        if not n:
            made.props("disabled")
        made.on("click", lambda: self._open(t, a))
        self.buttons[t, a] = made

    def _open(self, t: int, a: int) -> None:
        self.cell, self.first = (t, a), 0
        self.show()

    def show(self) -> None:
        """List the texts of the cell, or of all errors."""
        found = self.found
        if found is None:
            return
        for at, made in self.buttons.items():
            made.props(f"aria-pressed={'true' if at == self.cell else 'false'}")
        t, a = self.cell or (None, None)
        rows = found.rows(t, a, word=self.word, least=self.least, most=self.most)
        what = "All errors" if t is None or a is None else f"{found.names[t]} answered {found.names[a]}"
        self.title.set_content(f"{safe(what)}: {len(rows):,}")
        self.list.clear()
        with self.list:
            if not len(rows):
                html('<p class="soft">No text fits. Widen the filter, or press another cell.</p>')
                return
            for row in rows[self.first : self.first + SHOWN].tolist():
                self._text(found, row)
            if len(rows) > SHOWN:
                with ui.element("div").classes("row between").style("margin-top:.6rem"):
                    html(f"{self.first + 1:,} to {min(len(rows), self.first + SHOWN):,} of {len(rows):,}", "soft small")
                    with ui.element("div").classes("row"):
                        back = button("Back", lambda: self._turn(-SHOWN), quiet=True)
                        back.set_enabled(self.first > 0)
                        more = button("More", lambda: self._turn(SHOWN), quiet=True)
                        more.set_enabled(self.first + SHOWN < len(rows))

    def _turn(self, step: int) -> None:
        self.first = max(0, self.first + step)
        self.show()

    def _text(self, found: Mistakes, row: int) -> None:
        truth, answer = found.names[int(found.truth[row])], found.names[int(found.answer[row])]
        classes = list(found.clf.artefact.classes)
        text = str(found.data.text[row].as_py())
        marked = contrast(found.clf, text, classes[int(found.answer[row])], truth)
        at = int(self.studio.rows(self.part)[row])
        labels = [] if self.studio.data is None else self.studio.data.labels
        with ui.element("div").classes("textrow"):
            with ui.element("div").classes("row between"):
                said = html(
                    f'<span class="small">labelled <b>{safe(truth)}</b>, answered <b>{safe(answer)}</b> '
                    f'<span class="soft">{100 * found.confidence[row]:.0f} % sure</span></span>'
                )

                async def fix(event: Any) -> None:
                    if event.value and event.value != truth and await attempt(self.studio.fix, at, event.value):
                        said.set_content(f'<span class="badge ok">fixed</span> now labelled <b>{safe(event.value)}</b>')

                choose = ui.select(labels, value=truth, label="Label", on_change=fix).props(
                    "outlined dense options-dense"
                )
                choose.style("width:11rem")
            html(marked, "marked").style("margin-top:.3rem")
