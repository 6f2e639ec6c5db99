"""Fetch a data set from the public hub: list its Parquet files, fetch them, compare checksums, write one file a part.

The hub keeps a Parquet version of every public data set on a branch of its own, CONFIG/SPLIT/0000.parquet and so on; the
names of classes are in the schema of the files.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linnet.datasets.named import PARTS
from linnet.errors import DataError, require
from linnet.files import digest

NET = ("huggingface_hub", "hf_xet", "httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3")
BRANCH = "refs/convert/parquet"
_FILE = re.compile(r"(?P<config>.+)/(?P<split>[^/]+)/\d+\.parquet$")


def fetch(
    repo: str, config: str | None, text: Sequence[str] | None, label: str | None, folder: Path
) -> tuple[dict[str, Path], dict[str, Any]]:
    """Write the parts of a data set to a folder; returns the files and what they are: repo, revision, config, licence.

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
        chosen, splits = _splits(repo, config, entries)
        files = {
            part: _part(api, repo, mine, folder, part, text, label) for part, mine in splits.items()
        }  # fmt: skip
    except Exception as error:
        if isinstance(error, DataError) or not _of_the_net(error):
            raise
        raise DataError(_said(repo, error)) from error
    finally:
        shutil.rmtree(folder / "raw", ignore_errors=True)
        if not quiet:
            enable_progress_bars()
    return files, {"repo": repo, "config": chosen, "revision": str(info.sha or "?"), "licence": _licence(info)}


def _of_the_net(error: Exception) -> bool:
    """Whether the hub's library, or the HTTP library under it (which one has changed before), raised the error."""
    return isinstance(error, OSError) or type(error).__module__.split(".")[0] in NET


def _said(repo: str, error: Exception) -> str:
    """Return one line: what went wrong, and what to do."""
    kind = type(error).__name__
    offline = (
        f"cannot reach the hub for {repo} ({kind}); connect and try again, or put files train and test "
        "under LINNET_DATA (see docs/datasets.md)"
    )
    if kind in ("RepositoryNotFoundError", "HfUriError", "HFValidationError"):
        return f"the hub has no public data set {repo}; write hub:owner/name, or a name of linnet.datasets.CATALOGUE"
    if kind in ("GatedRepoError", "DisabledRepoError"):
        return f"the hub gives {repo} only to those who agreed to its terms; fetch it there and read it as a file"
    if kind in ("RevisionNotFoundError", "EntryNotFoundError", "RemoteEntryNotFoundError"):
        return f"the hub has no Parquet version of {repo}; fetch it there and read it as a file"
    return offline


def _licence(info: Any) -> str:
    given = getattr(info.card_data, "license", None) if info.card_data else None
    tags = [tag.removeprefix("license:") for tag in info.tags or [] if tag.startswith("license:")]
    found = given if given else tags
    return ", ".join(map(str, found)) if isinstance(found, list) and found else str(found or "not stated")


def _splits(repo: str, config: str | None, entries: list[Any]) -> tuple[str, dict[str, list[Any]]]:
    """Return the table that is meant and its files by part."""
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
    found: dict[str, list[Any]] = {}
    for split, mine in tables[chosen].items():
        part = PARTS.get(split.lower().removeprefix("partial-"))
        if part is not None:
            found[part] = mine
    if not found:
        raise DataError(f"{repo} has no part train, validation or test, but {', '.join(sorted(tables[chosen]))}")
    return chosen, found


def _part(
    api: Any, repo: str, entries: list[Any], folder: Path, part: str, text: Sequence[str] | None, label: str | None
) -> Path:
    """Fetch the files of a part, compare their checksums, and write them as one."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from huggingface_hub import hf_hub_download

    tables = []
    for entry in entries:
        path = Path(
            hf_hub_download(
                repo, entry.path, repo_type="dataset", revision=BRANCH, local_dir=folder / "raw", token=False,
                endpoint=api.endpoint,
            )
        )  # fmt: skip
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
    import pyarrow as pa

    features = json.loads((table.schema.metadata or {}).get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    for name, feature in features.items():
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and name in table.column_names:
            names = [str(n) for n in feature["names"]]
            values = [None if v is None or not 0 <= v < len(names) else names[v] for v in table[name].to_pylist()]
            table = table.set_column(table.column_names.index(name), name, pa.array(values, pa.string()))
    return table.replace_schema_metadata(None)


def _columns(table: Any, repo: str, text: Sequence[str] | None, label: str | None) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if text is None or label is None:
        return table
    missing = [name for name in (*text, label) if name not in table.column_names]
    if missing:
        raise DataError(f"{repo} has no column '{missing[0]}' any more, but {', '.join(table.column_names)}")
    texts = [pc.fill_null(table[name].cast(pa.string()), "") for name in text]
    joined = texts[0] if len(texts) == 1 else pc.utf8_trim_whitespace(pc.binary_join_element_wise(*texts, " "))
    return pa.table({"label": table[label].cast(pa.string()), "text": joined})
