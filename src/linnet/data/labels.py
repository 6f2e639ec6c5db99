"""Labels that are no classes: almost as many as rows, or numbers that measure something."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from linnet.errors import shown

__all__ = ["are_scattered", "scattered"]

FEW = 10  # rows: so many labels may all differ, in an example


def are_scattered(labels: Collection[Any], n_rows: int) -> bool:
    """Whether rows have a label of their own each, or numbers that hardly ever occur twice.

    >>> are_scattered(["a", "b"], 2), are_scattered([str(k / 7) for k in range(60)], 100)
    (False, True)
    """
    if n_rows < FEW or 2 * len(labels) <= n_rows:
        return False
    return len(labels) == n_rows or all(map(_is_number, labels))


def scattered(labels: Iterable[Any], n_rows: int) -> str:
    """Say that there are too many labels for the rows, and what they look like.

    >>> scattered(["0.25", "1.5", "3"], 3)
    'there are 3 labels for 3 rows (0.25, 1.5, 3): these look like numbers, not classes; put them into a few groups first, such as \
low, middle and high, or name another column with --label'
    """
    known = list(labels)
    few = ", ".join(shown(label, 20) for label in known[:3]) + (", ..." if len(known) > 3 else "")
    numbers = sum(map(_is_number, known)) >= 0.9 * len(known)
    what = (
        "these look like numbers, not classes" if numbers else "a class needs several rows to learn from and to test on"
    )
    remedy = (
        "put them into a few groups first, such as low, middle and high," if numbers else "group them, give more rows,"
    )
    return f"there are {len(known):,} labels for {n_rows:,} rows ({few}): {what}; {remedy} or name another column with --label"


def _is_number(label: Any) -> bool:
    try:
        float(label)
    except (TypeError, ValueError):
        return False
    return True
