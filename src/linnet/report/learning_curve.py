"""The learning curve: accuracy at growing numbers of training rows, and what twice as many would bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linnet.draw.charts import Axis, Band, Line, figure
from linnet.draw.markup import note, safe
from linnet.report.inputs import ReportInputs

if TYPE_CHECKING:
    from linnet.comparison.comparison import Curve

__all__ = ["curve_section", "learning_curve"]

FOLDS = 3


def curve_section(inputs: ReportInputs) -> str | None:
    """Draw the learning curve, where the report was given one."""
    curve = inputs.extra.get("curve")
    if curve is None or len(curve.rows) < 2:
        return None
    found = curve.to_dict()
    points = found["points"]
    first, last = points[0], points[-1]
    layers = [Band([(p["rows"], *p["interval"]) for p in points]), Line([(p["rows"], p["accuracy"]) for p in points])]
    caption = (
        f"Accuracy by training rows: {first['accuracy']:.1%} with {first['rows']:,}, {last['accuracy']:.1%} with "
        f"{last['rows']:,}; the band is the 95 % interval"
    )
    forecast = found["words"].partition(": ")[2]
    return (
        f"<p>{safe(forecast[:1].upper() + forecast[1:])}</p>"
        + figure(layers, Axis("training rows", log=True), Axis("accuracy", percent=True), caption)
        + note(f"Measured by {FOLDS} folds of the training rows with fixed settings.")
    )


def learning_curve(clf: Any, data: Any) -> Curve | None:
    """Return the accuracy of a classifier's settings at growing numbers of rows, by folds; None where rows are too few."""
    from linnet.classifier import TextClassifier
    from linnet.comparison import compare
    from linnet.errors import LinnetError

    chosen = clf.card.get("settings", {})
    fixed = {name: chosen[name] for name, _ in clf.plan().features.grid if name in chosen}
    given = {
        **clf.get_params(deep=False),
        "ratio": chosen.get("ratio"),
        "tf": chosen.get("tf"),
        "params": {**(clf.params or {}), **fixed},
    }
    if clf.features is None:
        given["features"] = chosen.get("features")
    try:
        return compare(data, models={"model": TextClassifier(**given)}, folds=FOLDS, curve=True).curves[0]
    except LinnetError:
        return None
