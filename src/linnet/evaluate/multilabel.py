"""Scores where a row may have several labels or none: truth and predictions are indicator matrices.

Row i, column l is 1 where row i has label l. Labels of one row hang together, so everything that mixes labels takes its
interval from what each row adds (the infinitesimal jackknife), never from cells as if they were independent.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError
from linnet.evaluate.intervals import Interval, f1_wilson, jackknife_interval, mean_interval, wilson
from linnet.evaluate.metrics import ClassScores

__all__ = ["MultilabelEvaluation", "evaluate_multilabel"]

Floats = npt.NDArray[np.float64]
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
    subset_accuracy: float
    subset_accuracy_interval: Interval
    hamming_loss: float
    hamming_loss_interval: Interval
    micro_precision: float
    micro_precision_interval: Interval
    micro_recall: float
    micro_recall_interval: Interval
    micro_f1: float
    micro_f1_interval: Interval
    macro_f1: float
    macro_f1_interval: Interval
    weighted_f1: float
    weighted_f1_interval: Interval
    samples_f1: float
    samples_f1_interval: Interval
    per_label: tuple[ClassScores, ...]
    level: float = 0.95

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON; intervals are [low, high]."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("labels", "per_label")}
        rows = [{name: getattr(one, name) for name in one.__dataclass_fields__} for one in self.per_label]
        plain = [{k: list(v) if isinstance(v, tuple) else v for k, v in row.items()} for row in rows]
        scores = {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}
        return {**scores, "labels": list(self.labels), "per_label": plain}


def evaluate_multilabel(
    truth: npt.ArrayLike, predicted: npt.ArrayLike, labels: Sequence[Hashable] | None = None, *, level: float = 0.95
) -> MultilabelEvaluation:
    """Compare two indicator matrices, (rows, labels), of 0 and 1.

    >>> result = evaluate_multilabel([[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]], ["art", "law", "war"])
    >>> result.subset_accuracy, round(result.hamming_loss, 4), round(result.micro_f1, 4), round(result.macro_f1, 4)
    (0.5, 0.1667, 0.8, 0.6667)
    """
    T, P = _flags(truth, "truth"), _flags(predicted, "predicted")
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
    rows = _rows_f1(hits, T, P)
    off = wrong.mean(axis=1)
    micro = {
        "micro_precision": _ratio(hits.sum(1), P.sum(1), level),
        "micro_recall": _ratio(hits.sum(1), T.sum(1), level),
        "micro_f1": _ratio(2 * hits.sum(1), T.sum(1) + P.sum(1), level),
    }
    scores: dict[str, Any] = {}
    for name, (value, interval) in {**micro, **_means_of_f1(hits, T, P, level)}.items():
        scores |= {name: value, f"{name}_interval": interval}
    return MultilabelEvaluation(
        n, names, right / n, wilson(right, n, level), float(off.mean()), mean_interval(off, 0.0, 1.0, level),
        samples_f1=float(rows.mean()), samples_f1_interval=mean_interval(rows, 0.0, 1.0, level),
        per_label=_per_label(hits, T, P, names, level), level=level, **scores,
    )  # fmt: skip


def _flags(values: npt.ArrayLike, name: str) -> Flags:
    array: Any = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    if array.ndim != 2 or not np.isin(array, (0, 1)).all():
        raise DataError(f"{name} must be an indicator matrix of 0 and 1, rows by labels; got shape {array.shape}")
    return np.asarray(array, bool)


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
    f1 = 2 * hits.sum(0) / safe
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


def _rows_f1(hits: Flags, T: Flags, P: Flags) -> Floats:
    both = (T.sum(1) + P.sum(1)).astype(np.float64)
    return np.asarray(np.divide(2 * hits.sum(1), both, out=np.zeros(len(both)), where=both > 0))


def _per_label(hits: Flags, T: Flags, P: Flags, names: tuple[Hashable, ...], level: float) -> tuple[ClassScores, ...]:
    found = []
    for label, h, t, p in zip(names, hits.sum(0).tolist(), T.sum(0).tolist(), P.sum(0).tolist(), strict=True):
        found.append(
            ClassScores(
                label, h / p if p else 0.0, h / t if t else 0.0, 2 * h / (t + p) if t + p else 0.0, t, p,
                wilson(h, p, level), wilson(h, t, level), f1_wilson(h, t + p - 2 * h, level),
            )
        )  # fmt: skip
    return tuple(found)
