"""Choose the decision rule of a model on held-out scores: thresholds, and what abstaining goes by.

Where rows may have several labels, a label's threshold is the best by F1, label by label (SCut). Where a label has few held-out rows
its own best threshold is noise; it gets the one that is best for all cells together (Fan and Lin, A study on threshold
selection for multi-label classification, 2007). A wanted precision or recall of a class sets its threshold instead: the lowest that
reaches the precision, the highest that reaches the recall.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import LinnetError, nearest, shown
from linnet.model.decision import ConfidenceTable, Decision, numbers_of
from linnet.model.model import Model
from linnet.solvers.numerics import sigmoid

__all__ = ["best_threshold", "choose_decision", "choose_thresholds"]

Floats = npt.NDArray[np.float64]
FEWEST = 5  # held-out rows with a label, for a threshold of its own
SETTINGS = ("threshold", "precision", "recall", "cost", "abstain", "answer")


def choose_decision(
    model: Model, wanted: Mapping[str, Any], scores: Floats, y: npt.NDArray[Any]
) -> tuple[Decision, dict[str, Any]]:
    """Return the rule that was asked for, and what it reached on held-out rows: their scores and class numbers (or indicators)."""
    for name in wanted:
        if name not in SETTINGS:
            raise LinnetError(nearest("decision", name, SETTINGS))
    several = y.ndim == 2
    truth = y.astype(bool) if several else y[:, None] == np.arange(len(model.classes))
    P = model.proba(scores)
    base = Decision(thresholds=np.asarray(sigmoid(choose_thresholds(scores, truth)))) if several else None
    threshold: Any = wanted.get("threshold")
    found: dict[str, Any] = {}
    for metric in ("precision", "recall"):
        for label, least in (wanted.get(metric) or {}).items():
            number = int(numbers_of(model.classes, [label])[0])
            cut, reached = _cut_for(metric, label, least, P[:, number], truth[:, number])
            threshold = {**(threshold if isinstance(threshold, Mapping) else {}), label: cut}
            found[str(label)] = {"wanted": {metric: float(least)}, "threshold": cut, **reached, "rows": len(P)}
    rule = Decision.of(model.classes, base, threshold=threshold, cost=wanted.get("cost"))
    about: dict[str, Any] = {"thresholds": found} if found else {}
    if several:
        if wanted.get("abstain") or wanted.get("answer"):
            raise LinnetError(
                "abstain and answer are for one label a row; where rows have several, a row without labels has no answer"
            )
        return rule, about
    if not len(P):
        return rule, about
    best = rule.answers(P).best
    own = P[np.arange(len(P)), y]
    confidence = np.where(best < 0, -1.0, P[np.arange(len(P)), np.maximum(best, 0)])
    held_out = ConfidenceTable.of(confidence, best == y, own)
    rule = Decision(rule.thresholds, rule.costs, held_out=held_out)
    rule = Decision.of(model.classes, rule, abstain=wanted.get("abstain"), answer=wanted.get("answer"))
    if rule.sure is not None:
        answered = confidence >= rule.least
        about |= {
            "abstain": rule.abstain, "answer": rule.answer, "least_probability": rule.least, "rows": len(P),
            "answered": float(answered.mean()), "accuracy": float((best == y)[answered].mean()) if answered.any() else None,
        }  # fmt: skip
    return rule, about


def _cut_for(
    metric: str, label: Any, wanted: Any, p: Floats, truth: npt.NDArray[np.bool_]
) -> tuple[float, dict[str, float]]:
    """Return the probability from which a class reaches a precision or recall on held-out rows, and what both come to."""
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 < wanted <= 1:
        raise LinnetError(f"{metric} of {shown(label, 40)} must be above 0 and at most 1, got {wanted!r}")
    order = np.argsort(-p, kind="stable")
    ranked, hits = p[order], np.cumsum(truth[order])
    last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))  # rows of equal probability go together
    called, hits = last + 1, hits[last]
    values = {"precision": hits / called, "recall": hits / max(1, int(truth.sum()))}
    reached = np.flatnonzero(values[metric] >= wanted)
    if not len(reached):
        raise LinnetError(
            f"{metric} {wanted:g} of {shown(label, 40)} is not reached on the {len(p):,} held-out rows, whatever the threshold: at most "
            f"{values[metric].max():.4f}; ask for less"
        )
    k = int(reached[-1] if metric == "precision" else reached[0])
    below = ranked[last[k] + 1] if last[k] + 1 < len(ranked) else 0.0
    cut = float((ranked[last[k]] + below) / 2.0)
    return (cut if cut > below else float(ranked[last[k]])), {name: float(v[k]) for name, v in values.items()}


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
