"""A folder of class folders: `reviews/pos/1.txt`, `reviews/neg/2.txt`: the folder is the label, a file is a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from linnet.data.arrays import binaries, strings
from linnet.data.input_file import (
    InputFile,
    Malformed,
    RawBatch,
    ReadOptions,
    RecordReader,
    foreign,
    grouped,
    looks_binary,
)
from linnet.errors import DataError
from linnet.files import split_ending


def open_folder(folder: Path, options: ReadOptions) -> RecordReader:
    """Class folders in the order of their names, and their files likewise.

    Files that end in .txt (or .txt.gz, .txt.zst) are read; in a class folder without such files, all of them.
    """
    found = [(path, label.name) for label in sorted(folder.iterdir()) if _is_class(label) for path in _texts(label)]
    if not found:
        files = sorted(path.name for path in folder.iterdir() if path.is_file())
        hint = f"; did you mean one of its files ({', '.join(files[:3])})?" if files else ""
        raise DataError(f"{folder} is a folder without class folders (folder/LABEL/*.txt){hint}")

    def batches(names: Sequence[str] | None) -> Iterator[RawBatch]:
        read = ((path, label, _content(path)) for path, label in found)
        for files in grouped(((item, len(item[2])) for item in read), options):
            yield _batch(folder, files)

    how = "one file a document, its folder is the label"
    return RecordReader(["label", "text"], batches, how=how, source=str(folder), format="folder")


def _is_class(folder: Path) -> bool:
    return folder.is_dir() and not folder.name.startswith(".")


def _texts(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return [path for path in files if split_ending(path)[0] == ".txt"] or files


def _content(path: Path) -> bytes:
    with InputFile(path) as file:
        return file.read(1 << 62)


def _batch(folder: Path, found: list[tuple[Path, str, bytes]]) -> RawBatch:
    malformed = {}
    texts: list[bytes] = []
    files = [str(path.relative_to(folder)) for path, _, _ in found]
    for row, (_, _, data) in enumerate(found):
        what = foreign(data) or ("not text" if looks_binary(data[:4096]) else None)
        if what:
            malformed[row] = Malformed("not a text file", what, files[row])
        texts.append(b"" if what else data)
    columns = {"label": strings(label for _, label, _ in found), "text": binaries(texts)}
    chunked = {name: pa.chunked_array([column]) for name, column in columns.items()}
    return RawBatch(chunked, len(found), malformed, files=files)
