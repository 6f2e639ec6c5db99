"""Data: check the data before training. Class balance, word counts, duplicates, labels that may be wrong."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from nicegui import ui

from linnet.checks.checked_data import LEVELS
from linnet.checks.run_checks import MARKS, finding_html
from linnet.draw.charts import histogram
from linnet.draw.markup import count_bars, paragraphs, safe
from linnet.draw.terminal import count, cut
from linnet.studio import layout
from linnet.studio.state import BUILT_IN, NO_LABELS, TICKETS, DataHealth, Studio

# ---- A place to open data: by path, by dropping a file, or built-in data.


def open_data(studio: Studio, after: str, *, name: str = "Path of a CSV, TSV, JSON lines or Parquet file") -> None:
    """Draw the place; `after` is the page to show when the data is there."""

    async def load(path: str) -> None:
        await layout.go(after, studio.open, path)

    with layout.row().style("width:100%"):
        path = layout.field(name, lambda: load(path.value))
        layout.button("Open", lambda: load(path.value))
        layout.button("Use the built-in tickets", lambda: load(TICKETS), quiet=True)
        layout.button("Use the built-in reviews", lambda: load(BUILT_IN), quiet=True)
    layout.upload("or drop a file here", studio, load)


LEAD = "Check the data before you train: what makes scores too high, or a model worse than it could be."
SUSPECTS = 6


def build(studio: Studio) -> None:
    """Draw the body of the page."""
    if studio.data is None or studio.health is None:
        with layout.empty("No data open", "Open labelled texts to check them and to train on them, or texts without labels to label "
                   "them. Nothing leaves this machine."):  # fmt: skip
            open_data(studio, "/data")
    else:
        DataPage(studio, studio.health)


class DataPage:
    """The page while it is open; it is drawn again as the checks come in."""

    def __init__(self, studio: Studio, health: DataHealth) -> None:
        self.studio, self.health = studio, health
        self.version, self.listed = -1, False
        data, labelled = health.data, health.data.label is not None
        with layout.card():
            with layout.row("between").style("margin-bottom:.7rem"):
                layout.html(f"<h2 style='margin:0'>{safe(Path(data.source).name)}</h2>")
                with layout.row():
                    layout.button("Check again", lambda: layout.go("/data", studio.take, studio.opened), quiet=True)
                    layout.link("Train a model", "/train") if labelled else layout.link("Label these texts", "/label")
            self._columns()
            self.figures = layout.html()
            self.verdict = layout.html("", "verdict").props("id=verdict aria-live=polite")
            self.verdict.style("min-height:2rem;margin-top:.8rem")
        with layout.columns():
            with layout.card(title="Class balance" if labelled else "No labels"):
                none = layout.soft("These texts have no labels. The Label page asks for the most useful ones first.")
                layout.html(count_bars(data.counts) if labelled else none)
                sizes = pc.utf8_length(data.text).to_numpy()
                lengths = histogram(sizes, "characters", "Lengths of texts in characters", height=150)
                layout.html(f"<h3>Length of texts</h3>{lengths}").props("id=lengths")
            with layout.card(title="Words by rank: Zipf's law"):
                self.law = layout.html("", "reserve").props("id=zipf")
        with layout.card(title="Findings"):
            self.findings = layout.html("", "findings", "ul").props("id=findings").style("min-height:20rem")
            leave_out = layout.button("Leave the repeats out", lambda: self._leave_out("duplicates"), quiet=True)
            self.drop = leave_out.props("id=repeats").style("margin-top:.6rem")
        with layout.card(title="Labels that may be wrong"):
            self.suspects = ui.element("div").classes("reserve").props("id=suspects")
        with layout.columns():
            with layout.card(title="Compare with another file"):
                layout.html(layout.soft("What is different in new texts: labels, words, shared texts, predictions."))
                with layout.row():
                    path = layout.field("Path of the other file", lambda: self._beside(path.value or ""))
                    layout.button("Compare", lambda: self._beside(path.value or ""), quiet=True)
                layout.upload("or drop it here", studio, self._beside)
                self.other = layout.html().props("id=beside aria-live=polite")
            with layout.card(title="Other data"):
                open_data(studio, "/data")
        self.timer = ui.timer(0.25, self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Draw what has changed."""
        health = self.health
        if self.version == health.version:
            return
        self.version = health.version
        self.figures.set_content(_figures(health))
        self.verdict.set_content(_verdict(health))
        self.law.set_content(_law(health))
        waiting = "".join(f'<li><span></span><div class="wait">{safe(name)}</div></li>' for name in health.pending)
        self.findings.set_content("".join(map(finding_html, health.checkup.ranked())) + waiting)
        repeats = health.findings.get("duplicates")
        self.drop.set_visibility(repeats is not None and bool(repeats.examples))
        if not self.listed:
            self._suspects()
        if not health.pending:
            self.timer.deactivate()

    def _columns(self) -> None:
        """Show which columns are text and label, and let them be changed."""
        names, data = self.studio.columns(), self.health.data
        if len(names) < 2:
            return

        async def chosen() -> None:
            await layout.go("/data", self.studio.open, data.source, text.value, label.value)

        with layout.row().style("margin-bottom:.8rem"):
            text = layout.select("Text column", names, data.text_column, chosen)
            label = layout.select("Label column", [*names, NO_LABELS], data.label_column or NO_LABELS, chosen)

    def _leave_out(self, check: str) -> Awaitable[None]:
        return layout.go("/data", self.studio.leave_out, check)

    async def _beside(self, path: str) -> None:
        """Show what is different in another file."""
        self.other.set_content('<p class="wait">comparing …</p>')
        found = await layout.attempt(self.studio.beside, path)
        if not found:
            self.other.set_content("")
            return
        findings, lines = found
        items = "".join(map(finding_html, sorted(findings, key=lambda one: -LEVELS.index(one.level))))
        name, said = safe(Path(path).name), paragraphs(map(safe, lines))
        self.other.set_content(f'<h3>{name}</h3><ul class="findings">{items}</ul>{said}')

    def _suspects(self) -> None:
        self.listed = "label-errors" not in self.health.pending
        self.suspects.clear()
        with self.suspects:
            if self.health.data.label is None:
                layout.html(layout.soft("There are no labels to check yet."))
            elif not self.listed:
                layout.html('<p class="wait">cross-validating a model …</p>')
            else:
                said, done = self.health.findings.get("label-errors"), self.studio.judged()
                if not self._left():
                    says = "All of them are read" if done else "no suspected errors" if said is None else said.says
                    layout.html(layout.soft(f"{says}."))
                    return
                note = "A model that was not trained on these rows predicts another label. Your file is not changed."
                layout.html(layout.soft(note))
                layout.button("Set all aside", lambda: self._leave_out("label-errors"), quiet=True).props("dense")
                layout.PagedList(self._left, self._suspect, SUSPECTS, "All of them are read.").show()

    def _left(self) -> list[dict[str, Any]]:
        done = self.studio.judged()
        return [one for one in self.health.suspects() if self.studio.text(one["at"]) not in done]

    def _suspect(self, one: dict[str, Any]) -> None:
        at, label = one["at"], self.studio.label(one["at"])
        with ui.element("div").classes("textrow"):
            because = [word for word in one["words"] if any(c.isalnum() for c in word)][:4]
            words = f' <span class="soft small">because of {safe(", ".join(because))}</span>' if because else ""
            layout.html(f"{safe(cut(self.studio.text(at), 300))}{words}")
            with layout.row().style("margin-top:.35rem") as made:
                row = self.health.material.source_rows[at]
                layout.html(f'<span class="small">labelled <b>{safe(label)}</b>, row {row:,}</span>')

                async def judge(chosen: str) -> None:
                    if await layout.attempt(self.studio.fix, at, chosen):
                        made.clear()
                        word = "confirmed" if chosen == label else "fixed"
                        with made:
                            layout.html(f'<span class="badge ok">{word}</span> labelled <b>{safe(chosen)}</b>')

                layout.button(f"Make it {one['suggested']}", lambda: judge(one["suggested"]), quiet=True).props("dense")
                layout.button(f"Keep {label}", lambda: judge(label), quiet=True).props("dense")


def _figures(health: DataHealth) -> str:
    data = health.data
    figures = {
        "texts": f"{len(data):,}",
        "classes": f"{len(data.labels):,}" if data.labels else "none",
        "different words": f"{health.words:,}" if health.words else "…",
        "words a text": f"{health.tokens / max(1, len(data)):,.0f}" if health.tokens else "…",
        "of text": f"{sum(chunk.nbytes for chunk in data.text.chunks) / 1e6:,.1f} MB",
        "unusable rows": f"{len(data.unusable):,}",
    }
    cells = "".join(f"<div class=stat><b>{safe(n)}</b><span>{what}</span></div>" for what, n in figures.items())
    return f'<div class="stats">{cells}</div>'


def _verdict(health: DataHealth) -> str:
    checkup = health.checkup
    if len(health.findings) < 3:
        return '<span class="wait">checking …</span>'
    rest = f' <span class="wait small">{count(len(health.pending), "check")} left</span>' if health.pending else ""
    badge = f'<span class="badge {checkup.level}">{MARKS[checkup.level]}</span>'
    return f"{badge} <span>{safe(checkup.words)}</span>{rest}"


def _law(health: DataHealth) -> str:
    if health.law is None:
        return layout.soft("Too few words to fit the law.") if health.words else '<p class="wait">counting words …</p>'
    note = f"Fitted exponent: {health.law.exponent:.2f}. It is near 1 for most texts; far from 1, look for boilerplate or noise."
    return f'{health.law.to_svg(file=False)}<p class="soft small">{note}</p>'
