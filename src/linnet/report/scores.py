"""All scores with their 95 % intervals: overall and class by class."""

from __future__ import annotations

from linnet.evaluate.metrics import ALL_METRICS
from linnet.report.markup import bar, interval, note, safe, score, table
from linnet.report.material import Material

__all__ = ["scores"]


def scores(material: Material) -> str:
    """Write two tables: one score a row, one class a row."""
    result = material.result
    rows = []
    for name, metric in ALL_METRICS.items():
        value, ends = result.score(name)
        rows.append([metric.title, score(value, 4), _ends(ends)])
    rows += [[f"truth among the best {t.k}", score(t.accuracy, 4), _ends(t.interval)] for t in result.top_k]
    head = ["class", "precision", "recall", "F1", "", "rows", "ROC area"]
    classes = []
    for c, one in enumerate(result.per_class):
        both = result.areas[c] if result.areas else None
        roc = f"{score(both[0].value)}{interval(both[0].interval)}" if both else "–"
        classes.append(
            [
                safe(one.label), f"{score(one.precision)}{interval(one.precision_interval)}",
                f"{score(one.recall)}{interval(one.recall_interval)}", f"{score(one.f1)}{interval(one.f1_interval)}",
                f'<span class="track">{bar(one.f1)}</span>', f"{one.support:,}", roc,
            ]
        )  # fmt: skip
    area = "of the second class" if len(result.classes) == 2 else "a mean over classes, each against the rest"
    return (
        table(["score", "value", "95 % interval"], rows)
        + "<h3>Class by class</h3>"
        + _folded(table(head, classes, "classes"), len(classes))
        + note(
            f"The areas above are {area}. Calibration error: 15 bins of equal mass. Lower is better for log loss, Brier score and "
            "calibration error. Every interval holds the true value in about 95 of 100 samples like this one."
        )
    )


def _ends(found: tuple[float, float] | None) -> str:
    return "–" if found is None else f"{found[0]:.4f} to {found[1]:.4f}"


def _folded(html: str, n: int, most: int = 30) -> str:
    return html if n <= most else f"<details><summary>all {n:,} classes</summary>{html}</details>"
