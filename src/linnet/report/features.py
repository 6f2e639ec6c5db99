"""What the model goes by: the weightiest features of each class."""

from __future__ import annotations

import numpy as np

from linnet.report.markup import bar, note, safe
from linnet.report.material import Material, cut

__all__ = ["features"]

EACH = 12
OPEN = 12  # classes shown at once


def features(material: Material) -> str | None:
    """List the features with the largest weights, class by class."""
    blocks = []
    for label, found in zip(material.clf.artefact.classes, _weightiest(material), strict=True):
        if found:
            most = found[0][1]
            lines = "".join(
                f'<li title="{weight:.3f}"><span class="word">{safe(cut(name, 40))}</span>'
                f'<span class="track">{bar(weight / most)}</span></li>'
                for name, weight in found
            )
            blocks.append(f'<section class="class"><h3>{safe(label)}</h3><ul class="features">{lines}</ul></section>')
    if not blocks:
        return None
    shown = f'<div class="grid">{"".join(blocks[:OPEN])}</div>'
    if len(blocks) > OPEN:
        rest = f'<div class="grid">{"".join(blocks[OPEN:])}</div>'
        shown += f"<details><summary>{len(blocks) - OPEN:,} more classes</summary>{rest}</details>"
    words = "Weights, less their mean over the classes. " if len(material.clf.artefact.classes) > 2 else ""
    return (
        note(
            f"{words}▁ is the edge of a word in pieces of words. A name, date or id among them is a loophole: look closer."
        )
        + shown
    )


def _weightiest(material: Material) -> list[list[tuple[str, float]]]:
    """Return the features with the largest weights of each class; of more than two, compared with the mean class."""
    weights = material.clf.named_weights()
    names = list(next(iter(weights.values()), {}))
    W = np.array([list(found.values()) for found in weights.values()]).reshape(len(weights), len(names))
    if len(W) > 2:
        W = W - W.mean(axis=0)
    tops = np.argsort(-W, axis=1, kind="stable")[:, :EACH]
    return [[(names[k], float(W[c, k])) for k in top if W[c, k] > 0] for c, top in enumerate(tops)]
