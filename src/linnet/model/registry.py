"""A folder of versions of a model: 1.linnet, 2.linnet and so on. A file `latest` in it may name the one in use.

Without `latest` it is the version with the highest number. To go back, write another name into it; a server that was given the
folder follows.
"""

from __future__ import annotations

import os
from pathlib import Path

from linnet.errors import ModelFileError, nearest

LATEST = "latest"


def version_in_use(path: str | os.PathLike[str]) -> Path:
    """Return the model file of a folder of versions; any other path as it is."""
    folder = Path(path)
    try:
        name = (folder / LATEST).read_text(encoding="utf-8", errors="replace").strip().removesuffix(".linnet")
    except (OSError, ValueError):  # ValueError: a zero byte in the name
        last = _last(folder)
        return folder / f"{last}.linnet" if last else folder
    found = folder / f"{name}.linnet"
    if not found.is_file() or found.parent != folder:
        raise ModelFileError(
            f"{folder / LATEST}: {nearest('version', name, [p.stem for p in folder.glob('*.linnet')])}"
        )
    return found


def next_version(folder: str | os.PathLike[str]) -> Path:
    """Return the name of the version after the last one."""
    return Path(folder) / f"{_last(Path(folder)) + 1}.linnet"


def _last(folder: Path) -> int:
    try:
        return max((int(path.stem) for path in folder.glob("*.linnet") if path.stem.isdecimal()), default=0)
    except (OSError, ValueError):
        return 0
