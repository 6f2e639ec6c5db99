"""Duplicates in a stream of chunks: two passes each, with the documents on disk in between.

Batches on their way: kept on disk between two passes over a corpus, so that memory stays small and pipes work.

Which keys of a long sequence occurred before, in bounded memory: the sequence may be larger than memory.

Keys are 64-bit fingerprints. They are written to disk with their positions, then shared out to files, so that equal keys are in
the same file. Each file is read in pieces, which are sorted, and all but the first of each key are marked. The answer does not
depend on the memory allowed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linnet.data.arrays import integers, strings

_RECORD = np.dtype([("key", "<u8"), ("at", "<i8")])
_LEAST = 1 << 12  # records in memory at once, at least
_MOST_FILES = 255


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
        self._sink = (folder / "keys").open("wb")

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
        out: npt.NDArray[np.bool_] = np.memmap(self._folder / "marks", dtype=bool, mode="w+", shape=(self.n,))
        for file in self._parted():
            known = np.zeros(0, np.uint64)
            for records in self._pieces(file):
                order = np.argsort(records["key"], kind="stable")  # positions rise within a file
                key = records["key"][order]
                again = np.isin(key, known)
                again[1:] |= key[1:] == key[:-1]
                out[records["at"][order[again]]] = True
                known = np.union1d(known, key)
        return out

    def _parted(self) -> Iterator[Path]:
        """Share the records out to files, so that those of a file fit into memory where keys differ."""
        whole, n = self._folder / "keys", min(_MOST_FILES, -(-self.n // self._room) | 1)
        if n == 1:
            yield whole
            return
        with contextlib.ExitStack() as stack:
            sinks = [stack.enter_context((self._folder / f"keys-{k}").open("wb")) for k in range(n)]
            for records in self._pieces(whole):
                part = records["key"] % np.uint64(n)
                order = np.argsort(part, kind="stable")
                cuts = np.searchsorted(part[order], np.arange(n + 1, dtype=np.uint64))
                for sink, a, b in zip(sinks, cuts, cuts[1:], strict=False):
                    sink.write(records[order[a:b]].tobytes())
        whole.unlink()
        for sink in sinks:
            yield Path(sink.name)

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
    """A file of chunks in a folder, which is written once and read once.

    >>> chunk = Chunk(["new"], pa.table({"id": integers(np.array([7])), "text": strings(["old"])}), "text", np.array([3]), "-")
    >>> from linnet.files import temporary_folder
    >>> with temporary_folder() as folder:
    ...     spool = Spool(folder)
    ...     spool.write(chunk)
    ...     [(c.texts, c.table.column("id").to_pylist(), c.rows.tolist()) for c in spool.read()]
    [(['new'], [7], [3])]
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "chunks"
        self._sink: Any = pa.OSFile(str(self._path), "wb")

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


def without(text: str, found: list[tuple[int, int]], hit: Any) -> tuple[str, int]:
    r"""Cut sentences out of a text; lines that lose all they had go, too. Returns the text and how many went.

    >>> without("One. Two.\nThree.\nFour.", [(0, 4), (5, 9), (10, 16), (17, 22)], [False, True, True, False])
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
