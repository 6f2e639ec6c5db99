"""Checks of rows one by one, or of one with another: duplicates, leaks, conflicts, class sizes, tiny texts, encoding, drift."""

from __future__ import annotations

from collections import Counter
from statistics import NormalDist
from typing import Any

import numpy as np

from linnet.checks.checked_data import CheckedData, Finding, excerpt, percent
from linnet.data.arrays import lengths, to_mask
from linnet.draw.terminal import count as counted
from linnet.features.blocks import Words
from linnet.text.duplicates import repeats

# ---- Exact and near duplicates within the data: they straddle splits and make every score too good.


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
    sizes = np.bincount(m.exact[:n])
    details = {"rows": count, "empty": n_empty, "groups": int((sizes > 1).sum())}
    examples: list[dict[str, Any]] = []
    most = np.argsort(-sizes, kind="stable")[: min(5, details["groups"])]  # the texts that occur most often
    for group in most.tolist():
        rows = np.flatnonzero(m.exact[:n] == group)
        examples.append({"text": excerpt(m.text(int(rows[0]))), "times": len(rows), "rows": m.where(rows[:10])})
    return Finding(
        "duplicates", _level(count, MANY * whole), says, count, count / whole, ADVICE, tuple(examples), details, {"repeats": again}
    )  # fmt: skip


def _level(count: int, many: float) -> str:
    return "warning" if count >= many else "note"


def near_duplicates(m: CheckedData) -> Finding:
    """Find rows that share at least four fifths of their word triples with another and are not the same text."""
    n = len(m)
    again = repeats(m.near[:n]) & ~repeats(m.exact[:n])
    count = int(again.sum())
    if not count:
        return Finding("near-duplicates", "ok", "no two texts are nearly the same")
    says = f"{counted(count, 'text is', 'texts are')} nearly the same as an earlier one ({percent(count / n)})"
    examples: list[dict[str, Any]] = []
    for row in np.flatnonzero(again)[:5].tolist():
        first = int(np.flatnonzero(m.near == m.near[row])[0])
        examples.append({"text": excerpt(m.text(row)), "like": excerpt(m.text(first)), "rows": m.where([first, row])})
    level, details = _level(count, MANY * n), {"rows": count}
    return Finding(
        "near-duplicates", level, says, count, count / n, ADVICE, tuple(examples), details, {"repeats": again}
    )


# ---- Texts of another set (dev, test) that are in the data too: the score on that set is not a score on new texts.


LEAK_ADVICE = "take the shared texts out of the data (or of the other set) before you trust a score on it"


def leaks(m: CheckedData, near: bool = False) -> Finding:
    """Find texts of the other sets that stand in the data word for word, or that are nearly the same as one there."""
    name, groups = ("near-leaks", m.near) if near else ("leaks", m.exact)
    sets: list[dict[str, Any]] = []
    examples: list[dict[str, Any]] = []
    rows: list[Any] = []
    for other, first, last in zip(m.others, m.starts[1:-1], m.starts[2:], strict=True):
        shared = groups[first:last] <= groups[: len(m)].max()  # groups are numbered by first sight
        if near:
            shared &= m.exact[first:last] > m.exact[: len(m)].max()
        rows.append(np.flatnonzero(shared))
        sets.append({"source": other.source, "count": len(rows[-1]), "share": len(rows[-1]) / max(1, len(other))})
        for row in rows[-1][: 5 - len(examples)].tolist():
            mine = m.where(np.flatnonzero(groups[: len(m)] == groups[first + row])[:1])[0]
            text = excerpt(m.text(first + row))
            examples.append({"text": text, "source": other.source, "row": row + 1, "in_data": mine})
    total, worst = sum(s["count"] for s in sets), max(s["share"] for s in sets)
    what = "nearly the same as one in the data" if near else "in the data too"
    if not total:
        named = ", ".join(str(s["source"]) for s in sets)
        return Finding(name, "ok", f"no text of {named} is {what}", details={"sets": sets})
    parts = [f"{counted(s['count'], 'text')} of {s['source']} ({percent(s['share'])})" for s in sets if s["count"]]
    says = f"{'; '.join(parts)} {'is' if total == 1 else 'are'} {what}"
    level = "problem" if worst >= 0.01 and not near else "warning"
    return Finding(name, level, says, total, worst, LEAK_ADVICE, tuple(examples), {"sets": sets}, {"rows": rows})


# ---- The same text with different labels: no model can predict all of them.


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
    return Finding(
        "conflicts", _level(len(rows), 0.005 * len(m)), says, len(torn), len(rows) / len(m),
        "decide on one label for each, or leave them out",
        tuple(examples), {"texts": len(torn), "rows": len(rows)}, {"rows": rows},
    )  # fmt: skip


# ---- Class imbalance: how good always giving the commonest label would be, and which classes have too few rows.


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


# ---- Empty and tiny texts: nothing can be learned from them, and nothing said about them.


TINY = 2  # characters
SHORT = 64  # bytes: longer texts are taken to hold something


def tiny(m: CheckedData) -> Finding:
    """Find texts that are empty (set aside when reading), of one or two characters, or without a letter or digit."""
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
    examples = [{"text": excerpt(m.text(int(row))), "row": m.where([row])[0]} for row in rows[:5].tolist()]
    examples += [{"text": "", "row": row.row} for row in m.data.unusable.rows if row.reason == "empty text"][:5]
    says = f"{'; '.join(parts)} ({percent(count / whole)})"
    advice = "leave them out, or find out where their texts got lost"
    level = _level(count, 0.02 * whole)
    return Finding("tiny", level, says, count, count / whole, advice, tuple(examples), details, {"rows": rows})


# ---- Encoding damage: characters that were lost or read in the wrong encoding, and markup that was not taken off.


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

    rows = {}
    for kind, (pattern, _) in SIGNS.items():
        rows[kind] = np.flatnonzero(to_mask(pc.match_substring_regex(m.data.text, pattern)))
    counts = {kind: len(found) for kind, found in rows.items()}
    damaged = np.unique(np.concatenate([rows[kind] for kind in DAMAGE]))
    marked = np.unique(np.concatenate([rows["entities"], rows["tags"]]))
    parts = [f"{counts[kind]:,} with {SIGNS[kind][1]}" for kind in SIGNS if counts[kind]]
    details = {**counts, "notes": list(m.data.notes)}
    if not parts and not m.data.notes:
        return Finding("encoding", "ok", "no sign of encoding damage or left-over markup", details=details)
    examples = [
        {"kind": kind, "text": excerpt(m.text(int(row))), "row": m.where([row])[0]}
        for kind in SIGNS
        for row in rows[kind][:2].tolist()
    ]
    count = len(damaged) + len(np.setdiff1d(marked, damaged))
    found_ = [f"{counted(count, 'text')}: {', '.join(parts)} ({percent(count / len(m))})"] if parts else []
    says, level = "; ".join([*found_, *m.data.notes]), _level(len(damaged), max(1, 0.001 * len(m)))
    advice = "read the file again in its own encoding (--format, or save it as UTF-8), or repair it: linnet clean"
    return Finding("encoding", level, says, count, count / len(m), advice, tuple(examples), details, {"rows": damaged})


# ---- Drift: labels and words that are more or less frequent in the other sets than in the data. Shares are compared by the z test
# of two proportions, corrected for their number (Bonferroni).


LEVEL = 0.01
LEAST = 5.0  # expected rows on the smaller side: below this the test does not hold
LEAST_MOVED = 0.01  # a smaller change of a share is not worth telling
MUCH = 0.1
SHOWN = 10
DRIFT_ADVICE = "a score on the data says less about these texts: label some of them, and train on rows like them"


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
    return Finding("drift", "warning" if most >= MUCH else "note", says, len(moved), most, DRIFT_ADVICE, examples)


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
