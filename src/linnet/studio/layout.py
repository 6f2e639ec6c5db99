"""What pages have in common: the frame with its navigation, cards, buttons, fields, empty states, charts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nicegui import run, ui

from linnet.draw.charts import Axis, Band, Line, chart
from linnet.draw.markup import resource, safe, style
from linnet.errors import LinnetError
from linnet.studio.state import BIRD, Studio

PAGES = ("data", "train", "errors", "try", "label", "learn")  # their addresses and, with a capital, their titles
BRAND = f'<svg viewBox="0 0 24 24" aria-hidden="true"><path fill="currentColor" style="color:var(--accent)" d="{BIRD}"/></svg>'


def html(content: str = "", kind: str = "", tag: str = "div") -> Any:
    """Put HTML on the page; everything that comes from outside must have gone through `safe`."""
    return ui.html(content, sanitize=False, tag=tag).classes(kind)


def script(name: str) -> None:
    """Put a script of this package on the page; with the nonce of the page's policy, without which no script runs."""
    nonce = ui.context.client.request.state.nonce
    ui.add_body_html(f'<script nonce="{nonce}">{resource(__package__, name)}</script>')


@contextmanager
def frame(studio: Studio, here: str, lead: str) -> Iterator[None]:
    """Draw the head of a page and open its body."""
    ui.add_head_html(f"<style>{style()}{resource(__package__, 'studio.css')}</style>")
    ui.dark_mode(None)  # as the system has it
    html('<a class="skip" href="#main">Skip to content</a>')
    with ui.element("header").classes("top"), ui.element("div").classes("inner"):
        html(f'<a class="brand" href="/">{BRAND}linnet <small>studio</small></a>')
        current = {here: " aria-current=page"}
        links = (f'<a href="/{name}"{current.get(name, "")}>{name.capitalize()}</a>' for name in PAGES)
        html("".join(links), "nav", "nav").props('aria-label="Pages"')
        html(safe(_opened(studio)), "about").props(f'title="{safe(_opened(studio))}"')
    with ui.element("div").classes("main").props("id=main tabindex=-1"):  # NiceGUI has the element main already
        html(f"<h1>{here.capitalize()}</h1><p class=lead>{safe(lead)}</p>")
        with ui.element("div").classes("stack"):
            yield


def _opened(studio: Studio) -> str:
    if studio.data is None:
        return f"{len(studio.loaded):,} model" if studio.loaded else "no file open"
    return f"{Path(studio.data.source).name}: {len(studio.data):,} texts"


def card(kind: str = "", title: str = "") -> Any:
    """Open a card, with its heading where it has a title."""
    with ui.element("section").classes(f"card {kind}".strip()) as made:
        if title:
            heading(title)
    return made


def row(kind: str = "") -> Any:
    """Open a row of things side by side."""
    return ui.element("div").classes(f"row {kind}".strip())


def columns(kind: str = "two") -> Any:
    """Open a grid of cards."""
    return ui.element("div").classes(kind)


def heading(text: str) -> None:
    """Write the heading of a card."""
    html(safe(text), "", "h2")


def soft(text: str) -> str:
    """Return a paragraph in a soft colour."""
    return f'<p class="soft">{safe(text)}</p>'


def button(text: str, act: Callable[..., Any], *, quiet: bool = False) -> ui.button:
    """Make a button; a quiet one is not the main action."""
    made = ui.button(text, on_click=act, color=None).props("no-caps unelevated")  # Quasar's colours ignore the style
    return made.props("outline") if quiet else made.classes("act")


def link(text: str, path: str, *, quiet: bool = False) -> ui.button:
    """Make a button that opens another page."""
    return button(text, lambda: ui.navigate.to(path), quiet=quiet)


def select(label: str, options: Any, value: Any, changed: Callable[..., Any] | None = None) -> ui.select:
    """Make a choice from a list."""
    return ui.select(options, value=value, label=label, on_change=changed).props("outlined dense").classes("grow")


def field(label: str, entered: Callable[..., Any] | None = None, **more: Any) -> ui.input:
    """Make a field for a line of text; entered is called when Enter is pressed."""
    made = ui.input(label=label, **more).props("outlined dense spellcheck=false autocomplete=off").classes("grow")
    return made if entered is None else made.on("keydown.enter", entered)


def upload(label: str, studio: Studio, act: Callable[[str], Awaitable[None]]) -> None:
    """Make a place to drop a file; it is saved, and act is called with its path."""

    async def done(event: Any) -> None:
        folder = studio.folder / "opened"
        folder.mkdir(parents=True, exist_ok=True)
        name = event.file.name.replace("\\", "/").split("/")[-1].lstrip(".")  # no folder of its own
        target = folder / (name or "file")
        await event.file.save(target)
        await act(str(target))

    made = ui.upload(label=label, auto_upload=True, on_upload=done, max_files=1).props("flat")
    ui.run_javascript(f"document.querySelector('#c{made.id} a.q-btn')?.setAttribute('aria-label', {label!r})")


class PagedList:
    """A list of which some items are shown at a time: items returns all of them, draw draws one."""

    def __init__(self, items: Callable[[], Sequence[Any]], draw: Callable[[Any], None], shown: int, none: str) -> None:
        self.items, self.draw, self.shown, self.none = items, draw, shown, none
        self.place = ui.element("div")

    def show(self, first: int = 0) -> None:
        """Show the items from one on; the last ones where there are fewer."""
        items, n = self.items(), self.shown
        first = max(0, min(first, (len(items) - 1) // n * n))
        self.place.clear()
        with self.place:
            if not len(items):
                html(soft(self.none))
            for one in items[first : first + n]:
                self.draw(one)
            if len(items) > n:
                with row("between").style("margin-top:.6rem"):
                    html(f"{first + 1:,} to {min(len(items), first + n):,} of {len(items):,}", "soft small")
                    with row():
                        button("Back", lambda: self.show(first - n), quiet=True).set_enabled(first > 0)
                        button("More", lambda: self.show(first + n), quiet=True).set_enabled(first + n < len(items))


def label_row(words: str, body: str, labels: Sequence[str], label: str | None, give: Callable[[str], Any]) -> Any:
    """Draw a text, what is said of it (both HTML) and a choice of its label; give stores the label that is chosen."""

    async def chosen(event: Any) -> None:
        if event.value and event.value != label and await attempt(give, event.value):
            said.set_content(f'<span class="badge ok">fixed</span> now labelled <b>{safe(event.value)}</b>')

    with ui.element("div").classes("textrow") as made:
        with row("between"):
            said = html(words, "small")
            choice = select("Label", list(labels), label, chosen).props("options-dense").classes(remove="grow")
            choice.style("width:11rem")
        html(body, "marked").style("margin-top:.3rem")
    return made


def asked_model(studio: Studio) -> str:
    """Return the model that the address names, else the best."""
    names, asked = studio.models(), ui.context.client.request.query_params.get("model", "")
    return asked if asked in names else studio.best() or next(iter(names))


@contextmanager
def empty(title: str, words: str) -> Iterator[None]:
    """Say that there is nothing here yet and what to do; the block holds the buttons."""
    with card("empty"):
        html(f"<h2>{safe(title)}</h2><p>{safe(words)}</p>")
        with row():
            yield


async def attempt(work: Callable[..., Any], *given: Any) -> Any:
    """Do work in a thread; a LinnetError is shown as a message, and False is returned."""
    try:
        found = await run.io_bound(work, *given)
    except LinnetError as error:
        ui.notify(str(error), type="negative", multi_line=True, timeout=8000, close_button="OK")
        return False
    return True if found is None else found


async def go(path: str, work: Callable[..., Any], *given: Any) -> None:
    """Do work in a thread, then open a page."""
    busy = ui.notification("working …", spinner=True, timeout=None)
    if await attempt(work, *given):
        ui.navigate.to(path)
    else:
        busy.dismiss()


async def download(work: Callable[..., Any], *given: Any) -> None:
    """Write a file in a thread, then hand it to the browser."""
    path = await attempt(work, *given)
    if path:
        ui.download.file(path)
        ui.notify(f"wrote {path}")


# ---- The charts of the Train and Label pages.


def training_charts(passes: Sequence[Any], candidates: Sequence[Any], over: bool) -> tuple[str, str]:
    """Draw loss and dev accuracy of the passes of a run, (number, loss, accuracy); before it, the accuracy of the settings tried."""
    loss = [(float(n), value) for n, value, _ in passes]
    accuracy = [(float(n), value) for n, _, value in passes if value is not None]
    tried = [(float(k), value) for k, (_, value) in enumerate(candidates, 1)]
    empty = "fitted in one step" if over and tried else ""
    axes = Axis("pass", whole=True), Axis("mean training loss")
    left = chart([Line(loss, "orange")], *axes, "Mean training loss by pass", empty=empty)
    x = "pass" if accuracy else "settings tried"
    axes = Axis(x, whole=True), Axis("dev accuracy", percent=True)
    return left, chart([Line(accuracy or tried)], *axes, f"Dev accuracy by {x}")


def estimate_chart(points: Sequence[tuple[int, float, float, float]]) -> str:
    """Draw the estimated accuracy by number of labels, (labels, accuracy, low, high), with its interval as a band."""
    shown = points if len(points) > 1 else []
    layers = [Band([(n, low, high) for n, _, low, high in shown]), Line([(n, value) for n, value, _, _ in shown])]
    axes = Axis("labels", whole=True), Axis("accuracy", high=1.0, percent=True)
    return chart(layers, *axes, "Estimated accuracy by number of labels", empty="not yet")
