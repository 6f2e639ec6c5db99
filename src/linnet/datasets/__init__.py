"""Data sets by name: book reviews and support tickets that come with linnet, and public ones from a local mirror, a cache or the hub.

>>> train, dev, test = load("reviews")
>>> len(train), len(dev), len(test), train.labels
(1828, 226, 228, ['negative', 'positive'])
>>> lexicon()["superb"], lexicon()["not good"]
(1.0, -2.0)
"""

from __future__ import annotations

import csv
import gzip
import io
import os
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.data import Dataset, read
from linnet.datasets.named import CATALOGUE, ORDER, read_named, resolve, split_name
from linnet.errors import DataError, check_choice

__all__ = ["CATALOGUE", "NAMES", "DatasetParts", "lexicon", "load", "mnist", "whole"]

Pictures = tuple[npt.NDArray[np.float32], npt.NDArray[np.uint8]]

NAMES = {
    "reviews": "2,282 short book reviews, positive or negative, written for linnet (BSD-3-Clause)",
    "tickets": "2,335 support tickets of a web shop in eight queues, with faults to be found, written for linnet (BSD-3-Clause)",
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
    if name == "mnist":
        raise DataError("MNIST has pictures, not texts: linnet.datasets.mnist() gives them as rows of numbers")
    if name in NAMES:
        return DatasetParts(*map(_reviews, ORDER)) if name == "reviews" else DatasetParts(whole(name))
    base, config, _ = split_name(name)
    parts = resolve(base, config).files
    found = {part: read_named(f"hub:{name.removeprefix('hub:')}:{part}", labelled=True) for part in parts}
    if "train" not in found:
        raise DataError(
            f"{name} has no training part, but {', '.join(found)}; read one with linnet.read('hub:{name}:test')"
        )
    return DatasetParts(**found)


def mnist() -> tuple[Pictures, Pictures]:
    """Return the training and the test part of MNIST: rows of 784 numbers from 0 to 1, and the digits.

    Its four files, train-images-idx3-ubyte.gz and so on, must lie in LINNET_DATA/mnist: fetch them from their makers.
    """
    folder = Path(os.environ.get("LINNET_DATA", "")) / "mnist"

    def values(part: str, kind: str) -> npt.NDArray[np.uint8]:
        path = folder / f"{part}-{kind}-ubyte.gz"
        if not path.is_file():
            raise DataError(
                f"there is no {path}: fetch the four files of MNIST (LeCun, Cortes, Burges) and put them into LINNET_DATA/mnist"
            )
        content = gzip.decompress(path.read_bytes())
        shape = np.frombuffer(content, ">u4", count=content[3], offset=4)
        found = np.frombuffer(content, np.uint8, offset=4 + 4 * content[3])
        if content[:3] != b"\0\0\x08" or found.size != int(np.prod(shape)):
            raise DataError(f"{path} is not an idx file of bytes, or not all of it; fetch it again")
        return found.reshape(shape[0], -1)

    def part(name: str) -> Pictures:
        return values(name, "images-idx3").astype(np.float32) / np.float32(255), values(name, "labels-idx1")[:, 0]

    return part("train"), part("t10k")


def _reviews(*parts: str) -> Dataset:
    """Return some parts of the built-in reviews behind one another."""
    content = (files(__name__) / "reviews.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    mine = [row for part in parts for row in rows if row["split"] == part]
    return Dataset.from_lists([row["text"] for row in mine], [row["label"] for row in mine])


def whole(name: str) -> Dataset:
    """Return all parts of a built-in data set behind one another.

    >>> len(whole("reviews")), len(whole("tickets")), len(whole("tickets").labels)
    (2282, 2227, 8)
    """
    check_choice("built-in data set", name, NAMES)
    if name == "tickets":  # as a user's own file would be read; those without a queue are left out
        with as_file(files(__name__) / "tickets.csv") as path:
            return replace(read(path, label="queue", labelled=True), source="built-in tickets")
    return replace(_reviews(*ORDER), source=f"built-in {name}")
