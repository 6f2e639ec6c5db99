"""An evaluation as plain text for the terminal and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from linnet.draw.markup import paragraphs, safe, text_table
from linnet.draw.terminal import aligned, estimate, fit, one_line, width_of
from linnet.evaluate.metrics import ALL_METRICS, METRICS, PROBABILITY_METRICS

if TYPE_CHECKING:
    from linnet.evaluate.evaluation import ClassScores, Evaluation

MATRIX_CLASSES = 12  # a larger confusion matrix is shown as its largest cells
MATRIX = "confusion matrix (rows: truth, columns: predicted)"
LARGEST = 10


def text(result: Evaluation, width: int) -> str:
    """The whole report; labels are cut so that the tables fit in `width`, as far as their numbers do."""
    parts = ["\n".join(_summary(result)), "\n".join(aligned(class_rows(result.per_class), width))]
    parts.append("\n".join(_matrix(result, width) or _largest(result, width)))
    if result.warnings:
        parts.append("\n".join(f"warning: {line}" for line in result.warnings))
    return "\n\n".join(part for part in parts if part)


def html(result: Evaluation) -> str:
    """The same tables in HTML, every label escaped."""
    small = len(result.classes) <= MATRIX_CLASSES
    caption, rows = (MATRIX, _matrix_rows(result)) if small else ("largest confusions", _confusions(result))
    lines = "<br>".join(map(safe, _summary(result)))
    warnings = paragraphs(f"warning: {safe(line)}" for line in result.warnings)
    return f"<div><p>{lines}</p>{text_table(class_rows(result.per_class))}{text_table(rows, caption)}{warnings}</div>"


def _summary(result: Evaluation) -> list[str]:
    rows = "row" if result.n == 1 else "rows"
    answered = f"{result.answered:.1%} of the rows answered, {result.abstained:,} not; the scores are of those answered"
    lines = [answered] if result.abstained else []
    lines.append(f"{_scored(result, 'accuracy', 'accuracy')} on {result.n:,} {rows}")
    if result.mean_cost is not None:
        ours, plain = result.mean_cost
        lines.append(f"mean cost {ours:.4f} a row; {plain:.4f} if the most probable label were the answer")
    if result.ordinal is not None:
        (error, one), (kappa, two) = result.ordinal.values()
        lines.append(f"mean absolute error {estimate(error, one)}, quadratic kappa {estimate(kappa, two)}")
    shown = [name for name, metric in METRICS.items() if metric.shown and name != "accuracy"]
    more = PROBABILITY_METRICS if result.proba is not None else {}
    scores = [_scored(result, name, ALL_METRICS[name].title) for name in (*shown, *more)]
    lines += [", ".join(scores[k : k + 2]) for k in range(0, len(scores), 2)]
    if result.top_k:
        best = ", ".join(f"{t.k}: {estimate(t.accuracy, t.interval)}" for t in result.top_k[:3])
        lines.append(f"truth among the best {best}")
    return lines


def _scored(result: Evaluation, name: str, title: str) -> str:
    value, interval = result.score(name)
    if interval is None:
        return f"{title} undefined" if value is None else f"{title} {value:.4f}"
    return f"{title} {estimate(value, interval)}"


def class_rows(per_class: Iterable[ClassScores]) -> list[list[str]]:
    """Return the table of the scores of each class, its head first."""
    scores = [
        [one_line(one.label), f"{one.precision:.4f}", f"{one.recall:.4f}", f"{one.f1:.4f}", f"{one.support:,}"]
        for one in per_class
    ]
    return [["class", "precision", "recall", "F1", "support"], *scores]


def _matrix_rows(result: Evaluation) -> list[list[str]]:
    names = [one_line(label) for label in result.classes]
    rows = [[name, *(f"{count:,}" for count in counts)] for name, counts in zip(names, result.confusion, strict=True)]
    if result.unknown_labels:
        rows.append(["(unknown)", *(f"{count:,}" for count in result.unknown_confusion.sum(axis=0))])
    return [["", *names], *rows]


def _matrix(result: Evaluation, width: int) -> list[str]:
    """The confusion matrix, or nothing where it is too wide or of too many classes."""
    if len(result.classes) > MATRIX_CLASSES:
        return []
    rows = _matrix_rows(result)
    numbers = max(width_of(cell) for row in rows[1:] for cell in row[1:])
    for label_width in (16, 8, 4):  # as much of the column heads as fits
        head = ["", *(fit(cell, max(label_width, numbers)) for cell in rows[0][1:])]
        table = aligned([head, *rows[1:]], width)
        if max(map(width_of, table)) <= width:
            return [MATRIX, *table]
    return []


def _confusions(result: Evaluation) -> list[list[str]]:
    """The largest cells off the diagonal as truth, predicted, count; the head first."""
    found = [[one_line(t), one_line(p), f"{rows:,}"] for t, p, rows in result.largest_confusions(LARGEST)]
    return [["truth", "predicted", "rows"], *found]


def _largest(result: Evaluation, width: int) -> list[str]:
    rows = _confusions(result)
    half = max(4, (width - 2 * 2 - max(len(row[2]) for row in rows)) // 2)
    table = [[fit(row[0], half), fit(row[1], half), row[2]] for row in rows]
    return ["largest confusions", *aligned(table, width, left=2)] if len(rows) > 1 else []
