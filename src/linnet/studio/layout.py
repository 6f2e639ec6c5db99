"""What pages have in common: the frame with its navigation, cards, buttons, fields, empty states, charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nicegui import run, ui

from linnet.draw.charts import Axis, Band, Line, chart
from linnet.draw.markup import resource, safe, style
from linnet.errors import LinnetError
from linnet.studio.state import Studio

PAGES = (
    ("/data", "Data"),
    ("/train", "Train"),
    ("/errors", "Errors"),
    ("/try", "Try"),
    ("/label", "Label"),
    ("/learn", "Learn"),
)
BIRD = (
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path fill="currentColor" style="color:var(--accent)" d="M2 17c5 0 6-3 8-7 '
    '1.600-3.200 4-5 7-5 2.300 0 3.700 1.200 4.200 2.700L24 9l-2.700.8C20.800 15.500 16.500 20 10 20c-3 0-6-1-8-3z"/></svg>'
)
ICONS = {
    "auto": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2v14a7 7 0 0 1 0-14z",
    "dark": "M20 15.500A8.500 8.500 0 0 1 8.500 4 8.500 8.500 0 1 0 20 15.500z",
    "light": "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 1h2v3h-2zM11 20h2v3h-2zM1 11h3v2H1zM20 11h3v2h-3zM3.500 4.900l1.400-1.400 "
    "2.100 2.100-1.400 1.400zM17 18.400l1.400-1.400 2.100 2.100-1.400 1.400zM3.500 19.100l2.100-2.100 1.400 1.400-2.100 2.100z"
    "M17 5.600l2.100-2.100 1.400 1.400-2.100 2.100z",
}
MODES: dict[str, bool | None] = {"auto": None, "dark": True, "light": False}


def html(content: str = "", kind: str = "", tag: str = "div") -> Any:
    """Put HTML on the page; everything that comes from outside must have gone through `safe`."""
    return ui.html(content, sanitize=False, tag=tag).classes(kind)


def script(name: str) -> None:
    """Put a script of this package on the page; with the nonce of the page's policy, without which no script runs."""
    nonce = ui.context.client.request.state.nonce
    ui.add_body_html(f'<script nonce="{nonce}">{resource(__package__, name)}</script>')


@contextmanager
def frame(studio: Studio, here: str, title: str, lead: str) -> Iterator[None]:
    """Draw the head of a page and open its body."""
    ui.add_head_html(f"<style>{style()}{resource(__package__, 'studio.css')}</style>")
    dark = ui.dark_mode(MODES[studio.theme])
    html('<a class="skip" href="#main">Skip to content</a>')
    with ui.element("header").classes("top"), ui.element("div").classes("inner"):
        html(f'<a class="brand" href="/">{BIRD}linnet <small>studio</small></a>')
        links = "".join(
            f'<a href="{path}"{" aria-current=page" if path == here else ""}>{name}</a>' for path, name in PAGES
        )
        html(links, "nav", "nav").props('aria-label="Pages"')
        html(safe(_opened(studio)), "about").props(f'title="{safe(_opened(studio))}"')
        theme = html("", "theme", "button").props("type=button")

        def show() -> None:
            dark.value = MODES[studio.theme]
            icon = f'<path fill="currentColor" fill-rule="evenodd" d="{ICONS[studio.theme]}"/>'
            theme.set_content(f'<svg viewBox="0 0 24 24" aria-hidden="true">{icon}</svg>')
            theme.props(f'aria-label="Colours: {studio.theme}; press to change" title="Colours: {studio.theme}"')

        def turn() -> None:
            order = list(MODES)
            studio.theme = order[(order.index(studio.theme) + 1) % len(order)]
            show()

        show()
        theme.on("click", turn)
    with ui.element("div").classes("main").props("id=main tabindex=-1"):  # NiceGUI has the element main already
        html(f"<h1>{safe(title)}</h1><p class=lead>{safe(lead)}</p>")
        with ui.element("div").classes("stack"):
            yield


def _opened(studio: Studio) -> str:
    if studio.data is None:
        return f"{len(studio.loaded):,} model" if studio.loaded else "no file open"
    return f"{Path(studio.data.source).name}: {len(studio.data):,} texts"


@contextmanager
def card(kind: str = "") -> Iterator[Any]:
    """Open a card."""
    with ui.element("section").classes(f"card {kind}".strip()) as made:
        yield made


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


def upload(label: str, done: Callable[..., Any]) -> None:
    """Make a place to drop a file."""
    made = ui.upload(label=label, auto_upload=True, on_upload=done, max_files=1).props("flat")
    ui.run_javascript(f"document.querySelector('#c{made.id} a.q-btn')?.setAttribute('aria-label', {label!r})")


async def save_upload(event: Any, folder: Path) -> str:
    """Save a file that was dropped, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / plain_name(event.file.name)
    await event.file.save(target)
    return str(target)


def plain_name(name: str) -> str:
    """Return the name of a file without any folder.

    >>> plain_name("../../etc/x.csv"), plain_name("")
    ('x.csv', 'file')
    """
    return name.replace("\\", "/").split("/")[-1].lstrip(".") or "file"


def paging(first: int, shown: int, n: int, turn: Callable[[int], None]) -> None:
    """Say which of n items are shown and offer the others; turn is given the step."""
    if n <= shown:
        return
    with row("between").style("margin-top:.6rem"):
        html(f"{first + 1:,} to {min(n, first + shown):,} of {n:,}", "soft small")
        with row():
            button("Back", lambda: turn(-shown), quiet=True).set_enabled(first > 0)
            button("More", lambda: turn(shown), quiet=True).set_enabled(first + shown < n)


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


# ---- The charts of the Train and Label pages.


Point = tuple[float, float]


def training_charts(
    loss: Sequence[Point], accuracy: Sequence[Point], tried: Sequence[Point] = (), over: bool = False
) -> tuple[str, str]:
    """Draw the training loss and the dev accuracy by pass; without passes, the dev accuracy of the settings tried."""
    empty = "fitted in one step" if over and tried else ""
    left = chart(
        [Line(loss, "orange")],
        Axis("pass", whole=True),
        Axis("mean training loss"),
        "Mean training loss by pass",
        empty=empty,
    )
    x = "pass" if accuracy else "settings tried"
    axes = Axis(x, whole=True), Axis("dev accuracy", percent=True)
    return left, chart([Line(accuracy or tried)], *axes, f"Dev accuracy by {x}")


def estimate_chart(points: Sequence[tuple[int, float, float, float]]) -> str:
    """Draw the estimated accuracy by number of labels, (labels, accuracy, low, high), with its interval as a band."""
    shown = points if len(points) > 1 else []
    layers = [Band([(n, low, high) for n, _, low, high in shown]), Line([(n, value) for n, value, _, _ in shown])]
    axes = Axis("labels", whole=True), Axis("accuracy", high=1.0, percent=True)
    return chart(layers, *axes, "Estimated accuracy by number of labels", empty="not yet")
