"""Labels that are no classes: almost as many as rows, or numbers that measure something; and label distributions."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError, shown

__all__ = ["are_scattered", "distributions", "is_soft", "scattered"]

Floats = npt.NDArray[np.float64]
ROUNDING = 0.02  # how far from 1 probabilities may add up: those of a file are rounded
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


def is_soft(values: Any) -> bool:
    """Whether labels are a matrix of probabilities, a column a class: numbers that are not all 0 or 1."""
    if not hasattr(values, "ndim") or values.ndim != 2 or values.shape[1] < 2 or hasattr(values, "toarray"):
        return False
    array = np.asarray(values)
    return array.dtype.kind == "f" and not np.isin(array, (0.0, 1.0)).all()


def distributions(values: Any, name: str) -> Floats:
    """Return label distributions, (n_rows, n_classes): numbers from 0 that add up to 1 in every row.

    >>> distributions(np.array([[0.25, 0.75], [1.0, 0.0]]), "y").tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    array = np.asarray(values, dtype=np.float64)
    bad = ~(np.isfinite(array) & (array >= 0.0)).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise DataError(f"{name}: row {row + 1} must hold probabilities from 0, got {array[row].tolist()}")
    total = arithmetic.total(array, axis=1)
    bad = np.abs(total - 1.0) > ROUNDING
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"{name}: the probabilities of row {row + 1} add up to {total[row]:g}, not to 1; divide each row by its sum "
            "(for several labels a row give 0 and 1)"
        )
    return np.asarray(array / total[:, None])
