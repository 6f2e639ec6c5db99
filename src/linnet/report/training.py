"""Training: loss and held-out accuracy pass by pass, and the settings that were tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linnet.draw.charts import Axis, Line, figure
from linnet.draw.formatting import score
from linnet.draw.markup import note, safe, table
from linnet.report.inputs import ReportInputs

__all__ = ["training"]

TRIED = 12


def training(inputs: ReportInputs) -> str | None:
    """Draw the history of the fit; a model read from a file only has the settings that were tried."""
    history = getattr(inputs.clf, "history_", [])
    passes = [entry for entry in history if entry.get("kind") == "pass"]
    parts = [_curves(passes) if len(passes) > 1 else "", _tried(inputs.clf.card.get("choice") or {})]
    if not any(parts):
        return None
    if not history:
        parts.append(
            note("Curves of the loss are known only after training: use <code>linnet train ... --report</code>.")
        )
    return "".join(parts)


def _curves(passes: list[dict[str, Any]]) -> str:
    names = {"loss": ("training loss", "orange"), "dev_accuracy": ("accuracy on held-out rows", "blue")}
    drawn = []
    for key, (name, colour) in names.items():
        points = [(entry["pass"], float(entry[key])) for entry in passes if entry.get(key) is not None]
        if len(points) == len(passes):
            first, last = points[0][1], points[-1][1]
            caption = f"{name.capitalize()}: {first:.4g} after the first pass, {last:.4g} after {len(points):,}"
            drawn.append(figure([Line(points, colour)], Axis("pass", whole=True), Axis(name), caption))
    return f'<div class="pair">{"".join(drawn)}</div>'


def _tried(choice: Mapping[str, Any]) -> str:
    tried = list(choice.get("tried", ()))
    if not tried:
        return ""
    best = sorted(tried, key=lambda one: -one["accuracy"])[:TRIED]
    names = sorted({name for one in best for name in one} - {"accuracy"})
    body = [[score(one["accuracy"], 4), *(safe(one.get(name, "")) for name in names)] for one in best]
    folds, n = choice.get("folds", 1), choice.get("rows", 0)
    how = f"{folds} folds" if folds > 1 else "held-out rows"
    more = "The best of several scores is a little too high: rely on rows that were not used to choose."
    return (
        f"<p>Settings were chosen on {safe(how)} ({n:,} rows); the best of {len(tried):,} tried:</p>"
        + table([safe(choice.get("metric", "accuracy")), *map(safe, names)], body)
        + (note(more) if len(tried) > 1 else "")
    )
