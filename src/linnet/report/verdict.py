"""The verdict, in plain words: how good, how sure, what is wrong most."""

from __future__ import annotations

import numpy as np

from linnet.evaluate import wilson
from linnet.report.markup import count, paragraphs, percent, safe
from linnet.report.material import Material

__all__ = ["sentences", "verdict"]

WIDE = 0.1  # an interval of ten points is a wide one
SURE = 0.9
FEW = 20  # rows that are too few to say anything of


def verdict(material: Material) -> str:
    """Write the verdict, its first number large."""
    result = material.result
    low, high = result.accuracy_interval
    head = (
        f'<p class="headline"><span class="number">{percent(result.accuracy)}</span> of '
        f"{count(result.n, 'text')} get the right label <span class='ends'>(95\u00a0% interval "
        f"{percent(low)} to {percent(high)})</span></p>"
    )
    return head + paragraphs(sentences(material))


def sentences(material: Material) -> list[str]:
    """Return the verdict as sentences of HTML."""
    found = [_against_guessing(material), _how_sure(material), _worst_confusion(material), _weakest(material)]
    found += [_probabilities(material), _confident(material), _checked(material), _looks(material)]
    found += [f"<strong>Warning:</strong> {safe(line)}." for line in material.result.warnings]
    return [line for line in found if line]


def _checked(material: Material) -> str:
    found = material.extra.get("check")
    if found is None or getattr(found, "level", "ok") not in ("warning", "problem"):
        return ""
    worst = found.ranked()[0]
    return f'The data: <strong>{safe(found.words)}</strong> (<a href="#check">{safe(worst.check)}: {safe(worst.says)}</a>).'


def _looks(material: Material) -> str:
    seal = material.extra.get("seal")
    if seal is None:
        return ""
    more = (
        ""
        if len(seal.looks) < 2
        else "; each look at it is a chance to choose by it, and makes the score a little kinder"
    )
    return f"A blind test set, sealed {safe(seal.sealed[:10])}: <b>{safe(seal.words)}</b>{more}."


def _against_guessing(material: Material) -> str:
    support = material.table.sum(axis=1)
    top = int(support.argmax())
    share = float(support[top] / material.n)
    low, high = material.result.accuracy_interval
    answer = f"Always answering <b>{safe(material.names[top])}</b> would be right for {percent(share)}"
    if low > share:
        return f"{answer}; the model is clearly better than that."
    if high < share:
        return f"{answer}: <strong>the model is worse than that</strong>."
    return f"{answer}: <strong>the model is not shown to be better than that</strong>."


def _how_sure(material: Material) -> str:
    low, high = material.result.accuracy_interval
    if high - low > WIDE:
        return (
            f"How sure: not very. {count(material.n, 'row')} leave {100 * (high - low):.0f} points between the ends of the "
            "interval; test on more rows before you compare small differences."
        )
    return f"How sure: to within {50 * (high - low):.1f} points either way, for texts like these."


def _worst_confusion(material: Material) -> str:
    if not material.errors:
        return "Nothing was wrong."
    cell = material.errors[0]
    support = int(material.table[cell.truth].sum())
    low, high = material.result.confusion_interval(cell.truth, cell.predicted)
    truth, answer = safe(material.names[cell.truth]), safe(material.names[cell.predicted])
    total = int((~material.right).sum())
    return (
        f"Wrong most: <b>{truth}</b> taken for <b>{answer}</b>, {count(cell.size, 'time')} of {count(total, 'error')}: "
        f"{percent(cell.size / support)} of all {truth} ({percent(low)} to {percent(high)})."
    )


def _weakest(material: Material) -> str:
    scores = [one for one in material.result.per_class if one.support]
    if len(scores) < 3:
        return ""
    worst = min(scores, key=lambda one: one.f1)
    low, high = worst.f1_interval
    return (
        f"Weakest class: <b>{safe(worst.label)}</b>, F1 {worst.f1:.3f} ({low:.3f} to {high:.3f}) on "
        f"{count(worst.support, 'row')}."
    )


def _probabilities(material: Material) -> str:
    ends = material.result.calibration_error_interval
    error = material.result.calibration_error
    if ends is None or error is None:
        return ""
    gap = float(material.confidence.mean() - material.right.mean())
    if ends[0] == 0 and ends[1] > WIDE:
        return (
            f"Whether its probabilities can be trusted cannot be told from {count(material.n, 'row')}: they are off by up "
            f"to {100 * ends[1]:.0f} points on average."
        )
    if ends[0] == 0:
        return f"Its probabilities can be taken as they are: off by {100 * error:.1f} points on average, which luck explains."
    side = "It claims more than it keeps" if gap > 0 else "It is better than it claims"
    return (
        f"{side}: its probabilities are off by {100 * error:.1f} points on average "
        f"({100 * ends[0]:.1f} to {100 * ends[1]:.1f})."
    )


def _confident(material: Material) -> str:
    sure = material.confidence >= SURE
    n = int(np.count_nonzero(sure))
    if n < FEW or n == material.n:
        return ""
    right = int(np.count_nonzero(material.right & sure))
    low, high = wilson(right, n)
    return (
        f"Where it is at least 90 % sure, which is {percent(n / material.n, 0)} of the time, {percent(right / n)} is right "
        f"({percent(low)} to {percent(high)})."
    )
