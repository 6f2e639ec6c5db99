"""Choose settings on held-out rows: the power of the ratio, C, alpha. One axis at a time, from the first values.

Small data is judged by five rotating folds, because a tenth of 5,000 rows is too few to tell 80 from 81 %; larger data
by one held-out part, on a bounded number of entries. Features are counted once for all candidates; weights are learned
from the training part of each fold only, so the held-out score is honest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.data.splitting import split_indices
from linnet.errors import DataError, LinnetError
from linnet.features.blocks import Blocks
from linnet.features.counts import SparseCounts
from linnet.features.recipe import Recipe, Weights
from linnet.solvers.callbacks import Callback, Epoch
from linnet.solvers.dense import finish
from linnet.solvers.matrix import Matrix

__all__ = [
    "Candidate", "Choice", "axes_of", "choose", "fit_watched", "fit_weighted", "fold_parts", "folds_for", "right_of",
    "scores_of", "walk", "weighted",
]  # fmt: skip

FEW_ROWS = 20_000  # below this, and this many entries times classes, five folds
LITTLE_WORK = 20_000_000
MOST_ENTRIES = 1_000_000  # entries of the training part that candidates are tried on, where rows are many
LEAST_ROWS = 3_000
MOST_DEV = 3_000

Indices = npt.NDArray[np.int64]
OnEpoch = Callable[[Epoch, Callable[[], Any]], Any]


@dataclass(frozen=True)
class Candidate:
    """Settings that were tried and how well they did on held-out rows."""

    settings: dict[str, Any]
    accuracy: float
    right: npt.NDArray[np.bool_] = field(repr=False)
    scores: npt.NDArray[np.float64] = field(repr=False)  # of the held-out rows
    rows: Indices = field(repr=False)


@dataclass(frozen=True)
class Choice:
    """The best candidate and all that were tried, in order."""

    best: Candidate
    tried: tuple[Candidate, ...]
    folds: int


def folds_for(
    y: npt.NDArray[np.int32], n_classes: int, dev: Indices | None, rows: SparseCounts, seed: int
) -> list[tuple[Indices, Indices]]:
    """Return the (training, held-out) parts to judge candidates on."""
    everything = np.arange(len(y))
    work = len(rows.indices) * (1 if n_classes == 2 else n_classes)
    if dev is not None:
        held = [(np.setdiff1d(everything, dev), dev)]
    elif len(y) < FEW_ROWS and work < LITTLE_WORK:
        parts = split_indices(y, seed, (0.2,) * 5)
        held = [(np.setdiff1d(everything, part), part) for part in parts if len(part)]
        held = [fold for fold in held if len(fold[0])]
    else:
        share = min(0.25, max(0.1, MOST_DEV / len(y)))
        rest, part = split_indices(y, seed, (1 - share, share))
        held = [(np.sort(rest), np.sort(part))]
    rng = np.random.default_rng(seed)
    mean = max(1.0, len(rows.indices) / max(1, len(rows)))
    most = max(LEAST_ROWS if len(held) == 1 else FEW_ROWS, int(MOST_ENTRIES / mean))
    out = []
    for train, part in held:
        small = np.sort(rng.choice(train, most, replace=False)) if len(train) > most else train
        judged = np.sort(rng.choice(part, MOST_DEV, replace=False)) if len(part) > MOST_DEV else part
        out.append((_covering(small, train, y), judged))
    return out


def _covering(small: Indices, train: Indices, y: npt.NDArray[np.int32]) -> Indices:
    """Add the first row of every class that the sample missed."""
    missing = np.setdiff1d(y[train], y[small])
    extra = [int(train[np.flatnonzero(y[train] == c)[0]]) for c in missing]
    return np.sort(np.concatenate([small, np.array(extra, dtype=np.int64)]))


def _vocabulary(train: SparseCounts, held: SparseCounts, min_df: int) -> tuple[SparseCounts, SparseCounts]:
    """Keep the columns that the training part alone would have known."""
    known = train.document_frequency() >= min_df
    numbers = np.where(known, np.cumsum(known, dtype=np.int32) - 1, -1).astype(np.int32)
    return train.keep(numbers), held.keep(numbers)


def _selected(
    recipe: Recipe, train: SparseCounts, held: SparseCounts, y: npt.NDArray[np.int32], n_classes: int
) -> tuple[SparseCounts, SparseCounts]:
    """Keep the columns that the labels of the training part alone would have chosen."""
    if recipe.select is None or not train.n_columns:
        return train, held
    numbers, _ = recipe.select.choose(train, y, n_classes)
    return train.keep(numbers), held.keep(numbers)


def fold_parts(
    rows: SparseCounts,
    recipe: Recipe,
    train: Indices,
    held: Indices,
    y: npt.NDArray[np.int32],
    n_classes: int,
    min_df: int,
) -> tuple[SparseCounts, SparseCounts, Indices, Indices]:
    """Return training and held-out rows with the columns that the training part alone would have, and their numbers."""
    parts = _vocabulary(rows.take(train), rows.take(held), min_df)
    return *_selected(recipe, *parts, y[train], n_classes), train, held


def fit_weighted(
    model: Any,
    rows: SparseCounts,
    weights: Weights,
    recipe: Recipe,
    blocks: Blocks,
    y: npt.NDArray[np.int32],
    n_classes: int,
    *,
    sample_weight: npt.NDArray[np.float64] | None,
    threads: int,
    on_epoch: OnEpoch | None = None,
) -> tuple[npt.NDArray[np.float32], Any]:
    """Fit a model to counted rows; the weights it returns are folded: they apply to tf / norm.

    Beside them comes what turns their sums into scores: b, or the Head of a net.
    """
    if rows.computed is not None and getattr(model, "non_negative", False) and (rows.computed < 0).any():
        raise DataError(
            f"{type(model).__name__} takes no negative features; make the feature functions return 0 or more, leave out "
            "word lists and columns of numbers or dates, or choose another model"
        )
    weights = weights.with_computed()
    own = bool(getattr(model, "uses_gain", False))
    X = weighted(rows, weights, recipe, blocks, multiply=not own)
    if own:
        X = replace(X, gain=weights.gain)
    if getattr(model, "presence", False) and (X.values != 1).any():
        name = type(model).__name__
        raise LinnetError(f"{name} takes words present or absent: leave out tf, idf, ratio and the weights of blocks")
    W, b = model.fit_matrix(X, y, n_classes, sample_weight=sample_weight, threads=threads, on_epoch=on_epoch)
    W = np.ascontiguousarray(W, dtype=np.float32)
    if not own:
        W *= weights.norm[:, None]
    return W, b


def weighted(rows: SparseCounts, weights: Weights, recipe: Recipe, blocks: Blocks, *, multiply: bool) -> Matrix:
    """Return rows over their norms, times the weight of their block: scales alone for present features, else values."""
    none = np.zeros(0, np.float32)
    share = np.array([b.weight for b in blocks], dtype=np.float32)
    if recipe.tf == "presence" and not multiply and rows.computed is None:
        scale = (
            rows.segment_scale(weights.norm, recipe.normalise)
            if recipe.normalise
            else np.ones(len(rows.indptr) - 1, np.float32)
        )
        scale.reshape(-1, len(share))[:] *= share
        return Matrix(rows.indptr, rows.indices, none, rows.n_columns, scale=scale, n_blocks=rows.n_blocks)
    values = rows.values(recipe.tf, weights.norm, normalise=recipe.normalise, multiply=multiply)
    if np.any(share != 1):
        values *= np.repeat(np.tile(share, len(rows)), np.diff(rows.indptr))
    if rows.computed is not None:
        n_computed = rows.computed.shape[1]
        factors = weights.norm[rows.n_columns :] if multiply else None
        return Matrix(*rows.with_computed(values, factors), rows.n_columns + n_computed)
    return Matrix(rows.row_ptr, rows.indices, values, rows.n_columns)


def scores_of(
    rows: SparseCounts, weights: Weights, recipe: Recipe, blocks: Blocks, W: Any, b: Any
) -> npt.NDArray[np.float64]:
    """Return the scores of counted rows under folded weights, (n_rows, n_outputs); b may be a head."""
    return finish(weighted(rows, weights, recipe, blocks, multiply=False).dot(W), b)


def right_of(S: npt.NDArray[np.float64], y: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Say of each row whether its best score is that of its class."""
    return np.asarray((S[:, 0] > 0) == (y == 1) if S.shape[1] == 1 else S.argmax(axis=1) == y)


def fit_watched(
    model: Any,
    rows: SparseCounts,
    weights: Weights,
    recipe: Recipe,
    blocks: Blocks,
    y: npt.NDArray[np.int32],
    n_classes: int,
    held: tuple[SparseCounts, npt.NDArray[np.int32]],
    *,
    sample_weight: npt.NDArray[np.float64] | None,
    threads: int,
    on_epoch: OnEpoch,
) -> tuple[npt.NDArray[np.float32], Any]:
    """Fit as fit_weighted does, with the accuracy on held rows in every report.

    A fit that Ctrl-C ends keeps the weights that did best on them.
    """

    def folded(found: tuple[Any, Any]) -> tuple[npt.NDArray[np.float32], Any]:
        W = np.ascontiguousarray(found[0], dtype=np.float32)
        return (W if getattr(model, "uses_gain", False) else W * weights.with_computed().norm[:, None]), found[1]

    def judge(found: tuple[Any, Any]) -> float:
        return float(right_of(scores_of(held[0], weights, recipe, blocks, *folded(found)), held[1]).mean())

    watch = Callback(on_epoch, judge=judge)
    found = fit_weighted(
        model, rows, weights, recipe, blocks, y, n_classes, sample_weight=sample_weight, threads=threads,
        on_epoch=watch,
    )  # fmt: skip
    return folded(watch.best) if getattr(model, "interrupted_", False) and watch.best is not None else found


def axes_of(recipe: Recipe, many: bool) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the settings to try, where to start first."""
    axes: list[tuple[str, tuple[Any, ...]]] = [*recipe.grid, ("ratio", recipe.ratio)]
    first = dict(recipe.many) if many else {}
    return [
        (name, (first[name], *values) if name in first and first[name] in values else values)
        for name, values in axes
        if values
    ]


def _clearly_better(new: Candidate, old: Candidate) -> bool:
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
    except TypeError:  # text beside None, or dicts
        return [v for k, v in enumerate(values) if v not in values[:k]]


def walk(axes: list[tuple[str, tuple[Any, ...]]], judge: Callable[[dict[str, Any]], Candidate]) -> Iterator[Candidate]:
    """Walk the axes: along each, try the neighbours of the best value for as long as they get better; go round twice.

    Yields the best so far after every candidate.
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


def choose(
    make: Callable[[dict[str, Any]], Any],
    rows: SparseCounts,
    recipe: Recipe,
    blocks: Blocks,
    y: npt.NDArray[np.int32],
    n_classes: int,
    *,
    min_df: int,
    dev: Indices | None,
    seed: int,
    threads: int,
    sample_weight: npt.NDArray[np.float64] | None = None,
    on_candidate: Callable[[Candidate, int, int], None] | None = None,
    on_epoch: OnEpoch | None = None,
) -> Choice:
    """Try settings and return the best; KeyboardInterrupt ends the search and keeps the best so far.

    make builds a model from the settings that are not 'ratio'.
    """
    folds = folds_for(y, n_classes, dev, rows, seed)
    axes = axes_of(recipe, many=len(y) >= FEW_ROWS)
    most = 1 + sum(min(2, len(values) - 1) for _, values in axes)  # a walk that stays where it is
    parts = [fold_parts(rows, recipe, train, held, y, n_classes, min_df) for train, held in folds]
    known: dict[tuple[Any, ...], Candidate] = {}
    weights: dict[tuple[float, int], Weights] = {}

    stopped = False

    def known_or_judged(settings: dict[str, Any]) -> Candidate:
        nonlocal stopped
        key = tuple((name, repr(settings[name])) for name in sorted(settings))
        if key not in known:
            candidate = judge(settings)
            if stopped and known:  # half judged, and there are better known ones
                raise KeyboardInterrupt
            known[key] = candidate
            if on_candidate is not None:
                on_candidate(candidate, len(known), most)
        return known[key]

    def judge(settings: dict[str, Any]) -> Candidate:
        nonlocal stopped
        scores, held_rows = [], []
        p = float(settings["ratio"])
        for k, (train_rows, held, train, judged) in enumerate(parts):
            if (p, k) not in weights:
                weights[p, k] = recipe.weights(train_rows, y[train], n_classes, p)
            model = make({name: value for name, value in settings.items() if name != "ratio"})
            W, b = fit_weighted(
                model, train_rows, weights[p, k], recipe, blocks, y[train], n_classes,
                sample_weight=None if sample_weight is None else sample_weight[train], threads=threads, on_epoch=on_epoch,
            )  # fmt: skip
            scores.append(scores_of(held, weights[p, k], recipe, blocks, W, b))
            held_rows.append(judged)
            if getattr(model, "interrupted_", False):  # solvers keep their weights on Ctrl-C; here it ends the search
                stopped = True
                break
        S, at = np.concatenate(scores), np.concatenate(held_rows)
        right = right_of(S, y[at])
        return Candidate(settings, float(right.mean()), right, S, at)

    best = None
    try:
        for best in walk(axes, known_or_judged):  # noqa: B007 - the last one counts
            if stopped:
                break
    except KeyboardInterrupt:
        best = best or next(iter(known.values()), None)
        if best is None:
            raise
    if best is None:
        raise LinnetError("there are no settings to try")
    return Choice(best, tuple(known.values()), len(folds))
