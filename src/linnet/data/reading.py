"""`read`: any source to a Dataset."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from linnet.data.arrays import booleans
from linnet.data.columns import ColumnChoice, by_content, by_name, given
from linnet.data.decode import as_labels, blank, decoded, missing, repair_counts, repair_notes
from linnet.data.formats import open_file
from linnet.data.reader import MAX_KEPT, RawBatch, ReadOptions, RecordReader, Unusable, UnusableRow, join
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
        columns_of = _label_columns(label_columns, reader)
        labelled = False if columns_of else labelled
        choice, more, free = choose(reader, text, label, [*also, *columns_of.values()])
        if columns_of:
            choice = replace(choice, label=None)
        decided = choice.text is not None and (choice.label is not None or labelled is False)
        chosen = [column for column in (choice.text, choice.label) if column is not None]
        names = list(dict.fromkeys([*chosen, *more])) if decided else None
        rows = join([decoded(batch, names or reader.names) for batch in reader.batches(names)], names or reader.names)
        if not rows.rows:
            listed = f"has columns ({', '.join(reader.names[:10])}) but no rows"
            raise DataError(f"{reader.source} {'is empty: it holds no rows' if reader.how else listed}")
        if not decided:
            columns = {column: rows.columns[column] for column in free}
            choice = by_content(columns, choice, labelled=labelled, source=reader.source, not_text=reader.not_text)
    found = finish(rows, choice, reader, labelled, more, multilabel)
    return _with_distributions(found, columns_of) if columns_of else found


def choose(
    reader: RecordReader, text: str | None, label: str | None, also: Sequence[str]
) -> tuple[ColumnChoice, list[str], list[str]]:
    """Choose columns as given or by their names; return the further ones, and those that may be the text or the label, too."""
    more = [given(column, reader.names, reader.source) for column in also]
    free = [column for column in reader.names if column not in more or column in (text, label)]
    return by_name(free, text=text, label=label, source=reader.source, not_text=reader.not_text), more, free


def _label_columns(pattern: str | None, reader: RecordReader) -> dict[str, str]:
    """Return the columns that a pattern such as "p_*" names, by label."""
    if pattern is None:
        return {}
    before, star, after = pattern.partition("*")
    long = len(before) + len(after)
    found = {
        name[len(before) : len(name) - len(after)]: name
        for name in sorted(reader.names)
        if name.startswith(before) and name.endswith(after) and len(name) > long
    }
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
    how = f"{data.how}, label distributions of {len(columns)} columns ({', '.join(list(columns.values())[:3])} ...)"
    return replace(data, label=label, how=how)


@contextlib.contextmanager
def open_reader(source: Any, format: str | None, options: ReadOptions) -> Iterator[RecordReader]:
    """Open a path, standard input ("-"), a data set by name ("hub:NAME") or a Python object."""
    if isinstance(source, str) and source.startswith("hub:"):
        from linnet.datasets.named import part_path

        source = part_path(source)
    if isinstance(source, str | os.PathLike):
        with open_file(source if source == "-" else Path(source), format, options) as reader:
            yield reader
    else:
        from linnet.data.readers.arrow import open_object

        yield open_object(source, options)


def finish(
    batch: RawBatch,
    choice: ColumnChoice,
    reader: RecordReader,
    labelled: bool | None = None,
    also: Sequence[str] = (),
    multilabel: str | bool | None = None,
) -> Dataset:
    """Set the unusable rows of a decoded batch aside and make the rest a Dataset."""
    from linnet.data.dataset import Dataset

    text_column, label_column, source = choice.text, choice.label, reader.source
    if text_column is None:
        raise DataError("no text column; name it: --text COL (text=... in Python)")
    names = [name for name in (text_column, label_column) if name is not None]
    text = batch.columns[text_column]
    label = as_labels(batch.columns[label_column]) if label_column is not None else None
    unlabelled = missing(label) if label is not None else np.zeros(batch.rows, dtype=bool)
    notes = list(reader.notes)
    if label is not None and not labelled and unlabelled.all():
        notes.append(f"label column '{label_column}' holds nothing: read without labels")
        label, label_column = None, None
    more = {name: batch.columns[name] for name in also}
    empty = blank(text)
    bad = empty | unlabelled if label is not None and labelled is not False else empty.copy()
    bad[list(batch.malformed)] = True
    unusable = account(batch, np.flatnonzero(bad), empty, text, label)
    if len(unusable):
        if bad.all():
            raise DataError(f"no usable rows in {source}: {unusable}")
        keep = booleans(~bad)
        text, label = text.filter(keep), None if label is None else label.filter(keep)
        more = {name: column.filter(keep) for name, column in more.items()}
    elif not batch.rows:
        raise DataError(f"{source}: there are no rows")
    repairs = repair_counts(batch, names)
    encoding = "windows-1252" if "windows_1252" in repairs else reader.encoding
    decoded_as = [] if encoding in ("utf-8", "windows-1252") else [f"decoded as {encoding.upper()}"]
    how = "; ".join(part for part in (reader.how, choice.how) if part)
    separator = multilabel if isinstance(multilabel, str) else None
    if multilabel is None and "lists" in batch.repairs.get(label_column or "", {}):
        separator = "|"
    return Dataset(
        text, label, source, text_column, label_column, how, unusable, (*decoded_as, *repair_notes(repairs), *notes),
        encoding, more, None if label is None else separator,
    )  # fmt: skip


def account(
    batch: RawBatch,
    bad: np.ndarray,
    empty: np.ndarray,
    text: pa.ChunkedArray,
    label: pa.ChunkedArray | None,
    first_row: int = 1,
) -> Unusable:
    """The rows `bad` of a batch, each with its reason and with what is known of it."""
    broken = np.array(sorted(batch.malformed), dtype=np.int64)
    whole = np.setdiff1d(bad, broken, assume_unique=True)
    counts = Counter(batch.malformed[row].reason for row in np.intersect1d(bad, broken).tolist())
    n_empty = int(np.count_nonzero(empty[whole]))
    counts.update({"empty text": n_empty, "no label": len(whole) - n_empty})
    rows = []
    for row in bad[:MAX_KEPT].tolist():
        wrong = batch.malformed.get(row)
        rows.append(
            UnusableRow(
                row=first_row + row,
                reason=wrong.reason if wrong else "empty text" if empty[row] else "no label",
                text=wrong.raw if wrong else text[row].as_py() or "",
                label="" if label is None else label[row].as_py() or "",
                line=None if batch.lines is None else int(batch.lines[row]),
                detail=wrong.detail if wrong else batch.files[row] if batch.files else "",
            )
        )
    return Unusable({reason: count for reason, count in counts.items() if count}, tuple(rows))
