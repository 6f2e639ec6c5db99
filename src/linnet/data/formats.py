"""The registry of file formats: one row each, and how a source finds its row.

A new format is one file in `linnet.data.readers` with two functions (recognise it by its first bytes, open it) and one
row here. Then `read`, `stream`, training, prediction and `linnet filter` read it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from linnet.data.input_file import InputFile, foreign, looks_binary
from linnet.data.reader import ReadOptions, RecordReader
from linnet.data.readers import arrow, delimited, folder, jsonlines, lines, vowpal_wabbit, warc
from linnet.errors import DataError, nearest
from linnet.files import split_ending


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its name, the endings of its files, how to tell it from the first bytes, how to open it.

    A `magic` format is told beyond doubt by its first bytes, whatever the file is called. `rewrite` gives rows of a batch
    as they came, with fields added; where it is None, rows are written from their columns (see `linnet.data.writers`).
    Where `members` is true, each record of a gz file is a gzip member of its own.
    """

    name: str
    extensions: tuple[str, ...]
    sniff: Callable[[bytes], bool]
    open: Callable[[InputFile, ReadOptions], RecordReader]
    magic: bool = False
    rewrite: Callable[..., Iterator[bytes]] | None = None
    members: bool = False


#: In the order in which a source without a telling name is tried.
FORMATS = {
    format.name: format
    for format in (
        Format("parquet", (".parquet", ".pq"), arrow.sniff_parquet, arrow.open_parquet, magic=True),
        Format("arrow", (".arrow", ".feather", ".ipc", ".arrows"), arrow.sniff_arrow, arrow.open_arrow, magic=True),
        Format("warc", (".warc", ".wet"), warc.sniff_warc, warc.open_warc, True, warc.rewrite_records, members=True),
        Format("json", (".json",), jsonlines.sniff_json, jsonlines.open_json),
        Format("jsonl", (".jsonl", ".ndjson", ".jsonlines"), jsonlines.sniff_jsonl, jsonlines.open_jsonl,
               rewrite=jsonlines.rewrite_lines),
        Format("fasttext", (".ft", ".fasttext"), lines.sniff_fasttext, lines.open_fasttext),
        Format("vw", (".vw",), vowpal_wabbit.sniff_vw, vowpal_wabbit.open_vw),
        Format("tsv", (".tsv", ".tab"), delimited.sniff_tsv, delimited.open_tsv),
        Format("csv", (".csv",), delimited.sniff_csv, delimited.open_csv),
        Format("text", (".txt", ".text"), lambda head: True, lines.open_text),
    )
}  # fmt: skip


def format_by_ending(name: str | os.PathLike[str]) -> str | None:
    """Return the name of the format that the ending of a file stands for; None where it says nothing.

    >>> format_by_ending("part-0001.jsonl.zst"), format_by_ending("CC-MAIN-00000.warc.wet.gz"), format_by_ending("notes")
    ('jsonl', 'warc', None)
    """
    ending, _ = split_ending(name)
    return next((format.name for format in FORMATS.values() if ending in format.extensions), None)


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
    named = format_by_ending(name)
    if named == "text" and lines.sniff_fasttext(head):
        return FORMATS["fasttext"]
    if named is not None:
        return FORMATS[named]
    return next(format for format in FORMATS.values() if format.sniff(head))


@contextlib.contextmanager
def open_file(
    place: str | os.PathLike[str], format: str | None, options: ReadOptions
) -> Iterator[RecordReader]:  # fmt: skip
    """Open a file, a folder or standard input ("-")."""
    known = [*FORMATS, "folder"]
    if format is not None and format not in known:
        raise DataError(nearest("format", format, known))
    if place != "-" and Path(place).is_dir():
        yield folder.open_folder(Path(place), options)
        return
    if format == "folder":
        raise DataError(f"{place} is not a folder")
    with InputFile(place, live=options.streaming) as file:
        head = file.peek()
        if format is None and delimited.is_header_alone(head):  # of a live source: what follows says more
            head = file.wait()
        chosen = FORMATS[format] if format else find_format(file.name, head)
        if not chosen.magic:
            _refuse_binary(file.name, head)
        with explained(file.name, head, chosen):
            reader = chosen.open(file, options)
            reader.source, reader.encoding, reader.codec, reader.format = (
                file.name, file.encoding, file.compression, chosen.name,
            )  # fmt: skip
            yield reader


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
