"""What checks are given, and what they return: the data with what several checks need, computed once; a finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.array_types import Array, Bools, Ints, Ints32
from linnet.data import Dataset
from linnet.data.arrays import cast
from linnet.draw.terminal import cut
from linnet.features.blocks import Blocks
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import Counted
from linnet.features.derived import Shared
from linnet.text.duplicates import exact_groups, near_groups
from linnet.values import to_plain


@dataclass(frozen=True)
class CheckedData:
    """The data to check, and other sets (dev, test) that must not share texts with it."""

    data: Dataset
    others: tuple[Dataset, ...] = ()
    seed: int = 0
    threads: int | None = None

    def __len__(self) -> int:
        return len(self.data)

    @cached_property
    def starts(self) -> list[int]:
        """The first row of each set when all are concatenated, and the end."""
        return [0, *np.cumsum([len(data) for data in (self.data, *self.others)]).tolist()]

    @cached_property
    def texts(self) -> pa.ChunkedArray:
        """The texts of all sets."""
        columns = [data.text for data in (self.data, *self.others)]
        if len({column.type for column in columns}) > 1:
            columns = [cast(column, pa.large_string()) for column in columns]
        return pa.chunked_array([chunk for column in columns for chunk in column.chunks], type=columns[0].type)

    @cached_property
    def pieces(self) -> list[TextBuffer]:
        """The same as bytes."""
        return text_buffers(self.texts)

    @cached_property
    def exact(self) -> Ints:
        """A group number for each row of all sets: rows with the very same text have the same."""
        return exact_groups(self.texts)

    @cached_property
    def near(self) -> Ints:
        """The same for near duplicates."""
        return near_groups(self.texts, threads=self.threads)

    @cached_property
    def codes(self) -> Ints32:
        """The class of each row of the data, as a number in the order of its labels; of several labels, all together."""
        if self.data.separator is not None:
            number = {name: k for k, name in enumerate(self.labels)}
            return np.array([number["|".join(row)] for row in self.data.label_sets()], dtype=np.int32)
        return self.data._codes().astype(np.int32)

    @cached_property
    def y(self) -> Array:
        """The class of each row of the data as a number; of several labels, an indicator matrix."""
        return self.codes if self.data.separator is None else self.indicators(self.data)

    def indicators(self, data: Dataset) -> Bools:
        """Return which of the labels of the data the rows of a set have, (n_rows, n_labels)."""
        sets = [()] * len(data) if data.label is None else data.label_sets()
        labels = self.data.labels
        return np.array([[label in row for label in labels] for row in sets], dtype=bool)

    @cached_property
    def labels(self) -> list[str]:
        """The labels of the data, sorted; where rows have several, those that occur together."""
        if self.data.separator is not None:
            return sorted({"|".join(row) for row in self.data.label_sets()})
        return self.data.labels

    @cached_property
    def shared(self) -> Shared:
        """What was counted of the texts of all sets."""
        return Shared(self.texts)

    def counted(self, blocks: Blocks) -> Counted:
        """Return the features of all sets, counted once."""
        return self.shared.counted(blocks, None, False, self.threads)[0]

    @cached_property
    def source_rows(self) -> Ints:
        """The number of each row of the data in its source, from 1; rows that were left out are counted too."""
        return self.data.source_rows

    def text(self, row: int) -> str:
        """Return one text of all sets."""
        return str(self.texts[row].as_py())

    def label(self, row: int) -> str:
        """Return the label of one row of the data."""
        return str(self.labels[self.codes[row]])

    def where(self, rows: Sequence[int] | Ints) -> list[int]:
        """Return the source rows of some rows of the data."""
        return [int(self.source_rows[row]) for row in rows]


# ---- A finding: what one check saw, how bad it is, and what to do about it.


#: From harmless to harmful.
LEVELS = ("ok", "note", "warning", "problem")


@dataclass(frozen=True)
class Finding:
    """What one check saw.

    `level` is "ok", "note" (worth knowing), "warning" (look at it) or "problem" (scores cannot be trusted before it is
    mended); `count` is how many rows, texts or words it is about, `share` the share of all; `examples` are plain values,
    `details` numbers beside them; `arrays` holds whole columns of results for Python and is not part of the JSON.
    """

    check: str
    level: str
    says: str
    count: int = 0
    share: float | None = None
    advice: str = ""
    examples: tuple[Mapping[str, Any], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the keys are always the same."""
        names = (field.name for field in fields(self) if field.name != "arrays")
        return {name: to_plain(getattr(self, name)) for name in names}


def excerpt(text: str, most: int = 80) -> str:
    """Return the beginning of a text in one line.

    >>> excerpt("a very long text", 10)
    'a very lo…'
    """
    return cut(" ".join(text[: 4 * most].split()), most)


def percent(share: float) -> str:
    """Write a share so that little is not nothing.

    >>> percent(0.5), percent(0.0123), percent(0.00001), percent(0.0)
    ('50 %', '1.2 %', '< 0.1 %', '0 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.0f} %" if share == 0 or share >= 0.1 else f"{100 * share:.1f} %"
