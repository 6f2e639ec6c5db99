"""Calibration: confidence against accuracy, in bins of equal size."""

from __future__ import annotations

from linnet.draw.charts import Axis, Line, Points, Ranges, figure
from linnet.draw.formatting import count, percent
from linnet.report.inputs import ReportInputs

__all__ = ["calibration"]


def calibration(inputs: ReportInputs) -> str:
    """Draw a reliability diagram."""
    bins = inputs.result.calibration_bins
    low = max(0.0, min((0.5, *(b.confidence for b in bins))) - 0.03) if len(bins) > 1 else 0.0
    titles = [
        f"confidence {percent(b.confidence)}: accuracy {percent(b.accuracy)} ({percent(b.interval[0])} to "
        f"{percent(b.interval[1])}), {count(b.size, 'row')}"
        for b in bins
    ]
    layers = [
        Line([(low, low), (1.0, 1.0)], "grey", dash="4 4", titles=False),
        Ranges([(b.confidence, *b.interval) for b in bins]),
        Points([(b.confidence, b.accuracy) for b in bins], titles=titles),
    ]
    error, ends = inputs.result.calibration_error or 0.0, inputs.result.calibration_error_interval or (0.0, 1.0)
    return (
        f"<p>Calibration error {error:.4f} ({ends[0]:.4f} to {ends[1]:.4f}): the mean distance from the diagonal over "
        f"{len(bins)} bins of equal size. Below the diagonal the model is overconfident, above it underconfident.</p>"
    ) + figure(
        layers, Axis("confidence", low, 1.0, percent=True), Axis("accuracy", 0.0, 1.0, percent=True),
        "Accuracy by confidence, with 95 % intervals; a calibrated model lies on the diagonal",
    )  # fmt: skip
