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

from linnet.draw.charts import Axis, Layer, Line, Points, chart
from linnet.draw.formatting import short
from linnet.errors import DataError, require
from linnet.files import write_atomic

__all__ = ["Zipf"]


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

    def to_svg(self, *, file: bool = True) -> str:
        """Draw the counts and the law on logarithmic axes, as an SVG file or (file=False) as part of a page."""
        ranks, counts = self.points(120)
        law = list(zip(ranks.tolist(), self.expected(ranks).tolist(), strict=True))
        least, most = float(self.counts[-1]), float(self.counts[0])
        layers: list[Layer] = [
            Line([p for p in law if least <= p[1] <= most], "orange", self.law, titles=False),
            Points(list(zip(ranks.tolist(), counts.tolist(), strict=True)), name="words"),
        ]
        axes = Axis("rank", log=True), Axis("count", least, most, log=True)
        return chart(layers, *axes, "Counts of words by rank, and Zipf's law", file=file)

    @property
    def law(self) -> str:
        """The fitted law as a formula."""
        return f"{short(float(f'{self.scale:.2g}'))} / rank^{self.exponent:.3f}"

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
    return bytes(require("vl_convert", "a PNG plot", "report").svg_to_png(svg, scale=2))
