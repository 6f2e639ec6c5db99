"""Which files are meant: paths, patterns and folders become a list of shards, in a fixed order."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from linnet.data.formats import format_by_ending
from linnet.data.input_file import stdin
from linnet.errors import DataError

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
    given = [str(place).rstrip("/") or "/" for place in places]
    if len(shards) == 1:
        return str(shards[0])
    return f"{given[0]}{f' and {len(given) - 1} more' if len(given) > 1 else ''} ({len(shards):,} files)"


def spool(folder: Path) -> Path:
    """Copy standard input to a file, because it is read more than once; stops before the disk is full."""
    path, stream = folder / "standard-input", stdin()
    with path.open("wb") as file:
        while block := stream.read(CHUNK):
            if shutil.disk_usage(folder).free < 16 * CHUNK:
                raise DataError(f"no room in {folder} for a copy of standard input; give --cache DIR on a larger disk")
            file.write(block)
    return path
