"""How good a classifier is, from true labels and predictions: every score with its conventions, and an interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.array_types import Array, Bools, Floats, Ints
from linnet.draw.markup import paragraphs, safe, text_table
from linnet.draw.terminal import aligned, estimate, fit, listed, one_line, width_of
from linnet.errors import DataError, nearest, shown
from linnet.evaluate import intervals, metrics
from linnet.evaluate.intervals import Interval, wilson, with_intervals
from linnet.evaluate.metrics import ALL_METRICS, METRICS, PROBABILITY_METRICS, Area, CalibrationBin, Counts, TopK, share
from linnet.model.decision import Answers
from linnet.models.inputs import indicators
from linnet.values import plain_list, to_plain

Label = Hashable

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
        whole = np.array([predicted, support, support + predicted])
        precision, recall, f1 = share(np.array([hits, hits, 2 * hits]), whole).tolist()
        return cls(
            label, precision, recall, f1, support, predicted, wilson(hits, predicted, level),
            wilson(hits, support, level), intervals.f1_wilson(hits, support + predicted - 2 * hits, level),
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
    truth: Ints = field(repr=False)  # class numbers; those past the classes are unknown labels
    predicted: Ints = field(repr=False)
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
            found = None if self.proba is None else PROBABILITY_METRICS[key].score(self)[wants_interval]
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

        def scores(drawn: Ints) -> Floats:
            n = drawn.sum(axis=1)
            expected = np.einsum("dk,kl,dl->d", drawn @ by_truth, apart, drawn @ by_answer) / n
            kappa = 1.0 - np.divide(drawn @ square, expected, out=np.zeros(len(n)), where=expected > 0)
            return np.stack([drawn @ off / n, kappa], axis=1)

        counts = self.confusion[t, p]
        values = scores(counts[None, :])[0]
        found = intervals.bootstrap_many(counts, scores, level=self.level, draws=self.draws, seed=self.seed)
        pairs = zip(values.tolist(), found, strict=True)
        return dict(zip(("mean_absolute_error", "quadratic_kappa"), pairs, strict=True))

    @cached_property
    def cells(self) -> tuple[Ints, Ints, Ints]:
        """The cells of the confusion matrix that are not zero: truth, prediction and rows; unknown labels last."""
        found, counts = np.unique(self.truth * len(self.classes) + self.predicted, return_counts=True)
        return found // len(self.classes), found % len(self.classes), counts

    @property
    def n_labels(self) -> int:
        """How many labels there are, unknown ones too."""
        return len(self.classes) + len(self.unknown_labels)

    @cached_property
    def table(self) -> Ints:
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
        labels = (*self.classes, *self.unknown_labels)
        return [(labels[t], labels[p], rows) for t, p, rows in self.error_cells[:n]]

    @cached_property
    def error_cells(self) -> list[tuple[int, int, int]]:
        """The cells of wrong predictions, the largest first: the numbers of both labels, and rows."""
        found = zip(*(values[self.cells[0] != self.cells[1]].tolist() for values in self.cells), strict=True)
        return sorted(found, key=lambda cell: -cell[2])

    @property
    def confusion(self) -> Ints:
        """The confusion matrix, (n_classes, n_classes): rows truth, columns predicted."""
        return self.table[: len(self.classes)]

    @property
    def unknown_confusion(self) -> Ints:
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

            def scores(drawn: Ints) -> Floats:
                counts = Counts(t, p, self.n_labels, drawn)
                return np.stack([m.score(counts) for m in METRICS.values()], axis=1)

            how = {"draws": min(self.draws, max(200, DRAWN // len(cells))), "seed": self.seed, "width": self.n_labels}
            found = intervals.bootstrap_many(cells, scores, level=self.level, **how)
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

        def plain(*names: str) -> dict[str, Any]:
            return {name: to_plain(getattr(self, name)) for name in names}

        names, small = [name.replace("-", "_") for name in SCORES], self.n_labels <= MATRIX_LABELS
        return {
            **plain("n", "abstained", "mean_cost"),
            "ordinal": self.ordinal and with_intervals(self.ordinal),
            **plain("classes", "level"),
            **with_intervals({name: self.score(name) for name in names}),
            "per_class": [{**to_plain(one), **self._areas_of(c)} for c, one in enumerate(self.per_class)],
            "confusion": self.confusion.tolist() if small else None,
            "largest_confusions": to_plain([list(one) for one in self.largest_confusions(100)]),
            "unknown_labels": [{"label": to_plain(label), "count": n} for label, n in self.unknown_labels.items()],
            "unknown_confusion": self.unknown_confusion.tolist() if small else None,
            **plain("warnings", "calibration_bins", "top_k"),
        }

    def _areas_of(self, c: int) -> dict[str, Any]:
        both = (self.areas[c] if self.areas else None) or (None, None)
        pairs = ((None, None) if area is None else (area.value, area.interval) for area in both)
        return with_intervals(dict(zip(("roc_area", "pr_area"), pairs, strict=True)))

    def to_text(self, width: int = 80) -> str:
        """A plain-text report for the terminal; labels are cut so that the tables fit in `width`, as far as their numbers do.

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
        cells = _matrix(self, width) or _largest(self, width)
        warnings = [f"warning: {line}" for line in self.warnings]
        parts = (_summary(self), aligned(class_rows(self.per_class), width), cells, warnings)
        return "\n\n".join("\n".join(part) for part in parts if part)

    def _repr_html_(self) -> str:
        small = len(self.classes) <= MATRIX_CLASSES
        caption, rows = (MATRIX, _matrix_rows(self)) if small else ("largest confusions", _confusions(self))
        lines = "<br>".join(map(safe, _summary(self)))
        warnings = paragraphs(f"warning: {safe(line)}" for line in self.warnings)
        return f"<div><p>{lines}</p>{text_table(class_rows(self.per_class))}{text_table(rows, caption)}{warnings}</div>"


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
    known = tuple(plain_list(classes))
    index = {label: number for number, label in enumerate(known)}
    if not known or len(index) < len(known):
        raise DataError(f"classes must be one or more different labels, got {list(known)!r}")
    labels: Any = predicted
    if _is_table(predicted):
        if proba is not None:
            raise DataError("predicted holds probabilities already; give labels there, or leave proba out")
        labels, proba = None, labels
    truth = plain_list(y_true)
    if not truth:
        raise DataError("there are no rows to evaluate; give at least one row with a label")
    P = None if proba is None else _probabilities(proba, len(truth), known)
    p = _predictions(labels, len(truth), index) if P is None or labels is not None else P.argmax(axis=1)
    rows = np.flatnonzero(p >= 0)
    if not len(rows):
        raise DataError("no row has an answer; ask for a lower accuracy, or a larger share of rows")
    numbers, unknown = _truth([truth[k] for k in rows.tolist()], index)
    p, P, abstained = p[rows], None if P is None else P[rows], len(p) - len(rows)
    return Evaluation(known, numbers, p, P, unknown, level, draws, seed, abstained, costs, _places(known, order))


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


def evaluate_answers(y_true: Sequence[Label], answers: Answers, classes: Sequence[Label], **how: Any) -> Evaluation:
    """Compare the answers of a model with the truth; how is what ``evaluate`` takes, and probabilities may be left out."""
    labels = np.array([*classes, None], dtype=object)[answers.best].tolist()
    proba = answers.proba if len(answers.proba) == len(labels) else None
    return evaluate(y_true, labels, classes, proba=proba, **how)


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


def _is_table(values: Any) -> bool:
    if hasattr(values, "shape"):
        return len(values.shape) == 2
    return isinstance(values, list | tuple) and bool(values) and isinstance(values[0], list | tuple | np.ndarray)


def _truth(labels: list[Any], index: dict[Label, int]) -> tuple[Ints, dict[Label, int]]:
    """Class numbers, unknown labels numbered after the classes, and how often each of those occurs."""
    strange = Counter(label for label in labels if label not in index)
    if any(label is None or label != label for label in strange):
        rows = [row for row, label in enumerate(labels) if label not in index and (label is None or label != label)]
        raise DataError(f"{len(rows):,} of {len(labels):,} rows have no label, first row {rows[0]}; leave them out")
    unknown = dict(sorted(strange.items(), key=lambda item: (-item[1], str(item[0]))))
    numbers = index | {label: len(index) + number for number, label in enumerate(unknown)}
    return np.array([numbers[label] for label in labels], np.int64), unknown


def _predictions(predicted: Any, n: int, index: dict[Label, int]) -> Ints:
    """Class numbers; -1 for no answer."""
    labels = plain_list(predicted)
    if len(labels) != n:
        raise DataError(f"there are {n:,} true labels but {len(labels):,} predictions; give one for each row")
    numbers = [-1 if label is None else index.get(label, -2) for label in labels]
    if -2 in numbers:
        row = numbers.index(-2)
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
        raise DataError(f"row {row} holds no probabilities, from 0 to 1 with the sum 1, but {some}; give labels")
    return P


# ---- An evaluation as plain text for the terminal and as HTML for notebooks.


MATRIX_CLASSES = 12  # a larger confusion matrix is shown as its largest cells
MATRIX = "confusion matrix (rows: truth, columns: predicted)"
LARGEST = 10


def _summary(result: Evaluation) -> list[str]:
    rows = "row" if result.n == 1 else "rows"
    answered = f"{result.answered:.1%} of the rows answered, {result.abstained:,} not; the scores are of those answered"
    lines = [answered] if result.abstained else []
    lines.append(f"{_scored(result, 'accuracy', 'accuracy')} on {result.n:,} {rows}")
    if result.mean_cost is not None:
        ours, plain = result.mean_cost
        lines.append(f"mean cost {ours:.4f} a row; {plain:.4f} if the most probable label were the answer")
    if result.ordinal is not None:
        (error, one), (kappa, two) = result.ordinal.values()
        lines.append(f"mean absolute error {estimate(error, one)}, quadratic kappa {estimate(kappa, two)}")
    shown = [name for name, metric in METRICS.items() if metric.shown and name != "accuracy"]
    more = PROBABILITY_METRICS if result.proba is not None else {}
    scores = [_scored(result, name, ALL_METRICS[name].title) for name in (*shown, *more)]
    lines += [", ".join(scores[k : k + 2]) for k in range(0, len(scores), 2)]
    if result.top_k:
        best = ", ".join(f"{t.k}: {estimate(t.accuracy, t.interval)}" for t in result.top_k[:3])
        lines.append(f"truth among the best {best}")
    return lines


def _scored(result: Evaluation, name: str, title: str) -> str:
    value, interval = result.score(name)
    if interval is None:
        return f"{title} undefined" if value is None else f"{title} {value:.4f}"
    return f"{title} {estimate(value, interval)}"


def class_rows(per_class: Iterable[ClassScores]) -> list[list[str]]:
    """Return the table of the scores of each class, its head first."""
    scores = [
        [one_line(one.label), f"{one.precision:.4f}", f"{one.recall:.4f}", f"{one.f1:.4f}", f"{one.support:,}"]
        for one in per_class
    ]
    return [["class", "precision", "recall", "F1", "support"], *scores]


def _matrix_rows(result: Evaluation) -> list[list[str]]:
    names = [one_line(label) for label in result.classes]
    rows = [[name, *(f"{count:,}" for count in counts)] for name, counts in zip(names, result.confusion, strict=True)]
    if result.unknown_labels:
        rows.append(["(unknown)", *(f"{count:,}" for count in result.unknown_confusion.sum(axis=0))])
    return [["", *names], *rows]


def _matrix(result: Evaluation, width: int) -> list[str]:
    """The confusion matrix, or nothing where it is too wide or of too many classes."""
    if len(result.classes) > MATRIX_CLASSES:
        return []
    rows = _matrix_rows(result)
    numbers = max(width_of(cell) for row in rows[1:] for cell in row[1:])
    room = (width - 5) // len(result.classes) - 2  # of a column, beside labels of five characters
    head = ["", *(fit(cell, min(room, 16)) for cell in rows[0][1:])]
    return [MATRIX, *aligned([head, *rows[1:]], width)] if room >= max(4, numbers) else []


def _confusions(result: Evaluation) -> list[list[str]]:
    """The largest cells off the diagonal as truth, predicted, count; the head first."""
    found = [[one_line(t), one_line(p), f"{rows:,}"] for t, p, rows in result.largest_confusions(LARGEST)]
    return [["truth", "predicted", "rows"], *found]


def _largest(result: Evaluation, width: int) -> list[str]:
    rows = _confusions(result)
    table = [[truth, fit(predicted, width // 2), count] for truth, predicted, count in rows]
    return ["largest confusions", *aligned(table, width, left=2)] if len(rows) > 1 else []


# ---- Scores where a row may have several labels or none: truth and predictions are indicator matrices.
#
# Row i, column l is 1 where row i has label l. Labels of one row hang together, so everything that mixes labels takes its
# interval from what each row adds (the infinitesimal jackknife), never from cells as if they were independent.


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
    T, unknown = _label_matrix(truth, labels)
    if unknown:
        P = np.pad(P, ((0, 0), (0, len(unknown))))
        labels = (*(labels or ()), *unknown)
    if T.shape != P.shape or not T.size:
        raise DataError(f"truth and predicted must have one shape, (rows, labels); got {T.shape} and {P.shape}")
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
        "hamming_loss": (float(off.mean()), intervals.mean_interval(off, 0.0, 1.0, level)),
        "micro_precision": _ratio(hits.sum(1), P.sum(1), level),
        "micro_recall": _ratio(hits.sum(1), T.sum(1), level),
        "micro_f1": _ratio(2 * hits.sum(1), T.sum(1) + P.sum(1), level),
        **_means_of_f1(hits, T, P, level),
        "samples_f1": (float(rows.mean()), intervals.mean_interval(rows, 0.0, 1.0, level)),
    }
    if proba is not None:
        scores |= _precisions(T, np.asarray(proba), level)
    columns = (hits.sum(0).tolist(), T.sum(0).tolist(), P.sum(0).tolist())
    per_label = tuple(ClassScores.of(*one, level) for one in zip(names, *columns, strict=True))
    return MultilabelEvaluation(n, names, scores, per_label, level, unknown)


def row_f1(truth: Bools, predicted: Bools) -> Floats:
    """Return the F1 of the labels of each row; 0.0 where a row has none and none is predicted, as in scikit-learn.

    >>> row_f1(np.array([[True, True, False], [False, True, False]]), np.array([[True, False, False], [False, True, False]])).round(4)
    array([0.6667, 1.    ])
    """
    return np.asarray(share(2 * (truth & predicted).sum(1), truth.sum(1) + predicted.sum(1)))


def _ratio(part: Array, whole: Array, level: float) -> tuple[float, Interval]:
    """A ratio of two sums over rows: d/dw_i (sum part / sum whole) = (part_i - ratio whole_i) / sum whole."""
    total = float(whole.sum())
    if not total:
        return 0.0, (0.0, 1.0)
    value, n = float(part.sum()) / total, float(np.count_nonzero(whole))
    return value, intervals.jackknife_interval(value, (part - value * whole) / total, n, level)


def _means_of_f1(hits: Bools, T: Bools, P: Bools, level: float) -> dict[str, tuple[float, Interval]]:
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
        "macro_f1": (macro, intervals.jackknife_interval(macro, added.mean(axis=1), n, level)),
        "weighted_f1": (weighted, intervals.jackknife_interval(weighted, moved, n, level)),
    }


def _label_matrix(truth: Any, labels: Sequence[Hashable] | None) -> tuple[Bools, tuple[Hashable, ...]]:
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


def _precisions(T: Bools, proba: Array, level: float) -> dict[str, tuple[float, Interval]]:
    """Precision among the first k labels of each row."""
    order = np.argsort(-proba, axis=1, kind="stable")
    right = np.take_along_axis(T, order, axis=1)
    found = {}
    for k in (1, 3, 5):
        if k <= proba.shape[1]:
            shares = right[:, :k].mean(axis=1)
            found[f"precision_at_{k}"] = (float(shares.mean()), intervals.mean_interval(shares, 0.0, 1.0, level))
    return found
