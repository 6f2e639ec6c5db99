"""How good a classifier is, from true labels and predictions: every score with its conventions, and an interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError
from linnet.evaluate import probability, tables
from linnet.evaluate.averages import averages, averages_intervals
from linnet.evaluate.intervals import Interval, f1_wilson, mean_interval, wilson
from linnet.evaluate.ranking import Area, TopK, areas, mean_area, top_k

__all__ = ["ClassScores", "Evaluation", "evaluate"]

Label = Hashable
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

TOP = (2, 3, 5, 10)


@dataclass(frozen=True)
class ClassScores:
    """Precision, recall and F1 of one class, with Wilson intervals; what is undefined is 0.0."""

    label: Label
    precision: float
    recall: float
    f1: float
    support: int  # rows of this class
    predicted: int  # rows put into this class
    precision_interval: Interval
    recall_interval: Interval
    f1_interval: Interval


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The scores of one classifier on one set of rows.

    The conventions are scikit-learn's. `macro_f1` is the mean over every label that occurs in the truth or in the
    predictions; `weighted_f1` weighs it by support; `micro_f1` is the accuracy, as every row has one label;
    `balanced_accuracy` is the mean recall of the labels in the truth. `log_loss` (natural logarithm, probabilities
    clipped to 2.2e-16), `brier` (squared error summed over the classes; half of it for two classes, so that it is the
    squared error of one probability) and `calibration_error` (mean distance of confidence and accuracy over 15 bins of
    equal mass) are None without probabilities. So are `roc_area` and `pr_area`: for two classes those of the second,
    else the mean over the classes that have rows, each against the rest; `areas` holds each class.

    Every score NAME has its NAME_interval: Wilson's for shares of rows, else computed when first asked for.

    Labels in the truth that the classifier does not know stand in `unknown_labels` with their counts. Their rows are
    errors in every score: a true probability of 0 in log loss and Brier, a class of F1 0 and recall 0 in the means.
    """

    n: int
    classes: tuple[Label, ...]
    accuracy: float
    accuracy_interval: Interval
    per_class: tuple[ClassScores, ...]
    macro_f1: float
    micro_f1: float
    weighted_f1: float
    balanced_accuracy: float
    log_loss: float | None
    brier: float | None
    calibration_error: float | None
    confusion: Indices  # (n_classes, n_classes): rows truth, columns predicted
    unknown_labels: Mapping[Label, int]  # the most frequent first
    unknown_confusion: Indices  # (n_unknown, n_classes): the same for the unknown labels
    warnings: tuple[str, ...]
    level: float = 0.95
    draws: int = 2000
    seed: int = 0
    truth: Indices = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)  # numbers past classes: unknown
    predicted: Indices = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    proba: Floats | None = field(default=None, repr=False)  # (n, n_classes)

    @cached_property
    def _table(self) -> Indices:
        return np.vstack([self.confusion, self.unknown_confusion])

    @cached_property
    def averages(self) -> dict[str, float]:
        """Macro and weighted precision, recall and F1, and the balanced accuracy, by name."""
        return averages(self._table)

    @cached_property
    def averages_intervals(self) -> dict[str, Interval]:
        """Their bootstrap intervals; without any error there is nothing to resample: that of the accuracy."""
        if self.accuracy == 1:
            return dict.fromkeys(self.averages, self.accuracy_interval)
        return averages_intervals(self._table, self.level, self.draws, self.seed)

    @cached_property
    def macro_f1_interval(self) -> Interval:
        """Bootstrap interval, computed when first asked for; without any error it is the interval of the accuracy."""
        return self.averages_intervals["macro_f1"]

    @property
    def weighted_f1_interval(self) -> Interval:
        """Bootstrap interval."""
        return self.averages_intervals["weighted_f1"]

    @property
    def balanced_accuracy_interval(self) -> Interval:
        """Bootstrap interval."""
        return self.averages_intervals["balanced_accuracy"]

    @cached_property
    def log_loss_interval(self) -> Interval | None:
        """Accelerated bootstrap of a mean over rows."""
        if self.proba is None:
            return None
        return mean_interval(probability.log_losses(self.truth, self.proba), 0.0, probability.MOST_LOSS, self.level)

    @cached_property
    def brier_interval(self) -> Interval | None:
        """Accelerated bootstrap of a mean over rows."""
        if self.proba is None:
            return None
        most = 1.0 if len(self.classes) == 2 else 2.0
        return mean_interval(probability.briers(self.truth, self.proba), 0.0, most, self.level)

    @cached_property
    def calibration_bins(self) -> tuple[probability.CalibrationBin, ...]:
        """15 bins of equal mass by confidence; none without probabilities."""
        if self.proba is None:
            return ()
        confidence = self.proba[np.arange(self.n), self.predicted]
        return probability.calibration_bins(self.truth == self.predicted, confidence)

    @cached_property
    def calibration_error_interval(self) -> Interval | None:
        """The true errors that could well have given this one: luck alone gives some."""
        if self.proba is None:
            return None
        return probability.calibration_interval(self.calibration_bins, level=self.level, seed=self.seed)

    @cached_property
    def areas(self) -> list[tuple[Area, Area] | None]:
        """ROC and precision-recall area of each class against the rest; None where all rows are on one side."""
        return [] if self.proba is None else areas(self.truth, self.proba, self.level)

    @cached_property
    def _mean_areas(self) -> tuple[Area | None, Area | None]:
        found = [both for both in (self.areas[1:] if len(self.classes) == 2 else self.areas) if both is not None]
        return mean_area([roc for roc, _ in found], self.level), mean_area([pr for _, pr in found], self.level)

    @property
    def roc_area(self) -> float | None:
        """Share of pairs in the right order: of the second of two classes, else the mean over classes."""
        return self._mean_areas[0].value if self._mean_areas[0] else None

    @property
    def roc_area_interval(self) -> Interval | None:
        """Infinitesimal jackknife on the logit scale."""
        return self._mean_areas[0].interval if self._mean_areas[0] else None

    @property
    def pr_area(self) -> float | None:
        """Average precision: of the second of two classes, else the mean over classes."""
        return self._mean_areas[1].value if self._mean_areas[1] else None

    @property
    def pr_area_interval(self) -> Interval | None:
        """Infinitesimal jackknife on the logit scale."""
        return self._mean_areas[1].interval if self._mean_areas[1] else None

    @cached_property
    def top_k(self) -> tuple[TopK, ...]:
        """How often the truth is among the best 2, 3, 5 and 10, as far as there are more classes than that."""
        if self.proba is None:
            return ()
        return tuple(top_k(self.truth, self.proba, k, self.level) for k in TOP if k < len(self.classes))

    def confusion_interval(self, truth: int, predicted: int) -> Interval:
        """Wilson's interval of the share of the rows of class number `truth` that are put into `predicted`.

        >>> low, high = evaluate(["a", "b", "b"], ["a", "a", "b"], ["a", "b"]).confusion_interval(1, 0)
        >>> round(low, 2), round(high, 2)
        (0.09, 0.91)
        """
        return wilson(self._table[truth, predicted], self._table[truth].sum(), self.level)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON.

        Keys: n, classes, accuracy, accuracy_interval, macro_f1, macro_f1_interval, micro_f1, weighted_f1,
        balanced_accuracy, log_loss, brier, calibration_error, level, per_class (a list of label, precision,
        precision_interval, recall, recall_interval, f1, f1_interval, support, predicted), confusion (rows truth,
        columns predicted), unknown_labels (a list of label, count), unknown_confusion, warnings; then macro_ and
        weighted_ precision and recall, micro_, and roc_area, pr_area, all with their _interval, calibration_bins (a list
        of size, confidence, accuracy, interval), top_k (a list of k, accuracy, interval). A class also has roc_area,
        pr_area and their intervals. Intervals are [low, high]; what needs probabilities is null without them.

        >>> evaluate(["a", "b"], ["a", "a"], ["a", "b"]).to_dict()["confusion"]
        [[1, 0], [1, 0]]
        """
        names = "accuracy accuracy_interval macro_f1 macro_f1_interval micro_f1 weighted_f1 balanced_accuracy log_loss"
        scores = "precision precision_interval recall recall_interval f1 f1_interval support predicted"
        return {
            "n": self.n,
            "classes": [_plain(label) for label in self.classes],
            **{name: _plain(getattr(self, name)) for name in f"{names} brier calibration_error level".split()},
            "per_class": [
                {
                    "label": _plain(one.label),
                    **{name: _plain(getattr(one, name)) for name in scores.split()},
                    **self._areas_of(c),
                }
                for c, one in enumerate(self.per_class)
            ],
            "confusion": self.confusion.tolist(),
            "unknown_labels": [{"label": _plain(label), "count": n} for label, n in self.unknown_labels.items()],
            "unknown_confusion": self.unknown_confusion.tolist(),
            "warnings": list(self.warnings),
            **self._added(),
        }

    def _areas_of(self, c: int) -> dict[str, Any]:
        both = self.areas[c] if self.areas else None
        roc, pr = both if both else (None, None)
        return {
            "roc_area": roc and roc.value, "roc_area_interval": roc and list(roc.interval),
            "pr_area": pr and pr.value, "pr_area_interval": pr and list(pr.interval),
        }  # fmt: skip

    def _added(self) -> dict[str, Any]:
        """The keys that came later."""
        found: dict[str, Any] = {}
        for name in ("macro_precision", "macro_recall", "weighted_precision", "weighted_recall"):
            found |= {name: self.averages[name], f"{name}_interval": list(self.averages_intervals[name])}
        for name in ("micro_precision", "micro_recall"):  # every row has one label: both are the accuracy
            found |= {name: self.accuracy, f"{name}_interval": list(self.accuracy_interval)}
        found["micro_f1_interval"] = list(self.accuracy_interval)
        for name in ("weighted_f1", "balanced_accuracy", "log_loss", "brier", "calibration_error"):
            found[f"{name}_interval"] = _plain(getattr(self, f"{name}_interval"))
        for name in ("roc_area", "pr_area"):
            found |= {name: getattr(self, name), f"{name}_interval": _plain(getattr(self, f"{name}_interval"))}
        found["calibration_bins"] = [
            {"size": b.size, "confidence": b.confidence, "accuracy": b.accuracy, "interval": list(b.interval)}
            for b in self.calibration_bins
        ]
        found["top_k"] = [{"k": t.k, "accuracy": t.accuracy, "interval": list(t.interval)} for t in self.top_k]
        return found

    def to_text(self, width: int = 80) -> str:
        """A plain-text report for the terminal.

        >>> print(evaluate(["a", "b", "b", "b"], ["a", "a", "b", "b"], ["a", "b"]).to_text())
        accuracy 0.7500 [0.3006, 0.9544] on 4 rows
        macro F1 0.7333 [0.2000, 1.0000], weighted F1 0.7667, balanced accuracy 0.8333
        <BLANKLINE>
        class  precision  recall      F1  support
        a         0.5000  1.0000  0.6667        1
        b         1.0000  0.6667  0.8000        3
        <BLANKLINE>
        confusion matrix (rows: truth, columns: predicted)
           a  b
        a  1  0
        b  1  2
        """
        return tables.text(self, width)

    def _repr_html_(self) -> str:
        return tables.html(self)


def evaluate(
    y_true: Sequence[Label] | npt.ArrayLike,
    predicted: Sequence[Label] | npt.ArrayLike,
    classes: Sequence[Label] | npt.ArrayLike,
    *,
    proba: npt.ArrayLike | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Evaluation:
    """Compare predictions with the truth.

    `predicted` holds labels, or probabilities of shape (n, n_classes) in the order of `classes`; then the most probable
    class is the prediction. Give labels and `proba` when the labels were not decided by the largest probability.

    >>> result = evaluate(["neg", "pos", "pos"], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], ["neg", "pos"])
    >>> round(result.accuracy, 4), round(result.log_loss, 4), result.confusion.tolist()
    (0.6667, 0.4149, [[1, 0], [1, 1]])
    """
    known = tuple(_listed(classes))
    index = {label: number for number, label in enumerate(known)}
    if not known or len(index) < len(known):
        raise DataError(f"classes must be one or more different labels, got {list(known)!r}")
    labels: Any = predicted
    if _is_table(predicted):
        if proba is not None:
            raise DataError("predicted holds probabilities already; give labels there, or leave proba out")
        labels, proba = None, labels
    truth = _listed(y_true)
    if not truth:
        raise DataError("there are no rows to evaluate; give at least one row with a label")
    P = None if proba is None else _probabilities(proba, len(truth), known)
    p = P.argmax(axis=1) if labels is None and P is not None else _predictions(labels, len(truth), index)
    t, unknown = _truth(truth, index)
    return _scores(t, p, P, known, unknown, level, draws, seed)


def _scores(
    t: Indices, p: Indices, P: Floats | None, classes: tuple[Label, ...], unknown: dict[Label, int],
    level: float, draws: int, seed: int,
) -> Evaluation:  # fmt: skip
    """Everything from class numbers; numbers beyond the classes are unknown labels."""
    n, k = len(t), len(classes)
    table = np.bincount(t * k + p, minlength=(k + len(unknown)) * k).reshape(-1, k)  # (k + n_unknown, k)
    hits = np.diagonal(table)
    support, put = table.sum(axis=1), table.sum(axis=0)
    recall = _ratio(hits, support[:k])
    precision = _ratio(hits, put)
    f1 = _ratio(2 * hits, support[:k] + put)
    occurring = np.count_nonzero(support[:k] + put) + len(unknown)
    per_class = tuple(
        ClassScores(
            label, float(precision[c]), float(recall[c]), float(f1[c]), int(support[c]), int(put[c]),
            wilson(hits[c], put[c], level), wilson(hits[c], support[c], level),
            f1_wilson(hits[c], support[c] + put[c] - 2 * hits[c], level),
        )
        for c, label in enumerate(classes)
    )  # fmt: skip
    correct = int(hits.sum())
    return Evaluation(
        n=n,
        classes=classes,
        accuracy=correct / n,
        accuracy_interval=wilson(correct, n, level),
        per_class=per_class,
        macro_f1=float(f1.sum() / occurring),
        micro_f1=correct / n,
        weighted_f1=float((f1 * support[:k]).sum() / n),
        balanced_accuracy=float(recall.sum() / np.count_nonzero(support)),
        log_loss=None if P is None else float(probability.log_losses(t, P).mean()),
        brier=None if P is None else float(probability.briers(t, P).mean()),
        calibration_error=None
        if P is None
        else probability.calibration_error(probability.calibration_bins(t == p, P[np.arange(n), p])),
        confusion=table[:k],
        unknown_labels=unknown,
        unknown_confusion=table[k:],
        warnings=tuple(_warnings(per_class, unknown)),
        level=level,
        draws=draws,
        seed=seed,
        truth=t,
        predicted=p,
        proba=P,
    )


def _ratio(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Floats:
    """Share of the whole, 0.0 where the whole is 0."""
    shares = np.zeros(len(part))
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def _warnings(per_class: tuple[ClassScores, ...], unknown: dict[Label, int]) -> list[str]:
    warnings = []
    if unknown:
        rows = sum(unknown.values())
        warnings.append(
            f"{rows:,} {'row has a label' if rows == 1 else 'rows have labels'} the classifier does not know "
            f"({_named(list(unknown))}); counted as errors"
        )
    never = [one.label for one in per_class if not one.predicted]
    if never:
        warnings.append(f"nothing was predicted as {_named(never)}; precision is undefined there and set to 0.0")
    absent = [one.label for one in per_class if not one.support]
    if absent:
        warnings.append(f"no row is labelled {_named(absent)}; recall is undefined there and set to 0.0")
    return warnings


def _named(labels: list[Label], most: int = 5) -> str:
    more = f" and {len(labels) - most:,} more" if len(labels) > most else ""
    return ", ".join(repr(label) for label in labels[:most]) + more


# ---- input


def _listed(values: Any) -> list[Any]:
    """Labels as a list of plain values, from Arrow, NumPy, pandas, polars or any sequence."""
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(values, method):
            listed = getattr(values, method)()
            return listed if isinstance(listed, list) else [listed]
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _is_table(values: Any) -> bool:
    if hasattr(values, "shape"):
        return len(values.shape) == 2
    return isinstance(values, list | tuple) and bool(values) and isinstance(values[0], list | tuple | np.ndarray)


def _truth(labels: list[Any], index: dict[Label, int]) -> tuple[Indices, dict[Label, int]]:
    """Class numbers, unknown labels numbered after the classes, and how often each of those occurs."""
    strange = Counter(label for label in labels if label not in index)
    missing = [label for label in strange if label is None or label != label]
    if missing:
        rows = [row for row, label in enumerate(labels) if label not in index and (label is None or label != label)]
        raise DataError(f"{len(rows):,} of {len(labels):,} rows have no label, first row {rows[0]}; leave them out")
    unknown = dict(sorted(strange.items(), key=lambda item: (-item[1], str(item[0]))))
    numbers = index | {label: len(index) + number for number, label in enumerate(unknown)}
    return np.array([numbers[label] for label in labels], np.int64), unknown


def _predictions(predicted: Any, n: int, index: dict[Label, int]) -> Indices:
    labels = _listed(predicted)
    if len(labels) != n:
        raise DataError(f"there are {n:,} true labels but {len(labels):,} predictions; give one for each row")
    numbers = [index.get(label, -1) for label in labels]
    if -1 in numbers:
        row = numbers.index(-1)
        raise DataError(
            f"prediction {labels[row]!r} (row {row}) is none of the classes {_named(list(index))}; "
            "give labels, or probabilities of shape (rows, classes)"
        )
    return np.array(numbers, np.int64)


def _probabilities(proba: npt.ArrayLike, n: int, classes: tuple[Label, ...]) -> Floats:
    P = np.asarray(proba, np.float64)
    if P.shape != (n, len(classes)):
        raise DataError(f"probabilities must have shape ({n}, {len(classes)}), rows and classes; got {P.shape}")
    wrong = ~((P >= 0) & (P <= 1 + 1e-6)).all(axis=1) | ~(np.abs(P.sum(axis=1) - 1) <= 1e-3)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"row {row} does not hold probabilities, from 0 to 1 with the sum 1, but "
            f"{', '.join(f'{value:.4g}' for value in P[row, :5])}{' ...' if len(classes) > 5 else ''}; "
            "give probabilities, or labels"
        )
    return P


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return [_plain(item) for item in value] if isinstance(value, tuple) else str(value)
