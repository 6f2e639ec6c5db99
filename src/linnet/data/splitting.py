"""Stratified, seeded splits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from linnet.errors import DataError

__all__ = ["fold_indices", "split_indices"]


def split_indices(codes: np.ndarray, seed: int | Sequence[int], fractions: Sequence[float]) -> list[np.ndarray]:
    """Divide rows into parts so that every part has each class in its share.

    `codes` holds the class of each row as an integer. Every class is shuffled by the seed and cut on its own: a part
    gets `fraction * n` rows of a class with n rows, rounded so that the parts come out whole, and at least one where
    the class has a row for every part. A class with fewer rows goes to the largest part first. Rows keep their order
    within a part. The result depends on the seed, on the classes and on the order of the rows, on nothing else: no
    number of threads, no version of numpy (the raw bits of PCG64 are fixed).

    >>> codes = np.array([0] * 10 + [1] * 5)
    >>> parts = split_indices(codes, 0, (0.6, 0.2, 0.2))
    >>> [codes[part].tolist() for part in parts]
    [[0, 0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 1], [0, 0, 1]]
    """
    shares = _checked(fractions)
    order = np.argsort(np.random.PCG64(seed).random_raw(len(codes)), kind="stable")
    by_class = order[np.argsort(codes[order], kind="stable")]
    groups = np.split(by_class, np.cumsum(np.bincount(codes))[:-1]) if len(codes) else []
    parts: list[list[np.ndarray]] = [[] for _ in shares]
    behind = np.zeros(len(shares))  # how many rows each part lacks so far
    for group in groups:
        counts = _apportion(len(group), shares, behind)
        behind += shares * len(group) - counts
        for part, rows in zip(parts, np.split(group, np.cumsum(counts)[:-1]), strict=True):
            part.append(rows)
    return [np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *part])) for part in parts]


def fold_indices(codes: np.ndarray, seed: int, folds: int, *, repeats: int = 1) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the (training, held-out) rows of every fold: each row is held out once a repeat.

    Folds are the parts of `split_indices`: each has every class in its share, as near as whole rows go. The folds of
    the first repeat depend on the seed alone, so more repeats only add to them.

    >>> codes = np.array([0] * 6 + [1] * 3)
    >>> pairs = fold_indices(codes, 0, 3, repeats=2)
    >>> len(pairs), [codes[held].tolist() for _, held in pairs[:3]]
    (6, [[0, 0, 1], [0, 0, 1], [0, 0, 1]])
    >>> sorted(np.concatenate([held for _, held in pairs[3:]]).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8]
    """
    if folds < 2 or repeats < 1:
        raise DataError(f"give 2 folds or more, and 1 repeat or more; got {folds} and {repeats}")
    if len(codes) < folds:
        raise DataError(f"{len(codes)} rows cannot be held out in {folds} folds; give at most {len(codes)} folds")
    rows = np.arange(len(codes))
    out = []
    for repeat in range(repeats):
        parts = split_indices(codes, (seed, repeat) if repeat else seed, (1 / folds,) * folds)
        out += [(np.setdiff1d(rows, held), held) for held in parts]
    return out


def _checked(fractions: Sequence[float]) -> np.ndarray:
    shares = np.asarray(fractions, dtype=float)
    if shares.ndim != 1 or len(shares) == 0 or not (shares > 0).all() or not math.isclose(shares.sum(), 1.0):
        raise DataError(f"fractions must be positive and add up to 1; got {tuple(fractions)}")
    return shares


def _apportion(n: int, shares: np.ndarray, behind: np.ndarray) -> np.ndarray:
    """Whole numbers near `n * shares` that add up to n; the part furthest behind gets an odd row.

    >>> _apportion(15, np.array([0.8, 0.1, 0.1]), np.array([0.0, 0.0, 0.5])).tolist()
    [12, 1, 2]
    >>> _apportion(3, np.array([0.8, 0.1, 0.1]), np.zeros(3)).tolist()
    [1, 1, 1]
    """
    exact = n * shares
    counts: np.ndarray = np.floor(exact + 1e-9).astype(np.int64)
    left = np.round(exact - counts, 9)
    for part in sorted(range(len(shares)), key=lambda part: (-left[part], -behind[part], part))[: n - counts.sum()]:
        counts[part] += 1
    if n >= len(shares):
        for part in np.flatnonzero(counts == 0).tolist():
            counts[np.argmax(counts)] -= 1
            counts[part] = 1
    return counts
