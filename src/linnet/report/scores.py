"""All scores with their 95 % intervals: overall and for each class."""

from __future__ import annotations

from collections.abc import Sequence

from linnet.draw.formatting import score
from linnet.draw.markup import bar, note, safe, table
from linnet.evaluate.metrics import ALL_METRICS
from linnet.report.inputs import ReportInputs

__all__ = ["scores"]

OPEN = 30  # classes that are listed at once


def scores(inputs: ReportInputs) -> str:
    """Write two tables: one score a row, one class a row."""
    result = inputs.result
    rows = []
    for name, metric in ALL_METRICS.items():
        value, ends = result.score(name)
        rows.append([metric.title, score(value, 4), _ends(ends)])
    rows += [[f"top-{t.k} accuracy", score(t.accuracy, 4), _ends(t.interval)] for t in result.top_k]
    head = ["class", "precision", "recall", "F1", "", "rows", "ROC area"]
    classes = []
    for c, one in enumerate(result.per_class):
        both = result.areas[c] if result.areas else None
        three = [
            _with_interval(getattr(one, name), getattr(one, f"{name}_interval"))
            for name in ("precision", "recall", "f1")
        ]
        roc = _with_interval(both[0].value, both[0].interval) if both else "–"
        classes.append([safe(one.label), *three, bar(one.f1), f"{one.support:,}", roc])
    by_class = table(head, classes, "classes")
    if len(classes) > OPEN:
        by_class = f"<details><summary>all {len(classes):,} classes</summary>{by_class}</details>"
    area = "of the second class" if len(result.classes) == 2 else "the mean over classes, each against the rest"
    return (
        table(["score", "value", "95 % interval"], rows)
        + f"<h3>Scores for each class</h3>{by_class}"
        + note(
            f"The areas in the first table are {area}. Calibration error: 15 bins of equal size. Lower is better for log loss, "
            "Brier score and calibration error. A 95 % interval contains the true value in about 95 of 100 samples like this one."
        )
    )


def _ends(found: Sequence[float] | None) -> str:
    return "–" if found is None else f"{found[0]:.4f} to {found[1]:.4f}"


def _with_interval(value: float, ends: Sequence[float]) -> str:
    return f'{score(value)}<span class="interval">{ends[0]:.3f} to {ends[1]:.3f}</span>'
