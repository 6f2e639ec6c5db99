"""Numbers and names as text: "2,000 rows", "87.3 %", "1.2k", a name cut to fit."""

from __future__ import annotations

__all__ = ["count", "cut", "percent", "score", "short"]


def count(n: int, one: str, many: str | None = None) -> str:
    """Write how many of something.

    >>> count(1, "row"), count(2000, "row"), count(2, "class", "classes")
    ('1 row', '2,000 rows', '2 classes')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def percent(share: float, digits: int = 1) -> str:
    r"""Write a share in percent; the sign stays on the same line.

    >>> percent(0.8734)
    '87.3\xa0%'
    """
    return f"{100 * share:.{digits}f}\u00a0%"


def score(value: float | None, digits: int = 3) -> str:
    """Write a score, or a dash where it is undefined."""
    return "–" if value is None else f"{value:.{digits}f}"


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
