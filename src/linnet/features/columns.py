"""Side columns as features: what the other columns of a row say, beside its text.

    linnet train tickets.csv --features words:1-2+column:priority+column:created

What a column holds is found from the training rows: numbers if all its values are numbers, dates if all are dates, else
categories; ``column:stars:category`` settles it. The training rows also settle, without their labels, which values of a
category get a switch, and the mean and spread of numbers; all of it is kept in the model file.

>>> from linnet.features.buffers import text_buffers
>>> rows = text_buffers([{"text": "a", "fee": 1, "day": "2024-05-03"}, {"text": "b", "fee": 3, "day": None}], ["fee", "day"])
>>> fee = Column("fee").learn(rows, None, {})
>>> fee.columns, fee.values_of(rows[0]).tolist()
(('fee, number', 'fee, no number'), [[-1.0, 0.0], [1.0, 0.0]])
>>> day = Column("day").learn(rows, None, {})
>>> day.kind, [name for name, on in zip(day.columns, day.values_of(rows[0])[0]) if on]
('date', ['day month=5', 'day weekday=Friday'])
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from linnet import arithmetic
from linnet.array_types import Floats, Ints
from linnet.data.splitting import moment
from linnet.errors import DataError, LinnetError, nearest
from linnet.features.blocks import Computed
from linnet.features.buffers import TextBuffer

MOST = 100  # values of a category that get a switch of their own
FARTHEST = 5.0  # spreads from the mean, beyond which a number counts as just that far
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$")

Cells = Sequence[str | None]


@dataclass(frozen=True)
class Category:
    """A switch for each of the most frequent values (ties by name), one for any other value and one for none.

    >>> made = Category.learn(["low", "high", "low"])
    >>> made.names("priority")
    ('priority=low', 'priority=high', 'priority=(other)', 'priority=(missing)')
    >>> made.values(["high", "urgent", None]).tolist()
    [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    """

    known: tuple[str, ...]

    @classmethod
    def learn(cls, cells: Cells) -> Category:
        """Take the most frequent values."""
        counts = Counter(cell for cell in cells if cell is not None)
        return cls(tuple(sorted(counts, key=lambda value: (-counts[value], value))[:MOST]))

    def names(self, column: str) -> tuple[str, ...]:
        """Return column=value for each switch."""
        return tuple(f"{column}={value}" for value in (*self.known, *map(self._unlike, ("(other)", "(missing)"))))

    def _unlike(self, word: str) -> str:
        return self._unlike(f"({word})") if word in self.known else word

    def values(self, cells: Cells) -> Floats:
        """Switch on one of the switches of each cell."""
        numbers = {value: k for k, value in enumerate(self.known)}
        other, missing = len(numbers), len(numbers) + 1
        on = [missing if cell is None else numbers.get(cell, other) for cell in cells]
        out = np.zeros((len(cells), missing + 1))
        out[np.arange(len(cells)), on] = 1.0
        return out

    def said(self, column: str, cell: str | None) -> list[str]:
        """Name the value itself, also where it is another one."""
        names = list(self.names(column))
        names[-2] = f"{column}={cell} (other)"
        return names


@dataclass(frozen=True)
class Number:
    """Spreads away from the mean of the training rows, and a switch for what is no number.

    >>> Number.learn(["2", "4", "1e1", "0"]).values(["4", None]).round(3).tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """

    mean: float
    spread: float

    @classmethod
    def learn(cls, cells: Cells) -> Number:
        """Take mean and spread; a constant has spread 1."""
        x = np.array([_number(cell) for cell in cells if cell is not None], dtype=np.float64)
        size = math.ldexp(1.0, math.frexp(float(np.abs(x).max(initial=0.0)))[1] - 1)  # squares of x may be infinite
        small = x / size
        centre = arithmetic.mean(small)
        mean, spread = size * centre, size * float(np.sqrt(arithmetic.mean(np.square(small - centre))))
        return cls(mean, spread if spread > 1e-15 * size else 1.0)

    def names(self, column: str) -> tuple[str, ...]:
        """Return the names of the two."""
        return f"{column}, number", f"{column}, no number"

    def values(self, cells: Cells) -> Floats:
        """Return (x - mean) / spread, no farther than five, and the switch."""
        read = cache(_number)
        x = np.array([math.nan if cell is None or (v := read(cell)) is None else v for cell in cells], dtype=np.float64)
        none = np.isnan(x)
        with np.errstate(over="ignore"):
            away = np.clip((x - self.mean) / self.spread, -FARTHEST, FARTHEST)
        return np.stack([np.where(none, 0.0, away), none.astype(np.float64)], axis=1)

    def said(self, column: str, cell: str | None) -> list[str]:
        """Name the number as it is written."""
        return [f"{column}={cell}", f"{column} is no number" if cell else f"{column} is missing"]


@dataclass(frozen=True)
class Date(Number):
    """The year (as numbers are), switches for month, weekday and, where training rows had a time of day, hour."""

    hours: bool

    @classmethod
    def learn(cls, cells: Cells) -> Date:
        """Look at the years, and whether there are hours."""
        found = [d for d in map(moment, filter(None, cells)) if d is not None]
        years = Number.learn([str(d.year) for d in found])
        return cls(years.mean, years.spread, any((d.hour, d.minute, d.second) != (0, 0, 0) for d in found))

    def names(self, column: str) -> tuple[str, ...]:
        """Return the names, year first."""
        parts = ["year", *(f"month={m}" for m in range(1, 13)), *(f"weekday={day}" for day in WEEKDAYS)]
        hours = [f"hour={h}" for h in range(24)] if self.hours else []
        return (*(f"{column} {part}" for part in parts + hours), f"{column}, no date")

    def values(self, cells: Cells) -> Floats:
        """Return the year as numbers are, and the switches."""
        read = cache(moment)
        dates = [None if cell is None else read(cell) for cell in cells]
        out = np.zeros((len(cells), len(self.names(""))))
        out[:, [0, -1]] = super().values([str(d.year) if d else None for d in dates])
        there = np.array([k for k, d in enumerate(dates) if d is not None], dtype=np.int64)
        parts = np.array([(d.month, 13 + d.weekday(), 20 + d.hour) for d in dates if d is not None], dtype=np.int64)
        if len(there):
            out[there[:, None], parts[:, : 3 if self.hours else 2]] = 1.0
        return out

    def said(self, column: str, cell: str | None) -> list[str]:
        """Name the year; the other switches have their names."""
        found = moment(cell) if cell else None
        year = [f"{column} year={found.year}" if found else ""]
        missing = f"{column} is no date" if cell else f"{column} is missing"
        return [*year, *self.names(column)[1:-1], missing]


KINDS: dict[str, type[Category] | type[Number]] = {"number": Number, "date": Date, "category": Category}


@dataclass(frozen=True)
class Column(Computed):
    """The values of one column of the data; kind is "number", "date" or "category", by default whichever fits."""

    column: str
    kind: str | None = None
    weight: float = 1.0
    reading: Category | Number | None = field(default=None, repr=False)

    name: ClassVar[str] = "column"
    indicators: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._check_weight()
        if not isinstance(self.column, str) or not self.column.strip():
            raise LinnetError(f"column takes the name of a column, got {self.column!r}")
        if self.kind is not None and self.kind not in KINDS:
            raise LinnetError(nearest("kind of column", self.kind, KINDS))

    @property
    def needs(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    @property
    def waits(self) -> str:
        """What the column holds, until training rows were seen."""
        return "" if self.reading is not None else f"column '{self.column}'"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the features."""
        return self._read.names(self.column)

    @property
    def _read(self) -> Category | Number:
        if self.reading is None:
            raise LinnetError(f"{self} has not been learned; fit a TextClassifier with it")
        return self.reading

    def learn(self, pieces: list[TextBuffer], rows: Ints | None, known: dict[Any, Any]) -> Column:
        """Learn from the training rows what the column holds."""
        if self.reading is not None:
            return self
        cells = [cell for piece in pieces for cell in _cells(piece, self.column)]
        some = cells if rows is None else [cells[r] for r in rows.tolist()]
        there = [(row, cell) for row, cell in enumerate(some, 1) if cell is not None]
        if not there:
            raise DataError(f"column '{self.column}' is empty in all {len(some):,} training rows; leave out '{self}'")
        odd = {kind: next((one for one in there if read(one[1]) is None), None) for kind, read in READ.items()}
        kind = self.kind or next((kind for kind in READ if odd[kind] is None), "category")
        if found := odd.get(kind):  # of the kind that was given; later such cells count as missing
            raise DataError(
                f"column '{self.column}', training row {found[0]:,}: '{found[1]:.40}' is no {kind}; mend it, empty the "
                f"cell, or write column:{self.column}:category"
            )
        return replace(self, kind=kind, reading=KINDS[kind].learn(some))

    def values_of(self, piece: TextBuffer, first: int = 0) -> Floats:
        """Return the features of all documents of a piece."""
        return self._read.values(_cells(piece, self.column))

    def said(self, piece: TextBuffer) -> list[str]:
        """Return ``priority=high`` for the switch that is on, and the like."""
        return self._read.said(self.column, _cells(piece, self.column)[0])

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain values, with what was learned."""
        plain = super().to_dict()
        learned = plain.pop("reading")
        return plain if learned is None else {**plain, "reading": asdict(learned)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Column:
        """Read back what ``to_dict`` wrote."""
        made = cls(str(values["column"]), values["kind"], float(values["weight"]))
        if "reading" not in values or made.kind is None:
            return made
        reading = dict(values["reading"])
        if "known" in reading:
            reading["known"] = tuple(map(str, reading["known"]))
        return replace(made, reading=KINDS[made.kind](**reading))

    @classmethod
    def read(cls, written: str, **settings: Any) -> Column | None:
        """Read ``NAME``, ``NAME:number``."""
        column, _, kind = written.partition(":")
        return cls(column.strip(), kind.strip() or None, **settings) if written else None

    def written(self) -> list[str]:
        """Return the column and its kind."""
        return [self.column, *([self.kind] if self.kind else [])]


def _cells(piece: TextBuffer, column: str) -> list[str | None]:
    return [None if cell is None else cell.strip() or None for cell in piece.column(column)]


def _number(cell: str) -> float | None:
    """Read a number as people write them, which leaves out "nan", "infinity" and "1_000".

    >>> _number("-1.5e3"), _number("1,000"), _number("nan")
    (-1500.0, None, None)
    """
    found = float(cell) if _NUMBER.match(cell) else math.inf
    return found if math.isfinite(found) else None


READ: dict[str, Callable[[str], Any]] = {"number": _number, "date": moment}
