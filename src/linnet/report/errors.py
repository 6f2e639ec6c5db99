"""The most confident errors, with the words that led to them."""

from __future__ import annotations

from linnet.draw.formatting import percent
from linnet.draw.markup import mark, note, safe
from linnet.report.inputs import CHARACTERS, ReportInputs

__all__ = ["errors"]

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
        f'<b>{safe(truth)}</b> <span class="interval">row {row + 1:,}</span></p>'
        f"<blockquote>{inputs.marked_text(row, CHARACTERS)}</blockquote>"
    )
