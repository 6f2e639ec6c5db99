"""The charts of the Train and Label pages."""

from __future__ import annotations

from collections.abc import Sequence

from linnet.draw.charts import Axis, Band, Line, chart

__all__ = ["estimate_chart", "training_charts"]

Point = tuple[float, float]


def training_charts(
    loss: Sequence[Point], accuracy: Sequence[Point], tried: Sequence[Point] = (), over: bool = False
) -> tuple[str, str]:
    """Draw the training loss and the dev accuracy by pass; without passes, the dev accuracy of the settings tried."""
    empty = "fitted in one step" if over and tried else ""
    left = chart(
        [Line(loss, "orange")], Axis("pass", whole=True), Axis("training loss"), "Training loss by pass", empty=empty
    )
    x = "pass" if accuracy else "settings tried"
    axes = Axis(x, whole=True), Axis("dev accuracy", percent=True)
    return left, chart([Line(accuracy or tried)], *axes, f"Dev accuracy by {x}")


def estimate_chart(points: Sequence[tuple[int, float, float, float]]) -> str:
    """Draw the estimated accuracy by number of labels, (labels, accuracy, low, high), with its interval as a band."""
    shown = points if len(points) > 1 else []
    layers = [Band([(n, low, high) for n, _, low, high in shown]), Line([(n, value) for n, value, _, _ in shown])]
    axes = Axis("labels", whole=True), Axis("accuracy", high=1.0, percent=True)
    return chart(layers, *axes, "Estimated accuracy by number of labels", empty="not yet")
