"""Search the settings of a plan: C, alpha, the power of the ratio, tf, widths. One axis at a time, from the first values."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from linnet.array_types import Array, Bools, Floats, Ints
from linnet.errors import LinnetError
from linnet.features.blocks import AnyBlocks, Blocks, Chars, as_blocks, describe, split
from linnet.features.plan import VARIATIONS, FeaturePlan
from linnet.model.calibration import Calibration
from linnet.pipeline.crossval import (
    CALIBRATION,
    FEW_ROWS,
    LITTLE_WORK,
    CrossValidation,
    Fold,
    Scored,
    choose_folds,
    correct,
    side_by_side,
    work_of,
)
from linnet.pipeline.events import Log
from linnet.pipeline.plan import Plan
from linnet.solvers.callbacks import ConvergenceWarning, OnEpoch

Axes = list[tuple[str, tuple[Any, ...]]]
PATIENT_FOLDS = 3
ENOUGH_ROWS = 2_000  # held out, for small differences to show
MANY_CLASSES = 50  # from here on a fit is expensive, and settings are tried more cheaply


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, and how well they did on held-out rows."""

    settings: dict[str, Any]
    accuracy: float
    right: Bools = field(repr=False)
    scores: Floats = field(repr=False)  # of the held-out rows
    rows: Ints = field(repr=False)
    y: Array = field(repr=False)
    """The classes of the held-out rows."""
    metric: str = "accuracy"
    """What ``accuracy`` is: where rows have several labels it is their R-precision."""
    soft: Floats | None = field(default=None, repr=False)
    """The weights of the held-out rows as each class, where labels are distributions."""


@dataclass(frozen=True)
class HeldOut:
    """The held-out scores that are most like those of the final model, and the calibration that was learned on them."""

    trial: Trial
    calibration: Calibration | None


@dataclass(frozen=True)
class SearchResult:
    """The best trial and all of them, in order."""

    best: Trial
    tried: tuple[Trial, ...]
    folds: int
    judged_on: tuple[Fold, ...] = ()
    """The folds themselves."""
    n_entries: int = 0
    """Entries of the rows that were searched; 0 where the settings are not fitted once more to calibrate."""
    n_classes: int = 0
    unlabelled: float = 0.0
    """The weight of texts without labels, for naive Bayes."""
    held_out: HeldOut | None = field(default=None, repr=False)
    """What the fit after the search learned on held-out rows, once it is done."""


@dataclass(frozen=True)
class SearchRows:
    """Rows to judge settings on: counted, with classes, the numbers of the dev rows, weights and groups.

    weight is what rows weigh in a fit, class weights included; given_weight what the user gave them.
    """

    rows: Any
    y: Array
    n_entries: int
    dev: Ints | None = None
    weight: Floats | None = None
    groups: Ints | None = None
    given_weight: Floats | None = None
    other: tuple[AnyBlocks, ...] = ()
    """Other features worth trying."""
    cuts: tuple[int, ...] = ()
    """Values of min_df worth trying."""
    count: Callable[[AnyBlocks, str, Ints], Any] | None = None
    """count(features, tf, numbers) counts those rows again; None where their texts are not at hand."""
    most_entries: int = CALIBRATION[0]
    """Entries of the fit that calibrates, at most."""


def axes_of(
    plan: FeaturePlan, many: bool, other: tuple[AnyBlocks, ...] = (), cuts: tuple[int, ...] = (), n_classes: int = 0
) -> Axes:
    """Return the settings to try, where to start first: with many classes without the ratio, which seldom helps there."""
    axes: Axes = [("min_df", cuts), *plan.grid, ("ratio", plan.ratio)]
    if plan.other_tf:
        axes.append(("tf", (plan.tf, *plan.other_tf)))
    if other:
        default = plan.features or ()
        tried = map(describe, (default, *other) if many else (*other, default))
        axes.append(("features", tuple(dict.fromkeys(tried))))
    first = dict(plan.many if many else plan.few) | ({"ratio": 0.0} if n_classes >= MANY_CLASSES else {})
    found = []
    for name, values in axes:
        if values:
            start = first.get(name, values[0])
            found.append((name, tuple(sorted(values, key=lambda value: value != start))))  # noqa: B023 - called at once
    return found


def clearly_better(new: Trial, old: Trial) -> bool:
    """Say whether new is right on more rows than old by more than the noise of the rows they differ on.

    The noise of a paired difference is the root of the number of rows on which the two differ, and one row more, the
    correction for continuity (McNemar). Without this a walk over many settings ends at whichever was lucky; with
    many rows half of that noise will do. A trial that was stopped early is not better; beside one that was, the folds of both count.
    """
    if len(new.right) < len(old.right):
        return False
    gained, lost = _differences(new.right[: len(old.right)], old.right)
    return gained - lost > (0.5 if len(old.right) >= ENOUGH_ROWS else 1.0) * float(np.sqrt(gained + lost)) + 1.0


def _differences(new: Bools, old: Bools) -> tuple[int, int]:
    """Return on how many rows new alone is right, and old alone."""
    return int(np.sum(new & ~old)), int(np.sum(old & ~new))


def _hopeless(new: Bools, old: Bools, folds: int) -> bool:
    """Say after some folds whether new will hardly come out clearly better: clearly worse, or no better after three."""
    gained, lost = _differences(new, old[: len(new)])
    return lost - gained > float(np.sqrt(gained + lost)) or (folds >= PATIENT_FOLDS and gained <= lost)


def _ordered(values: tuple[Any, ...]) -> list[Any]:
    """Return the values once each, by size where they have one, else as given."""
    try:
        return sorted(set(values))
    except TypeError:  # text with None, or dicts
        return [v for k, v in enumerate(values) if v not in values[:k]]


def starts(axes: Axes, many: bool) -> list[dict[str, Any]]:
    """Return settings to start from: all features with every tf; of other settings the first value.

    Where rows are not many, each also without the ratio, which learns rare classes by heart.
    """
    first = {name: values[0] for name, values in axes}
    apart = [(name, values) for name, values in axes if name in ("features", "tf")]
    ratios = dict(axes)["ratio"]
    if not many and apart and 0.0 in ratios and any(ratios):
        apart.append(("ratio", (next(filter(None, ratios)), 0.0)))
    return [{**first, **one} for one in combinations(apart)]


def combinations(axes: Iterable[tuple[str, tuple[Any, ...]]]) -> list[dict[str, Any]]:
    """Return every choice of one value for each setting."""
    each = [[(name, value) for value in values] for name, values in axes]
    return [dict(choice) for choice in product(*each)]


def walk(
    axes: Axes, at: dict[str, Any], judge: Callable[[dict[str, Any], Trial | None], Trial],
    ahead: Callable[[list[dict[str, Any]]], None] = lambda settings: None,
    variations: Sequence[Callable[[AnyBlocks], AnyBlocks]] = (),
) -> Iterator[Trial]:  # fmt: skip
    """Walk the axes: along each, try the neighbours of the best value for as long as they get better; go round twice.

    Between the rounds variations of the features are tried, each on those that are the best so far.

    judge is given the settings and the best trial so far; ahead, before that, these settings and those that come next if they
    are no better. Yields the best so far after every trial.
    """
    order = [(name, _ordered(values), step) for name, values in axes for step in (1, -1)]

    def neighbours(at: dict[str, Any], first: int) -> Iterator[dict[str, Any]]:
        for name, values, step in order[first:]:
            k = values.index(at[name]) + step
            if 0 <= k < len(values):
                yield {**at, name: values[k]}

    ahead([at, *neighbours(at, 0)])
    best = judge(at, None)
    yield best
    for _ in range(2):
        before = best
        for n, (name, values, step) in enumerate(order):
            while 0 <= (k := values.index(at[name]) + step) < len(values):
                ahead(list(neighbours(at, n)))
                tried = judge({**at, name: values[k]}, best)
                better = clearly_better(tried, best)
                if better:
                    best, at = tried, tried.settings
                yield best
                if not better:
                    break
        for vary in variations:
            tried = judge({**at, "features": describe(vary(as_blocks(at["features"])))}, best)
            if clearly_better(tried, best):
                best, at = tried, tried.settings
            yield best
        if variations:  # these features are on no axis
            variations, order = (), [one for one in order if one[0] != "features"]
        if best is before:
            break


def search(plan: Plan, given: SearchRows, features: AnyBlocks, n_classes: int, min_df: int, log: Log) -> SearchResult:
    """Try settings and return the best; KeyboardInterrupt ends the search and keeps the best so far."""
    with warnings.catch_warnings():  # what comes of the settings is judged; the last fit says whether it converged
        warnings.simplefilter("ignore", ConvergenceWarning)
        folds = choose_folds(given.y, n_classes, given.dev, given.n_entries, plan.seed, given.groups)
        at_hand = plan.features if given.count is not None else replace(plan.features, other_tf=())
        many = len(given.y) >= FEW_ROWS
        short = any(isinstance(block, Chars) for block in features)  # documents
        both = not many and (short or min_df == 1)  # rare features take time, and say little in long texts
        cuts = (min_df, *(given.cuts if both else ())) if given.cuts else ()
        axes = axes_of(at_hand, many, given.other, cuts, n_classes)
        began = starts(axes, many)
        variations = VARIATIONS if given.other and short and not many and n_classes < MANY_CLASSES else ()
        expected = len(began) + len(variations)
        expected += sum(min(2, len(values) - 1) for name, values in axes if name not in ("features", "tf"))
        trials = _Trials(plan, given, folds, features, n_classes, min_df, log, expected)
        best = None
        try:
            for best in walk(axes, trials.race(began), trials, trials.ahead, variations):  # noqa: B007 - the last one counts
                if trials.stopped:
                    break
        except KeyboardInterrupt:
            log.interrupted = True
            best = best or max(trials.tried(), key=lambda t: (len(t.rows), t.accuracy), default=None)
            if best is None:
                raise
        if best is None:
            raise LinnetError("there are no settings to try")
        n_entries = 0 if trials.stopped else given.n_entries
        return SearchResult(best, trials.tried(), len(folds), tuple(folds), n_entries, n_classes)


@dataclass(frozen=True)
class CalibrationFit:
    """The chosen settings, fitted to more rows than the search had: the trial, the fit of the first fold, its columns."""

    trial: Trial
    fitted: Scored
    columns: Ints


def calibration_folds(plan: Plan, found: SearchResult, given: SearchRows) -> list[Fold]:
    """Return the folds of a fit that calibrates, where the search took a sample of many rows; none where it had as many."""
    if not found.n_entries:
        return []
    sizes = min(CALIBRATION[0], given.most_entries), CALIBRATION[1]
    folds = choose_folds(given.y, found.n_classes, given.dev, found.n_entries, plan.seed, given.groups, sizes)
    larger = any(len(one.train) > len(other.train) for one, other in zip(folds, found.judged_on, strict=True))
    return folds if larger else []


def fit_to_calibrate(
    plan: Plan, settings: dict[str, Any], folds: list[Fold], given: SearchRows, blocks: Blocks, n_classes: int, min_df: int,
    threads: int, on_epoch: OnEpoch | None, last: bool = False,
) -> CalibrationFit | None:  # fmt: skip
    """Fit settings on folds, and not roughly: the intercept of a rough fit is not that of the last.

    Where that is the last fit, Ctrl-C keeps the weights so far, and a warning says that it did not converge. Else None is
    returned after Ctrl-C.
    """
    rows, fits = CrossValidation(given.rows, blocks, given.y, n_classes, min_df=min_df, select=plan.features.select), []
    for fold in folds:
        model = plan.make(settings)
        model.warns = last
        one = rows.fit(
            fold, model, plan.features, float(settings["ratio"]), sample_weight=given.weight,
            given_weight=given.given_weight, threads=threads, on_epoch=on_epoch,
        )  # fmt: skip
        if one.interrupted and not last:
            return None
        fits.append(one)
    trial = trial_of(settings, folds, [one.scores for one in fits], given)
    return CalibrationFit(trial, fits[0], rows.part(folds[0]).columns)


def trial_of(settings: dict[str, Any], folds: Sequence[Fold], scores: list[Any], given: SearchRows) -> Trial:
    """Judge settings by the scores of the held-out rows of some folds."""
    rows = np.concatenate([fold.held_out for fold in folds[: len(scores)]])
    S, y = np.concatenate(scores), given.y[rows]
    right = correct(S, y)
    metric = "R-precision" if y.ndim == 2 else "accuracy"
    weight = given.given_weight
    soft = weight[rows] if weight is not None and weight.ndim == 2 else None
    return Trial(settings, float(right.mean()), right, S, rows, y, metric, soft)


class _Trials:
    """Judges settings fold by fold, each fold once."""

    def __init__(
        self, plan: Plan, given: SearchRows, folds: list[Fold], features: AnyBlocks, n_classes: int, min_df: int, log: Log,
        expected: int,
    ) -> None:  # fmt: skip
        self.plan, self.given, self.folds, self.features, self.log = plan, given, folds, features, log
        self.n_classes, self.min_df, self.expected = n_classes, min_df, expected
        self.scores: dict[str, list[Floats]] = {}
        self.settings: dict[str, dict[str, Any]] = {}
        self.stopped = False
        self._counted: dict[tuple[str, str, bool], tuple[dict[int, CrossValidation], Any, Blocks]] = {}
        self.expensive = n_classes >= MANY_CLASSES
        """Whether a fit is expensive: a poor ratio is dropped."""
        self.warm = self.expensive and plan.traits.warm_start
        """Whether each fit begins where the one before it on the same fold ended."""
        long = len(given.y) >= FEW_ROWS or work_of(given.n_entries, n_classes) >= LITTLE_WORK
        self.rough = long and n_classes >= plan.features.rough_from
        """Whether fits take long enough to be made roughly, and a rough one will do."""
        self._left: dict[int, Any] = {}  # where the last solver on a fold ended
        self._ahead: dict[tuple[str, int], tuple[Scored, Any]] = {}
        """Fits made before they were asked for, by settings and fold."""

    def __call__(self, settings: dict[str, Any], best: Trial | None) -> Trial:
        """Judge settings on all folds, but stop where they will hardly come out clearly better than the best."""
        new = not self._judged(settings)
        while (k := self._judged(settings)) < len(self.folds):
            if best is not None and k and _hopeless(self._trial(settings).right, best.right, k):
                break
            if best is None or k:
                self._fit_ahead([(settings, fold) for fold in range(k, min(k + self.plan.threads, len(self.folds)))])
            self._judge(settings)
        if new:
            self.log.candidate(self._trial(settings), len(self.scores), self.expected)
        return self._trial(settings)

    def race(self, settings: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the first of some settings that none is clearly better than.

        After every fold those clearly worse than the best are left behind, and the last third but the first setting. With
        few rows all that is left is noise, and the order in which settings are given says more.
        """
        left = settings
        for k, fold in enumerate(self.folds):
            if len(left) == 1:
                break
            for n, one in enumerate(left):
                if n % self.plan.threads == 0:
                    self.ahead(left[n : n + self.plan.threads])
                if self.expensive and self._outdone(one):
                    continue
                self._judge(one)
                if fold is self.folds[0]:
                    self.log.candidate(self._trial(one), len(self.scores), self.expected)
            left = [one for one in left if self._judged(one) > k] or left  # without those whose ratio is outdone
            trials = sorted(map(self._trial, left), key=lambda trial: -trial.accuracy)  # the first of equals stays
            last = 0 if fold is self.folds[-1] else len(trials) // 3
            hopes = [t.settings for t in trials if not clearly_better(trials[0], t)]
            ahead = [t.settings for t in trials[: len(trials) - last]]
            left = [one for one in left if one in hopes and (one in ahead or one is left[0])]
        return left[0]

    def _outdone(self, settings: dict[str, Any]) -> bool:
        """Whether its ratio did clearly worse than another one with the same other settings."""
        tried = self.tried()
        alike = [a for a in tried if a.settings["ratio"] == settings["ratio"]]
        pairs = ((a, b) for a in alike for b in tried if {**a.settings, "ratio": b.settings["ratio"]} == b.settings)
        return any(clearly_better(b, a) for a, b in pairs)

    def tried(self) -> tuple[Trial, ...]:
        """Return all trials, in order."""
        return tuple(map(self._trial, self.settings.values()))

    def _judged(self, settings: dict[str, Any]) -> int:
        return len(self.scores.get(_key(settings), ()))

    def _trial(self, settings: dict[str, Any]) -> Trial:
        return trial_of(settings, self.folds, self.scores[_key(settings)], self.given)

    def _rows(self, settings: dict[str, Any]) -> CrossValidation:
        """Return the counted rows that settings need: those there are, or others, counted for the rows of the folds."""
        start = describe(self.features)
        features = settings.get("features", start)
        tf = settings.get("tf", self.plan.features.tf)
        min_df = settings.get("min_df", self.min_df)
        plain = features == start and tf == self.plan.features.tf and min_df >= self.min_df
        if (features, tf, plain) not in self._counted:
            rows, blocks = self.given.rows, split(self.features)[0]
            if not plain and self.given.count is not None:
                learned = self.features if features == start else as_blocks(features)
                numbers = np.unique(np.concatenate([part for f in self.folds for part in (f.train, f.held_out)]))
                rows, blocks = self.given.count(learned, tf, numbers), split(learned)[0]
            self._counted[features, tf, plain] = {}, rows, blocks
        made, rows, blocks = self._counted[features, tf, plain]
        if min_df not in made:
            select = self.plan.features.select
            made[min_df] = CrossValidation(rows, blocks, self.given.y, self.n_classes, min_df=min_df, select=select)
        return made[min_df]

    def ahead(self, settings: list[dict[str, Any]]) -> None:
        """Fit the first of some settings on its next fold, unless that is done, and those that follow it side by side.

        Not where one fit begins where another ended.
        """
        folds = [(one, self._judged(one)) for one in settings]
        waiting = [(one, k) for one, k in folds if k < len(self.folds) and (_key(one), k) not in self._ahead]
        if not self.warm and waiting and waiting[0][0] is settings[0]:
            self._fit_ahead(waiting[: self.plan.threads])

    def _fit_ahead(self, wanted: list[tuple[dict[str, Any], int]]) -> None:
        """Make fits of settings on folds side by side, where there are threads; each is taken when it is asked for."""
        waiting = [(one, k) for one, k in wanted if (_key(one), k) not in self._ahead]
        if self.plan.threads < 2 or len(waiting) < 2:
            return
        ended, one_at_a_time = threading.Event(), threading.Lock()

        def report(epoch: Any, weights: Any) -> None:
            if ended.is_set():
                raise KeyboardInterrupt
            if self.log.on_event is not None:
                with one_at_a_time:
                    try:
                        self.log.trial(epoch, weights)
                    except KeyboardInterrupt:
                        ended.set()
                        raise

        def work(given: tuple[dict[str, Any], int]) -> tuple[Scored, Any]:
            return self._fit(*given, 1, report)

        shared = len({k for _, k in waiting}) < len(waiting)
        for one, k in waiting:
            rows = self._rows(one)
            if shared:
                rows.part(self.folds[k])
        made = side_by_side(work, waiting, len(waiting), ended.set)
        self._ahead |= {(_key(one), k): found for (one, k), found in zip(waiting, made, strict=True)}
        if ended.is_set() and not any(found.interrupted for found, _ in made):
            self.stopped = True
            if self.scores:  # else the first settings are judged before the search ends
                raise KeyboardInterrupt

    def _fit(self, settings: dict[str, Any], k: int, threads: int, on_epoch: OnEpoch | None) -> tuple[Scored, Any]:
        """Fit settings on a fold; returns also where the solver ended."""
        model, features = self.plan.make(settings, trial=self.rough), self.plan.with_settings(settings).features
        if self.warm:
            model.warm = self._left.get(k, np.zeros((0, 0)))
        found = self._rows(settings).fit(
            self.folds[k], model, features, float(settings["ratio"]), sample_weight=self.given.weight,
            given_weight=self.given.given_weight, threads=threads, on_epoch=on_epoch,
        )  # fmt: skip
        return found, model.left

    def _judge(self, settings: dict[str, Any]) -> None:
        """Judge settings on their next fold."""
        k = self._judged(settings)
        made = self._ahead.pop((_key(settings), k), None)
        found, self._left[k] = made or self._fit(settings, k, self.plan.threads, self.log.trial)
        if found.interrupted:  # solvers keep their weights on Ctrl-C; here it ends the search
            self.stopped = True
            if self.scores:
                raise KeyboardInterrupt
        self.settings.setdefault(_key(settings), settings)
        self.scores.setdefault(_key(settings), []).append(found.scores)
        if self.stopped:  # half judged, and the best there is
            self.log.candidate(self._trial(settings), 1, self.expected)
            raise KeyboardInterrupt


def _key(settings: dict[str, Any]) -> str:
    return repr(sorted((name, repr(value)) for name, value in settings.items()))
