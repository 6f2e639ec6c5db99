"""Dataset: texts, labels, and an account of where they came from and what was left out."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from linnet import arithmetic
from linnet.array_types import Floats
from linnet.data.arrays import call, strings, take
from linnet.data.input_file import Unusable
from linnet.data.splitting import moments, numbered, split_indices, time_split
from linnet.draw.terminal import listed
from linnet.errors import DataError, LinnetError, nearest, shown
from linnet.values import alike, is_number

# ---- Labels that are no classes: almost as many as rows, or numbers that measure something; and label distributions.
#
# Labels from numbers: bins such as 'stars<=2=negative,stars>=4=positive', or parts of equal size.
#
# A bin is a condition and a name: COL<=N, COL<N, COL>=N, COL>N, or A<COL<=B; COL may be left out. The first bin that a number lies in is
# its label; rows in none are left out. Bins have an order, by their numbers.


ROUNDING = 0.02  # how far from 1 probabilities may add up: those of a file are rounded
FEW = 10  # rows: so many labels may all differ, in an example
PerRow: TypeAlias = str | Sequence[Any] | np.ndarray | None
"""The name of a column, or one value a row."""


def are_scattered(labels: Collection[Any], n_rows: int) -> bool:
    """Whether rows have a label of their own each, or numbers that hardly ever occur twice; those with fractions, ten times.

    >>> are_scattered(["a", "b"], 2), are_scattered([str(k / 7) for k in range(60)], 100)
    (False, True)
    >>> are_scattered([str(k / 100) for k in range(100)], 900), are_scattered([str(k) for k in range(100)], 900)
    (True, False)
    """
    if n_rows < FEW or FEW * len(labels) <= n_rows:
        return False
    if len(labels) == n_rows or not all(map(is_number, labels)):
        return len(labels) == n_rows
    return 2 * len(labels) > n_rows or (len(labels) > 2 * FEW and any(float(label) % 1 for label in labels))


def scattered(labels: Iterable[Any], n_rows: int) -> str:
    """Say that there are too many labels for the rows, and what they look like.

    >>> scattered(["0.25", "1.5", "3"], 3)
    'there are 3 labels for 3 rows (0.25, 1.5, 3): these look like numbers, not classes; make a few groups of numbers with \
--label-quantiles 3 or --label-bins, or name another column with --label'
    """
    known = list(labels)
    few = ", ".join(shown(label, 20) for label in known[:3]) + (", ..." if len(known) > 3 else "")
    numbers = sum(map(is_number, known)) >= 0.9 * len(known)
    why = (
        "these look like numbers, not classes" if numbers else "a class needs several rows to learn from and to test on"
    )
    return (
        f"there are {len(known):,} labels for {n_rows:,} rows ({few}): {why}; make a few groups of numbers with "
        "--label-quantiles 3 or --label-bins, or name another column with --label"
    )


def is_soft(values: Any) -> bool:
    """Whether labels are a matrix of probabilities, a column a class: numbers that are not all 0 or 1."""
    if not hasattr(values, "ndim") or values.ndim != 2 or values.shape[1] < 2 or hasattr(values, "toarray"):
        return False
    array = np.asarray(values)
    return array.dtype.kind == "f" and not np.isin(array, (0.0, 1.0)).all()


def distributions(values: Any, name: str, first: int = 0) -> Floats:
    """Return label distributions, (n_rows, n_classes): numbers from 0 that add up to 1 in every row.

    Errors count rows on from first, here and in ``finite_numbers``.

    >>> distributions(np.array([[0.25, 0.75], [1.0, 0.0]]), "y").tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    array = np.asarray(values, dtype=np.float64)
    total = arithmetic.total(array, axis=1)
    bad = ~(np.isfinite(array) & (array >= 0.0)).all(axis=1) | (np.abs(total - 1.0) > ROUNDING)
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"{name}: row {first + row + 1} must hold probabilities from 0 that add up to 1, got {array[row].tolist()}; divide "
            "each row by its sum (for several labels a row give 0 and 1)"
        )
    return np.asarray(array / total[:, None])


def finite_numbers(cells: Sequence[str | None], least: float, what: str, first: int = 0) -> Floats:
    """Return cells as finite numbers, none below the least."""
    out = np.array([float(cell or "nan") if is_number(cell) else np.nan for cell in cells], dtype=np.float64)
    bad = ~(np.isfinite(out) & (out >= least))
    if bad.any():
        row = int(bad.argmax())
        raise DataError(f"{what}; usable row {first + row + 1:,} has {cells[row]!r:.60}")
    return out


def in_no_bin(n: int, of: int) -> str:
    """Say how many rows are left out."""
    return f"left out: {n:,} of {of:,} rows, which lie in no bin"


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
    text: str
    """What was parsed."""

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
        return cls(next(iter(columns), None), tuple(names), tuple(intervals), text.strip())

    @classmethod
    def quantiles(cls, values: Sequence[float] | Floats, n: int, column: str = "label") -> LabelBins:
        """Return n bins of about equally many values.

        >>> LabelBins.quantiles([1, 2, 3, 4, 5, 6], 3).text
        'label<=2=low,2<label<=4=middle,label>4=high'
        """
        ranked = np.sort(np.asarray(values, np.float64))
        edges = [float(ranked[max(0, -(-len(ranked) * k // n) - 1)]) for k in range(1, n)] if len(ranked) else []
        if len(set(edges)) < n - 1 or not edges or edges[-1] >= ranked[-1]:
            raise DataError(
                f"the labels have too few different numbers for {n} parts of equal size; ask for fewer, or give --label-bins"
            )
        names = NAMES.get(n) or tuple(str(k) for k in range(1, n + 1))
        at = [str(int(edge)) if edge.is_integer() else repr(edge) for edge in edges]
        lows, column = ["", *(f"{edge}<" for edge in at)], "" if re.search("[<>=,]", column) else column
        parts = [f"{low}{column}<={high}={name}" for low, high, name in zip(lows, at, names, strict=False)]
        return cls.parse(",".join([*parts, f"{column}>{at[-1]}={names[-1]}"]))

    @property
    def order(self) -> tuple[str, ...]:
        """The labels by their numbers, the lowest first."""
        ranked = sorted(range(len(self.names)), key=lambda k: self.intervals[k])
        return tuple(dict.fromkeys(self.names[k] for k in ranked))

    def labels(self, values: Sequence[float] | Floats) -> list[str | None]:
        """Return the label of each number; None where it lies in no bin."""
        x = np.asarray(values, np.float64)
        out = np.full(len(x), None, dtype=object)
        for name, (low, low_in, high, high_in) in reversed(list(zip(self.names, self.intervals, strict=True))):
            out[((x > low) | (low_in & (x == low))) & ((x < high) | (high_in & (x == high)))] = name
        return list(out)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Usable rows: a text each, and a label each where there are labels.

    `text` and `label` are Arrow columns (`label` is None without labels), `how` says which columns were chosen and why,
    `unusable` holds the rows that were left out, `notes` what was repaired, `also` the further columns that were asked
    for, by name (none unless asked). `separator` stands between the labels of a row where rows may have several; see
    `label_sets`.

    >>> data = Dataset.from_lists(["good film", "bad film", " ", "so good"], ["pos", "neg", "pos", "pos"])
    >>> data
    <Dataset: 3 texts, labels neg, pos, from 4 Python texts>
    >>> data.unusable.rows[0].row, data.unusable.rows[0].reason
    (3, 'empty text')
    """

    text: pa.ChunkedArray
    label: pa.ChunkedArray | None
    source: str
    text_column: str = "text"
    label_column: str | None = None
    how: str = ""
    unusable: Unusable = field(default_factory=Unusable)
    notes: tuple[str, ...] = ()
    encoding: str = "utf-8"
    also: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)
    separator: str | None = None
    bins: str | None = None
    """What the labels were made of, where they were numbers: see `binned`."""
    label_columns: Mapping[str, str] = field(default_factory=dict)
    """Where labels are distributions: the column of `also` that holds the probability of each label."""
    taken: np.ndarray | None = None
    """The numbers of the rows in their source, where they are some of its rows: see `source_rows`."""

    @staticmethod
    def from_lists(texts: Any, labels: Any = None) -> Dataset:
        """Texts and labels that are in memory: lists, numpy arrays, Arrow, pandas or polars columns.

        Labels may be strings, numbers or booleans; None (or NaN) is a missing label. Rows with an empty text or a
        missing label are set aside as unusable, as they are in a file.

        >>> Dataset.from_lists(["a", "b"], [1, 2]).label.to_pylist()
        ['1', '2']
        """
        from linnet.data.readers.arrow import from_lists

        return from_lists(texts, labels)

    def __len__(self) -> int:
        return len(self.text)

    def __repr__(self) -> str:
        labels = "no labels" if self.label is None else f"labels {listed(self.labels)}"
        return f"<Dataset: {len(self):,} texts, {labels}, from {self.source}>"

    @property
    def labels(self) -> list[str]:
        """The distinct labels, sorted as strings; empty without labels.

        >>> Dataset.from_lists(["a", "b", "c"], ["y", "x", "y"]).labels
        ['x', 'y']
        """
        return sorted(self.counts)

    def label_list(self) -> list[str]:
        """Return the label of every row; a data set without labels is refused."""
        if self.label is None:
            raise DataError(f"{self.source}: has no labels; name the label column")
        self.refuse_multilabel("this")
        return list(self.label.to_pylist())

    def refuse_multilabel(self, caller: str) -> None:
        """Refuse rows with several labels."""
        if self.separator is not None:
            raise DataError(
                f"{self.source}: rows have several labels; train, tune, compare, predict and evaluate take them, {caller} takes "
                "one label a row (multilabel=False, --multilabel none: each combination of labels is a label)"
            )

    def label_sets(self) -> list[tuple[str, ...]]:
        """Return the labels of every row, sorted; one each where rows have one label.

        >>> read_labels = Dataset.from_lists(["a", "b"], ["joy|love", "love"])
        >>> replace(read_labels, separator="|").label_sets()
        [('joy', 'love'), ('love',)]
        """
        found = [] if self.label is None else self.label.to_pylist()
        if self.separator is None:
            return [() if label is None else (label,) for label in found]
        return [labels_of(label, self.separator) for label in found]

    def distributions(self) -> np.ndarray:
        """Return the probability of each label in each row, (rows, labels), in the order of `label_columns`.

        >>> from linnet.data import read
        >>> rows = [{"text": "so so", "p_bad": 0.4, "p_good": 0.6}, {"text": "awful", "p_bad": 1, "p_good": 0}]
        >>> data = read(rows, label_columns="p_*")
        >>> data.label_list(), data.distributions().tolist()
        (['good', 'bad'], [[0.4, 0.6], [1.0, 0.0]])
        """
        return distributions(np.stack(list(map(self.numbers, self.label_columns.values())), axis=1), self.source)

    @property
    def counts(self) -> dict[str, int]:
        """How often each label occurs, by label.

        >>> Dataset.from_lists(["a", "b", "c"], ["y", "x", "y"]).counts
        {'x': 1, 'y': 2}
        """
        if self.label is None:
            return {}
        if self.separator is not None:
            return dict(sorted(Counter(label for row in self.label_sets() for label in row).items()))
        found = {pair["values"]: pair["counts"] for pair in call("value_counts", self.label).to_pylist()}
        found.pop(None, None)
        return dict(sorted(found.items()))

    def take(self, indices: Sequence[int] | np.ndarray) -> Dataset:
        """The rows at the given positions (from 0), in that order, as often as they are named.

        >>> Dataset.from_lists(["a", "b", "c"]).take([2, 0]).text.to_pylist()
        ['c', 'a']
        """
        where = np.asarray(indices, dtype=None if len(indices) else np.int64)
        whole = where.ndim == 1 and where.dtype.kind in "iu"
        if not whole or (len(where) and not 0 <= where.min() <= where.max() < len(self)):
            raise DataError(f"take needs a list of row numbers from 0 to {len(self) - 1}, got {where!r:.60}")
        text, label = take(self.text, where), None if self.label is None else take(self.label, where)
        also = {name: take(column, where) for name, column in self.also.items()}
        rows = self.source_rows[where]
        return replace(self, text=text, label=label, unusable=Unusable(), notes=(), also=also, taken=rows)

    @cached_property
    def source_rows(self) -> np.ndarray:
        """The number of each row in its source, from 1; rows that were left out are counted, parts keep them.

        >>> data = Dataset.from_lists(["a", " ", "b", "c"])
        >>> data.source_rows.tolist(), data.take([2, 1]).source_rows.tolist()
        ([1, 3, 4], [4, 3])
        """
        if self.taken is not None:
            return self.taken
        bad = np.array([row.row for row in self.unusable.rows], dtype=np.int64)
        return np.setdiff1d(np.arange(1, len(self) + len(bad) + 1), bad)[: len(self)]

    def column(self, name: str) -> list[str | None]:
        """Return a column that was read with `also`, as strings; None where it is empty.

        >>> from linnet.data import read
        >>> read([{"text": "good", "label": "pos", "day": "2024-05-01"}], also=["day"]).column("day")
        ['2024-05-01']
        """
        found = alike(name, self.also)
        if found is None:
            known = f"; {nearest('column', name, self.also)}" if self.also else ""
            raise DataError(f"{self.source}: column '{name}' was not read; read it with also=['{name}']{known}")
        return list(self.also[found].to_pylist())

    def numbers(self, name: str) -> np.ndarray:
        """Return a column that was read with `also` as numbers from 0; anything else is refused with its row.

        >>> from linnet.data import read
        >>> read([{"text": "good", "label": "pos", "w": 2}], also=["w"]).numbers("w").tolist()
        [2.0]
        """
        return finite_numbers(self.column(name), 0.0, f"{self.source}: column '{name}' must hold numbers from 0")

    def binned(self, bins: str | int) -> Dataset:
        """Put labels that are numbers into bins, such as "stars<=2=negative,stars>=4=positive", or into so many parts of equal size.

        Rows in no bin are left out; `notes` says how many. The labels have an order: evaluations tell how far off answers are.

        >>> data = Dataset.from_lists(["a", "b", "c", "d"], [1, 2, 3, 5]).binned("<=2=negative,>=4=positive")
        >>> data.label.to_pylist(), data.notes
        (['negative', 'negative', 'positive'], ('left out: 1 of 4 rows, which lie in no bin',))
        >>> Dataset.from_lists(["a", "b", "c", "d"], [1, 2, 3, 5]).binned(2).bins
        'label<=2=low,label>2=high'
        """
        values = finite_numbers(self.label_list(), -np.inf, f"{self.source}: labels in bins must be numbers")
        name = self.label_column or "label"
        found = LabelBins.quantiles(values, bins, name) if isinstance(bins, int) else LabelBins.parse(bins)
        labels = found.labels(values)
        kept = self.take(np.flatnonzero([label is not None for label in labels]))
        n = len(self) - len(kept)
        if not len(kept):
            raise DataError(
                f"{self.source}: no row lies in one of the bins {found.text}; the numbers are {values.min():g} to {values.max():g}"
            )
        label = pa.chunked_array([strings([label for label in labels if label is not None])])
        notes = (*self.notes, in_no_bin(n, len(self))) if n else self.notes
        return replace(kept, label=label, bins=found.text, unusable=self.unusable, notes=notes)

    def split(
        self, seed: int = 0, fractions: Sequence[float] = (0.8, 0.1, 0.1), *, groups: PerRow = None, time: PerRow = None
    ) -> tuple[Dataset, ...]:
        """Divide the rows into parts, by default train, dev and test, each with every class in its share.

        The same rows in the same order with the same seed give the same parts, on any machine; rows in another order
        are shuffled differently. Every class that has a row for each part is in each part; a class with fewer rows
        goes to the largest part. Rows keep their order within a part. Without labels the split is at random.

        `groups` keeps rows of a group in one part: the name of a column read with `also`, one value a row, or
        "duplicates" (exact and near duplicates of a text). `time`, a column of dates or numbers or one value a row, puts
        the oldest rows into the first part and the newest into the last; the seed then plays no part.

        >>> data = Dataset.from_lists([f"text {i}" for i in range(50)], ["a", "b"] * 25)
        >>> [part.counts for part in data.split(seed=0)]
        [{'a': 20, 'b': 20}, {'a': 3, 'b': 2}, {'a': 2, 'b': 3}]
        """
        if time is not None:
            if groups is not None:
                raise DataError("give groups or time, not both: rows of one group may lie far apart in time")
            values = self.column(time) if isinstance(time, str) else list(time)
            parts = time_split(moments(values, time if isinstance(time, str) else "time"), fractions)
        else:
            parts = split_indices(self._codes(), seed, fractions, groups=self.group_numbers(groups))
        return tuple(self.take(rows) for rows in parts)

    def group_numbers(self, groups: PerRow) -> np.ndarray | None:
        """Return the group of each row as a number, from a column, "duplicates" or one value a row.

        Rows without a value are groups of their own.

        >>> data = Dataset.from_lists(["a good film", "bad", "A good film!"], ["pos", "neg", "pos"])
        >>> data.group_numbers("duplicates").tolist(), data.group_numbers([7, None, 7]).tolist()
        ([0, 1, 0], [0, 1, 0])
        """
        if groups is None or (isinstance(groups, str) and groups == "none" and "none" not in self.also):
            return None
        if isinstance(groups, str) and groups == "duplicates" and "duplicates" not in self.also:
            from linnet.text.duplicates import near_groups  # text comes after data: looked up when used

            return near_groups(self.text)
        values = self.column(groups) if isinstance(groups, str) else list(groups)
        if len(values) != len(self):
            raise DataError(f"groups must hold one value a row: {len(self):,}, got {len(values):,}")
        return numbered(values)

    def _codes(self) -> np.ndarray:
        """The class of each row as a number, in the order of the sorted labels; rows without a label come last."""
        if self.label is None:
            return np.zeros(len(self), dtype=np.int64)
        counts, labels = self.counts, self.label.to_pylist()
        place = {label: k for k, label in enumerate(counts)}
        if self.separator is not None:  # the rarest label of a row decides
            labels = [min(row, key=counts.__getitem__, default=None) for row in self.label_sets()]
        return np.array([place.get(label, len(place)) for label in labels], dtype=np.int64)

    def write_unusable(self, path: str | os.PathLike[str]) -> None:
        """Write the rows that were left out as CSV: row, line, reason, detail, label, text. Whole or not at all."""
        self.unusable.write(path)

    def describe(self) -> str:
        """What was read, in a few lines.

        >>> print(Dataset.from_lists(["good", "bad", ""], ["pos", "neg", "neg"]).describe())
        3 Python texts: 2 usable rows
        columns: texts and labels as given
        labels: 2 (neg 1, pos 1)
        1 unusable row: 1 empty text (first: row 3)
        """
        counts = None if self.label is None else self.counts
        n_labels = sum(map(len, self.label_sets()))
        name = shown(self.source, 300)
        lines = description(name, len(self), "", self.how, counts, self.separator, n_labels, self.unusable)
        return "\n".join([*lines, *self.notes])


def description(
    name: str, n: int, size: str, how: str, counts: Mapping[str, int] | None, separator: str | None, n_labels: int,
    unusable: Unusable,
) -> list[str]:  # fmt: skip
    """Say what was read: how many rows, which columns, which labels, and what cannot be used."""
    lines = [f"{name}: {n:,} usable row{'s' if n != 1 else ''}{size}", f"columns: {how}"]
    if counts is not None:
        lines.append(label_summary(counts))
    if separator is not None:
        lines.append(f"several labels a row (split at '{separator}'), {n_labels / max(1, n):.2f} on average")
    elif counts is not None and (sep := joined_by(counts)):
        lines.append(f"some labels look like several, joined by '{sep}'; --multilabel '{sep}' takes them apart")
    return lines + ([str(unusable)] if len(unusable) else [])


def labels_of(cell: str | None, separator: str) -> tuple[str, ...]:
    """Return the labels that a cell holds, sorted.

    >>> labels_of("love | joy", "|")
    ('joy', 'love')
    """
    return tuple(sorted({part.strip() for part in (cell or "").split(separator)} - {""}))


def joined_by(cells: Collection[str]) -> str | None:
    """Return what seems to stand between labels in these cells: taken apart they are fewer, and some stand alone, too.

    >>> joined_by(["joy", "love", "joy|love"]), joined_by(["Sci/Tech", "War|Peace"])
    ('|', None)
    """
    for separator in "|;,":
        parts = {part for cell in cells for part in labels_of(cell, separator)}
        if len(parts) < len(cells) and any(part in cells for part in parts):
            return separator
    return None


def label_summary(counts: Mapping[str, int]) -> str:
    """Say how many labels there are, and how often the most frequent ones occur.

    >>> label_summary({"neg": 2, "pos": 3})
    'labels: 2 (pos 3, neg 2)'
    """
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    counted = (f"{shown(name, 40)} {count:,}" for name, count in ranked)
    return f"labels: {len(ranked):,} ({listed(counted, 10)})"
