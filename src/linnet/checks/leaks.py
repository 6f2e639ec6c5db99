"""Texts of another set (dev, test) that are in the data too: the score on that set is not a score on new texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from linnet.checks.checked_data import CheckedData
from linnet.checks.finding import Finding, counted, excerpt, percent

__all__ = ["leaks", "near_leaks"]

ADVICE = "take the shared texts out of the data (or of the other set) before you trust a score on it"


def leaks(m: CheckedData) -> Finding:
    """Find texts of the other sets that stand in the data word for word."""
    return _leaks(m, near=False)


def near_leaks(m: CheckedData) -> Finding:
    """Find texts of the other sets that are nearly the same as one in the data, and not the same."""
    return _leaks(m, near=True)


def _leaks(m: CheckedData, near: bool) -> Finding:
    name = "near-leaks" if near else "leaks"
    sets: list[dict[str, Any]] = []
    examples: list[dict[str, Any]] = []
    rows: list[Any] = []
    total, worst = 0, 0.0
    for k, other in enumerate(m.others, 1):
        first, last = m.starts[k], m.starts[k + 1]
        shared = m.exact[first:last] <= m.exact[: len(m)].max()  # groups are numbered by first sight
        if near:
            shared = (m.near[first:last] <= m.near[: len(m)].max()) & ~shared
        count = int(shared.sum())
        rows.append(np.flatnonzero(shared))
        total += count
        share = count / max(1, len(other))
        worst = max(worst, share)
        sets.append({"source": other.source, "count": count, "share": share})
        for row in rows[-1][: 5 - len(examples)].tolist():
            groups = m.near if near else m.exact
            mine = int(np.flatnonzero(groups[: len(m)] == groups[first + row])[0])
            examples.append(
                {
                    "text": excerpt(m.text(first + row)),
                    "source": other.source,
                    "row": row + 1,
                    "in_data": m.where([mine])[0],
                }
            )
    what = "nearly the same as one in the data" if near else "in the data too"
    if not total:
        return Finding(name, "ok", f"no text of {_named(sets)} is {what}", details={"sets": sets})
    parts = [f"{counted(s['count'], 'text')} of {s['source']} ({percent(s['share'])})" for s in sets if s["count"]]
    says = f"{'; '.join(parts)} {'is' if total == 1 else 'are'} {what}"
    level = "problem" if worst >= 0.01 and not near else "warning"
    return Finding(name, level, says, total, worst, ADVICE, tuple(examples), {"sets": sets}, {"rows": rows})


def _named(sets: list[dict[str, Any]]) -> str:
    return ", ".join(str(s["source"]) for s in sets)
