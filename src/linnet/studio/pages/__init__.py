"""The pages, one file each. A new page is one file with LEAD and a `build` function, its row here and its name in `layout.PAGES`."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from linnet.studio import layout
from linnet.studio.pages import data, errors, label, learn, train, try_
from linnet.studio.state import Studio

MODULES = dict(zip(layout.PAGES, (data, train, errors, try_, label, learn), strict=True))


def register(studio: Studio) -> None:
    """Register the pages with NiceGUI."""
    for name in MODULES:
        ui.page(f"/{name}", title=f"{name.capitalize()} - linnet studio")(partial(draw, studio, name))

    @ui.page("/", title="linnet studio")
    def home() -> None:
        draw(studio, "try" if studio.data is None and studio.loaded else "data")


def draw(studio: Studio, name: str) -> None:
    """Draw a page: what all pages have, and its own body."""
    with layout.frame(studio, name, MODULES[name].LEAD):
        MODULES[name].build(studio)
