"""``compare``: every model on every fold, one after the other, then scores, tests and words."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.classifier import TextClassifier
from linnet.comparison.comparison import Comparison, Curve
from linnet.comparison.scoring import ComparedRows, FoldAnswers, answer, pairs_of, score
from linnet.comparison.specs import Spec, as_specs, needed_by
from linnet.data import Dataset
from linnet.data.splitting import fold_indices, split_indices
from linnet.draw.terminal import listed
from linnet.errors import LinnetError
from linnet.evaluate.intervals import Interval, two_sided_quantile
from linnet.pipeline.crossval import labelled_data
from linnet.pipeline.events import Event
from linnet.text.duplicates import exact_groups, repeats

# ---- What more labels would bring: a power law through a learning curve, and how far it can be trusted.
#
# Accuracy grows with the number of training rows as a - b n^-c, quickly at first, then ever more slowly towards a. The
# law is fitted by least squares; leaving out one fold at a time (the jackknife), and trusting small sizes more or less,
# says how much its forecast shakes.


Floats = npt.NDArray[np.float64]

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


def forecast(
    rows: npt.ArrayLike, right: npt.NDArray[np.int64], held: npt.NDArray[np.int64], factor: float = 2.0
) -> Forecast | None:
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

    def gain(kept: npt.NDArray[np.bool_], trust: float = 1.0) -> tuple[float, PowerLaw]:
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

Indices = npt.NDArray[np.int64]
Folds = list[tuple[Indices, Indices]]
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

    def _ask(self, spec: Spec, fit_on: Indices, held: Indices, *, measure: bool = False) -> FoldAnswers:
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

    def _halves(self, fit_on: Indices, seed: int) -> list[Indices]:
        """Return a half of some rows, a half of that, and so on, each with every class in its share."""
        out: list[Indices] = []
        rows = fit_on
        for _ in range(HALVINGS):
            rows = rows[split_indices(self.rows.codes[rows], seed, (0.5, 0.5))[0]]
            if len(rows) < LEAST_ROWS or len(np.unique(self.rows.codes[rows])) < 2:
                break
            out.append(rows)
        return out
