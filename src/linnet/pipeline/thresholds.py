"""Where a label begins: a threshold for each label, for rows that may have several.

The best threshold by F1 on held-out scores, label by label (SCut). Where a label has few held-out rows its own best
threshold is noise; it gets the one that is best for all cells together (Fan and Lin, A study on threshold selection for
multi-label classification, 2007).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["best_threshold", "choose_thresholds"]

Floats = npt.NDArray[np.float64]
FEWEST = 5  # held-out rows with a label, for a threshold of its own


def best_threshold(scores: Floats, truth: npt.NDArray[np.bool_]) -> float:
    """Return the score above which calling a row positive gives the highest F1; of equals, that which calls fewest.

    >>> best_threshold(np.array([3.0, 1.0, 0.0, -2.0]), np.array([True, True, False, False]))
    0.5
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(truth[order])
    last = np.append(ranked[1:] < ranked[:-1], True)  # cuts lie between different scores
    called = np.arange(1, len(ranked) + 1)
    f1 = np.where(last, 2.0 * hits / (called + int(truth.sum())), -1.0)
    k = int(f1.argmax())
    return float((ranked[k] + ranked[k + 1]) / 2.0) if k + 1 < len(ranked) else float(ranked[k]) - 1.0


def choose_thresholds(scores: Floats, truth: npt.NDArray[np.bool_]) -> Floats:
    """Return a threshold for each label, (n_labels,), from scores and labels of held-out rows, (n_rows, n_labels)."""
    known = np.isfinite(scores)
    common = best_threshold(scores[known], truth[known]) if truth[known].any() else 0.0
    return np.array(
        [
            best_threshold(scores[:, c], truth[:, c]) if truth[:, c].sum() >= FEWEST and known[:, c].all() else common
            for c in range(scores.shape[1])
        ]
    )
