"""Export to HTML: one page that classifies and marks a text as it is typed; it needs no network and sends nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from linnet.draw.markup import page, resource, safe
from linnet.export.javascript import constants
from linnet.export.portable import PortableModel

STYLE = """textarea{width:100%;min-height:7rem;font:inherit;color:inherit;
background:var(--card);border:1px solid var(--line);border-radius:8px;
padding:.7rem .8rem;resize:vertical}#answer{font-size:1.35rem;font-weight:650;min-height:2.2rem;overflow-wrap:anywhere}mark{color:inherit}
.bars button{font:inherit;color:var(--link);background:none;border:0;padding:.35rem 0;min-height:2.2rem;text-align:left;cursor:pointer}
.bars button[aria-pressed=true]{font-weight:650}#marked{min-height:1.75rem}"""
BODY = """<main><h1>{title}</h1><label for="text">Text to classify</label>
<textarea id="text" autofocus dir="auto" placeholder="Type or paste a text"></textarea>
<div id="answer" aria-live="polite"></div><ul class="bars" id="bars"></ul>
<h2>Why</h2><p class="note" id="why"></p><div class="marked" id="marked" dir="auto"></div>
<table><caption>What adds most to the score</caption><tbody id="features"></tbody></table>
<p class="note">{about} Nothing that is typed leaves this page.</p></main>"""


def write_html(model: PortableModel, path: Path, title: str) -> dict[Path, Iterable[str]]:
    """Return the page."""
    if path.suffix not in (".html", ".htm"):
        path = path.with_name(path.name + ".html")
    about = (
        f"A linear model with {len(model.keys):,} features and {len(model.labels):,} labels, written by linnet export."
    )
    runtime = re.sub(r"(?m)^export ", "", resource("linnet.export", "runtime.js"))
    script = f'"use strict";\n{constants(model)}{runtime}{resource("linnet.export", "page.js")}'
    return {path: [page(title, BODY.format(title=safe(title), about=about), more_style=STYLE, script=script)]}
