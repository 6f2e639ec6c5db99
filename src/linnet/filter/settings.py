"""The settings of a run, and what a worker makes of them: the model, the cleaner, the names of the new columns.

The shards of a run: files, folders and patterns in; each with the name that its output will have.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.data.formats import FORMATS, find_format, format_by_ending, named_shards, open_file, size_of
from linnet.data.input_file import InputFile
from linnet.data.reader import ReadOptions
from linnet.data.streaming import RowBatch
from linnet.errors import LinnetError, nearest
from linnet.filter.rule import Rule, log_odds
from linnet.filter.shard_writer import AddedColumns, keeps_format
from linnet.model.model import Model
from linnet.solvers.numerics import sigmoid

USABLE, UNUSABLE, CLEANED = 0, 1, 2  # states of a row; CLEANED: removed by cleaning
BINS = 50  # of the histograms of probabilities


class MissingShardError(LinnetError):
    """A shard that was there when the run began is not there now."""


@dataclass(frozen=True)
class FilterSettings:
    """The settings of a run, as plain values that travel to the workers."""

    model: str
    rule: Rule
    out: str
    text: str | None = None
    clean: tuple[str, ...] | None = None
    pages: tuple[str, ...] | None = None
    proba: bool = False
    prefix: str = "linnet_"
    threads: int = 1
    trust: bool = False  # whether the model may name functions

    @cached_property
    def artefact(self) -> Model:
        """The model, mapped into memory when it is first used."""
        return Model.load(self.model, trust=self.trust)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @cached_property
    def columns(self) -> list[int]:
        """The classes whose probabilities are written; those of the rule come first."""
        named = self.rule.columns(self.artefact.classes)
        return [*named, *(k for k in range(len(self.artefact.classes)) if self.proba and k not in named)]

    @cached_property
    def added(self) -> AddedColumns:
        """The new columns."""
        classes = tuple(str(c) for c in self.artefact.classes)
        names = tuple(f"{self.prefix}p_{classes[k]}" for k in self.columns)
        return AddedColumns(f"{self.prefix}label", names, (*classes, ""))

    @cached_property
    def cleaner(self) -> Any:
        """A function from a text to (the clean text, the rule that removed it or None); None without cleaning."""
        if self.clean is None and self.pages is None:
            return None
        from linnet.text.clean import Cleaner, Pages

        characters = Cleaner(self.clean or ())
        pages = None if self.pages is None else Pages(self.pages)

        def clean(text: str) -> tuple[str, str | None]:
            now = characters.clean(text).text
            if not now.strip():
                return "", "empty"
            if pages is None:
                return now, None
            page = pages.filter(now)
            return ("", page.removed_by) if page.removed_by is not None else (page.text, None)

        return clean

    def score(self, texts: Any) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
        """Return the log-odds of `columns` for every text, and its answer, -1 for none."""
        scores = self.artefact.scores(texts, self.threads)
        return log_odds(self.artefact.calibrated_scores(scores), self.columns), self.artefact.answers(
            scores
        ).best.astype(np.int32)


@dataclass(eq=False)
class ScoredBatch:
    """A batch of rows with their states (USABLE, UNUSABLE, CLEANED) and scores."""

    batch: RowBatch
    state: npt.NDArray[np.uint8]
    odds: npt.NDArray[np.float32]
    best: npt.NDArray[np.int32]
    texts: Any  # the texts that were scored
    changed: bool  # whether they are other than those that came


def probability(odds: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Turn log-odds into probabilities.

    >>> probability(np.array([0.0, 1000.0, -1000.0], np.float32)).tolist()
    [0.5, 1.0, 0.0]
    """
    return sigmoid(odds.astype(np.float64)).astype(np.float32)


def histogram(proba: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Count probabilities in bins of equal width, a row a column.

    >>> int(histogram(np.array([[0.0], [1.0]], np.float32))[0].sum())
    2
    """
    at = np.minimum((proba * BINS).astype(np.int64), BINS - 1)
    return np.array([np.bincount(at[:, k], minlength=BINS) for k in range(proba.shape[1])])


@dataclass(frozen=True)
class Shard:
    """One input file: where it is, what its output is called, its size and its format."""

    path: str
    name: str
    size: int
    format: str


def filter_shards(inputs: Iterable[str | os.PathLike[str]], format: str | None = None) -> list[Shard]:
    """Find the shards of some inputs, in the order of their names (see `linnet.data.formats`).

    Output has the name of the shard; where its format cannot be written, NAME.jsonl.
    """
    if format is not None and format not in FORMATS:
        raise LinnetError(nearest("format", format, FORMATS))
    found = named_shards(inputs, loose=False)
    shards = []
    for path, name in found.items():
        kind = _format_of(path, format)
        shown = name if keeps_format(kind) else f"{name}.jsonl"
        shards.append(Shard(str(path.resolve()), shown, size_of(path), kind))
    return sorted(shards, key=lambda shard: shard.name)


def _format_of(path: Path, format: str | None) -> str:
    if str(path) == "-":
        raise LinnetError("standard input cannot be filtered, because it can be read only once; write it to a file")
    if path.is_dir():
        with open_file(path, None, ReadOptions()):  # a folder without class folders is refused
            return "folder"
    if not path.exists():
        InputFile(path)  # says which file was meant
    if format or format_by_ending(path):
        return format or format_by_ending(path) or ""
    with InputFile(path) as file:
        return find_format(file.name, file.peek()).name
