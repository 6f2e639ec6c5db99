"""The registry of file formats: one row each, and how a source finds its row."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from linnet.data import delimited, folder, jsonlines, lines, tables, warc
from linnet.data.blocks import Rows, Wanted
from linnet.data.source import Source, foreign, looks_binary
from linnet.errors import DataError, nearest

__all__ = ["FORMATS", "Format", "find_format", "open_file"]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its name, the endings of its files, how to tell it from the first bytes, how to open it.

    A `magic` format is told beyond doubt by its first bytes, whatever the file is called.
    """

    name: str
    extensions: tuple[str, ...]
    sniff: Callable[[bytes], bool]
    open: Callable[[Source, Wanted], Rows]
    magic: bool = False


#: In the order in which a source without a telling name is tried.
FORMATS = {
    format.name: format
    for format in (
        Format("parquet", (".parquet", ".pq"), tables.sniff_parquet, tables.open_parquet, magic=True),
        Format("arrow", (".arrow", ".feather", ".ipc", ".arrows"), tables.sniff_arrow, tables.open_arrow, magic=True),
        Format("warc", (".warc", ".wet"), warc.sniff_warc, warc.open_warc, magic=True),
        Format("json", (".json",), jsonlines.sniff_json, jsonlines.open_json),
        Format("jsonl", (".jsonl", ".ndjson", ".jsonlines"), jsonlines.sniff_jsonl, jsonlines.open_jsonl),
        Format("fasttext", (".ft", ".fasttext"), lines.sniff_fasttext, lines.open_fasttext),
        Format("tsv", (".tsv", ".tab"), delimited.sniff_tsv, delimited.open_tsv),
        Format("csv", (".csv",), delimited.sniff_csv, delimited.open_csv),
        Format("text", (".txt", ".text"), lambda head: True, lines.open_text),
    )
}
_PACKED = (".gz", ".gzip", ".zst", ".zstd", ".bz2")


def find_format(name: str, head: bytes) -> Format:
    r"""The format of a source, by its name if that says so, else by its first bytes.

    >>> find_format("reviews.CSV.gz", b"").name, find_format("-", b'{"text": "good"}\n').name
    ('csv', 'jsonl')
    >>> find_format("reviews.txt", b"__label__pos good\n").name, find_format("reviews.txt", b"good\n").name
    ('fasttext', 'text')
    """
    for format in FORMATS.values():
        if format.magic and format.sniff(head):
            return format
    ending = _ending(name)
    if ending in FORMATS["text"].extensions and lines.sniff_fasttext(head):
        return FORMATS["fasttext"]
    named = [format for format in FORMATS.values() if ending in format.extensions]
    if named:
        return named[0]
    return next(format for format in FORMATS.values() if format.sniff(head))


def _ending(name: str) -> str:
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix in _PACKED else path.suffix


@contextlib.contextmanager
def open_file(place: str | os.PathLike[str], format: str | None, wanted: Wanted) -> Iterator[tuple[Rows, str, str]]:
    """Open a file, a folder or standard input: its rows, its name for messages, its encoding."""
    known = [*FORMATS, "folder"]
    if format is not None and format not in known:
        raise DataError(nearest("format", format, known))
    if place != "-" and Path(place).is_dir():
        yield folder.open_folder(Path(place), wanted), str(place), "utf-8"
        return
    if format == "folder":
        raise DataError(f"{place} is not a folder")
    with Source(place) as source:
        head = source.peek()
        chosen = FORMATS[format] if format else find_format(source.name, head)
        if not chosen.magic:
            _refuse_binary(source.name, head)
        with explained(source.name, head, chosen):
            yield chosen.open(source, wanted), source.name, source.encoding


def _refuse_binary(name: str, head: bytes) -> None:
    what = foreign(head)
    if what:
        raise DataError(f"{name} is not a data file but {what}")
    if looks_binary(head):
        raise DataError(f"{name} is not text: it looks like a binary file; {_KNOWN}")


_KNOWN = f"linnet reads {', '.join(FORMATS)} and folders of class folders"


@contextlib.contextmanager
def explained(name: str, head: bytes, format: Format) -> Iterator[None]:
    """Turn a parser's complaint into one line that names the file."""
    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        if format.magic and not format.sniff(head):
            raise DataError(f"{name} is not in {format.name} format; name its format if the name misleads") from error
        raise DataError(f"{name} is damaged or cut short: {reason}; fetch or write it again") from error
