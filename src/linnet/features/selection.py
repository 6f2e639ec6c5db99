"""Which features are worth keeping: chosen by how much they tell of the labels of training rows.

``chi2:5000`` keeps the 5,000 features with the largest chi-square statistic, ``mi:5000`` those with the most mutual
information, ``l1:5000`` at most 5,000 that an L1-penalised linear SVM gives a weight. (The most frequent are kept by
max_features, which asks no labels.) Scores are computed on training rows only, afresh in every fold, so a held-out score
stays honest. The first two are scikit-learn's chi2 and mutual_info_classif.

>>> Selection.of("chi2:5000")
Selection(method='chi2', k=5000)

Which columns a vocabulary keeps: not too rare, not too common, the most frequent; as scikit-learn counts.

>>> documents("min_df", 0.25, 8), documents("max_df", 3, 8)
(2.0, 3.0)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError, LinnetError, check_choice
from linnet.features.counting import Names
from linnet.features.counts import SparseCounts
from linnet.values import to_plain

Labels = npt.NDArray[np.int32]
Scores = npt.NDArray[np.float64]  # (n_columns,)
CHUNK = 1 << 14


def chi2(rows: SparseCounts, y: Labels, n_classes: int) -> Scores:
    """Return the chi-square statistic of each feature and the class: sum over classes of (seen - expected)^2 / expected.

    What is seen is how often the feature occurs in the class (in how many texts, where only presence was counted).
    """
    seen = _class_sums(rows, y, n_classes)  # (n_columns, n_classes)
    expected = arithmetic.total(seen, axis=1)[:, None] * (np.bincount(y, minlength=n_classes) / max(1, len(y)))
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.square(seen - expected) / expected
    return np.asarray(arithmetic.total(np.where(expected > 0, parts, 0.0), axis=1))


def _class_sums(rows: SparseCounts, y: Labels, n_classes: int) -> npt.NDArray[np.float64]:
    if not len(rows.counts):
        return rows.class_counts(y, n_classes).astype(np.float64)
    label = np.repeat(y, np.diff(rows.row_ptr))
    sums = [
        np.bincount(rows.indices[label == c], rows.counts[label == c], rows.n_columns)[: rows.n_columns]
        for c in range(n_classes)
    ]
    return np.stack(sums, axis=1).astype(np.float64)


def mutual_information(rows: SparseCounts, y: Labels, n_classes: int) -> Scores:
    """Return I(present; class) of each feature in nats: what knowing that it is there tells of the class, on average."""
    n = max(1, len(y))
    classes = np.bincount(y, minlength=n_classes) / n
    there = rows.class_counts(y, n_classes)
    out = np.zeros(rows.n_columns)
    for k in range(0, rows.n_columns, CHUNK):
        present = there[k : k + CHUNK] / n  # (chunk, n_classes)
        for joint in (present, classes - present):
            apart = arithmetic.total(joint, axis=1)[:, None] * classes
            with np.errstate(divide="ignore", invalid="ignore"):
                parts = joint * arithmetic.log(joint / apart)
            out[k : k + CHUNK] += arithmetic.total(np.where(joint > 0, parts, 0.0), axis=1)
    return np.maximum(out, 0.0)


def l1_weight(rows: SparseCounts, y: Labels, n_classes: int) -> Scores:
    """Return the largest weight, without its sign, that an L1-penalised linear SVM gives each feature; most get 0.

    Rows are presence, 1 long, the loss is the squared hinge and C is 1. The weights put features in order: nearly solved is
    enough.
    """
    from linnet.solvers.coordinate import solve
    from linnet.solvers.losses import SquaredHinge
    from linnet.solvers.matrix import Matrix

    lengths = np.diff(rows.row_ptr)
    values = np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
    X = Matrix(rows.row_ptr, rows.indices, values, rows.n_columns)
    found = solve(X, y, np.ones(len(y)), SquaredHinge(), 1 if n_classes == 2 else n_classes, tol=1e-3)
    return np.asarray(np.abs(found.W).max(axis=1), dtype=np.float64)


METHODS: dict[str, Callable[[SparseCounts, Labels, int], Scores]] = {
    "chi2": chi2, "mi": mutual_information, "l1": l1_weight,
}  # fmt: skip


@dataclass(frozen=True)
class Selection:
    """How features are chosen, and how many are kept."""

    method: str
    k: int

    def __post_init__(self) -> None:
        check_choice("way to select features", self.method, METHODS, LinnetError)
        if self.k < 1:
            raise LinnetError(f"select={self}: keep at least one feature")

    @classmethod
    def of(cls, value: Any) -> Selection:
        """Read ``method:k``."""
        if isinstance(value, Selection):
            return value
        method, _, k = str(value).partition(":")
        if not k.isdigit():
            raise LinnetError(f"cannot read select={value!r}; write for example chi2:5000 ({', '.join(METHODS)})")
        return cls(method, int(k))

    def __str__(self) -> str:
        return f"{self.method}:{self.k}"

    def choose(self, rows: SparseCounts, y: Labels, n_classes: int) -> tuple[npt.NDArray[np.int32], Scores]:
        """Return the new number of each column, -1 where it is dropped, and the scores; of equals the first seen stay."""
        scores = METHODS[self.method](rows, y, n_classes)
        best = np.argsort(-scores, kind="stable")[: self.k]
        if self.method == "l1" and (scores[best] > 0).any():
            best = best[scores[best] > 0]
        numbers = np.full(rows.n_columns, -1, dtype=np.int32)
        numbers[np.sort(best)] = np.arange(len(best), dtype=np.int32)
        return numbers, scores


@dataclass(frozen=True)
class SelectionReport:
    """What a selection dropped: how many, and the names and scores on either side of the line."""

    selection: Selection
    kept: int
    dropped: int
    worst_kept: tuple[tuple[str, float], ...]
    best_dropped: tuple[tuple[str, float], ...]

    @classmethod
    def of(
        cls,
        selection: Selection,
        numbers: npt.NDArray[np.int32],
        scores: Scores,
        names: Callable[[npt.NDArray[np.int64]], list[str]],
        n: int = 10,
    ) -> SelectionReport:
        """Name the features next to the line; names is asked for these only."""
        order = np.argsort(-scores, kind="stable")
        kept, dropped = order[numbers[order] >= 0], order[numbers[order] < 0]

        def named(columns: npt.NDArray[np.int64]) -> tuple[tuple[str, float], ...]:
            return tuple(zip(names(columns), scores[columns].tolist(), strict=True))

        return cls(selection, len(kept), len(dropped), named(kept[-n:][::-1]), named(dropped[:n]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the card."""
        return {"select": str(self.selection), **to_plain({k: v for k, v in vars(self).items() if k != "selection"})}

    def __str__(self) -> str:
        def listed(pairs: tuple[tuple[str, float], ...]) -> str:
            return ", ".join(f"{name!r} {score:.3g}" for name, score in pairs[:5]) or "none"

        return (
            f"{self.selection} kept {self.kept:,} features and dropped {self.dropped:,}; "
            f"worst kept: {listed(self.worst_kept)}; best dropped: {listed(self.best_dropped)}"
        )


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
