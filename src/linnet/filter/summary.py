"""The manifest for people: one HTML file, charts as inline SVG, nothing to load."""

from __future__ import annotations

from html import escape
from typing import Any

__all__ = ["summary_html"]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: right; border-bottom: 1px solid #ddd; }
td:first-child, th:first-child { text-align: left; }
svg text { font: 11px system-ui, sans-serif; fill: #555; }
.all { fill: #c9d3df; } .kept { fill: #2b6cb0; } .dropped { fill: #c9d3df; } .unusable { fill: #c05621; }
.note { color: #666; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1d20; } td, th { border-color: #444; }
 svg text { fill: #aaa; } .all, .dropped { fill: #4a5563; } .kept { fill: #63a4e8; } .unusable { fill: #dd8452; } .note { color: #999; } }
"""
MOST_SHARDS = 200  # listed; the manifest has all


def summary_html(manifest: dict[str, Any]) -> str:
    """Return the page."""
    rows = manifest["rows"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>linnet filter: {manifest['kept']:,} of {rows:,} kept</title><style>{_STYLE}</style>",
        f"<h1>{manifest['kept']:,} of {rows:,} rows kept ({_share(manifest['kept'], rows)})</h1>",
        _bar(manifest), _counts(manifest), _rule(manifest),
    ]  # fmt: skip
    for label, both in manifest["histograms"].items():
        parts.append(f"<h2>Probability of {escape(label)}</h2>{_histogram(both['rows'], both['kept'])}")
    parts.append(_bad(manifest["bad_shards"]))
    parts.append(_shards(manifest["by_shard"]))
    return "\n".join(part for part in parts if part) + "\n"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"


def _bar(manifest: dict[str, Any]) -> str:
    """One bar: kept, dropped, unusable."""
    whole, at, pieces = max(1, manifest["rows"]), 0.0, []
    for name in ("kept", "dropped", "unusable"):
        width = 800 * manifest[name] / whole
        pieces.append(f"<rect class={name} x={at:.2f} y=0 width={width:.2f} height=22><title>{name}</title></rect>")
        at += width
    return f"<svg viewBox='0 0 800 22' width=100% role=img aria-label='kept, dropped, unusable'>{''.join(pieces)}</svg>"


def _counts(manifest: dict[str, Any]) -> str:
    rows = manifest["rows"]
    lines = [("in", rows), ("kept", manifest["kept"]), ("dropped", manifest["dropped"])]
    lines += [(f"\u2003{name}", count) for name, count in manifest["dropped_by"].items()]
    lines += [("unusable", manifest["unusable"])]
    lines += [(f"\u2003{name}", count) for name, count in manifest["unusable_by"].items()]
    body = "".join(f"<tr><td>{escape(name)}<td>{count:,}<td>{_share(count, rows)}" for name, count in lines)
    return f"<table><tr><th>rows<th>count<th>share{body}</table>"


def _rule(manifest: dict[str, Any]) -> str:
    rule, cut = manifest["settings"]["rule"], manifest.get("cut")
    wanted = " or ".join(
        f"{escape(label)} is the best label" if least is None else f"P({escape(label)}) &ge; {least:g}"
        for label, least in rule["keep"].items()
        if least is not None or cut is None
    )
    lines = [f"<p>Kept where {wanted}." if wanted else "<p>"]
    if cut and "top" in cut:
        lines.append(
            f"The best {100 * cut['top']:g} % of {cut['of']}: probability {cut['probability']:.6g} or more, a share of "
            f"{100 * cut['share']:.3f} % (the cut is known to {100 * cut['error_bound']:g} points)."
        )
    elif cut:
        lines.append(f"The best {cut['quota']:,} rows of each of {cut['values']:,} values of {escape(cut['by'])}.")
    return " ".join(lines)


def _histogram(rows: list[int], kept: list[int]) -> str:
    """Bars on a square-root scale, so that a small kept share can be seen."""
    top = max([1, *rows]) ** 0.5
    width, height = 800 / len(rows), 160
    bars = []
    for k, (every, some) in enumerate(zip(rows, kept, strict=True)):
        for name, count in (("all", every), ("kept", some)):
            tall = height * count**0.5 / top
            title = f"{k / len(rows):.2f} to {(k + 1) / len(rows):.2f}: {some:,} of {every:,} kept"
            bars.append(
                f"<rect class={name} x={k * width + 0.5:.2f} y={height - tall:.2f} width={width - 1:.2f} "
                f"height={tall:.2f}><title>{title}</title></rect>"
            )
    ticks = "".join(
        f"<text x={800 * k / 10:.0f} y={height + 14} text-anchor={'start' if k == 0 else 'end' if k == 10 else 'middle'}>{k / 10:g}</text>"
        for k in range(11)
    )
    return (
        f"<svg viewBox='0 0 800 {height + 18}' width=100% role=img aria-label='histogram'>{''.join(bars)}{ticks}</svg>"
        "<p class=note>Dark: kept. Heights are square roots of counts.</p>"
    )


def _bad(shards: list[dict[str, Any]]) -> str:
    if not shards:
        return ""
    body = "".join(
        f"<tr><td>{escape(s['name'])}<td>{s['bytes']:,}<td style='text-align:left'>{escape(s['reason'])}"
        for s in shards
    )
    return f"<h2>Shards that could not be used</h2><table><tr><th>shard<th>bytes<th style='text-align:left'>reason{body}</table>"


def _shards(shards: list[dict[str, Any]]) -> str:
    body = "".join(
        f"<tr><td>{escape(s['name'])}<td>{s['rows']:,}<td>{s['kept']:,}<td>{_share(s['kept'], s['rows'])}<td>{s['unusable']:,}"
        for s in shards[:MOST_SHARDS]
    )
    more = f"<p class=note>{len(shards) - MOST_SHARDS:,} more in manifest.json." if len(shards) > MOST_SHARDS else ""
    return f"<h2>Shards</h2><table><tr><th>shard<th>in<th>kept<th>share<th>unusable{body}</table>{more}"
