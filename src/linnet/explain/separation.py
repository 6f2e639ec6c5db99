"""How a line divides labelled rows: whether it separates them, how wide its margin is, and which rows hold it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.draw.terminal import count
from linnet.errors import LinnetError
from linnet.model.model import Model

ROUNDED = 0.01  # weights of a saved model are rounded, and solvers stop near the optimum


@dataclass(frozen=True)
class Separation:
    """wrong: rows on the wrong side. width: 2 / |w| of each output, in the space of its features. support: rows on the margin or inside.

    With one output the margin is where the score is 1 or -1; with several each class has its own, against the rest.
    """

    rows: int
    wrong: int
    width: list[float]
    support: list[int]

    @property
    def separable(self) -> bool:
        """Whether the line has every row on its side."""
        return self.wrong == 0

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**asdict(self), "separable": self.separable}

    def __str__(self) -> str:
        side = "separates the rows" if self.separable else f"has {count(self.wrong, 'row')} on the wrong side"
        width = ", ".join(f"{w:.3g}" for w in self.width)
        return f"the line {side}; margin {width}; {count(len(self.support), 'row')} of {self.rows:,} on the margin or inside"


def separation(model: Model, texts: Any, labels: Any, threads: int | None = None) -> Separation:
    """Look at rows as the line of a model divides them; scores are those before calibration."""
    if model.head is not None or model.multilabel or model.computed:
        raise LinnetError("only a line of one label a row has a margin, not a net, several labels or computed columns")
    scale = (model.card.get("calibration") or {}).get("scale", 1.0)
    shift = (model.card.get("calibration") or {}).get("shift", [0.0])[0]
    number = {str(c): k for k, c in enumerate(model.classes)}
    used, y = model.table.used, np.array([number.get(str(label), -1) for label in labels])
    norm = model.rows[used, :1].astype(np.float64)
    w = model.rows[used, 1:] / np.where(norm > 0.0, norm, 1.0) / scale  # (n_features, n_outputs)
    scores = (model.scores(texts, threads) - shift) / scale
    two = model.n_outputs == 1
    right: npt.NDArray[Any] = (y == 1)[:, None] if two else y[:, None] == np.arange(model.n_outputs)
    best = (scores[:, 0] > 0.0).astype(np.int64) if two else scores.argmax(axis=1)
    inside = (np.where(right, scores, -scores) <= 1.0 + ROUNDED).any(axis=1)
    width = 2.0 / np.maximum(np.asarray(arithmetic.norm(w, axis=0)), np.finfo(np.float64).tiny)
    return Separation(len(y), int((best != y).sum()), width.tolist(), np.flatnonzero(inside).tolist())
