"""Labelled data as ``compare`` and ``tune`` take them, and the size of the model files that they make."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from linnet.data import Dataset, read
from linnet.errors import DataError
from linnet.files import temporary_folder

__all__ = ["check_two_labels", "file_size_of", "labelled_data"]


def labelled_data(data: Any, y: Any, caller: str, *, extra: Sequence[str] = ()) -> Dataset:
    """Return a Dataset with labels from a Dataset, a path, or texts and their labels; extra are columns to read too.

    >>> len(labelled_data(["good", "bad"], ["pos", "neg"], "compare"))
    2
    """
    if isinstance(data, str | os.PathLike):
        return read(data, labelled=True, also=extra)
    found = data if isinstance(data, Dataset) else None if y is None else Dataset.from_lists(data, y)
    if found is None or found.label is None:
        raise DataError(f"{caller} needs labels: {caller}(texts, labels), a Dataset from linnet.read, or a path")
    return found


def check_two_labels(source: str, counts: Iterable[int]) -> None:
    """Refuse data of which no two labels can be both learned and held out; counts are the rows of each label."""
    if sum(count > 1 for count in counts) < 2:
        raise DataError(
            f"{source}: fewer than two labels have two rows or more, so none can be held out and learned as well; "
            "give more rows"
        )


def file_size_of(clf: Any) -> int:
    """Return how many bytes the file of a fitted classifier has."""
    with temporary_folder() as folder:
        path = folder / "model.linnet"
        clf.save(path)
        return path.stat().st_size
