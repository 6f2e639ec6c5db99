"""The same text with different labels: no model can predict all of them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from linnet.checks.checked_data import CheckedData
from linnet.checks.finding import Finding, counted, excerpt

__all__ = ["conflicts"]


def conflicts(m: CheckedData) -> Finding:
    """Find texts that occur with more than one label."""
    groups = m.exact[: len(m)]
    several = np.flatnonzero(np.bincount(groups)[groups] > 1)
    pairs = np.unique(groups[several] * np.int64(len(m.labels) + 1) + m.codes[several])
    torn = np.flatnonzero(np.bincount(pairs // (len(m.labels) + 1)) > 1)
    rows = several[np.isin(groups[several], torn)]
    if not len(torn):
        return Finding("conflicts", "ok", "no text has different labels")
    examples = []
    for group in torn[:5].tolist():
        mine = np.flatnonzero(groups == group)
        labels = Counter(m.label(int(row)) for row in mine)
        examples.append({"text": excerpt(m.text(int(mine[0]))), "labels": dict(labels), "rows": m.where(mine[:10])})
    says = f"{counted(len(torn), 'text')} {'has' if len(torn) == 1 else 'have'} different labels ({len(rows):,} rows)"
    level = "warning" if len(rows) >= 0.005 * len(m) else "note"
    return Finding(
        "conflicts", level, says, len(torn), len(rows) / len(m), "decide on one label for each, or leave them out",
        tuple(examples), {"texts": len(torn), "rows": len(rows)}, {"rows": rows},
    )  # fmt: skip
