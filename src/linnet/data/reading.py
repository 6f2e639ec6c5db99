"""`read`: any source to a Dataset.

`stream`: a source of any size in batches, for prediction at constant memory. `stream_rows`: with every column.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from linnet.array_types import Bools, Ints
from linnet.data import arrays
from linnet.data.columns import ColumnChoice, by_content, by_name, given
from linnet.data.formats import open_file
from linnet.data.input_file import MAX_KEPT, RawBatch, ReadOptions, RecordReader, Unusable, UnusableRow, join
from linnet.errors import DataError

if TYPE_CHECKING:
    from linnet.data.dataset import Dataset


def read(
    source: Any,
    *,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    labelled: bool | None = None,
    also: Sequence[str] = (),
    multilabel: str | bool | None = None,
    label_columns: str | None = None,
) -> Dataset:
    """Read texts, and labels where there are some, from anything that holds them.

    `source` is a path, "-" for standard input, a data set by name ("hub:ag_news", "hub:ag_news:test"), a list of texts, of
    (text, label) pairs or of dicts, a pandas or polars frame, an Arrow table, or whatever speaks the Arrow C stream.
    Files may be CSV, TSV, JSON lines, Parquet, Arrow, Feather, fastText or Vowpal Wabbit lines, WARC, plain text (a
    document a line) or a folder of class folders, plain or compressed (gz, zst, bz2). The format is told by the name, else
    by the content; `format` settles it.

    `text` and `label` name the columns; without them they are found by name, else by content, and `Dataset.how` says
    so. `labelled=True` requires labels. `labelled=False` takes a label column that is called like one, and keeps rows
    without a label (their label is null). By default a label column is used if there is one. Where labels are used,
    a row without one is unusable, as is a row with an empty text or one that cannot be parsed: such rows are
    counted and kept in `Dataset.unusable`. `also` names further columns to keep, as strings in `Dataset.also`: an
    author to split by, a date. They are never taken for the text or the label unless named as such.

    Rows have several labels where the labels are lists, or a fastText line has several; `multilabel` is what stands
    between the labels of a cell ("|" or ","), and False takes a list for one label. `label_columns`, such as "p_*", names
    a column of probabilities for each label, whose name is what stands in place of the star: label distributions. The
    label of a row is then its likeliest one.

    >>> import linnet.data
    >>> data = linnet.data.read([{"Review": "good film", "stars": 5}, {"Review": "bad film", "stars": 1}])
    >>> data.how
    "text column 'Review' (by name), label column 'stars' (by name)"
    >>> data.label.to_pylist()
    ['5', '1']
    """
    from linnet.data.dataset import Dataset

    if isinstance(source, Dataset):
        if labelled and source.label is None:
            raise DataError(f"{source.source} has no labels, and labels are needed")
        for name in also:
            source.column(name)
        return source
    if isinstance(source, str) and source.startswith("hub:"):
        from linnet.datasets.named import read_named  # data sets come after data: looked up when used

        settings = {"labelled": labelled, "also": also, "multilabel": multilabel, "label_columns": label_columns}
        return read_named(source, text=text, label=label, format=format, **settings)
    with open_reader(source, format, ReadOptions(text, label)) as reader:
        if not reader.names:
            raise DataError(f"{reader.source} is empty: it holds no rows")
        columns_of = label_columns_of(label_columns, reader)
        labelled = False if columns_of else labelled
        choice, more, free = choose(reader, text, label, [*also, *columns_of.values()])
        if columns_of:
            choice = replace(choice, label=None)
        decided = choice.text is not None and (choice.label is not None or labelled is False)
        chosen = [column for column in (choice.text, choice.label) if column is not None]
        names = list(dict.fromkeys([*chosen, *more])) if decided else None
        every = names or reader.names
        rows = join([arrays.decoded(batch, every) for batch in reader.batches(names)], every)
        if not rows.rows:
            listed = f"has columns ({', '.join(reader.names[:10])}) but no rows"
            raise DataError(f"{reader.source} {'is empty: it holds no rows' if reader.how else listed}")
        if not decided:
            columns = {column: rows.columns[column] for column in free}
            choice = by_content(columns, choice, labelled=labelled)
    found = _dataset(rows, choice, reader, labelled, more, multilabel)
    return _with_distributions(found, columns_of) if columns_of else found


def choose(
    reader: RecordReader, text: str | None, label: str | None, also: Sequence[str]
) -> tuple[ColumnChoice, list[str], list[str]]:
    """Choose columns as given or by their names; return the further ones, and those that may be the text or the label, too."""
    more = [given(column, reader.names, reader.source) for column in also]
    free = [column for column in reader.names if column not in more or column in (text, label)]
    return by_name(free, text=text, label=label, source=reader.source, not_text=reader.not_text), more, free


def label_columns_of(pattern: str | None, reader: RecordReader) -> dict[str, str]:
    """Return the columns that a pattern such as "p_*" names, by label."""
    if pattern is None:
        return {}
    before, star, after = pattern.partition("*")
    named = re.compile(f"{re.escape(before)}(.+){re.escape(after)}", re.DOTALL)
    found = {match[1]: match[0] for match in map(named.fullmatch, sorted(reader.names)) if match}
    if not star or "*" in after or len(found) < 2:
        raise DataError(
            f"{reader.source}: label_columns must be a pattern with one star that names two columns or more, such as p_*; "
            f"got {pattern!r}, and the columns are {', '.join(reader.names[:20])}"
        )
    return found


def _with_distributions(data: Dataset, columns: dict[str, str]) -> Dataset:
    """Make the likeliest label of each row its label."""
    data = replace(data, label_columns=columns, label_column=", ".join(columns.values()))
    best = data.distributions().argmax(axis=1)
    label = pa.chunked_array([pa.array(list(columns)).take(pa.array(best))])
    return replace(data, label=label, how=data.how + of_columns(columns))


def of_columns(columns: Mapping[str, str]) -> str:
    """Say which columns hold label distributions."""
    return f", label distributions of {len(columns)} columns ({', '.join(list(columns.values())[:3])} ...)"


@contextlib.contextmanager
def open_reader(source: Any, format: str | None, options: ReadOptions) -> Iterator[RecordReader]:
    """Open a path, standard input ("-"), a data set by name ("hub:NAME"), a reader or a Python object."""
    if isinstance(source, str) and source.startswith("hub:"):
        from linnet.datasets.named import part_files

        source = part_files(source)[0]
    if isinstance(source, str | os.PathLike):
        with open_file(source if source == "-" else Path(source), format, options) as reader:
            yield reader
    elif isinstance(source, RecordReader):
        yield source
    else:
        from linnet.data.readers.arrow import open_object

        yield open_object(source, options)


def _dataset(
    batch: RawBatch, choice: ColumnChoice, reader: RecordReader, labelled: bool | None, also: Sequence[str],
    multilabel: str | bool | None,
) -> Dataset:  # fmt: skip
    """Set the unusable rows of a decoded batch aside and make the rest a Dataset."""
    from linnet.data.dataset import Dataset

    text_column, label_column, source = choice.text or "", choice.label, reader.source
    names = [name for name in (text_column, label_column) if name is not None]
    notes = list(reader.notes)
    text, label, empty, bad = _sorted_out(batch, text_column, label_column, labelled is not False)
    if label is not None and not labelled and arrays.missing(label).all():
        notes.append(f"label column '{label_column}' holds nothing: read without labels")
        label_column = None
        text, label, empty, bad = _sorted_out(batch, text_column, None, False)
    more = {name: batch.columns[name] for name in also}
    unusable = account(batch, np.flatnonzero(bad), empty, text, label)
    if len(unusable):
        if bad.all():
            raise DataError(f"no usable rows in {source}: {unusable}")
        keep = arrays.booleans(~bad)
        text, label = text.filter(keep), None if label is None else label.filter(keep)
        more = {name: column.filter(keep) for name, column in more.items()}
    odd = any("windows_1252" in batch.repairs.get(name, ()) for name in names)
    encoding = "windows-1252" if odd else reader.encoding
    decoded_as = [] if encoding in ("utf-8", "windows-1252") else [f"decoded as {encoding.upper()}"]
    how = "; ".join(part for part in (reader.how, choice.how) if part)
    separator = multilabel if isinstance(multilabel, str) and label is not None else None
    if multilabel is None and "lists" in batch.repairs.get(label_column or "", {}):
        separator = "|"
    said = (*decoded_as, *arrays.repair_notes(batch, names), *notes)
    return Dataset(text, label, source, text_column, label_column, how, unusable, said, encoding, more, separator)


def _sorted_out(
    batch: RawBatch, text_column: str, label_column: str | None, labelled: bool
) -> tuple[pa.ChunkedArray, pa.ChunkedArray | None, np.ndarray, np.ndarray]:
    """Return texts and labels, which texts are empty, and which rows cannot be used: with `labelled`, those without a label too."""
    text = batch.columns[text_column]
    label = None if label_column is None else arrays.as_labels(batch.columns[label_column])
    empty = arrays.blank(text)
    bad = empty | arrays.missing(label) if label is not None and labelled else empty.copy()
    bad[list(batch.malformed)] = True
    return text, label, empty, bad


def account(
    batch: RawBatch, bad: Ints, empty: Bools, text: pa.ChunkedArray, label: pa.ChunkedArray | None, first_row: int = 1
) -> Unusable:
    """The rows `bad` of a batch, each with its reason and with what is known of it."""

    def reason(row: int) -> str:
        wrong = batch.malformed.get(row)
        return wrong.reason if wrong else "empty text" if empty[row] else "no label"

    rows = []
    for row in bad[:MAX_KEPT].tolist():
        wrong, line = batch.malformed.get(row), None if batch.lines is None else int(batch.lines[row])
        known = "" if label is None else label[row].as_py() or ""
        detail = wrong.detail if wrong else batch.files[row] if batch.files else ""
        raw = wrong.raw if wrong else text[row].as_py() or ""
        rows.append(UnusableRow(first_row + row, reason(row), raw, known, line, detail))
    return Unusable(dict(Counter(map(reason, bad.tolist()))), tuple(rows))


_BATCH_BYTES = 8 << 20


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Consecutive rows of a stream; row i of `text` is row `first_row + i` of the source (rows count from 1).

    No row is left out: an empty, missing or malformed text is "" here, and is listed in `unusable`. `label` is None
    without a label column, and null where a row has none. `notes`, `how` and `also` are as in a Dataset, for this batch;
    `kept` are the columns that were asked for with `keep`, in their own types.
    """

    text: pa.Array
    label: pa.Array | None
    first_row: int
    unusable: Unusable = field(default_factory=Unusable)
    notes: tuple[str, ...] = ()
    how: str = ""
    also: Mapping[str, pa.Array] = field(default_factory=dict)
    kept: pa.Table | None = None
    multilabel: bool = False
    """Whether rows have several labels; they are joined by '|' here."""

    def __len__(self) -> int:
        return len(self.text)

    def __repr__(self) -> str:
        return f"<Batch: rows {self.first_row:,} to {self.first_row + len(self) - 1:,}>"


def stream(
    source: Any,
    *,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    batch_rows: int = 8192,
    also: Sequence[str] = (),
    keep: Sequence[str] | bool = False,
    labelled: bool = False,
) -> Iterator[Batch]:
    """Read a source of any size in batches of at most `batch_rows` rows and about 8 MB.

    Sources, formats and columns are those of `read`, with three differences. Nothing is dropped, so that results can
    be written beside the rows. Columns are chosen from the first batch, labels only as given or by name. A source
    without rows is no error: there are no batches. Memory stays constant for every format that can be cut: not for a
    JSON array, nor for Parquet from a pipe or inside gz, whose index is at the end. `also` names further columns to keep,
    as in `read`; `keep` names columns to hand through as they are (True: all). With `labelled`, rows without a label are unusable.

    >>> for batch in stream(["good film", "", "bad film"], batch_rows=2):
    ...     print(batch.first_row, batch.text.to_pylist(), len(batch.unusable))
    1 ['good film', ''] 1
    3 ['bad film'] 0
    """
    if batch_rows < 1:
        raise DataError(f"batch_rows must be at least 1; got {batch_rows}")
    if not isinstance(source, str | os.PathLike):
        from linnet.data.dataset import Dataset

        if isinstance(source, Dataset):
            for column in also:
                source.column(column)
            text, label = source.text_column, source.label_column if source.label is not None else None
            columns = {**source.also, text: source.text} | ({} if label is None else {label: source.label})
            source = pa.table(columns)
    reader, rows = open_rows(
        source, text=text, label=label, format=format, also=also, batch_rows=batch_rows, every=keep is not False,
        labelled=labelled,
    )  # fmt: skip
    names = reader.names if isinstance(keep, bool) else [given(name, reader.names, reader.source) for name in keep]
    if reader.encoding != "utf-8":
        reader.notes.append(f"decoded as {reader.encoding.upper()}")
    return (batch for part in rows for batch in _cut(part, batch_rows, None if keep is False else names))


def _cut(rows: RowBatch, batch_rows: int, keep: Sequence[str] | None) -> Iterator[Batch]:
    """Cut a batch of rows to at most so many rows and 8 MB of text; notes come with the first part."""
    choice, more, first, notes = rows.choice, rows.also, rows.first_row, rows.reader.notes
    table = None if keep is None else rows.table_of(keep)
    names = [column for column in (choice.text, choice.label) if column is not None]
    raw = arrays.decoded(rows.raw, list(dict.fromkeys([*names, *more])))
    text, label, empty, broken = _sorted_out(raw, names[0], choice.label, rows.labelled)
    bad = np.flatnonzero(broken)
    notes += arrays.repair_notes(raw, names)
    multilabel = choice.label is not None and "lists" in raw.repairs.get(choice.label, {})
    columns = [arrays.filled(text), *([] if label is None else [label]), *(raw.columns[column] for column in more)]
    start = 0
    for part in pa.table(columns, names=[str(k) for k in range(len(columns))]).to_batches(max_chunksize=batch_rows):
        for piece in (part[cut] for cut in arrays.byte_slices(part.column(0), _BATCH_BYTES)):
            stop = start + piece.num_rows
            mine = bad[np.searchsorted(bad, start) : np.searchsorted(bad, stop)]
            unusable = account(raw, mine, empty, text, label, first) if len(mine) else Unusable()
            labels = None if label is None else piece.column(1)
            also = {column: piece.column(len(columns) - len(more) + k) for k, column in enumerate(more)}
            kept = None if table is None else table.slice(start, piece.num_rows)
            said, notes[:] = tuple(notes), []
            yield Batch(piece.column(0), labels, first + start, unusable, said, rows.how, also, kept, multilabel)
            start = stop


@dataclass(eq=False, repr=False)
class RowBatch:
    """Consecutive rows with their columns, for tools that write rows again; row 0 is row `first_row` of the source."""

    raw: RawBatch
    choice: ColumnChoice
    first_row: int
    reader: RecordReader
    also: Sequence[str] = ()
    labelled: bool = False  # whether a row without a label is unusable

    def __len__(self) -> int:
        return self.raw.rows

    @property
    def how(self) -> str:
        """How the columns were chosen."""
        return "; ".join(part for part in (self.reader.how, self.choice.how) if part)

    @property
    def text_column(self) -> str:
        """The name of the text column."""
        return self.choice.text or ""

    @cached_property
    def text(self) -> pa.ChunkedArray:
        """The texts, "" for null."""
        return arrays.filled(arrays.column_strings(self.raw, self.text_column))

    def values(self, name: str) -> list[str]:
        """Return a column as strings, "" for null."""
        return list(arrays.filled(arrays.column_strings(self.raw, name)).to_pylist())

    @cached_property
    def table(self) -> pa.Table:
        """All columns: texts and bytes as strings, other columns in their own types."""
        return self.table_of(list(dict.fromkeys([*self.reader.names, *self.raw.columns])))

    def table_of(self, names: Sequence[str]) -> pa.Table:
        """Some columns, as in `table`."""
        return pa.table({name: self._column(name) for name in names})

    def _column(self, name: str) -> pa.ChunkedArray:
        column = self.raw.columns.get(name)
        if column is None or name == self.text_column or not _typed(column.type):
            return arrays.column_strings(self.raw, name)
        return column

    def slices(self, rows: int) -> Iterator[RowBatch]:
        """Cut into batches of so many rows; without their records."""
        if len(self) <= rows:
            yield self
            return
        for start in range(0, len(self), rows):
            columns = {name: column.slice(start, rows) for name, column in self.raw.columns.items()}
            stop = min(start + rows, len(self))
            bad = {row - start: why for row, why in self.raw.malformed.items() if start <= row < stop}
            yield replace(self, raw=RawBatch(columns, stop - start, bad), first_row=self.first_row + start)


def _typed(kind: Any) -> bool:
    types = pa.types  # truth values and times are primitive
    return bool(types.is_primitive(kind) or types.is_decimal(kind) or types.is_nested(kind) or types.is_null(kind))


def stream_rows(
    source: Any, *, text: str | None = None, format: str | None = None, batch_rows: int = 4096
) -> Iterator[RowBatch]:
    """Read a source of any size in batches of rows with all their columns; formats and columns are those of `stream`.

    Columns of a typed source (Parquet, Arrow, JSON lines) keep their types; those of a CSV file are strings.

    >>> for batch in stream_rows([{"id": 1, "text": "good"}, {"id": 2, "text": None}], batch_rows=1):
    ...     print(batch.first_row, batch.text_column, batch.table.column_names, batch.text.to_pylist())
    1 text ['id', 'text'] ['good']
    2 text ['id', 'text'] ['']
    """
    _, rows = open_rows(source, text=text, format=format, batch_rows=batch_rows, every=True)
    return (part for batch in rows for part in batch.slices(batch_rows))


def open_rows(
    source: Any,
    *,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    also: Sequence[str] = (),
    batch_rows: int = 1 << 16,
    every: bool = False,
    labelled: bool = False,
    records: bool = False,
) -> tuple[RecordReader, Generator[RowBatch, None, None]]:
    """Open a source and choose its columns, by name or by the content of its first batch; return its batches of rows.

    With `every`, all columns are read, else those that are chosen and `also`. `labelled` asks for a label column, which
    is then found by content, too. `records` keeps the bytes of rows that can be written back. The source is closed when
    the batches end or are abandoned.
    """
    options = ReadOptions(text, label, _BATCH_BYTES, batch_rows, streaming=True, records=records)

    def batches(choice: ColumnChoice, opened: contextlib.ExitStack) -> Generator[RowBatch, None, None]:
        with opened:
            decided = choice.text is not None and (choice.label is not None or not labelled)
            chosen = [column for column in (choice.text, choice.label, *more) if column]
            first = 1
            for raw in reader.batches(None if every or not decided else list(dict.fromkeys(chosen))):
                if not raw.rows:
                    continue
                if not decided:
                    choice = by_content(arrays.decoded(raw, free).columns, choice, labelled=labelled)
                    decided = True
                yield RowBatch(raw, choice, first, reader, more, labelled)
                first += raw.rows

    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(open_reader(source, format, options))
        choice, more, free = choose(reader, text, label, also)
        return reader, batches(choice, stack.pop_all())
