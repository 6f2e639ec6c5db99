"""Where to draw the line: answer only when sure; for two classes, trade precision for recall."""

from __future__ import annotations

from typing import Any

import numpy as np

from linnet.report.charts import BLUE, GREEN, ORANGE, altair, figure, rows
from linnet.report.markup import percent, table
from linnet.report.material import Material

__all__ = ["coverage", "thresholds"]

POINTS = 101
FEWEST = 20  # rows that an accuracy is drawn for


def thresholds(material: Material) -> str:
    """Draw accuracy over the share of texts that are answered, and precision and recall for two classes."""
    limits, shares, accuracy = coverage(material)
    alt = altair()
    data = rows(least=limits.tolist(), answered=shares.round(4).tolist(), accuracy=accuracy.round(4).tolist())
    chart = alt.Chart(data).mark_line(color=BLUE, strokeWidth=2).encode(
        x=alt.X("answered:Q", title="share of texts answered", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("accuracy:Q", title="accuracy of these", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False)),
        order="least:Q", tooltip=["least:Q", "answered:Q", "accuracy:Q"],
    )  # fmt: skip
    parts = [
        figure(chart, "Accuracy when only the more certain texts are answered and the rest is left to people", 260)
    ]
    if len(material.result.classes) == 2:
        parts.append(_two_classes(material))
    return f'<div class="pair">{"".join(parts)}</div>' + _examples(limits, shares, accuracy)


def coverage(material: Material) -> tuple[Any, Any, Any]:
    """Return limits of confidence, the share of rows at or above each, and the accuracy of those."""
    order = np.argsort(material.confidence, kind="stable")
    sure, right = material.confidence[order], material.right[order]
    limits = np.round(np.linspace(0, 1, POINTS), 2)
    first = np.searchsorted(sure, limits - 1e-12)
    above = len(sure) - first
    hits = np.concatenate([np.cumsum(right[::-1])[::-1], [0]])[first]
    kept = above >= min(FEWEST, len(sure))
    return limits[kept], above[kept] / len(sure), hits[kept] / above[kept]


def _examples(limits: Any, shares: Any, accuracy: Any) -> str:
    lines = []
    for limit in (0.5, 0.7, 0.8, 0.9, 0.95, 0.99):
        at = int(np.searchsorted(limits, limit - 1e-9))
        if at < len(limits) and shares[at] < 1:
            lines.append([f"at least {percent(limit, 0)} sure", percent(shares[at]), percent(accuracy[at])])
    return table(["answer when", "answered", "right"], lines) if lines else ""


def _two_classes(material: Material) -> str:
    result = material.result
    positive, P = result.truth == 1, result.proba
    assert P is not None  # noqa: S101 - evaluated with probabilities
    limits = np.round(np.linspace(0.01, 0.99, 99), 2)
    order = np.argsort(P[:, 1], kind="stable")
    first = np.searchsorted(P[order, 1], limits)
    put = len(order) - first
    hits = np.concatenate([np.cumsum(positive[order][::-1])[::-1], [0]])[first]
    total = int(positive.sum())
    precision = np.divide(hits, put, out=np.ones(len(limits)), where=put > 0)
    recall = hits / max(1, total)
    f1 = 2 * hits / np.maximum(1, put + total)
    best = int(f1.argmax())
    names = ["precision", "recall", "F1"]
    drawn = np.concatenate([put > 0, np.ones(2 * len(limits), bool)])  # no answer, no precision
    data = rows(
        threshold=np.tile(limits, 3)[drawn].tolist(), what=np.repeat(names, len(limits))[drawn].tolist(),
        score=np.concatenate([precision, recall, f1])[drawn].round(4).tolist(),
    )  # fmt: skip
    alt = altair()
    what = alt.Color("what:N", title=None, scale=alt.Scale(domain=names, range=[BLUE, ORANGE, GREEN]),
                     legend=alt.Legend(orient="top"))  # fmt: skip
    chart = alt.Chart(data).mark_line(strokeWidth=2).encode(
        x=alt.X("threshold:Q", title="threshold"), y=alt.Y("score:Q", title=None, scale=alt.Scale(domain=[0, 1])),
        color=what, strokeDash=alt.StrokeDash("what:N", sort=names, legend=None), tooltip=["what:N", "threshold:Q", "score:Q"],
    )  # fmt: skip
    words = f"Answering {material.names[1]} above a threshold; F1 is best, {f1[best]:.3f}, at {limits[best]:.2f}"
    return figure(chart, words, 260)
