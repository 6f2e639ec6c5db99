"""Clean a corpus: characters, pages, duplicates, as a chain of stages over a stream of batches.

Rules for characters and pages see one document at a time. Duplicates must see all: documents wait in a file on disk
until the last one has been seen, fingerprints are sorted in files (see linnet.text.clean.dedup), and memory stays bounded,
but for near duplicates, which keep about 1.5 kB a document.

>>> from linnet.data.streaming import stream_rows
>>> rows = [{"text": "One <b>film</b>."}, {"text": "One film."}, {"text": ""}]
>>> kept = []
>>> report = Corpus("html", dedup=["exact"]).run(stream_rows(rows), kept.append)
>>> kept[0].column("text").to_pylist(), report.removed_documents, report.adds_up
(['One film.'], {'empty': 1, 'exact': 1}, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linnet.data.arrays import integers, strings
from linnet.data.streaming import RowBatch
from linnet.errors import DataError, check_choice
from linnet.files import temporary_folder
from linnet.text.clean.dedup import DEDUP, Chunk, Repeats, Spool, without
from linnet.text.clean.pages import Pages
from linnet.text.clean.report import CleaningReport
from linnet.text.clean.rules import Cleaner
from linnet.text.duplicates import SAME, Sketches, bands_for, repeats, same_keys, sentences, span_keys
from linnet.text.offsets import apply

_UNASKED = {
    "unreadable": "rows that could not be parsed",
    "empty": "documents with nothing in them, or nothing left",
}

Write = Callable[[Any], None]
Tell = Callable[[str, int, int], None]


class Corpus:
    """What to do with a corpus: rules for characters, rules for pages, kinds of duplicates.

    `same` says which documents are exact duplicates ("exact", "spaces", "words"), `threshold` and `shingle` which are
    near ones. `max_memory` bounds what the search for repeated keys may use; it never changes the result.
    """

    def __init__(
        self,
        text: Cleaner | str | Iterable[Any] = (),
        pages: Pages | Iterable[Any] | None = None,
        dedup: Sequence[str] = (),
        *,
        same: str = "exact",
        threshold: float = 0.8,
        shingle: int = 3,
        max_memory: int = 1 << 28,
        folder: str | None = None,
    ) -> None:
        self.text = text if isinstance(text, Cleaner) else Cleaner(text)
        self.pages = pages if isinstance(pages, Pages) else None if pages is None else Pages(pages)
        for kind in dedup:
            check_choice("kind of duplicates", kind, DEDUP)
        check_choice("kind of sameness", same, SAME)
        if not 0 < threshold <= 1:
            raise DataError(f"threshold must be above 0 and at most 1, got {threshold}")
        self.dedup = tuple(kind for kind in DEDUP if kind in dedup)
        self.same, self.threshold, self.shingle = same, threshold, shingle
        self.max_memory, self.folder = max_memory, folder

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            **self.text.to_dict(),
            "pages": None if self.pages is None else self.pages.to_dict()["rules"],
            "dedup": list(self.dedup), "same": self.same, "threshold": self.threshold, "shingle": self.shingle,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Corpus:
        """Make the settings again from `to_dict`."""
        return cls(
            values["rules"], values["pages"], values["dedup"], same=values["same"], threshold=values["threshold"],
            shingle=values["shingle"],
        )  # fmt: skip

    def cleaner(self) -> Callable[[str], tuple[str, str | None]]:
        """Return a function from a text to the clean text and the rule that removed it, None where none did.

        >>> Corpus("html", ["words"]).cleaner()("<p>one line of words</p>")
        ('one line of words', None)
        """
        return _Work(self).document

    def run(
        self, batches: Iterable[RowBatch], write: Write, removed: Write | None = None, tell: Tell | None = None
    ) -> CleaningReport:
        """Clean batches; hand tables of what is kept to `write`, and of what is not to `removed`.

        `tell` is called with the name of a stage, the documents it has seen and the bytes of this batch.
        """
        work = _Work(self, removed, tell)
        chunks = work.first(batches)
        for kind in self.dedup:
            chunks = getattr(work, kind)(chunks)
        for chunk in chunks:
            work.report.kept_documents += len(chunk)
            work.report.kept_lines += sum(text.count("\n") + 1 for text in chunk.texts)
            work.report.kept_characters += sum(map(len, chunk.texts))
            write(chunk.to_table())
        if not work.report.kept_documents and work.columns is not None:
            write(work.columns)  # no rows, but their names and types
        return work.report


class _Work:
    """One run: its report, and the stages. Those that must see the whole corpus are named as kinds of duplicates are."""

    def __init__(self, plan: Corpus, removed: Write | None = None, tell: Tell | None = None) -> None:
        self.plan, self.removed = plan, removed
        self.tell = tell or (lambda stage, documents, size: None)
        self.columns: Any = None
        self.report = report = CleaningReport()
        for rule in plan.text.rules:
            report.tally(rule.name, "text", rule.about)
        for name, about in _UNASKED.items():
            report.tally(name, "page", about)
        if plan.pages is not None:
            if any(rule.level == "line" for rule in plan.pages.rules):
                report.tally("blank", "line", "lines with nothing in them")
            for page_rule in plan.pages.rules:
                report.tally(page_rule.name, "line" if page_rule.level == "line" else "page", page_rule.about)
        for kind in plan.dedup:
            report.tally(kind, "corpus", DEDUP[kind])

    def first(self, batches: Iterable[RowBatch]) -> Iterator[Chunk]:
        """Clean characters and pages, document by document."""
        for batch in batches:
            chunk = Chunk(
                batch.text.to_pylist(),
                batch.table,
                batch.text_column,
                np.arange(len(batch)) + batch.first_row,
                batch.source,
            )
            if self.columns is None:
                self.columns = chunk.take([]).to_table()
            keep, texts = [], []
            gone: dict[str, list[int]] = {}
            for k, text in enumerate(chunk.texts):
                wrong = batch.malformed.get(k)
                left, why = self.document(text if wrong is None else wrong.raw, wrong is not None)
                if why is None:
                    keep.append(k)
                    texts.append(left)
                else:
                    gone.setdefault(why, []).append(k)
                    if wrong is not None:
                        chunk.texts[k] = wrong.raw
            self.aside(chunk, gone)
            self.tell("cleaning", len(chunk), batch.table.nbytes)
            if keep:
                yield chunk.take(keep, texts)

    def document(self, text: str, unreadable: bool = False) -> tuple[str, str | None]:
        """Clean one document; say which rule removed it, if one did."""
        report = self.report
        report.documents += 1
        report.lines += text.count("\n") + 1
        report.characters += len(text)
        if unreadable:
            return self.gone("unreadable", text)
        now = self.characters(text)
        if not now.strip():
            return self.gone("empty", now)
        if self.plan.pages is None:
            return now, None
        page = self.plan.pages.filter(now)
        for name, count in page.lines.items():
            report.tally(name).lines += count
        for name, samples in page.samples.items():
            tally = report.tallies[name]
            for sample in samples:
                tally.sample(sample)
        if page.removed_by is not None:
            report.tally(page.removed_by).documents += 1
            return "", page.removed_by
        return page.text, None

    def characters(self, text: str) -> str:
        """Apply the rules for characters, and count what they do."""
        now = text
        for rule in self.plan.text.rules:
            edits = rule.edits(now)
            if edits:
                after = apply(now, edits)
                tally = self.report.tallies[rule.name]
                tally.documents += 1
                tally.places += len(edits)
                tally.line_change += after.count("\n") - now.count("\n")
                for start, end, _ in edits[:5]:
                    tally.sample(now[start:end])
                now = after
        return now

    def aside(self, chunk: Chunk, gone: Mapping[str, Sequence[int]]) -> None:
        """Hand removed documents on, with the rule that removed them, their source and their row."""
        if self.removed is None or not gone:
            return
        where = [(k, why) for why, rows in gone.items() for k in rows]
        where.sort()
        part = chunk.take([k for k, _ in where])
        table = pa.table({
            "removed_by": strings([why for _, why in where]), "source": strings([chunk.source] * len(where)),
            "row": integers(part.rows),
        })  # fmt: skip
        rest = part.to_table()
        for name in rest.column_names:
            table = table.append_column(f"{name}_" if name in table.column_names else name, rest.column(name))
        self.removed(table)

    # ---- duplicates: chunks in, chunks out

    def gone(self, why: str, text: str) -> tuple[str, str]:
        """Count a document, and its lines, as removed."""
        tally = self.report.tallies[why]
        tally.documents += 1
        tally.lines += text.count("\n") + 1
        tally.sample(text)
        return "", why

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

        return self._twice(chunks, "exact", keys, self.drop)

    def spans(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Leave out the sentences of three-sentence spans that occurred before."""

        def keys(chunk: Chunk) -> tuple[Any, Any]:
            found, cut = span_keys(chunk.texts)
            return found, np.array([max(0, len(ends) - 2) for ends in cut], dtype=np.int64)

        return self._twice(chunks, "spans", keys, self._cut_spans)

    def near(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Leave out documents that are near duplicates of one before."""
        bands, rows = bands_for(self.plan.threshold)
        parts = []

        def keys(chunk: Chunk) -> tuple[Any, Any]:
            found = Sketches.of(chunk.texts, bands * rows, self.plan.shingle)
            parts.append((found.keys, found.minima, np.diff(found.starts), found.values))
            return found.keys[:0], np.ones(len(chunk), dtype=np.int64)

        def marks() -> npt.NDArray[np.bool_]:
            whole = Sketches.joined(parts, bands * rows)
            parts.clear()
            return repeats(whole.groups(self.plan.threshold - 1e-12, bands, rows))

        return self._twice(chunks, "near", keys, self.drop, marks)

    def _twice(
        self, chunks: Iterable[Chunk], kind: str, keys: Callable[[Chunk], tuple[Any, Any]],
        second: Callable[[Chunk, Any, str], Chunk], marks: Callable[[], npt.NDArray[np.bool_]] | None = None,
    ) -> Iterator[Chunk]:  # fmt: skip
        """Collect the keys of all chunks, then go over the chunks again with the marks of their keys."""
        with temporary_folder(self.plan.folder) as folder:
            spool, seen = Spool(folder), Repeats(folder, self.plan.max_memory)
            for chunk in chunks:
                found, counts = keys(chunk)
                seen.add(found)
                spool.write(replace(chunk, keys=counts))
            marked, at = (marks or seen.marks)(), 0
            for chunk in spool.read():
                size = int(chunk.keys.sum()) if chunk.keys is not None else 0
                left = second(chunk, np.array(marked[at : at + size]), kind)
                at += size
                self.tell(DEDUP[kind], len(chunk), 0)
                if len(left):
                    yield left
            del marked

    def _cut_spans(self, chunk: Chunk, marked: Any, kind: str) -> Chunk:
        """Cut repeated spans out of the documents that have some; leave out those with nothing left."""
        ends = np.cumsum(np.asarray(chunk.keys, dtype=np.int64))
        touched = np.unique(np.searchsorted(ends, np.flatnonzero(marked), side="right"))
        texts, empty = list(chunk.texts), np.zeros(len(chunk), dtype=bool)
        for k in touched.tolist():
            first = int(ends[k - 1]) if k else 0
            texts[k], empty[k] = self._cut_document(chunk.texts[k], marked[first : int(ends[k])])
        kept = self.drop(chunk, empty, kind)
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
        left, lines = without(text, found, hit)
        tally.lines += lines
        return left, False
