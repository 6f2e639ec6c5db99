"""An evaluation as plain text for the terminal and as HTML for notebooks."""

from __future__ import annotations

import html as escape
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet.evaluate.intervals import Interval
from linnet.evaluate.metrics import ALL_METRICS, METRICS, PROBABILITY_METRICS

if TYPE_CHECKING:
    from linnet.evaluate.evaluation import Evaluation

__all__ = ["aligned", "html", "html_table", "text"]

MATRIX_CLASSES = 12  # a larger confusion matrix is shown as its largest cells
LARGEST = 10


def text(result: Evaluation, width: int) -> str:
    """The whole report; labels are cut so that the tables fit in `width`, as far as their numbers do."""
    parts = ["\n".join(_summary(result)), "\n".join(aligned(_class_rows(result), width))]
    parts.append("\n".join(_matrix(result, width) or _largest(result, width)))
    if result.warnings:
        parts.append("\n".join(f"warning: {line}" for line in result.warnings))
    return "\n\n".join(part for part in parts if part)


def html(result: Evaluation) -> str:
    """The same tables in HTML, every label escaped."""
    lines = "<br>".join(escape.escape(line) for line in _summary(result))
    warnings = "".join(f"<p>warning: {escape.escape(line)}</p>" for line in result.warnings)
    if len(result.classes) <= MATRIX_CLASSES:
        caption, rows = "confusion matrix (rows: truth, columns: predicted)", _matrix_rows(result)
    else:
        caption, rows = "largest confusions", [["truth", "predicted", "rows"], *_confusions(result)]
    return f"<div><p>{lines}</p>{html_table('', _class_rows(result))}{html_table(caption, rows)}{warnings}</div>"


def _summary(result: Evaluation) -> list[str]:
    rows = "row" if result.n == 1 else "rows"
    lines = [f"{_scored(result, 'accuracy', 'accuracy')} on {result.n:,} {rows}"]
    shown = [name for name, metric in METRICS.items() if metric.shown and name != "accuracy"]
    more = PROBABILITY_METRICS if result.proba is not None else {}
    scores = [_scored(result, name, ALL_METRICS[name].title) for name in (*shown, *more)]
    lines += [", ".join(scores[k : k + 2]) for k in range(0, len(scores), 2)]
    if result.top_k:
        best = ", ".join(f"{t.k}: {t.accuracy:.4f} {_ends(t.interval)}" for t in result.top_k[:3])
        lines.append(f"truth among the best {best}")
    return lines


def _scored(result: Evaluation, name: str, title: str) -> str:
    value, interval = result.score(name)
    return f"{title} undefined" if value is None else f"{title} {value:.4f} {_ends(interval)}"


def _ends(interval: Interval) -> str:
    return f"[{interval[0]:.4f}, {interval[1]:.4f}]"


def _class_rows(result: Evaluation) -> list[list[str]]:
    scores = [
        [_clean(one.label), f"{one.precision:.4f}", f"{one.recall:.4f}", f"{one.f1:.4f}", f"{one.support:,}"]
        for one in result.per_class
    ]
    return [["class", "precision", "recall", "F1", "support"], *scores]


def _matrix_rows(result: Evaluation) -> list[list[str]]:
    names = [_clean(label) for label in result.classes]
    rows = [[name, *(f"{count:,}" for count in counts)] for name, counts in zip(names, result.confusion, strict=True)]
    if result.unknown_labels:
        rows.append(["(unknown)", *(f"{count:,}" for count in result.unknown_confusion.sum(axis=0))])
    return [["", *names], *rows]


def _matrix(result: Evaluation, width: int) -> list[str]:
    """The confusion matrix, or nothing where it is too wide or of too many classes."""
    if len(result.classes) > MATRIX_CLASSES:
        return []
    rows = _matrix_rows(result)
    numbers = max(_width(cell) for row in rows[1:] for cell in row[1:])
    for label_width in (16, 8, 4):  # as much of the column heads as fits
        head = ["", *(_cut(cell, max(label_width, numbers)) for cell in rows[0][1:])]
        table = aligned([head, *rows[1:]], width)
        if max(map(_width, table)) <= width:
            return ["confusion matrix (rows: truth, columns: predicted)", *table]
    return []


def _confusions(result: Evaluation) -> list[list[str]]:
    """The largest cells off the diagonal as truth, predicted, count."""
    table = result.table.copy()
    np.fill_diagonal(table, 0)
    truth = [*result.classes, *result.unknown_labels]
    cells = [divmod(int(cell), table.shape[1]) for cell in np.argsort(-table, axis=None, kind="stable")[:LARGEST]]
    return [[_clean(truth[t]), _clean(result.classes[p]), f"{table[t, p]:,}"] for t, p in cells if table[t, p]]


def _largest(result: Evaluation, width: int) -> list[str]:
    rows = _confusions(result)
    half = max(4, (width - 2 * 2 - max((len(row[2]) for row in rows), default=0)) // 2)
    table = [["truth", "predicted", "rows"], *([_cut(row[0], half), _cut(row[1], half), row[2]] for row in rows)]
    return ["largest confusions", *aligned(table, width, left=2)] if rows else []


def aligned(rows: list[list[str]], width: int, left: int = 1) -> list[str]:
    """Columns two spaces apart, the first `left` aligned to the left; the first is cut where a line is too long."""
    widths = [max(_width(cell) for cell in column) for column in zip(*rows, strict=True)]
    widths[0] = min(widths[0], max(5, width - sum(widths[1:]) - 2 * (len(widths) - 1)))
    lines = []
    for first, *others in rows:
        cells = [_cut(first, widths[0]), *others]
        spaces = [" " * (size - _width(cell)) for cell, size in zip(cells, widths, strict=True)]
        pairs = enumerate(zip(cells, spaces, strict=True))
        lines.append("  ".join(cell + gap if column < left else gap + cell for column, (cell, gap) in pairs).rstrip())
    return lines


def _clean(label: Any) -> str:
    r"""A label on one line, without control characters.

    >>> _clean("a\tb\x1b")
    'a b?'
    """
    return "".join(c if c.isprintable() else "?" for c in " ".join(str(label).split()))


def _width(cell: str) -> int:
    """How many columns of a terminal a text takes.

    >>> _width("新闻"), _width("né")
    (4, 2)
    """
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell)


def _cut(cell: str, width: int) -> str:
    """The beginning of a text that fits, marked when something is missing.

    >>> _cut("politics", 5)
    'poli…'
    """
    if _width(cell) <= width:
        return cell
    while cell and _width(cell) > width - 1:
        cell = cell[:-1]
    return cell + "…"


def html_table(caption: str, rows: list[list[str]]) -> str:
    """A table in HTML, the first row its head, every cell escaped."""
    head = "".join(f"<th>{escape.escape(cell)}</th>" for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    title = f"<caption>{escape.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
