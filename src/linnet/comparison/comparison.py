"""The outcome of a comparison: scores of each model, tests of each pair, a table, JSON and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist, median
from typing import TYPE_CHECKING, Any

from linnet.draw.markup import paragraphs, safe, text_table
from linnet.draw.terminal import aligned, ends
from linnet.evaluate.intervals import Interval, wilson, with_intervals
from linnet.evaluate.significance import PairedTest
from linnet.values import to_plain

if TYPE_CHECKING:
    from linnet.comparison.run_comparison import Forecast

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
        return found | with_intervals(self.metrics)


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
        return {"model": self.model, "points": points, "forecast": to_plain(self.forecast), "words": of_curve(self)}


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
        return recommendation(self)[0]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The outcome in sentences, the recommendation last."""
        return tuple(of_comparison(self))

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dict a model: model, accuracy, low, high, macro_f1, log_loss, train_seconds, predict_..., size_bytes."""
        rows = [{**dict(zip(("low", "high"), m.accuracy_interval, strict=True)), **m.to_dict()} for m in self.models]
        return [{name: row[name] for name in TABLE} for row in rows]

    def cells(self, width: int = 1000) -> list[list[str]]:
        """Return the table as it is printed, its head first; where it is wider than width, without what matters least."""
        rows = [["model", self.metric, "95 % interval", "macro F1", "log loss", "train s", "MB/s", "size MB"]]
        for m in self.models:
            scores = (m.accuracy, m.macro_f1, m.log_loss)
            first, *others = (f"{value:.4f}" for value in scores)
            costs = (f"{value:.3g}" for value in (m.train_seconds, m.megabytes_per_second, m.size / 1e6))
            rows.append([m.name, first, ends(m.accuracy_interval), *others, *costs])
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
        tables = text_table(self.cells(), f"{self.rows:,} rows, {folds(self)}")
        tables += "".join(text_table(curve_cells(curve, self.metric)) for curve in self.curves)
        lines = [*self._left_out(), *(f"note: {note}" for note in self.notes), *self.words]
        return f"<div>{tables}{paragraphs(map(safe, lines))}</div>"

    def _left_out(self) -> list[str]:
        return [f"{name} was left out: {reason}" for name, reason in self.skipped.items()]


def curve_cells(curve: Curve, metric: str = "accuracy") -> list[list[str]]:
    """Return a learning curve as it is printed, its head first."""
    cells = [[f"{curve.model}: training rows", metric, "95 % interval"]]
    for n, right in zip(curve.rows, curve.right, strict=True):
        cells.append([f"{n:,}", f"{right / curve.held:.4f}", ends(wilson(right, curve.held))])
    return cells


# ---- A comparison in sentences: which models differ, by how much, and which one to use.


CLOSE = 0.01  # a model is recommended instead of the best only if it is this close
SMALLER, FASTER = 1.5, 2.0  # and clearly smaller, or as small and clearly faster to train
WIDE = 0.05  # a wider interval of a forecast says nothing


def p_text(p: float) -> str:
    """Write a p-value as people do.

    >>> p_text(0.41), p_text(0.0123), p_text(0.00001), p_text(1.0)
    ('p = 0.41', 'p = 0.012', 'p < 0.001', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def points(difference: float) -> str:
    """Write a difference of accuracies in points of a hundred.

    >>> points(0.0193), points(0.01), points(0.0004)
    ('1.9 points', '1.0 point', '0.04 points')
    """
    size = abs(100 * difference)
    text = f"{size:.1f}" if size >= 0.095 or size == 0 else f"{size:.2f}"
    return f"{text} point{'' if text == '1.0' else 's'}"


def folds(found: Comparison) -> str:
    """Say how rows were held out.

    The number of folds, how often they were drawn, and how many were done where Ctrl-C came first.
    """
    drawn = f", drawn {found.repeats} times" if found.repeats > 1 else ""
    whole = found.folds * found.repeats
    return f"{found.folds} folds{drawn}" + (f", {found.folds_done} of {whole} done" if found.folds_done < whole else "")


def of_comparison(found: Comparison) -> list[str]:
    """Return the sentences: best against each other model, the test, its power, the baseline, the recommendation."""
    pairs = _with_best(found)
    by_rows = bool(pairs) and pairs[0].test.test.startswith(("McNemar", "paired t"))  # and not by folds
    lines = [
        f"{pair.other} is worse than {pair.better} by {points(pair.difference)} ({p_text(pair.p)})."
        if pair.differ
        else f"{pair.better} and {pair.other} do not differ significantly ({p_text(pair.p)}; {points(pair.difference)} apart)."
        for pair in pairs
    ]
    if by_rows:
        what = "McNemar on" if found.metric == "accuracy" else "paired t-test on the F1 of the labels of"
        lines.append(f"Test: {what} the same {found.rows_judged:,} held-out rows{_corrected(found)}.")
    elif pairs:
        over = f"corrected repeated k-fold t-test (Nadeau and Bengio) over {found.folds_done} folds"
        lines.append(f"Test: {over}{_corrected(found)}.")
    alike = [pair.discordant for pair in pairs if not pair.differ]
    if alike and by_rows:  # the difference that has a chance of 80 % to be found, from how often the models disagree
        z = NormalDist().inv_cdf(1 - 0.025 / len(found.pairs)) + NormalDist().inv_cdf(0.8)
        seen = points(z * math.sqrt(max(1.0, median(alike))) / found.rows_judged)
        lines.append(f"With {found.rows_judged:,} rows, differences below about {seen} are often not found.")
    label, share = found.baseline
    metric = "% accuracy" if found.metric == "accuracy" else "% F1 of the rows"
    always = f"always predicting '{label}' gives {100 * share:.1f} {metric}"
    lines.append(
        f"Baseline: {always}."
        if found.best.accuracy_interval[0] > share
        else f"Warning: {always}; no model is clearly better than that. Get more rows or better labels first."
    )
    lines += [of_curve(curve) for curve in found.curves]
    name, reason = recommendation(found)
    lines.append(f"Use {name}: {reason}.")
    return lines


def _with_best(found: Comparison) -> list[Pair]:
    order = {m.name: k for k, m in enumerate(found.models)}
    return sorted((pair for pair in found.pairs if pair.better == found.best.name), key=lambda pair: order[pair.other])


def _corrected(found: Comparison) -> str:
    return f"; p-values corrected for {len(found.pairs)} pairs (Holm)" if len(found.pairs) > 1 else ""


def recommendation(found: Comparison) -> tuple[str, str]:
    """Return the model to use and why.

    The best, unless another does not differ from it significantly, is within one point, and is clearly smaller (by a third), or no
    larger and clearly faster to train (by half).
    """
    best = found.best
    if len(found.models) == 1:
        return best.name, "the only model compared"
    scores = {m.name: m for m in found.models}
    alike = [pair for pair in _with_best(found) if not pair.differ]
    cheaper: list[tuple[ModelScores, str]] = []
    for m in (scores[pair.other] for pair in alike if pair.difference <= CLOSE):
        smaller, faster = best.size / m.size, best.train_seconds / max(m.train_seconds, 1e-9)
        reasons = [f"{smaller:.1f} times smaller"] if smaller >= SMALLER else []
        reasons += [f"{faster:.1f} times faster to train"] if faster >= FASTER else []
        if reasons and (smaller >= SMALLER or m.size <= 1.1 * best.size):
            cheaper.append((m, " and ".join(reasons)))
    if cheaper:
        chosen, why = min(
            cheaper, key=lambda one: (round(math.log(one[0].size, 1.1)), one[0].train_seconds, one[0].name)
        )
        return chosen.name, f"no significant difference from {best.name}, and {why}"
    if not alike:
        return best.name, "significantly better than every other model"
    return best.name, "most accurate, and no cheaper model is within one point"


def of_curve(curve: Curve) -> str:
    """Say what more labels would bring, or that the curve does not show it."""
    ahead = curve.forecast
    if ahead is None:
        return (
            f"{curve.model}: {len(curve.rows)} sizes on these folds are too few to predict the effect of more labels."
        )
    low, high = ahead.interval
    more = f"{curve.model}: with twice the labels ({ahead.rows:,} training rows)"
    if high - low > WIDE:
        return f"{more} the gain is uncertain: between {points(low)} and {points(high)}."
    if high < 0.005:
        return f"{more} accuracy would hardly rise (at most {points(high)})."
    if low <= 0.0:
        return f"{more} accuracy would rise by at most {points(high)}, perhaps not at all."
    return f"{more} accuracy would rise by about {points(ahead.gain)} ({100 * low:.1f} to {100 * high:.1f})."
