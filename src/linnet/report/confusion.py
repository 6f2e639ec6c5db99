"""What is taken for what: a confusion matrix whose cells open the texts behind them."""

from __future__ import annotations

import numpy as np

from linnet.report.markup import count, data_island, note, percent, safe
from linnet.report.material import TEXTS_OF_A_CELL, Cell, Material, cut

__all__ = ["confusion"]

MATRIX = 20  # classes in the matrix; of more, those with the most errors
LARGEST = 40
FEW = 6  # columns whose names fit side by side


def confusion(material: Material) -> str:
    """Write the matrix, the largest confusions, and the texts that the cells open."""
    chosen = _classes(material)
    parts = ["<p>Rows are the truth, columns the answer. Press a cell to read the texts behind it.</p>"]
    if len(chosen) < len(material.names):
        parts.append(note(f"The {len(chosen)} classes with the most errors, of {len(material.names):,}."))
    parts += [_matrix(material, chosen), '<div id="texts" tabindex="-1" aria-live="polite"></div>']
    if len(material.names) > 2:
        parts.append(_largest(material))
    held = sum(len(cell.shown) for cell in material.cells.values())
    if held < material.n:
        parts.append(
            note(
                f"The page holds {held:,} of {material.n:,} texts: up to {TEXTS_OF_A_CELL} a cell, drawn at random (seed "
                f"{material.seed}), fewer where cells are many; long texts are cut."
            )
        )
    return "".join([*parts, _texts(material)])


def _classes(material: Material) -> list[int]:
    if len(material.names) <= MATRIX:
        return list(range(len(material.names)))
    k = material.table.shape[1]
    wrong = material.table.copy()
    np.fill_diagonal(wrong, 0)
    errors = wrong.sum(axis=1)
    errors[:k] += wrong.sum(axis=0)
    return sorted(np.argsort(-errors, kind="stable")[:MATRIX].tolist())


def _matrix(material: Material, chosen: list[int]) -> str:
    k = material.table.shape[1]
    columns = [c for c in chosen if c < k]
    head = "".join(
        f'<th scope="col" title="{safe(material.names[c])}"><span>{safe(cut(material.names[c], 20))}</span></th>'
        for c in columns
    )
    many = " many" if len(columns) > FEW else ""
    body = "".join(
        f'<tr><th scope="row" title="{safe(material.names[t])}">{safe(cut(material.names[t], 30))}</th>'
        + "".join(f"<td>{_cell(material, t, p)}</td>" for p in columns)
        + f'<td class="sum">{material.table[t].sum():,}</td></tr>'
        for t in chosen
    )
    return (
        f'<div class="wide"><table class="matrix{many}"><thead><tr><td></td>'
        f'{head}<th scope="col">rows</th></tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cell(material: Material, t: int, p: int) -> str:
    n = int(material.table[t, p])
    if not n:
        return '<span class="empty">0</span>'
    share = n / int(material.table[t].sum())
    kind = "right" if t == p else "wrong"
    return f'<button type="button" class="cell {kind}" data-cell="{t},{p}" style="--share:{share:.3f}">{n:,}</button>'


def _largest(material: Material) -> str:
    rows = "".join(_line(material, cell) for cell in material.errors[:LARGEST])
    if not rows:
        return ""
    head = "<tr><th>truth</th><th>answer</th><th>rows</th><th>of the truth</th><th>95 % interval</th></tr>"
    table = f'<div class="wide"><table class="largest"><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    title = f"The largest confusions ({min(LARGEST, len(material.errors))} of {len(material.errors):,})"
    return f"<details><summary>{title}</summary>{table}</details>"


def _line(material: Material, cell: Cell) -> str:
    low, high = material.result.confusion_interval(cell.truth, cell.predicted)
    share = cell.size / int(material.table[cell.truth].sum())
    names = (safe(material.names[cell.truth]), safe(material.names[cell.predicted]))
    button = f'<button type="button" class="plain" data-cell="{cell.truth},{cell.predicted}">{cell.size:,}</button>'
    return (
        f"<tr><th>{names[0]}</th><td>{names[1]}</td><td>{button}</td><td>{percent(share)}</td>"
        f"<td>{percent(low)} to {percent(high)}</td></tr>"
    )


def _texts(material: Material) -> str:
    """The texts of the cells as data: the page writes them as text, never as HTML."""
    cells = {}
    for (t, p), cell in material.cells.items():
        low, high = material.result.confusion_interval(t, p)
        share = cell.size / int(material.table[t].sum())
        truth = material.names[t]
        cells[f"{t},{p}"] = {
            "title": f"{truth}, answered {material.names[p]}: {count(cell.size, 'row')}",
            "share": f"{percent(share)} of {truth} (95 % interval {percent(low)} to {percent(high)})",
            "size": cell.size,
            "texts": [
                [int(row) + 1, round(float(material.confidence[row]), 3), cut(material.text(row))] for row in cell.shown
            ],
        }
    return data_island("cells", cells)
