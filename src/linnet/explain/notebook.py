"""What notebooks show of a model."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from linnet.solvers.curves import Curves

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier

__all__ = ["model_html"]


def model_html(clf: TextClassifier) -> str:
    """Describe a fitted classifier in a notebook."""
    card = clf.card
    settings = "".join(
        f"<tr><td>{html.escape(str(k))}</td><td>{html.escape(str(v))}</td></tr>"
        for k, v in card.get("settings", {}).items()
        if v is not None
    )
    tops = "".join(
        f"<p><b>{html.escape(str(c))}</b>: {html.escape(', '.join(name for name, _ in clf.top_features(c, 12)))}</p>"
        for c in clf.artefact.classes[:10]
    )
    size = f"{clf.artefact.n_features:,} features, {len(clf.artefact.classes)} classes"
    return f"<div><p><code>{html.escape(repr(clf))}</code> {size}</p><table>{settings}</table>{tops}{_curves_html(clf)}</div>"


def _curves_html(clf: TextClassifier) -> str:
    """Draw the passes of the last fit, where it made some."""
    passes = [entry for entry in clf.history_ if entry["kind"] == "pass"]
    return Curves.of(passes)._repr_html_() if passes else ""
