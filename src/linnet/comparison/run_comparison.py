"""``compare``: every model on every fold, one after the other, then scores, tests and words."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.array_types import Array, Bools, Floats, Ints
from linnet.classifier import TextClassifier
from linnet.comparison.comparison import Comparison, Curve, ModelScores, Pair
from linnet.comparison.specs import Spec, as_specs, needed_by
from linnet.data import Dataset
from linnet.data.splitting import fold_indices, split_indices
from linnet.draw.terminal import listed
from linnet.errors import DataError, LinnetError
from linnet.evaluate import corrected_t, evaluate, evaluate_multilabel, holm, mcnemar, paired_bootstrap
from linnet.evaluate.evaluation import row_f1
from linnet.evaluate.intervals import Interval, two_sided_quantile
from linnet.evaluate.significance import paired_t
from linnet.features.derived import Shared
from linnet.pipeline.crossval import Fold, check_two_labels, fit_and_predict, labelled_data, strata
from linnet.pipeline.events import Event
from linnet.pipeline.rows import encode
from linnet.text.duplicates import exact_groups, repeats

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


def answer(
    spec: Spec,
    rows: ComparedRows,
    fit_on: Ints,
    held: Ints,
    *,
    share: bool,
    measure: bool,
    on_event: Callable[[Any], None] | None = None,
) -> FoldAnswers:
    """Fit on some rows, settings chosen among them alone, and predict the held-out ones."""
    clf = spec.make()
    part = rows.shared.part(fit_on) if share else None
    given = {"groups": rows.groups, "part": part, "on_event": on_event, "found": spec.found}
    found = fit_and_predict(clf, rows.data, Fold(fit_on, held), **given)
    number = {label: k for k, label in enumerate(rows.classes)}
    known = np.array([number[str(c)] for c in clf.model_.classes], dtype=np.int64)
    p = np.zeros((len(held), len(rows.classes)))  # 0 where the training part had none of a class
    p[:, known] = found.proba
    if rows.sets is None:
        predicted, p_true = known[found.predicted], p[np.arange(len(held)), rows.codes[held], None]
    else:
        predicted, p_true = np.zeros(p.shape, bool), np.where(rows.sets[held], p, 1.0 - p)
        predicted[:, known] = found.predicted
    log_p = np.log(np.clip(p_true, TINY, 1 - TINY)).mean(axis=1)
    return FoldAnswers(
        held, predicted, log_p, float(rows.scores(held, predicted).sum()), len(fit_on), found.train_seconds,
        found.predict_seconds, clf.artefact.file_size if measure else None, _chosen(clf),
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
            found.append({key: (value, result.averages_intervals[key]) for key, value in result.averages.items()})
        losses.append(-float(np.mean(np.concatenate([a.log_p for a in one]))))
    size = sum(float(rows.shared.sizes[a.held].sum()) for a in answers)
    chosen = Counter(repr(a.settings) for a in answers).most_common(1)[0][0]
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
        next((a.size for a in answers if a.size is not None), 0),
        next(a.settings for a in answers if repr(a.settings) == chosen),
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
    found = [
        _pair(a, b, answers[a.name], answers[b.name], rows, folds, repeats, seed, macro=k == 0)
        for k, a in enumerate(models)
        for b in models[k + 1 :]
    ]
    raised = holm([one["test"].p for one in found])
    return tuple(Pair(p=float(p), **one) for p, one in zip(raised, found, strict=True))


def _pair(
    a: ModelScores, b: ModelScores, answers_a: Sequence[FoldAnswers], answers_b: Sequence[FoldAnswers], rows: ComparedRows,
    folds: int, repeats: int, seed: int, *, macro: bool,
) -> dict[str, Any]:  # fmt: skip
    held, first = _joined(answers_a[:folds])
    _, second = _joined(answers_b[:folds])
    right_a, right_b = rows.scores(held, first), rows.scores(held, second)
    by_rows = mcnemar(right_a, right_b) if rows.sets is None else paired_t(right_a, right_b)
    by_fold = np.array(a.fold_accuracy) - np.array(b.fold_accuracy)
    n_train, n_held = np.mean([(x.train_rows, len(x.held)) for x in answers_a], axis=0)
    fold_test = corrected_t(by_fold, n_train, n_held, repeats=repeats) if len(by_fold) > 1 else None
    bootstrap, macro_f1 = by_rows, None
    if rows.sets is None:
        right = np.ones(len(held), bool)
        bootstrap = paired_bootstrap(right, right_a.astype(bool), right_b.astype(bool), seed=seed)
        if macro:
            macro_f1 = paired_bootstrap(rows.codes[held], first, second, metric="macro-f1", draws=1000, seed=seed)
    return {
        "better": a.name,
        "other": b.name,
        "difference": a.accuracy - b.accuracy,
        "discordant": int(np.sum(right_a != right_b)),
        "test": fold_test if repeats > 1 and fold_test is not None else by_rows,
        "bootstrap": bootstrap,
        "fold_test": fold_test,
        "macro_f1": macro_f1,
    }


# ---- What more labels would bring: a power law through a learning curve, and how far it can be trusted.
#
# Accuracy grows with the number of training rows as a - b n^-c, quickly at first, then ever more slowly towards a. The
# law is fitted by least squares; leaving out one fold at a time (the jackknife), and trusting small sizes more or less,
# says how much its forecast shakes.


SPEEDS = np.geomspace(0.05, 2.0, 120)
LEAST_POINTS = 4
LEAST_FOLDS = 3


@dataclass(frozen=True)
class PowerLaw:
    """a - b n^-c with b >= 0: what n training rows give."""

    a: float
    b: float
    c: float

    def at(self, n: npt.ArrayLike) -> Floats:
        """Return the score that n rows are expected to give."""
        return np.asarray(self.a - self.b * np.asarray(n, np.float64) ** -self.c)


@dataclass(frozen=True)
class Forecast:
    """What ``rows`` training rows would add to the score of those there are, with a rough interval."""

    rows: int
    gain: float
    interval: Interval
    law: PowerLaw


def fit_power_law(rows: npt.ArrayLike, scores: npt.ArrayLike, trust: float = 1.0) -> PowerLaw:
    """Fit a - b n^-c by least squares, with a <= 1 and b >= 0; c from 0.05 to 2, as close as the steps of a grid.

    A size counts by n^trust: the law holds for many rows better than for few, and what is asked is how it goes on.
    Given c the law is linear in a and b, so each c has its best a and b, and the best c is looked up.

    >>> rows = np.array([100, 200, 400, 800, 1600])
    >>> law = fit_power_law(rows, 0.9 - 2.0 * rows**-0.5)
    >>> round(float(law.at(3200)), 3)  # 0.9 - 2 / sqrt(3200) = 0.86464
    0.865

    Reference: Hestness et al., Deep Learning Scaling is Predictable, Empirically, 2017; Efron, The Jackknife, 1982.
    """
    n, y = np.asarray(rows, np.float64), np.asarray(scores, np.float64)
    w = n**trust / np.sum(n**trust)
    x = n[None, :] ** -SPEEDS[:, None]  # (speeds, sizes)
    mean = x @ w
    spread = x - mean[:, None]
    b = np.maximum(0.0, -(spread @ (w * y)) / (spread**2 @ w))
    a = w @ y + b * mean
    b = np.where(a > 1.0, np.maximum(0.0, x @ (w * (1.0 - y))) / (x**2 @ w), b)
    a = np.minimum(a, 1.0)
    errors = (y - a[:, None] + b[:, None] * x) ** 2 @ w
    k = int(errors.argmin())
    level = float(w @ y)
    if errors[k] > float(w @ (y - level) ** 2) - 1e-15:  # no better than a flat line
        return PowerLaw(level, 0.0, 1.0)
    return PowerLaw(float(a[k]), float(b[k]), float(SPEEDS[k]))


def forecast(rows: npt.ArrayLike, right: Ints, held: Ints, factor: float = 2.0) -> Forecast | None:
    """Say what factor times the rows would bring; None where that cannot be told: too few sizes or folds.

    rows are the training rows of each size, the last one all of them; right, (sizes, folds), how many of the held-out
    rows of a fold are right; held, (folds,), how many those are. The interval is for the gain as it would be measured on
    the rows then at hand, and adds up three doubts: what leaving out a fold changes; what it changes to count all sizes
    alike, or the large ones even more, for the law is only a law of thumb; and the luck of which rows come in.
    """
    n = np.asarray(rows, np.float64)
    folds = right.shape[1]
    if len(n) < LEAST_POINTS or folds < LEAST_FOLDS:
        return None
    target = factor * n[-1]

    def gain(kept: Bools, trust: float = 1.0) -> tuple[float, PowerLaw]:
        law = fit_power_law(n, right[:, kept].sum(axis=1) / held[kept].sum(), trust)
        return float(law.at(target) - law.at(n[-1])), law

    every = np.ones(folds, dtype=bool)
    whole, law = gain(every)
    without = np.array([gain(np.arange(folds) != k)[0] for k in range(folds)])
    noise = math.sqrt((folds - 1) / folds * float(np.sum((without - without.mean()) ** 2)))
    misfit = max(abs(gain(every, trust)[0] - whole) for trust in (0.0, 2.0))
    most = 1.0 - float(right[-1].sum() / held.sum())
    luck = math.sqrt(most * (1.0 - most) / float(held.sum()) * (1 - 1 / factor))
    half = math.hypot(two_sided_quantile(0.95, folds - 1) * noise, misfit, 1.96 * luck)
    return Forecast(round(target), whole, (max(0.0, whole - half), min(most, whole + half)), law)


# ---- Ctrl-C, noticed even where a fit catches it to keep its weights so far.


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[..., None]]:
    """Yield a function that raises KeyboardInterrupt again if Ctrl-C was pressed in the block; it takes any event.

    Only the main thread gets Ctrl-C; elsewhere the function does nothing.
    """
    asked = threading.Event()

    def check(*_: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield check
        return

    def note(number: int, frame: Any) -> None:
        asked.set()
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


FEW_ROWS = 500  # below this, ten folds: five would leave too few rows to learn from
HALVINGS = 4  # a learning curve goes down to a sixteenth
LEAST_ROWS = 10  # of which no fewer are tried
MANY_TWICE = 0.01  # share of rows with a text that was there before: above this it is said

Folds = list[tuple[Ints, Ints]]
OnEvent = Callable[[Event], None]


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
    columns = (groups,) if isinstance(groups, str) and groups != "duplicates" else ()
    rows = ComparedRows.of(labelled_data(data, y, "compare", extra=(*needed_by(specs), *columns)), groups)
    n_folds = min(10 if len(rows.codes) < FEW_ROWS else 5, len(rows.codes)) if folds is None else folds
    pairs = fold_indices(rows.codes, random_state, n_folds, repeats=repeats, groups=rows.groups)
    with interrupts() as check:
        run = _ComparisonRun(specs, rows, pairs, share, on_event, check)
        run.total += (len(specs) if curve == "all" else 1 if curve else 0) * n_folds * HALVINGS
        answers = run.all_folds(n_folds)
        scores = sorted(
            (score(name, mine, rows, n_folds) for name, mine in answers.items()), key=lambda m: -m.accuracy
        )  # stable: of equals the one named first
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
        with interrupts() as check:
            run = _ComparisonRun([Spec("model", settings, clf.search_)], rows, pairs, True, None, check)
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
        self, specs: list[Spec], rows: ComparedRows, pairs: Folds, share: bool, on_event: OnEvent | None,
        check: Callable[..., None],
    ) -> None:  # fmt: skip
        self.specs, self.rows, self.pairs, self.share = specs, rows, pairs, share
        self.on_event, self.check = on_event, check
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
                for spec in self.specs:
                    if spec.name in self.skipped:
                        continue
                    try:
                        answers[spec.name].append(self._ask(spec, fit_on, held, measure=k == 0))
                    except LinnetError as error:
                        self.skipped[spec.name] = str(error).splitlines()[0]
                        self.total -= len(self.pairs) - k
                        continue
                    self._say("fold", spec, k, answers[spec.name][-1])
        except KeyboardInterrupt:
            self.stopped = True
        return self._whole({name: mine for name, mine in answers.items() if name not in self.skipped}, folds)

    def _whole(self, answers: dict[str, list[FoldAnswers]], folds: int) -> dict[str, list[FoldAnswers]]:
        """Keep what can be compared: whole repeats, or else the folds that are done by all, or the first fold."""
        if not answers:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.skipped.items())
            raise LinnetError(f"no model can take this data ({reasons})")
        done = min(map(len, answers.values()))
        if not done:
            done = 1
            for name in [name for name, mine in answers.items() if not mine]:
                self.skipped[name] = "interrupted before its first fold was done"
                del answers[name]
            if not answers:
                raise KeyboardInterrupt
        done = done // folds * folds or done
        return {name: mine[:done] for name, mine in answers.items()}

    def _ask(self, spec: Spec, fit_on: Ints, held: Ints, *, measure: bool = False) -> FoldAnswers:
        found = answer(spec, self.rows, fit_on, held, share=self.share, measure=measure, on_event=self.check)
        self.check()
        self.done += 1
        return found

    def _say(self, kind: str, spec: Spec, fold: int, found: FoldAnswers) -> None:
        if self.on_event is not None:
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
        folds = len(full)
        shrunk = [self._halves(fit_on, seed) for fit_on, _ in self.pairs[:folds]]
        held = np.array([len(a.held) for a in full])
        right, sizes = [[a.right for a in full]], [float(np.mean([a.train_rows for a in full]))]
        try:
            for step in reversed(range(min(map(len, shrunk)))):  # the small ones first: they are quick
                if self.stopped:
                    break
                found = []
                for k in range(folds):
                    found.append(self._ask(spec, shrunk[k][step], self.pairs[k][1]))
                    self._say("curve", spec, k, found[-1])
                right.insert(-1, [a.right for a in found])
                sizes.insert(-1, float(np.mean([a.train_rows for a in found])))
        except KeyboardInterrupt:
            self.stopped = True
        table = np.array(right)
        ahead = forecast(sizes, table, held)
        rows = tuple(round(n) for n in sizes)
        return Curve(name, rows, tuple(table.sum(axis=1).tolist()), int(held.sum()), ahead)

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
