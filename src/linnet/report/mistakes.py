"""The most confident errors, with the words that led there."""

from __future__ import annotations

from typing import Any

import numpy as np

from linnet.errors import LinnetError
from linnet.report.markup import note, percent, safe
from linnet.report.material import CHARACTERS, Material

__all__ = ["marked", "mistakes"]

Pieces = list[tuple[str, float]]  # words and what lies between them, with what each adds

MOST = 20
LONGEST = 50_000  # characters that are explained


def mistakes(material: Material) -> str:
    """Show the wrong answers that were given with the highest probability."""
    wrong = np.flatnonzero(~material.right)
    if not len(wrong):
        return "<p>There are no errors.</p>"
    order = wrong[np.argsort(-material.confidence[wrong], kind="stable")[:MOST]]
    items = "".join(f"<li>{_one(material, int(row))}</li>" for row in order)
    legend = (
        'Words shaded <mark class="for">blue</mark> speak for the answer rather than the label, words underlined '
        '<mark class="against">orange</mark> for the label; hover for how much. Where the words look right and the '
        "label does not, mend the label."
    )
    return f'{note(legend)}<ol class="mistakes">{items}</ol>'


def _one(material: Material, row: int) -> str:
    truth = safe(material.names[int(material.result.truth[row])])
    answer = int(material.result.predicted[row])
    head = (
        f'<p class="said">answered <b>{safe(material.names[answer])}</b> ({percent(float(material.confidence[row]))}), '
        f'labelled <b>{truth}</b> <span class="interval">row {row + 1:,}</span></p>'
    )
    text = material.text(row)
    try:
        shown = marked(_contrast(material, material.row(row, LONGEST), int(material.result.truth[row]), answer))
    except LinnetError:  # a model that cannot be taken apart
        shown = safe(text[:CHARACTERS])
    return f"{head}<blockquote>{shown}</blockquote>"


def _contrast(material: Material, text: Any, truth: int, answer: int) -> Pieces:
    """Return the words of a text with what they add to the answer, less what they add to the label."""
    classes = material.clf.artefact.classes
    pieces = material.clf.explain(text, classes[answer]).words()
    if len(classes) == 2 or truth >= len(classes):  # two classes: already one against the other
        return pieces
    other = material.clf.explain(text, classes[truth]).words()
    return [(piece, a - b) for (piece, a), (_, b) in zip(pieces, other, strict=True)]


def marked(pieces: Pieces, characters: int = CHARACTERS) -> str:
    """Return the part of a text where most is said, its words marked by what they add.

    >>> marked([("<i>", 0.0), ("good", 1.5)])
    '&lt;i&gt;<mark class="for" style="--shade:1.00" title="+1.500">good</mark>'
    """
    first, last = _window([len(piece) for piece, _ in pieces], [abs(weight) for _, weight in pieces], characters)
    largest = max((abs(weight) for _, weight in pieces), default=0.0)
    out = ["…" if first else ""]
    for piece, weight in pieces[first:last]:
        shade = abs(weight) / largest if largest > 0 else 0.0
        if shade < 0.2 or not piece.strip():
            out.append(safe(piece))
        else:
            kind = "for" if weight > 0 else "against"
            out.append(f'<mark class="{kind}" style="--shade:{shade:.2f}" title="{weight:+.3f}">{safe(piece)}</mark>')
    return "".join([*out, "…" if last < len(pieces) else ""])


def _window(lengths: list[int], weights: list[float], characters: int) -> tuple[int, int]:
    """Return the run of pieces, no longer than some characters, whose weights add up to most.

    >>> _window([3, 3, 3, 3], [0.0, 1.0, 5.0, 0.0], 6)
    (1, 3)
    """
    best, best_sum, first, size, total = (0, 1), -1.0, 0, 0, 0.0
    for last, (length, weight) in enumerate(zip(lengths, weights, strict=True)):
        size, total = size + length, total + weight
        while size > characters and first < last:
            size, total = size - lengths[first], total - weights[first]
            first += 1
        if total > best_sum + 1e-12:
            best, best_sum = (first, last + 1), total
    return (best[0], len(lengths)) if sum(lengths[best[0] :]) <= characters else best
