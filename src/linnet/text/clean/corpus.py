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
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.arrays import integers, strings
from linnet.data.streaming import RowBatch
from linnet.errors import DataError, check_choice
from linnet.text.clean.dedup import DEDUP, Chunk, Duplicates
from linnet.text.clean.pages import Pages
from linnet.text.clean.report import CleaningReport
from linnet.text.clean.rules import Cleaner
from linnet.text.duplicates import SAME
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

    def run(
        self, batches: Iterable[RowBatch], write: Write, removed: Write | None = None, tell: Tell | None = None
    ) -> CleaningReport:
        """Clean batches; hand tables of what is kept to `write`, and of what is not to `removed`.

        `tell` is called with the name of a stage, the documents it has seen and the bytes of this batch.
        """
        work = _Work(self, removed, tell or (lambda stage, documents, size: None))
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


class _Work(Duplicates):
    """One run: its report, and the stages."""

    def __init__(self, plan: Corpus, removed: Write | None, tell: Tell) -> None:
        self.plan, self.removed, self.tell = plan, removed, tell
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

    def document(self, text: str, unreadable: bool) -> tuple[str, str | None]:
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
