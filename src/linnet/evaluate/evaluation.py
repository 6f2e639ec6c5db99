"""How good a classifier is, from true labels and predictions: every score with its conventions, and an interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.draw.terminal import listed
from linnet.errors import DataError, nearest, shown
from linnet.evaluate import metrics, tables
from linnet.evaluate.intervals import Interval, bootstrap_many, f1_wilson, wilson, with_intervals
from linnet.evaluate.metrics import METRICS, PROBABILITY_METRICS, Area, CalibrationBin, Counts, TopK, share
from linnet.model.decision import Answers
from linnet.values import to_plain

Label = Hashable
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

TOP = (2, 3, 5, 10)
DRAWN = 40_000_000  # cells of all draws of a bootstrap: where there are very many cells, fewer draws do
MATRIX_LABELS = 1000  # above this the matrix is not written out
ALIASES = dict.fromkeys(("micro_precision", "micro_recall", "micro_f1"), "accuracy")  # every row has one label
SCORES = (*METRICS, *ALIASES, *PROBABILITY_METRICS)


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

    @classmethod
    def of(cls, label: Label, hits: int, support: int, predicted: int, level: float) -> ClassScores:
        """Score one class from its right rows, its rows, and the rows put into it.

        >>> ClassScores.of("spam", 3, 4, 6, 0.95).f1
        0.6
        """
        precision, recall, f1 = share(
            np.array([hits, hits, 2 * hits]), np.array([predicted, support, support + predicted])
        )
        return cls(
            label, float(precision), float(recall), float(f1), support, predicted, wilson(hits, predicted, level),
            wilson(hits, support, level), f1_wilson(hits, support + predicted - 2 * hits, level),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The scores of one classifier on one set of rows.

    Every metric of ``linnet.evaluate.metrics`` is an attribute, NAME, with its 95 % interval, NAME_interval. Both are
    computed when first asked for. The conventions are scikit-learn's. `macro_f1` is the mean over every label that
    occurs in the truth or in the predictions; `weighted_f1` weighs it by support; `micro_f1` is the accuracy, as every
    row has one label; `balanced_accuracy` is the mean recall of the labels in the truth. `log_loss` (natural logarithm,
    probabilities clipped to 2.2e-16), `brier` (squared error summed over the classes; half of it for two classes, so
    that it is the squared error of one probability) and `calibration_error` (mean distance of confidence and accuracy
    over 15 bins of equal mass) are None without probabilities. So are `roc_area` and `pr_area`: for two classes those
    of the second, else the mean over the classes that have rows, each against the rest; `areas` holds each class.

    Labels in the truth that the classifier does not know stand in `unknown_labels` with their counts. Their rows are
    errors in every score: a true probability of 0 in log loss and Brier, a class of F1 0 and recall 0 in the means.
    """

    classes: tuple[Label, ...]
    truth: Indices = field(repr=False)  # class numbers; those past the classes are unknown labels
    predicted: Indices = field(repr=False)
    proba: Floats | None = field(repr=False)  # (n, n_classes)
    unknown_labels: Mapping[Label, int]  # the most frequent first
    level: float = 0.95
    draws: int = 2000
    seed: int = 0
    abstained: int = 0
    """Rows without an answer; they are in no score."""
    costs: Floats | None = field(default=None, repr=False)  # (n_classes, n_classes): rows truth, columns answer
    places: Floats | None = field(default=None, repr=False)
    """Where each class lies, where classes have an order: its number, or its place in the order."""

    def __getattr__(self, name: str) -> Any:
        """Compute a metric or its interval, by the rows of the registry."""
        key = name.removesuffix("_interval")
        key = ALIASES.get(key, key).replace("_", "-")
        wants_interval = name.endswith("_interval")
        if key in METRICS:
            found: Any = (self.averages_intervals if wants_interval else self.averages)[key.replace("-", "_")]
        elif key in PROBABILITY_METRICS:
            metric = PROBABILITY_METRICS[key]
            found = None if self.proba is None else (metric.interval if wants_interval else metric.value)(self)
        else:
            raise AttributeError(nearest("score", name, [known.replace("-", "_") for known in SCORES]))
        self.__dict__[name] = found
        return found

    def score(self, metric: str) -> tuple[Any, Any]:
        """Return a metric and its interval, by the name that ``--metric`` takes.

        >>> evaluate(["a", "b"], ["a", "b"], ["a", "b"]).score("macro-f1")[0]
        1.0
        """
        name = metric.replace("-", "_")
        return getattr(self, name), getattr(self, f"{name}_interval")

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.truth)

    @property
    def answered(self) -> float:
        """The share of rows that have an answer."""
        return self.n / (self.n + self.abstained)

    @cached_property
    def mean_cost(self) -> tuple[float, float] | None:
        """What answers cost, on average over rows of known labels, and what the most probable labels would; None without costs.

        >>> evaluate(["a", "b"], ["a", "a"], ["a", "b"], proba=[[0.9, 0.1], [0.4, 0.6]], costs=np.array([[0, 1], [5, 0]])).mean_cost
        (2.5, 0.0)
        """
        known = self.truth < len(self.classes)
        if self.costs is None or self.proba is None or not known.any():
            return None
        answers = (self.predicted[known], self.proba.argmax(axis=1)[known])
        first, second = (float(self.costs[self.truth[known], answer].mean()) for answer in answers)
        return first, second

    @cached_property
    def ordinal(self) -> dict[str, tuple[float, Interval]] | None:
        """The mean absolute error and the quadratic kappa of ordered classes, with intervals; None without an order.

        Rows of unknown labels are left out. Kappa is Cohen's, weighted by the squared distance in the order.

        >>> found = evaluate([1, 2, 3, 5], [1, 3, 3, 3], [1, 2, 3, 5]).ordinal
        >>> found["mean_absolute_error"][0], round(found["quadratic_kappa"][0], 4)
        (0.75, 0.75)
        """
        if self.places is None or not self.confusion.sum():
            return None
        t, p = np.nonzero(self.confusion)
        rank = np.unique(self.places, return_inverse=True)[1].astype(float)
        off, square = np.abs(self.places[t] - self.places[p]), (rank[t] - rank[p]) ** 2
        by_truth, by_answer = (np.equal.outer(which, np.arange(len(rank))).astype(float) for which in (t, p))
        apart = (rank[:, None] - rank) ** 2

        def scores(drawn: npt.NDArray[np.int64]) -> Floats:
            n = drawn.sum(axis=1)
            expected = np.einsum("dk,kl,dl->d", drawn @ by_truth, apart, drawn @ by_answer) / n
            kappa = 1.0 - np.divide(drawn @ square, expected, out=np.zeros(len(n)), where=expected > 0)
            return np.stack([drawn @ off / n, kappa], axis=1)

        counts = self.confusion[t, p]
        values = scores(counts[None, :])[0]
        intervals = bootstrap_many(counts, scores, level=self.level, draws=self.draws, seed=self.seed)
        pairs = zip(values.tolist(), intervals, strict=True)
        return dict(zip(("mean_absolute_error", "quadratic_kappa"), pairs, strict=True))

    @cached_property
    def cells(self) -> tuple[Indices, Indices, Indices]:
        """The cells of the confusion matrix that are not zero: truth, prediction and rows; unknown labels last."""
        found, counts = np.unique(self.truth * len(self.classes) + self.predicted, return_counts=True)
        return found // len(self.classes), found % len(self.classes), counts

    @property
    def n_labels(self) -> int:
        """How many labels there are, unknown ones too."""
        return len(self.classes) + len(self.unknown_labels)

    @cached_property
    def table(self) -> Indices:
        """Rows by truth and prediction, (n_labels, n_classes): the confusion matrix, unknown labels last."""
        table = np.zeros((self.n_labels, len(self.classes)), dtype=np.int64)
        truth, predicted, counts = self.cells
        table[truth, predicted] = counts
        return table

    def largest_confusions(self, n: int = 10) -> list[tuple[Label, Label, int]]:
        """Return the n most frequent errors: truth, prediction and rows.

        >>> evaluate(["a", "b", "b"], ["a", "a", "a"], ["a", "b"]).largest_confusions()
        [('b', 'a', 2)]
        """
        truth, predicted, counts = (values[self.cells[0] != self.cells[1]] for values in self.cells)
        labels = (*self.classes, *self.unknown_labels)
        best = np.argsort(-counts, kind="stable")[:n]
        return [(labels[truth[k]], self.classes[predicted[k]], int(counts[k])) for k in best]

    @property
    def confusion(self) -> Indices:
        """The confusion matrix, (n_classes, n_classes): rows truth, columns predicted."""
        return self.table[: len(self.classes)]

    @property
    def unknown_confusion(self) -> Indices:
        """The same for the unknown labels, (n_unknown, n_classes)."""
        return self.table[len(self.classes) :]

    @cached_property
    def per_class(self) -> tuple[ClassScores, ...]:
        """The scores of each class."""
        k = len(self.classes)
        hits = np.bincount(self.truth[self.truth == self.predicted], minlength=k)
        support, predicted = np.bincount(self.truth, minlength=k)[:k], np.bincount(self.predicted, minlength=k)
        columns = (hits.tolist(), support.tolist(), predicted.tolist())
        return tuple(ClassScores.of(*one, self.level) for one in zip(self.classes, *columns, strict=True))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What is undefined, and labels that the classifier does not know."""
        return tuple(_warnings(self.per_class, self.unknown_labels))

    @cached_property
    def accuracy_interval(self) -> Interval:
        """Wilson's interval: the accuracy is a share of rows."""
        return wilson(int(np.sum(self.truth == self.predicted)), self.n, self.level)

    @cached_property
    def averages(self) -> dict[str, float]:
        """Every metric of predicted labels, by name."""
        counts = Counts.of_rows(self.truth, self.predicted, self.n_labels)
        return {name.replace("-", "_"): float(np.nan_to_num(m.score(counts)[0])) for name, m in METRICS.items()}

    @cached_property
    def averages_intervals(self) -> dict[str, Interval]:
        """Their intervals, by a bootstrap of the confusion matrix.

        Without any error there is nothing to resample: then it is the interval of the accuracy, on the metric's scale.
        """
        if self.accuracy == 1:
            first, last = self.accuracy_interval
            bounds = [metric.bounds for metric in METRICS.values()]
            found = [(low + (high - low) * first, low + (high - low) * last) for low, high in bounds]
        else:
            t, p, cells = self.cells

            def scores(drawn: npt.NDArray[np.int64]) -> Floats:
                counts = Counts(t, p, self.n_labels, drawn)
                return np.stack([m.score(counts) for m in METRICS.values()], axis=1)

            draws = min(self.draws, max(200, DRAWN // len(cells)))
            found = bootstrap_many(cells, scores, level=self.level, draws=draws, seed=self.seed, width=self.n_labels)
        names = [name.replace("-", "_") for name in METRICS]
        return {**dict(zip(names, found, strict=True)), "accuracy": self.accuracy_interval}

    @cached_property
    def calibration_bins(self) -> tuple[CalibrationBin, ...]:
        """15 bins of equal mass by confidence; none without probabilities."""
        if self.proba is None:
            return ()
        confidence = self.proba[np.arange(self.n), self.predicted]
        return metrics.calibration_bins(self.truth == self.predicted, confidence)

    @cached_property
    def areas(self) -> list[tuple[Area, Area] | None]:
        """ROC and precision-recall area of each class against the rest; None where all rows are on one side."""
        return [] if self.proba is None else metrics.areas(self.truth, self.proba, self.level)

    @cached_property
    def mean_areas(self) -> tuple[Area | None, Area | None]:
        """Both areas of the second of two classes, else their means over classes."""
        found = [both for both in (self.areas[1:] if len(self.classes) == 2 else self.areas) if both is not None]
        mean = metrics.mean_area
        return mean([roc for roc, _ in found], self.level), mean([pr for _, pr in found], self.level)

    @cached_property
    def top_k(self) -> tuple[TopK, ...]:
        """How often the truth is among the best 2, 3, 5 and 10, as far as there are more classes than that."""
        if self.proba is None:
            return ()
        return tuple(metrics.top_k(self.truth, self.proba, k, self.level) for k in TOP if k < len(self.classes))

    def confusion_interval(self, truth: int, predicted: int) -> Interval:
        """Wilson's interval of the share of the rows of class number `truth` that are put into `predicted`.

        >>> low, high = evaluate(["a", "b", "b"], ["a", "a", "b"], ["a", "b"]).confusion_interval(1, 0)
        >>> round(low, 2), round(high, 2)
        (0.09, 0.91)
        """
        mine = self.predicted[self.truth == truth]
        return wilson(int(np.sum(mine == predicted)), len(mine), self.level)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON.

        Keys: n, abstained, mean_cost (of the answers, of the most probable labels), classes, level, every metric and its
        _interval, per_class (a list of label, precision, recall, f1,
        support, predicted, roc_area, pr_area and their intervals), confusion (rows truth, columns predicted)
        and unknown_confusion (both null above 1,000 labels), largest_confusions (a list of truth, predicted, rows),
        unknown_labels (a list of label, count), warnings, calibration_bins (a list of size,
        confidence, accuracy, interval), top_k (a list of k, accuracy, interval). Intervals are [low, high]; what needs
        probabilities is null without them.

        >>> evaluate(["a", "b"], ["a", "a"], ["a", "b"]).to_dict()["confusion"]
        [[1, 0], [1, 0]]
        """
        names, small = [name.replace("-", "_") for name in SCORES], self.n_labels <= MATRIX_LABELS
        return {
            "n": self.n,
            "abstained": self.abstained,
            "mean_cost": to_plain(self.mean_cost),
            "ordinal": self.ordinal and with_intervals(self.ordinal),
            "classes": to_plain(self.classes),
            "level": self.level,
            **with_intervals({name: self.score(name) for name in names}),
            "per_class": [{**to_plain(one), **self._areas_of(c)} for c, one in enumerate(self.per_class)],
            "confusion": self.confusion.tolist() if small else None,
            "largest_confusions": to_plain([list(one) for one in self.largest_confusions(100)]),
            "unknown_labels": [{"label": to_plain(label), "count": n} for label, n in self.unknown_labels.items()],
            "unknown_confusion": self.unknown_confusion.tolist() if small else None,
            "warnings": list(self.warnings),
            "calibration_bins": to_plain(self.calibration_bins),
            "top_k": to_plain(self.top_k),
        }

    def _areas_of(self, c: int) -> dict[str, Any]:
        both = (self.areas[c] if self.areas else None) or (None, None)
        pairs = ((None, None) if area is None else (area.value, area.interval) for area in both)
        return with_intervals(dict(zip(("roc_area", "pr_area"), pairs, strict=True)))

    def to_text(self, width: int = 80) -> str:
        """A plain-text report for the terminal.

        >>> print(evaluate(["a", "b", "b", "b"], ["a", "a", "b", "b"], ["a", "b"]).to_text())
        accuracy 0.7500 [0.3006, 0.9544] on 4 rows
        macro F1 0.7333 [0.2000, 1.0000], weighted F1 0.7667 [0.3333, 1.0000]
        balanced accuracy 0.8333 [0.2500, 1.0000], Matthews correlation 0.5774 [0.3333, 1.0000]
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
    costs: Floats | None = None,
    order: Sequence[Label] | None = None,
) -> Evaluation:
    """Compare predictions with the truth.

    `predicted` holds labels, or probabilities of shape (n, n_classes) in the order of `classes`; then the most probable
    class is the prediction. Give labels and `proba` when the labels were not decided by the largest probability. A prediction of
    None is no answer: such rows are counted in `abstained` and left out of every score. `costs` (truth, answer) give `mean_cost`.
    `order` names the classes from low to high; three or more that are numbers have theirs without.

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
    n_rows = len(truth)
    if labels is not None:
        labels = _listed(labels)
        kept = [row for row, label in enumerate(labels) if label is not None]
        if len(labels) == n_rows and len(kept) < n_rows:
            if not kept:
                raise DataError(
                    "no row has an answer; ask for a lower accuracy of the answers, or a larger share of rows"
                )
            labels, truth, P = [labels[k] for k in kept], [truth[k] for k in kept], None if P is None else P[kept]
    p = P.argmax(axis=1) if labels is None and P is not None else _predictions(labels, len(truth), index)
    t, unknown = _truth(truth, index)
    return Evaluation(known, t, p, P, unknown, level, draws, seed, n_rows - len(truth), costs, _places(known, order))


def _places(classes: tuple[Label, ...], order: Sequence[Label] | None) -> Floats | None:
    """Return where classes lie: their place in an order, or their number; None where they have neither."""
    if order is not None:
        at = {str(label): float(k) for k, label in enumerate(order)}
        return np.array([at[str(label)] for label in classes]) if all(str(label) in at for label in classes) else None
    if len(classes) < 3 or any(isinstance(label, bool) for label in classes):
        return None
    try:
        found = np.array([float(str(label)) for label in classes])
    except ValueError:
        return None
    return found if np.isfinite(found).all() and len(set(found.tolist())) == len(found) else None


def evaluate_answers(
    y_true: Sequence[Label],
    answers: Answers,
    classes: Sequence[Label],
    *,
    costs: Floats | None = None,
    order: Sequence[Label] | None = None,
    seed: int = 0,
) -> Evaluation:
    """Compare the answers of a model with the truth."""
    names = np.array([*classes, None], dtype=object)
    labels = names[answers.best].tolist()
    return evaluate(y_true, labels, classes, proba=answers.proba, costs=costs, order=order, seed=seed)


def _warnings(per_class: tuple[ClassScores, ...], unknown: Mapping[Label, int]) -> list[str]:
    never, absent = ([one.label for one in per_class if not getattr(one, name)] for name in ("predicted", "support"))
    rows = sum(unknown.values())
    has = "row has a label" if rows == 1 else "rows have labels"
    lines = {
        f"{rows:,} {has} the classifier does not know ({_named(list(unknown))}); counted as errors": unknown,
        f"nothing was predicted as {_named(never)}; precision is undefined there and set to 0.0": never,
        f"no row is labelled {_named(absent)}; recall is undefined there and set to 0.0": absent,
    }
    return [line for line, labels in lines.items() if labels]


def _named(labels: list[Label]) -> str:
    return listed(shown(repr(label), 60) for label in labels)


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
        known = f"none of the classes {_named(list(index))}; give labels, or probabilities of shape (rows, classes)"
        raise DataError(f"prediction {labels[row]!r} (row {row}) is {known}")
    return np.array(numbers, np.int64)


def _probabilities(proba: npt.ArrayLike, n: int, classes: tuple[Label, ...]) -> Floats:
    P = np.asarray(proba, np.float64)
    if P.shape != (n, len(classes)):
        raise DataError(f"probabilities must have shape ({n}, {len(classes)}), rows and classes; got {P.shape}")
    wrong = ~((P >= 0) & (P <= 1 + 1e-6)).all(axis=1) | ~(np.abs(P.sum(axis=1) - 1) <= 1e-3)
    if wrong.any():
        row = int(wrong.argmax())
        some = ", ".join(f"{value:.4g}" for value in P[row, :5]) + (" ..." if len(classes) > 5 else "")
        raise DataError(
            f"row {row} does not hold probabilities, from 0 to 1 with the sum 1, but {some}; give labels instead"
        )
    return P
