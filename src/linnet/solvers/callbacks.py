"""What every iterative solver reports after a pass over the data: one interface for bars, histories and plots.

Curves of training, in a line of text or as a chart: loss and held-out score, pass by pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from linnet.array_types import Array, Floats
from linnet.errors import LinnetError


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
                loss, score = entry["mean_loss" if "mean_loss" in entry else "loss"], entry.get("dev_accuracy")
            else:
                loss, score = entry.loss, entry.score
            losses.append(float(loss))
            if score is not None:
                scores.append(float(score))
        if not losses:
            raise LinnetError("the history has no passes: the model was fitted in one step, or read from a file")
        return cls(tuple(losses), tuple(scores))

    def __str__(self) -> str:
        from linnet.draw.terminal import sparkline

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
        from linnet.draw.markup import text_table

        rows = [["settings", "dev accuracy"]]
        for e in self:
            if isinstance(e, dict) and e.get("kind") == "candidate":
                settings = ", ".join(f"{k}={v}" for k, v in e.items() if k not in ("kind", "dev_accuracy"))
                rows.append([settings, f"{e['dev_accuracy']:.4f}"])
        table = text_table(rows) if len(rows) > 1 else ""
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
    from linnet.draw.charts import Axis, Line, figure, vertical

    layers = [Line(points), *([] if mark is None else [vertical(mark, "orange")])]
    return figure(layers, Axis(x, log=log, whole=not log), Axis(y), caption)


Weights: TypeAlias = tuple[Array, Any]
"""W, (n_features, n_outputs), and b, (n_outputs,); a net has embeddings and a Head in their place."""


@dataclass(frozen=True)
class Epoch:
    """One pass over the rows, or one step of a solver that looks at all rows at once.

    loss is C times the training loss, without the penalty; some solvers sum it while the weights move. violation is
    what ``tol`` bounds: the spread of the projected gradient (dual), |gradient| / |first gradient| (newton), the share
    of rows that changed the weights (sgd). active counts rows: still in play, all, or those that changed the weights.
    score is the accuracy on held-out rows, where some are held out.
    """

    number: int
    loss: float
    violation: float
    active: int
    score: float | None = None


@dataclass(frozen=True)
class SolverResult:
    """Where a solver ended: weights and intercepts, epochs made, the last violation, and why it ended."""

    W: Array
    b: Any
    epochs: int
    violation: float
    converged: bool
    interrupted: bool = False


@dataclass(frozen=True)
class Found:
    """Where the search ended, after how many passes, how far the gradient had come down, and why it ended."""

    w: Floats
    passes: int
    violation: float
    converged: bool
    stopped: bool = False
    """Whether patience ended it."""
    interrupted: bool = False
    """Whether Ctrl-C ended it."""


OnEpoch: TypeAlias = Callable[[Epoch, Callable[[], Any]], Any]
"""Called after each pass with the report and a function that gives the weights so far."""


def ignore(report: Epoch, weights: Callable[[], Any]) -> None:
    """Do nothing with a report."""


def showing(on_epoch: OnEpoch, change: Callable[..., Any]) -> OnEpoch:
    """Return a callback that is told of other weights: what change makes of those of the solver."""
    return lambda report, weights: on_epoch(report, lambda: change(*weights()))


class Callback:
    """What happens between two passes: held-out rows are scored, the best weights are kept, the report goes out.

    judge(weights) is the accuracy on held-out rows. With patience, a call returns True once that many passes in a row
    were no better than the best before them: time to stop. ``best`` holds the weights of the best pass; a solver that
    is interrupted or stopped returns those where there are any. ``history`` holds every report.

    >>> scores = iter([0.5, 0.7, 0.6, 0.7])
    >>> watch = Callback(judge=lambda weights: next(scores), patience=2)
    >>> [watch(Epoch(k, 1.0, 1.0, 1), lambda k=k: f"weights {k}") for k in range(1, 5)]
    [False, False, False, True]
    >>> watch.best
    'weights 2'
    """

    def __init__(
        self,
        on_epoch: OnEpoch | None = None,
        *,
        judge: Callable[[Any], float] | None = None,
        patience: int | None = None,
    ) -> None:
        self.on_epoch, self.judge, self.patience = on_epoch or ignore, judge, patience
        self.best: Any = None
        self.best_score = -np.inf
        self.history: list[Epoch] = History()
        self._since = 0

    def __call__(self, report: Epoch, weights: Callable[[], Any]) -> bool:
        """Take the report of a pass; returns whether to stop."""
        if self.judge is not None:
            found = weights()
            score = self.judge(found)
            report = replace(report, score=score)
            if score > self.best_score:
                self.best, self.best_score, self._since = found, score, 0
            else:
                self._since += 1
        self.history.append(report)
        self.on_epoch(report, weights)
        return self.judge is not None and self.patience is not None and self._since >= self.patience


class ConvergenceWarning(UserWarning):
    """A solver ran out of passes before it met its tolerance."""


def warn_unfinished(model: str, passes: int, violation: float, tol: float) -> None:
    """Say that a solver stopped early, and what to do."""
    warnings.warn(
        f"{model} stopped after max_iter={passes} passes at a violation of {violation:.1e}, above tol={tol:g}; "
        "scale the features, or raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=8,  # where fit was called
    )
