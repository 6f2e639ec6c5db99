"""Drift: labels and words that are more or less frequent in the other sets than in the data.

Shares are compared by the z test of two proportions, corrected for their number (Bonferroni).
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from linnet.checks.checked_data import CheckedData, Finding, percent
from linnet.draw.terminal import count as counted
from linnet.features.blocks import Words

LEVEL = 0.01
LEAST = 5.0  # expected rows on the smaller side: below this the test does not hold
LEAST_MOVED = 0.01  # a smaller change of a share is not worth telling
MUCH = 0.1
SHOWN = 10
ADVICE = "a score on the data says less about these texts: label some of them, and train on rows like them"


def drift(m: CheckedData) -> Finding:
    """Name the labels and words whose share in another set differs by more than chance."""
    blocks, n = (Words(1, 1),), len(m)
    words = m.counted(blocks)
    df = [words.rows.slice(a, b).document_frequency() for a, b in zip(m.starts, m.starts[1:], strict=False)]
    moved: list[dict[str, Any]] = []
    for other, theirs in zip(m.others, df[1:], strict=True):
        found = _moved(df[0], n, theirs, len(other))[: 10 * SHOWN]
        at = np.array([k for k, _, _ in found], dtype=np.int64)
        names = words.names(m.pieces, blocks, at)
        changed = [(f"word '{name}'", before, now) for name, (_, before, now) in zip(names, found, strict=True)]
        if m.data.label is not None and other.label is not None:
            counts = m.data.counts, other.counts
            labels = sorted({*counts[0], *counts[1]})
            sizes = [np.array([some.get(label, 0) for label in labels]) for some in counts]
            of_labels = _moved(sizes[0], n, sizes[1], len(other))
            changed += [(f"label {labels[k]}", before, now) for k, before, now in of_labels]
        moved += [{"what": what, "source": other.source, "before": a, "now": b} for what, a, b in changed]
    if not moved:
        return Finding("drift", "ok", "labels and words are as frequent in the other sets")
    moved.sort(key=lambda one: (-abs(one["now"] - one["before"]), one["what"]))
    most = abs(moved[0]["now"] - moved[0]["before"])
    examples = tuple({**one, "before": percent(one["before"]), "now": percent(one["now"])} for one in moved[:SHOWN])
    first = ", ".join(f"{one['what']} {one['before']} -> {one['now']}" for one in examples[:4])
    says = f"{counted(len(moved), 'word or label is', 'words or labels are')} more or less frequent in the other sets: {first}"
    return Finding("drift", "warning" if most >= MUCH else "note", says, len(moved), most, ADVICE, examples)


def _moved(here: Any, n_here: int, there: Any, n_there: int) -> list[tuple[int, float, float]]:
    """Return which shares differ by more than chance, the largest change first: number, share here, share there.

    >>> _moved(np.array([50, 500]), 1000, np.array([52, 700]), 1000)
    [(1, 0.5, 0.7)]
    """
    a, b, both = here / n_here, there / n_there, (here + there) / (n_here + n_there)
    spread = np.sqrt(np.maximum(both * (1 - both), 1e-12) * (1 / n_here + 1 / n_there))
    tested = both * min(n_here, n_there) >= LEAST
    limit = NormalDist().inv_cdf(1 - LEVEL / 2 / max(1, int(tested.sum())))
    found = np.flatnonzero(tested & (np.abs(b - a) > np.maximum(limit * spread, LEAST_MOVED)))
    order = found[np.argsort(-np.abs(b - a)[found], kind="stable")]
    return [(int(k), float(a[k]), float(b[k])) for k in order]
