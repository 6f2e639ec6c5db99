"""Labels from numbers: bins such as 'stars<=2=negative,stars>=4=positive', or parts of equal size.

A bin is a condition and a name: COL<=N, COL<N, COL>=N, COL>N, or A<COL<=B; COL may be left out. The first bin that a number lies in is
its label; rows in none are left out. Bins have an order, by their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError, LinnetError, shown

__all__ = ["LabelBins"]

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
