"""Clean a corpus: characters, pages, duplicates, as a chain of stages over a stream of batches.

Rules for characters and pages see one document at a time. Duplicates must see all: documents wait in a file on disk
until the last one has been seen, fingerprints are sorted in files (`Repeats`), and memory stays bounded,
but for near duplicates, which keep about 1.5 kB a document.

>>> from linnet.data.reading import stream_rows
>>> rows = [{"text": "One <b>film</b>."}, {"text": "One film."}, {"text": ""}]
>>> kept = []
>>> report = Corpus("html", dedup=["exact"]).run(stream_rows(rows), kept.append)
>>> kept[0].column("text").to_pylist(), report.removed_documents, report.adds_up
(['One film.'], {'empty': 1, 'exact': 1}, True)

What every rule did: counts that add up to the input's documents and lines, with samples.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.array_types import Bools, Hashes, Ints
from linnet.data.arrays import integers, strings
from linnet.data.reading import RowBatch
from linnet.draw.markup import page, safe, text_table
from linnet.draw.terminal import aligned
from linnet.errors import check_choice
from linnet.files import temporary_folder
from linnet.text.clean.pages import Pages
from linnet.text.clean.rules import Cleaner
from linnet.text.duplicates import SAME, Sketches, bands_for, repeats, same_keys, sentences, span_keys
from linnet.text.offsets import apply

_GONE = "\0"  # in place of a sentence that is cut out: no text that was read holds it
_SAMPLES = 5
_LONGEST = 160


@dataclass
class Tally:
    """The account of one rule. `level` is text (it changes characters), line, page or corpus (it removes)."""

    name: str
    level: str
    about: str
    documents: int = 0  # changed (text), or removed
    lines: int = 0  # removed, alone or with their document
    places: int = 0  # text: how many places were changed; spans: how many sentences were removed
    line_change: int = 0  # text: lines gained or lost
    samples: list[str] = field(default_factory=list)

    def sample(self, *texts: str) -> None:
        """Keep the first few things that the rule removed."""
        for text in texts:
            shown = " ".join(text.split())
            if len(self.samples) < _SAMPLES and shown and shown[:_LONGEST] not in self.samples:
                self.samples.append(shown[:_LONGEST])


class CleaningReport:
    """The account of a cleaning.

    Every input document is kept, or removed by exactly one rule. Every line (documents are cut at newlines) is kept,
    removed by exactly one line rule, or removed with its document; rules for characters may change the number of lines
    before that, and say by how much.
    """

    def __init__(self) -> None:
        self.documents = self.lines = self.kept_documents = self.kept_lines = self.characters = self.kept_characters = 0
        self.tallies: dict[str, Tally] = {}

    def tally(self, name: str, level: str = "page", about: str = "") -> Tally:
        """Return the account of a rule, opened when it is first asked for."""
        if name not in self.tallies:
            self.tallies[name] = Tally(name, level, about)
        return self.tallies[name]

    @property
    def removed_documents(self) -> dict[str, int]:
        """Documents removed, by rule."""
        return {t.name: t.documents for t in self.tallies.values() if t.level != "text" and t.documents}

    @property
    def removed_lines(self) -> dict[str, int]:
        """Lines removed, by rule."""
        return {t.name: t.lines for t in self.tallies.values() if t.lines}

    @property
    def adds_up(self) -> bool:
        """Whether kept and removed add up to the input, for documents and for lines."""
        documents = self.kept_documents + sum(self.removed_documents.values())
        lines = self.kept_lines + sum(self.removed_lines.values()) - sum(t.line_change for t in self.tallies.values())
        return (self.documents, self.lines) == (documents, lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with stable keys."""
        tallies = self.tallies.values()
        changed = {t.name: t.line_change for t in tallies if t.line_change}
        return {
            "documents": {"input": self.documents, "kept": self.kept_documents, "removed": self.removed_documents},
            "lines": {"input": self.lines, "changed": changed, "kept": self.kept_lines, "removed": self.removed_lines},
            "characters": {"input": self.characters, "kept": self.kept_characters},
            "adds_up": self.adds_up,
            "rules": [{"rule": t.name, **{k: v for k, v in vars(t).items() if k != "name"}} for t in tallies],
        }

    def rows(self) -> list[list[str]]:
        """Return the table: rule, documents, lines, places."""
        out = [["rule", "documents", "lines", "places"], ["input", f"{self.documents:,}", f"{self.lines:,}", ""]]
        for t in self.tallies.values():
            documents, lines = f"{-t.documents:,}", f"{-t.lines:,}"
            if t.level == "text":
                documents, lines = f"{t.documents:,} changed", f"{t.line_change:+,}" if t.line_change else ""
            out.append([t.name, "" if t.level == "line" else documents, lines, f"{t.places:,}" if t.places else ""])
        out.append(["kept", f"{self.kept_documents:,}", f"{self.kept_lines:,}", ""])
        return out

    def text(self, samples: int = 2, width: int = 100) -> str:
        """Return the table, and samples of what each rule took, for a terminal."""
        lines = aligned(self.rows(), width)
        for t in self.tallies.values():
            shown = [f"    {sample[: width - 4]}" for sample in t.samples[:samples]]
            lines += [f"{t.name}: {t.about}", *shown] if shown else []
        return "\n".join(lines)

    def html(self) -> str:
        """Return an HTML file: the table and the samples."""
        parts = [f"<h1>What cleaning removed</h1>{text_table(self.rows())}"]
        for t in self.tallies.values():
            items = "".join(f"<li>{safe(sample)}</li>" for sample in t.samples)
            parts.append(f"<h2>{safe(t.name)}</h2><p>{safe(t.about)}</p><ul>{items}</ul>")
        return page("What cleaning removed", "".join(parts))


# ---- Duplicates in a stream of chunks: two passes each, with the documents on disk in between.
#
# Batches on their way: kept on disk between two passes over a corpus, so that memory stays small and pipes work.
#
# Which keys of a long sequence occurred before, in bounded memory: the sequence may be larger than memory.
#
# Keys are 64-bit fingerprints. They are shared out to files with their positions, so that equal keys are in the same file. Each file
# is read in pieces, which are sorted, and all but the first of each key are marked. The answer does not depend on the memory allowed.


_RECORD = np.dtype([("key", "<u8"), ("at", "<i8")])
_LEAST = 1 << 12  # records in memory at once, at least
_FILES = 61  # odd: keys of all kinds spread over them


class Repeats:
    """Collect keys in a folder, then say of each whether it occurred before.

    About `max_memory` bytes are used (and never less than 64 kB), and 17 bytes of disk a key.

    >>> from linnet.files import temporary_folder
    >>> with temporary_folder() as folder:
    ...     seen = Repeats(folder, max_memory=1 << 20)
    ...     seen.add(np.array([5, 7, 5], dtype=np.uint64))
    ...     seen.add(np.array([7, 9], dtype=np.uint64))
    ...     seen.marks().tolist()
    [False, False, True, True, False]
    """

    def __init__(self, folder: Path, max_memory: int = 1 << 28) -> None:
        self._room = max(_LEAST, max_memory // (4 * _RECORD.itemsize))  # a sort takes four times its input
        self._folder, self.n = folder, 0
        self._files = [(folder / f"keys-{k}").open("w+b") for k in range(_FILES)]

    def add(self, keys: Hashes) -> None:
        """Add keys to the end of the sequence."""
        records = np.empty(len(keys), dtype=_RECORD)
        part = keys % np.uint64(_FILES)
        order = np.argsort(part, kind="stable")
        records["key"], records["at"] = keys[order], order + self.n
        cuts = np.searchsorted(part[order], np.arange(_FILES + 1, dtype=np.uint64))
        for file, a, b in zip(self._files, cuts, cuts[1:], strict=False):
            file.write(records[a:b].tobytes())
        self.n += len(keys)

    def marks(self) -> Bools:
        """Return, for each key in order, whether an equal one came before; a map of a file, not memory."""
        out: Bools = np.memmap(self._folder / "marks", dtype=bool, mode="w+", shape=(max(1, self.n),))
        for file in self._files:
            file.seek(0)
            known = np.zeros(0, np.uint64)
            while len(records := np.fromfile(file, dtype=_RECORD, count=self._room)):
                order = np.argsort(records["key"], kind="stable")  # positions rise within a file
                key = records["key"][order]
                again = np.isin(key, known)
                again[1:] |= key[1:] == key[:-1]
                out[records["at"][order[again]]] = True
                known = np.union1d(known, key)
            file.close()
        return out[: self.n]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Documents of one source: the columns they came with, their texts as they are now, and their row numbers."""

    table: Any
    text_column: str
    rows: Ints
    source: str
    keys: Ints | None = None  # how many keys each document has, between two passes

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def texts(self) -> list[str]:
        """The texts."""
        return list(self.table.column(self.text_column).to_pylist())

    def take(self, keep: Sequence[int]) -> Chunk:
        """Return some of the documents."""
        where = np.asarray(keep, dtype=np.int64)
        return replace(self, table=self.table.take(integers(where)), rows=self.rows[where])

    def with_texts(self, texts: list[str]) -> Chunk:
        """Return the documents with new texts."""
        at = self.table.column_names.index(self.text_column)
        return replace(self, table=self.table.set_column(at, self.text_column, strings(texts)))


#: What duplicates are looked for, in the order in which they are.
DEDUP = {
    "exact": "documents that occurred before",
    "near": "documents that share most of their word shingles with one before",
    "spans": "sentences of three-sentence spans that occurred before",
}


def without(text: str, found: list[tuple[int, int]], hit: Any) -> tuple[str, int]:
    r"""Cut sentences out of a text; lines that lose all they had go, too. Returns the text and how many went.

    >>> without("One. Two.\nThree.\nFour.", [(0, 4), (5, 9), (10, 16), (17, 22)], [False, True, True, False])
    ('One.\nFour.', 1)
    """
    out, gone = [], 0
    for line in apply(text, [(*span, _GONE) for span, cut in zip(found, hit, strict=True) if cut]).split("\n"):
        left = " ".join(line.replace(_GONE, "").split()) if _GONE in line else line
        gone += not left and left != line
        out += [left] if left or left == line else []
    return "\n".join(out), gone


_UNASKED = {
    "unreadable": "rows that could not be parsed",
    "empty": "documents with nothing in them, or nothing left",
}

Write = Callable[[Any], None]
Tell = Callable[[str, int], None]


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
        self.dedup = tuple(kind for kind in DEDUP if kind in dedup)
        self.same, self.threshold, self.shingle = same, threshold, shingle
        self.bands = bands_for(threshold)
        self.max_memory, self.folder = max_memory, folder

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

        `tell` is called with the name of a stage, and how many documents it has seen since the last call.
        """
        work = _Work(self, removed, tell)
        chunks = work.first(batches)
        for kind in self.dedup:
            chunks = getattr(work, kind)(chunks)
        for chunk in chunks:
            work.report.kept_documents += len(chunk)
            work.report.kept_lines += sum(text.count("\n") + 1 for text in chunk.texts)
            work.report.kept_characters += sum(map(len, chunk.texts))
            write(chunk.table)
        if not work.report.kept_documents and work.columns is not None:
            write(work.columns)  # no rows, but their names and types
        return work.report


class _Work:
    """One run: its report, and the stages. Those that must see the whole corpus are named as kinds of duplicates are."""

    def __init__(self, plan: Corpus, removed: Write | None = None, tell: Tell | None = None) -> None:
        self.plan, self.removed = plan, removed
        self.tell = tell or (lambda stage, documents: None)
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
            bad, rows = batch.raw.malformed, np.arange(len(batch)) + batch.first_row
            texts = [bad[k].raw if k in bad else text for k, text in enumerate(batch.text.to_pylist())]
            chunk = Chunk(batch.table, batch.text_column, rows, batch.reader.source).with_texts(texts)
            if self.columns is None:
                self.columns = chunk.table.slice(0, 0)
            found = [self.document(text, k in bad) for k, text in enumerate(texts)]
            left = self.without(chunk, [why for _, why in found])
            self.tell("cleaning", len(chunk))
            if len(left):
                yield left.with_texts([text for text, why in found if why is None])

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
            report.tallies[name].sample(*samples)
        if page.removed_by is not None:
            report.tally(page.removed_by).documents += 1
            return "", page.removed_by
        return page.text, None

    def characters(self, text: str) -> str:
        """Apply the rules for characters, and count what they do."""
        found = self.plan.text.clean(text)
        after = [before for _, _, before in found.stages[1:]] + [found.text]
        for (name, edits, before), now in zip(found.stages, after, strict=False):
            tally = self.report.tallies[name]
            tally.documents += 1
            tally.places += len(edits)
            tally.line_change += now.count("\n") - before.count("\n")
            tally.sample(*(before[start:end] for start, end, _ in edits[:5]))
        return found.text

    def without(self, chunk: Chunk, reasons: Sequence[str | None]) -> Chunk:
        """Return the documents without a reason; hand the others on, with the rule that removed them, their source and row."""
        gone = [k for k, why in enumerate(reasons) if why is not None]
        if self.removed is not None and gone:
            part = chunk.take(gone)
            why, source = strings([reasons[k] for k in gone]), strings([chunk.source] * len(gone))
            columns: dict[str, Any] = {"removed_by": why, "source": source, "row": integers(part.rows)}
            for name, column in zip(part.table.column_names, part.table.columns, strict=True):
                columns[f"{name}_" if name in columns else name] = column
            self.removed(pa.table(columns))
        return chunk.take([k for k, why in enumerate(reasons) if why is None])

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
        pairs = zip(chunk.texts, np.asarray(marked).tolist(), strict=True)
        return self.without(chunk, [self.gone(kind, text)[1] if mark else None for text, mark in pairs])

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
        bands, rows = self.plan.bands
        parts = []

        def keys(chunk: Chunk) -> tuple[Any, Any]:
            found = Sketches.of(chunk.texts, bands * rows, self.plan.shingle)
            parts.append(found)
            return found.keys[:0], np.ones(len(chunk), dtype=np.int64)

        def marks() -> Bools:
            whole = Sketches.joined(parts, bands * rows)
            parts.clear()
            return repeats(whole.groups(self.plan.threshold - 1e-12, bands, rows))

        return self._twice(chunks, "near", keys, self.drop, marks)

    def _twice(
        self, chunks: Iterable[Chunk], kind: str, keys: Callable[[Chunk], tuple[Any, Any]],
        second: Callable[[Chunk, Any, str], Chunk], marks: Callable[[], Bools] | None = None,
    ) -> Iterator[Chunk]:  # fmt: skip
        """Collect the keys of all chunks, then go over the chunks again with the marks of their keys."""
        with temporary_folder(self.plan.folder) as folder, (folder / "chunks").open("w+b") as spool:
            seen, written = Repeats(folder, self.plan.max_memory), 0
            for chunk in chunks:
                found, counts = keys(chunk)
                seen.add(found)
                pickle.dump(replace(chunk, keys=counts), spool)
                written += 1
            marked, at = (marks or seen.marks)(), 0
            spool.seek(0)
            for _ in range(written):
                chunk = pickle.load(spool)  # noqa: S301 - written above
                size = int(np.sum(chunk.keys))
                left = second(chunk, np.array(marked[at : at + size]), kind)
                at += size
                self.tell(DEDUP[kind], len(chunk))
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
        return kept.with_texts([t for t, gone in zip(texts, empty.tolist(), strict=True) if not gone])

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
