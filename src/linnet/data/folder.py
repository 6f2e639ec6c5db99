"""A folder of class folders: `reviews/pos/1.txt`, `reviews/neg/2.txt`: the folder is the label, a file is a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from linnet.data.arrays import binaries, strings
from linnet.data.blocks import Block, Malformed, Rows, Wanted
from linnet.data.source import Source, foreign, looks_binary
from linnet.errors import DataError

__all__ = ["open_folder"]

_TEXTS = (".txt", ".txt.gz", ".txt.zst", ".txt.bz2")


def open_folder(folder: Path, wanted: Wanted) -> Rows:
    """Class folders in the order of their names, and their files likewise.

    Files that end in .txt (or .txt.gz, .txt.zst) are read; in a class folder without such files, all of them.
    """
    found = [(path, label.name) for label in sorted(folder.iterdir()) if _is_class(label) for path in _texts(label)]
    if not found:
        files = sorted(path.name for path in folder.iterdir() if path.is_file())
        hint = f"; did you mean one of its files ({', '.join(files[:3])})?" if files else ""
        raise DataError(f"{folder} is a folder without class folders (folder/LABEL/*.txt){hint}")

    def blocks(names: Sequence[str] | None) -> Iterator[Block]:
        batch: list[tuple[Path, str, bytes]] = []
        size = 0
        for path, label in found:
            batch.append((path, label, _content(path)))
            size += len(batch[-1][2])
            if size >= wanted.block_bytes or len(batch) >= wanted.block_rows:
                yield _block(folder, batch)
                batch, size = [], 0
        if batch:
            yield _block(folder, batch)

    return Rows(["label", "text"], blocks, how="one file a document, its folder is the label")


def _is_class(folder: Path) -> bool:
    return folder.is_dir() and not folder.name.startswith(".")


def _texts(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return [path for path in files if path.name.lower().endswith(_TEXTS)] or files


def _content(path: Path) -> bytes:
    with Source(path) as source:
        return source.read(1 << 62)


def _block(folder: Path, batch: list[tuple[Path, str, bytes]]) -> Block:
    malformed = {}
    texts: list[bytes] = []
    files = [str(path.relative_to(folder)) for path, _, _ in batch]
    for row, (_, _, data) in enumerate(batch):
        what = foreign(data) or ("not text" if looks_binary(data[:4096]) else None)
        if what:
            malformed[row] = Malformed("not a text file", what, files[row])
        texts.append(b"" if what else data)
    columns = {"label": strings(label for _, label, _ in batch), "text": binaries(texts)}
    chunked = {name: pa.chunked_array([column]) for name, column in columns.items()}
    return Block(chunked, len(batch), malformed, files=files)
