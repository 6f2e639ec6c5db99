"""Which columns a vocabulary keeps: not too rare, not too common, the most frequent; as scikit-learn counts.

>>> documents("min_df", 0.25, 8), documents("max_df", 3, 8)
(2.0, 3.0)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError
from linnet.features.counts import SparseCounts
from linnet.features.names import Names

__all__ = ["documents", "kept_columns"]

Columns = npt.NDArray[np.int64]


def documents(name: str, value: float, n: int) -> float:
    """Read a number of documents (int) or a fraction of n documents (float)."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating) or not value >= 0:
        raise DataError(f"{name} must be a number of documents (int) or a fraction of them (0.0 to 1.0), got {value!r}")
    if isinstance(value, int | np.integer):
        return float(value)
    if value > 1:
        raise DataError(f"{name}={value!r} is a fraction of documents above 1; for a number of documents give an int")
    return float(value * n)


def kept_columns(
    rows: SparseCounts,
    *,
    min_df: float = 1,
    max_df: float = 1.0,
    max_features: int | None = None,
    names: Callable[[Columns], Names],
) -> Columns:
    """Return the columns to keep, in order: those in min_df to max_df documents, and of them the most frequent.

    Frequency is the total count, or where only presence was counted the number of documents. Of equally frequent ones
    the first by name are kept; names is asked for the names of those in question only.
    """
    n, df = len(rows), rows.document_frequency()
    least, most = documents("min_df", min_df, n), documents("max_df", max_df, n)
    if most < least:
        raise DataError(f"max_df={max_df} is fewer documents than min_df={min_df}: {most:g} of {n:,}")
    kept = np.flatnonzero((df >= least) & (df <= most))
    if not len(kept):
        raise DataError(
            f"no feature is left: none of {len(df):,} is in {least:g} to {most:g} of {n:,} documents; "
            f"lower min_df={min_df} or raise max_df={max_df}"
        )
    if max_features is None or len(kept) <= max_features:
        return kept
    total = np.bincount(rows.indices, rows.counts, rows.n_columns)[kept] if len(rows.counts) else df[kept]
    cut = -np.partition(-total, max_features - 1)[max_features - 1]  # the smallest total that is kept
    sure, ties = kept[total > cut], kept[total == cut]
    first = names(ties).order()[: max_features - len(sure)]
    return np.sort(np.concatenate([sure, ties[first]]))
