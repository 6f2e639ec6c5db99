"""One HTML file with its style inside: it opens anywhere, light or dark, and fetches nothing."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from linnet.draw.markup import safe

__all__ = ["page", "resource", "style"]

# What a page with code of its own may do: run and style itself. Nothing is fetched and nothing is sent, even if a text
# of the data were taken for markup.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"


@cache
def resource(package: str, name: str) -> str:
    """Return a text file of a package."""
    return (files(package) / name).read_text(encoding="utf-8")


def style() -> str:
    """Return the style that tables, bars, charts and matrices share."""
    return resource("linnet.draw", "style.css")


def page(title: str, body: str, *, more_style: str = "", script: str = "") -> str:
    """Return a whole HTML file.

    >>> page("A <b>", "<p>text</p>").count("<b>")
    0
    """
    policy = f'<meta http-equiv="Content-Security-Policy" content="{safe(POLICY)}">' if script else ""
    code = f"<script>{script}</script>" if script else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{policy}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{safe(title)}</title><style>{style()}{more_style}</style></head>\n<body>{body}{code}</body></html>\n"
    )
