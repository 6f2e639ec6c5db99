"""Which files are meant: paths, patterns and folders become a list of shards, in a fixed order."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from linnet.data.formats import FORMATS
from linnet.errors import DataError

__all__ = ["find_shards", "size_of", "spool", "title"]

_PACKED = (".gz", ".gzip", ".zst", ".zstd", ".bz2")
_ENDINGS = tuple(ending for form in FORMATS.values() for ending in form.extensions)
CHUNK = 1 << 22


def find_shards(places: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the files behind paths, patterns ("crawl/*.parquet") and folders of shards, each once.

    Places stay in the order given; what a pattern or a folder holds comes in the order of names, folders inside folders
    too. Hidden files and files of unknown kinds in a folder are passed over. A folder of class folders
    (reviews/pos/1.txt) is one shard: itself.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.jsonl.gz", "a.parquet", "README"):
    ...         _ = Path(folder, name).write_text("")
    ...     [path.name for path in find_shards([folder])]
    ['a.parquet', 'b.jsonl.gz']
    """
    found: dict[Path, None] = {}
    for place in places:
        path = Path(place)
        if glob.has_magic(str(place)) and not path.exists():
            matches = sorted(glob.glob(str(place), recursive=True))  # noqa: PTH207 - absolute and relative patterns
            if not matches:
                raise DataError(f"no file is named like '{place}'; look for a typing error, or quote the pattern")
            for match in matches:
                found.update(dict.fromkeys(_expanded(Path(match))))
        else:
            found.update(dict.fromkeys(_expanded(path)))
    if not found:
        raise DataError("no files are given; name one at least")
    return list(found)


def _expanded(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    inside = [p for p in sorted(path.rglob("*")) if p.is_file() and not _hidden(p.relative_to(path)) and _is_data(p)]
    plain = all(p.name.lower().removesuffix(".gz").removesuffix(".zst").endswith((".txt", ".text")) for p in inside)
    nested = all(p.parent != path for p in inside)
    return (
        [path] if not inside or (plain and nested) else inside
    )  # class folders, or nothing to read: its reader says so


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _is_data(path: Path) -> bool:
    name = path.name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name.endswith(_ENDINGS)


def size_of(path: Path) -> int:
    """Return the bytes of a shard on disk; 0 where it is not there, which its reader will say."""
    if path.is_dir():
        return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    return path.stat().st_size if path.is_file() else 0


def title(shards: list[Path], places: Iterable[str | os.PathLike[str]]) -> str:
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
    from linnet.data.source import stdin  # the one place that knows what standard input may be

    path, stream = folder / "standard-input", stdin()
    with path.open("wb") as file:
        while block := stream.read(CHUNK):
            if shutil.disk_usage(folder).free < 16 * CHUNK:
                raise DataError(f"no room in {folder} for a copy of standard input; give --cache DIR on a larger disk")
            file.write(block)
    return path
