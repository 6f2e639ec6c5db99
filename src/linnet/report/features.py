"""The features with the largest weights, class by class."""

from __future__ import annotations

import numpy as np

from linnet.draw.formatting import cut
from linnet.draw.markup import bars, note, safe
from linnet.report.inputs import ReportInputs

__all__ = ["features"]

EACH = 12
OPEN = 12  # classes shown at once


def features(inputs: ReportInputs) -> str | None:
    """List the features with the largest weights of each class."""
    classes = inputs.clf.artefact.classes
    blocks = [
        f'<section class="class"><h3>{safe(label)}</h3>{_bars(found)}</section>'
        for label, found in zip(classes, _top(inputs), strict=True)
        if found
    ]
    if not blocks:
        return None
    shown = f'<div class="grid">{"".join(blocks[:OPEN])}</div>'
    if len(blocks) > OPEN:
        rest = f'<div class="grid">{"".join(blocks[OPEN:])}</div>'
        shown += f"<details><summary>{len(blocks) - OPEN:,} more classes</summary>{rest}</details>"
    mean = "Weights relative to their mean over the classes. " if len(classes) > 2 else ""
    return (
        note(f"{mean}▁ is the edge of a word. A name, date or id in this list may not help on new texts: check it.")
        + shown
    )


def _bars(found: list[tuple[str, float]]) -> str:
    most = found[0][1]
    return bars([(cut(name, 40), weight / most, f"{weight:.2f}") for name, weight in found], "features")


def _top(inputs: ReportInputs) -> list[list[tuple[str, float]]]:
    """Return the features with the largest weights of each class; of more than two, compared with the mean class."""
    weights = inputs.clf.named_weights()
    names = list(next(iter(weights.values()), {}))
    W = np.array([list(found.values()) for found in weights.values()]).reshape(len(weights), len(names))
    if len(W) > 2:
        W = W - W.mean(axis=0)
    tops = np.argsort(-W, axis=1, kind="stable")[:, :EACH]
    return [[(names[k], float(W[c, k])) for k in top if W[c, k] > 0] for c, top in enumerate(tops)]
