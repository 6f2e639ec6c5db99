"""Data that comes with linnet: short book reviews, written for it, with fixed parts, and a list of words to judge by.

>>> train, dev, test = load("reviews")
>>> len(train), len(dev), len(test), train.labels
(552, 68, 70, ['negative', 'positive'])
>>> lexicon()["superb"], lexicon()["not good"]
(1.0, -2.0)
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from importlib.resources import files

from linnet.data import Dataset
from linnet.errors import DataError, nearest

__all__ = ["NAMES", "lexicon", "load", "whole"]

NAMES = {"reviews": "690 short book reviews, positive or negative, written for linnet (BSD-3-Clause)"}


def lexicon() -> dict[str, float]:
    """Return the built-in words of praise (above 0) and blame (below 0) with their valences, written for linnet."""
    content = (files(__name__) / "lexicon.csv").read_text(encoding="utf-8")
    return {row["word"]: float(row["valence"]) for row in csv.DictReader(io.StringIO(content, newline=""))}


def load(name: str) -> tuple[Dataset, Dataset, Dataset]:
    """Return the train, dev and test parts of a built-in data set."""
    if name not in NAMES:
        raise DataError(nearest("data set", name, NAMES))
    content = (files(__name__) / f"{name}.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(content, newline="")))

    def part(split: str) -> Dataset:
        mine = [r for r in rows if r["split"] == split]
        return Dataset.from_lists([r["text"] for r in mine], [r["label"] for r in mine])

    return part("train"), part("dev"), part("test")


def whole(name: str) -> Dataset:
    """Return all parts of a built-in data set behind one another.

    >>> len(whole("reviews"))
    690
    """
    parts = load(name)
    texts = [text for part in parts for text in part.text.to_pylist()]
    labels = [label for part in parts for label in part.label_list()]
    return replace(Dataset.from_lists(texts, labels), source=f"built-in {name}")
