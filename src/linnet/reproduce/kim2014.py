"""Kim (2014), "Convolutional Neural Networks for Sentence Classification": linear models of ours beside its four networks.

MR (RT-s here) and MPQA are run as ten folds, TREC with its test part. The networks are quoted, not run. All but CNN-rand begin with word
vectors that were learned from a hundred billion words. Our models choose their settings inside the training part of each fold.
"""

from __future__ import annotations

from typing import Any

from linnet.classifier import TextClassifier
from linnet.reproduce import Lines, TableOptions, wang2012

SETS = {"rt_polarity": "MR", "mpqa": "MPQA", "trec": "TREC"}
OURS: dict[str, dict[str, Any]] = {
    "nb": {"model": "nb", "features": "words:1-2", "params": {"alpha": 1.0}},
    "logistic": {"model": "logistic"},
    "nbsvm": {"model": "nbsvm"},
    "default": {},
}
PAPER: dict[str, tuple[float | None, ...]] = {
    **dict.fromkeys(OURS, (None, None, None)), "CNN-rand": (76.1, 83.4, 91.2), "CNN-static": (81.0, 89.6, 92.8),
    "CNN-non-static": (81.5, 89.5, 93.6), "CNN-multichannel": (81.1, 89.4, 92.2),
}  # fmt: skip


def lines(options: TableOptions) -> Lines:
    """Give the rows: our accuracies, then those of the paper."""
    return wang2012.compared(options, SETS, PAPER, _accuracy)


def _accuracy(row: str, name: str, runs: wang2012.Runs) -> float | None:
    return wang2012.share_right(lambda: TextClassifier(**OURS[row]), runs) if row in OURS else None
