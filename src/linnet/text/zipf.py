"""Zipf's law: the word of rank r is seen about C / r^s times. The exponent is fitted to the data, and drawn beside it.

>>> law = Zipf.fit([1200, 600, 400, 300, 240, 200])  # exactly 1 / rank
>>> round(law.exponent, 6)
1.0

The fit is by maximum likelihood over the ranks: s is where the mean of ln(rank) under r^-s equals that of the tokens.
A line through the points of the log-log plot would follow the many words seen once instead. The law is 1/rank, s = 1;
"each rank half the one before" would be a straight line only in a plot whose ranks are not logarithms.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError, MissingExtraError
from linnet.files import write_atomic

__all__ = ["Zipf"]

WIDTH, HEIGHT = 640, 420
FRAME = (64, 20, 620, 370)  # left, top, right, bottom of the drawing


@dataclass(frozen=True)
class Zipf:
    """Counts by rank, largest first, and the law that fits them best: expected(r) = scale / r^exponent."""

    counts: npt.NDArray[np.int64]
    exponent: float
    scale: float

    @classmethod
    def fit(cls, counts: Sequence[int] | npt.NDArray[np.int64]) -> Zipf:
        """Fit the exponent to counts, in any order."""
        ranked = np.sort(np.asarray(counts, dtype=np.int64))[::-1]
        ranked = ranked[ranked > 0]
        if len(ranked) < 2:
            raise DataError(f"a law needs at least two different words, got {len(ranked)}")
        logs = np.log(np.arange(1, len(ranked) + 1))
        wanted = float(ranked @ logs / ranked.sum())
        low, high = -20.0, 20.0
        for _ in range(80):  # the mean of ln(rank) falls as s grows
            s = (low + high) / 2
            p = np.exp(-s * logs - np.max(-s * logs))
            low, high = (s, high) if float(p @ logs / p.sum()) > wanted else (low, s)
        weights = np.exp(-s * logs)
        return cls(ranked, s, float(ranked.sum() / weights.sum()))

    def expected(self, ranks: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return how often the law expects the words of some ranks."""
        return np.asarray(self.scale * np.asarray(ranks, dtype=np.float64) ** -self.exponent)

    def points(self, most: int = 200) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return ranks, evenly spread on a log scale, and their counts."""
        n = len(self.counts)
        ranks = np.unique(np.geomspace(1, n, min(most, n)).round().astype(np.int64))
        return ranks, self.counts[ranks - 1]

    def to_text(self, width: int = 64, height: int = 16) -> str:
        """Draw both on logarithmic axes for a terminal: o the data, . the law."""
        ranks, counts = self.points(4 * width)
        rows, columns = self._cells(ranks, counts, width, height)
        law_rows, law_columns = self._cells(ranks, self.expected(ranks), width, height)
        grid = [[" "] * width for _ in range(height)]
        for r, c in zip(law_rows, law_columns, strict=True):
            if 0 <= r < height:
                grid[r][c] = "."
        for r, c in zip(rows, columns, strict=True):
            grid[r][c] = "o"
        top = f"{int(self.counts[0]):,}"
        labels = [top, *[""] * (height - 2), f"{int(self.counts[-1]):,}"]
        lines = [f"{label:>{len(top)}} |{''.join(line)}".rstrip() for label, line in zip(labels, grid, strict=True)]
        foot = f"{'':>{len(top)}} +{'-' * width}"
        ends = f"{'':>{len(top)}}  rank 1{f'{len(self.counts):,}':>{width - 6}}"
        return "\n".join(
            [*lines, foot, ends, f"o count of a word, . the law {self.scale:,.0f} / rank^{self.exponent:.3f}"]
        )

    def _cells(
        self,
        ranks: npt.NDArray[np.int64],
        values: npt.NDArray[np.int64] | npt.NDArray[np.float64],
        width: int,
        height: int,
    ) -> tuple[list[int], list[int]]:
        x = np.log(ranks) / max(1e-9, np.log(len(self.counts)))
        low, high = np.log(self.counts[-1]), np.log(self.counts[0])
        y = (np.log(np.maximum(values, 1e-9)) - low) / max(1e-9, high - low)
        return ((1 - y) * (height - 1)).round().astype(int).tolist(), (x * (width - 1)).round().astype(int).tolist()

    def to_svg(self) -> str:
        """Return the plot as an SVG drawing."""
        return _svg(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plot as .svg, or with the extra ``report`` as .png; whole or not at all."""
        target = Path(path)
        kind = target.suffix.lower()
        if kind == ".svg":
            write_atomic(target, self.to_svg())
        elif kind == ".png":
            write_atomic(target, _png(self.to_svg()))
        else:
            raise DataError(f"cannot draw {target.name!r}: end the name in .svg or .png")


def _png(svg: str) -> bytes:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("a PNG plot", "report") from None
    return bytes(vl_convert.svg_to_png(svg, scale=2))


def _svg(law: Zipf) -> str:
    left, top, right, bottom = FRAME
    span_x, span_y = max(1e-9, np.log10(len(law.counts))), max(1e-9, np.log10(law.counts[0]))

    def at(rank: float, count: float) -> tuple[float, float]:
        y = bottom - (bottom - top) * np.log10(max(count, 1e-9)) / span_y
        return left + (right - left) * np.log10(rank) / span_x, float(y)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<clipPath id="frame"><rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}"/></clipPath>',
        f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" fill="none" stroke="#999"/>',
    ]
    for power in range(int(span_x) + 1):
        x, _ = at(10.0**power, 1)
        parts.append(f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}" stroke="#999"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{10**power:,}</text>')
    for power in range(int(span_y) + 1):
        _, y = at(1, 10.0**power)
        parts.append(f'<line x1="{left - 5}" y1="{y:.1f}" x2="{left}" y2="{y:.1f}" stroke="#999"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{10**power:,}</text>')
    ranks, counts = law.points()
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(r, c) for r, c in zip(ranks, law.expected(ranks), strict=True)))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#D55E00" stroke-width="2" clip-path="url(#frame)"/>')
    for rank, count in zip(ranks, counts, strict=True):
        x, y = at(rank, count)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="#0072B2"/>')
    parts.append(f'<text x="{right - 8}" y="{top + 18}" text-anchor="end" fill="#0072B2">counts of words</text>')
    law_text = f"{law.scale:,.0f} / rank^{law.exponent:.3f}, fitted"
    parts.append(f'<text x="{right - 8}" y="{top + 34}" text-anchor="end" fill="#D55E00">{law_text}</text>')
    parts.append(f'<text x="{(left + right) // 2}" y="{HEIGHT - 10}" text-anchor="middle">rank</text>')
    middle = (top + bottom) // 2
    parts.append(f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">count</text>')
    return "\n".join([*parts, "</svg>"])
