"""The local cache of data sets from the hub: one Parquet file a part and a manifest with checksums, written at the end.

It is in LINNET_CACHE, else in XDG_CACHE_HOME/linnet, else in ~/.cache/linnet.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linnet.datasets.catalogue import DatasetFiles
from linnet.errors import DataError
from linnet.files import OutputError, digest, temporary_folder

__all__ = ["cached", "home", "store"]

MANIFEST = "manifest.json"
VERSION = 1


def home() -> Path:
    """Return the folder of the cache."""
    given = os.environ.get("LINNET_CACHE")
    if given:
        return Path(given) / "datasets"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "linnet" / "datasets"


def cached(key: str) -> DatasetFiles | None:
    """Return what the cache has under a key, its checksums compared; None where it has nothing."""
    place = home() / key
    if not (place / MANIFEST).is_file():
        return None
    try:
        found: dict[str, Any] = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        if found["linnet_data"] != VERSION:
            return None
        files = {part: place / str(one["file"]) for part, one in found["parts"].items()}
        for part, path in files.items():
            if digest(path) != found["parts"][part]["sha256"]:
                raise DataError(
                    f"{path} is not what was fetched: its checksum differs; remove {place} to fetch it again"
                )
        note = f"from the hub: {found['repo']} at {str(found['revision'])[:10]}"
        return DatasetFiles(files, str(found["licence"]), (note,))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{place / MANIFEST} cannot be read ({error}); remove {place} to fetch it again") from error


def store(key: str, fill: Callable[[Path], tuple[dict[str, Path], dict[str, Any]]]) -> DatasetFiles:
    """Let fill write the files of the parts into a folder and say what they are, then put it in place at once."""
    place, stack = home() / key, contextlib.ExitStack()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        waiting = stack.enter_context(temporary_folder(place.parent))
    except (OSError, OutputError) as error:
        reason = getattr(error.__cause__ or error, "strerror", error)
        raise DataError(f"cannot write to the cache {home()}: {reason}; set LINNET_CACHE") from None
    with stack:
        staging = waiting / "data"
        staging.mkdir()
        files, about = fill(staging)
        parts = {part: {"file": path.name, "sha256": digest(path)} for part, path in files.items()}
        content = {"linnet_data": VERSION, **about, "parts": parts}
        (staging / MANIFEST).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        if place.exists():
            shutil.rmtree(place)
        staging.replace(place)
    found = cached(key)
    if found is None:
        raise DataError(f"the cache {place} was changed by another program; try again")
    return found
