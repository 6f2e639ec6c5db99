"""Vowpal Wabbit's text format: `label importance 'tag |namespace word:2.5 word |other word`, one document a line.

The label is what the line says, a number or a name. The text is the words of all namespaces, in their order; the names of
namespaces, their weights and the values of words are left out, as are the importance and the tag.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from linnet.data.decode import by_distinct, printable
from linnet.data.input_file import InputFile
from linnet.data.reader import ReadOptions, RecordReader
from linnet.data.readers.lines import line_reader

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
