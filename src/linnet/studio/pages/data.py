"""Data: is it fit to learn from? Verdict, balance, words, duplicates, labels that may be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nicegui import ui

from linnet.checks.checkup import MARKS, example_lines
from linnet.data import Dataset
from linnet.report.markup import count, safe
from linnet.studio import drawing
from linnet.studio.health import Health
from linnet.studio.pages.opening import opener
from linnet.studio.state import Studio
from linnet.studio.theme import attempt, button, card, empty, frame, heading, html, stats

__all__ = ["build"]

LEAD = "Is it fit to learn from? What would make a score too good, or a model worse than it need be."
MEANING = {"ok": "good", "note": "good, with notes", "warning": "look first", "problem": "mend first"}


def build(studio: Studio) -> None:
    """Draw the page."""
    with frame(studio, "/data", "Data", LEAD):
        if studio.data is None or studio.health is None:
            with empty("No data is open", "Open labelled texts to see how healthy they are, or texts without labels to label them. "
                       "Nothing leaves this machine."):  # fmt: skip
                opener(studio, "/data")
            return
        _open(studio, studio.health)


def _open(studio: Studio, health: Health) -> None:
    data = health.data
    labelled = data.label is not None
    with card():
        with ui.element("div").classes("row between").style("margin-bottom:.7rem"):
            html(f"<h2 style='margin:0'>{safe(Path(data.source).name)}</h2>")
            with ui.element("div").classes("row"):
                button("Check again", lambda: _again(studio), quiet=True)
                if labelled:
                    button("Train a model", lambda: ui.navigate.to("/train"))
                else:
                    button("Label these texts", lambda: ui.navigate.to("/label"))
        head, verdict = html(), html("", "verdict")
        verdict.props("id=verdict aria-live=polite").style("min-height:2rem;margin-top:.8rem")
    with ui.element("div").classes("two"):
        with card():
            heading("Class balance" if labelled else "No labels")
            none = (
                '<p class="soft">These texts have no labels. The Label page asks about the most useful ones first.</p>'
            )
            html(drawing.balance(data.counts) if labelled else none)
            html(f"<h3>Length of texts, in characters</h3>{drawing.lengths(_sizes(data))}").props("id=lengths")
        with card():
            heading("Words by rank: Zipf's law")
            law = html("", "reserve").props("id=zipf")
    with card():
        heading("What was found")
        found = html("", "", "ul").classes("findings").props("id=findings").style("min-height:20rem")
    with ui.element("div").classes("two"):
        with card():
            heading("Texts that occur more than once")
            repeats = html().props("id=repeats")
        with card():
            heading("Labels that may be wrong")
            suspects = ui.element("div").classes("reserve").props("id=suspects")
    with card():
        heading("Other data")
        opener(studio, "/data")
    seen = {"version": -1, "suspects": -1}

    def refresh() -> None:
        if seen["version"] == health.version:
            return
        seen["version"] = health.version
        head.set_content(_head(health))
        verdict.set_content(_verdict(health))
        law.set_content(_law(health))
        found.set_content(_findings(health))
        repeats.set_content(_repeats(health))
        done = int("label-errors" not in health.pending)
        if seen["suspects"] != done:
            seen["suspects"] = done
            _suspects(studio, health, suspects)
        if not health.pending:
            timer.deactivate()

    timer = ui.timer(0.25, refresh)
    refresh()


def _sizes(data: Dataset) -> Any:
    import pyarrow.compute as pc

    return pc.utf8_length(data.text).to_numpy()


def _again(studio: Studio) -> None:
    """Check the data anew, with the labels as they are now."""
    if studio.data is not None:
        studio.take(studio.data)
        ui.navigate.to("/data")


def _head(health: Health) -> str:
    data = health.data
    size = sum(chunk.nbytes for chunk in data.text.chunks)
    rows = [(f"{len(data):,}", "texts"), (f"{len(data.labels):,}" if data.labels else "none", "classes")]
    rows += [(f"{health.words:,}" if health.words else "…", "different words")]
    rows += [(f"{health.tokens / max(1, len(data)):,.0f}" if health.tokens else "…", "words a text")]
    rows += [(f"{size / 1e6:,.1f} MB", "of text"), (f"{len(data.unusable):,}", "rows left out")]
    return stats(rows)


def _verdict(health: Health) -> str:
    checkup = health.checkup
    if len(health.findings) < 3:
        return '<span class="wait">looking …</span>'
    rest = f' <span class="wait small">{count(len(health.pending), "check")} to go</span>' if health.pending else ""
    return (
        f'<span class="badge {checkup.level}">{MEANING[checkup.level]}</span> <span>{safe(checkup.words)}</span>{rest}'
    )


def _law(health: Health) -> str:
    if health.law is None:
        return (
            '<p class="wait">counting words …</p>'
            if not health.words
            else '<p class="soft">Too few words for a law.</p>'
        )
    note = f"The fitted exponent is {health.law.exponent:.2f}; 1 is Zipf's own. Far from it, look for boilerplate or noise."
    return drawing.zipf(health.law) + f'<p class="soft small">{note}</p>'


def _findings(health: Health) -> str:
    out = []
    for one in health.checkup.ranked():
        more = "".join(f"<li>{safe(line)}</li>" for line in example_lines(one)[:8]) if one.level != "ok" else ""
        shown = f"<details><summary>examples</summary><ul>{more}</ul></details>" if more else ""
        advice = f'<div class="advice">{safe(one.advice)}</div>' if one.advice and one.level != "ok" else ""
        out.append(
            f'<li><span><span class="badge {one.level}">{MARKS[one.level]}</span></span>'
            f"<div><b>{safe(one.check)}</b>: {safe(one.says)}{advice}{shown}</div></li>"
        )
    out += [
        f'<li class="wait-row"><span></span><div><span class="wait">{safe(name)}</span></div></li>'
        for name in health.pending
    ]
    return "".join(out)


def _repeats(health: Health) -> str:
    if "duplicates" in health.pending:
        return '<p class="wait">looking …</p>'
    found = health.repeated()
    if not found:
        return '<p class="soft">No text occurs twice.</p>'
    rows = "".join(
        f'<li><span class="badge">{one["times"]:,} times</span> {safe(one["text"])}'
        f'<div class="soft small">rows {safe(", ".join(f"{r:,}" for r in one["rows"][:6]))}</div></li>'
        for one in found
    )
    return f'<ul class="texts">{rows}</ul>'


def _suspects(studio: Studio, health: Health, place: Any) -> None:
    place.clear()
    with place:
        if health.data.label is None:
            html('<p class="soft">Labels are judged once there are some.</p>')
            return
        if "label-errors" in health.pending:
            html('<p class="wait">a model is reading the texts it did not see …</p>')
            return
        found = [one for one in health.suspects(12) if studio.label(one["at"]) != one["suggested"]][:6]
        if not found:
            says = next((f.says for f in health.findings if f.check == "label-errors"), "nothing to suspect")
            html(f'<p class="soft">{safe(says)}.</p>')
            return
        html(
            '<p class="soft small">A model that did not see these rows is sure of another label. The file stays as it is.</p>'
        )
        for one in found:
            _suspect(studio, one)


def _suspect(studio: Studio, one: dict[str, Any]) -> None:
    with ui.element("div").classes("textrow"):
        because = [word for word in one["words"] if any(c.isalnum() for c in word)][:4]
        words = f' <span class="soft small">because of {safe(", ".join(because))}</span>' if because else ""
        html(f"{safe(one['text'])}{words}")
        with ui.element("div").classes("row").style("margin-top:.35rem"):
            state = html(f'<span class="small">labelled <b>{safe(one["label"])}</b>, row {one["row"]:,}</span>')

            async def fix() -> None:
                if await attempt(studio.fix, one["at"], one["suggested"]):
                    state.set_content(f'<span class="badge ok">fixed</span> now <b>{safe(one["suggested"])}</b>')
                    do.set_visibility(False)

            do = button(f"Make it {one['suggested']} ({100 * one['confidence']:.0f} %)", fix, quiet=True).props("dense")
