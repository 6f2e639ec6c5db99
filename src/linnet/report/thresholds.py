"""Thresholds: accuracy when only confident predictions count; for two classes, precision and recall."""

from __future__ import annotations

from typing import Any

import numpy as np

from linnet.draw.charts import Axis, Line, figure
from linnet.draw.formatting import percent
from linnet.draw.markup import table
from linnet.report.inputs import ReportInputs

__all__ = ["coverage", "thresholds"]

POINTS = 101
FEWEST = 20  # rows that an accuracy is drawn for
LIMITS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)  # of the table


def thresholds(inputs: ReportInputs) -> str:
    """Draw accuracy over coverage, and precision, recall and F1 over the threshold for two classes."""
    limits, shares, accuracy = coverage(inputs)
    points = list(zip(shares.tolist(), accuracy.tolist(), strict=True))
    parts = [
        figure(
            [Line(points)], Axis("coverage: share of texts predicted", 0.0, 1.0, percent=True), Axis("accuracy", percent=True),
            "Accuracy when only the most confident predictions are used and the rest is left to people",
        )
    ]  # fmt: skip
    if len(inputs.result.classes) == 2:
        parts.append(_two_classes(inputs))
    at = [int(np.searchsorted(limits, limit - 1e-9)) for limit in LIMITS]
    rows = [
        [percent(limit, 0), percent(shares[k]), percent(accuracy[k])]
        for limit, k in zip(LIMITS, at, strict=True)
        if k < len(limits) and shares[k] < 1
    ]
    listed = table(["confidence at least", "coverage", "accuracy"], rows) if rows else ""
    return f'<div class="pair">{"".join(parts)}</div>{listed}'


def coverage(inputs: ReportInputs) -> tuple[Any, Any, Any]:
    """Return limits of confidence, the share of rows at or above each, and the accuracy of those."""
    order = np.argsort(inputs.confidence, kind="stable")
    sure, right = inputs.confidence[order], inputs.right[order]
    limits = np.round(np.linspace(0, 1, POINTS), 2)
    first = np.searchsorted(sure, limits - 1e-12)
    above = len(sure) - first
    hits = np.concatenate([np.cumsum(right[::-1])[::-1], [0]])[first]
    kept = above >= min(FEWEST, len(sure))
    return limits[kept], above[kept] / len(sure), hits[kept] / above[kept]


def _two_classes(inputs: ReportInputs) -> str:
    result = inputs.result
    positive, P = result.truth == 1, result.proba
    assert P is not None  # noqa: S101 - evaluated with probabilities
    limits = np.round(np.linspace(0.01, 0.99, 99), 2)
    order = np.argsort(P[:, 1], kind="stable")
    first = np.searchsorted(P[order, 1], limits)
    put = len(order) - first
    hits = np.concatenate([np.cumsum(positive[order][::-1])[::-1], [0]])[first]
    total = int(positive.sum())
    some = put > 0  # without predictions there is no precision
    precision, recall, f1 = hits[some] / put[some], hits / max(1, total), 2 * hits / np.maximum(1, put + total)
    best = int(f1.argmax())
    layers = [
        Line(list(zip(limits[some].tolist(), precision.tolist(), strict=True)), "blue", "precision"),
        Line(list(zip(limits.tolist(), recall.tolist(), strict=True)), "orange", "recall", "7 3"),
        Line(list(zip(limits.tolist(), f1.tolist(), strict=True)), "green", "F1", "2 3"),
    ]
    caption = f"Predicting {inputs.names[1]} above a threshold; F1 is best, {f1[best]:.3f}, at {limits[best]:.2f}"
    return figure(layers, Axis("threshold", 0.0, 1.0), Axis("score", 0.0, 1.0), caption)
