"""Formats with one document a line: plain text, and fastText's `__label__` lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from linnet.data.blocks import Block, Rows, Wanted
from linnet.data.clean import by_distinct, printable
from linnet.data.records import pieces, whole_lines
from linnet.data.source import Source

__all__ = ["open_fasttext", "open_text", "sniff_fasttext", "split_lines"]

_PREFIX = b"__label__"


def open_text(source: Source, wanted: Wanted) -> Rows:
    """Plain text, one document a line, no labels."""
    return Rows(["text"], partial(_text_blocks, source, wanted), how="one document a line")


def _text_blocks(source: Source, wanted: Wanted, names: Sequence[str] | None) -> Iterator[Block]:
    for first, column in _line_blocks(source, wanted):
        yield Block({"text": pa.chunked_array([column])}, len(column), lines=range(first, first + len(column)))


def sniff_fasttext(head: bytes) -> bool:
    """The first line that is not blank starts with a label."""
    return head.lstrip().startswith(_PREFIX)


def open_fasttext(source: Source, wanted: Wanted) -> Rows:
    """Lines as fastText has them: `__label__pos a good film`; several labels are joined by '|'."""
    return Rows(["label", "text"], partial(_fasttext_blocks, source, wanted), how="one '__label__' line a document")


def _fasttext_blocks(source: Source, wanted: Wanted, names: Sequence[str] | None) -> Iterator[Block]:
    import pyarrow.compute as pc

    pattern = r"(?s)^(?P<label>(?:[ \t]*__label__\S+)*)[ \t]*(?P<text>.*)$"
    for first, column in _line_blocks(source, wanted):
        parts = pc.extract_regex(column, pattern)
        labels = by_distinct(pa.chunked_array([parts.field("label")]), _fasttext_label)
        columns = {"label": labels, "text": pa.chunked_array([parts.field("text")])}
        yield Block(columns, len(column), lines=range(first, first + len(column)))


def _fasttext_label(raw: bytes) -> str | None:
    """The labels at the start of a line, joined.

    >>> _fasttext_label(b"__label__joy __label__love")
    'joy|love'
    """
    return "|".join((printable(part) or "").removeprefix("__label__") for part in raw.split()) or None


def _line_blocks(source: Source, wanted: Wanted) -> Iterator[tuple[int, pa.Array]]:
    """Blocks of lines, each with the number of its first line."""
    first = 1
    for data in pieces(source.read, whole_lines, wanted.block_bytes, source.name):
        column = split_lines(data)
        yield first, column
        first += len(column)


def split_lines(data: bytes) -> pa.Array:
    r"""Bytes to a binary array of lines, without their `\n` or `\r\n`.

    >>> split_lines(b"one\r\n\ntwo\nthree").to_pylist()
    [b'one', b'', b'two', b'three']
    """
    data = data if data.endswith(b"\n") else data + b"\n"
    raw = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(raw == 10)
    dropped = np.arange(1, len(ends) + 1)  # bytes left out up to the end of each line
    if b"\r\n" in data:
        dropped += np.cumsum(raw[ends - 1] == 13)  # before a newline at 0 comes the last byte, a newline
    stops = np.zeros(len(ends) + 1, dtype=np.int32)
    stops[1:] = ends + 1 - dropped
    kept = data.replace(b"\r\n", b"").replace(b"\n", b"")
    return pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(stops), pa.py_buffer(kept)])
