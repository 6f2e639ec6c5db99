"""Loopholes: words that give a label away in this data and will not in new texts.

Three signs. A word that stands almost only under one label and in much of it: an id per class, a source, a signature. A
date, a number, an address or a header that leans to one label: it belongs to how the data was collected. A word that
separates the data and not the other set (without one: the first half of the rows of each class and not the second), as
the name of a weekday does where all texts of one topic were collected on one day.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from math import exp, lgamma
from typing import Any

import numpy as np

from linnet.array_types import Array, Bools
from linnet.checks.checked_data import LEVELS, CheckedData, Finding, percent
from linnet.draw.terminal import count as counted
from linnet.features.blocks import Words
from linnet.features.counting import SparseCounts

PURE, COVERS = 0.97, 0.3  # lower bound of the purity, and the share of the class, of a word that gives the label away
ODD_PURE, ODD_COVERS = 0.8, 0.02  # the same for dates, numbers, addresses
LONG_NUMBER, LONG_ID = 4, 3  # digits of a number, characters of an id
WARN_ODD = 0.1  # share of the label's texts from which a date, number, id or address is a warning
WARN_WORD = 0.9  # and a word
FEW = 50  # rows: below this no test can be significant, so what is seen counts
MOST = 20
_DAYS = "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri"
_MONTHS = "january february april june july august september october november december jan feb apr jun jul aug sept oct nov dec"
_CALENDAR = frozenset(f"{_DAYS} {_MONTHS}".split())
ADVICE = "ask whether new texts will have it; if not, take it out of the texts (or split by it: linnet split --groups)"


def kind_of(word: str) -> str:
    """Say what a word looks like: "date", "address", "number", "id" or "word".

    A short number and a quantity with its unit are words: people write them, and new texts will have them.

    >>> [kind_of(word) for word in ("friday", "2024", "x17b", "someone@mail.org", "www.site.com", "good", "19:30")]
    ['date', 'number', 'id', 'address', 'address', 'word', 'number']
    >>> [kind_of(word) for word in ("16", "401k", "150p", "w2")]
    ['word', 'word', 'word', 'word']
    """
    digits = sum(c.isdigit() for c in word)
    if word in _CALENDAR:
        return "date"
    if "@" in word[1:] or re.search(r"\.(com|org|net|edu|gov|co|de|uk)$|^www\.|^https?", word):
        return "address"
    if re.fullmatch(r"[\d.,:/\-]*\d[\d.,:/\-]*", word):
        return "number" if digits >= LONG_NUMBER else "word"
    mixed = digits and any(c.isalpha() for c in word) and len(word) >= LONG_ID
    return "id" if mixed and not re.fullmatch(r"[\d.,]+[a-z]{1,3}", word) else "word"


def loopholes(m: CheckedData) -> Finding:
    """Name words that give a label away, odd ones first."""
    if len(m.data.labels) < 2:
        return Finding("loopholes", "ok", "one label only: nothing to give away")
    table = _Table(m)
    found = {**_giving_away(m, table), **_fading(m, table)}  # a word that does both is told once, as the latter
    ranked = sorted(found.values(), key=lambda one: (-one["weight"], one["word"]))
    listed = [{k: v for k, v in one.items() if k != "weight"} for one in ranked[:MOST]]
    headers, share = _headers(m)
    details: dict[str, Any] = {"words": len(ranked), "headers": headers, "header_share": share}
    parts = []
    if ranked:
        names = ", ".join(f"'{one['word']}' ({one['label']}, {one['why']})" for one in listed[:4])
        names += " ..." if len(ranked) > 4 else ""
        parts.append(f"{counted(len(ranked), 'word')} may give the label away: {names}")
    if share >= 0.2:
        parts.append(f"{percent(share)} of texts begin with header lines ({', '.join(headers[:5])})")
    if not parts:
        return Finding("loopholes", "ok", "no single word gives a label away", details=details)
    levels = ["warning" if share >= 0.2 else "note", *map(_level, listed)]
    level = max(levels, key=LEVELS.index)
    return Finding("loopholes", level, "; ".join(parts), len(ranked), None, ADVICE, tuple(listed), details)


def _level(one: dict[str, Any]) -> str:
    """Return how bad a word is: only another set, or the later rows, can prove a loophole."""
    share = one["share_of_label"] if one["sure"] else 0.0
    if one["elsewhere"] is not None:
        return "problem" if share >= COVERS else "warning" if share >= ODD_COVERS else "note"
    return "warning" if share >= (WARN_WORD if one["kind"] == "word" else WARN_ODD) else "note"


class _Side:
    """Some rows: how many texts of each class hold each word, (n_words, n_classes), and how many there are.

    ``df`` are the texts with each word; one with several labels counts once.
    """

    def __init__(self, words: SparseCounts, y: Array, rows: Bools, k: int) -> None:
        if y.ndim == 2:
            mine = y & rows[:, None]
            counts, sizes, labelled = words.class_counts(mine, k), mine.sum(axis=0), mine.any(axis=1)
            df = words.take(np.flatnonzero(labelled)).document_frequency()
        else:
            codes = np.where(rows, y, k).astype(np.int32)  # the last: of other rows, or unknown
            counts, sizes = words.class_counts(codes, k + 1)[:, :k], np.bincount(codes, minlength=k + 1)[:k]
            df, labelled = counts.sum(axis=1), codes < k
        self.counts, self.sizes, self.df = (np.asarray(one, np.float64) for one in (counts, sizes, df))
        self.rows = int(labelled.sum())


class _Table:
    """The words of all the data, of the part that is compared, and of what it is compared with."""

    def __init__(self, m: CheckedData) -> None:
        blocks, n, k = (Words(1, 1),), len(m), len(m.data.labels)
        counted_ = m.counted(blocks)
        df = counted_.rows.slice(0, n).document_frequency()
        kept = np.flatnonzero(df >= (1 if n < FEW else max(3, n // 5000)))
        copied = replace(counted_, rows=counted_.rows.take(np.arange(m.starts[-1])))  # others count on the same rows
        every = copied.keep(kept).rows
        y, there = _compared(m)
        sides = (np.arange(len(y)) < n, ~there, there)
        self.whole, self.here, self.there = (_Side(every, y, rows, k) for rows in sides)
        self.names = list(counted_.names(m.pieces, blocks, kept))
        self.what = "the other set" if m.others else "the later rows"


def _compared(m: CheckedData) -> tuple[Array, Bools]:
    """Return the class of each row of all sets, and which rows are compared with.

    An unknown label is one class more. Where rows may have several labels, the classes are an indicator matrix.
    """
    labels, n = m.data.labels, len(m)
    number = {label: code for code, label in enumerate(labels)}
    if m.data.separator is None:
        listed = [[""] * len(other) if other.label is None else other.label.to_pylist() for other in m.others]
        codes = [np.array([number.get(label, len(labels)) for label in some], dtype=np.int32) for some in listed]
        y = np.concatenate([m.codes, *codes])
    else:
        y = np.concatenate([m.indicators(data) for data in (m.data, *m.others)])
    there = np.arange(len(y)) >= n
    if not m.others:
        for code in range(len(m.labels)):
            mine = np.flatnonzero(m.codes == code)
            there[mine[(len(mine) + 1) // 2 :]] = True
    return y, there


def _giving_away(m: CheckedData, table: _Table) -> dict[str, dict[str, Any]]:
    """Find words almost all of whose texts have one label, and that much of the label has; odd words with less."""
    from linnet.evaluate.intervals import wilson

    counts, sizes, df = table.whole.counts, table.whole.sizes, table.whole.df
    best = (counts / np.maximum(sizes, 1)).argmax(axis=1)
    hits = counts[np.arange(len(counts)), best]
    purity, covers = hits / np.maximum(df, 1), hits / np.maximum(sizes[best], 1)
    base = sizes[best] / table.whole.rows
    lean = (purity >= np.minimum(ODD_PURE, 0.5 + base / 2)) & (covers >= ODD_COVERS) & (purity - base >= 0.2)
    found = {}
    for j in np.flatnonzero(lean).tolist():
        kind = kind_of(table.names[j])
        if table.names[j] in re.split(r"[\W_]+", m.data.labels[best[j]].lower()):  # the label itself is a fair reason
            continue
        low = wilson(int(hits[j]), int(df[j]))[0]
        tiny = len(m) < FEW
        pure = low >= PURE and covers[j] >= COVERS
        odd = kind != "word" and (low >= max(base[j] + 0.1, 0.6) or tiny)
        if pure or odd:
            why = f"in {percent(covers[j])} of its texts, {percent(purity[j])} of all with it"
            if kind != "word":
                why = f"a{'n' if kind in ('id', 'address') else ''} {kind}; {why}"
            weight = float(covers[j] * purity[j]) + 0.5 * (kind != "word")
            found[table.names[j]] = _row(
                table.names[j], m.data.labels[best[j]], why, purity=purity[j], share_of_label=covers[j], texts=int(df[j]),
                elsewhere=None, sure=not tiny, weight=weight,
            )  # fmt: skip
    return found


def _row(word: str, label: str, why: str, **numbers: Any) -> dict[str, Any]:
    rounded = {name: round(float(numbers[name]), 4) for name in ("purity", "share_of_label")}
    return {"word": word, "label": label, "kind": kind_of(word), "why": why, **numbers, **rounded}


def _fading(m: CheckedData, table: _Table) -> dict[str, dict[str, Any]]:
    """Find words that lean to a label here and not there."""
    if not table.there.df.any():
        return {}
    here, there, n1, n2 = table.here.counts, table.there.counts, table.here.df, table.there.df
    base1, base2 = table.here.sizes / table.here.rows, table.there.sizes / table.there.rows
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
        purity, elsewhere = share1[j, best[j]], round(float(share2[j, best[j]]), 4)
        share = here[j, best[j]] / max(table.here.sizes[best[j]], 1)
        why = f"{percent(purity)} of texts with it here, {percent(share2[j, best[j]])} in {table.what}"
        label, weight = m.data.labels[best[j]], float((lift1[j] - lift2[j]) * share)
        found[table.names[j]] = _row(
            table.names[j], label, why, purity=purity, share_of_label=share, texts=int(n1[j]), elsewhere=elsewhere,
            sure=chance <= limit, weight=weight,
        )  # fmt: skip
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
