"""Data sets by name: book reviews and support tickets that come with linnet, and public ones from a local mirror, a cache or the hub.

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
from importlib.resources import as_file, files
from typing import NamedTuple

from linnet.data import Dataset, read
from linnet.datasets.named import CATALOGUE
from linnet.errors import DataError, check_choice

__all__ = ["CATALOGUE", "NAMES", "DatasetParts", "lexicon", "load", "whole"]

NAMES = {
    "reviews": "690 short book reviews, positive or negative, written for linnet (BSD-3-Clause)",
    "tickets": "2,152 support tickets of a web shop in eight queues, with faults to be found, written for linnet (BSD-3-Clause)",
}


def lexicon() -> dict[str, float]:
    """Return the built-in words of praise (above 0) and blame (below 0) with their valences, written for linnet."""
    content = (files(__name__) / "lexicon.csv").read_text(encoding="utf-8")
    return {row["word"]: float(row["valence"]) for row in csv.DictReader(io.StringIO(content, newline=""))}


class DatasetParts(NamedTuple):
    """The parts of a data set; dev and test are None where it has none of its own (then split train)."""

    train: Dataset
    dev: Dataset | None = None
    test: Dataset | None = None


def load(name: str) -> DatasetParts:
    """Return the train, dev and test parts of a data set.

    ``name`` is "reviews" or "tickets", which come with linnet; a name of ``CATALOGUE`` such as "ag_news"; or owner/name of a public
    data set on the hub (owner/name@config for one of several tables). Public ones are looked for under LINNET_DATA, then in
    the cache, then on the hub; their licence is in the notes of each part.
    """
    if name in NAMES:
        return DatasetParts(*_built_in(name)) if name == "reviews" else DatasetParts(whole(name))
    from linnet.datasets.named import read_named, resolve, split_name

    base, config, _ = split_name(name)
    parts = resolve(base, config).files
    found = {part: read_named(f"hub:{name.removeprefix('hub:')}:{part}", labelled=True) for part in parts}
    if "train" not in found:
        raise DataError(
            f"{name} has no training part, but {', '.join(found)}; read one with linnet.read('hub:{name}:test')"
        )
    return DatasetParts(**found)


def _built_in(name: str) -> tuple[Dataset, Dataset, Dataset]:
    content = (files(__name__) / f"{name}.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(content, newline="")))

    def part(split: str) -> Dataset:
        mine = [r for r in rows if r["split"] == split]
        return Dataset.from_lists([r["text"] for r in mine], [r["label"] for r in mine])

    return part("train"), part("dev"), part("test")


def whole(name: str) -> Dataset:
    """Return all parts of a built-in data set behind one another.

    >>> len(whole("reviews")), len(whole("tickets")), len(whole("tickets").labels)
    (690, 2052, 8)
    """
    check_choice("built-in data set", name, NAMES)
    if name == "tickets":  # as a user's own file would be read; those without a queue are left out
        with as_file(files(__name__) / "tickets.csv") as path:
            return replace(read(path, label="queue", labelled=True), source="built-in tickets")
    parts = _built_in(name)
    texts = [text for part in parts for text in part.text.to_pylist()]
    labels = [label for part in parts for label in part.label_list()]
    return replace(Dataset.from_lists(texts, labels), source=f"built-in {name}")
