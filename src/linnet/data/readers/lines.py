"""Formats with one document a line: plain text, fastText's `__label__` lines, Vowpal Wabbit's.

Vowpal Wabbit's text format: `label importance 'tag |namespace word:2.5 word |other word`, one document a line.

The label is what the line says, a number or a name. The text is the words of all namespaces, in their order; the names of
namespaces, their weights and the values of words are left out, as are the importance and the tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.decode import by_distinct, printable
from linnet.data.input_file import InputFile
from linnet.data.reader import RawBatch, ReadOptions, RecordReader
from linnet.data.readers.records import pieces, whole_lines

_PREFIX = b"__label__"


def open_text(file: InputFile, options: ReadOptions) -> RecordReader:
    """Plain text, one document a line, no labels."""
    return line_reader(file, options, ["text"], lambda lines: {"text": lines}, "one document a line")


def sniff_fasttext(head: bytes) -> bool:
    """The first line that is not blank starts with a label."""
    return head.lstrip().startswith(_PREFIX)


def open_fasttext(file: InputFile, options: ReadOptions) -> RecordReader:
    """Lines as fastText has them: `__label__pos a good film`; a line may have several labels."""
    return line_reader(file, options, ["label", "text"], _parse_fasttext, "one '__label__' line a document")


def _parse_fasttext(lines: pa.Array) -> dict[str, Any]:
    import pyarrow.compute as pc

    parts = pc.extract_regex(lines, r"(?s)^(?P<label>(?:[ \t]*__label__\S+)*)[ \t]*(?P<text>.*)$")
    labels = by_distinct(pa.chunked_array([parts.field("label")]), _fasttext_label)
    if pc.any(pc.match_substring(labels, "|")).as_py():
        labels = pc.split_pattern(labels, "|")
    return {"label": labels, "text": parts.field("text")}


def _fasttext_label(raw: bytes) -> str | None:
    """The labels at the start of a line, joined.

    >>> _fasttext_label(b"__label__joy __label__love")
    'joy|love'
    """
    return "|".join((printable(part) or "").removeprefix("__label__") for part in raw.split()) or None


def line_reader(
    file: InputFile, options: ReadOptions, names: list[str], parse: Callable[[pa.Array], dict[str, Any]], how: str
) -> RecordReader:  # fmt: skip
    """Read a format that has one row a line; `parse` turns a binary array of lines into columns."""

    def batches(_: Sequence[str] | None) -> Iterator[RawBatch]:
        first = 1
        for data in pieces(file.read, whole_lines, options.batch_bytes, file.name):
            lines = split_lines(data)
            columns = {
                name: pa.chunked_array([column]) if isinstance(column, pa.Array) else column
                for name, column in parse(lines).items()
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


_NUMBERED = re.compile(rb"\s*[-+]?\d[\d.]*\s+(?:[\d.]+\s+)?(?:'\S*\s*)?\|\S*\s")


def sniff_vw(head: bytes) -> bool:
    """The first line begins with a numeric label and has a namespace."""
    return _NUMBERED.match(head) is not None


def open_vw(file: InputFile, options: ReadOptions) -> RecordReader:
    """Lines as Vowpal Wabbit has them; a line that begins with a bar has no label."""
    return line_reader(file, options, ["label", "text"], _parse, "one Vowpal Wabbit line a document")


def _parse(lines: pa.Array) -> dict[str, Any]:
    r"""Return labels and texts; a line without a bar has no text.

    >>> from linnet.data.arrays import binaries
    >>> found = _parse(binaries([b"1 2.0 'a |title good film:2.5 |body:0.5 so  good", b"|f no label", b"spam |f win", b"?"]))
    >>> found["label"].to_pylist(), found["text"].to_pylist()
    (['1', None, 'spam', None], [b'good film so good', b'no label', b'win', b''])
    """
    import pyarrow.compute as pc

    parts = pc.extract_regex(lines, r"(?s)^(?P<head>[^|]*)(?P<words>\|.*)$")
    words = pc.replace_substring_regex(parts.field("words"), r"\|\S*|:\S*", " ")
    words = pc.replace_substring_regex(words, r"\s+", " ")
    return {
        "label": by_distinct(pa.chunked_array([parts.field("head")]), _label),
        "text": pc.replace_substring_regex(words, r"^ | $", ""),
    }


def _label(head: bytes | None) -> str | None:
    """The label of what stands before the first bar; a word that touches the bar, or begins with ', is a tag.

    >>> _label(b"1 0.5 'a "), _label(b"'a "), _label(b"-1 tag"), _label(b"")
    ('1', None, '-1', None)
    """
    words = (head or b"").split()
    if words and (words[-1].startswith(b"'") or not (head or b"")[-1:].isspace()):
        words.pop()
    return printable(words[0]) if words else None
