"""Batches on their way: kept on disk between two passes over a corpus, so that memory stays small and pipes work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linnet.data.arrays import integers, strings
from linnet.files import temporary_folder

__all__ = ["Chunk", "Spool"]

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
