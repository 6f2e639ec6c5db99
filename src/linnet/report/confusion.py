"""The confusion matrix; its cells open the texts behind them."""

from __future__ import annotations

import json
from typing import Any

from linnet.draw.formatting import count, cut, percent
from linnet.draw.markup import matrix, note, safe, table
from linnet.report.inputs import CHARACTERS, TEXTS_OF_A_CELL, MatrixCell, ReportInputs

__all__ = ["confusion"]

CLASSES = 20  # in the matrix; of more, those with the most errors
LARGEST = 40


def confusion(inputs: ReportInputs) -> str:
    """Write the matrix, the largest confusions, and the texts that the cells open."""
    chosen = inputs.worst_classes(CLASSES)
    parts = ["<p>Rows are true labels, columns predicted labels. Select a cell to read its texts.</p>"]
    if len(chosen) < len(inputs.names):
        parts.append(note(f"The {len(chosen)} classes with the most errors, of {len(inputs.names):,}."))
    parts.append(matrix(inputs.names, inputs.table, chosen))
    parts.append('<div id="texts" tabindex="-1" aria-live="polite"></div>')
    if len(inputs.names) > 2 and inputs.errors:
        parts.append(_largest(inputs))
    shown = sum(len(cell.shown) for cell in inputs.cells.values())
    if shown < inputs.n:
        parts.append(
            note(
                f"This page contains {shown:,} of {inputs.n:,} texts: up to {TEXTS_OF_A_CELL} for each cell, drawn at random "
                f"(seed {inputs.seed}), fewer where there are many cells; long texts are cut."
            )
        )
    return "".join(
        [*parts, data_island("cells", {f"{t},{p}": _texts(inputs, c) for (t, p), c in inputs.cells.items()})]
    )


def _largest(inputs: ReportInputs) -> str:
    rows = []
    for cell in inputs.errors[:LARGEST]:
        low, high = inputs.result.confusion_interval(cell.truth, cell.predicted)
        button = f'<button type="button" class="plain" data-cell="{cell.truth},{cell.predicted}">{cell.size:,}</button>'
        names = (safe(inputs.names[cell.truth]), safe(inputs.names[cell.predicted]))
        rows.append([*names, button, percent(inputs.share(cell)), f"{percent(low)} to {percent(high)}"])
    title = f"The largest confusions ({len(rows)} of {len(inputs.errors):,})"
    head = ["true label", "predicted", "rows", "share of the true label", "95 % interval"]
    return f"<details><summary>{title}</summary>{table(head, rows)}</details>"


def _texts(inputs: ReportInputs, cell: MatrixCell) -> dict[str, Any]:
    """Return the texts of a cell as data: the page writes them as text, never as HTML."""
    low, high = inputs.result.confusion_interval(cell.truth, cell.predicted)
    truth = inputs.names[cell.truth]
    interval = f"95 % interval {percent(low)} to {percent(high)}"
    return {
        "title": f"{truth}, predicted {inputs.names[cell.predicted]}: {count(cell.size, 'row')}",
        "share": f"{percent(inputs.share(cell))} of {truth} ({interval})",
        "size": cell.size,
        "texts": [
            [int(row) + 1, round(float(inputs.confidence[row]), 3), cut(inputs.text(row), CHARACTERS)]
            for row in cell.shown
        ],
    }


def data_island(name: str, value: Any) -> str:
    r"""Return JSON for the page's script: no character of it means something in HTML, or is one that UTF-8 cannot hold.

    >>> data_island("texts", ["</script><b>&"])
    '<script type="application/json" id="texts">["\\u003c/script\\u003e\\u003cb\\u003e\\u0026"]</script>'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    text = text.encode("utf-8", "replace").decode("utf-8")
    return f'<script type="application/json" id="{safe(name)}">{text}</script>'
