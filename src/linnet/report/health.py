"""The data: class balance, lengths, rows that were left out, repeated texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from linnet.report.charts import BLUE, altair, figure, rows
from linnet.report.markup import count, note, paragraphs, percent, safe
from linnet.report.material import Material

__all__ = ["health"]

CLASSES = 30  # bars that a chart has room for


def health(material: Material) -> str:
    """Say what the rows are like; the data check, a section of its own, looks closer."""
    words = _words(material)
    lines = [_source(material), _repeats(material)]
    parts = [
        paragraphs(line for line in lines if line),
        '<div class="pair">',
        _balance(material),
        _lengths(words),
        "</div>",
    ]
    if material.extra.get("check") is not None:  # it has a section of its own
        return "".join(parts)
    return "".join(parts) + note(
        "Leaks between training and test rows, near duplicates and suspected label errors: <code>linnet check</code>."
    )


def _source(material: Material) -> str:
    data = material.data
    left = f"; {safe(data.unusable)}" if len(data.unusable) else ""
    return f"{safe(data.source)}: {count(material.n, 'labelled row')}{left}."


def _repeats(material: Material) -> str:
    import pyarrow as pa
    import pyarrow.compute as pc

    again = material.n - pc.count_distinct(material.data.text.cast(pa.large_string())).as_py()
    if not again:
        return "No text occurs twice."
    return f"{count(again, 'row repeats', 'rows repeat')} the text of another row ({percent(again / material.n)})."


def _words(material: Material) -> np.ndarray[Any, Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.asarray(pc.count_substring_regex(material.data.text.cast(pa.large_string()), r"\S+").to_numpy())


def _balance(material: Material) -> str:
    alt = altair()
    support = material.table.sum(axis=1)
    order = np.argsort(-support, kind="stable")[:CLASSES]
    names = [material.names[c] for c in order]
    chart = alt.Chart(rows(label=names, rows=support[order].tolist())).mark_bar(color=BLUE, size=14).encode(
        y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=160)), x=alt.X("rows:Q", title="rows"),
        tooltip=["label:N", "rows:Q"],
    )  # fmt: skip
    least, most = int(support[support > 0].min()), int(support.max())
    more = f"; the {CLASSES} largest of {len(support):,} are shown" if len(support) > CLASSES else ""
    words = f"Rows of each class, from {least:,} to {most:,}{more}"
    return figure(chart, words, max(60, 22 * len(order)))


def _lengths(words: np.ndarray[Any, Any]) -> str:
    alt = altair()
    top = float(np.quantile(words, 0.99)) + 1
    counts, edges = np.histogram(np.minimum(words, top), bins=min(30, max(1, int(top))), range=(0, top))
    data = rows(start=edges[:-1].round(1).tolist(), end=edges[1:].round(1).tolist(), rows=counts.tolist())
    chart = alt.Chart(data).mark_bar(color=BLUE).encode(
        x=alt.X("start:Q", bin="binned", title="words in a text"), x2="end:Q",
        y=alt.Y("rows:Q", title="rows"), tooltip=["start:Q", "end:Q", "rows:Q"],
    )  # fmt: skip
    middle, longest = int(np.median(words)), int(words.max())
    return figure(chart, f"Length of the texts: half have up to {middle:,} words, the longest {longest:,}")
