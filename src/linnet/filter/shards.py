"""Which shards there are: files, folders and globs in; each with the name that its output will have."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from linnet.errors import DataError
from linnet.filter.forms import FORMS, form_of

__all__ = ["Shard", "find_shards"]


@dataclass(frozen=True)
class Shard:
    """One input file: where it is, what its output is called, its size and its form."""

    path: str
    name: str
    size: int
    form: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def find_shards(inputs: Iterable[str | os.PathLike[str]], form: str | None = None) -> list[Shard]:
    """Find the files of some inputs, in the order of their names.

    A folder gives every file below it whose ending is known; a name with `*` or `?` every file that matches. Output
    names are those of the files, with the folders below a folder that was given. Where two would be the same, names
    start at the folder that all inputs share.
    """
    found: dict[str, str] = {}  # absolute path -> name
    for given in inputs:
        text = os.fspath(given)
        place = Path(text)
        if place.is_dir():
            below = [path for path in sorted(place.rglob("*")) if path.is_file() and _known(path, place)]
            if not below:
                raise DataError(f"{text}: no file below it ends in {', '.join(_endings())}")
            found.update({str(path.resolve()): path.relative_to(place).as_posix() for path in below})
        elif place.exists():
            found[str(place.resolve())] = place.name
        else:
            matches = sorted(glob.glob(text, recursive=True)) if any(sign in text for sign in "*?[") else []  # noqa: PTH207
            files = [Path(match) for match in matches if Path(match).is_file()]
            if not files:
                raise DataError(f"no file '{text}'; give files, folders or a pattern such as 'crawl/*.parquet'")
            found.update({str(path.resolve()): path.name for path in files})
    if not found:
        raise DataError("no input; give files, folders or a pattern such as 'crawl/*.parquet'")
    if max(Counter(found.values()).values()) > 1:
        root = os.path.commonpath([str(Path(path).parent) for path in found])
        found = {path: Path(path).relative_to(root).as_posix() for path in found}
    shards = [Shard(path, name, Path(path).stat().st_size, form or form_of(path)) for path, name in found.items()]
    return sorted(shards, key=lambda shard: shard.name)


def _known(path: Path, root: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.relative_to(root).parts)
    return not hidden and form_of(path.name, none=True) is not None


def _endings() -> list[str]:
    return [ending for form in FORMS.values() for ending in form.endings]
