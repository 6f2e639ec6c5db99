"""One update of a model, shown: the scores of a text, who is blamed, and what its features add, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from linnet.draw.markup import safe, table
from linnet.explain.explanation import Explanation

__all__ = ["LearningStep", "learning_step"]

MOST = 12  # features that are shown


@dataclass(frozen=True)
class LearningStep:
    """What learning one row did to the score of each class, and to what each feature of the text adds to it.

    ``blamed`` are the other classes whose score went down. ``weights`` holds, for each class, (feature, before, after), those that
    moved most first.
    """

    text: str
    label: Any
    predicted: Any
    scores: Mapping[Any, tuple[float, float]]
    blamed: tuple[Any, ...]
    weights: Mapping[Any, tuple[tuple[str, float, float], ...]]

    def _rows(self) -> list[list[str]]:
        rows = [["score", str(c), f"{a:+.4f}", f"{b:+.4f}", f"{b - a:+.4f}"] for c, (a, b) in self.scores.items()]
        for c in (self.label, *self.blamed):
            rows += [[name, str(c), f"{a:+.4f}", f"{b:+.4f}", f"{b - a:+.4f}"] for name, a, b in self.weights[c][:MOST]]
        return rows

    def _head(self) -> str:
        blamed = ", ".join(map(str, self.blamed)) or "none"
        return f"predicted {self.predicted}, the label is {self.label}; classes blamed: {blamed}"

    def __str__(self) -> str:
        from linnet.draw.terminal import aligned

        return "\n".join(
            [self._head(), *aligned([["feature", "class", "before", "after", "change"], *self._rows()], 100, 2)]
        )

    def _repr_html_(self) -> str:
        cells = [[safe(cell) for cell in row] for row in self._rows()]
        return (
            f"<div><p>{safe(self._head())}</p>{table(['feature', 'class', 'before', 'after', 'change'], cells)}</div>"
        )


def learning_step(
    text: str, label: Any, predicted: Any, before: Mapping[Any, Explanation], after: Mapping[Any, Explanation]
) -> LearningStep:
    """Compare the explanations of a text for every class before and after a step; new classes begin at zero."""
    scores, weights = {}, {}
    for c, new in after.items():
        old = before.get(c)
        scores[c] = (0.0 if old is None else old.score, new.score)
        was = {} if old is None else {one.feature: one.value for one in old.contributions}
        both = [(one.feature, was.get(one.feature, 0.0), one.value) for one in new.contributions]
        weights[c] = tuple(sorted(both, key=lambda one: -abs(one[2] - one[1])))
    blamed = tuple(c for c, (a, b) in scores.items() if c != label and b < a - 1e-9)
    return LearningStep(text, label, predicted, scores, blamed, weights)
