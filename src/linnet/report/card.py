"""The model card: what the model is and what it was trained on."""

from __future__ import annotations

from typing import Any

from linnet.draw.formatting import count
from linnet.draw.markup import note, safe, table
from linnet.report.inputs import ReportInputs

__all__ = ["card"]

LABELS = 12  # that are named


def card(inputs: ReportInputs) -> str:
    """Write the card of the model as a table."""
    found = inputs.clf.card
    data: dict[str, Any] = found.get("data") or {}
    settings = {name: value for name, value in (found.get("settings") or {}).items() if value is not None}
    model = inputs.clf.artefact
    labels = ", ".join(map(str, model.classes[:LABELS]))
    labels += f" and {len(model.classes) - LABELS:,} more" if len(model.classes) > LABELS else ""
    rows = {
        "model": settings.pop("model", "linnet model"),
        "features": f"{settings.pop('features', '')} ({count(model.n_features, 'feature')})",
        "labels": f"{len(model.classes):,}: {labels}",
        "trained on": f"{count(data.get('rows_fitted', 0), 'row')} of {data.get('source', 'unknown')}",
        "probabilities": "calibrated on held-out rows" if model.calibrated else "not calibrated",
        "written by": f"linnet {found.get('linnet', '')}",
        "settings": ", ".join(f"{name} = {value}" for name, value in settings.items()),
    }
    return table(["", ""], [[name, safe(value)] for name, value in rows.items()], "card") + note(
        "The model sees words and parts of words only. The scores hold for texts like those of this report; for another "
        "kind of text, evaluate again."
    )
