"""Exact and near duplicates within the data: they straddle splits and make every score too good."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from linnet.checks.checked_data import CheckedData, Ints
from linnet.checks.finding import Finding, counted, excerpt, percent
from linnet.text.duplicates import repeats

__all__ = ["duplicates", "near_duplicates"]

ADVICE = "keep them on one side: linnet split --groups duplicates; or remove them: linnet clean --dedup exact,near"
MANY = 0.05


def duplicates(m: CheckedData) -> Finding:
    """Find rows with the very same text; the empty texts that reading set aside are counted with them."""
    n = len(m)
    again = repeats(m.exact[:n])
    empty = Counter(row.text for row in m.data.unusable.rows if row.reason == "empty text")
    n_empty = sum(count - 1 for count in empty.values())
    count, whole = int(again.sum()) + n_empty, n + sum(empty.values())
    if not count:
        return Finding("duplicates", "ok", "no text occurs twice")
    says = f"{count:,} of {whole:,} texts {'repeats' if count == 1 else 'repeat'} an earlier one"
    if n_empty:
        says += f" ({n_empty:,} of them empty)"
    level = "warning" if count >= MANY * whole else "note"
    details = {"rows": count, "empty": n_empty, "groups": int((np.bincount(m.exact[:n]) > 1).sum())}
    return Finding(
        "duplicates", level, says, count, count / whole, ADVICE, _largest(m, m.exact[:n]), details, {"repeats": again}
    )


def near_duplicates(m: CheckedData) -> Finding:
    """Find rows that share at least four fifths of their word triples with another and are not the same text."""
    n = len(m)
    again = repeats(m.near[:n]) & ~repeats(m.exact[:n])
    count = int(again.sum())
    if not count:
        return Finding("near-duplicates", "ok", "no two texts are nearly the same")
    says = f"{counted(count, 'text is', 'texts are')} nearly the same as an earlier one ({percent(count / n)})"
    level = "warning" if count >= MANY * n else "note"
    return Finding(
        "near-duplicates", level, says, count, count / n, ADVICE, _pairs(m, again), {"rows": count}, {"repeats": again}
    )


def _largest(m: CheckedData, groups: Ints, most: int = 5) -> tuple[dict[str, Any], ...]:
    """Return the texts that occur most often."""
    sizes = np.bincount(groups)
    ranked = np.argsort(-sizes, kind="stable")[:most]
    out: list[dict[str, Any]] = []
    for group in ranked[sizes[ranked] > 1].tolist():
        rows = np.flatnonzero(groups == group)
        out.append({"text": excerpt(m.text(int(rows[0]))), "times": len(rows), "rows": m.where(rows[:10])})
    return tuple(out)


def _pairs(m: CheckedData, again: Any, most: int = 5) -> tuple[dict[str, Any], ...]:
    out: list[dict[str, Any]] = []
    for row in np.flatnonzero(again)[:most].tolist():
        first = int(np.flatnonzero(m.near == m.near[row])[0])
        out.append({"text": excerpt(m.text(row)), "like": excerpt(m.text(first)), "rows": m.where([first, row])})
    return tuple(out)
