"""Curves of training, in a line of text or as a chart: loss and held-out score, pass by pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linnet.draw.charts import Axis, Line, Vertical, figure
from linnet.draw.markup import text_table
from linnet.draw.terminal import sparkline
from linnet.errors import LinnetError

__all__ = ["Curves", "History", "curve"]


@dataclass(frozen=True)
class Curves:
    """The losses and, where rows were held out, the scores of a training.

    Made from the ``history_`` of a model or of a TextClassifier. Print it for two lines of text; notebooks draw it.

    >>> from linnet.solvers.callbacks import Epoch
    >>> print(Curves.of([Epoch(1, 10.0, 1.0, 5, 0.5), Epoch(2, 5.0, 0.4, 5, 0.75), Epoch(3, 4.0, 0.1, 5, 0.7)]))
    loss          █▂▁ 10 to 4, best 4 at pass 3
    dev accuracy  ▁█▇ 0.5 to 0.7, best 0.75 at pass 2
    """

    losses: tuple[float, ...]
    scores: tuple[float, ...] = ()

    @classmethod
    def of(cls, history: Iterable[Any]) -> Curves:
        """Read a history: reports of passes, or the dicts of a TextClassifier (candidates are left out)."""
        losses, scores = [], []
        for entry in history:
            if isinstance(entry, dict):
                if entry.get("kind", "pass") != "pass":
                    continue
                loss, score = entry["loss"], entry.get("dev_accuracy")
            else:
                loss, score = entry.loss, entry.score
            losses.append(float(loss))
            if score is not None:
                scores.append(float(score))
        if not losses:
            raise LinnetError(
                "there are no passes in this history: the model was fitted in one step, or read from a file"
            )
        return cls(tuple(losses), tuple(scores))

    def __str__(self) -> str:
        lines = [f"loss          {sparkline(self.losses)} {_ends(self.losses, min(self.losses))}"]
        if self.scores:
            lines.append(f"dev accuracy  {sparkline(self.scores)} {_ends(self.scores, max(self.scores))}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        out = curve(_numbered(self.losses), "pass", "loss", f"loss {_ends(self.losses, min(self.losses))}")
        if self.scores:
            best = max(self.scores)
            caption = f"dev accuracy {_ends(self.scores, best)}"
            out += curve(_numbered(self.scores), "pass", "dev accuracy", caption, mark=self.scores.index(best) + 1)
        return f"<div>{out}</div>"


class History(list[Any]):
    """What happened in a training, entry by entry: a list that notebooks draw.

    >>> History([{"kind": "pass", "loss": 2.0}, {"kind": "pass", "loss": 1.0}])._repr_html_().count("<svg")
    1
    """

    def _repr_html_(self) -> str:
        tried = [
            [
                ", ".join(f"{k}={v}" for k, v in e.items() if k not in ("kind", "dev_accuracy")),
                f"{e['dev_accuracy']:.4f}",
            ]
            for e in self
            if isinstance(e, dict) and e.get("kind") == "candidate"
        ]
        table = text_table([["settings", "dev accuracy"], *tried]) if tried else ""
        passes = [e for e in self if not isinstance(e, dict) or e.get("kind", "pass") == "pass"]
        drawn = Curves.of(passes)._repr_html_() if passes else ""
        return f"<div>{table}{drawn}</div>" if table or drawn else "<p>nothing was recorded</p>"


def _numbered(values: Sequence[float]) -> list[tuple[float, float]]:
    return [(float(k), value) for k, value in enumerate(values, 1)]


def _ends(values: Sequence[float], best: float) -> str:
    return f"{values[0]:.4g} to {values[-1]:.4g}, best {best:.4g} at pass {values.index(best) + 1}"


def curve(
    points: Sequence[tuple[float, float]], x: str, y: str, caption: str, *, mark: float | None = None, log: bool = False
) -> str:
    """Draw points as a line with a caption, and a vertical line at one x.

    >>> curve([(1, 4.0), (2, 2.0), (3, 3.0)], "pass", "loss", "loss by pass", mark=2).count("<circle")
    3
    """
    layers = [Line(points), *([] if mark is None else [Vertical([mark], "orange")])]
    return figure(layers, Axis(x, log=log, whole=not log), Axis(y), caption)
