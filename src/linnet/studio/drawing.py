"""Drawings as SVG and HTML that take their colours from the page, so that they are right in the dark and in the light."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from linnet.report.markup import percent, safe
from linnet.text.zipf import Zipf

__all__ = ["balance", "curves", "learning", "lengths", "meters", "zipf"]

WIDTH, HEIGHT = 460, 240
LEFT, TOP, RIGHT, BOTTOM = 54, 14, 442, 202
MOST = 12  # classes drawn one by one


def balance(counts: dict[str, int]) -> str:
    """Return a bar a class, the largest first; of many classes the largest and the smallest.

    >>> balance({"a": 3, "b": 1}).count("<li>")
    2
    """
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    total, largest = sum(counts.values()) or 1, max(counts.values(), default=1)
    shown = ranked if len(ranked) <= MOST else [*ranked[: MOST - 4], ("", 0), *ranked[-3:]]
    out = []
    for name, n in shown:
        if not name and not n:
            out.append(f'<li class="gap">{len(ranked) - MOST + 1:,} more classes</li>')
            continue
        out.append(
            f'<li><span class="name" title="{safe(name)}">{safe(name)}</span><span class="track"><span class="bar" '
            f'style="width:{100 * n / largest:.1f}%"></span></span><span class="figure">{n:,} '
            f"<small>{percent(n / total, 0 if n / total > 0.1 else 1)}</small></span></li>"
        )
    return f'<ul class="bars">{"".join(out)}</ul>'


def lengths(sizes: npt.ArrayLike, bins: int = 24) -> str:
    """Draw how long texts are: a column for each range of lengths, the ranges growing by the same factor.

    >>> lengths([3, 4, 100, 120, 90]).count("<rect")
    24
    """
    found = np.maximum(np.asarray(sizes, dtype=np.float64), 1.0)
    edges = np.geomspace(found.min(), max(found.max(), found.min() + 1), bins + 1)
    edges[-1] += 1
    counts, _ = np.histogram(found, edges)
    width, height, step = 460, 84, 460 / bins
    parts = []
    for k, n in enumerate(counts.tolist()):
        tall = 64 * n / max(1, int(counts.max()))
        parts.append(
            f'<rect class="column" x="{k * step + 1:.1f}" y="{66 - tall:.1f}" width="{step - 2:.1f}" height="{tall:.1f}">'
            f"<title>{edges[k]:,.0f} to {edges[k + 1] - 1:,.0f}: {n:,} texts</title></rect>"
        )
    for at, anchor in ((0, "start"), (bins // 2, "middle"), (bins, "end")):
        parts.append(
            f'<text x="{at * step:.1f}" y="81" text-anchor="{anchor}">{_short(round(float(edges[at])))}</text>'
        )
    label = "Lengths of texts in characters"
    line = f'<line class="axis" x1="0" y1="66.5" x2="{width}" y2="66.5"/>'
    return f'<svg class="chart low" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{line}{"".join(parts)}</svg>'


def meters(rows: Sequence[tuple[str, float]], best: str | None = None) -> str:
    """Return a bar a probability."""
    out = []
    for name, p in rows:
        mark = " best" if name == best else ""
        out.append(
            f'<li class="{mark.strip()}"><span class="name" title="{safe(name)}">{safe(name)}</span><span class="track">'
            f'<span class="bar" style="width:{100 * p:.1f}%"></span></span><span class="figure">{100 * p:.1f}\u00a0%</span></li>'
        )
    return f'<ul class="bars probabilities">{"".join(out)}</ul>'


def _frame(label: str, x_name: str, y_name: str, inner: Sequence[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{safe(label)}">'
        f'<line class="axis" x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{BOTTOM}"/>'
        f'<line class="axis" x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{BOTTOM}"/>{"".join(inner)}'
        f'<text class="word" x="{(LEFT + RIGHT) / 2}" y="{HEIGHT - 4}" text-anchor="middle">{safe(x_name)}</text>'
        f'<text class="word y" x="12" y="{(TOP + BOTTOM) / 2}" text-anchor="middle" '
        f'transform="rotate(-90 12 {(TOP + BOTTOM) / 2})">{safe(y_name)}</text></svg>'
    )


def _short(n: float) -> str:
    """Write a large number in few letters.

    >>> _short(1000), _short(250000), _short(7), _short(0.25)
    ('1k', '250k', '7', '0.25')
    """
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= unit:
            return f"{n / unit:.3g}{name}"
    return f"{n:g}"


def zipf(law: Zipf) -> str:
    """Draw the counts of words by rank and the fitted law, both axes logarithmic."""
    span_x, span_y = max(0.3, math.log10(len(law.counts))), max(0.3, math.log10(int(law.counts[0])))

    def at(rank: float, count: float) -> tuple[float, float]:
        x = LEFT + (RIGHT - LEFT) * math.log10(rank) / span_x
        return x, BOTTOM - (BOTTOM - TOP) * math.log10(max(count, 1e-9)) / span_y

    parts = []
    for power in range(int(span_x) + 1):
        x, _ = at(10.0**power, 1)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{BOTTOM}"/>')
        parts.append(f'<text x="{x:.1f}" y="{BOTTOM + 15}" text-anchor="middle">{_short(10**power)}</text>')
    for power in range(int(span_y) + 1):
        _, y = at(1, 10.0**power)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_short(10**power)}</text>')
    ranks, counts = law.points(120)
    points = [at(float(r), float(c)) for r, c in zip(ranks, law.expected(ranks), strict=True)]
    inside = [(x, y) for x, y in points if TOP - 1 <= y <= BOTTOM]
    parts.append(f'<polyline class="law" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in inside)}"/>')
    for rank, count in zip(ranks.tolist(), counts.tolist(), strict=True):
        x, y = at(rank, count)
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>')
    parts.append(f'<text class="seen" x="{RIGHT - 4}" y="{TOP + 14}" text-anchor="end">words</text>')
    name = f"{_short(float(f'{law.scale:.2g}'))} / rank^{law.exponent:.2f}" if law.scale >= 1 else "the law"
    parts.append(f'<text class="fitted" x="{RIGHT - 4}" y="{TOP + 31}" text-anchor="end">{safe(name)}</text>')
    return _frame("Counts of words by rank with Zipf's law", "rank", "count", parts)


def _ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Return round numbers within a range.

    >>> _ticks(0.0, 1.0), _ticks(3, 17)
    ([0.0, 0.5, 1.0], [5.0, 10.0, 15.0])
    """
    span = max(high - low, 1e-12)
    step = next(
        f * 10.0**e for e in range(-12, 13) for f in (1, 2, 5) if span / (f * 10.0**e) <= most - (0 if f == 1 else 0.5)
    )
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, int(high / step + 1e-9) + 1)]


def _line(
    label: str,
    x_name: str,
    y_name: str,
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    share: bool = False,
) -> str:
    """Draw lines over a common x; each is (class, points)."""
    every = [point for _, points in series for point in points]
    if not every:
        return _frame(label, x_name, y_name, [])
    xs, ys = [x for x, _ in every], [y for _, y in every]
    x0, x1 = min(xs), max(max(xs), min(xs) + 1)
    y0, y1 = min(ys), max(ys)
    pad = 0.08 * (y1 - y0) or 0.05 * max(abs(y1), 0.1)
    y0, y1 = (y0 - pad, min(y1 + pad, 1.0) if share else y1 + pad)
    if y1 <= y0:
        y0, y1 = y0 - 0.1, y1 + 0.1

    def at(x: float, y: float) -> tuple[float, float]:
        return LEFT + (RIGHT - LEFT) * (x - x0) / (x1 - x0), BOTTOM - (BOTTOM - TOP) * (y - y0) / (y1 - y0)

    parts = []
    for y in _ticks(y0, y1):
        _, place = at(x0, y)
        text = f"{100 * y:g} %" if share else _short(y)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{place:.1f}" x2="{RIGHT}" y2="{place:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{place + 4:.1f}" text-anchor="end">{text}</text>')
    for x in _ticks(x0, x1, 6):
        if x == int(x):
            place, _ = at(x, y0)
            parts.append(f'<text x="{place:.1f}" y="{BOTTOM + 15}" text-anchor="middle">{_short(x)}</text>')
    for kind, points in series:
        places = [at(x, y) for x, y in points]
        if len(places) > 1:
            parts.append(f'<polyline class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>')
        for x, y in places if len(places) <= 40 else places[-1:]:
            parts.append(f'<circle class="dot {kind}" cx="{x:.1f}" cy="{y:.1f}" r="2.8"/>')
    return _frame(label, x_name, y_name, parts)


def curves(
    loss: Sequence[tuple[float, float]],
    accuracy: Sequence[tuple[float, float]],
    tried: Sequence[tuple[float, float]] = (),
    over: bool = False,
) -> tuple[str, str]:
    """Draw the training loss and the dev accuracy by pass; without passes, the dev accuracy of the settings tried."""
    left = (
        _line("Training loss by pass", "pass", "training loss", [("loss", loss)])
        if loss
        else _words("Training loss by pass", "pass", "training loss", "fitted in one go" if over and tried else "")
    )
    if accuracy:
        return left, _line("Dev accuracy by pass", "pass", "dev accuracy", [("accuracy", accuracy)], share=True)
    name = "Dev accuracy of the settings tried"
    return left, _line(name, "settings tried", "dev accuracy", [("accuracy", tried)], share=True)


def _words(label: str, x_name: str, y_name: str, words: str) -> str:
    middle = f'x="{(LEFT + RIGHT) / 2}" y="{(TOP + BOTTOM) / 2}"'
    return _frame(label, x_name, y_name, [f'<text class="none" {middle} text-anchor="middle">{safe(words)}</text>'])


def learning(points: Sequence[tuple[int, float, float, float]]) -> str:
    """Draw the estimated accuracy by number of answers, (answers, accuracy, low, high), with its interval as a band."""
    if len(points) < 2:
        return _words("Estimated accuracy by answers", "answers", "accuracy", "not yet")
    x0, x1 = points[0][0], max(points[-1][0], points[0][0] + 1)
    low = max(0.0, min(p[2] for p in points) - 0.03)

    def at(x: float, y: float) -> str:
        px = LEFT + (RIGHT - LEFT) * (x - x0) / (x1 - x0)
        return f"{px:.1f},{BOTTOM - (BOTTOM - TOP) * (y - low) / (1.0 - low):.1f}"

    band = " ".join([*(at(p[0], p[3]) for p in points), *(at(p[0], p[2]) for p in reversed(points))])
    parts = [f'<polygon class="band" points="{band}"/>']
    for y in _ticks(low, 1.0):
        place = at(x0, y).split(",")[1]
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{place}" x2="{RIGHT}" y2="{place}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{float(place) + 4:.1f}" text-anchor="end">{100 * y:g} %</text>')
    parts += [
        f'<text x="{at(x, low).split(",")[0]}" y="{BOTTOM + 15}" text-anchor="middle">{_short(x)}</text>'
        for x in _ticks(x0, x1, 6)
        if x == int(x)
    ]
    for a, b in pairwise(points):
        parts.append(f'<polyline class="accuracy" points="{at(a[0], a[1])} {at(b[0], b[1])}"/>')
    return _frame("Estimated accuracy by answers", "answers", "accuracy", parts)
