"""Labelled texts from any number of files, batch by batch, as often as wanted.

Columns are settled once, on the first file that has rows, and hold for all of them. Every pass gives the same batches.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from linnet._kernels.text import scripts
from linnet.array_types import Bools, Bytes, Floats, Ints, Ints32
from linnet.data.arrays import booleans, byte_slices, data_bytes, offsets, strings, to_numbers
from linnet.data.columns import given as column_named
from linnet.data.dataset import LabelBins, description, distributions, finite_numbers, in_no_bin, labels_of
from linnet.data.formats import find_shards, size_of, title
from linnet.data.input_file import ReadOptions, Unusable
from linnet.data.reading import Batch, label_columns_of, of_columns, open_reader, open_rows, stream
from linnet.errors import DataError

BEGINNING = 400  # bytes


def scripts_of(data: Bytes, offsets: Ints, rows: Ints | None = None) -> Bytes:
    """Return 2 for a text whose script needs no blanks, 1 for one whose script does, 0 for an empty one.

    Text d is data[offsets[d]:offsets[d + 1]]; its first 400 bytes are looked at.

    >>> scripts_of(np.frombuffer("好看good".encode(), np.uint8), np.array([0, 6, 10, 10])).tolist()
    [2, 1, 0]
    """
    rows = np.arange(len(offsets) - 1) if rows is None else rows
    out = np.empty(len(rows), np.uint8)
    scripts(data, offsets, rows, BEGINNING, out)
    return out


BATCH_ROWS = 1 << 16
MOST_NOTES = 5
MOST_UNUSABLE = 10_000  # kept one by one; beyond that they are counted

OnBytes = Callable[[int], None]


@dataclass(frozen=True)
class Labelled:
    """Consecutive usable rows: texts and their labels, none missing.

    numbers, (n_rows, n_numbers), are the weight of each row and the probability of each label, as far as they are asked for.
    """

    text: pa.Array
    label: pa.Array
    numbers: Floats
    unusable: Unusable
    notes: tuple[str, ...] = ()  # what is odd about the file
    lists: bool = False  # whether labels are lists, joined by '|' here
    in_no_bin: int = 0  # rows that were left out, where labels are bins of numbers

    def __len__(self) -> int:
        return len(self.text)

    @property
    def nbytes(self) -> int:
        """The bytes of the texts."""
        ends = offsets(self.text)
        return int(ends[-1]) - int(ends[0])

    def slices(self, most: int) -> Iterator[Labelled]:
        """Cut into parts of about so many bytes of text, of one row at least."""
        for part in byte_slices(self.text, most):
            yield Labelled(self.text[part], self.label[part], self.numbers[part], Unusable())

    def filter(self, keep: Bools) -> Labelled:
        """Return some of the rows."""
        mask = booleans(keep)
        return replace(self, text=self.text.filter(mask), label=self.label.filter(mask), numbers=self.numbers[keep])


@dataclass
class Scan:
    """What one look at all rows found. A cell is the label of a row, or all its labels as they stand in the file."""

    rows: int = 0
    nbytes: int = 0
    labels: dict[str, int] = field(default_factory=dict)  # rows of each cell, in the order of first sight
    lists: bool = False  # whether some rows have lists of labels
    codes: list[Ints32] | None = field(default_factory=list)  # of each row; None where rows are too many
    sizes: list[Ints32] | None = field(default_factory=list)
    scripts: list[Bytes] = field(default_factory=list)  # of each row, where codes are
    numbers: list[Floats] = field(default_factory=list)  # of each row, where codes are
    by_script: Ints = field(default_factory=lambda: np.zeros(3, np.int64))  # rows
    unusable: Unusable = field(default_factory=Unusable)
    by_shard: dict[str, int] = field(default_factory=dict)  # usable rows
    damaged: dict[str, str] = field(default_factory=dict)  # shards left out, and why
    notes: list[str] = field(default_factory=list)  # the first few
    in_no_bin: int = 0


class LabelledFiles:
    """Files of labelled texts as one stream of rows."""

    def __init__(
        self,
        places: Iterable[str | os.PathLike[str]],
        *,
        text: str | None = None,
        label: str | None = None,
        format: str | None = None,
        multilabel: str | bool | None = None,
        bins: str | int | None = None,
        weight: str | None = None,
        label_columns: str | Mapping[str, str] | None = None,
    ) -> None:
        given = [places] if isinstance(places, str | os.PathLike) else list(places)
        self.shards = find_shards(given)
        self.name = title(self.shards, given)
        self.text, self.label, self.format, self.multilabel = text, label, format, multilabel
        self.bins = bins
        """Bins of numbers to make labels of, or into how many parts of equal size; see ``LabelBins``."""
        self.weight = weight
        """The column of row weights."""
        self.pattern = label_columns if isinstance(label_columns, str) else None
        self.soft: Mapping[str, str] = {} if isinstance(label_columns, str) else label_columns or {}
        """Label distributions: the pattern of their columns, and once columns are settled the column of each label."""
        self.how = ""
        self.damaged: dict[str, str] = {}
        self.nbytes = sum(map(size_of, self.shards))

    def separator(self, *scans: Scan) -> str | None:
        """Return what stands between the labels of a cell; None where rows have one label each."""
        if isinstance(self.multilabel, str):
            return self.multilabel
        return "|" if self.multilabel is None and any(scan.lists for scan in scans) else None

    @property
    def n_numbers(self) -> int:
        """How many numbers each row has, once columns are settled: its weight, and the probability of each label."""
        return len(self._columns["also"])

    @property
    def _columns(self) -> dict[str, Any]:
        """What is read of each file."""
        also = [*([] if self.weight is None else [self.weight]), *self.soft.values()]
        return {"text": self.text, "label": self.label, "format": self.format, "also": also, "labelled": not self.soft}

    def numbered(self, most_rows: int) -> int:
        """Return how many rows to know one by one, where there is room for so many without weights and probabilities."""
        return most_rows * 2 // (2 + self.n_numbers)

    # ---- columns

    def settle(self, skip_damaged: bool = False) -> None:
        """Find the columns in the first file that can be opened and has rows; with skip_damaged, leave damaged ones out."""
        for number, path in enumerate(self.shards, 1):
            try:
                if self.pattern and not self.soft:
                    with open_reader(path, self.format, ReadOptions(self.text, self.label)) as reader:
                        self.soft = label_columns_of(self.pattern, reader)
                with contextlib.closing(open_rows(path, **self._columns)[1]) as rows:
                    batch = next(rows, None)
            except DataError as error:
                if not skip_damaged or number == len(self.shards):
                    raise DataError(self._named(error)) from None
                self.damaged[str(path)] = str(error)
                continue
            if batch is not None:
                self.text, self.label, self.how = batch.choice.text, batch.choice.label, batch.how
                if self.soft:
                    self.label, self.how = None, self.how + of_columns(self.soft)
                self._settle_bins()
                return
        raise DataError(f"{self.name} is empty: it holds no rows")

    def _settle_bins(self) -> None:
        """Find where parts of equal size end: one look at the labels of all rows, eight bytes a row."""
        if isinstance(self.bins, int):
            parts, self.bins = self.bins, None
            paths = [path for path in self.shards if str(path) not in self.damaged]
            found = np.concatenate([self._numbers(batch) for path in paths for batch in self.shard(path)])
            self.bins = LabelBins.quantiles(found, parts, self.label or "label").text

    def _numbers(self, batch: Labelled) -> Floats:
        return finite_numbers(batch.label.to_pylist(), -np.inf, f"{self.name}: labels in bins must be numbers")

    # ---- rows

    def batches(self, batch_bytes: int, on_bytes: OnBytes | None = None) -> Iterator[Labelled]:
        """Yield usable rows of all shards in batches of about so many bytes."""
        for path in self.shards:
            if str(path) not in self.damaged:
                for batch in self.shard(path, on_bytes):
                    yield from batch.slices(batch_bytes) if len(batch) else ()

    def shard(self, path: Path, on_bytes: OnBytes | None = None) -> Iterator[Labelled]:
        """Yield the usable rows of one shard."""
        first = 0
        for batch in stream(path, batch_rows=BATCH_ROWS, **self._columns):
            found = usable(batch, str(path) if len(self.shards) > 1 else "", self.weight, self.soft, first)
            first += len(found)
            if isinstance(self.bins, str):
                labels = LabelBins.parse(self.bins).labels(self._numbers(found))
                keep = np.array([label is not None for label in labels], dtype=bool)
                known = strings([label for label in labels if label is not None])
                found = replace(found.filter(keep), label=known, in_no_bin=len(labels) - len(known))
            yield found
            if on_bytes is not None:
                on_bytes(found.nbytes)

    def scan(self, most_rows: int, *, skip_damaged: bool = False, on_bytes: OnBytes | None = None) -> Scan:
        """Look at all rows: how many, which labels, which cannot be used; with skip_damaged, which files cannot be."""
        self.settle(skip_damaged)
        most_rows, whole = self.numbered(most_rows), Scan(damaged=self.damaged)
        for path in self.shards:
            if str(path) in self.damaged:
                continue
            one = Scan()
            try:
                for batch in self.shard(path, on_bytes):
                    join_scans(one, _scan_of(batch), str(path), most_rows)
            except DataError as error:
                if not skip_damaged:
                    hint = "; or leave such files out with --skip-damaged" if len(self.shards) > 1 else ""
                    raise DataError(f"{self._named(error)}{hint}") from None
                self.damaged[str(path)] = str(error)
                continue
            join_scans(whole, one, str(path), most_rows)
        if not whole.rows:
            damage = (f"; {path} was left out: {why}" for path, why in islice(self.damaged.items(), 3))
            raise DataError(f"no usable rows in {self.name}: {whole.unusable}{''.join(damage)}")
        return whole

    def _named(self, error: DataError) -> str:
        """Return the words of an error, about standard input where that was copied to a file."""
        return str(error).replace(str(self.shards[0]), self.name) if len(self.shards) == 1 else str(error)


def usable(
    batch: Batch, shard: str, weight: str | None = None, soft: Mapping[str, str] | None = None, first: int = 0
) -> Labelled:
    """Set aside what has no text, no label or could not be parsed.

    weight is the column of row weights, soft has the columns of label distributions: the likeliest label is that of the row.
    first is how many usable rows there were before.
    """
    source = shard or "the data"
    if batch.label is None and not soft:
        raise DataError(f"{source}: has no label column, and labels are needed; name it with --label COL")
    bad = np.zeros(len(batch), dtype=bool)
    bad[[row.row - batch.first_row for row in batch.unusable.rows]] = True
    unusable = batch.unusable
    if shard and unusable.rows:
        named = (
            replace(r, text=r.text[:1000], detail=f"{shard}: {r.detail}" if r.detail else shard) for r in unusable.rows
        )
        unusable = Unusable(unusable.counts, tuple(islice(named, MOST_UNUSABLE)))
    notes = tuple(f"{shard}: {note}" if shard else note for note in batch.notes)
    label = batch.text if soft else batch.label  # of soft labels the likeliest, below
    found = Labelled(batch.text, label, np.zeros((len(batch), 0)), unusable, notes, batch.multilabel and not soft)
    found = found.filter(~bad) if bad.any() else found
    columns = []
    for name in (*([] if weight is None else [weight]), *(soft or {}).values()):
        cells = batch.also[column_named(name, list(batch.also), source)].filter(booleans(~bad)).to_pylist()
        columns.append(finite_numbers(cells, 0.0, f"{source}: column '{name}' must hold numbers from 0", first))
    if not columns:
        return found
    numbers = np.stack(columns, axis=1)
    if soft:
        begin = len(columns) - len(soft)
        numbers[:, begin:] = distributions(numbers[:, begin:], source, first)
        found = replace(found, label=pa.array(list(soft)).take(pa.array(numbers[:, begin:].argmax(axis=1))))
    return replace(found, numbers=numbers)


def codes_of(label: pa.Array, known: dict[str, int]) -> Ints32:
    """Return labels as the numbers of a dictionary, which grows with those it does not know."""
    encoded = label.dictionary_encode()
    numbers = [known.setdefault(value, len(known)) for value in encoded.dictionary.to_pylist()]
    return np.asarray(np.array(numbers or [0], dtype=np.int32)[to_numbers(encoded.indices)])


def label_counts(cells: dict[str, int], separator: str) -> dict[str, int]:
    """Return the rows of each label, sorted, from those of each cell.

    >>> label_counts({"joy|love": 2, "joy": 1}, "|")
    {'joy': 3, 'love': 2}
    """
    found: dict[str, int] = {}
    for cell, n in cells.items():
        for label in labels_of(cell, separator):
            found[label] = found.get(label, 0) + n
    return dict(sorted(found.items()))


def _scan_of(batch: Labelled) -> Scan:
    """Scan one batch."""
    known: dict[str, int] = {}
    codes, ends = codes_of(batch.label, known), offsets(batch.text).astype(np.int64)
    kinds = scripts_of(data_bytes(batch.text), ends - ends[0])
    labels = dict(zip(known, np.bincount(codes, minlength=len(known)).tolist(), strict=True))
    sizes = np.diff(ends).astype(np.int32)
    return Scan(
        len(batch), batch.nbytes, labels, batch.lists, [codes], [sizes], [kinds],
        [batch.numbers], np.bincount(kinds, minlength=3), batch.unusable, notes=list(batch.notes), in_no_bin=batch.in_no_bin,
    )  # fmt: skip


def join_scans(whole: Scan, one: Scan, shard: str, most_rows: int) -> None:
    """Add what one shard, or a part of it, holds."""
    known = {name: k for k, name in enumerate(whole.labels)}
    numbers = np.array([known.setdefault(name, len(known)) for name in one.labels] or [0], dtype=np.int32)
    whole.labels = {name: whole.labels.get(name, 0) + one.labels.get(name, 0) for name in known}
    whole.lists |= one.lists
    whole.rows += one.rows
    whole.in_no_bin += one.in_no_bin
    whole.nbytes += one.nbytes
    whole.by_script += one.by_script
    whole.by_shard[shard] = whole.by_shard.get(shard, 0) + one.rows
    both = whole.unusable + one.unusable
    whole.unusable = Unusable(both.counts, both.rows[:MOST_UNUSABLE])
    whole.notes = list(dict.fromkeys([*whole.notes, *one.notes]))[:MOST_NOTES]
    if whole.codes is None or whole.sizes is None or one.codes is None or one.sizes is None or whole.rows > most_rows:
        whole.codes, whole.sizes, whole.scripts, whole.numbers = None, None, [], []
    else:
        whole.codes += [numbers[codes] for codes in one.codes]
        whole.sizes += one.sizes
        whole.scripts += one.scripts
        whole.numbers += one.numbers


def describe(source: LabelledFiles, scan: Scan) -> list[str]:
    """Say what was found, in the words of an ordinary data set."""
    separator = source.separator(scan)
    counts = scan.labels if separator is None else label_counts(scan.labels, separator)
    n_labels = sum(len(labels_of(cell, separator or "|")) * n for cell, n in scan.labels.items())
    size = f", {scan.nbytes / 1e6:,.1f} MB of text"
    lines = description(source.name, scan.rows, size, source.how, counts, separator, n_labels, scan.unusable)
    if scan.in_no_bin:
        lines.append(in_no_bin(scan.in_no_bin, scan.rows + scan.in_no_bin))
    return lines + [f"left out {path}: {why}" for path, why in scan.damaged.items()]
