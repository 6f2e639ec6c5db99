"""Curves of training, in a line of text or as a small picture: loss and held-out score, pass by pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from linnet.errors import LinnetError

__all__ = ["Curves", "History", "curve_svg", "sparkline"]

BARS = "▁▂▃▄▅▆▇█"
WIDTH, HEIGHT = 400.0, 150.0


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Draw a curve in one line of text; where there are more values than places, some are left out.

    >>> sparkline([4.0, 2.0, 1.0, 1.0, 8.0])
    '▄▂▁▁█'
    """
    step = max(1.0, len(values) / width)
    shown = [float(values[int(k * step)]) for k in range(min(len(values), width))]
    shown[-1] = float(values[-1])
    low, high = min(shown), max(shown)
    return "".join(BARS[round((v - low) / (high - low) * (len(BARS) - 1))] if high > low else BARS[0] for v in shown)


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
                "there are no passes in this history: the model was fitted in one go, or read from a file"
            )
        return cls(tuple(losses), tuple(scores))

    def __str__(self) -> str:
        lines = [f"loss          {sparkline(self.losses)} {_ends(self.losses, min(self.losses))}"]
        if self.scores:
            lines.append(f"dev accuracy  {sparkline(self.scores)} {_ends(self.scores, max(self.scores))}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        passes = range(1, len(self.losses) + 1)
        out = curve_svg(passes, self.losses, f"loss {_ends(self.losses, min(self.losses))}")
        if self.scores:
            at = self.scores.index(max(self.scores)) + 1
            caption = f"dev accuracy {_ends(self.scores, max(self.scores))}"
            out += curve_svg(range(1, len(self.scores) + 1), self.scores, caption, mark=at)
        return f"<div>{out}</div>"


class History(list[Any]):
    """What happened in a training, entry by entry: a list that notebooks draw.

    >>> History([{"kind": "pass", "loss": 2.0}, {"kind": "pass", "loss": 1.0}])._repr_html_().count("<svg")
    1
    """

    def _repr_html_(self) -> str:
        tried = [e for e in self if isinstance(e, dict) and e.get("kind") == "candidate"]
        rows = "".join(
            "<tr><td>{}</td><td style='text-align:right'>{:.4f}</td></tr>".format(
                escape(", ".join(f"{k}={v}" for k, v in e.items() if k not in ("kind", "dev_accuracy"))),
                e["dev_accuracy"],
            )
            for e in tried
        )
        table = f"<table><tr><th>settings</th><th>dev accuracy</th></tr>{rows}</table>" if rows else ""
        passes = [e for e in self if not isinstance(e, dict) or e.get("kind", "pass") == "pass"]
        drawn = Curves.of(passes)._repr_html_() if passes else ""
        return f"<div>{table}{drawn}</div>" if table or drawn else "<p>nothing was recorded</p>"


def _ends(values: Sequence[float], best: float) -> str:
    return f"{values[0]:.4g} to {values[-1]:.4g}, best {best:.4g} at pass {values.index(best) + 1}"


def curve_svg(x: Sequence[float], y: Sequence[float], caption: str, mark: float | None = None) -> str:
    """Draw y over x as a line, with a red mark at one x.

    >>> curve_svg([1, 2, 3], [4.0, 2.0, 3.0], "loss", mark=2).count("<")
    8
    """
    across, up = _share(np.asarray(x, dtype=np.float64)), _share(np.asarray(y, dtype=np.float64))
    points = " ".join(f"{WIDTH * a:.1f},{HEIGHT - (HEIGHT - 10.0) * b:.1f}" for a, b in zip(across, up, strict=True))
    line = ""
    if mark is not None:
        at = WIDTH * (mark - x[0]) / ((x[-1] - x[0]) or 1.0)
        line = f'<line x1="{at:.1f}" y1="0" x2="{at:.1f}" y2="{HEIGHT + 5:.0f}" stroke="red"></line>'
    text = f'<text x="0" y="{HEIGHT + 20:.0f}" font-size="12" fill="currentColor">{escape(caption)}</text>'
    return (
        f'<svg width="{WIDTH + 20:.0f}" height="{HEIGHT + 25:.0f}" role="img" aria-label="{escape(caption)}">'
        f'<polyline points="{points}" fill="none" stroke="currentColor"></polyline>{line}{text}</svg>'
    )


def _share(values: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Bring values to 0 ... 1."""
    return np.asarray((values - values.min()) / (float(np.ptp(values)) or 1.0))
