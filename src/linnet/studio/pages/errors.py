"""Errors: the confusion matrix, the texts behind each cell, and a way to fix wrong labels."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import run, ui

from linnet.draw.markup import matrix, safe, table
from linnet.draw.terminal import count
from linnet.errors import LinnetError
from linnet.report.inputs import Predictions
from linnet.studio import layout
from linnet.studio.state import PARTS, Studio

LEAD = "Select a cell to read its texts. If a prediction looks right and the label does not, fix the label."
CLASSES = 12  # of the matrix
SURE = {"any": (0.0, 1.0), "90 % or more": (0.9, 1.0), "50 to 90 %": (0.5, 0.9), "below 50 %": (0.0, 0.5)}
PAIRS = 20  # of more classes than the matrix has
SHOWN = 10
CHARACTERS = 700  # of a text
KINDS = {"dev": "dev rows", "train": "training rows", "test": "test rows: use them once, at the end"}
CELL = "(event) => { const cell = event.target.closest('[data-cell]'); if (cell) emit(cell.dataset.cell); }"
PRESS = (
    "document.querySelectorAll('#matrix .cell').forEach(c => c.setAttribute('aria-pressed', c.dataset.cell === '{}'))"
)


def build(studio: Studio) -> None:
    """Draw the page."""
    with layout.frame(studio, "/errors", "Errors", LEAD):
        if studio.data is None or studio.data.label is None:
            with layout.empty(
                "No labelled data open",
                "Errors are rows whose label a model does not predict. Open labelled data first.",
            ):
                layout.link("Open data", "/data")
        elif studio.data.separator is not None and studio.models():
            SetErrorsPage(studio)
        elif not studio.models():
            going = studio.runs.going
            words = "Train one on this data; its errors on the dev rows are shown here."
            with layout.empty("No model yet", f"{going.name} is training: its errors appear here." if going else words):
                layout.link("Train a model", "/train")
            ui.timer(0.5, lambda: ui.navigate.reload() if studio.models() else None)
        else:
            ErrorsPage(studio)


class ModelAndRows:
    """The choice of a model and of rows at the head of a page; load is called when it changes."""

    def __init__(self, studio: Studio, load: Callable[[], Awaitable[None]]) -> None:
        names, asked = studio.models(), ui.context.client.request.query_params.get("model", "")
        self.part, self.load = "dev", load
        self.model = asked if asked in names else studio.best() or next(iter(names))
        with layout.card(), layout.row():
            layout.select("Model", names, self.model, lambda event: self._choose(model=event.value))
            layout.select("Rows", {p: KINDS[p] for p in PARTS}, "dev", lambda event: self._choose(part=event.value))
        ui.timer(0, load, once=True)

    async def _choose(self, **chosen: str) -> None:
        vars(self).update(chosen)
        await self.load()

    async def predicted(self, predict: Callable[[str, str], Any], note: Any) -> Any:
        """Return what predict gives for the model and the rows; None where it is refused, or the program ends."""
        note.set_content('<span class="wait">predicting …</span>')
        try:
            return await run.io_bound(predict, self.model, self.part)
        except LinnetError as error:
            note.set_content(safe(error))
            return None


class SetErrorsPage:
    """The page for rows with several labels: those whose labels are not all right, the worst first."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.asked = studio, ModelAndRows(studio, self.load)
        with layout.card():
            self.note = layout.html("", "soft small")
            self.list = layout.html().props("id=texts").style("min-height:24rem;margin-top:.6rem")

    async def load(self) -> None:
        """Predict the rows, then list those that are not all right."""
        found = await self.asked.predicted(self.studio.wrong_sets, self.note)
        if found is not None:
            self.note.set_content(
                "Rows have several labels: there is no confusion matrix, and labels are fixed in the file."
            )
            self.list.set_content(found)


class ErrorsPage:
    """The page while it is open."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.asked = studio, ModelAndRows(studio, self.load)
        self.cell: tuple[int, int] | None = None
        self.word, self.least, self.most, self.first = "", 0.0, 1.0, 0
        self.found: Predictions | None = None
        with layout.columns("side table"):
            with layout.card():
                layout.heading("Confusion matrix")
                self.table = (
                    layout.html().props("id=matrix").style("min-height:9rem").on("click", self._open, js_handler=CELL)
                )
                self.note = layout.html("", "soft small").style("margin-top:.6rem")
            with layout.card():
                with layout.row("between"):
                    self.title = layout.html("", "", "h2").props("id=cell-title aria-live=polite")
                    layout.button("All errors", self._all, quiet=True).props("dense")
                with layout.row():
                    layout.field("Texts that contain the word", on_change=self._word).props("clearable debounce=150")
                    layout.select("Confidence", list(SURE), next(iter(SURE)), self._sure)
                self.list = ui.element("div").props("id=texts").style("min-height:24rem;margin-top:.6rem")

    async def load(self) -> None:
        """Predict the rows, then draw."""
        self.cell, self.first = None, 0
        found: Predictions | None = await self.asked.predicted(self.studio.predictions, self.note)
        if found is None:
            return
        self.found = found
        chosen = found.worst_classes(CLASSES)
        drawn = matrix(found.names, found.table, chosen)
        if len(chosen) < len(found.names):
            drawn = f"{_pairs(found)}<details><summary>as a matrix</summary>{drawn}</details>"
        self.table.set_content(drawn)
        some = (
            f" The {len(chosen)} classes with the most errors of {len(found.names):,}."
            if len(chosen) < len(found.names)
            else ""
        )
        self.note.set_content(
            f"{count(int((~found.right).sum()), 'error')} in {found.n:,} rows, accuracy {100 * found.result.accuracy:.1f} %. Rows "
            f"are true labels, columns predicted labels.{some}"
        )
        self.show()

    def _word(self, event: Any) -> None:
        self.word, self.first = event.value or "", 0
        self.show()

    def _sure(self, event: Any) -> None:
        (self.least, self.most), self.first = SURE[event.value], 0
        self.show()

    def _all(self) -> None:
        self.cell, self.first = None, 0
        self.show()

    def _open(self, event: Any) -> None:
        truth, predicted = map(int, str(event.args).split(","))
        self.cell, self.first = (truth, predicted), 0
        self.show()

    def _turn(self, step: int) -> None:
        self.first = max(0, self.first + step)
        self.show()

    def show(self) -> None:
        """List the texts of the cell, or all errors."""
        found = self.found
        if found is None:
            return
        t, p = self.cell or (None, None)
        ui.run_javascript(PRESS.replace("{}", "" if self.cell is None else f"{t},{p}"))
        rows = found.rows(t, p, word=self.word, least=self.least, most=self.most)
        what = "All errors" if t is None or p is None else f"{found.names[t]} predicted {found.names[p]}"
        self.title.set_content(f"{safe(what)}: {len(rows):,}")
        self.list.clear()
        with self.list:
            if not len(rows):
                layout.html(layout.soft("No text matches. Change the filter, or select another cell."))
                return
            for one in rows[self.first : self.first + SHOWN].tolist():
                self._text(found, one)
            layout.paging(self.first, SHOWN, len(rows), self._turn)

    def _text(self, found: Predictions, one: int) -> None:
        truth, predicted = found.names[found.result.truth[one]], found.names[found.result.predicted[one]]
        at = int(self.studio.rows(self.asked.part)[one])
        labels = [] if self.studio.data is None else self.studio.data.labels
        with ui.element("div").classes("textrow"):
            with layout.row("between"):
                said = layout.html(
                    f'<span class="small">row {self.studio.source_row(at):,}, labelled <b>{safe(truth)}</b>, predicted '
                    f'<b>{safe(predicted)}</b> <span class="soft">confidence {100 * found.confidence[one]:.0f} %</span></span>'
                )

                async def fix(event: Any) -> None:
                    if event.value and event.value != truth and await layout.attempt(self.studio.fix, at, event.value):
                        said.set_content(f'<span class="badge ok">fixed</span> now labelled <b>{safe(event.value)}</b>')

                choose = layout.select("Label", labels, truth, fix).props("options-dense").classes(remove="grow")
                choose.style("width:11rem")
            layout.html(found.marked_text(one, CHARACTERS), "marked").style("margin-top:.3rem")
            evidence(self.studio, lambda: (self.asked.model, found.text(one)))


def evidence(studio: Studio, asked: Callable[[], tuple[str, str]]) -> None:
    """Draw a button that shows what would change a prediction, and the training rows most like the text."""

    async def show() -> None:
        found = await layout.attempt(studio.evidence, *asked())
        place.set_content(found or "")

    layout.button("What would change it, and rows like it", show, quiet=True).props("dense").style("margin-top:.4rem")
    place = layout.html("", "evidence")


def _pairs(found: Predictions) -> str:
    """Write the worst confusions as a table; a count opens its texts."""
    rows = [
        [safe(found.names[t]), safe(found.names[p]),
         f'<button type="button" class="plain cell" data-cell="{t},{p}">{n:,}</button>']
        for t, p, n in found.result.error_cells[:PAIRS]
    ]  # fmt: skip
    return table(["true label", "predicted", "rows"], rows)
