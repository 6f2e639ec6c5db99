"""Labels that are no classes: almost as many as rows, or numbers that measure something; and label distributions.

Labels from numbers: bins such as 'stars<=2=negative,stars>=4=positive', or parts of equal size.

A bin is a condition and a name: COL<=N, COL<N, COL>=N, COL>N, or A<COL<=B; COL may be left out. The first bin that a number lies in is
its label; rows in none are left out. Bins have an order, by their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError, LinnetError, shown
from linnet.values import is_number

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
    return len(labels) == n_rows or all(map(is_number, labels))


def scattered(labels: Iterable[Any], n_rows: int) -> str:
    """Say that there are too many labels for the rows, and what they look like.

    >>> scattered(["0.25", "1.5", "3"], 3)
    'there are 3 labels for 3 rows (0.25, 1.5, 3): these look like numbers, not classes; put them into a few groups first, such as \
low, middle and high, or name another column with --label'
    """
    known = list(labels)
    few = ", ".join(shown(label, 20) for label in known[:3]) + (", ..." if len(known) > 3 else "")
    numbers = sum(map(is_number, known)) >= 0.9 * len(known)
    what = (
        "these look like numbers, not classes" if numbers else "a class needs several rows to learn from and to test on"
    )
    remedy = (
        "put them into a few groups first, such as low, middle and high," if numbers else "group them, give more rows,"
    )
    return f"there are {len(known):,} labels for {n_rows:,} rows ({few}): {what}; {remedy} or name another column with --label"


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


NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
BIN = re.compile(
    rf"^\s*(?:(?P<low>{NUMBER})\s*(?P<above><=?))?\s*(?P<column>[^<>=]*?)\s*(?:(?P<op><=|>=|<|>)\s*(?P<number>{NUMBER}))?\s*=(?P<name>.+)$"
)
NAMES = {2: ("low", "high"), 3: ("low", "middle", "high")}


@dataclass(frozen=True)
class LabelBins:
    """Named intervals of a number, in the order that they were written in."""

    column: str | None
    names: tuple[str, ...]
    intervals: tuple[tuple[float, bool, float, bool], ...]
    """(low, whether low itself is in, high, whether high itself is in)."""

    @classmethod
    def parse(cls, text: str) -> LabelBins:
        """Read bins.

        >>> bins = LabelBins.parse("stars<=2=negative,stars>=4=positive")
        >>> bins.column, bins.order, bins.labels([1, 2, 3, 4.5])
        ('stars', ('negative', 'positive'), ['negative', 'negative', None, 'positive'])
        """
        columns, names, intervals = set(), [], []
        for part in text.split(","):
            found = BIN.match(part)
            if found is None or (found["low"] is None and found["op"] is None):
                raise LinnetError(
                    f"label bins: '{shown(part, 60)}' is no bin; write for example stars<=2=negative,2<stars<4=neutral,stars>=4=positive"
                )
            low, low_in, high, high_in = -np.inf, False, np.inf, False
            if found["low"] is not None:
                low, low_in = float(found["low"]), found["above"] == "<="
            if found["op"] in ("<", "<="):
                high, high_in = float(found["number"]), found["op"] == "<="
            elif found["op"] is not None:
                low, low_in = float(found["number"]), found["op"] == ">="
            columns |= {found["column"].strip()} - {""}
            names.append(found["name"].strip())
            intervals.append((low, low_in, high, high_in))
        if len(columns) > 1:
            raise LinnetError(f"label bins: one column is put into bins, got {', '.join(sorted(columns))}")
        if len(set(names)) < 2:
            raise LinnetError("label bins: name two labels or more")
        return cls(next(iter(columns), None), tuple(names), tuple(intervals))

    @classmethod
    def quantiles(cls, values: Sequence[float] | npt.NDArray[np.float64], n: int, column: str = "label") -> LabelBins:
        """Return n bins of about equally many values.

        >>> LabelBins.quantiles([1, 2, 3, 4, 5, 6], 3).to_text()
        'label<=2=low,2<label<=4=middle,label>4=high'
        """
        ranked = np.sort(np.asarray(values, np.float64))
        edges = [float(ranked[max(0, -(-len(ranked) * k // n) - 1)]) for k in range(1, n)] if len(ranked) else []
        if len(set(edges)) < n - 1 or not edges or edges[-1] >= ranked[-1]:
            raise DataError(
                f"the labels have too few different numbers for {n} parts of equal size; ask for fewer, or give --label-bins"
            )
        names = NAMES.get(n) or tuple(str(k) for k in range(1, n + 1))
        lows, highs = [-np.inf, *edges], [*edges, np.inf]
        ends = tuple((low, False, high, bool(np.isfinite(high))) for low, high in zip(lows, highs, strict=True))
        return cls(column, names, ends)

    @property
    def order(self) -> tuple[str, ...]:
        """The labels by their numbers, the lowest first."""
        ranked = sorted(range(len(self.names)), key=lambda k: self.intervals[k])
        return tuple(dict.fromkeys(self.names[k] for k in ranked))

    def labels(self, values: Sequence[float] | npt.NDArray[np.float64]) -> list[str | None]:
        """Return the label of each number; None where it lies in no bin."""
        x = np.asarray(values, np.float64)
        out = np.full(len(x), None, dtype=object)
        for name, (low, low_in, high, high_in) in reversed(list(zip(self.names, self.intervals, strict=True))):
            out[((x > low) | (low_in & (x == low))) & ((x < high) | (high_in & (x == high)))] = name
        return list(out)

    def to_text(self) -> str:
        """Return what `parse` reads."""
        column, parts = self.column or "", []
        for name, (low, low_in, high, high_in) in zip(self.names, self.intervals, strict=True):
            over, under = _side(">" if high == np.inf else "<", low, low_in), _side("<", high, high_in)
            first = "" if high == np.inf or low == -np.inf else f"{over[-1]}{over[0]}"
            parts.append(f"{first}{column}{''.join(under if high < np.inf else over)}={name}")
        return ",".join(parts)


def _side(sign: str, end: float, inside: bool) -> tuple[str, str]:
    return sign + "=" * inside, str(int(end)) if float(end).is_integer() else repr(end)
