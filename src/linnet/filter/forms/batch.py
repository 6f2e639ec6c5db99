"""What passes between reading, scoring and writing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

__all__ = ["BATCH_BYTES", "Batch", "Form", "Kept", "Scored", "Writer"]

BATCH_BYTES = 8 << 20  # of text; fixed, because row groups of the output follow from it


@dataclass(eq=False)
class Batch:
    """Consecutive rows of a shard: texts as an Arrow string column ("" for null) and what the form needs to write them.

    `bad` maps rows that could not be taken apart to (reason, raw); `values` are the values of the column of a quota.
    """

    text: Any
    first_row: int
    raw: Any
    bad: dict[int, tuple[str, str]] = field(default_factory=dict)
    values: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True)
class Scored:
    """The columns that are added: names, and whether each is text."""

    label: str  # the name of the column of the best label
    odds: tuple[str, ...]  # the names of the columns of probabilities
    classes: tuple[str, ...]


@dataclass(eq=False)
class Kept:
    """Rows of a batch to write: which, their best labels, their probabilities, and their texts where those changed."""

    rows: npt.NDArray[np.int64]
    best: npt.NDArray[np.int32]
    proba: npt.NDArray[np.float32]  # (n, n_columns)
    texts: Any = None  # an Arrow column of the clean texts, or None


class Writer(ABC):
    """Writes the kept rows of a shard; given them in order, in any number of batches."""

    @abstractmethod
    def write(self, batch: Batch, kept: Kept) -> None:
        """Write rows of a batch."""

    @abstractmethod
    def close(self) -> None:
        """Write what is still to be written."""


class Form(ABC):
    """How shards of a form are read, and how the output that looks like them is written."""

    name: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]

    @abstractmethod
    def read(self, path: str, text: str | None, by: str | None, *, whole: bool) -> Iterator[Batch]:
        """Read batches; with whole=False only what scoring needs. `by` is the column of a quota."""

    @abstractmethod
    def writer(self, path: str, sink: Any, scored: Scored) -> Writer:
        """Write to a sink what belongs beside the shard at `path`."""

    def rows(self, path: str) -> int | None:
        """Return how many rows a shard says it has, if that is written down somewhere; it may be damaged."""
        return None
