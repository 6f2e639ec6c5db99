"""What a model goes by: its features with the largest weights, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import LinnetError, nearest
from linnet.features.names import shown
from linnet.model.model import Model

__all__ = ["feature_names", "named_weights", "top_features", "weight_matrix"]


def top_features(model: Model, label: Any = None, n: int = 20) -> list[tuple[str, float]]:
    """Return the named features with the largest weights for a label (default: the last class); see Artefact.effects."""
    known = {c: k for k, c in enumerate(model.classes)}
    if label is not None and label not in known:
        raise LinnetError(nearest("label", str(label), map(str, known)))
    column = known[label] if label is not None else len(model.classes) - 1
    names, weights = feature_names(model), _named_weights(model, column)
    best = np.argsort(-weights, kind="stable")[:n]
    return [(names[k], float(weights[k])) for k in best]


def named_weights(model: Model) -> dict[Any, dict[str, float]]:
    """Return the weight of every feature whose name was kept, computed ones included, by label and name."""
    names = feature_names(model)
    return {
        label: dict(zip(names, _named_weights(model, column).tolist(), strict=True))
        for column, label in enumerate(model.classes)
    }


def feature_names(model: Model) -> list[str]:
    """Return the names that were kept, the computed features last."""
    return [" | ".join(map(shown, names)) for names in model.sharing.values()] + model.computed_names


def weight_matrix(model: Model) -> npt.NDArray[np.float64]:
    """Return the weights of the named features, (n_outputs, n_features)."""
    slots = np.fromiter(model.sharing, np.int64, len(model.sharing))
    return np.stack([model.effects(slots, output) for output in range(model.n_outputs)])


def _named_weights(model: Model, column: int) -> npt.NDArray[np.float64]:
    """Return the weights for a class in the order of ``_named``; two classes share one column."""
    output = 0 if model.n_outputs == 1 else column
    weights = model.effects(np.fromiter(model.sharing, np.int64, len(model.sharing)), output)
    return (-1.0 if model.n_outputs == 1 and column == 0 else 1.0) * weights
