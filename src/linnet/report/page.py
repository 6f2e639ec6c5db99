"""The page around the sections: one HTML file that fetches nothing."""

from __future__ import annotations

from pathlib import Path

from linnet.report.charts import bundle
from linnet.report.markup import safe
from linnet.report.material import Material
from linnet.report.sections import SECTIONS

__all__ = ["page"]

HERE = Path(__file__).parent
# What the page may do: run and style itself. Nothing is fetched, nothing is sent, even if a text got through.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"


def page(material: Material, title: str) -> str:
    """Return the whole file."""
    parts, links = [], []
    for name, section in list(SECTIONS.items()):
        body = section.render(material)
        if body:
            links.append(f'<a href="#{safe(name)}">{safe(section.title)}</a>')
            parts.append(f'<section id="{safe(name)}"><h2>{safe(section.title)}</h2>{body}</section>')
    style = (HERE / "page.css").read_text(encoding="utf-8")
    code = (HERE / "page.js").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{safe(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{safe(title)}</title><style>{style}</style></head>"
        f'<body><header><h1>{safe(title)}</h1><nav aria-label="Sections">{"".join(links)}</nav></header>'
        f"<main>{''.join(parts)}</main>"
        f"<script>{bundle()}</script><script>{code}</script></body></html>\n"
    )
