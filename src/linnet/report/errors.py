"""What the model gets wrong and what it goes by: confusion matrix, most confident errors, top features."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from linnet.draw.markup import bars, mark, matrix, note, safe, table
from linnet.draw.terminal import count, cut, percent
from linnet.report.inputs import CHARACTERS, TEXTS_OF_A_CELL, ReportInputs

# ---- The confusion matrix; its cells open the texts behind them.


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
    if len(inputs.names) > 2 and inputs.result.error_cells:
        parts.append(_largest(inputs))
    shown = sum(map(len, inputs.shown.values()))
    if shown < inputs.n:
        few = f"up to {TEXTS_OF_A_CELL} for each cell, the most confident, fewer where there are many cells"
        parts.append(note(f"This page contains {shown:,} of {inputs.n:,} texts: {few}; long texts are cut."))
    parts.append(data_island("cells", {f"{t},{p}": _texts(inputs, t, p) for t, p in inputs.shown}))
    return "".join(parts)


def _largest(inputs: ReportInputs) -> str:
    rows = []
    for t, p, n in inputs.result.error_cells[:LARGEST]:
        button = f'<button type="button" class="plain" data-cell="{t},{p}">{n:,}</button>'
        rows.append([safe(inputs.names[t]), safe(inputs.names[p]), button, *inputs.share(t, p)])
    title = f"The largest confusions ({len(rows)} of {len(inputs.result.error_cells):,})"
    head = ["true label", "predicted", "rows", "share of the true label", "95 % interval"]
    return f"<details><summary>{title}</summary>{table(head, rows)}</details>"


def _texts(inputs: ReportInputs, truth: int, predicted: int) -> dict[str, Any]:
    """Return the texts of a cell as data: the page writes them as text, never as HTML."""
    name, size, (share, ends) = inputs.names[truth], int(inputs.table[truth, predicted]), inputs.share(truth, predicted)
    texts = [
        [int(inputs.data.source_rows[row]), round(float(inputs.confidence[row]), 3), cut(inputs.text(row), CHARACTERS)]
        for row in inputs.shown[truth, predicted]
    ]
    title = f"{name}, predicted {inputs.names[predicted]}: {count(size, 'row')}"
    return {"title": title, "share": f"{share} of {name} (95 % interval {ends})", "size": size, "texts": texts}


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


SHOWN = 20


def errors(inputs: ReportInputs) -> str:
    """Show the wrong predictions with the highest probability."""
    rows = inputs.rows()[:SHOWN].tolist()
    if not rows:
        return "<p>There are no errors.</p>"
    legend = (
        f"{mark('Blue', 'for')} words support the prediction, {mark('orange', 'against')} words the true label; the value is "
        "shown under the pointer. If a prediction looks right, check the label."
    )
    return f'{note(legend)}<ol class="errors">{"".join(f"<li>{_one(inputs, row)}</li>" for row in rows)}</ol>'


def _one(inputs: ReportInputs, row: int) -> str:
    truth, predicted = inputs.names[inputs.result.truth[row]], inputs.names[inputs.result.predicted[row]]
    return (
        f'<p class="said">predicted <b>{safe(predicted)}</b> ({percent(float(inputs.confidence[row]))}), labelled '
        f'<b>{safe(truth)}</b> <span class="interval">row {inputs.data.source_rows[row]:,}</span></p>'
        f"<blockquote>{inputs.marked_text(row, CHARACTERS)}</blockquote>"
    )


# ---- The features with the largest weights, class by class.


EACH = 12
OPEN = 12  # classes shown at once


def features(inputs: ReportInputs) -> str | None:
    """List the features with the largest weights of each class."""
    classes = inputs.clf.artefact.classes
    blocks = []
    for label, found in zip(classes, _top(inputs), strict=True):
        if found:
            rows = [(cut(name, 40), weight / found[0][1], f"{weight:.2f}") for name, weight in found]
            blocks.append(f'<section class="class"><h3>{safe(label)}</h3>{bars(rows, "features")}</section>')
    if not blocks:
        return None
    shown = f'<div class="grid">{"".join(blocks[:OPEN])}</div>'
    if len(blocks) > OPEN:
        rest = f'<div class="grid">{"".join(blocks[OPEN:])}</div>'
        shown += f"<details><summary>{len(blocks) - OPEN:,} more classes</summary>{rest}</details>"
    mean = "Weights relative to their mean over the classes. " if len(classes) > 2 else ""
    edge = "▁ is the edge of a word. A name, date or id in this list may not help on new texts: check it."
    return note(mean + edge) + shown


def _top(inputs: ReportInputs) -> list[list[tuple[str, float]]]:
    """Return the features with the largest weights of each class; of more than two, compared with the mean class."""
    weights = inputs.clf.named_weights()
    names = list(next(iter(weights.values()), {}))
    W = np.array([list(found.values()) for found in weights.values()]).reshape(len(weights), len(names))
    if len(W) > 2:
        W = W - W.mean(axis=0)
    tops = np.argsort(-W, axis=1, kind="stable")[:, :EACH]
    return [[(names[k], float(W[c, k])) for k in top if W[c, k] > 0] for c, top in enumerate(tops)]
