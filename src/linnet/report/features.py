"""What the model goes by: the weightiest features of each class."""

from __future__ import annotations

from linnet.report.markup import bar, note, safe
from linnet.report.material import Material, cut

__all__ = ["features"]

EACH = 12
OPEN = 12  # classes shown at once


def features(material: Material) -> str | None:
    """List the features with the largest weights, class by class."""
    blocks = []
    for label in material.clf.artefact.classes:
        found = [(name, weight) for name, weight in material.clf.top_features(label, EACH) if weight > 0]
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
    return note("▁ is the edge of a word in pieces of words. A name, date or id among them is a loophole: look closer.") + shown
