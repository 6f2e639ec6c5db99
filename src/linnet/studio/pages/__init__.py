"""The pages, one file each. A new page is one file with a `build` function and one row here."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from linnet.studio.pages import data, errors, label, learn, train, try_
from linnet.studio.state import Studio

__all__ = ["PAGES", "register"]

PAGES: dict[str, tuple[str, Callable[[Studio], None]]] = {
    "/data": ("Data", data.build),
    "/train": ("Train", train.build),
    "/errors": ("Errors", errors.build),
    "/try": ("Try", try_.build),
    "/label": ("Label", label.build),
    "/learn": ("Learn", learn.build),
}


def register(studio: Studio) -> None:
    """Register the pages with NiceGUI."""
    for path, (name, build) in PAGES.items():
        ui.page(path, title=f"{name} - linnet studio")(lambda build=build: build(studio))

    @ui.page("/", title="linnet studio")
    def home() -> None:
        build = try_.build if studio.data is None and studio.loaded else data.build
        build(studio)
