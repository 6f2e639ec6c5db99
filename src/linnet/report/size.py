"""How much would more rows help? Accuracy at growing numbers of training rows, and what twice as many would bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linnet.report.charts import BLUE, altair, figure, rows
from linnet.report.markup import note, safe
from linnet.report.material import Material

if TYPE_CHECKING:
    from linnet.comparison.comparison import Curve

__all__ = ["learning_curve", "size"]

FOLDS = 3


def size(material: Material) -> str | None:
    """Draw the learning curve, where the report was given one."""
    curve = material.extra.get("curve")
    if curve is None or len(curve.rows) < 2:
        return None
    alt = altair()
    points = curve.to_dict()["points"]
    data = rows(
        rows=[p["rows"] for p in points], accuracy=[p["accuracy"] for p in points],
        low=[p["interval"][0] for p in points], high=[p["interval"][1] for p in points],
    )  # fmt: skip
    x = alt.X("rows:Q", title="training rows", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~s"))
    y = alt.Y("accuracy:Q", title="accuracy on held-out rows", scale=alt.Scale(zero=False))
    band = (
        alt.Chart(data)
        .mark_area(color=BLUE, opacity=0.2)
        .encode(x=x, y=alt.Y("low:Q", title="accuracy on held-out rows"), y2="high:Q")
    )
    line = alt.Chart(data).mark_line(color=BLUE, point={"color": BLUE}).encode(
        x=x, y=y, tooltip=["rows:Q", "accuracy:Q", "low:Q", "high:Q"]
    )  # fmt: skip
    first, last = points[0], points[-1]
    words = (
        f"Accuracy by training rows: {first['accuracy']:.1%} of {first['rows']:,}, {last['accuracy']:.1%} of "
        f"{last['rows']:,}; the band is the 95 % interval"
    )
    ahead = curve.to_dict()["words"].partition(": ")[2]
    told = f"<p>{safe(ahead[:1].upper() + ahead[1:])}</p>"
    return told + figure(band + line, words) + note(f"Measured by {FOLDS} folds of the training rows, settings fixed.")


def learning_curve(clf: Any, data: Any) -> Curve | None:
    """Return the accuracy of a classifier's settings at growing numbers of rows, by folds; None where rows are too few."""
    from linnet.classifier import TextClassifier
    from linnet.comparison import compare
    from linnet.errors import LinnetError

    chosen = clf.card.get("settings", {})
    fixed = {name: chosen[name] for name, _ in clf.plan().features.grid if name in chosen}
    given = {**clf.get_params(), "ratio": chosen.get("ratio"), "params": {**(clf.params or {}), **fixed}}
    try:
        return compare(data, models={"model": TextClassifier(**given)}, folds=FOLDS, curve=True).curves[0]
    except LinnetError:
        return None
