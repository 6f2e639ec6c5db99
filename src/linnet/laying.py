"""From fitted weights to a model: calibrate, lay out for lookup, name the weightiest, say what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linnet._kernels.text import fill_rows
from linnet.choosing import Candidate, Choice
from linnet.features.blocks import AnyBlocks, Blocks, describe
from linnet.features.buffers import TextBuffer
from linnet.features.counting import Counted, Slots, names_of
from linnet.features.recipe import Recipe, Weights
from linnet.model.calibration import Calibration
from linnet.model.model import Model, Table, empty_table
from linnet.solvers.dense import DenseLayers, finish, scaled

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier

__all__ = ["NAMED_FEATURES", "artefact_of", "calibrate", "card_of", "largest", "lay_out", "strength_of"]

NAMED_FEATURES = 50_000
NamesOf = Callable[[npt.NDArray[np.int64]], tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]]


def calibrate(
    best: Candidate, y: npt.NDArray[np.int32], n_classes: int, W: Any, b: Any
) -> tuple[npt.NDArray[np.float32], Any, Calibration]:
    """Fold a scale learned on held-out scores into the weights: scores become log-odds, decisions stay as they are.

    Shifts a class were tried and left out: fitted to few held-out rows a class, they cost accuracy (CLINC150: 0.4 points).
    """
    scores, right = _finite(best.scores, y[best.rows])
    c = (
        Calibration.fit(scores, right, n_classes, shifted=False)
        if len(scores)
        else Calibration(1.0, np.zeros(best.scores.shape[1]))
    )
    return *scaled(W, b, c.scale), c


def _finite(
    scores: npt.NDArray[np.float64], y: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Leave out rows of a class that a fold had no row to learn from: naive Bayes gives it the score minus infinity.

    The class stays next to impossible for the other rows of that fold.
    """
    if np.isfinite(scores).all():
        return scores, y
    own = scores[:, 0] if scores.shape[1] == 1 else scores[np.arange(len(y)), y]
    kept = np.isfinite(own)
    scores, y = scores[kept], y[kept]
    known = np.isfinite(scores)
    low = np.min(scores, axis=1, where=known, initial=0.0)
    return np.where(known, scores, low[:, None] - 30.0), y


def lay_out(
    fingerprints: npt.NDArray[np.uint64], names: NamesOf, blocks: Blocks, recipe: Recipe, classes: tuple[Any, ...],
    weights: Weights, W: npt.NDArray[np.float32], b: Any, calibrated: bool, card: dict[str, Any],
    named: int = NAMED_FEATURES,
) -> Model:  # fmt: skip
    """Put the weights of columns where the lookup finds them, and keep the names of the weightiest.

    names gives the names of some columns as bytes and where each begins. In hash mode the columns are their own places.
    """
    head = b if isinstance(b, DenseLayers) else None
    strength = strength_of(W, weights.norm, recipe, head)
    if head is not None:
        b = np.zeros(W.shape[1])
    if recipe.hash_bits and blocks:
        table = Table(np.zeros(0, np.uint64), np.concatenate([weights.norm[:, None], W], axis=1))
        shift = 64 - recipe.hash_bits
        return Model(
            classes, blocks, recipe.tf, recipe.normalise, table, shift, b, calibrated=calibrated, card=card, head=head
        )
    table = empty_table(Slots.size_for(len(fingerprints))[1], W.shape[1])
    slots = Slots.of(fingerprints, table.slots)
    fill_rows(fingerprints, table.slots, slots.shift, weights.norm, W, table.rows)
    top = largest(strength, named)
    name_bytes, name_offsets = names(top)
    return Model(
        classes, blocks, recipe.tf, recipe.normalise, table, slots.shift, b, name_bytes, name_offsets,
        slots.find(fingerprints[top]), calibrated, card, head=head,
    )  # fmt: skip


def artefact_of(
    pieces: list[TextBuffer], blocks: Blocks, recipe: Recipe, counted: Counted, classes: tuple[Any, ...], weights: Weights,
    W: npt.NDArray[np.float32], b: Any, calibrated: bool, card: dict[str, Any],
    named: int = NAMED_FEATURES,
) -> Model:  # fmt: skip
    """Lay out what was counted in memory."""

    def names(columns: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        return names_of(pieces, blocks, counted.seen.take(columns), counted.fingerprints[columns])

    return lay_out(counted.fingerprints, names, blocks, recipe, classes, weights, W, b, calibrated, card, named)


def strength_of(
    W: npt.NDArray[np.float32], norm: npt.NDArray[np.float32], recipe: Recipe, head: DenseLayers | None
) -> npt.NDArray[np.float32]:
    """Return how much each feature can do to a score: its largest weight; with a head, what it does alone."""
    if head is None:
        return np.asarray(np.abs(W[:, 0]) if W.shape[1] == 1 else np.abs(W).max(axis=1))
    sums = W.astype(np.float64)
    if recipe.normalise:
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


def card_of(
    clf: TextClassifier, X: Any, recipe: Recipe, blocks: AnyBlocks, min_df: int, classes: tuple[Any, ...],
    y: npt.NDArray[np.int32], choice: Choice, calibration: Calibration | None, n_fit: int,
    dev_rows: npt.NDArray[np.int64] | None,
) -> dict[str, Any]:  # fmt: skip
    """Say what the model is. Nothing here may differ between two runs on the same input and seed."""
    from linnet import __version__

    counts = np.bincount(y, minlength=len(classes))
    return {
        "linnet": __version__,
        "data": {
            "source": getattr(X, "source", "Python objects"),
            **({"text_column": X.text_column} if hasattr(X, "text_column") else {}),
            "rows": len(y),
            "rows_fitted": n_fit,
            "rows_dev": 0 if dev_rows is None else len(dev_rows),
            "classes": {str(c): int(k) for c, k in zip(classes, counts, strict=True)},
        },
        "settings": {
            "model": clf.model if isinstance(clf.model, str) else type(clf.model).__name__,
            "features": describe(blocks),
            "tf": recipe.tf,
            "idf": recipe.idf,
            "normalise": recipe.normalise,
            "min_df": min_df,
            "max_df": recipe.max_df,
            "max_features": recipe.max_features,
            **({} if recipe.select is None else {"select": str(recipe.select)}),
            "hash_bits": recipe.hash_bits,
            "class_weight": clf.class_weight
            if not isinstance(clf.class_weight, dict)
            else {str(k): v for k, v in clf.class_weight.items()},
            "seed": clf.seed,
            **_plain(clf.params or {}),
            **_plain(choice.best.settings),
        },
        "choice": {
            "folds": choice.folds,
            "rows": len(choice.best.rows),
            "accuracy": choice.best.accuracy,
            "tried": [{**_plain(c.settings), "accuracy": c.accuracy} for c in choice.tried],
        },
        "calibration": calibration.to_dict() if calibration else None,
    }


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as JSON can hold them: objects and long lists as the beginning of their text."""
    plain = str | int | float | bool | None
    return {k: v if isinstance(v, plain) else f"{v!s:.80}" for k, v in settings.items()}
