"""Encoding damage: characters that were lost or read in the wrong encoding, and markup that was not taken off."""

from __future__ import annotations

import numpy as np

from linnet.checks.checked_data import CheckedData
from linnet.checks.finding import Finding, counted, excerpt, percent

__all__ = ["encoding"]

#: kind: (what to look for, as RE2 has it, what it means)
SIGNS = {
    "lost": ("\ufffd", "characters lost (U+FFFD)"),
    "mojibake": (
        "[\u00c3\u00c2][\u0080-\u00bf]|\u00e2\u20ac|\u00e2\u0080|\u00c5[\u0152\u201c]|\u00ef\u00bb\u00bf",
        "UTF-8 read as Windows-1252 (\u00c3\u00a9 for \u00e9)",
    ),
    "control": ("[\u0001-\u0008\u000b\u000e-\u001f\u007f-\u0084\u0086-\u009f]", "control characters"),
    "entities": ("&(amp|lt|gt|quot|nbsp|apos|#[0-9]{1,5}|#x[0-9a-fA-F]{1,4});", "HTML entities (&amp;)"),
    "tags": ("<(br|p|div|span|a|b|i|li|td|tr|img)( [^<>]*)?/?>|</(p|div|span|a|b|i|li|td|tr)>", "HTML tags (<br />)"),
}
DAMAGE = ("lost", "mojibake", "control")


def encoding(m: CheckedData) -> Finding:
    """Count texts with signs of damage, by kind; repairs that reading made are quoted."""
    import pyarrow.compute as pc

    from linnet.data.arrays import to_mask

    counts, rows = {}, {}
    for kind, (pattern, _) in SIGNS.items():
        plain = kind == "lost"
        found = (pc.match_substring if plain else pc.match_substring_regex)(m.data.text, pattern)
        rows[kind] = np.flatnonzero(to_mask(found))
        counts[kind] = len(rows[kind])
    damaged = np.unique(np.concatenate([rows[kind] for kind in DAMAGE]))
    marked = np.unique(np.concatenate([rows["entities"], rows["tags"]]))
    parts = [f"{counts[kind]:,} with {SIGNS[kind][1]}" for kind in SIGNS if counts[kind]]
    details = {**counts, "notes": list(m.data.notes)}
    if not parts and not m.data.notes:
        return Finding("encoding", "ok", "no sign of encoding damage or left-over markup", details=details)
    level = "warning" if len(damaged) >= 0.001 * len(m) and len(damaged) else "note"
    examples = [
        {"kind": kind, "text": excerpt(m.text(int(row))), "row": m.where([row])[0]}
        for kind in SIGNS
        for row in rows[kind][:2].tolist()
    ]
    count = len(damaged) + len(np.setdiff1d(marked, damaged))
    says = "; ".join(
        [
            *([f"{counted(count, 'text')}: {', '.join(parts)} ({percent(count / len(m))})"] if parts else []),
            *m.data.notes,
        ]
    )
    advice = "read the file again in its own encoding (--format, or save it as UTF-8), or repair it: linnet clean"
    return Finding("encoding", level, says, count, count / len(m), advice, tuple(examples), details, {"rows": damaged})
