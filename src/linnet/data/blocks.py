"""A block of rows on its way in: what every format reader yields and everything after it understands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

__all__ = ["Block", "Malformed", "Rows", "Wanted", "join"]


@dataclass(frozen=True, slots=True)
class Malformed:
    """A row that could not be taken apart: why, what exactly, and its raw text."""

    reason: str
    detail: str
    raw: str


@dataclass(slots=True)
class Block:
    """Some consecutive rows of a source, column by column.

    A malformed row has its place in every column, as null, so that row i of a block is row i of the source. `repairs`
    maps a column to {kind of repair: rows repaired}; `lines` and `files` say where row i stands, where that is known.
    """

    columns: dict[str, pa.ChunkedArray]
    rows: int
    malformed: Mapping[int, Malformed] = field(default_factory=dict)
    lines: Sequence[int] | None = None
    files: Sequence[str] | None = None
    repairs: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the caller asked for: column names, and how much to read at a time."""

    text: str | None = None
    label: str | None = None
    block_bytes: int = 64 << 20
    block_rows: int = 1 << 20
    streaming: bool = False


@dataclass(slots=True)
class Rows:
    """An opened source: its column names, and its blocks of rows.

    `blocks(names)` reads the named columns only, or all of them for None; it can be called once. `how` says how the
    names came about, `notes` grows while the blocks are read, `not_text` are columns that hold numbers.
    """

    names: list[str]
    blocks: Callable[[Sequence[str] | None], Iterator[Block]]
    how: str = ""
    notes: list[str] = field(default_factory=list)
    not_text: frozenset[str] = frozenset()


def join(blocks: Sequence[Block], names: Sequence[str]) -> Block:
    """Put blocks of string columns one after the other, without copying them.

    >>> from linnet.data.arrays import strings
    >>> one = Block({"a": pa.chunked_array([strings(["x", "y"])])}, 2, lines=range(1, 3))
    >>> two = Block({"a": pa.chunked_array([strings([None])])}, 1, {0: Malformed("not JSON", "", "{")}, range(3, 4))
    >>> both = join([one, two], ["a"])
    >>> both.columns["a"].to_pylist(), both.rows, list(both.malformed), both.lines
    (['x', 'y', None], 3, [2], range(1, 4))
    """
    first = np.cumsum([0, *(block.rows for block in blocks)])
    malformed: dict[int, Malformed] = {}
    for at, block in zip(first.tolist(), blocks, strict=False):
        malformed.update({at + row: bad for row, bad in block.malformed.items()})
    repairs: dict[str, dict[str, np.ndarray]] = {}
    for name in names:
        for at, block in zip(first, blocks, strict=False):
            for kind, rows in block.repairs.get(name, {}).items():
                before = repairs.setdefault(name, {}).get(kind, np.zeros(0, dtype=np.int64))
                repairs[name][kind] = np.concatenate([before, rows + at])
    columns = {name: _concat([block.columns[name] for block in blocks]) for name in names}
    files = [name for block in blocks for name in block.files or ()]
    return Block(columns, int(first[-1]), malformed, _join_lines(blocks), files or None, repairs)


def _concat(columns: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Chunks of all columns as one column; large strings where one of them is."""
    kind = pa.string()
    if any(pa.types.is_large_string(column.type) for column in columns):
        kind = pa.large_string()
        columns = [column.cast(kind) for column in columns]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], type=kind)


def _join_lines(blocks: Sequence[Block]) -> Sequence[int] | None:
    parts = [block.lines for block in blocks if block.lines is not None]
    if len(parts) < len(blocks) or not parts:
        return None
    start = parts[0][0] if len(parts[0]) else 1
    whole = range(start, start + sum(map(len, parts)))
    if all(isinstance(part, range) for part in parts) and (not parts[-1] or parts[-1][-1] == whole[-1]):
        return whole
    return np.concatenate([np.asarray(part, dtype=np.int64) for part in parts]).tolist()  # type: ignore[no-any-return]
