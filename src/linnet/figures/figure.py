"""One description for every figure: panels of layers on two axes, and tables. Drawn as HTML for a page, or as one SVG file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.array_types import Floats
from linnet.draw.charts import WIDTH, Axis, Layer, chart
from linnet.draw.markup import safe, text_table
from linnet.files import write_atomic

Segment = tuple[float, float, float, float]

TITLE, NOTE = 22, 20  # heights of the lines above and below a panel
ACROSS = 2  # panels side by side in a file


@dataclass(frozen=True)
class Panel:
    """A chart with a title above it and a note below it."""

    title: str
    layers: Sequence[Layer]
    x: Axis
    y: Axis
    note: str = ""
    height: int = 300

    def chart(self) -> str:
        """Return the SVG of the chart alone."""
        return chart(self.layers, self.x, self.y, f"{self.title}. {self.note}", height=self.height)


@dataclass(frozen=True)
class Figure:
    """Panels, and tables below them: (caption, rows), the first row the head."""

    panels: Sequence[Panel] = ()
    tables: Sequence[tuple[str, Sequence[Sequence[Any]]]] = ()

    def html(self) -> str:
        """Return it for a page."""
        panels = "".join(
            f"<figure><h3>{safe(p.title)}</h3>{p.chart()}<figcaption>{safe(p.note)}</figcaption></figure>"
            for p in self.panels
        )
        tables = "".join(text_table(rows, caption) for caption, rows in self.tables)
        return f'<div class="pair">{panels}{tables}</div>'

    _repr_html_ = html

    def svg(self) -> str:
        """Return the panels as one SVG file."""
        parts, rows = [], -(-len(self.panels) // ACROSS)
        tall = max((panel.height for panel in self.panels), default=0) + TITLE + NOTE
        for k, panel in enumerate(self.panels):
            x, y = k % ACROSS * WIDTH, k // ACROSS * tall
            parts.append(f'<text x="{x + 54}" y="{y + 16}" font-weight="bold">{safe(panel.title)}</text>')
            parts.append(panel.chart().replace("<svg ", f'<svg x="{x}" y="{y + TITLE}" color="#444" ', 1))
            parts.append(f'<text x="{x + 54}" y="{y + tall - 8}" font-size="11.5">{safe(panel.note)}</text>')
        size = f"{min(ACROSS, len(self.panels)) * WIDTH} {rows * tall}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" font-size="13">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the panels as an SVG file."""
        write_atomic(path, self.svg())


# ---- Where a function of two numbers, known on a grid, has a level, as short lines.


def contour(F: Floats, x: Floats, y: Floats, level: float = 0.0) -> list[Segment]:
    """Return the lines along which values on a grid, (n_y, n_x), have a level: exact where the function is linear.

    >>> contour(np.array([[-1.0, 1.0], [-1.0, 1.0]]), np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    [(0.5, 0.0, 0.5, 1.0)]
    """
    G = F - level
    above = G > 0
    corners = above[:-1, :-1].astype(int) + above[:-1, 1:] + above[1:, :-1] + above[1:, 1:]
    out: list[Segment] = []
    values, across, up = G.tolist(), x.tolist(), y.tolist()
    for i, j in np.argwhere((corners > 0) & (corners < 4)).tolist():
        around = ((i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j))
        cuts: list[tuple[float, float]] = []
        for (a, b), (c, d) in zip(around, around[1:] + around[:1], strict=True):
            p, q = values[a][b], values[c][d]
            if (p > 0) != (q > 0):
                t = p / (p - q)
                cuts.append((across[b] + t * (across[d] - across[b]), up[a] + t * (up[c] - up[a])))
        out += [cuts[k] + cuts[k + 1] for k in range(0, len(cuts), 2)]
    return out
