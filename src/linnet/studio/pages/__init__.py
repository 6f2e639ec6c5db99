"""The pages, one file each. A new page is one file with a `build` function, one row here and its name in `layout.PAGES`."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from linnet.studio.layout import PAGES
from linnet.studio.pages import data, errors, label, learn, train, try_
from linnet.studio.state import Studio

BUILDS: tuple[Callable[[Studio], None], ...] = (  # in the order of PAGES
    data.build, train.build, errors.build, try_.build, label.build, learn.build,
)  # fmt: skip


def register(studio: Studio) -> None:
    """Register the pages with NiceGUI."""
    for name, build in zip(PAGES, BUILDS, strict=True):
        ui.page(f"/{name}", title=f"{name.capitalize()} - linnet studio")(lambda build=build: build(studio))

    @ui.page("/", title="linnet studio")
    def home() -> None:
        (try_ if studio.data is None and studio.loaded else data).build(studio)
