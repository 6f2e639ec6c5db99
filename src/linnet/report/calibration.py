"""Can the probabilities be trusted? Confidence beside accuracy, in bins of equal mass."""

from __future__ import annotations

from linnet.report.charts import BLUE, altair, figure, rows
from linnet.report.markup import paragraphs
from linnet.report.material import Material

__all__ = ["calibration"]


def calibration(material: Material) -> str:
    """Draw the reliability of the answers."""
    bins = material.result.calibration_bins
    alt = altair()
    data = rows(
        confidence=[round(b.confidence, 4) for b in bins], right=[round(b.accuracy, 4) for b in bins],
        low=[round(b.interval[0], 4) for b in bins], high=[round(b.interval[1], 4) for b in bins],
        rows=[b.size for b in bins],
    )  # fmt: skip
    least = min(0.5, *(b.confidence for b in bins)) if len(bins) > 1 else 0.0
    scale = alt.Scale(domain=[max(0.0, least - 0.03), 1.0], nice=False)
    percent = alt.Axis(format="%")
    base = alt.Chart(data).encode(x=alt.X("confidence:Q", title="what it claims", scale=scale, axis=percent))
    ends = base.mark_rule(color=BLUE, opacity=0.6, strokeWidth=2).encode(
        y=alt.Y("low:Q", title="what is right", axis=percent, scale=alt.Scale(domain=[0, 1])), y2="high:Q"
    )
    points = base.mark_point(color=BLUE, filled=True, size=60, opacity=1).encode(
        y="right:Q", tooltip=["confidence:Q", "right:Q", "low:Q", "high:Q", "rows:Q"]
    )
    ideal = alt.Chart(rows(x=[max(0.0, least - 0.03), 1.0], y=[max(0.0, least - 0.03), 1.0]))
    line = ideal.mark_line(strokeDash=[4, 4], color="#888").encode(x="x:Q", y="y:Q")
    error, span = material.result.calibration_error or 0.0, material.result.calibration_error_interval or (0.0, 1.0)
    words = "Claimed probability and share of right answers, with 95 % intervals; on the dashed line a claim is kept"
    return paragraphs(
        [
            f"Calibration error {error:.4f} ({span[0]:.4f} to {span[1]:.4f}), the mean distance from the line over "
            f"{len(bins)} bins of equal mass. Points below the line: it claims more than it keeps."
        ]
    ) + figure(alt.layer(line, ends, points), words, 300)
