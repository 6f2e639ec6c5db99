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
from linnet.studio.state import Studio

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
    """Draw the body of the page."""
    if not studio.labelled:
        words = "Errors are rows whose label a model does not predict. Open labelled data first."
        with layout.empty("No labelled data open", words):
            layout.link("Open data", "/data")
    elif not studio.models():
        going = studio.runs.going
        words = "Train one on this data; its errors on the dev rows are shown here."
        with layout.empty("No model yet", f"{going.name} is training: its errors appear here." if going else words):
            layout.link("Train a model", "/train")
        ui.timer(0.5, lambda: ui.navigate.reload() if studio.models() else None)
    elif studio.opened.separator is not None:
        _set_errors(studio)
    else:
        ErrorsPage(studio)


class ModelAndRows:
    """The choice of a model and of rows at the head of a page; load is called when it changes."""

    def __init__(self, studio: Studio, load: Callable[[], Awaitable[None]]) -> None:
        self.part, self.load = "dev", load
        self.model = layout.asked_model(studio)
        with layout.card(), layout.row():
            layout.select("Model", studio.models(), self.model, lambda event: self._choose(model=event.value))
            layout.select("Rows", KINDS, "dev", lambda event: self._choose(part=event.value))
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


def _set_errors(studio: Studio) -> None:
    """Draw the page for rows with several labels: those whose labels are not all right, the worst first."""

    async def load() -> None:
        found = await asked.predicted(studio.wrong_sets, note)
        if found is not None:
            says = "Rows have several labels: there is no confusion matrix, and labels are fixed in the file."
            note.set_content(says)
            place.set_content(found)

    asked = ModelAndRows(studio, load)
    with layout.card():
        note = layout.html("", "soft small")
        place = layout.html().props("id=texts").style("min-height:24rem;margin-top:.6rem")


class ErrorsPage:
    """The page while it is open."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.asked = studio, ModelAndRows(studio, self.load)
        self.cell: tuple[int, int] | None = None
        self.found: Predictions | None = None
        with layout.columns("side table"):
            with layout.card(title="Confusion matrix"):
                self.table = layout.html().props("id=matrix").style("min-height:9rem")
                self.table.on("click", self._open, js_handler=CELL)
                self.note = layout.html("", "soft small").style("margin-top:.6rem")
            with layout.card():
                with layout.row("between"):
                    self.title = layout.html("", "", "h2").props("id=cell-title aria-live=polite")
                    layout.button("All errors", lambda: self.show(None), quiet=True).props("dense")
                with layout.row():
                    self.word = layout.field("Texts that contain the word", on_change=lambda: self.show(self.cell))
                    self.word.props("clearable debounce=150")
                    self.sure = layout.select("Confidence", list(SURE), next(iter(SURE)), lambda: self.show(self.cell))
                none = "No text matches. Change the filter, or select another cell."
                self.list = layout.PagedList(self._rows, self._text, SHOWN, none)
                self.list.place.props("id=texts").style("min-height:24rem;margin-top:.6rem")

    async def load(self) -> None:
        """Predict the rows, then draw."""
        found: Predictions | None = await self.asked.predicted(self.studio.predictions, self.note)
        if found is None:
            self.cell = None
            return
        self.found = found
        chosen, some = found.worst_classes(CLASSES), ""
        drawn = matrix(found.names, found.table, chosen)
        if len(chosen) < len(found.names):
            drawn = f"{_pairs(found)}<details><summary>as a matrix</summary>{drawn}</details>"
            some = f" The {len(chosen)} classes with the most errors of {len(found.names):,}."
        self.table.set_content(drawn)
        self.note.set_content(
            f"{count(int((~found.right).sum()), 'error')} in {found.n:,} rows, accuracy {100 * found.result.accuracy:.1f} %. Rows "
            f"are true labels, columns predicted labels.{some}"
        )
        self.show(None)

    def _open(self, event: Any) -> None:
        truth, predicted = map(int, str(event.args).split(","))
        self.show((truth, predicted))

    def _rows(self) -> Any:
        least, most = SURE[self.sure.value]
        found, cell = self.found, self.cell or (None, None)
        return [] if found is None else found.rows(*cell, word=self.word.value or "", least=least, most=most)

    def show(self, cell: tuple[int, int] | None) -> None:
        """List the texts of a cell, or all errors."""
        self.cell = cell
        if self.found is None:
            return
        place, what = "", "All errors"
        if cell is not None:
            (t, p), names = cell, self.found.names
            place, what = f"{t},{p}", f"{names[t]} predicted {names[p]}"
        ui.run_javascript(PRESS.replace("{}", place))
        self.title.set_content(f"{safe(what)}: {len(self._rows()):,}")
        self.list.show()

    def _text(self, row: Any) -> None:
        one, found = int(row), self.found
        assert found is not None  # noqa: S101 - its row is shown
        truth, predicted = found.names[found.result.truth[one]], found.names[found.result.predicted[one]]
        at = int(self.studio.rows(self.asked.part)[one])
        words = (
            f"row {self.studio.source_row(at):,}, labelled <b>{safe(truth)}</b>, predicted <b>{safe(predicted)}</b> "
            f'<span class="soft">confidence {100 * found.confidence[one]:.0f} %</span>'
        )
        labels, body = self.studio.opened.labels, found.marked_text(one, CHARACTERS)
        with layout.label_row(words, body, labels, truth, lambda label: self.studio.fix(at, label)):
            evidence(self.studio, lambda: (self.asked.model, found.text(one)))


def evidence(studio: Studio, asked: Callable[[], tuple[str, str]]) -> None:
    """Draw a button that shows what would change a prediction, and the training rows most like the text."""

    async def show() -> None:
        place.set_content(await layout.attempt(studio.evidence, *asked()) or "")

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
