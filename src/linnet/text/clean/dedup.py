"""Duplicates in a stream of chunks: two passes each, with the documents on disk in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from linnet.text.clean.report import CleaningReport
from linnet.text.clean.spool import Chunk, Spool
from linnet.text.duplicates import Sketches, bands_for, repeats, same_keys
from linnet.text.repeats import Repeats
from linnet.text.sentences import sentences, span_keys

__all__ = ["DEDUP", "Duplicates"]

#: What duplicates are looked for, in the order in which they are.
DEDUP = {
    "exact": "documents that occurred before",
    "near": "documents that share most of their word shingles with one before",
    "spans": "sentences of three-sentence spans that occurred before",
}


class Duplicates:
    """The stages of a run that must see the whole corpus; one method a kind, chunks in, chunks out."""

    plan: Any
    report: CleaningReport
    tell: Callable[[str, int, int], None]

    def gone(self, why: str, text: str) -> tuple[str, str]:
        """Count a document, and its lines, as removed."""
        tally = self.report.tallies[why]
        tally.documents += 1
        tally.lines += text.count("\n") + 1
        tally.sample(text)
        return "", why

    def aside(self, chunk: Chunk, gone: Mapping[str, Sequence[int]]) -> None:
        """Hand removed documents on."""
        raise NotImplementedError

    def drop(self, chunk: Chunk, marked: Any, kind: str) -> Chunk:
        """Leave out the marked documents."""
        where = np.flatnonzero(marked).tolist()
        for k in where:
            self.gone(kind, chunk.texts[k])
        self.aside(chunk, {kind: where} if where else {})
        return chunk.take(np.flatnonzero(~np.asarray(marked)).tolist())

    def exact(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Leave out documents that occurred before."""

        def keys(chunk: Chunk) -> tuple[Any, Any]:
            return same_keys(chunk.texts, self.plan.same), np.ones(len(chunk), dtype=np.int64)

        yield from self._twice(chunks, "exact", keys, lambda chunk, marked: self.drop(chunk, marked, "exact"))

    def spans(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Leave out the sentences of three-sentence spans that occurred before."""

        def keys(chunk: Chunk) -> tuple[Any, Any]:
            found, cut = span_keys(chunk.texts)
            return found, np.array([max(0, len(ends) - 2) for ends in cut], dtype=np.int64)

        yield from self._twice(chunks, "spans", keys, self._cut_spans)

    def _twice(
        self,
        chunks: Iterable[Chunk],
        kind: str,
        keys: Callable[[Chunk], tuple[Any, Any]],
        second: Callable[[Chunk, Any], Chunk],
    ) -> Iterator[Chunk]:
        """Collect the keys of all chunks, then go over the chunks again with the marks of their keys."""
        with ExitStack() as stack:
            spool = stack.enter_context(Spool(self.plan.folder))
            seen = stack.enter_context(Repeats(self.plan.max_memory, self.plan.folder))
            for chunk in chunks:
                found, counts = keys(chunk)
                seen.add(found)
                spool.write(replace(chunk, keys=counts))
            marks, at = seen.marks(), 0
            for chunk in spool.read():
                size = int(chunk.keys.sum()) if chunk.keys is not None else 0
                left = second(chunk, np.array(marks[at : at + size]))
                at += size
                self.tell(DEDUP[kind], len(chunk), 0)
                if len(left):
                    yield left
            del marks

    def _cut_spans(self, chunk: Chunk, marked: Any) -> Chunk:
        """Cut repeated spans out of the documents that have some; leave out those with nothing left."""
        ends = np.cumsum(np.asarray(chunk.keys, dtype=np.int64))
        touched = np.unique(np.searchsorted(ends, np.flatnonzero(marked), side="right"))
        texts, empty = list(chunk.texts), np.zeros(len(chunk), dtype=bool)
        for k in touched.tolist():
            first = int(ends[k - 1]) if k else 0
            texts[k], empty[k] = self._cut_document(chunk.texts[k], marked[first : int(ends[k])])
        kept = self.drop(chunk, empty, "spans")
        return replace(kept, texts=[t for t, gone in zip(texts, empty.tolist(), strict=True) if not gone])

    def _cut_document(self, text: str, repeated: Any) -> tuple[str, bool]:
        """Return what is left of a document, and whether that is nothing."""
        found, tally = sentences(text), self.report.tallies["spans"]
        hit = np.zeros(len(found), dtype=bool)
        for j in range(3):
            hit[j : j + len(repeated)] |= repeated
        tally.places += int(hit.sum())
        if hit.all():
            return "", True
        first = int(np.argmax(hit))
        tally.sample(text[found[first][0] : found[first + 2][1]])
        left, lines = _without(text, found, hit)
        tally.lines += lines
        return left, False

    def near(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Leave out documents that are near duplicates of one before."""
        bands, rows = bands_for(self.plan.threshold)
        parts = []
        with Spool(self.plan.folder) as spool:
            for chunk in chunks:
                found = Sketches.of(chunk.texts, bands * rows, self.plan.shingle)
                parts.append((found.keys, found.minima, np.diff(found.starts), found.values))
                spool.write(chunk)
            whole = Sketches.joined(parts, bands * rows)
            parts.clear()
            marks, at = repeats(whole.groups(self.plan.threshold - 1e-12, bands, rows)), 0
            for chunk in spool.read():
                left = self.drop(chunk, marks[at : at + len(chunk)], "near")
                at += len(chunk)
                self.tell(DEDUP["near"], len(chunk), 0)
                if len(left):
                    yield left


def _without(text: str, found: list[tuple[int, int]], hit: Any) -> tuple[str, int]:
    r"""Cut sentences out of a text; lines that lose all they had go, too. Returns the text and how many went.

    >>> _without("One. Two.\nThree.\nFour.", [(0, 4), (5, 9), (10, 16), (17, 22)], [False, True, True, False])
    ('One.\nFour.', 1)
    """
    out, gone, at = [], 0, 0
    cuts = [span for span, cut in zip(found, hit, strict=True) if cut]
    k = 0
    for line in text.split("\n"):
        end, pieces, here = at + len(line), [], at
        while k < len(cuts) and cuts[k][0] < end:
            pieces.append(text[here : cuts[k][0]])
            here = cuts[k][1]
            k += 1
        if pieces:
            left = "".join([*pieces, text[here:end]])
            left = " ".join(left.split())
            gone += not left
            if left:
                out.append(left)
        else:
            out.append(line)
        at = end + 1
    return "\n".join(out), gone
