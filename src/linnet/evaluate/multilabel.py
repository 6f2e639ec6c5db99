"""Scores where a row may have several labels or none: truth and predictions are indicator matrices.

Row i, column l is 1 where row i has label l. Labels of one row hang together, so everything that mixes labels takes its
interval from what each row adds (the infinitesimal jackknife), never from cells as if they were independent.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.draw.terminal import aligned, estimate
from linnet.errors import DataError
from linnet.evaluate.evaluation import ClassScores
from linnet.evaluate.intervals import Interval, jackknife_interval, mean_interval, wilson, with_intervals
from linnet.evaluate.metrics import share
from linnet.evaluate.tables import class_rows
from linnet.models.inputs import indicators
from linnet.values import to_plain

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class MultilabelEvaluation:
    """The scores of predicted label sets; the conventions are scikit-learn's, what is undefined is 0.0.

    `subset_accuracy` is the share of rows whose labels are all right, `hamming_loss` the share of wrong cells,
    `samples_f1` the mean F1 of the rows, `micro_...` of all cells together, `macro_f1` the mean over labels,
    `weighted_f1` that mean by support.
    """

    n: int
    labels: tuple[Hashable, ...]
    scores: Mapping[str, tuple[float, Interval]]  # by name
    per_label: tuple[ClassScores, ...]
    level: float = 0.95
    unknown_labels: tuple[Hashable, ...] = ()

    def __getattr__(self, name: str) -> Any:
        """Return a score, or its interval by NAME_interval."""
        key = name.removesuffix("_interval")
        if key not in vars(self).get("scores", {}):
            raise AttributeError(name)
        return self.scores[key][name.endswith("_interval")]

    def score(self, metric: str) -> tuple[float, Interval]:
        """Return a score and its interval, by the name that ``--metric`` takes."""
        return self.scores[metric.replace("-", "_")]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON; intervals are [low, high]."""
        names = ("n", "level", "labels", "per_label", "unknown_labels")
        return with_intervals(self.scores) | {name: to_plain(getattr(self, name)) for name in names}

    def to_text(self, width: int = 100) -> str:
        """Return the scores as a page of text: the means with their intervals, then the labels, the commonest first."""
        lines = [f"{self.n:,} rows, {len(self.labels):,} labels, several a row"]
        lines += [f"{name.replace('_', ' '):<18} {estimate(*both)}" for name, both in self.scores.items()]
        ranked = sorted(self.per_label, key=lambda one: (-one.support, str(one.label)))
        lines += ["", *aligned(class_rows(ranked), width)]
        if self.unknown_labels:
            lines += ["", f"not known to the model, and missed: {', '.join(map(str, self.unknown_labels))}"]
        return "\n".join(line[:width] for line in lines)


def evaluate_multilabel(
    truth: Any, predicted: npt.ArrayLike, labels: Sequence[Hashable] | None = None, *, proba: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> MultilabelEvaluation:  # fmt: skip
    """Compare two indicator matrices, (rows, labels), of 0 and 1.

    The truth may be tuples of labels; labels that are not known are counted, and missed. With proba, (rows, labels),
    `precision_at_1` is how often the first answer is right, `precision_at_3` and `..._5` how many of the first few are.

    >>> result = evaluate_multilabel([[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]], ["art", "law", "war"])
    >>> result.subset_accuracy, round(result.hamming_loss, 4), round(result.micro_f1, 4), round(result.macro_f1, 4)
    (0.5, 0.1667, 0.8, 0.6667)
    """
    P = indicators(predicted, "predicted")
    T, unknown = _truth(truth, labels)
    if unknown:
        P = np.pad(P, ((0, 0), (0, len(unknown))))
        labels = (*(labels or ()), *unknown)
    if T.shape != P.shape or not T.size:
        raise DataError(
            f"truth and predicted must have the same shape, with rows and labels; got {T.shape} and {P.shape}"
        )
    names = tuple(range(T.shape[1])) if labels is None else tuple(labels)
    if len(names) != T.shape[1]:
        raise DataError(f"there are {T.shape[1]} columns but {len(names)} labels; name each column once")
    hits, wrong = T & P, T ^ P
    n = len(T)
    right = int((~wrong.any(axis=1)).sum())
    rows = row_f1(T, P)
    off = wrong.mean(axis=1)
    scores = {
        "subset_accuracy": (right / n, wilson(right, n, level)),
        "hamming_loss": (float(off.mean()), mean_interval(off, 0.0, 1.0, level)),
        "micro_precision": _ratio(hits.sum(1), P.sum(1), level),
        "micro_recall": _ratio(hits.sum(1), T.sum(1), level),
        "micro_f1": _ratio(2 * hits.sum(1), T.sum(1) + P.sum(1), level),
        **_means_of_f1(hits, T, P, level),
        "samples_f1": (float(rows.mean()), mean_interval(rows, 0.0, 1.0, level)),
    }
    if proba is not None:
        scores |= _precisions(T, np.asarray(proba), level)
    columns = (hits.sum(0).tolist(), T.sum(0).tolist(), P.sum(0).tolist())
    per_label = tuple(ClassScores.of(*one, level) for one in zip(names, *columns, strict=True))
    return MultilabelEvaluation(n, names, scores, per_label, level, unknown)


def row_f1(truth: Flags, predicted: Flags) -> npt.NDArray[np.float64]:
    """Return the F1 of the labels of each row; 0.0 where a row has none and none is predicted, as in scikit-learn.

    >>> row_f1(np.array([[True, True, False], [False, True, False]]), np.array([[True, False, False], [False, True, False]])).round(4)
    array([0.6667, 1.    ])
    """
    return np.asarray(share(2 * (truth & predicted).sum(1), truth.sum(1) + predicted.sum(1)))


def _ratio(part: npt.NDArray[Any], whole: npt.NDArray[Any], level: float) -> tuple[float, Interval]:
    """A ratio of two sums over rows: d/dw_i (sum part / sum whole) = (part_i - ratio whole_i) / sum whole."""
    total = float(whole.sum())
    if not total:
        return 0.0, (0.0, 1.0)
    value = float(part.sum()) / total
    return value, jackknife_interval(value, (part - value * whole) / total, float(np.count_nonzero(whole)), level)


def _means_of_f1(hits: Flags, T: Flags, P: Flags, level: float) -> dict[str, tuple[float, Interval]]:
    """Macro and weighted F1, with what each row adds to every label's F1."""
    both = (T.sum(0) + P.sum(0)).astype(np.float64)  # (labels,)
    safe = np.where(both > 0, both, 1.0)
    f1 = share(2 * hits.sum(0), both)
    added = (2.0 * hits - f1 * (T.astype(np.float64) + P)) / safe  # (rows, labels)
    macro = float(f1.mean())
    support = T.sum(0) / max(1, T.sum())
    weighted = float(f1 @ support)
    moved = added @ support + (T @ f1 - weighted * T.sum(1)) / max(1, T.sum())  # the weights move too
    n = float(np.count_nonzero((T | P).any(axis=1)))
    return {
        "macro_f1": (macro, jackknife_interval(macro, added.mean(axis=1), n, level)),
        "weighted_f1": (weighted, jackknife_interval(weighted, moved, n, level)),
    }


def _truth(truth: Any, labels: Sequence[Hashable] | None) -> tuple[Flags, tuple[Hashable, ...]]:
    """Return the truth as an indicator matrix, and the labels that are not known: its last columns."""
    if not (isinstance(truth, Sequence) and len(truth) and isinstance(truth[0], tuple | set | frozenset)):
        return indicators(truth, "truth"), ()
    known = list(labels or sorted({label for row in truth for label in row}))
    unknown = tuple(sorted({label for row in truth for label in row} - set(known), key=str))
    place = {label: k for k, label in enumerate([*known, *unknown])}
    out = np.zeros((len(truth), len(place)), bool)
    for row, found in enumerate(truth):
        out[row, [place[label] for label in found]] = True
    return out, unknown


def _precisions(T: Flags, proba: npt.NDArray[Any], level: float) -> dict[str, tuple[float, Interval]]:
    """Precision among the first k labels of each row."""
    order = np.argsort(-proba, axis=1, kind="stable")
    right = np.take_along_axis(T, order, axis=1)
    found = {}
    for k in (1, 3, 5):
        if k <= proba.shape[1]:
            shares = right[:, :k].mean(axis=1)
            found[f"precision_at_{k}"] = (float(shares.mean()), mean_interval(shares, 0.0, 1.0, level))
    return found
