"""The data: class balance, lengths, unusable rows, repeated texts."""

from __future__ import annotations

import numpy as np

from linnet.draw.charts import histogram
from linnet.draw.formatting import count, percent
from linnet.draw.markup import count_bars, note, paragraphs, safe
from linnet.report.inputs import ReportInputs

__all__ = ["data"]

CLASSES = 30  # bars that are shown


def data(inputs: ReportInputs) -> str:
    """Describe the rows; the data check, a section of its own, looks for problems."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = inputs.data.text.cast(pa.large_string())
    unusable = f"; {safe(inputs.data.unusable)}" if len(inputs.data.unusable) else ""
    lines = [f"{safe(inputs.data.source)}: {count(inputs.n, 'labelled row')}{unusable}."]
    again = inputs.n - pc.count_distinct(texts).as_py()
    repeats = f"{count(again, 'row repeats', 'rows repeat')} the text of another row ({percent(again / inputs.n)})."
    lines.append(repeats if again else "No text occurs twice.")
    sizes = inputs.table.sum(axis=1).tolist()
    caption = f"Rows of each class, from {min(n for n in sizes if n):,} to {max(sizes):,}"
    balance = count_bars(dict(zip(inputs.names, sizes, strict=True)), CLASSES)
    words = np.asarray(pc.count_substring_regex(texts, r"\S+").to_numpy())
    label = f"Length of the texts: median {count(int(np.median(words)), 'word')}, the longest {int(words.max()):,}"
    parts = [
        paragraphs(lines),
        f'<div class="pair"><figure>{balance}<figcaption>{caption}</figcaption></figure>',
        f"<figure>{histogram(words, 'words', label)}<figcaption>{label}</figcaption></figure></div>",
    ]
    if inputs.extra.get("check") is None:
        parts.append(
            note("For leaks, near duplicates and suspected label errors run <code>linnet check</code> on the data.")
        )
    return "".join(parts)
