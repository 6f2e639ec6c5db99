"""Texts as UTF-8 buffers: a column of text becomes (bytes, 64-bit offsets) pieces, without a Python string a document.

>>> pieces = text_buffers(["né", "", "go"])
>>> pieces[0].data.tobytes().decode(), pieces[0].offsets.tolist()
('négo', [0, 3, 3, 5])
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from linnet._kernels.text import Scratch
from linnet.array_types import Bytes, Hashes32, Ints
from linnet.errors import DataError
from linnet.text.tokens import IN_CONTEXT, SURROGATES
from linnet.values import alike

LONGEST_DOCUMENT = (1 << 29) - 1
_WORD = 8  # bytes
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
Run: TypeAlias = list[tuple[int, int, int]]
"""Documents that one thread works through: piece, first, last, in order."""


@dataclass(frozen=True)
class TextBuffer:
    """Consecutive documents: document d is data[offsets[d]:offsets[d + 1]]; also are columns beside the texts, by name."""

    data: Bytes
    offsets: Ints
    also: Mapping[str, Any] = field(default_factory=dict)  # Arrow columns of strings

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def longest(self) -> int:
        """Return the bytes of the longest document."""
        return int(np.diff(self.offsets).max()) if len(self) else 0

    def text(self, d: int) -> str:
        """Return one document as a Python string."""
        return bytes(self.data[self.offsets[d] : self.offsets[d + 1]]).decode("utf-8", "replace")

    def slice(self, first: int, last: int) -> TextBuffer:
        """Return the documents from one number to before another, with what stands beside them."""
        also = {name: column.slice(first, last - first) for name, column in self.also.items()}
        return TextBuffer(self.data, self.offsets[first : last + 1], also)

    def column(self, name: str) -> list[str | None]:
        """Return what stands in a column beside each text; None where it is empty."""
        found = alike(name, self.also)
        if found is None:
            raise DataError(
                f"the column '{name}' is needed beside each text; give rows such as {{'text': ..., '{name}': ...}}, "
                f"a table, or a Dataset read with also=['{name}']"
            )
        return list(self.also[found].to_pylist())


def text_numbers(piece: TextBuffer) -> Hashes32:
    """Return a number of 32 bits for each text; the same text has the same number.

    It is a hash of the length and of four words of eight bytes at equal distances: all of a short text, and quicker than any
    hash of whole texts.

    >>> one, other, same = text_numbers(text_buffers(["good", "bad", "good"])[0]).tolist()
    >>> one == same, one == other
    (True, False)
    """
    data = piece.data if len(piece.data) >= _WORD else np.append(piece.data, np.zeros(_WORD, np.uint8))
    words = np.ndarray((len(data) - _WORD + 1,), "<u8", np.ascontiguousarray(data), 0, (1,))  # one at every byte
    starts, sizes = piece.offsets[:-1], np.diff(piece.offsets)
    room = np.maximum(sizes - _WORD, 0)
    short = np.where(
        sizes < _WORD, (np.uint64(1) << (8 * np.minimum(sizes, _WORD - 1)).astype(np.uint64)) - np.uint64(1), _ALL
    )
    value = sizes.astype(np.uint64) * _FACTOR
    for k in range(4):
        at = starts + room * k // 3
        there = np.minimum(at, len(words) - 1)
        value = (value ^ ((words[there] >> (8 * (at - there)).astype(np.uint64)) & short)) * _FACTOR
        value ^= value >> np.uint64(29)
    return (value * _FACTOR >> np.uint64(32)).astype(np.uint32)


def columns_digest(*parts: Any) -> str:
    """Return the SHA-256 of the texts and labels of Datasets: of their bytes, then of their lengths.

    >>> from linnet import Dataset
    >>> one, other = Dataset.from_lists(["x", "y"], ["p", "n"]), Dataset.from_lists(["x", "y"], ["p", "p"])
    >>> columns_digest(one) == columns_digest(one), columns_digest(one) == columns_digest(other)
    (True, False)
    """
    whole, sizes = hashlib.sha256(), hashlib.sha256()
    for column in (column for part in parts for column in (part.text, part.label) if column is not None):
        for piece in text_buffers(column):
            whole.update(piece.data[piece.offsets[0] : piece.offsets[-1]].data)
            sizes.update(np.diff(piece.offsets).astype("<i8").tobytes())
    whole.update(sizes.digest())
    return whole.hexdigest()


def text_buffers(texts: Any, needs: Sequence[str] = (), text: str | None = None) -> list[TextBuffer]:
    """Accept a list of str, an Arrow array, chunked array or column, a NumPy array, or a pandas or polars series.

    Rows do as well: a list of dicts, an Arrow table, a pandas or polars frame, a Dataset or a Batch. Of rows, needs are the
    columns to keep beside the texts; text is the name of the text column, where there is one of that name (else it is
    found, as in ``linnet.data.read``).
    """
    if isinstance(texts, str | bytes):
        raise DataError("texts must be a list or a column of texts, got one string; put it in a list: [text]")
    if isinstance(texts, Mapping):
        raise DataError("texts must be a list of texts or rows, got one dict; put it in a list: [row]")
    if isinstance(texts, TextBuffer):
        return [texts]
    if isinstance(texts, list) and texts and isinstance(texts[0], TextBuffer):
        return texts
    if hasattr(texts, "also") and hasattr(texts, "text"):  # a Dataset or a Batch
        for name in needs:
            if hasattr(texts, "source"):
                texts.column(name)
        return _beside(texts)
    if _is_rows(texts):
        return _from_rows(texts, needs, text)
    arrow = hasattr(texts, "__arrow_c_stream__")  # a pandas or polars series, or an Arrow column
    pa: Any = import_module("pyarrow") if arrow else sys.modules.get("pyarrow")
    if arrow and not isinstance(texts, pa.ChunkedArray):
        texts = pa.chunked_array(texts)
    if pa is not None and isinstance(texts, pa.ChunkedArray):
        pieces = [_from_arrow(chunk) for chunk in texts.chunks if len(chunk)]
    elif pa is not None and isinstance(texts, pa.Array):
        pieces = [_from_arrow(texts)]
    else:
        pieces = [_from_strings(texts)]
    for piece in pieces:
        if piece.longest() > LONGEST_DOCUMENT:
            row = int(np.diff(piece.offsets).argmax())
            raise DataError(f"the text in row {row + 1} is longer than 512 MB; split it")
    return pieces or [TextBuffer(np.zeros(0, np.uint8), np.zeros(1, np.int64))]


def taken(pieces: list[TextBuffer], numbers: Ints) -> TextBuffer:
    """Return some documents, numbered over all pieces and in ascending order, as one piece.

    >>> taken(text_buffers(["a", "bc", "d"]), np.array([1, 2])).data.tobytes()
    b'bcd'
    """
    ends = np.cumsum([0, *map(len, pieces)])
    inside = [numbers[(numbers >= a) & (numbers < b)] - a for a, b in pairwise(ends)]
    parts = [
        piece.data[a:b]
        for piece, mine in zip(pieces, inside, strict=True)
        for a, b in zip(piece.offsets[mine], piece.offsets[mine + 1], strict=True)
    ]
    also: dict[str, Any] = {}
    if pieces[0].also:
        import pyarrow as pa

        for name in pieces[0].also:
            columns = [piece.also[name].take(pa.array(mine)) for piece, mine in zip(pieces, inside, strict=True)]
            also[name] = pa.chunked_array([chunk for c in columns for chunk in getattr(c, "chunks", [c])])
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return TextBuffer(np.concatenate([np.zeros(0, np.uint8), *parts]), offsets, also)


def _is_rows(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return isinstance(next((row for row in value if row is not None), None), Mapping)
    return hasattr(value, "columns") and (hasattr(value, "__arrow_c_stream__") or hasattr(value, "iloc"))


def _from_rows(rows: Any, needs: Sequence[str], text: str | None) -> list[TextBuffer]:
    """Read rows as a file is read; none is left out."""
    from linnet.data import stream

    if isinstance(rows, list | tuple):
        names = {name for row in rows[:1000] if row is not None for name in row}
    else:
        names = {str(name) for name in getattr(rows, "column_names", rows.columns)}
    found = [p for batch in stream(rows, text=text if text in names else None, also=needs) for p in _beside(batch)]
    return found or text_buffers([])


def _beside(rows: Any) -> list[TextBuffer]:
    """Return the texts of a Dataset or a Batch, each piece with its part of the other columns."""
    out, first = [], 0
    for piece in text_buffers(rows.text):
        out.append(replace(piece, also={name: c.slice(first, len(piece)) for name, c in rows.also.items()}))
        first += len(piece)
    return out


def _from_strings(texts: Iterable[Any]) -> TextBuffer:
    try:
        values: Sequence[Any] = texts if isinstance(texts, Sequence) else list(texts)
    except TypeError:
        raise DataError(f"texts must be a list or a column of texts, got {texts!r:.60}") from None
    try:
        encoded = [t.encode() for t in values]
    except UnicodeEncodeError:  # a lone surrogate becomes U+FFFD
        encoded = [SURROGATES.sub("\ufffd", t).encode() for t in values]
    except AttributeError:
        row = next(k for k, t in enumerate(values) if not isinstance(t, str))
        raise DataError(f"text number {row + 1} is {values[row]!r:.60}, not a string") from None
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)), out=offsets[1:])
    return TextBuffer(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)


def _from_arrow(array: Any) -> TextBuffer:
    import pyarrow as pa

    from linnet.data.arrays import data_bytes, offsets

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        raise DataError(f"texts must be strings, got an Arrow column of {array.type}; name the text column with text=")
    if array.null_count:
        array = array.fill_null("")
    ends = offsets(array).astype(np.int64)
    return TextBuffer(data_bytes(array), ends - ends[0])


def lowered(piece: TextBuffer) -> TextBuffer:
    """Lower the documents in which ``str.lower`` of the text is not that of its characters: capital sigma, dotted I.

    >>> lowered(text_buffers(["ΟΔΟΣ ABC", "ABC"])[0]).data.tobytes().decode()
    'οδος abcABC'
    """
    whole = piece.data.tobytes()
    if not any(c.encode() in whole for c in IN_CONTEXT):
        return piece
    texts = [t.lower() if any(c in t for c in IN_CONTEXT) else t for t in map(piece.text, range(len(piece)))]
    return replace(text_buffers(texts)[0], also=piece.also)


def shards(pieces: list[TextBuffer], n: int) -> list[Run]:
    """Share documents out in n runs of about the same number of bytes: lists of (piece, first, last), in order."""
    total = sum(int(p.offsets[-1] - p.offsets[0]) for p in pieces)
    runs: list[Run] = [[] for _ in range(n)]
    passed = 0
    for k, piece in enumerate(pieces):
        at = piece.offsets - piece.offsets[0] + passed
        cuts = [0, *(int(np.searchsorted(at, total * (r + 1) / n)) for r in range(n - 1)), len(piece)]
        for r in range(n):
            first, last = min(cuts[r], len(piece)), min(cuts[r + 1], len(piece))
            if last > first:
                runs[r].append((k, first, last))
        passed = int(at[-1])
    return [run for run in runs if run] or [[(0, 0, 0)]]


KEPT = 1 << 16  # bytes: the scratch of longer documents is not kept
_spare = threading.local()


def spare(longest: int) -> Scratch:
    """Return this thread's scratch for documents up to so many bytes; kept from call to call, so that one text is quick.

    >>> spare(10) is spare(20)
    True
    """
    if longest > KEPT:
        return Scratch(longest)
    if not hasattr(_spare, "scratch") or _spare.scratch.room > KEPT:  # made to hold more than is worth keeping
        _spare.scratch = Scratch(KEPT)
    kept: Scratch = _spare.scratch
    return kept
