"""The account of a run: counts that add up, shard by shard and in total, and how the scores are spread.

No times, no machine names: the same corpus and settings give the same bytes, however the run went.

The manifest for people: one HTML file, charts as inline SVG, nothing to load.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from linnet.draw.charts import Axis, Columns, figure
from linnet.draw.markup import count_bars, note, page, paragraphs, safe, table, text_table
from linnet.draw.terminal import percent
from linnet.errors import LinnetError
from linnet.filter.settings import BINS, FilterSettings, Shard

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
        "by_shard": [
            {
                **{name: record[name] for name in ("name", "rows", "kept", "output_bytes")},
                "dropped": sum(record["dropped"].values()), "unusable": sum(record["unusable"].values()),
            }
            for record in records
        ],
        "settings": described,
    }  # fmt: skip


def _added(parts: Any) -> Counter[str]:
    return sum(map(Counter, parts), Counter())


def _histograms(settings: FilterSettings, records: list[dict[str, Any]]) -> dict[str, Any]:
    """For every probability that is written: rows and kept rows in each of the bins from 0 to 1."""
    shape = (len(settings.columns), BINS)
    every, kept = (
        np.array([record[name] for record in records], np.int64).reshape(-1, *shape).sum(axis=0)
        for name in ("scores", "kept_scores")
    )
    names = [settings.classes[k] for k in settings.columns]
    return {name: {"rows": every[k].tolist(), "kept": kept[k].tolist()} for k, name in enumerate(names)}


MOST_SHARDS = 200  # listed; the manifest has all


def summary_html(manifest: dict[str, Any]) -> str:
    """Return the page."""
    rows, kept = manifest["rows"], manifest["kept"]
    states = count_bars({name: manifest[name] for name in ("kept", "dropped", "unusable")})
    parts = [
        f"<h1>{kept:,} of {rows:,} rows kept ({_share(kept, rows)})</h1>", states, _counts(manifest),
        paragraphs([_rule(manifest)]),
    ]  # fmt: skip
    for label, both in manifest["histograms"].items():
        parts.append(f"<h2>Probability of {safe(label)}</h2>{_histogram(both['rows'], both['kept'])}")
    if manifest["bad_shards"]:
        bad = [
            ["shard", "bytes", "reason"],
            *([s["name"], f"{s['bytes']:,}", s["reason"]] for s in manifest["bad_shards"]),
        ]
        parts.append(f"<h2>Shards that could not be used</h2>{text_table(bad)}")
    parts.append(_shards(manifest["by_shard"]))
    return page(f"linnet filter: {kept:,} of {rows:,} kept", "\n".join(parts))


def _share(part: int, whole: int) -> str:
    return percent(part / whole, 2) if whole else "-"


def _counts(manifest: dict[str, Any]) -> str:
    rows = manifest["rows"]
    lines = [("in", rows), ("kept", manifest["kept"])]
    for group in ("dropped", "unusable"):
        lines += [(group, manifest[group]), *((f"\u2003{name}", n) for name, n in manifest[f"{group}_by"].items())]
    body = [[safe(name), f"{count:,}", _share(count, rows)] for name, count in lines]
    return table(["rows", "count", "share"], body)


def _rule(manifest: dict[str, Any]) -> str:
    rule, cut = manifest["settings"]["rule"], manifest.get("cut")
    wanted = " or ".join(
        f"{safe(label)} is the best label" if least is None else f"P({safe(label)}) &ge; {least:g}"
        for label, least in rule["keep"].items()
        if least is not None or cut is None
    )
    lines = [f"Kept where {wanted}."] if wanted else []
    if cut and "top" in cut:
        lines.append(
            f"The best {100 * cut['top']:g} % of {cut['of']}: probability {cut['probability']:.6g} or more, a share of "
            f"{100 * cut['share']:.3f} % (the cut is known to {100 * cut['error_bound']:g} points)."
        )
    elif cut:
        lines.append(f"The best {cut['quota']:,} rows of each of {cut['values']:,} values of {safe(cut['by'])}.")
    return " ".join(lines)


def _histogram(rows: list[int], kept: list[int]) -> str:
    """Columns on a square-root scale, so that a small kept share can be seen."""
    titles = [
        f"{k / len(rows):.2f} to {(k + 1) / len(rows):.2f}: {some:,} of {every:,} kept"
        for k, (every, some) in enumerate(zip(rows, kept, strict=True))
    ]
    layers = [
        Columns([(k / len(rows), (k + 1) / len(rows), n**0.5, titles[k]) for k, n in enumerate(counts)], colour, name)
        for counts, colour, name in ((rows, "grey", "all rows"), (kept, "blue", "kept"))
    ]
    return figure(layers, Axis("probability", 0.0, 1.0), Axis(), "Heights are square roots of counts.")


def _shards(shards: list[dict[str, Any]]) -> str:
    head = ["shard", "in", "kept", "share", "unusable"]
    rows = [
        [s["name"], f"{s['rows']:,}", f"{s['kept']:,}", _share(s["kept"], s["rows"]), f"{s['unusable']:,}"]
        for s in shards[:MOST_SHARDS]
    ]
    more = note(f"{len(shards) - MOST_SHARDS:,} more in _manifest.json.") if len(shards) > MOST_SHARDS else ""
    return f"<h2>Shards</h2>{text_table([head, *rows])}{more}"
