"""Dataset: texts, labels, and an account of where they came from and what was left out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.arrays import strings, take, to_numbers
from linnet.data.decode import missing
from linnet.data.labels import LabelBins, distributions
from linnet.data.reader import Unusable
from linnet.data.splitting import moments, numbered, split_indices, time_split
from linnet.errors import DataError, nearest, shown
from linnet.values import alike, is_number


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
        names = [] if self.label is None else self.labels
        labels = "no labels" if self.label is None else f"labels {', '.join(names[:5])}"
        more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
        return f"<Dataset: {len(self):,} texts, {labels}{more}, from {self.source}>"

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
        labels: list[str] = self.label.to_pylist()
        return labels

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
        return distributions(
            np.stack([self.numbers(name) for name in self.label_columns.values()], axis=1), self.source
        )

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
        found = {pair["values"]: pair["counts"] for pair in self.label.value_counts().to_pylist()}
        found.pop(None, None)
        return dict(sorted(found.items()))

    def take(self, indices: Sequence[int] | np.ndarray) -> Dataset:
        """The rows at the given positions (from 0), in that order, as often as they are named.

        >>> Dataset.from_lists(["a", "b", "c"]).take([2, 0]).text.to_pylist()
        ['c', 'a']
        """
        where = np.asarray(indices)
        if where.size == 0:
            where = where.astype(np.int64)
        if where.ndim != 1 or where.dtype.kind not in "iu":
            raise DataError(f"take needs row numbers, a list of integers; got {where.dtype} of shape {where.shape}")
        if where.size and (where.min() < 0 or where.max() >= len(self)):
            wrong = int(where.min()) if where.min() < 0 else int(where.max())
            raise DataError(f"row {wrong} is not in the data, which has rows 0 to {len(self) - 1}")
        label = None if self.label is None else take(self.label, where)
        also = {name: take(column, where) for name, column in self.also.items()}
        return replace(self, text=take(self.text, where), label=label, unusable=Unusable(), notes=(), also=also)

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
        values: list[str | None] = self.also[found].to_pylist()
        return values

    def numbers(self, name: str) -> np.ndarray:
        """Return a column that was read with `also` as numbers from 0; anything else is refused with its row.

        >>> from linnet.data import read
        >>> read([{"text": "good", "label": "pos", "w": 2}], also=["w"]).numbers("w").tolist()
        [2.0]
        """
        return self._floats(self.column(name), 0.0, f"column '{name}' must hold numbers from 0")

    def _floats(self, cells: Iterable[str | None], least: float, what: str) -> np.ndarray:
        """Return cells as finite numbers, none below the least."""
        out = np.empty(len(self))
        for row, cell in enumerate(cells):
            out[row] = float(cell or "nan") if is_number(cell) else np.nan
            if not (np.isfinite(out[row]) and out[row] >= least):
                raise DataError(f"{self.source}: {what}; usable row {row + 1:,} has {cell!r:.60}")
        return out

    def binned(self, bins: str | int) -> Dataset:
        """Put labels that are numbers into bins, such as "stars<=2=negative,stars>=4=positive", or into so many parts of equal size.

        Rows in no bin are left out; `notes` says how many. The labels have an order: evaluations tell how far off answers are.

        >>> data = Dataset.from_lists(["a", "b", "c", "d"], [1, 2, 3, 5]).binned("<=2=negative,>=4=positive")
        >>> data.label.to_pylist(), data.notes
        (['negative', 'negative', 'positive'], ('1 of 4 rows lies in no bin and is left out',))
        >>> Dataset.from_lists(["a", "b", "c", "d"], [1, 2, 3, 5]).binned(2).bins
        'label<=2=low,label>2=high'
        """
        values = self._floats(self.label_list(), -np.inf, "labels in bins must be numbers")
        name = self.label_column or "label"
        found = LabelBins.quantiles(values, bins, name) if isinstance(bins, int) else LabelBins.parse(bins)
        if found.column is not None and self.label_column is not None and found.column != self.label_column:
            raise DataError(
                f"{self.source}: the bins are of column '{found.column}', the labels of '{self.label_column}'; name one of them"
            )
        labels = found.labels(values)
        kept = self.take(np.flatnonzero([label is not None for label in labels]))
        n = len(self) - len(kept)
        if not len(kept):
            raise DataError(
                f"{self.source}: no row lies in one of the bins {found.to_text()}; the numbers are {values.min():g} to {values.max():g}"
            )
        note = f"{n:,} of {len(self):,} rows {'lies in no bin and is' if n == 1 else 'lie in no bin and are'} left out"
        label = pa.chunked_array([strings([label for label in labels if label is not None])])
        return replace(
            kept, label=label, bins=found.to_text(), unusable=self.unusable, notes=(*self.notes, *([note] if n else []))
        )

    def split(
        self,
        seed: int = 0,
        fractions: Sequence[float] = (0.8, 0.1, 0.1),
        *,
        groups: str | Sequence[Any] | np.ndarray | None = None,
        time: str | Sequence[Any] | np.ndarray | None = None,
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

    def group_numbers(self, groups: str | Sequence[Any] | np.ndarray | None) -> np.ndarray | None:
        """Return the group of each row as a number, from a column, "duplicates" or one value a row.

        Rows without a value are groups of their own.

        >>> data = Dataset.from_lists(["a good film", "bad", "A good film!"], ["pos", "neg", "pos"])
        >>> data.group_numbers("duplicates").tolist(), data.group_numbers([7, None, 7]).tolist()
        ([0, 1, 0], [0, 1, 0])
        """
        if groups is None:
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
        codes = np.zeros(len(self), dtype=np.int64)
        if self.label is None or not len(self):
            return codes
        if self.separator is not None:  # the rarest label of a row decides
            counts = self.counts
            place = {label: k for k, label in enumerate(counts)}
            rarest = (min(row, key=counts.__getitem__, default=None) for row in self.label_sets())
            return np.array([len(place) if label is None else place[label] for label in rarest])
        import pyarrow.compute as pc

        found = pc.index_in(self.label, value_set=strings(self.labels))
        at = 0
        for chunk in found.chunks:
            codes[at : at + len(chunk)] = np.where(missing(chunk), len(self.labels), to_numbers(chunk))
            at += len(chunk)
        return codes

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
    return lines + ([str(unusable)] if len(unusable) else [])


def labels_of(cell: str | None, separator: str) -> tuple[str, ...]:
    """Return the labels that a cell holds, sorted.

    >>> labels_of("love | joy", "|")
    ('joy', 'love')
    """
    return tuple(sorted({part.strip() for part in (cell or "").split(separator)} - {""}))


def label_summary(counts: Mapping[str, int]) -> str:
    """Say how many labels there are, and how often the most frequent ones occur.

    >>> label_summary({"neg": 2, "pos": 3})
    'labels: 2 (pos 3, neg 2)'
    """
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{shown(name, 40)} {count:,}" for name, count in ranked[:10])
    return f"labels: {len(ranked):,} ({listed}{f', and {len(ranked) - 10:,} more' if len(ranked) > 10 else ''})"
