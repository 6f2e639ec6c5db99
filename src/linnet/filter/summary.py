"""The manifest for people: one HTML file, charts as inline SVG, nothing to load."""

from __future__ import annotations

from typing import Any

from linnet.draw.charts import Axis, Columns, chart
from linnet.draw.markup import note, safe, text_table
from linnet.draw.page import page

__all__ = ["summary_html"]

MOST_SHARDS = 200  # listed; the manifest has all


def summary_html(manifest: dict[str, Any]) -> str:
    """Return the page."""
    rows, kept = manifest["rows"], manifest["kept"]
    parts = [
        f"<h1>{kept:,} of {rows:,} rows kept ({_share(kept, rows)})</h1>", _bar(manifest), _counts(manifest), _rule(manifest)
    ]  # fmt: skip
    for label, both in manifest["histograms"].items():
        parts.append(f"<h2>Probability of {safe(label)}</h2>{_histogram(both['rows'], both['kept'])}")
    if manifest["bad_shards"]:
        bad = [[s["name"], f"{s['bytes']:,}", s["reason"]] for s in manifest["bad_shards"]]
        parts.append(f"<h2>Unusable shards</h2>{text_table([['shard', 'bytes', 'reason'], *bad])}")
    parts.append(_shards(manifest["by_shard"]))
    return page(f"linnet filter: {kept:,} of {rows:,} kept", "\n".join(parts))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"


def _bar(manifest: dict[str, Any]) -> str:
    """Draw one bar: kept, dropped, unusable."""
    layers, at = [], 0
    for name, colour in (("kept", "blue"), ("dropped", "grey"), ("unusable", "orange")):
        n = manifest[name]
        layers.append(Columns([(at, at + n, 1.0, f"{name}: {n:,} rows")], colour, name))
        at += n
    return chart(layers, Axis("rows"), Axis(low=0.0, high=1.0), "Rows kept, dropped and unusable", height=90)


def _counts(manifest: dict[str, Any]) -> str:
    rows = manifest["rows"]
    lines = {"in": rows, "kept": manifest["kept"], "dropped": manifest["dropped"]}
    lines |= {f"\u2003{name}": n for name, n in manifest["dropped_by"].items()} | {"unusable": manifest["unusable"]}
    lines |= {f"\u2003{name}": n for name, n in manifest["unusable_by"].items()}
    return text_table([["rows", "count", "share"], *([name, f"{n:,}", _share(n, rows)] for name, n in lines.items())])


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
    return f"<p>{' '.join(lines)}</p>"


def _histogram(rows: list[int], kept: list[int]) -> str:
    """Draw all rows and those kept by probability, on a logarithmic scale so that a small kept share can be seen."""
    n = len(rows)
    titles = [f"{k / n:.2f} to {(k + 1) / n:.2f}: {kept[k]:,} of {rows[k]:,} kept" for k in range(n)]
    layers = [
        Columns([(k / n, (k + 1) / n, count, titles[k]) for k, count in enumerate(counts)], colour, name)
        for name, colour, counts in (("all rows", "grey", rows), ("kept", "blue", kept))
    ]
    return chart(layers, Axis("probability", 0.0, 1.0), Axis("rows", low=0.5, log=True), "Rows by probability")


def _shards(shards: list[dict[str, Any]]) -> str:
    rows = [
        [s["name"], f"{s['rows']:,}", f"{s['kept']:,}", _share(s["kept"], s["rows"]), f"{s['unusable']:,}"]
        for s in shards[:MOST_SHARDS]
    ]
    more = note(f"{len(shards) - MOST_SHARDS:,} more in manifest.json.") if len(shards) > MOST_SHARDS else ""
    return f"<h2>Shards</h2>{text_table([['shard', 'in', 'kept', 'share', 'unusable'], *rows])}{more}"
