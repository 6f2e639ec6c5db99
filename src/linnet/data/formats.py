"""The registry of file formats: one row each, how a source finds its row, and which files are meant.

A new format is one file in `linnet.data.readers` with two functions (recognise it by its first bytes, open it) and one
row here. Then `read`, `stream`, training, prediction and `linnet filter` read it.

Which files are meant: paths, patterns and folders become a list of shards, in a fixed order.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from linnet.data.input_file import InputFile, ReadOptions, RecordReader, stdin
from linnet.draw.terminal import listed
from linnet.errors import DataError, nearest
from linnet.files import foreign, looks_binary, open_atomic, split_ending


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


def _is_fasttext(head: bytes) -> bool:
    """The first line that is not blank starts with a label."""
    return head.lstrip().startswith(b"__label__")


def _in(name: str) -> Callable[..., Any]:
    """A function of `linnet.data.readers`, "module.function", that is imported when it is called."""
    module, function = name.split(".")
    return lambda *args: getattr(import_module(f"linnet.data.readers.{module}"), function)(*args)


#: In the order in which a source without a telling name is tried.
FORMATS = {
    format.name: format
    for format in (
        Format("parquet", (".parquet", ".pq"), lambda head: head.startswith(b"PAR1"), _in("arrow.open_parquet"), magic=True),
        Format("arrow", (".arrow", ".feather", ".ipc", ".arrows"),
               lambda head: head.startswith((b"ARROW1", b"\xff\xff\xff\xff")) and len(head) >= 8, _in("arrow.open_arrow"), magic=True),
        Format("warc", (".warc", ".wet"), lambda head: head.startswith(b"WARC/"), _in("warc.open_warc"),
               magic=True, rewrite=_in("warc.rewrite_records"), members=True),
        Format("json", (".json",), _in("jsonlines.sniff_json"), _in("jsonlines.open_json")),
        Format("jsonl", (".jsonl", ".ndjson", ".jsonlines"), lambda head: head.lstrip().startswith(b"{"), _in("jsonlines.open_json"),
               rewrite=_in("jsonlines.rewrite_lines")),
        Format("fasttext", (".ft", ".fasttext"), _is_fasttext, _in("lines.open_fasttext")),
        Format("vw", (".vw",), _in("lines.sniff_vw"), _in("lines.open_vw")),
        Format("tsv", (".tsv", ".tab"), _in("delimited.sniff_tsv"), _in("delimited.open_tsv")),
        Format("csv", (".csv",), _in("delimited.sniff_csv"), _in("delimited.open_csv")),
        Format("text", (".txt", ".text"), lambda head: True, _in("lines.open_text")),
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
    if named == "text" and _is_fasttext(head):
        return FORMATS["fasttext"]
    if named is not None:
        return FORMATS[named]
    return next(format for format in FORMATS.values() if format.sniff(head))


@contextlib.contextmanager
def open_file(place: str | os.PathLike[str], format: str | None, options: ReadOptions) -> Iterator[RecordReader]:
    """Open a file, a folder or standard input ("-")."""
    known = [*FORMATS, "folder"]
    if format is not None and format not in known:
        raise DataError(nearest("format", format, known))
    if place != "-" and Path(place).is_dir():
        yield _in("lines.open_folder")(Path(place), options)
        return
    if format == "folder":
        raise DataError(f"{place} is not a folder")
    with InputFile(place, live=options.streaming) as file:
        head = file.peek()
        if format is None and _in("delimited.is_header_alone")(head):  # of a live source: what follows says more
            head = file.wait()
        chosen = FORMATS[format] if format else find_format(file.name, head)
        if not chosen.magic and foreign(head):
            raise DataError(f"{file.name} is not a data file but {foreign(head)}; if it holds texts, export it as CSV")
        if not chosen.magic and looks_binary(head):
            raise DataError(f"{file.name} is not text: it looks like a binary file; {_KNOWN}")
        with explained(file.name, head, chosen):
            reader = chosen.open(file, options)
            reader.source, reader.format = file.name, chosen.name
            reader.encoding, reader.codec = file.encoding, file.compression
            yield reader


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


CHUNK = 1 << 22
_LOOSE = ("json", "text")  # formats of readmes, licences and manifests, too

Places = Iterable[str | os.PathLike[str]]


def find_shards(places: Places) -> list[Path]:
    """Return the files behind paths, patterns ("crawl/*.parquet") and folders of shards, each once.

    Places stay in the order given; what a pattern or a folder holds comes in the order of names, folders inside folders
    too. Hidden files and files of unknown kinds in a folder are passed over. A folder of class folders
    (reviews/pos/1.txt) is one shard: itself. "-", standard input, stays as it is.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.jsonl.gz", "a.parquet", "README"):
    ...         _ = Path(folder, name).write_text("")
    ...     [path.name for path in find_shards([folder])]
    ['a.parquet', 'b.jsonl.gz']
    """
    return list(named_shards(places))


def named_shards(places: Places, *, loose: bool = True) -> dict[Path, str]:
    """Return the same files, each with a name: its own, with the folders below a folder that was given.

    Where two names would be the same, all start at the folder that the files share. Without `loose`, files that end in
    .json, .txt or .text are not taken from folders.
    """
    found: dict[Path, str] = {}
    seen: set[str] = set()
    for place in places:
        path = Path(place)
        paths = [path]
        if glob.has_magic(str(place)) and not path.exists():
            paths = [Path(match) for match in sorted(glob.glob(str(place), recursive=True))]  # noqa: PTH207
            if not paths:
                raise DataError(f"no file is named like '{place}'; look for a typing error, or quote the pattern")
        for top in paths:
            for shard in _expanded(top, loose):
                place_on_disk = os.path.realpath(shard)  # a link to itself is no error here
                if place_on_disk not in seen:
                    seen.add(place_on_disk)
                    found[shard] = shard.name if shard == top else shard.relative_to(top).as_posix()
    if not found:
        raise DataError("no files are given; name one at least")
    if len(set(found.values())) < len(found):
        root = os.path.commonpath([path.resolve().parent for path in found])
        found = {path: path.resolve().relative_to(root).as_posix() for path in found}
    return found


def _expanded(path: Path, loose: bool) -> list[Path]:
    if not path.is_dir():
        return [path]
    below = [p for p in sorted(path.rglob("*")) if p.is_file() and not _hidden(p.relative_to(path))]
    formats = {p: format_by_ending(p) for p in below}
    inside = [p for p, format in formats.items() if format and (loose or format not in _LOOSE)]
    classes = all(formats[p] == "text" and p.parent != path for p in inside)
    return [path] if classes else inside  # class folders, or nothing to read: its reader says so


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def size_of(path: Path) -> int:
    """Return the bytes of a shard on disk; 0 where it is not there, which its reader will say."""
    if path.is_dir():
        return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    return path.stat().st_size if path.is_file() else 0


def title(shards: list[Path], places: Places) -> str:
    """Return the name of the data for messages and for the card.

    >>> title([Path("a.csv")], ["a.csv"]), title([Path("d/a.csv"), Path("d/b.csv")], ["d"])
    ('a.csv', 'd (2 files)')
    """
    given = (str(place).rstrip("/") or "/" for place in places)
    return str(shards[0]) if len(shards) == 1 else f"{listed(given, 1)} ({len(shards):,} files)"


def spool(folder: Path) -> Path:
    """Copy standard input to a file, because it is read more than once."""
    with open_atomic(folder / "standard-input") as file:
        shutil.copyfileobj(stdin(), file, CHUNK)
    return folder / "standard-input"
