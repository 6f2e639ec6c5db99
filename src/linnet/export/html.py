"""Export to HTML: one page that classifies and marks a text as it is typed; it needs no network and sends nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from linnet.draw.markup import page, resource, safe
from linnet.export.javascript import constants
from linnet.export.portable import PortableModel


def write_html(model: PortableModel, path: Path, title: str) -> dict[Path, Iterable[str]]:
    """Return the page."""
    about = (
        f"A linear model with {len(model.keys):,} features and {len(model.labels):,} labels, written by linnet export."
    )
    runtime = re.sub(r"(?m)^export ", "", resource("linnet.export", "runtime.js"))
    script = f'"use strict";\n{constants(model)}{runtime}{resource("linnet.export", "page.js")}'
    body = resource("linnet.export", "page.html").format(title=safe(title), about=about)
    return {path: [page(title, body, more_style=resource("linnet.export", "page.css"), script=script)]}
