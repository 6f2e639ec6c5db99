"""A place to open data: by path, by dropping a file, or the built-in reviews."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from linnet.studio import layout
from linnet.studio.state import BUILT_IN, Studio

__all__ = ["open_data"]


def open_data(studio: Studio, after: str, *, name: str = "Path of a CSV, TSV, JSON lines or Parquet file") -> None:
    """Draw the place; `after` is the page to show when the data is there."""
    busy = layout.html("reading …", "wait")
    busy.set_visibility(False)

    async def load(path: str) -> None:
        busy.set_visibility(True)
        if await layout.attempt(studio.open, path):
            ui.navigate.to(after)
        else:
            busy.set_visibility(False)

    async def dropped(event: Any) -> None:
        folder = studio.folder / "opened"
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / _plain(event.file.name)
        await event.file.save(target)
        await load(str(target))

    with layout.row().style("width:100%"):
        path = layout.field(name, lambda: load(path.value))
        layout.button("Open", lambda: load(path.value))
        layout.button("Use the built-in reviews", lambda: load(BUILT_IN), quiet=True)
    ui.upload(label="or drop a file here", auto_upload=True, on_upload=dropped, max_files=1).props("flat")


def _plain(name: str) -> str:
    """Return the name of a file without any folder.

    >>> _plain("../../etc/x.csv"), _plain("")
    ('x.csv', 'file')
    """
    return name.replace("\\", "/").split("/")[-1].lstrip(".") or "file"
