"""A data set by its name: from a local mirror, else from the cache, else from the hub.

``hub:ag_news`` is its training part, ``hub:ag_news:test`` its test part; ``hub:owner/name`` any public data set of the hub,
``hub:owner/name@config:test`` one of its tables.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from linnet.data import Dataset, read
from linnet.datasets import mirror
from linnet.datasets.cache import cached, store
from linnet.datasets.catalogue import CATALOGUE, CatalogueEntry, DatasetFiles
from linnet.errors import DataError, nearest

__all__ = ["PREFIX", "official", "part_path", "read_named", "resolve"]

PREFIX = "hub:"
ORDER = ("train", "dev", "test")


def split_name(source: str) -> tuple[str, str | None, str]:
    """Return name, config and part.

    >>> split_name("hub:ag_news"), split_name("hub:owner/name@plain:test")
    (('ag_news', None, 'train'), ('owner/name', 'plain', 'test'))
    """
    name, _, part = source.removeprefix(PREFIX).partition(":")
    name, _, config = name.partition("@")
    if not name:
        raise DataError(f"'{source}' names no data set; write for example hub:ag_news")
    found = mirror.PARTS.get(part or "train")
    if found is None:
        raise DataError(nearest("part", part, ORDER))
    return name, config or None, found


def resolve(name: str, config: str | None = None) -> DatasetFiles:
    """Find a data set: under LINNET_DATA, in the cache, on the hub (which fills the cache)."""
    entry = CATALOGUE.get(name) or _foreign(name)
    local = mirror.find(entry.folder) if "/" not in entry.folder else None
    if local is not None:
        licence = local.licence or entry.licence or "not stated in the mirror; ask its makers"
        place = next(iter(local.files.values())).parent
        return DatasetFiles(local.files, licence, (*local.notes, f"from the mirror {place}"))
    if entry.repo is None:
        raise DataError(
            f"{name} is not on the hub; put its files under LINNET_DATA/{entry.folder} (see docs/datasets.md)"
        )
    config = config or entry.config
    key = entry.repo.replace("/", "--") + (f"@{config}" if config else "")
    found = cached(key)
    if found is None:
        from linnet.datasets.hub import fetch

        text, label = (entry.text, entry.label) if name in CATALOGUE else (None, None)
        found = store(key, lambda folder: fetch(str(entry.repo), config, text, label, folder))
    return found


def _foreign(name: str) -> CatalogueEntry:
    """Return an entry for a name of the hub, owner/name, or for a folder of the mirror."""
    if "/" in name:
        return CatalogueEntry(name, "", name)
    if mirror.find(name) is not None:
        return CatalogueEntry(name, "")
    raise DataError(nearest("data set", name, CATALOGUE) + "; or name one of the hub as hub:owner/name")


def part_path(source: str) -> Path:
    """Return the file behind hub:NAME:PART."""
    return _part_of(source)[0]


def _part_of(source: str) -> tuple[Path, DatasetFiles]:
    name, config, part = split_name(source)
    found = resolve(name, config)
    if part not in found.files:
        raise DataError(f"{name} has no part '{part}'; it has {', '.join(p for p in ORDER if p in found.files)}")
    return found.files[part], found


def read_named(source: str, **settings: Any) -> Dataset:
    """Read hub:NAME:PART as ``linnet.read`` reads a file; licence and origin are among the notes."""
    name, _, part = split_name(source)
    path, found = _part_of(source)
    data = read(path, **settings)
    notes = (f"licence: {found.licence}", *found.notes)
    return replace(data, source=f"{PREFIX}{name}:{part}", notes=(*data.notes, *notes))


def official(data: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return options with the official dev and test parts of hub:NAME, where it has them and the user gave none."""
    if not data.startswith(PREFIX) or data.count(":") > 1:
        return options
    name, config, _ = split_name(data)
    files = resolve(name, config).files
    given = {part: options.get(part) or (f"{data}:{part}" if part in files else None) for part in ("dev", "test")}
    return {**options, **given}
