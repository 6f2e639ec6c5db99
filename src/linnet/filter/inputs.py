"""The shards of a run: files, folders and patterns in; each with the name that its output will have."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from linnet.data.formats import FORMATS, find_format, format_by_ending, open_file
from linnet.data.input_file import InputFile
from linnet.data.reader import ReadOptions
from linnet.data.shards import named_shards, size_of
from linnet.errors import LinnetError, nearest
from linnet.filter.shard_writer import keeps_format

__all__ = ["Shard", "filter_shards"]


@dataclass(frozen=True)
class Shard:
    """One input file: where it is, what its output is called, its size and its format."""

    path: str
    name: str
    size: int
    format: str


def filter_shards(inputs: Iterable[str | os.PathLike[str]], format: str | None = None) -> list[Shard]:
    """Find the shards of some inputs, in the order of their names (see `linnet.data.shards`).

    Output has the name of the shard; where its format cannot be written, NAME.jsonl.
    """
    if format is not None and format not in FORMATS:
        raise LinnetError(nearest("format", format, FORMATS))
    found = named_shards(inputs, loose=False)
    shards = []
    for path, name in found.items():
        kind = _format_of(path, format)
        shown = name if keeps_format(kind) else f"{name}.jsonl"
        shards.append(Shard(str(path.resolve()), shown, size_of(path), kind))
    return sorted(shards, key=lambda shard: shard.name)


def _format_of(path: Path, format: str | None) -> str:
    if str(path) == "-":
        raise LinnetError("standard input cannot be filtered, because it can be read only once; write it to a file")
    if path.is_dir():
        with open_file(path, None, ReadOptions()):  # a folder without class folders is refused
            return "folder"
    if not path.exists():
        InputFile(path)  # says which file was meant
    if format or format_by_ending(path):
        return format or format_by_ending(path) or ""
    with InputFile(path) as file:
        return find_format(file.name, file.peek()).name
