"""From a model and texts to explanations: many at a time, in arrays; Python objects are made when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from linnet.errors import LinnetError, nearest
from linnet.explain.chunk import DocumentChunk
from linnet.explain.explanation import Explanation
from linnet.features.buffers import TextBuffer
from linnet.model.model import Model

__all__ = ["Explanations", "explain", "explain_many", "runs"]

CHUNK = 1 << 15  # bytes of text that are explained together


def explain(
    model: Model, text: str | Mapping[str, Any], label: Any = None, against: Any = None
) -> Explanation:  # fmt: skip
    """Explain the score of one label, by default of the predicted one; with against, how far it is ahead of that one.

    text is a text, or a row with other columns.
    """
    if not isinstance(text, str | Mapping):
        raise LinnetError(f"explain takes one text or one row as a dict, got {type(text).__name__}")
    return explain_many(model, [text], label, against)[0]


def explain_many(model: Model, texts: Any, label: Any = None, against: Any = None) -> Explanations:
    """Explain many texts; see :class:`Explanations`."""
    return Explanations(model, texts, label, against)


class Explanations(Sequence[Explanation]):
    """Explanations of texts, in their order. They are worked out some kilobytes of text at a time, when they are reached."""

    def __init__(self, model: Model, texts: Any, label: Any = None, against: Any = None) -> None:
        self.model = model
        self.columns = (_column(model, label), _column(model, against))
        if label is not None and label == against:
            raise LinnetError(f"label and against are both {label!r}; name two labels")
        self._given = texts if isinstance(texts, list | tuple) and all(isinstance(t, str) for t in texts) else None
        self._runs = [run for piece in model.pieces(texts) for run in runs(piece)]
        self._ends = np.cumsum([len(run) for run in self._runs], dtype=np.int64)
        self._last: tuple[int, DocumentChunk] | None = None

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def _chunk(self, k: int) -> DocumentChunk:
        if self._last is None or self._last[0] != k:
            first = int(self._ends[k]) - len(self._runs[k])
            given = None if self._given is None else self._given[first : first + len(self._runs[k])]
            self._last = k, DocumentChunk(self.model, self._runs[k], *self.columns, given)
        return self._last[1]

    @overload
    def __getitem__(self, k: int) -> Explanation: ...

    @overload
    def __getitem__(self, k: slice) -> list[Explanation]: ...

    def __getitem__(self, k: int | slice) -> Explanation | list[Explanation]:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        if not -len(self) <= k < len(self):
            raise IndexError(f"there are {len(self):,} explanations, not number {k}")
        k %= len(self)
        run = int(np.searchsorted(self._ends, k, side="right"))
        return self._chunk(run).explanation(k - int(self._ends[run]) + len(self._runs[run]))

    def __iter__(self) -> Iterator[Explanation]:
        for k, run in enumerate(self._runs):
            chunk = self._chunk(k)
            for d in range(len(run)):
                yield chunk.explanation(d)

    def __repr__(self) -> str:
        return f"<{len(self):,} explanations>"


def _column(model: Model, label: Any) -> int | None:
    known = {c: k for k, c in enumerate(model.classes)}
    if label is not None and label not in known:
        raise LinnetError(nearest("label", str(label), map(str, known)))
    return None if label is None else known[label]


def runs(piece: TextBuffer) -> Iterator[TextBuffer]:
    """Cut documents into runs of about CHUNK bytes, at least one document each."""
    first = 0
    while first < len(piece):
        last = int(np.searchsorted(piece.offsets, piece.offsets[first] + CHUNK, side="right")) - 1
        last = min(max(last, first + 1), len(piece))
        also = {name: column.slice(first, last - first) for name, column in piece.also.items()}
        yield TextBuffer(piece.data, piece.offsets[first : last + 1], also)
        first = last
