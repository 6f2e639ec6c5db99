"""Text laid out for a terminal: columns that line up, and a curve in one line."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile
from typing import Any

# ---- Numbers and names as text: "2,000 rows", "87.3 %", "1.2k", a name cut to fit.


def count(n: int, one: str, many: str | None = None) -> str:
    """Write how many of something.

    >>> count(1, "row"), count(2000, "row"), count(2, "class", "classes")
    ('1 row', '2,000 rows', '2 classes')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(names: Iterable[Any], most: int = 5) -> str:
    """Write the first of some names, and how many more there are.

    >>> listed("abc"), listed("abc", 2)
    ('a, b, c', 'a, b and 1 more')
    """
    every = [str(name) for name in names]
    return ", ".join(every[:most]) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def percent(share: float, digits: int = 1) -> str:
    r"""Write a share in percent; the sign stays on the same line.

    >>> percent(0.8734)
    '87.3\xa0%'
    """
    return f"{100 * share:.{digits}f}\u00a0%"


def score(value: float | None, digits: int = 3) -> str:
    """Write a score, or a dash where it is undefined."""
    return "–" if value is None else f"{value:.{digits}f}"


def estimate(value: float, interval: Sequence[float]) -> str:
    """Write an estimate and its interval.

    >>> estimate(0.75, (0.6, 0.85))
    '0.7500 [0.6000, 0.8500]'
    """
    return f"{value:.4f} {ends(interval)}"


def ends(interval: Sequence[float]) -> str:
    """Write an interval."""
    return f"[{interval[0]:.4f}, {interval[1]:.4f}]"


def short(n: float) -> str:
    """Write a number in few characters.

    >>> short(1000), short(250000), short(7), short(0.25)
    ('1k', '250k', '7', '0.25')
    """
    for size, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(n) >= size:
            return f"{n / size:.3g}{name}"
    return f"{n:.4g}"


def cut(text: str, characters: int) -> str:
    """Return the beginning of a text, with "…" where something is missing.

    >>> cut("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= characters else text[: characters - 1] + "…"


BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Draw a curve in one line of text; where there are more values than places, some are left out.

    >>> sparkline([4.0, 2.0, 1.0, 1.0, 8.0])
    '▄▂▁▁█'
    """
    step = max(1.0, len(values) / width)
    shown = [float(values[int(k * step)]) for k in range(min(len(values), width))]
    shown[-1] = float(values[-1])
    low, high = min(shown), max(shown)
    return "".join(BARS[round((v - low) / (high - low) * (len(BARS) - 1))] if high > low else BARS[0] for v in shown)


def aligned(rows: Sequence[Sequence[str]], width: int, left: int = 1) -> list[str]:
    """Return columns two spaces apart, the first `left` aligned to the left; the first is cut where a line is too long."""
    widths = [max(width_of(cell) for cell in column) for column in zip(*rows, strict=True)]
    widths[0] = min(widths[0], max(5, width - sum(widths[1:]) - 2 * (len(widths) - 1)))
    lines = []
    for first, *others in rows:
        cells = [fit(first, widths[0]), *others]
        spaces = [" " * (size - width_of(cell)) for cell, size in zip(cells, widths, strict=True)]
        pairs = enumerate(zip(cells, spaces, strict=True))
        lines.append("  ".join(cell + gap if column < left else gap + cell for column, (cell, gap) in pairs).rstrip())
    return lines


def one_line(label: Any) -> str:
    r"""Return a label on one line, without control characters.

    >>> one_line("a\tb\x1b")
    'a b?'
    """
    return "".join(c if c.isprintable() else "?" for c in " ".join(str(label).split()))


def width_of(cell: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> width_of("新闻"), width_of("né")
    (4, 2)
    """
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell)


def fit(cell: str, width: int) -> str:
    """Return the beginning of a text that fits, with "…" where something is missing.

    >>> fit("politics", 5)
    'poli…'
    """
    if width_of(cell) <= width:
        return cell
    ends = accumulate(map(width_of, cell))
    return cell[: sum(1 for _ in takewhile(lambda end: end < width, ends))] + "…"
