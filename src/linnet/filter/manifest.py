"""The account of a run: counts that add up, shard by shard and in total, and how the scores are spread.

No times, no machine names: the same corpus and settings give the same bytes, however the run went.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from linnet.errors import LinnetError
from linnet.filter.inputs import Shard
from linnet.filter.settings import BINS, FilterSettings

__all__ = ["VERSION", "manifest_of"]

VERSION = 1
_SUMS = ("rows", "kept", "text_bytes", "kept_text_bytes", "weight", "kept_weight", "output_bytes")


def manifest_of(
    settings: FilterSettings,
    described: dict[str, Any],
    shards: list[Shard],
    done: dict[int, dict[str, Any]],
    bad: list[dict[str, Any]],
    cut: dict[str, Any] | None,
) -> dict[str, Any]:
    """Add up the records of all shards; counts that do not add up are an error of the program, and said."""
    records = [done[index] for index in sorted(done)]
    total = {name: sum(record[name] for record in records) for name in _SUMS}
    dropped, unusable = (_added(record[name] for record in records) for name in ("dropped", "unusable"))
    claimed = sum(shard["rows"] or 0 for shard in bad)
    if claimed:
        unusable["bad shard"] += claimed
    rows = total["rows"] + claimed
    if rows != total["kept"] + sum(dropped.values()) + sum(unusable.values()) or len(done) + len(bad) != len(shards):
        raise LinnetError("the counts do not add up: please report this as a bug; give --restart to begin afresh")
    manifest: dict[str, Any] = {
        "version": VERSION, "rows": rows, "kept": total["kept"], "dropped": sum(dropped.values()),
        "unusable": sum(unusable.values()), "dropped_by": dict(sorted(dropped.items())),
        "unusable_by": dict(sorted(unusable.items())), "shards": len(shards), "bad_shards": bad,
        "labels": dict(sorted(_added(record["labels"] for record in records).items())),
        "text_bytes": total["text_bytes"], "kept_text_bytes": total["kept_text_bytes"],
        "output_bytes": total["output_bytes"],
    }  # fmt: skip
    notes = [{"name": record["name"], "note": note} for record in records for note in record.get("notes", ())]
    if notes:
        manifest["notes"] = notes
    if cut is not None:
        if settings.rule.top is not None:
            cut = {**cut, "share": total["kept_weight"] / total["weight"] if total["weight"] else 0.0,
                   "weight": total["weight"], "kept_weight": total["kept_weight"]}  # fmt: skip
        manifest["cut"] = cut
    return {
        **manifest,
        "histograms": _histograms(settings, records),
        "by_shard": _by_shard(records),
        "settings": described,
    }


def _added(parts: Any) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


def _histograms(settings: FilterSettings, records: list[dict[str, Any]]) -> dict[str, Any]:
    """For every probability that is written: rows and kept rows in each of the bins from 0 to 1."""
    shape = (len(settings.columns), BINS)
    every, kept = (
        np.array([record[name] for record in records], np.int64).reshape(-1, *shape).sum(axis=0)
        for name in ("scores", "kept_scores")
    )
    names = [settings.added.classes[k] for k in settings.columns]
    return {name: {"rows": every[k].tolist(), "kept": kept[k].tolist()} for k, name in enumerate(names)}


def _by_shard(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = ("name", "rows", "kept", "output_bytes")
    return [
        {
            **{name: record[name] for name in names},
            "dropped": sum(record["dropped"].values()), "unusable": sum(record["unusable"].values()),
        }
        for record in records
    ]  # fmt: skip
