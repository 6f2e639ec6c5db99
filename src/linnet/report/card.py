"""The model card: what the model is, what it was trained on, what it is for and what not."""

from __future__ import annotations

from typing import Any

from linnet.report.markup import count, note, safe, table
from linnet.report.material import Material

__all__ = ["card"]


def card(material: Material) -> str:
    """Write the card of the model as tables."""
    found = material.clf.card
    data: dict[str, Any] = found.get("data") or {}
    settings = {name: value for name, value in (found.get("settings") or {}).items() if value is not None}
    model = material.clf.artefact
    about = [
        ["model", safe(settings.pop("model", "linnet model"))],
        ["features", f"{safe(settings.pop('features', ''))} ({count(model.n_features, 'feature')})"],
        ["labels", f"{len(model.classes):,}: {safe(_few([str(c) for c in model.classes]))}"],
        ["trained on", f"{data.get('rows_fitted', 0):,} rows of {safe(data.get('source', 'unknown'))}"],
        ["probabilities", "calibrated on held-out rows" if model.calibrated else "not calibrated"],
        ["written by", f"linnet {safe(found.get('linnet', ''))}"],
    ]
    rest = ", ".join(f"{name} = {value}" for name, value in settings.items())
    about.append(["settings", safe(rest)])
    return table(["", ""], about, "card") + note(
        "It goes by words and word pieces and reads no meaning beyond them. Scores hold for texts like those "
        "measured here; on another kind of text measure again."
    )


def _few(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
