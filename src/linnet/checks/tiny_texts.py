"""Empty and tiny texts: nothing can be learned from them, and nothing said about them."""

from __future__ import annotations

import numpy as np

from linnet.checks.checked_data import CheckedData
from linnet.checks.finding import Finding, counted, excerpt, percent

__all__ = ["tiny"]

TINY = 2  # characters
SHORT = 64  # bytes: longer texts are taken to hold something


def tiny(m: CheckedData) -> Finding:
    """Find texts that are empty (set aside when reading), of one or two characters, or without a letter or digit."""
    from linnet.data.arrays import lengths

    empty = int(m.data.unusable.counts.get("empty text", 0))
    small = np.concatenate([np.zeros(0, bool), *(lengths(chunk) <= SHORT for chunk in m.data.text.chunks)])
    suspects = m.data.take(np.flatnonzero(small)).text  # only short texts can be tiny, or nearly so
    texts = [text.strip() for text in suspects.to_pylist()]
    odd = [len(text) <= TINY or not any(c.isalnum() for c in text) for text in texts]
    rows = np.flatnonzero(small)[np.array(odd, dtype=bool)]
    details = {"empty": empty, "tiny": len(rows)}
    if not empty and not len(rows):
        return Finding("tiny", "ok", "no text is empty or tiny", details=details)
    whole = len(m) + empty
    parts = [f"{counted(empty, 'text')} {'is' if empty == 1 else 'are'} empty and left out"] if empty else []
    if len(rows):
        what = f"{'is' if len(rows) == 1 else 'are'} tiny (two characters or fewer, or no letter or digit)"
        parts.append(f"{counted(len(rows), 'text')} {what}")
    count = empty + len(rows)
    level = "warning" if count >= 0.02 * whole else "note"
    examples = [{"text": excerpt(m.text(int(row))), "row": m.where([row])[0]} for row in rows[:5].tolist()]
    examples += [{"text": "", "row": row.row} for row in m.data.unusable.rows if row.reason == "empty text"][:5]
    says = f"{'; '.join(parts)} ({percent(count / whole)})"
    advice = "leave them out, or find out where their texts got lost"
    return Finding("tiny", level, says, count, count / whole, advice, tuple(examples), details, {"rows": rows})
