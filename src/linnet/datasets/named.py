"""A data set by its name: from a local mirror, else from the cache, else from the hub.

``hub:ag_news`` is its training part, ``hub:ag_news:test`` its test part; ``hub:owner/name`` any public data set of the hub,
``hub:owner/name@config:test`` one of its tables.

Data sets that have a name here: where the hub has them, where a local mirror has them, what to mind.

A new data set is one entry of catalogue.toml. Whatever is on the hub can also be named by its owner and name: ``hub:owner/name``.

A local mirror: a folder a data set, with files train, dev, test or all; LINNET_DATA points to it.

    LINNET_DATA/ag_news/train.csv, test.csv
    LINNET_DATA/trec/train.csv, test.csv
    LINNET_DATA/rt_polarity/all.csv

Any format that linnet reads will do. A file such as ``train_subset.csv`` is taken for train, and a note says that it is not
all of it. Where the folder has a file SHA256SUMS (as sha256sum writes it), files are checked against it.

The local cache of data sets from the hub is a mirror, too: one Parquet file a part, SHA256SUMS, and LICENSE with licence and origin.

It is in LINNET_CACHE, else in XDG_CACHE_HOME/linnet, else in ~/.cache/linnet.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from linnet.data import Dataset, read
from linnet.errors import DataError, nearest, require
from linnet.files import digest, split_ending, temporary_folder


def home() -> Path:
    """Return the folder of the cache."""
    given = os.environ.get("LINNET_CACHE")
    if given:
        return Path(given) / "datasets"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "linnet" / "datasets"


@contextlib.contextmanager
def filling(place: Path) -> Iterator[Path]:
    """Make a folder to write to, which is put in its place at once, at the end."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot write to the cache {home()}: {error.strerror or error}; set LINNET_CACHE") from None
    with temporary_folder(place.parent) as waiting:
        staging = waiting / "data"
        staging.mkdir()
        yield staging
        shutil.rmtree(place, ignore_errors=True)
        staging.replace(place)


PARTS = {"train": "train", "dev": "dev", "validation": "dev", "valid": "dev", "test": "test", "all": "train"}
ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".arrow")


def part_of(name: str) -> tuple[str, bool] | None:
    """Return the part that a file holds, and whether it is all of it; None for other files.

    >>> part_of("train.csv"), part_of("train_subset.csv.gz"), part_of("validation.parquet"), part_of("oos_train.csv")
    (('train', True), ('train', False), ('dev', True), None)
    """
    ending, _ = split_ending(name)
    if ending not in ENDINGS:
        return None
    first, _, rest = name.lower().partition(ending)[0].partition("_")
    return (PARTS[first], rest == "") if first in PARTS and rest in ("", "subset", "sample") else None


def mirrored(place: Path) -> DatasetFiles | None:
    """Return the files of a data set in a folder; None without the folder."""
    if not place.is_dir():
        return None
    files: dict[str, Path] = {}
    notes = []
    for path in sorted(place.iterdir()):
        part = part_of(path.name)
        if part is None:
            continue
        if part[0] in files:
            raise DataError(f"{place} has two files for {part[0]}: {files[part[0]].name} and {path.name}; keep one")
        files[part[0]] = path
        if not part[1]:
            notes.append(f"{path.name} is a part of {part[0]} only: never report it as the full data set")
    if not files:
        raise DataError(f"{place} holds no file train, dev, test or all ({', '.join(ENDINGS)})")
    _check(place, files)
    if place.name.endswith("_subset"):
        notes.append(f"{place.name} is a part of the data set only: never report it as the full one")
    said = [p for p in sorted(place.iterdir()) if p.stem.upper() in ("LICENSE", "LICENCE")]
    lines = said[0].read_text(encoding="utf-8", errors="replace").splitlines() if said else []
    licence = lines[0] if len(lines) == 1 else f"see {said[0]}" if said else None
    return DatasetFiles(files, licence, (*notes, f"from {place}"))


def _check(place: Path, files: dict[str, Path]) -> None:
    sums = place / "SHA256SUMS"
    if not sums.is_file():
        return
    lines = (line.split(maxsplit=1) for line in sums.read_text(encoding="utf-8").splitlines() if line.strip())
    expected = {name.strip().lstrip("*"): value.lower() for value, name in lines}
    for path in files.values():
        if path.name in expected and digest(path) != expected[path.name]:
            raise DataError(f"{path} is not what {sums} says: its checksum differs; remove {place} and fetch it again")


@dataclass(frozen=True)
class DatasetFiles:
    """The files of a data set by part (train, dev, test), its licence, and notes on it."""

    files: dict[str, Path]
    licence: str | None
    notes: tuple[str, ...] = ()


class CatalogueEntry(NamedTuple):
    """repo: owner/name on the hub (None: not there). config: which of its tables. text: columns, put behind one another.

    mirror: its folder under LINNET_DATA. licence: where neither the hub nor a file tells.
    """

    name: str
    about: str
    repo: str | None = None
    config: str | None = None
    text: Sequence[str] = ("text",)
    label: str = "label"
    mirror: str | None = None
    licence: str | None = None

    @property
    def folder(self) -> str:
        """The folder of a local mirror."""
        return self.mirror or self.name


_ENTRIES = tomllib.loads((files(__package__) / "catalogue.toml").read_text(encoding="utf-8"))
CATALOGUE = {name: CatalogueEntry(name, **values) for name, values in _ENTRIES.items()}


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
    found = PARTS.get(part or "train")
    if found is None:
        raise DataError(nearest("part", part, ORDER))
    return name, config or None, found


def resolve(name: str, config: str | None = None) -> DatasetFiles:
    """Find a data set: under LINNET_DATA, in the cache, on the hub (which fills the cache)."""
    entry = CATALOGUE.get(name) or CatalogueEntry(name, "", name if "/" in name else None)
    root = os.environ.get("LINNET_DATA")
    local = mirrored(Path(root) / entry.folder) if root and "/" not in entry.folder else None
    if local is not None:
        return local if local.licence else replace(local, licence=entry.licence or "not stated; ask its makers")
    if entry.repo is None and name not in CATALOGUE:
        raise DataError(nearest("data set", name, CATALOGUE) + "; or name one of the hub as hub:owner/name")
    if entry.repo is None:
        raise DataError(
            f"{name} is not on the hub; put its files under LINNET_DATA/{entry.folder} (see docs/datasets.md)"
        )
    config = config or entry.config
    place = home() / (entry.repo.replace("/", "--") + (f"@{config}" if config else ""))
    if not place.is_dir():
        text, label = (entry.text, entry.label) if name in CATALOGUE else (None, None)
        with filling(place) as folder:
            fetch(entry.repo, config, text, label, folder)
    found = mirrored(place)
    assert found is not None  # noqa: S101 - it was filled
    return found


def part_files(source: str) -> tuple[Path, DatasetFiles]:
    """Return the file behind hub:NAME:PART, and all files of the data set."""
    name, config, part = split_name(source)
    found = resolve(name, config)
    if part not in found.files:
        raise DataError(f"{name} has no part '{part}'; it has {', '.join(p for p in ORDER if p in found.files)}")
    return found.files[part], found


def read_named(source: str, **settings: Any) -> Dataset:
    """Read hub:NAME:PART as ``linnet.read`` reads a file; licence and origin are among the notes."""
    name, _, part = split_name(source)
    path, found = part_files(source)
    data = read(path, **settings)
    notes = (f"licence: {found.licence or 'not stated'}", *found.notes)
    return replace(data, source=f"{PREFIX}{name}:{part}", notes=(*data.notes, *notes))


def official(data: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return options with the official dev and test parts of hub:NAME, where it has them and the user gave none."""
    if not data.startswith(PREFIX) or data.count(":") > 1:
        return options
    name, config, _ = split_name(data)
    files = resolve(name, config).files
    given = {part: options.get(part) or (f"{data}:{part}" if part in files else None) for part in ("dev", "test")}
    return {**options, **given}


# ---- Fetch a data set from the public hub: list its Parquet files, fetch them, compare checksums, write one file a part.
#
# The hub keeps a Parquet version of every public data set on a branch of its own, CONFIG/SPLIT/0000.parquet and so on; the names of
# classes are in the schema of the files.


NET = ("huggingface_hub", "hf_xet", "httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3")
BRANCH = "refs/convert/parquet"
_FILE = re.compile(r"(?P<config>.+)/(?P<split>[^/]+)/\d+\.parquet$")


def fetch(repo: str, config: str | None, text: Sequence[str] | None, label: str | None, folder: Path) -> None:
    """Write the parts of a data set to a folder, with their checksums, the licence and the origin.

    text and label name columns that become ``text`` and ``label``; without, all columns are kept as they are.
    """
    hub = require("huggingface_hub", f"the data set {repo} from the hub", "hub")
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    api = hub.HfApi(token=False)
    quiet = are_progress_bars_disabled()
    disable_progress_bars()  # a library does not print
    try:
        info = api.dataset_info(repo, timeout=30)
        entries = list(api.list_repo_tree(repo, recursive=True, revision=BRANCH, repo_type="dataset"))
        splits = _splits(repo, config, entries)
        files = [_part(api, repo, mine, folder, part, text, label) for part, mine in splits.items()]
    except Exception as error:
        if isinstance(error, DataError) or not _of_the_net(error):
            raise
        raise DataError(
            f"the hub did not give {repo} ({type(error).__name__}): write hub:owner/name of a public data set, or a name of "
            "linnet.datasets.CATALOGUE, or put files train and test under LINNET_DATA (see docs/datasets.md)"
        ) from error
    finally:
        shutil.rmtree(folder / "raw", ignore_errors=True)
        if not quiet:
            enable_progress_bars()
    (folder / "SHA256SUMS").write_text("".join(f"{digest(path)}  {path.name}\n" for path in files), "utf-8")
    origin = f"{_licence(info)} (hub: {repo} at {str(info.sha or '?')[:10]})"
    (folder / "LICENSE").write_text(f"{origin}\n", "utf-8")


def fetch_vectors(name: str) -> Path:
    """Fetch the word vectors hub:owner/name, a matrix and its tokenizer.json side by side; the hub's library keeps them."""
    repo = name.removeprefix(PREFIX)
    hub = require("huggingface_hub", f"the vectors {repo} from the hub", "hub")
    try:
        hub.hf_hub_download(repo, "tokenizer.json", token=False)
        return Path(hub.hf_hub_download(repo, "model.safetensors", token=False))
    except Exception as error:
        if not _of_the_net(error):
            raise
        raise DataError(
            f"the word vectors {repo} did not come from the hub ({type(error).__name__}): it must be public and have "
            "model.safetensors and tokenizer.json; or fetch the files and give their path"
        ) from error


def _of_the_net(error: Exception) -> bool:
    """Whether the hub's library, or the HTTP library under it (which one has changed before), raised the error."""
    return isinstance(error, OSError) or type(error).__module__.split(".")[0] in NET


def _licence(info: Any) -> str:
    tags = [tag.removeprefix("license:") for tag in info.tags or [] if tag.startswith("license:")]
    found = getattr(info.card_data, "license", None) or tags or "not stated"
    return ", ".join(map(str, found)) if isinstance(found, list) else str(found)


def _splits(repo: str, config: str | None, entries: list[Any]) -> dict[str, list[Any]]:
    """Return the files of the table that is meant by part."""
    tables: dict[str, dict[str, list[Any]]] = {}
    for entry in sorted(entries, key=lambda e: str(e.path)):
        match = _FILE.match(entry.path)
        if match:
            tables.setdefault(match["config"], {}).setdefault(match["split"], []).append(entry)
    if not tables:
        raise DataError(f"the hub has no Parquet version of {repo}; fetch it there and read it as a file")
    if config is not None and config not in tables:
        raise DataError(f"{repo} has no table '{config}'; choose one of: {', '.join(sorted(tables))}")
    if config is None and len(tables) > 1 and "default" not in tables:
        raise DataError(
            f"{repo} has several tables; name one: hub:{repo}@{sorted(tables)[0]} ({', '.join(sorted(tables))})"
        )
    chosen = config or ("default" if "default" in tables else next(iter(tables)))
    named = {PARTS.get(split.lower().removeprefix("partial-")): mine for split, mine in tables[chosen].items()}
    found = {part: mine for part, mine in named.items() if part is not None}
    if not found:
        raise DataError(f"{repo} has no part train, validation or test, but {', '.join(sorted(tables[chosen]))}")
    return found


def _part(
    api: Any, repo: str, entries: list[Any], folder: Path, part: str, text: Sequence[str] | None, label: str | None
) -> Path:
    """Fetch the files of a part, compare their checksums, and write them as one."""
    import pyarrow.parquet as pq
    from huggingface_hub import hf_hub_download

    tables = []
    place = {"repo_type": "dataset", "revision": BRANCH, "token": False, "endpoint": api.endpoint}
    for entry in entries:
        path = Path(hf_hub_download(repo, entry.path, local_dir=folder / "raw", **place))
        expected = getattr(entry.lfs, "sha256", None) if entry.lfs else None
        if expected and digest(path) != expected:
            raise DataError(f"{repo}: {entry.path} was not fetched whole: its checksum differs; try again")
        tables.append(_named(pq.read_table(path)))
        path.unlink()
    whole = _columns(pa.concat_tables(tables), repo, text, label)
    out = folder / f"{part}.parquet"
    pq.write_table(whole, out, compression="zstd")
    return out


def _named(table: Any) -> Any:
    """Return the table with the numbers of classes replaced by their names, as the schema has them."""
    features = json.loads((table.schema.metadata or {}).get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    for name, feature in features.items():
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and name in table.column_names:
            names = [str(n) for n in feature["names"]]
            values = [None if v is None or not 0 <= v < len(names) else names[v] for v in table[name].to_pylist()]
            table = table.set_column(table.column_names.index(name), name, pa.array(values, pa.string()))
    return table.replace_schema_metadata(None)


def _columns(table: Any, repo: str, text: Sequence[str] | None, label: str | None) -> Any:
    import pyarrow.compute as pc

    if text is None or label is None:
        return table
    missing = [name for name in (*text, label) if name not in table.column_names]
    if missing:
        raise DataError(f"{repo} has no column '{missing[0]}' any more, but {', '.join(table.column_names)}")
    texts = [pc.fill_null(table[name].cast(pa.string()), "") for name in text]
    joined = texts[0] if len(texts) == 1 else pc.utf8_trim_whitespace(pc.binary_join_element_wise(*texts, " "))
    return pa.table({"label": table[label].cast(pa.string()), "text": joined})
