"""The outcome of a comparison: scores of each model, tests of each pair, a table, JSON and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from linnet.comparison import summary
from linnet.draw.markup import paragraphs, safe, text_table
from linnet.draw.terminal import aligned
from linnet.evaluate.intervals import Interval, wilson
from linnet.evaluate.power_law import Forecast
from linnet.evaluate.significance import PairedTest
from linnet.values import to_plain

RENAMED = {  # fields that have another name in JSON
    "name": "model", "megabytes_per_second": "predict_megabytes_per_second", "size": "size_bytes", "discordant": "discordant_rows",
}  # fmt: skip
TABLE = (
    "model", "accuracy", "low", "high", "macro_f1", "log_loss", "train_seconds", "predict_seconds",
    "predict_megabytes_per_second", "size_bytes",
)  # fmt: skip
PLAIN = ("source", "metric", "rows", "rows_judged", "classes", "folds", "repeats", "folds_done", "finished", "seed")


@dataclass(frozen=True)
class ModelScores:
    """How good a model is on rows that it was not fitted on, and what it costs.

    Scores are of all held-out rows together; with repeats they, and the ends of their intervals, are means over the
    repeats. Where rows may have several labels the mean F1 of the rows stands in place of the accuracy. ``fold_accuracy``
    is that of each fold. Seconds are means over the folds; ``size`` is in bytes, of the
    model file of the first fold. ``settings`` are what the search chose most often.
    """

    name: str
    accuracy: float
    accuracy_interval: Interval
    macro_f1: float
    macro_f1_interval: Interval
    log_loss: float
    fold_accuracy: tuple[float, ...]
    train_seconds: float
    predict_seconds: float
    megabytes_per_second: float
    size: int
    settings: dict[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, tuple[float, Interval]] = field(default_factory=dict)  # every metric of predicted labels

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; intervals are [low, high]."""
        found = {RENAMED.get(key, key): value for key, value in to_plain(self).items() if key != "metrics"}
        for name, (value, interval) in self.metrics.items():
            found |= {name: value, f"{name}_interval": list(interval)}
        return found


@dataclass(frozen=True)
class Pair:
    """Two models on the same rows. ``p`` is that of ``test``, raised for the number of pairs (Holm).

    ``difference`` is the accuracy of the first, the better one, less that of the second. ``discordant`` rows are right
    with one of the two only.
    """

    better: str
    other: str
    difference: float
    discordant: int
    p: float
    test: PairedTest
    bootstrap: PairedTest
    fold_test: PairedTest | None
    macro_f1: PairedTest | None

    @property
    def differ(self) -> bool:
        """Whether the difference is more than luck, at 5 % for all pairs together."""
        return self.p < 0.05

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**{RENAMED.get(key, key): value for key, value in to_plain(self).items()}, "differ": self.differ}


@dataclass(frozen=True)
class Curve:
    """Accuracy at growing numbers of training rows, and what twice as many would bring (None: cannot be told)."""

    model: str
    rows: tuple[int, ...]
    right: tuple[float, ...]
    held: int
    forecast: Forecast | None

    @property
    def accuracy(self) -> tuple[float, ...]:
        """The share of held-out rows that are right, for each size."""
        return tuple(right / self.held for right in self.right)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        points = [
            {"rows": n, "accuracy": right / self.held, "interval": list(wilson(right, self.held))}
            for n, right in zip(self.rows, self.right, strict=True)
        ]
        forecast = to_plain(self.forecast)
        return {"model": self.model, "points": points, "forecast": forecast, "words": summary.of_curve(self)}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models compared on the same folds, the most accurate first.

    ``print`` it, show it in a notebook, take ``table`` (a list of dicts, for pandas too), ``words`` (sentences)
    or ``to_dict`` (everything). ``skipped`` says of models that could not take part why. ``finished`` is False where
    Ctrl-C ended the comparison; what is here is then of the folds that were done.
    """

    source: str
    rows: int
    rows_judged: int  # those held out in a finished fold: all of them, but for Ctrl-C
    classes: tuple[str, ...]
    folds: int
    repeats: int
    folds_done: int
    seed: int
    baseline: tuple[str, float]  # the most frequent label, and the share of rows that always saying it is right on
    models: tuple[ModelScores, ...]
    pairs: tuple[Pair, ...]
    skipped: Mapping[str, str]
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()
    finished: bool = True
    metric: str = "accuracy"
    """What ``accuracy`` is: where rows may have several labels, the mean F1 of the rows."""

    @property
    def best(self) -> ModelScores:
        """The most accurate model; whether by more than luck is in ``words``."""
        return self.models[0]

    @property
    def recommended(self) -> str:
        """The name of the model to take: of those that do not differ from the best, a clearly smaller or faster one."""
        return summary.recommendation(self)[0]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The outcome in sentences, the recommendation last."""
        return tuple(summary.of_comparison(self))

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dict a model: model, accuracy, low, high, macro_f1, log_loss, train_seconds, predict_..., size_bytes."""
        rows = [{**dict(zip(("low", "high"), m.accuracy_interval, strict=True)), **m.to_dict()} for m in self.models]
        return [{name: row[name] for name in TABLE} for row in rows]

    def cells(self, width: int = 1000) -> list[list[str]]:
        """Return the table as it is printed, its head first; where it is wider than width, without what matters least."""
        rows = [["model", self.metric, "95 % interval", "macro F1", "log loss", "train s", "MB/s", "size MB"]]
        for m in self.models:
            low, high = m.accuracy_interval
            rows.append([
                m.name, f"{m.accuracy:.4f}", f"[{low:.4f}, {high:.4f}]", f"{m.macro_f1:.4f}", f"{m.log_loss:.4f}",
                f"{m.train_seconds:.3g}", f"{m.megabytes_per_second:.3g}", f"{m.size / 1e6:.3g}",
            ])  # fmt: skip
        for column in (4, 3):
            if sum(max(map(len, cells)) + 2 for cells in zip(*rows, strict=True)) - 2 > width:
                rows = [row[:column] + row[column + 1 :] for row in rows]
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON.

        Keys: source, metric, rows, rows_judged, classes, folds, repeats, folds_done, finished, seed, baseline (label, accuracy),
        models (a list, best first), pairs, skipped (a list of model, reason), curves, notes, best, recommended, words.
        """
        return {
            **{name: to_plain(getattr(self, name)) for name in PLAIN},
            "baseline": dict(zip(("label", "accuracy"), self.baseline, strict=True)),
            "models": [model.to_dict() for model in self.models],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "skipped": [{"model": name, "reason": reason} for name, reason in self.skipped.items()],
            "curves": [curve.to_dict() for curve in self.curves],
            "notes": list(self.notes),
            "best": self.best.name,
            "recommended": self.recommended,
            "words": list(self.words),
        }

    def to_text(self, width: int = 100) -> str:
        """Return the table, the models that were left out, the curves, and the sentences."""
        parts = [aligned(self.cells(width), 1000), self._left_out()]
        parts += [aligned(curve_cells(curve, self.metric), 1000) for curve in self.curves]
        parts += [[f"note: {note}" for note in self.notes], list(self.words)]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        names = ", ".join(m.name for m in self.models)
        return f"<Comparison of {names} on {self.rows:,} rows, {self.folds_done} folds; best: {self.best.name}>"

    def _repr_html_(self) -> str:
        tables = text_table(self.cells(), f"{self.rows:,} rows, {summary.folds(self)}")
        tables += "".join(text_table(curve_cells(curve, self.metric)) for curve in self.curves)
        lines = [*self._left_out(), *(f"note: {note}" for note in self.notes), *self.words]
        return f"<div>{tables}{paragraphs(map(safe, lines))}</div>"

    def _left_out(self) -> list[str]:
        return [f"{name} was left out: {reason}" for name, reason in self.skipped.items()]


def curve_cells(curve: Curve, metric: str = "accuracy") -> list[list[str]]:
    """Return a learning curve as it is printed, its head first."""
    cells = [[f"{curve.model}: training rows", metric, "95 % interval"]]
    for n, right in zip(curve.rows, curve.right, strict=True):
        low, high = wilson(right, curve.held)
        cells.append([f"{n:,}", f"{right / curve.held:.4f}", f"[{low:.4f}, {high:.4f}]"])
    return cells
