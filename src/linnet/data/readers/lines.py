"""Formats with one document a line: plain text, and fastText's `__label__` lines; `vw.py` has Vowpal Wabbit's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.decode import by_distinct, printable
from linnet.data.input_file import InputFile
from linnet.data.reader import RawBatch, ReadOptions, RecordReader
from linnet.data.readers.records import pieces, whole_lines


def open_text(file: InputFile, options: ReadOptions) -> RecordReader:
    """Plain text, one document a line, no labels."""
    return line_reader(file, options, ["text"], lambda lines, _: {"text": lines}, "one document a line")


def open_fasttext(file: InputFile, options: ReadOptions) -> RecordReader:
    """Lines as fastText has them: `__label__pos a good film`; a line may have several labels."""
    return line_reader(file, options, ["label", "text"], _parse_fasttext, "one '__label__' line a document")


def _parse_fasttext(lines: pa.Array, _: Any) -> dict[str, Any]:
    import pyarrow.compute as pc

    parts = pc.extract_regex(lines, r"(?s)^(?P<label>(?:[ \t]*__label__\S+)*)[ \t]*(?P<text>.*)$")
    labels = by_distinct(pa.chunked_array([parts.field("label")]), _fasttext_label)
    return {"label": several(labels, "|"), "text": parts.field("text")}


def several(labels: pa.ChunkedArray, mark: str) -> pa.ChunkedArray:
    """Return lists where a row has several labels."""
    import pyarrow.compute as pc

    return pc.split_pattern(labels, mark) if pc.any(pc.match_substring(labels, mark)).as_py() else labels


def _fasttext_label(raw: bytes) -> str | None:
    """The labels at the start of a line, joined.

    >>> _fasttext_label(b"__label__joy __label__love")
    'joy|love'
    """
    return "|".join((printable(part) or "").removeprefix("__label__") for part in raw.split()) or None


def line_reader(
    file: InputFile, options: ReadOptions, names: list[str], parse: Callable[..., dict[str, Any]], how: str
) -> RecordReader:  # fmt: skip
    """Read a format that has one row a line; `parse` turns a binary array of lines into columns, all or those named."""

    def batches(wanted: Sequence[str] | None) -> Iterator[RawBatch]:
        first = 1
        for data in pieces(file.read, whole_lines, options.batch_bytes, file.name):
            lines = split_lines(data)
            columns = {
                name: pa.chunked_array([column]) if isinstance(column, pa.Array) else column
                for name, column in parse(lines, wanted).items()
            }
            yield RawBatch(columns, len(lines), lines=range(first, first + len(lines)))
            first += len(lines)

    return RecordReader(names, batches, how=how)


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
