"""The verdict: how good the model is, how certain that is, and what it gets wrong most."""

from __future__ import annotations

import numpy as np

from linnet.draw.markup import paragraphs, safe
from linnet.draw.terminal import count, percent
from linnet.evaluate import wilson
from linnet.report.inputs import ReportInputs

WIDE = 0.1  # an interval of ten points is a wide one
SURE = 0.9
FEW = 20  # rows that are too few to say anything of


def verdict(inputs: ReportInputs) -> str:
    """Write the verdict, the accuracy first."""
    low, high = inputs.result.accuracy_interval
    head = (
        f'<p class="headline"><span class="number">{percent(inputs.result.accuracy)}</span> accuracy on '
        f"{count(inputs.n, 'text')} <span class='ends'>(95\u00a0% interval {percent(low)} to {percent(high)})</span></p>"
    )
    return head + paragraphs(sentences(inputs))


def sentences(inputs: ReportInputs) -> list[str]:
    """Return the verdict as sentences of HTML."""
    found = [_baseline(inputs), _precision(inputs), _worst_confusion(inputs), _weakest(inputs)]
    found += [_probabilities(inputs), _confident(inputs), _checked(inputs), _seal(inputs)]
    found += [f"<strong>Warning:</strong> {safe(line)}." for line in inputs.result.warnings]
    return [line for line in found if line]


def _checked(inputs: ReportInputs) -> str:
    found = inputs.extra.get("check")
    if found is None or getattr(found, "level", "ok") not in ("warning", "problem"):
        return ""
    worst = found.ranked()[0]
    return f'Data check: <strong>{safe(found.words)}</strong> (<a href="#check">{safe(worst.check)}: {safe(worst.says)}</a>).'


def _seal(inputs: ReportInputs) -> str:
    seal = inputs.extra.get("seal")
    if seal is None:
        return ""
    more = (
        "; the more often a test set is used to choose, the more its score is too high" if len(seal.looks) > 1 else ""
    )
    return f"Blind test set, sealed {safe(seal.sealed[:10])}: <b>{safe(seal.words)}</b>{more}."


def _baseline(inputs: ReportInputs) -> str:
    support = inputs.table.sum(axis=1)
    top = int(support.argmax())
    share = float(support[top] / inputs.n)
    low, high = inputs.result.accuracy_interval
    baseline = f"Always predicting <b>{safe(inputs.names[top])}</b> would give {percent(share)}"
    if low > share:
        return f"{baseline}; the model is clearly better than that."
    if high < share:
        return f"{baseline}: <strong>the model is worse than that</strong>."
    return f"{baseline}: <strong>the model is not clearly better than that</strong>."


def _precision(inputs: ReportInputs) -> str:
    low, high = inputs.result.accuracy_interval
    if high - low > WIDE:
        return (
            f"The estimate is rough: with {count(inputs.n, 'row')} the interval is {100 * (high - low):.0f} points wide. Test on "
            "more rows before you compare small differences."
        )
    return f"The estimate is precise to about {50 * (high - low):.1f} points either way, for texts like these."


def _worst_confusion(inputs: ReportInputs) -> str:
    if not inputs.errors:
        return "There are no errors."
    cell = inputs.errors[0]
    low, high = inputs.result.confusion_interval(cell.truth, cell.predicted)
    truth, predicted = safe(inputs.names[cell.truth]), safe(inputs.names[cell.predicted])
    total = int((~inputs.right).sum())
    return (
        f"Most frequent confusion: <b>{truth}</b> predicted as <b>{predicted}</b>, {cell.size:,} of {count(total, 'error')}, "
        f"{percent(inputs.share(cell))} of all {truth} ({percent(low)} to {percent(high)})."
    )


def _weakest(inputs: ReportInputs) -> str:
    scores = [one for one in inputs.result.per_class if one.support]
    if len(scores) < 3:
        return ""
    worst = min(scores, key=lambda one: one.f1)
    low, high = worst.f1_interval
    return (
        f"Weakest class: <b>{safe(worst.label)}</b>, F1 {worst.f1:.3f} ({low:.3f} to {high:.3f}) on "
        f"{count(worst.support, 'row')}."
    )


def _probabilities(inputs: ReportInputs) -> str:
    ends, error = inputs.result.calibration_error_interval, inputs.result.calibration_error
    if ends is None or error is None:
        return ""
    if ends[0] == 0 and ends[1] > WIDE:
        return (
            f"{count(inputs.n, 'row')} are too few to judge the probabilities: the calibration error is at most "
            f"{100 * ends[1]:.0f} points."
        )
    if ends[0] == 0:
        return f"The probabilities are well calibrated: the error of {100 * error:.1f} points may be chance."
    gap = float(inputs.confidence.mean() - inputs.right.mean())
    return (
        f"The model is {'over' if gap > 0 else 'under'}confident: its probabilities are off by {100 * error:.1f} points on "
        f"average ({100 * ends[0]:.1f} to {100 * ends[1]:.1f})."
    )


def _confident(inputs: ReportInputs) -> str:
    sure = inputs.confidence >= SURE
    n = int(np.count_nonzero(sure))
    if n < FEW or n == inputs.n:
        return ""
    right = int(np.count_nonzero(inputs.right & sure))
    low, high = wilson(right, n)
    return (
        f"With confidence of at least 90 %, which is {percent(n / inputs.n, 0)} of the texts, accuracy is {percent(right / n)} "
        f"({percent(low)} to {percent(high)})."
    )
