"""Loopholes: words that give a label away in this data and will not in new texts.

Three signs. A word that stands almost only under one label and in much of it: an id per class, a source, a signature. A
date, a number, an address or a header that leans to one label: it belongs to how the data was collected. A word that
separates the data and not the other set (without one: the first half of the rows of each class and not the second), as
the name of a weekday does where all texts of one topic were collected on one day.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from math import exp, lgamma
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.checks.checked_data import CheckedData, Finding, percent
from linnet.draw.terminal import count as counted
from linnet.features.blocks import Words
from linnet.features.counting import names_of

Floats = npt.NDArray[np.float64]
PURE, COVERS = 0.97, 0.3  # lower bound of the purity, and the share of the class, of a word that gives the label away
ODD_PURE, ODD_COVERS = 0.8, 0.02  # the same for dates, numbers, addresses
FEW = 50  # rows: below this no test can be significant, so what is seen counts
MOST = 20
_DAYS = "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri"
_MONTHS = "january february april june july august september october november december jan feb apr jun jul aug sept oct nov dec"
_CALENDAR = frozenset(f"{_DAYS} {_MONTHS}".split())
ADVICE = "ask whether new texts will have it; if not, take it out of the texts (or split by it: linnet split --groups)"


def kind_of(word: str) -> str:
    """Say what a word looks like: "date", "address", "number", "id" or "word".

    >>> [kind_of(word) for word in ("friday", "2024", "x17b", "someone@mail.org", "www.site.com", "good", "19:30")]
    ['date', 'number', 'id', 'address', 'address', 'word', 'number']
    """
    if word in _CALENDAR:
        return "date"
    if "@" in word[1:] or re.search(r"\.(com|org|net|edu|gov|co|de|uk)$|^www\.|^https?", word):
        return "address"
    if re.fullmatch(r"[\d.,:/\-]*\d[\d.,:/\-]*", word):
        return "number"
    return "id" if any(c.isdigit() for c in word) and any(c.isalpha() for c in word) else "word"


def loopholes(m: CheckedData) -> Finding:
    """Name words that give a label away, odd ones first."""
    if len(m.labels) < 2:
        return Finding("loopholes", "ok", "one label only: nothing to give away")
    table = _Table.of(m)
    found = {**_giving_away(m, table), **_fading(m, table)}  # a word that does both is told once, as the latter
    ranked = sorted(found.values(), key=lambda one: (-one["weight"], one["word"]))
    listed = [{k: v for k, v in one.items() if k != "weight"} for one in ranked[:MOST]]
    headers, share = _headers(m)
    details: dict[str, Any] = {"words": len(ranked), "headers": headers, "header_share": share}
    parts = []
    if ranked:
        names = ", ".join(f"'{one['word']}' ({one['label']}, {one['why']})" for one in listed[:4])
        parts.append(
            f"{counted(len(ranked), 'word')} may give the label away: {names}{' ...' if len(ranked) > 4 else ''}"
        )
    if share >= 0.2:
        parts.append(f"{percent(share)} of texts begin with header lines ({', '.join(headers[:5])})")
    if not parts:
        return Finding("loopholes", "ok", "no single word gives a label away", details=details)
    level = "warning" if share >= 0.2 else "note"
    for one in listed:
        if one["sure"] and one["share_of_label"] >= 0.02:  # only another set (or the later rows) can prove a loophole
            proved = one["elsewhere"] is not None and one["share_of_label"] >= 0.3
            level = "problem" if proved or level == "problem" else "warning"
    return Finding("loopholes", level, "; ".join(parts), len(ranked), None, ADVICE, tuple(listed), details)


@dataclass(frozen=True)
class _Table:
    """How many texts of each class hold each word, (n_words, n_classes), and how many there are, (n_classes,)."""

    names: list[str]
    what: str  # that the data is compared with
    whole: Floats  # of all the data
    here: Floats  # of the part that is compared
    there: Floats  # of what it is compared with
    whole_sizes: Floats
    sizes: Floats
    other_sizes: Floats

    @classmethod
    def of(cls, m: CheckedData) -> _Table:
        blocks, n, k = (Words(1, 1),), len(m), len(m.labels)
        counted_ = m.counted(blocks)
        df = counted_.rows.slice(0, n).document_frequency()
        kept = np.flatnonzero(df >= (1 if n < FEW else max(3, n // 5000)))
        numbers = np.full(len(df), -1, np.int32)
        numbers[kept] = np.arange(len(kept), dtype=np.int32)
        every = counted_.rows.take(np.arange(m.starts[-1])).keep(numbers)  # a copy: others count on the same rows
        y, there = _compared(m)
        groups = (np.arange(len(y)) < n, ~there, there)
        classes = [np.where(group, y, k).astype(np.int32) for group in groups]  # the last: of other groups, or unknown
        counts = [every.class_counts(mine, k + 1)[:, :k].astype(np.float64) for mine in classes]
        sizes = [np.bincount(mine, minlength=k + 1)[:k].astype(np.float64) for mine in classes]
        data, offsets = names_of(m.pieces, blocks, counted_.seen.take(kept), counted_.fingerprints[kept])
        raw = data.tobytes()
        names = [raw[a:b].decode("utf-8", "replace") for a, b in pairwise(offsets.tolist())]
        return cls(names, "the other set" if m.others else "the later rows", *counts, *sizes)


def _compared(m: CheckedData) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Return the class of each row of all sets (unknown labels: one more), and which rows are compared with."""
    k, n = len(m.labels), len(m)
    if not m.others:
        there = np.zeros(n, dtype=bool)
        for code in range(k):
            mine = np.flatnonzero(m.codes == code)
            there[mine[(len(mine) + 1) // 2 :]] = True
        return m.codes, there
    number = {label: code for code, label in enumerate(m.labels)}
    parts = [m.codes]
    for other in m.others:
        labels = [""] * len(other) if other.label is None else other.label.to_pylist()
        parts.append(np.array([number.get(label, k) for label in labels], dtype=np.int32))
    y = np.concatenate(parts)
    return y, np.arange(len(y)) >= n


def _giving_away(m: CheckedData, table: _Table) -> dict[str, dict[str, Any]]:
    """Find words almost all of whose texts have one label, and that much of the label has; odd words with less."""
    from linnet.evaluate.intervals import wilson

    counts, sizes = table.whole, table.whole_sizes
    df = counts.sum(axis=1)
    best = (counts / np.maximum(sizes, 1)).argmax(axis=1)
    hits = counts[np.arange(len(counts)), best]
    purity, covers = hits / np.maximum(df, 1), hits / np.maximum(sizes[best], 1)
    base = sizes[best] / sizes.sum()
    lean = (purity >= np.minimum(ODD_PURE, 0.5 + base / 2)) & (covers >= ODD_COVERS) & (purity - base >= 0.2)
    found = {}
    for j in np.flatnonzero(lean).tolist():
        kind = kind_of(table.names[j])
        low = wilson(int(hits[j]), int(df[j]))[0]
        tiny = len(m) < FEW
        pure = low >= PURE and covers[j] >= COVERS
        odd = kind != "word" and (low >= max(base[j] + 0.1, 0.6) or tiny)
        if pure or odd:
            why = f"in {percent(covers[j])} of its texts, {percent(purity[j])} of all with it"
            if kind != "word":
                why = f"a{'n' if kind in ('id', 'address') else ''} {kind}; {why}"
            found[table.names[j]] = {
                "word": table.names[j], "label": m.labels[best[j]], "kind": kind, "why": why, "purity": round(float(purity[j]), 4),
                "share_of_label": round(float(covers[j]), 4), "texts": int(df[j]), "elsewhere": None, "sure": not tiny,
                "weight": float(covers[j] * purity[j]) + 0.5 * (kind != "word"),
            }  # fmt: skip
    return found


def _fading(m: CheckedData, table: _Table) -> dict[str, dict[str, Any]]:
    """Find words that lean to a label here and not there."""
    here, there = table.here, table.there
    n1, n2 = here.sum(axis=1), there.sum(axis=1)
    if not n2.any() or not table.other_sizes.sum():
        return {}
    base1, base2 = table.sizes / table.sizes.sum(), table.other_sizes / table.other_sizes.sum()
    share1, share2 = here / np.maximum(n1, 1)[:, None], there / np.maximum(n2, 1)[:, None]
    best = (share1 - base1).argmax(axis=1)
    at = np.arange(len(here))
    lift1, lift2 = share1[at, best] - base1[best], share2[at, best] - base2[best]
    tested = (lift1 >= 0.25) & (n1 >= (1 if len(m) < FEW else 8)) & (n2 > 0)
    faded = np.flatnonzero(tested & (lift2 <= 0.25 * lift1))
    a, b = here[faded, best[faded]], there[faded, best[faded]]
    p = [_at_most(*map(int, four)) for four in zip(b, n2[faded], a + b, n1[faded] + n2[faded], strict=True)]
    limit = 0.01 / max(1, int(tested.sum()))
    few = len(m) < FEW
    found = {}
    for j, chance in zip(faded.tolist(), p, strict=True):
        # with few rows nothing is significant: a word that is pure here and never right there is named all the same
        contradicted = few and share1[j, best[j]] == 1.0 and there[j, best[j]] == 0
        if chance > limit and not contradicted:
            continue
        why = f"{percent(share1[j, best[j]])} of texts with it here, {percent(share2[j, best[j]])} in {table.what}"
        found[table.names[j]] = {
            "word": table.names[j], "label": m.labels[best[j]], "kind": kind_of(table.names[j]), "why": why,
            "purity": round(float(share1[j, best[j]]), 4),
            "share_of_label": round(float(here[j, best[j]] / max(table.sizes[best[j]], 1)), 4), "texts": int(n1[j]),
            "elsewhere": round(float(share2[j, best[j]]), 4),
            "sure": chance <= limit, "weight": float((lift1[j] - lift2[j]) * here[j, best[j]] / max(table.sizes[best[j]], 1)),
        }  # fmt: skip
    return found


def _at_most(hits: int, drawn: int, marked: int, total: int) -> float:
    """Return the chance of at most this many hits when drawing from a box with marked balls (Fisher's exact test).

    >>> round(_at_most(1, 3, 4, 10), 4)
    0.6667
    """

    def choose(n: int, k: int) -> float:
        return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)

    low = max(0, drawn - (total - marked))
    logs = [choose(marked, x) + choose(total - marked, drawn - x) for x in range(low, hits + 1)]
    return min(1.0, sum(exp(x - choose(total, drawn)) for x in logs))


def _headers(m: CheckedData) -> tuple[list[str], float]:
    """Return the commonest header names and the share of texts that begin with a header line."""
    import pyarrow.compute as pc

    from linnet.data.arrays import to_mask

    hit = to_mask(pc.match_substring_regex(m.data.text, r"^[A-Z][A-Za-z]*(-[A-Z][A-Za-z]*)*: [^\n]*\n"))
    rows = np.flatnonzero(hit)
    names: Counter[str] = Counter()
    for row in rows[:: max(1, len(rows) // 300)].tolist():
        head = m.text(row)[:2000].split("\n\n")[0]
        names.update(set(re.findall(r"(?m)^([A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)*): ", head)))
    return [name for name, _ in names.most_common(8)], len(rows) / max(1, len(m))
