"""Weights of features as values that compose: idf, and the supervised |log-count ratio|.

A weight is one number a feature (or one a feature and class); a feature's value is its tf times its weights:

>>> df = np.array([1, 3])
>>> (idf(df, 3) * log_count_ratio(np.array([[1, 0], [1, 2]]))[:, 0] ** 0.5).round(4).tolist()
[1.4096, 0.6368]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError

__all__ = ["idf", "log_count_ratio"]


def idf(df: npt.NDArray[Any], n_documents: float, *, smooth: bool = True) -> npt.NDArray[np.float64]:
    """Return ln((1 + n) / (1 + df)) + 1, as scikit-learn does; without smooth, ln(n / df) + 1.

    The more documents hold a feature, the less it weighs; one that all documents hold weighs 1.

    >>> idf(np.array([1, 3]), 3).round(4).tolist()
    [1.6931, 1.0]
    """
    one = 1.0 if smooth else 0.0
    out: npt.NDArray[np.float64] = np.asarray(df, dtype=np.float64) + one
    np.divide(n_documents + one, out, out=out)
    out = arithmetic.log(out)
    out += 1.0
    return out


def log_count_ratio(
    class_counts: npt.NDArray[Any],
    alpha: float = 1.0,
    *,
    totals: npt.NDArray[Any] | None = None,
    n_features: int | None = None,
    every: npt.NDArray[Any] | None = None,
    n_every: float = 0.0,
    signed: bool = False,
) -> npt.NDArray[np.float32]:
    """Return |r|, (n_features, n_outputs): how much more often a feature occurs in a class than in the rest.

    r_c = ln((p_c / |p_c|_1) / (q_c / |q_c|_1)) with p_c = alpha + counts in the class, q_c = alpha + counts in the
    rest, and the norms summed over all features. For two classes there is one column, because both have the same |r|.
    (Wang & Manning 2012.) With signed, r itself: of two classes, above zero where the second has more. To work through
    a large table in pieces, give the totals of each class and the number of features of the whole. Where rows have
    several labels the classes overlap: give the counts in all rows, and their total, for the rest to be what is left.

    >>> log_count_ratio(np.array([[3, 0], [0, 3], [1, 1]])).ravel()  # ln 4, ln 4, ln 1
    array([1.3862944, 1.3862944, 0.       ], dtype=float32)
    """
    if class_counts.ndim != 2 or class_counts.shape[1] < 2:
        got = class_counts.shape
        raise DataError(f"class_counts must be (n_features, n_classes), two classes or more, got shape {got}")
    if not alpha > 0:
        raise DataError(f"alpha must be above 0, or features of one class would weigh infinity; got {alpha}")
    if totals is None:
        totals = arithmetic.total(class_counts, axis=0)
    smoothing = alpha * (len(class_counts) if n_features is None else n_features)
    counts = np.asarray(class_counts, dtype=np.float32)
    if every is not None:
        p, q = counts + np.float32(alpha), every.astype(np.float32)[:, None] - counts + np.float32(alpha)
        sums = totals + smoothing, n_every - totals + smoothing
    elif counts.shape[1] == 2:
        p, q = counts[:, 1:] + np.float32(alpha), counts[:, :1] + np.float32(alpha)
        sums = totals[1:] + smoothing, totals[:1] + smoothing
    else:
        p, q = (
            counts + np.float32(alpha),
            arithmetic.total(counts, axis=1).astype(np.float32)[:, None] - counts + np.float32(alpha),
        )
        sums = totals + smoothing, arithmetic.total(totals) - totals + smoothing
    shift = arithmetic.log(sums[0] / sums[1]).astype(np.float32)
    ratio: npt.NDArray[np.float32] = arithmetic.log(p / q) - shift
    return ratio if signed else np.abs(ratio)
