"""Learning: loss and held-out score pass by pass, and the settings that were tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linnet.report.charts import BLUE, ORANGE, altair, figure, rows
from linnet.report.markup import note, safe, score, table
from linnet.report.material import Material

__all__ = ["learning"]

TRIED = 12


def learning(material: Material) -> str | None:
    """Draw what the history has; a model read from a file has only the settings that were tried."""
    passes = [entry for entry in getattr(material.clf, "history_", []) if entry.get("kind") == "pass"]
    parts = [_curves(passes) if len(passes) > 1 else "", _tried(material.clf.card.get("choice") or {})]
    if not any(parts):
        return None
    if not getattr(material.clf, "history_", []):
        parts.append(
            note("Curves of loss are known only right after training: use <code>linnet train ... --report</code>.")
        )
    return "".join(parts)


def _curves(passes: list[dict[str, Any]]) -> str:
    numbers = [entry["pass"] for entry in passes]
    drawn = [_line(numbers, [entry["loss"] for entry in passes], "training loss", BLUE)]
    if all(entry.get("dev_accuracy") is not None for entry in passes):
        drawn.append(_line(numbers, [entry["dev_accuracy"] for entry in passes], "accuracy on held-out rows", ORANGE))
    return f'<div class="pair">{"".join(drawn)}</div>'


def _line(numbers: list[int], values: list[float], title: str, color: str) -> str:
    alt = altair()
    axis = alt.Axis(tickMinStep=1, format="d")
    chart = alt.Chart(rows(number=numbers, value=[float(v) for v in values])).mark_line(color=color, point={"color": color}).encode(
        x=alt.X("number:Q", title="pass", axis=axis), tooltip=["number:Q", "value:Q"],
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=False)),
    )  # fmt: skip
    words = f"{title.capitalize()}: {values[0]:.4g} after the first pass, {values[-1]:.4g} after {len(values):,}"
    return figure(chart, words)


def _tried(choice: Mapping[str, Any]) -> str:
    tried = list(choice.get("tried", ()))
    if not tried:
        return ""
    best = sorted(tried, key=lambda one: -one["accuracy"])[:TRIED]
    names = sorted({name for one in best for name in one} - {"accuracy"})
    body = [[score(one["accuracy"], 4), *(safe(one.get(name, "")) for name in names)] for one in best]
    folds, n = choice.get("folds", 1), choice.get("rows", 0)
    how = f"{folds} folds" if folds > 1 else "held-out rows"
    words = f"Settings were chosen by {safe(how)} ({n:,} rows); the best of {len(tried):,} tried:"
    more = "The best of several is a little lucky: go by rows that had no part in choosing."
    return f"<p>{words}</p>" + table(["accuracy", *map(safe, names)], body) + (note(more) if len(tried) > 1 else "")
