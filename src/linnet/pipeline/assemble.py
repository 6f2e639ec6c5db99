"""From fitted weights to a model: calibrate, put weights where the lookup finds them, keep names, write the card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels.text import fill_rows
from linnet.features.blocks import AnyBlocks, Blocks, describe
from linnet.features.counting import Slots
from linnet.features.plan import FeaturePlan, FeatureWeights
from linnet.model.calibration import Calibration
from linnet.model.curve import FittedCalibration, choose_calibration, fit_calibration
from linnet.model.model import Model, Table, empty_table
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import RowStore
from linnet.pipeline.search import SearchResult, Trial
from linnet.solvers.network import DenseLayers, finish, scaled

__all__ = [
    "NAMED_FEATURES",
    "assemble",
    "calibrate",
    "card_of",
    "finite",
    "largest",
    "settings_of",
    "source_name",
    "strength_of",
]

NAMED_FEATURES = 50_000
NamesOf = Callable[[npt.NDArray[np.int64]], tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]]


def calibrate(
    best: Trial, n_classes: int, W: Any, b: Any, method: str | bool = True, soft: npt.NDArray[np.float64] | None = None
) -> tuple[npt.NDArray[np.float32], Any, FittedCalibration]:
    """Fold a scale learned on held-out scores into the weights: scores become log-odds.

    Shifts a class were tried and left out: fitted to few held-out rows a class, they cost accuracy (CLINC150: 0.4 points).
    Where rows have several labels, all cells share one scale and one shift. soft are the weights of rows as each class.
    """
    if best.y.ndim == 2:
        known = np.isfinite(best.scores)
        c = FittedCalibration(Calibration.fit(best.scores[known], best.y[known].astype(np.int32), 2))
    elif soft is not None:
        rows, classes = np.nonzero(soft)
        c = FittedCalibration(
            Calibration.fit(best.scores[rows], classes, n_classes, soft[rows, classes], shifted=False)
        )
    else:
        scores, right = finite(best.scores, best.y)
        if not len(scores):
            c = FittedCalibration(Calibration(1.0, np.zeros(best.scores.shape[1])))
        elif isinstance(method, str):
            c = fit_calibration(method, scores, right, n_classes)
        else:
            c = choose_calibration(scores, right, n_classes)
    return *scaled(W, b, c.linear.scale, float(c.linear.shift[0])), c  # with a score a class, the shifts are 0


def finite(scores: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
    """Leave out rows of a class that a fold had no row to learn from: naive Bayes gives it the score minus infinity.

    The class stays next to impossible for the other rows of that fold.
    """
    if np.isfinite(scores).all() or y.ndim == 2:
        return scores, y
    own = scores[:, 0] if scores.shape[1] == 1 else scores[np.arange(len(y)), y]
    kept = np.isfinite(own)
    scores, y = scores[kept], y[kept]
    known = np.isfinite(scores)
    low = np.min(scores, axis=1, where=known, initial=0.0)
    return np.where(known, scores, low[:, None] - 30.0), y


def assemble(
    fingerprints: npt.NDArray[np.uint64], names: NamesOf, blocks: Blocks, plan: FeaturePlan, classes: tuple[Any, ...],
    weights: FeatureWeights, W: npt.NDArray[np.float32], b: Any, calibrated: bool, card: dict[str, Any],
    named: int = NAMED_FEATURES,
) -> Model:  # fmt: skip
    """Put the weights of columns where the lookup finds them, and keep the names of those with the largest weights.

    names gives the names of some columns as bytes and where each begins. In hash mode the columns are their own places.
    """
    head = b if isinstance(b, DenseLayers) else None
    strength = strength_of(W, weights.norm, plan, head)
    if head is not None:
        b = np.zeros(W.shape[1])
    if plan.hash_bits and blocks:
        table = Table(np.zeros(0, np.uint64), np.concatenate([weights.norm[:, None], W], axis=1))
        shift = 64 - plan.hash_bits
        return Model(classes, blocks, plan.tf, plan.norm, table, shift, b, calibrated=calibrated, card=card, head=head)
    table = empty_table(Slots.size_for(len(fingerprints))[1], W.shape[1])
    slots = Slots.of(fingerprints, table.slots)
    fill_rows(fingerprints, table.slots, slots.shift, weights.norm, W, table.rows)
    top = largest(strength, named)
    name_bytes, name_offsets = names(top)
    return Model(
        classes, blocks, plan.tf, plan.norm, table, slots.shift, b, name_bytes, name_offsets,
        slots.find(fingerprints[top]), calibrated, card, head=head,
    )  # fmt: skip


def strength_of(
    W: npt.NDArray[np.float32], norm: npt.NDArray[np.float32], plan: FeaturePlan, head: DenseLayers | None
) -> npt.NDArray[np.float32]:
    """Return how much each feature can do to a score: its largest weight; with a head, what it does alone."""
    if head is None:
        return np.asarray(np.abs(W[:, 0]) if W.shape[1] == 1 else np.abs(W).max(axis=1))
    sums = W.astype(np.float64)
    if plan.norm:
        sums /= np.where(norm > 0, norm, 1)[:, None]
    alone = finish(sums, head) - finish(np.zeros((1, W.shape[1])), head)
    return np.asarray(np.abs(alone).max(axis=1), dtype=np.float32)


def largest(values: npt.NDArray[np.float32], n: int) -> npt.NDArray[np.int64]:
    """Return where the n largest values are, largest first, ties in order of place."""
    if len(values) > n:
        edge = np.partition(values, len(values) - n)[len(values) - n]
        some = np.flatnonzero(values >= edge)
    else:
        some = np.arange(len(values))
    return some[np.argsort(-values[some], kind="stable")[:n]]


def card_of(plan: Plan, store: RowStore, found: SearchResult, calibration: FittedCalibration | None) -> dict[str, Any]:
    """Describe the model. Nothing here may differ between two runs on the same input and seed."""
    from linnet import __version__

    data = store.about()
    data["source"] = source_name(data["source"])
    stream = data.pop("stream", None)
    return {
        "linnet": __version__,
        "data": {
            **data,
            "rows": store.n_rows,
            "rows_fitted": store.n_fitted,
            "rows_dev": store.n_dev,
            "classes": {str(c): int(k) for c, k in zip(store.classes, store.class_rows, strict=True)},
        },
        "settings": settings_of(plan, store.features, store.min_df, found.best.settings),
        "choice": {
            "folds": found.folds,
            "rows": len(found.best.rows),
            "accuracy": found.best.accuracy,
            **({"metric": found.best.metric} if found.best.metric != "accuracy" else {}),
            "tried": [
                {
                    **_plain(t.settings),
                    "accuracy": t.accuracy,
                    **({"rows": len(t.rows)} if len(t.rows) < len(found.best.rows) else {}),
                }
                for t in found.tried
            ],
        },
        "calibration": calibration.to_dict() if calibration else None,
        **({"stream": stream} if stream else {}),
    }


def settings_of(plan: Plan, blocks: AnyBlocks, min_df: int, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a fit as the card has them."""
    features, class_weight = plan.features, plan.class_weight
    return {
        "model": plan.name,
        "features": describe(blocks),
        "tf": features.tf,
        "idf": features.idf,
        "norm": features.norm,
        "min_df": min_df,
        "max_df": features.max_df,
        "max_features": features.max_features,
        **({} if features.select is None else {"select": str(features.select)}),
        "hash_bits": features.hash_bits,
        "class_weight": {str(k): v for k, v in class_weight.items()}
        if isinstance(class_weight, dict)
        else class_weight,
        **({"label_smoothing": plan.label_smoothing} if plan.label_smoothing else {}),
        "seed": plan.seed,
        **_plain(plan.given),
        **_plain(chosen),
    }


def source_name(source: str) -> str:
    """Return a source without its folder: the same file gives the same model wherever it lies.

    >>> source_name("/data/reviews.csv"), source_name("data/parts (8 files)"), source_name("hub:someone/reviews")
    ('reviews.csv', 'parts (8 files)', 'hub:someone/reviews')
    """
    return source if source.startswith("hub:") else PurePath(source).name


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as JSON can hold them: objects and long lists as the beginning of their text."""
    plain = str | int | float | bool | None
    return {k: v if isinstance(v, plain) else f"{v!s:.80}" for k, v in settings.items()}
