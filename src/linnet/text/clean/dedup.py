"""Duplicates in a stream of chunks: two passes each, with the documents on disk in between.

Batches on their way: kept on disk between two passes over a corpus, so that memory stays small and pipes work.

Which keys of a long sequence occurred before, in bounded memory: the sequence may be larger than memory.

Keys are 64-bit fingerprints. They are written to disk with their positions, parted by their leading bits into files,
so that equal keys are in the same file; a file that is still too large is parted by the next bits. Each file is then
sorted in memory, and all but the first of each key are marked. The answer does not depend on the memory allowed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linnet.data.arrays import integers, strings
from linnet.files import temporary_folder
from linnet.text.clean.report import CleaningReport
from linnet.text.duplicates import Sketches, bands_for, repeats, same_keys, sentences, span_keys

_RECORD = np.dtype([("key", "<u8"), ("at", "<i8")])
_BITS = 5  # 32 files a level
_LEAST = 1 << 12  # records in memory at once, at least


class Repeats:
    """Collect keys, then say of each whether it occurred before.

    About `max_memory` bytes are used (and never less than 64 kB), and 17 bytes of disk a key.

    >>> with Repeats(max_memory=1 << 20) as seen:
    ...     seen.add(np.array([5, 7, 5], dtype=np.uint64))
    ...     seen.add(np.array([7, 9], dtype=np.uint64))
    ...     seen.marks().tolist()
    [False, False, True, True, False]
    """

    def __init__(self, max_memory: int = 1 << 28, folder: str | None = None) -> None:
        self._room = max(_LEAST, max_memory // (4 * _RECORD.itemsize))  # a sort takes four times its input
        self._stack = contextlib.ExitStack()
        self._folder = self._stack.enter_context(temporary_folder(folder))
        self._whole = Path(self._folder, "keys")
        self._sink = self._whole.open("wb")
        self.n = 0

    def __enter__(self) -> Repeats:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the files."""
        self._sink.close()
        self._stack.close()

    def add(self, keys: npt.NDArray[np.uint64]) -> None:
        """Add keys to the end of the sequence."""
        records = np.empty(len(keys), dtype=_RECORD)
        records["key"] = keys
        records["at"] = np.arange(self.n, self.n + len(keys))
        self._sink.write(records.tobytes())
        self.n += len(keys)

    def marks(self) -> npt.NDArray[np.bool_]:
        """Return, for each key in order, whether an equal one came before; a map of a file, not memory."""
        self._sink.close()
        if self.n == 0:
            return np.zeros(0, dtype=bool)
        out: npt.NDArray[np.bool_] = np.memmap(Path(self._folder, "marks"), dtype=bool, mode="w+", shape=(self.n,))
        self._mark(self._whole, 0, out)
        return out

    def _mark(self, file: Path, level: int, out: npt.NDArray[np.bool_]) -> None:
        if file.stat().st_size <= self._room * _RECORD.itemsize:
            records = np.fromfile(file, dtype=_RECORD)
            order = np.argsort(records["key"], kind="stable")  # positions rise within a file
            key = records["key"][order]
            out[records["at"][order[1:][key[1:] == key[:-1]]]] = True
        elif level * _BITS >= 64:  # all bits are used up: all keys are equal
            for number, records in enumerate(self._pieces(file)):
                out[records["at"][1 if number == 0 else 0 :]] = True
        else:
            for part in self._parted(file, level):
                self._mark(part, level + 1, out)
        file.unlink()

    def _parted(self, file: Path, level: int) -> list[Path]:
        """Share the records of a file out by the next bits of their keys."""
        shift, used = np.uint64(max(0, 64 - _BITS * (level + 1))), (1 << _BITS) - 1
        paths = [file.with_name(f"{file.name}-{part:02d}") for part in range(used + 1)]
        sinks = [path.open("wb") for path in paths]
        try:
            for records in self._pieces(file):
                part = (records["key"] >> shift) & np.uint64(used)
                order = np.argsort(part, kind="stable")
                cuts = np.searchsorted(part[order], np.arange(used + 2, dtype=np.uint64))
                for k, sink in enumerate(sinks):
                    sink.write(records[order[cuts[k] : cuts[k + 1]]].tobytes())
        finally:
            for sink in sinks:
                sink.close()
        return paths

    def _pieces(self, file: Path) -> Iterator[npt.NDArray[np.void]]:
        with file.open("rb") as source:
            while len(records := np.fromfile(source, dtype=_RECORD, count=self._room)):
                yield records


_ROW, _KEYS = "linnet row", "linnet keys"


@dataclass(frozen=True, eq=False)
class Chunk:
    """Documents of one source: their texts as they are now, the columns they came with, and their row numbers."""

    texts: list[str]
    table: Any  # with the text column as it came
    text_column: str
    rows: npt.NDArray[np.int64]
    source: str
    keys: npt.NDArray[np.int64] | None = None  # how many keys each document has, between two passes

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, keep: Sequence[int], texts: list[str] | None = None) -> Chunk:
        """Return some of the documents, with new texts where they are given."""
        if len(keep) == len(self) and texts is None:
            return self
        where = np.asarray(keep, dtype=np.int64)
        texts = [self.texts[k] for k in keep] if texts is None else texts
        return Chunk(texts, self.table.take(integers(where)), self.text_column, self.rows[where], self.source)

    def to_table(self) -> Any:
        """Return the columns with the texts as they are now."""
        at = self.table.column_names.index(self.text_column)
        return self.table.set_column(at, self.text_column, strings(self.texts))


class Spool:
    """A file of chunks that is written once and read once, and then is gone.

    >>> chunk = Chunk(["new"], pa.table({"id": integers(np.array([7])), "text": strings(["old"])}), "text", np.array([3]), "-")
    >>> with Spool() as spool:
    ...     spool.write(chunk)
    ...     [(c.texts, c.table.column("id").to_pylist(), c.rows.tolist()) for c in spool.read()]
    [(['new'], [7], [3])]
    """

    def __init__(self, folder: str | None = None) -> None:
        self._stack = contextlib.ExitStack()
        self._folder = self._stack.enter_context(temporary_folder(folder))
        self._path = Path(self._folder, "chunks")
        self._sink: Any = pa.OSFile(str(self._path), "wb")

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sink.close()
        self._stack.close()

    def write(self, chunk: Chunk) -> None:
        """Add a chunk; each is an Arrow stream of its own, for columns may change from one to the next."""
        table = chunk.to_table().append_column(_ROW, integers(chunk.rows))
        if chunk.keys is not None:
            table = table.append_column(_KEYS, integers(chunk.keys))
        table = table.replace_schema_metadata({"text": chunk.text_column, "source": chunk.source})
        with pa.ipc.new_stream(self._sink, table.schema) as stream:
            stream.write_table(table)

    def read(self) -> Iterator[Chunk]:
        """Read the chunks in the order in which they were written."""
        self._sink.close()
        with pa.OSFile(str(self._path), "rb") as file:
            while file.tell() < file.size():
                table = pa.ipc.open_stream(file).read_all()
                about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
                own = [name for name in (_ROW, _KEYS) if name in table.column_names]
                counts = [np.array(table.column(name).to_pylist(), dtype=np.int64) for name in own]
                table = table.drop_columns(own).replace_schema_metadata(None)
                texts = table.column(about["text"]).to_pylist()
                yield Chunk(texts, table, about["text"], counts[0], about["source"], counts[1] if counts[1:] else None)


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
