"""Class imbalance: how good always giving the commonest label would be, and which classes have too few rows."""

from __future__ import annotations

from linnet.checks.checked_data import CheckedData
from linnet.checks.finding import Finding, counted, percent

__all__ = ["imbalance"]

FEW = 10


def imbalance(m: CheckedData) -> Finding:
    """Compare the classes by size."""
    counts = m.data.counts
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    total = sum(counts.values()) if m.data.separator is None else len(m)
    (top, most), (last, least) = ranked[0], ranked[-1]
    few = [name for name, count in ranked if count < FEW]
    share = most / total
    details = {"classes": len(counts), "largest": top, "smallest": last, "baseline": share, "few": few[:50]}
    examples = tuple({"label": name, "rows": count} for name, count in ranked[:10])
    if len(counts) == 1:
        return Finding("imbalance", "problem", f"every row has the label {top!r}", total, 1.0,
                       "a classifier needs at least two labels", examples, details)  # fmt: skip
    says = f"{len(counts):,} classes, {most:,} rows of {top!r} to {least:,} of {last!r}; always predicting {top!r} gives {percent(share)}"
    if few:
        says += f"; {counted(len(few), 'class has', 'classes have')} fewer than {FEW} rows"
    uneven = most >= 10 * least or (share >= 0.8 and len(counts) == 2)
    level = "warning" if few or uneven else "note" if most >= 3 * least else "ok"
    advice = "judge by macro F1, try --class-weight balanced, and collect rows of the rare classes"
    return Finding("imbalance", level, says, len(few), share, advice if level != "ok" else "", examples, details)
