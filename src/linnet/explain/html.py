"""An explanation as HTML. Blue words support the label, orange words are against it; the lines below them differ too.

A fragment takes its colours from the page around it, light or dark (notebooks); `linnet.draw.page` makes a file of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.draw.markup import marked, safe, table
from linnet.explain.explanation import Explanation
from linnet.solvers.callbacks import Curves

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier
    from linnet.explain.nearest import Neighbour

__all__ = ["explanation_html", "model_html", "neighbours_html"]


def explanation_html(e: Explanation, n: int = 12) -> str:
    """Write the marked text and its tables."""
    head = f"<p><b>{safe(e.label)}</b> (probability {e.probability:.3f})"
    if e.against is not None:
        other = "" if e.against_probability is None else f" ({e.against_probability:.3f})"
        head += f" rather than <b>{safe(e.against)}</b>{other}"
    method = "" if e.exact else f"; contributions are {safe(e.method)}"
    by_feature = [(f"{c.shown} ({c.block})", c.value) for c in e.contributions]
    tables = "".join(
        f"<div>{table(['contribution', what], [[f'{value:+.4f}', safe(name)] for name, value in e.summed(parts, n, what)])}</div>"
        for what, parts in (("word", e.by_word()), ("feature", by_feature))
    )
    return (
        f"<div>{head}: score {e.score:+.4f}{method}</p><p style='line-height:1.75;white-space:pre-wrap'>{marked(e.words())}</p>"
        f"<div style='display:flex;flex-wrap:wrap;gap:0 2rem'>{tables}</div></div>"
    )


def neighbours_html(found: Sequence[Neighbour]) -> str:
    """Write the examples most like a text as a table."""
    rows = [
        [
            f"{n.similarity:.3f}", safe(n.label),
            f"{safe(n.text)}<br><small>row {n.row + 1:,}; in common: {safe(', '.join(n.shared))}</small>",
        ]
        for n in found
    ]  # fmt: skip
    return table(["similarity", "label", "example"], rows)


def model_html(clf: TextClassifier) -> str:
    """Describe a fitted classifier in a notebook."""
    settings = [[safe(k), safe(v)] for k, v in clf.card.get("settings", {}).items() if v is not None]
    tops = "".join(
        f"<p><b>{safe(c)}</b>: {safe(', '.join(name for name, _ in clf.top_features(c, 12)))}</p>"
        for c in clf.artefact.classes[:10]
    )
    passes = [entry for entry in clf.history_ if entry["kind"] == "pass"]
    curves = Curves.of(passes)._repr_html_() if passes else ""
    size = f"{clf.artefact.n_features:,} features, {len(clf.artefact.classes)} classes"
    return f"<div><p><code>{safe(repr(clf))}</code> {size}</p>{table(['', ''], settings)}{tops}{curves}</div>"
