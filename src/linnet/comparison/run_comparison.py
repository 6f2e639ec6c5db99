"""``compare``: every model on every fold, one after the other, then scores, tests and words."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from statistics import NormalDist, median
from typing import Any

import numpy as np

from linnet.array_types import Array, Bools, Floats, Ints
from linnet.classifier import TextClassifier
from linnet.comparison.specs import Spec, as_specs, needed_by
from linnet.data import Dataset
from linnet.data.splitting import fold_indices, split_indices
from linnet.draw.markup import paragraphs, safe, text_table
from linnet.draw.terminal import aligned, ends, listed
from linnet.errors import DataError, LinnetError
from linnet.evaluate.evaluation import evaluate, evaluate_multilabel, row_f1
from linnet.evaluate.intervals import Interval, wilson, with_intervals
from linnet.evaluate.significance import PairedTest, corrected_t, holm, mcnemar, paired_bootstrap, paired_t
from linnet.features.derived import Shared
from linnet.pipeline.crossval import check_two_labels, labelled_data, strata
from linnet.pipeline.events import Event, OnEvent
from linnet.pipeline.rows import encode
from linnet.text.duplicates import exact_groups, repeats
from linnet.values import to_plain

# ---- The outcome of a comparison: scores of each model, tests of each pair, a table, JSON and sentences.


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
    """Accuracy at growing numbers of training rows, each twice the one before; right are held-out rows, of ``held``."""

    model: str
    rows: tuple[int, ...]
    right: tuple[float, ...]
    held: int

    @property
    def accuracy(self) -> tuple[float, ...]:
        """The share of held-out rows that are right, for each size."""
        return tuple(right / self.held for right in self.right)

    @property
    def points(self) -> list[dict[str, Any]]:
        """The number of training rows, the accuracy and its interval, for each size."""
        found = zip(self.rows, self.accuracy, self.right, strict=True)
        return [{"rows": n, "accuracy": p, "interval": list(wilson(right, self.held))} for n, p, right in found]

    @property
    def words(self) -> str:
        """What the last doubling of the training rows brought; curves flatten, so the next will probably bring less."""
        if len(self.rows) < 2:
            return "too few rows to tell what more labels bring."
        gain, (before, now) = 100 * (self.accuracy[-1] - self.accuracy[-2]), self.rows[-2:]
        return f"going from {before:,} to {now:,} training rows brought {gain:+.1f} points; another doubling will probably bring less."

    def cells(self, metric: str) -> list[list[str]]:
        """Return the curve as it is printed, its head first."""
        head = [f"{self.model}: training rows", metric, "95 % interval"]
        return [head, *([f"{p['rows']:,}", f"{p['accuracy']:.4f}", ends(p["interval"])] for p in self.points)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"model": self.model, "points": self.points, "words": self.words}


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
            first, *others = (f"{value:.4f}" for value in (m.accuracy, m.macro_f1, m.log_loss))
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
        parts += [aligned(curve.cells(self.metric), 1000) for curve in self.curves]
        parts += [[f"note: {note}" for note in self.notes], list(self.words)]
        return "\n\n".join("\n".join(part) for part in parts if part)

    __str__ = to_text

    def __repr__(self) -> str:
        names = ", ".join(m.name for m in self.models)
        return f"<Comparison of {names} on {self.rows:,} rows, {self.folds_done} folds; best: {self.best.name}>"

    def _repr_html_(self) -> str:
        tables = text_table(self.cells(), f"{self.rows:,} rows, {self.folds_done} folds")
        tables += "".join(text_table(curve.cells(self.metric)) for curve in self.curves)
        lines = [*self._left_out(), *(f"note: {note}" for note in self.notes), *self.words]
        return f"<div>{tables}{paragraphs(map(safe, lines))}</div>"

    def _left_out(self) -> list[str]:
        return [f"{name} was left out: {reason}" for name, reason in self.skipped.items()]


# ---- A comparison in sentences: which models differ, by how much, and which one to use.


CLOSE = 0.01  # a model is recommended instead of the best only if it is this close
SMALLER, FASTER = 1.5, 2.0  # and clearly smaller, or as small and clearly faster to train


def p_text(p: float) -> str:
    """Write a p-value as people do.

    >>> p_text(0.41), p_text(0.0123), p_text(0.00001), p_text(1.0)
    ('p = 0.41', 'p = 0.012', 'p < 0.001', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def points(difference: float) -> str:
    """Write a difference of accuracies in points of a hundred.

    >>> points(0.0193), points(-0.0004), points(1.0)
    ('1.9 points', '0.04 points', '100.0 points')
    """
    size = abs(100 * difference)
    return f"{size:.{1 if size >= 0.095 else 2}f} points"


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
    holm_note = f"; p-values corrected for {len(found.pairs)} pairs (Holm)" if len(found.pairs) > 1 else ""
    if by_rows:
        what = "McNemar on" if found.metric == "accuracy" else "paired t-test on the F1 of the labels of"
        lines.append(f"Test: {what} the same {found.rows_judged:,} held-out rows{holm_note}.")
    elif pairs:
        over = f"corrected repeated k-fold t-test (Nadeau and Bengio) over {found.folds_done} folds"
        lines.append(f"Test: {over}{holm_note}.")
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
    lines += [f"{curve.model}: {curve.words}" for curve in found.curves]
    name, reason = recommendation(found)
    lines.append(f"Use {name}: {reason}.")
    return lines


def _with_best(found: Comparison) -> list[Pair]:
    order = {m.name: k for k, m in enumerate(found.models)}
    return sorted((pair for pair in found.pairs if pair.better == found.best.name), key=lambda pair: order[pair.other])


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
    close = [scores[pair.other] for pair in alike if pair.difference <= CLOSE]
    cheaper = [
        m for m in close
        if SMALLER * m.size <= best.size or (m.size <= 1.1 * best.size and FASTER * m.train_seconds <= best.train_seconds)
    ]  # fmt: skip
    if cheaper:
        chosen = min(cheaper, key=lambda m: (m.size, m.train_seconds))
        costs = f"{chosen.size / best.size:.0%} of its size, {chosen.train_seconds / best.train_seconds:.0%} of its training time"
        return chosen.name, f"no significant difference from {best.name}, with {costs}"
    if not alike:
        return best.name, "significantly better than every other model"
    return best.name, "most accurate, and no cheaper model is within one point"


# ---- One model on one fold: what it answers for the held-out rows, and what that costs. From the answers of every model to
# scores and tests.


TINY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ComparedRows:
    """The rows of a comparison: texts, the class of each as a number, the group of each, and what was counted of them.

    Where rows may have several labels these are in sets, (n_rows, n_classes), and codes are what folds are balanced by.
    """

    data: Dataset
    classes: tuple[str, ...]
    codes: Ints
    shared: Shared
    groups: Ints | None = None
    sets: Bools | None = None

    @classmethod
    def of(cls, data: Dataset, groups: Any = None) -> ComparedRows:
        """Number the classes, and refuse what cannot be held out."""
        try:
            classes, codes = encode(data.label_list() if data.separator is None else data.label_sets())
        except DataError as error:
            raise DataError(f"{data.source}: {error}") from None
        check_two_labels(data.source, data.counts.values())
        sets = codes if codes.ndim == 2 else None
        return cls(data, classes, strata(codes).astype(np.int64), Shared(data.text), data.group_numbers(groups), sets)

    def counts(self) -> Ints:
        """Return how many rows each class has."""
        return np.asarray(np.bincount(self.codes) if self.sets is None else self.sets.sum(axis=0))

    def scores(self, held: Ints, predicted: Array) -> Floats:
        """Return how right the answers for some rows are: 0 or 1; of several labels, their F1."""
        if self.sets is not None:
            return row_f1(self.sets[held], predicted)
        return np.asarray(predicted == self.codes[held], dtype=np.float64)

    def baseline(self) -> tuple[str, float]:
        """Return the most frequent label, and the mean score of always predicting it alone."""
        top, rows = int(self.counts().argmax()), np.arange(len(self.codes))
        alone = np.full(len(rows), top)
        answers = alone if self.sets is None else alone[:, None] == np.arange(len(self.classes))
        return self.classes[top], float(self.scores(rows, answers).mean())


@dataclass(frozen=True)
class FoldAnswers:
    """What a model answered for the held-out rows of one fold, and what that cost."""

    held: Ints
    predicted: Array  # class numbers; of several labels an indicator matrix
    log_p: Floats  # log probability of the true class; of several labels, its mean over all labels
    right: float  # sum of the scores of rows
    train_rows: int
    train_seconds: float
    predict_seconds: float
    size: int | None  # bytes of the model file, where it was asked for
    settings: dict[str, Any] = field(default_factory=dict)


def answer(spec: Spec, rows: ComparedRows, fit_on: Ints, held: Ints, *, share: bool, measure: bool) -> FoldAnswers:
    """Fit on some rows, settings chosen among them alone, and predict the held-out ones."""
    clf = spec.make()
    part = rows.shared.part(fit_on) if share else None
    train, others = rows.data.take(fit_on), rows.data.take(held)
    groups = None if rows.groups is None else rows.groups[fit_on]
    began = time.perf_counter()
    clf.fit(train, groups=groups, part=part, found=spec.found)
    if clf.interrupted_:  # the fit has kept the best so far, which is not to be compared
        raise KeyboardInterrupt
    trained, model = time.perf_counter(), clf.model_
    scores = model.scores(others, clf.n_jobs)
    best, proba = model.chosen(scores) if model.multilabel else model.best(scores), model.proba(scores)
    ended = time.perf_counter()
    number = {label: k for k, label in enumerate(rows.classes)}
    known = np.array([number[str(c)] for c in clf.model_.classes], dtype=np.int64)
    p = np.zeros((len(held), len(rows.classes)))  # 0 where the training part had none of a class
    p[:, known] = proba
    if rows.sets is None:
        predicted, p_true = known[best], p[np.arange(len(held)), rows.codes[held], None]
    else:
        predicted, p_true = np.zeros(p.shape, bool), np.where(rows.sets[held], p, 1.0 - p)
        predicted[:, known] = best
    log_p = np.log(np.clip(p_true, TINY, 1 - TINY)).mean(axis=1)
    return FoldAnswers(
        held, predicted, log_p, float(rows.scores(held, predicted).sum()), len(fit_on),
        trained - began + (0.0 if part is None else part.saved), ended - trained,
        clf.artefact.file_size if measure else None, _chosen(clf),
    )  # fmt: skip


def _chosen(clf: TextClassifier) -> dict[str, Any]:
    """Return the settings that the search decided on."""
    settings, tried = clf.card["settings"], clf.card["choice"]["tried"]
    names = [name for name in tried[0] if name not in ("accuracy", "rows")]
    return {name: settings[name] for name in names if len({repr(trial.get(name)) for trial in tried}) > 1}


def score(name: str, answers: Sequence[FoldAnswers], rows: ComparedRows, folds: int) -> ModelScores:
    """Sum up one model: scores over all held-out rows of a repeat, then means over the repeats."""
    found: list[dict[str, tuple[float, Interval]]] = []
    losses = []
    for one in (answers[k : k + folds] for k in range(0, len(answers), folds)):
        held, predicted = _joined(one)
        if rows.sets is not None:
            found.append(dict(evaluate_multilabel(rows.sets[held], predicted, rows.classes).scores))
        else:
            result = evaluate(rows.codes[held], predicted, range(len(rows.classes)))
            found.append({key: result.score(key) for key in result.averages})
        losses.append(-float(np.mean(np.concatenate([a.log_p for a in one]))))
    size = sum(float(rows.shared.sizes[a.held].sum()) for a in answers)
    settings = [a.settings for a in answers]
    means: dict[str, tuple[float, Interval]] = {}
    for key in found[0]:
        low, high = np.mean([e[key][1] for e in found], axis=0).tolist()
        means[key] = float(np.mean([e[key][0] for e in found])), (low, high)
    return ModelScores(
        name,
        *means["accuracy" if rows.sets is None else "samples_f1"],
        *means["macro_f1"],
        float(np.mean(losses)),
        tuple(a.right / len(a.held) for a in answers),
        float(np.mean([a.train_seconds for a in answers])),
        float(np.mean([a.predict_seconds for a in answers])),
        size / 1e6 / max(1e-9, sum(a.predict_seconds for a in answers)),
        answers[0].size or 0,
        max(settings, key=settings.count),
        {key: value for key, value in means.items() if key != "accuracy"},
    )


def _joined(answers: Sequence[FoldAnswers]) -> tuple[Ints, Array]:
    return np.concatenate([a.held for a in answers]), np.concatenate([a.predicted for a in answers])


def pairs_of(
    models: Sequence[ModelScores], answers: Mapping[str, Sequence[FoldAnswers]], rows: ComparedRows, folds: int, repeats: int,
    seed: int,
) -> tuple[Pair, ...]:  # fmt: skip
    """Compare every two models; models come best first.

    One repeat: McNemar on the held-out rows, or where rows may have several labels the paired t-test on the F1 of each
    row. Several: rows are asked about more than once and are no longer
    independent, so the corrected repeated k-fold t-test decides. The best model is known only after looking, so all
    pairs count in Holm's correction, not just those with the best.
    """
    n_train, n_held = np.mean([(x.train_rows, len(x.held)) for x in answers[models[0].name]], axis=0)
    found = []
    for a, b in combinations(models, 2):
        held, first = _joined(answers[a.name][:folds])
        _, second = _joined(answers[b.name][:folds])
        right_a, right_b = rows.scores(held, first), rows.scores(held, second)
        by_rows = mcnemar(right_a, right_b) if rows.sets is None else paired_t(right_a, right_b)
        by_fold = np.array(a.fold_accuracy) - np.array(b.fold_accuracy)
        fold_test = corrected_t(by_fold, n_train, n_held, repeats=repeats) if len(by_fold) > 1 else None
        bootstrap, macro_f1 = by_rows, None
        if rows.sets is None:
            right = np.ones(len(held), bool)
            bootstrap = paired_bootstrap(right, right_a.astype(bool), right_b.astype(bool), seed=seed)
            if a is models[0]:
                macro_f1 = paired_bootstrap(rows.codes[held], first, second, metric="macro-f1", draws=1000, seed=seed)
        test = fold_test if repeats > 1 and fold_test is not None else by_rows
        gap, discordant = a.accuracy - b.accuracy, int(np.sum(right_a != right_b))
        found.append(Pair(a.name, b.name, gap, discordant, test.p, test, bootstrap, fold_test, macro_f1))
    return tuple(replace(one, p=float(p)) for p, one in zip(holm([one.p for one in found]), found, strict=True))


FEW_ROWS = 500  # below this, ten folds: five would leave too few rows to learn from
HALVINGS = 4  # a learning curve goes down to a sixteenth
LEAST_ROWS = 10  # of which no fewer are tried
MANY_TWICE = 0.01  # share of rows with a text that was there before: above this it is said

Folds = list[tuple[Ints, Ints]]


def compare(
    data: Any,
    y: Any = None,
    *,
    models: Any = None,
    folds: int | None = None,
    repeats: int = 1,
    features: Any = None,
    curve: bool | str = False,
    groups: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    share: bool = True,
    on_event: OnEvent | None = None,
) -> Comparison:
    """Compare models on the same held-out rows.

    ``data`` is a Dataset, a path, or texts with their labels ``y``. ``models`` are names with settings, as text
    ("svm,nb:alpha=1"), a list of such texts or of TextClassifier or model objects, or a dict of a name for each; all
    models of ``linnet.models.MODELS`` if not given. ``folds`` parts are held out in turn (5, or 10 below 500 rows), and
    all that ``repeats`` times. Each model chooses its settings inside the training part, never on held-out rows.
    ``features`` are for every model that has none of its own. ``curve`` adds the learning curve of the best model, or
    with "all" of every one. ``groups`` are held out together: a column of the data, "duplicates" (near duplicates of a
    text) or one value a row. Features are counted once for all models and folds; ``share=False`` counts them for each,
    with the same result. ``on_event`` gets an Event after every fit.

    A model that cannot take the data is in ``skipped`` with the reason. Ctrl-C ends the comparison and keeps the folds
    that are finished. For one random_state the result is the same, but for seconds.

    >>> texts = ["good", "so good", "good fun", "fun", "bad", "so bad", "bad bore", "bore"] * 3
    >>> found = compare(texts, ["pos", "pos", "pos", "pos", "neg", "neg", "neg", "neg"] * 3, models="nb", folds=3)
    >>> found.best.accuracy
    1.0
    """
    specs = as_specs(models, features=features, random_state=random_state, n_jobs=n_jobs)
    if curve not in (False, True, "best", "all"):
        raise LinnetError(f"curve must be True (the best model), 'all' or False, got {curve!r}")
    columns = (groups,) if isinstance(groups, str) and groups not in ("duplicates", "none") else ()
    rows = ComparedRows.of(labelled_data(data, y, "compare", extra=(*needed_by(specs), *columns)), groups)
    n_folds = min(10 if len(rows.codes) < FEW_ROWS else 5, len(rows.codes)) if folds is None else folds
    pairs = fold_indices(rows.codes, random_state, n_folds, repeats=repeats, groups=rows.groups)
    run = _ComparisonRun(specs, rows, pairs, share, on_event)
    run.total += (len(specs) if curve == "all" else 1 if curve else 0) * n_folds * HALVINGS
    answers = run.all_folds(n_folds)
    found = (score(name, mine, rows, n_folds) for name, mine in answers.items())
    scores = sorted(found, key=lambda m: -m.accuracy)  # stable: of equals the one named first
    names = [m.name for m in scores] if curve == "all" else [scores[0].name] if curve else []
    curves = tuple(run.curve(name, answers[name][:n_folds], random_state) for name in names)
    done = len(answers[scores[0].name])
    judged = sum(len(a.held) for a in answers[scores[0].name][:n_folds])
    return Comparison(
        rows.data.source, len(rows.codes), judged, rows.classes, n_folds, repeats, done, random_state,
        rows.baseline(), tuple(scores),
        pairs_of(scores, answers, rows, n_folds, repeats if done > n_folds else 1, random_state), run.skipped, curves,
        tuple(_notes(rows, n_folds, run.stopped)), not run.stopped, "accuracy" if rows.sets is None else "samples F1",
    )  # fmt: skip


def learning_curve(clf: TextClassifier, data: Dataset, folds: int = 3) -> Curve | None:
    """Return the learning curve of a fitted classifier's settings, which are not searched again; None where rows are too few."""
    settings = clf.get_params(deep=False) | {"calibrate": False, "decision": None}
    try:
        rows = ComparedRows.of(data)
        pairs = fold_indices(rows.codes, 0, folds)
        run = _ComparisonRun([Spec("model", settings, clf.search_)], rows, pairs, True, None)
        return run.curve("model", run.all_folds(folds)["model"], 0)
    except LinnetError:
        return None


def _notes(rows: ComparedRows, folds: int, stopped: bool) -> list[str]:
    groups = rows.groups
    few = [(rows.classes[k], int(n)) for k, n in enumerate(rows.counts()) if n < folds]
    notes = []
    if groups is not None:
        notes.append(
            f"rows of one group are held out together: {len(np.unique(groups)):,} groups, the largest of "
            f"{np.bincount(groups).max():,} rows, also where settings are chosen; tests and intervals take rows for "
            "independent, so differences are a little less sure than they look"
        )
    if few:
        named = listed(f"'{label}' {n}" for label, n in few)
        notes.append(f"labels with fewer rows than the {folds} folds: {named}; some folds hold none of them out.")
        if any(n == 1 for _, n in few):
            notes[-1] += " A label with one row is never learned when that row is held out."
    twice = int(repeats(exact_groups(rows.data.text)).sum())
    if groups is None and twice > MANY_TWICE * len(rows.codes):
        notes.append(
            f"{twice:,} rows repeat a text that is there already; where the two are in different folds the scores are "
            "too good (--groups duplicates keeps them together)"
        )
    if stopped:
        notes.append("interrupted: only what was finished is shown")
    return notes


class _ComparisonRun:
    """The fits of a comparison: what is done, what is left, and how long that will take."""

    def __init__(
        self, specs: list[Spec], rows: ComparedRows, pairs: Folds, share: bool, on_event: OnEvent | None
    ) -> None:
        self.specs, self.rows, self.pairs, self.share = specs, rows, pairs, share
        self.on_event = on_event or (lambda _: None)
        self.skipped: dict[str, str] = {}
        self.stopped = False
        self.done, self.total, self.began = 0, len(specs) * len(pairs), time.perf_counter()

    def all_folds(self, folds: int) -> dict[str, list[FoldAnswers]]:
        """Return the answers of each model on the folds that all of them have done.

        Folds go round the models, not models round the folds, so that Ctrl-C leaves whole folds to compare on.
        """
        answers: dict[str, list[FoldAnswers]] = {spec.name: [] for spec in self.specs}
        try:
            for k, (fit_on, held) in enumerate(self.pairs):
                for spec in (spec for spec in self.specs if spec.name in answers):
                    try:
                        found = answer(spec, self.rows, fit_on, held, share=self.share, measure=k == 0)
                    except LinnetError as error:
                        self.skipped[spec.name] = str(error).splitlines()[0]
                        self.total -= len(self.pairs) - k
                        del answers[spec.name]
                        continue
                    answers[spec.name].append(found)
                    self._say("fold", spec, k, found)
        except KeyboardInterrupt:
            self.stopped = True
        if not answers:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.skipped.items())
            raise LinnetError(f"no model can take this data ({reasons})")
        done = min(map(len, answers.values()))
        if not done:
            raise KeyboardInterrupt
        return {name: mine[: done // folds * folds or done] for name, mine in answers.items()}

    def _say(self, kind: str, spec: Spec, fold: int, found: FoldAnswers) -> None:
        self.done += 1
        whole = self.done + len(self.skipped) >= len(self.specs)  # one fold at least was done by all
        left = (time.perf_counter() - self.began) / self.done * max(0, self.total - self.done) if whole else None
        values = {
            "model": spec.name, "fold": fold + 1, "folds": len(self.pairs), "accuracy": found.right / len(found.held),
            "seconds": found.train_seconds, "rows": found.train_rows, "left": left,
        }  # fmt: skip
        self.on_event(Event(kind, spec.name, self.done, self.total, values))

    def curve(self, name: str, full: list[FoldAnswers], seed: int) -> Curve:
        """Return the learning curve of a model on the first repeat: its folds with a half, a quarter ... of the rows."""
        spec = next(spec for spec in self.specs if spec.name == name)
        shrunk = [self._halves(fit_on, seed) for fit_on, _ in self.pairs[: len(full)]]
        done: list[list[FoldAnswers]] = []
        try:
            for step in reversed([] if self.stopped else list(zip(*shrunk, strict=False))):  # the small ones are quick
                found = []
                for k, fit_on in enumerate(step):
                    found.append(answer(spec, self.rows, fit_on, self.pairs[k][1], share=self.share, measure=False))
                    self._say("curve", spec, k, found[-1])
                done.append(found)
        except KeyboardInterrupt:
            self.stopped = True
        done.append(full)
        right, held = np.array([[a.right for a in mine] for mine in done]), np.array([len(a.held) for a in full])
        sizes = [float(np.mean([a.train_rows for a in mine])) for mine in done]
        return Curve(name, tuple(map(round, sizes)), tuple(right.sum(axis=1).tolist()), int(held.sum()))

    def _halves(self, fit_on: Ints, seed: int) -> list[Ints]:
        """Return a half of some rows, a half of that, and so on, each with every class in its share."""
        out: list[Ints] = []
        rows = fit_on
        for _ in range(HALVINGS):
            rows = rows[split_indices(self.rows.codes[rows], seed, (0.5, 0.5))[0]]
            if len(rows) < LEAST_ROWS or len(np.unique(self.rows.codes[rows])) < 2:
                break
            out.append(rows)
        return out
