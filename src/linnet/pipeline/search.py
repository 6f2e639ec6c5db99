"""Search the settings of a plan: the power of the ratio, C, alpha. One axis at a time, from the first values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import LinnetError
from linnet.features.blocks import Blocks
from linnet.features.plan import FeaturePlan
from linnet.pipeline.crossval import CALIBRATION, FEW_ROWS, CrossValidation, Fold, choose_folds, correct
from linnet.pipeline.events import Log
from linnet.pipeline.plan import Plan

__all__ = ["SearchResult", "SearchRows", "Trial", "axes_of", "search", "walk"]

Axes = list[tuple[str, tuple[Any, ...]]]


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, and how well they did on held-out rows."""

    settings: dict[str, Any]
    accuracy: float
    right: npt.NDArray[np.bool_] = field(repr=False)
    scores: npt.NDArray[np.float64] = field(repr=False)  # of the held-out rows
    rows: npt.NDArray[np.int64] = field(repr=False)
    metric: str = "accuracy"
    """What ``accuracy`` is: where rows have several labels it is their R-precision."""


@dataclass(frozen=True)
class SearchResult:
    """The best trial and all of them, in order."""

    best: Trial
    tried: tuple[Trial, ...]
    folds: int
    larger: Trial | None = None
    """The best settings once more, fitted on more rows than the search was, where rows are many."""

    @property
    def for_calibration(self) -> Trial:
        """The held-out scores that are most like those of the final model."""
        return self.larger or self.best


@dataclass(frozen=True)
class SearchRows:
    """Rows to judge settings on: counted, with classes, the numbers of the dev rows, weights and groups.

    weight is what rows weigh in a fit, class weights included; given_weight what the user gave them.
    """

    rows: Any
    y: npt.NDArray[Any]
    n_entries: int
    dev: npt.NDArray[np.int64] | None = None
    weight: npt.NDArray[np.float64] | None = None
    groups: npt.NDArray[np.int64] | None = None
    given_weight: npt.NDArray[np.float64] | None = None


def axes_of(plan: FeaturePlan, many: bool) -> Axes:
    """Return the settings to try, where to start first."""
    axes: Axes = [*plan.grid, ("ratio", plan.ratio)]
    first = dict(plan.many) if many else {}
    return [
        (name, (first[name], *values) if name in first and first[name] in values else values)
        for name, values in axes
        if values
    ]


def _clearly_better(new: Trial, old: Trial) -> bool:
    """Say whether new is right on more rows than old by more than the noise of the rows they differ on.

    The noise of a paired difference is the root of the number of rows on which the two differ (McNemar). Without this
    a walk over many settings ends at whichever was lucky.
    """
    gained = int(np.sum(new.right & ~old.right))
    lost = int(np.sum(old.right & ~new.right))
    return gained - lost > float(np.sqrt(gained + lost))


def _ordered(values: tuple[Any, ...]) -> list[Any]:
    """Return the values once each, by size where they have one, else as given."""
    try:
        return sorted(set(values))
    except TypeError:  # text with None, or dicts
        return [v for k, v in enumerate(values) if v not in values[:k]]


def walk(axes: Axes, judge: Callable[[dict[str, Any]], Trial]) -> Iterator[Trial]:
    """Walk the axes: along each, try the neighbours of the best value for as long as they get better; go round twice.

    Yields the best so far after every trial.
    """
    at = {name: values[0] for name, values in axes}
    best = judge(at)
    yield best
    for _ in range(2):
        before = best
        for name, values in axes:
            ordered = _ordered(values)
            for step in (1, -1):
                k = ordered.index(at[name]) + step
                while 0 <= k < len(ordered):
                    tried = judge({**at, name: ordered[k]})
                    if not _clearly_better(tried, best):
                        yield best
                        break
                    best, at = tried, {**at, name: ordered[k]}
                    yield best
                    k += step
        if best is before:
            break


def search(plan: Plan, given: SearchRows, blocks: Blocks, n_classes: int, min_df: int, log: Log) -> SearchResult:
    """Try settings and return the best; KeyboardInterrupt ends the search and keeps the best so far."""
    folds = choose_folds(given.y, n_classes, given.dev, given.n_entries, plan.seed, given.groups)
    axes = axes_of(plan.features, many=len(given.y) >= FEW_ROWS)
    trials = _Trials(plan, given, folds, CrossValidation(
        given.rows, blocks, given.y, n_classes, min_df=min_df, select=plan.features.select
    ), log, 1 + sum(min(2, len(values) - 1) for _, values in axes))  # fmt: skip
    best = None
    try:
        for best in walk(axes, trials):  # noqa: B007 - the last one counts
            if trials.stopped:
                break
    except KeyboardInterrupt:
        best = best or next(iter(trials.known.values()), None)
        if best is None:
            raise
    if best is None:
        raise LinnetError("there are no settings to try")
    larger = None
    if plan.calibrate and not trials.stopped:
        more = choose_folds(given.y, n_classes, given.dev, given.n_entries, plan.seed, given.groups, **CALIBRATION)
        if any(len(one.train) > len(other.train) for one, other in zip(more, folds, strict=True)):
            trials.folds = more
            with contextlib.suppress(KeyboardInterrupt):  # what the search found will do
                larger = trials.judged(best.settings)
    return SearchResult(best, tuple(trials.known.values()), len(folds), larger)


class _Trials:
    """Judges settings on all folds, each once."""

    def __init__(
        self, plan: Plan, given: SearchRows, folds: list[Fold], validation: CrossValidation, log: Log, expected: int
    ) -> None:
        self.plan, self.given, self.folds, self.validation, self.log = plan, given, folds, validation, log
        self.expected = expected  # of a walk that stays where it is
        self.known: dict[tuple[Any, ...], Trial] = {}
        self.stopped = False

    def __call__(self, settings: dict[str, Any]) -> Trial:
        key = tuple((name, repr(settings[name])) for name in sorted(settings))
        if key not in self.known:
            trial = self.judged(settings)
            if self.stopped and self.known:  # half judged, and there are finished ones
                raise KeyboardInterrupt
            self.known[key] = trial
            self.log.candidate(trial, len(self.known), self.expected)
        return self.known[key]

    def judged(self, settings: dict[str, Any]) -> Trial:
        """Fit some settings on every fold and score its held-out rows."""
        scores, rows = [], []
        for fold in self.folds:
            found = self.validation.fit(
                fold, self.plan.make(settings), self.plan.features, float(settings["ratio"]),
                sample_weight=self.given.weight, given_weight=self.given.given_weight, threads=self.plan.threads,
                on_epoch=self.log.trial if self.log.on_event else None,
            )  # fmt: skip
            scores.append(found.scores)
            rows.append(fold.held_out)
            if found.interrupted:  # solvers keep their weights on Ctrl-C; here it ends the search
                self.stopped = True
                break
        S, at = np.concatenate(scores), np.concatenate(rows)
        right = correct(S, self.given.y[at])
        metric = "R-precision" if self.given.y.ndim == 2 else "accuracy"
        return Trial(settings, float(right.mean()), right, S, at, metric)
