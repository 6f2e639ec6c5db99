"""How good the model is: the verdict in words, all scores with their 95 % intervals, calibration, thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from linnet.classifier import TextClassifier
from linnet.data import Dataset
from linnet.draw.charts import Axis, Line, Points, Segments, figure
from linnet.draw.markup import bar, note, paragraphs, safe, table, text_table
from linnet.draw.terminal import count, percent, score
from linnet.evaluate.metrics import ALL_METRICS, calibration_by_chance
from linnet.report.inputs import ReportInputs

# ---- The verdict: how good the model is, how certain that is, and what it gets wrong most.


WIDE = 0.1  # an interval of ten points is a wide one


def verdict(inputs: ReportInputs) -> str:
    """Write what to make of the model, warnings, the number, and what is behind it."""
    support = inputs.table.sum(axis=1)
    always, share = inputs.names[int(support.argmax())], float(support.max() / inputs.n)
    top = headline(inputs, "accuracy", always, share)
    return top + paragraphs(sentences(inputs))


def headline(inputs: Any, metric: str, always: str, share: float, more: Sequence[str] = ()) -> str:
    """Return the verdict of a score beside that of always predicting one label, the warnings, and the number, all HTML."""
    name = metric.lower().replace(" ", "_")
    value, (low, high) = getattr(inputs.result, name), getattr(inputs.result, f"{name}_interval")
    found = "clearly better than" if low > share else "worse than" if high < share else "not clearly better than"
    rough = f"The estimate is rough: the interval is {100 * (high - low):.0f} points wide. Test on more texts."
    lines = [*([rough] if high - low > WIDE else []), *warnings(inputs), *more]
    items = "".join(f"<li><strong>Warning:</strong> {line}</li>" for line in lines)
    listed = f'<ul class="warnings">{items}</ul>' if items else ""
    return (
        f'<p class="headline">The model is <strong>{found}</strong> always predicting <b>{safe(always)}</b>, which gives '
        f'{percent(share)}.</p>{listed}<p class="headline"><span class="number">{percent(value)}</span> {metric} on '
        f"{count(inputs.result.n, 'text')} <span class='ends'>(95\u00a0% interval {percent(low)} to {percent(high)})</span></p>"
    )


def warnings(inputs: Any) -> list[str]:
    """Return what stands in the way of trusting the scores, as HTML: of the data check, the test set and the evaluation."""
    found = []
    check, seal = inputs.extra.get("check"), inputs.extra.get("seal")
    if check is not None and getattr(check, "level", "ok") in ("warning", "problem"):
        worst = check.ranked()[0]
        what = f'<a href="#check">{safe(worst.check)}: {safe(worst.says)}</a>'
        found.append(f"Data check: <strong>{safe(check.words)}</strong> ({what}).")
    if seal is not None and len(seal.looks) > 1:
        found.append(
            f"Blind test set: <b>{safe(seal.words)}</b>; the more often it is used to choose, the more its score is too high."
        )
    return found + [f"{safe(line)}." for line in getattr(inputs.result, "warnings", ())]


def sentences(inputs: ReportInputs) -> list[str]:
    """Return what is behind the number as sentences of HTML."""
    found = [_worst_confusion(inputs), _weakest(inputs)]
    seal = inputs.extra.get("seal")
    if seal is not None and len(seal.looks) <= 1:
        found.append(f"Blind test set, sealed {safe(seal.sealed[:10])}: <b>{safe(seal.words)}</b>.")
    return [line for line in found if line]


def _worst_confusion(inputs: ReportInputs) -> str:
    if not inputs.result.error_cells:
        return "There are no errors."
    t, p, n = inputs.result.error_cells[0]
    (share, ends), truth = inputs.share(t, p), safe(inputs.names[t])
    total = count(int((~inputs.right).sum()), "error")
    return (
        f"Most frequent confusion: <b>{truth}</b> predicted as <b>{safe(inputs.names[p])}</b>, {n:,} of {total}, "
        f"{share} of all {truth} ({ends})."
    )


def _weakest(inputs: ReportInputs) -> str:
    scores = [one for one in inputs.result.per_class if one.support]
    if len(scores) < 3:
        return ""
    worst = min(scores, key=lambda one: one.f1)
    low, high = worst.f1_interval
    return (
        f"Weakest class: <b>{safe(worst.label)}</b>, F1 {worst.f1:.3f} ({low:.3f} to {high:.3f}) on "
        f"{count(worst.support, 'row')}."
    )


OPEN = 30  # classes that are listed at once


def scores(inputs: ReportInputs) -> str:
    """Write two tables: one score a row, one class a row."""
    result = inputs.result
    found = [(metric.title, *result.score(name)) for name, metric in ALL_METRICS.items()]
    rows = [[title, score(value, 4), _ends(ends)] for title, value, ends in found]
    rows += [[f"top-{t.k} accuracy", score(t.accuracy, 4), _ends(t.interval)] for t in result.top_k]
    head = ["class", "precision", "recall", "F1", "", "rows", "ROC area"]
    classes = []
    for c, one in enumerate(result.per_class):
        both = result.areas[c] if result.areas else None
        names = ("precision", "recall", "f1")
        three = [_with_interval(getattr(one, name), getattr(one, f"{name}_interval")) for name in names]
        roc = _with_interval(both[0].value, both[0].interval) if both else "–"
        classes.append([safe(one.label), *three, bar(one.f1), f"{one.support:,}", roc])
    by_class = table(head, classes, "classes")
    if len(classes) > OPEN:
        by_class = f"<details><summary>all {len(classes):,} classes</summary>{by_class}</details>"
    area = "of the second class" if len(result.classes) == 2 else "the mean over classes, each against the rest"
    return (
        table(["score", "value", "95 % interval"], rows)
        + f"<h3>Scores for each class</h3>{by_class}"
        + note(
            f"The areas in the first table are {area}. Calibration error: 15 bins of equal size. Lower is better for log loss, "
            "Brier score and calibration error. A 95 % interval contains the true value in about 95 of 100 samples like this one."
        )
    )


def _ends(found: Sequence[float] | None) -> str:
    return "–" if found is None else f"{found[0]:.4f} to {found[1]:.4f}"


def _with_interval(value: float, ends: Sequence[float]) -> str:
    return f'{score(value)}<span class="interval">{ends[0]:.3f} to {ends[1]:.3f}</span>'


# ---- Calibration: confidence against accuracy, in bins of equal size.


def calibration(inputs: ReportInputs) -> str:
    """Draw a reliability diagram."""
    bins = inputs.result.calibration_bins
    low = max(0.0, min((0.5, *(b.confidence for b in bins))) - 0.03) if len(bins) > 1 else 0.0
    titles = [
        f"confidence {percent(b.confidence)}: accuracy {percent(b.accuracy)} ({percent(b.interval[0])} to "
        f"{percent(b.interval[1])}), {count(b.size, 'row')}"
        for b in bins
    ]
    layers = [
        Line([(low, low), (1.0, 1.0)], "grey", dash="4 4", titles=False),
        Segments([(b.confidence, b.interval[0], b.confidence, b.interval[1]) for b in bins], width=1.2),
        Points([(b.confidence, b.accuracy) for b in bins], titles=titles),
    ]
    error, chance = inputs.result.calibration_error or 0.0, calibration_by_chance(bins)
    return (
        f"<p>Calibration error {error:.4f}: the mean distance from the diagonal over {len(bins)} bins of equal size; a "
        f"calibrated model stays below {chance:.4f} in 95 of 100 samples of {count(inputs.n, 'row')}. Below the diagonal the "
        "model is overconfident, above it underconfident.</p>"
    ) + figure(
        layers, Axis("confidence", low, 1.0, percent=True), Axis("accuracy", 0.0, 1.0, percent=True),
        "Accuracy by confidence, with 95 % intervals; a calibrated model lies on the diagonal",
    )  # fmt: skip


# ---- Thresholds: accuracy when only confident predictions count; for two classes, precision and recall.


POINTS = 101
FEWEST = 20  # rows that an accuracy is drawn for


def thresholds(inputs: ReportInputs) -> str:
    """Draw accuracy over coverage, and precision, recall and F1 over the threshold for two classes."""
    _, shares, accuracy = coverage(inputs)
    points = list(zip(shares.tolist(), accuracy.tolist(), strict=True))
    parts = [
        figure(
            [Line(points)], Axis("coverage: share of texts predicted", 0.0, 1.0, percent=True), Axis("accuracy", percent=True),
            "Accuracy when only the most confident predictions are used and the rest is left to people",
        )
    ]  # fmt: skip
    if len(inputs.result.classes) == 2:
        parts.append(_two_classes(inputs))
    return f'<div class="pair">{"".join(parts)}</div>'


def coverage(inputs: ReportInputs) -> tuple[Any, Any, Any]:
    """Return limits of confidence, the share of rows at or above each, and the accuracy of those."""
    limits = np.round(np.linspace(0, 1, POINTS), 2)
    above, hits = _above(inputs.confidence, inputs.right, limits)
    kept = above >= min(FEWEST, inputs.n)
    return limits[kept], above[kept] / inputs.n, hits[kept] / above[kept]


def _above(scores: Any, hit: Any, limits: Any) -> tuple[Any, Any]:
    """Return how many scores are at or above each limit, and how many of those are hits."""
    order = np.argsort(scores, kind="stable")
    first = np.searchsorted(scores[order], limits - 1e-12)
    return len(order) - first, np.concatenate([np.cumsum(hit[order][::-1])[::-1], [0]])[first]


def _two_classes(inputs: ReportInputs) -> str:
    result = inputs.result
    positive, P = result.truth == 1, result.proba
    assert P is not None  # noqa: S101 - evaluated with probabilities
    limits = np.round(np.linspace(0.01, 0.99, 99), 2)
    put, hits = _above(P[:, 1], positive, limits)
    total = int(positive.sum())
    some = put > 0  # without predictions there is no precision
    precision, recall, f1 = hits[some] / put[some], hits / max(1, total), 2 * hits / np.maximum(1, put + total)
    best = int(f1.argmax())
    layers = [
        Line(list(zip(limits[some].tolist(), precision.tolist(), strict=True)), "blue", "precision"),
        Line(list(zip(limits.tolist(), recall.tolist(), strict=True)), "orange", "recall", "7 3"),
        Line(list(zip(limits.tolist(), f1.tolist(), strict=True)), "green", "F1", "2 3"),
    ]
    caption = f"Predicting {inputs.names[1]} above a threshold; F1 is best, {f1[best]:.3f}, at {limits[best]:.2f}"
    return figure(layers, Axis("threshold", 0.0, 1.0), Axis("score", 0.0, 1.0), caption)


# ---- The report on rows that may have several labels: scores, scores for each label with its threshold, and errors.


SHOWN = 60  # rows
CHARACTERS = 400


class LabelSetInputs(ReportInputs):
    """A classifier, rows with several labels, and what it predicts for them."""

    result: Any  # a MultilabelEvaluation

    @classmethod
    def of(cls, clf: TextClassifier, data: Dataset, **more: Any) -> Self:
        """Predict every row; more are the other fields."""
        return cls(clf, data, clf.evaluate(data), **more)

    @cached_property
    def answers(self) -> list[list[str]]:
        """The labels that are predicted for each row."""
        model = self.clf.artefact
        chosen = model.chosen(model.scores(self.data, self.clf.n_jobs))
        return [[str(model.classes[k]) for k in np.flatnonzero(row)] for row in chosen]


def set_verdict(inputs: LabelSetInputs) -> str:
    """Write what to make of the model, warnings and the number: the micro F1."""
    result = inputs.result
    sizes = {str(one.label): one.support for one in result.per_label}
    always = max(sizes, key=lambda label: sizes[label])
    share = 2 * sizes[always] / max(1, sum(sizes.values()) + result.n)
    unknown = [f"Labels that the model does not know: {safe(', '.join(map(str, result.unknown_labels)))}."]
    return headline(inputs, "micro F1", always, share, unknown if result.unknown_labels else ())


def set_scores(inputs: LabelSetInputs) -> str:
    """Write two tables: one score a row, one label a row."""
    result = inputs.result
    rows = [[name.replace("_", " "), score(value, 4), _ends(ends)] for name, (value, ends) in result.scores.items()]
    ranked = sorted(result.per_label, key=lambda one: (-one.support, str(one.label)))
    labels = [
        [safe(one.label), score(one.precision), score(one.recall), score(one.f1), bar(one.f1), f"{one.support:,}"]
        for one in ranked
    ]
    return (
        table(["score", "value", "95 % interval"], rows)
        + f"<h3>Scores for each label</h3>{table(['label', 'precision', 'recall', 'F1', '', 'rows'], labels, 'classes')}"
        + note(
            "Subset accuracy: all labels of a row are right. Hamming loss: the share of wrong cells; lower is better."
        )
    )


def set_errors(inputs: LabelSetInputs) -> str | None:
    """List rows with a label too few or too many, those with the most first."""
    truth = inputs.data.label_sets()
    wrong = [len(set(a) ^ set(b)) for a, b in zip(truth, inputs.answers, strict=True)]
    order = [int(k) for k in np.argsort(-np.array(wrong), kind="stable") if wrong[k]]
    if not order:
        return None
    rows = [
        (", ".join(truth[k]), ", ".join(inputs.answers[k]), str(inputs.data.text[k].as_py())[:CHARACTERS])
        for k in order[:SHOWN]
    ]
    few = note(f"{len(order):,} of {len(truth):,} rows have a label too few or too many.")
    return few + text_table([("labels", "predicted", "text"), *rows])
