"""The settings of a run: rule and shards, and what a worker makes of them: the model, the cleaner, the names of the new columns.

The shards of a run: files, folders and patterns in; each with the name that its output will have.

What is kept: labels with the probability they must reach, the best share of a corpus, a quota a source.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linnet.array_types import Floats, Floats32, Ints32
from linnet.data.formats import FORMATS, format_by_ending, named_shards, open_file, size_of
from linnet.data.input_file import ReadOptions
from linnet.data.writers import KEPT
from linnet.errors import LinnetError, check_choice
from linnet.model.model import Model
from linnet.solvers.losses import logsumexp

UNITS = ("documents", "characters", "tokens")  # of what --top is a share; tokens are words between white space


@dataclass(frozen=True)
class Rule:
    """Which documents to keep.

    `keep` maps labels to the least probability they must have; a document is kept if one of them has it. None instead
    of a probability asks that the label is the best one (or, with `top` or `quota`, asks nothing). `top` keeps the
    best share, of `of`; `quota` the best so many of each value of the column `by`. Both rank by the only label of
    `keep`.

    >>> Rule({"pos": 0.9}).passes == 1, Rule({"pos": None}, top=0.1).passes == 2
    (True, True)
    """

    keep: Mapping[str, float | None]
    top: float | None = None
    of: str = "documents"
    quota: int | None = None
    by: str | None = None

    def __post_init__(self) -> None:
        if not self.keep:
            raise LinnetError("name the label to keep: --keep LABEL (`linnet info MODEL` lists the labels)")
        for label, least in self.keep.items():
            if least is not None and not 0 <= least <= 1:
                raise LinnetError(f"the probability for '{label}' must be between 0 and 1, got {least}")
        if self.top is not None and not 0 < self.top <= 1:
            raise LinnetError(f"--top must be above 0 and at most 100 %, got {self.top:.4g}")
        check_choice("unit", self.of, UNITS, LinnetError)
        if self.top is not None and self.quota is not None:
            raise LinnetError("--top and --quota exclude each other; choose one")
        if (self.quota is None) != (self.by is None):
            raise LinnetError(
                "--quota N and --by COLUMN belong together: the best N documents of every value of COLUMN"
            )
        if self.quota is not None and self.quota < 1:
            raise LinnetError(f"--quota must be 1 or more, got {self.quota}")
        if self.ranked and len(self.keep) > 1:
            raise LinnetError(f"--top and --quota rank by one label, got {', '.join(self.keep)}; keep one")

    @property
    def ranked(self) -> bool:
        """Whether documents compete with each other."""
        return self.top is not None or self.quota is not None

    @property
    def passes(self) -> int:
        """How often the corpus is read."""
        return 2 if self.ranked else 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "keep": dict(self.keep)}

    def columns(self, classes: Sequence[Any]) -> list[int]:
        """Return the numbers of the labels in a model's classes."""
        names = [str(c) for c in classes]
        for label in self.keep:
            check_choice("label", label, names, LinnetError)
        return [names.index(label) for label in self.keep]

    def admits(self, odds: Floats32, best: Ints32, columns: Sequence[int]) -> Any:
        """Return which documents reach the probabilities: `odds` (n, n_labels) as log-odds, `best` the best classes."""
        found = np.zeros(len(odds), dtype=bool)
        for k, (column, least) in enumerate(zip(columns, self.keep.values(), strict=True)):
            if least is None:
                found |= True if self.ranked else best == column
            else:
                with np.errstate(divide="ignore"):
                    found |= odds[:, k] >= np.float32(np.log(least) - np.log1p(-least))
        return found


def log_odds(scores: Floats, columns: Sequence[int]) -> Floats32:
    """Turn a model's scores into log-odds of some classes, (n, n_columns): no two probabilities near 1 look the same.

    >>> log_odds(np.array([[2.0]]), [0, 1]).tolist()
    [[-2.0, 2.0]]
    >>> log_odds(np.array([[0.0, 0.0, np.log(2)]]), [2]).round(6).tolist()
    [[0.0]]
    """
    if scores.shape[1] == 1:
        return np.concatenate([scores if c else -scores for c in columns], axis=1).astype(np.float32)
    out = np.empty((len(scores), len(columns)), dtype=np.float32)
    for k, column in enumerate(columns):
        rest = np.delete(scores, column, axis=1)
        out[:, k] = scores[:, column] - logsumexp(rest)
    return out


def percent(text: str) -> float:
    """Read a share.

    >>> percent("10%"), percent("0.25")
    (0.1, 0.25)
    """
    try:
        return float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        raise LinnetError(f"--top {text}: not a share; write for example 10% or 0.1") from None


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
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; the last one, "", is no answer."""
        return (*map(str, self.artefact.classes), "")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the new columns: the label, then the probabilities."""
        return (f"{self.prefix}label", *(f"{self.prefix}p_{self.classes[k]}" for k in self.columns))

    @cached_property
    def cleaner(self) -> Any:
        """A function from a text to (the clean text, the rule that removed it or None); None without cleaning."""
        if self.clean is None and self.pages is None:
            return None
        from linnet.text.clean.corpus import Corpus

        return Corpus(self.clean or (), self.pages).cleaner()

    def score(self, texts: Any) -> tuple[Floats32, Ints32]:
        """Return the log-odds of `columns` for every text, and its answer, -1 for none."""
        scores = self.artefact.scores(texts, self.threads)
        best = self.artefact.answers(scores).best
        return log_odds(self.artefact.calibrated_scores(scores), self.columns), best.astype(np.int32)


class Shard(NamedTuple):
    """One input file: where it is, what its output is called, its size and its format."""

    path: str
    name: str
    size: int
    format: str


def keeps_format(format: str) -> bool:
    """Whether rows of a format are written back in it; else they become JSON lines.

    >>> [keeps_format(name) for name in ("csv", "warc", "fasttext")]
    [True, True, False]
    """
    return format in KEPT or (format in FORMATS and FORMATS[format].rewrite is not None)


def filter_shards(inputs: Iterable[str | os.PathLike[str]], format: str | None = None) -> list[Shard]:
    """Find the shards of some inputs, in the order of their names (see `linnet.data.formats`).

    Output has the name of the shard; where its format cannot be written, NAME.jsonl.
    """
    if format is not None:
        check_choice("format", format, FORMATS, LinnetError)
    shards = []
    for path, name in named_shards(inputs, loose=False).items():
        kind = _format_of(path, format)
        shown = name if keeps_format(kind) else f"{name}.jsonl"
        shards.append(Shard(str(path.resolve()), shown, size_of(path), kind))
    return sorted(shards, key=lambda shard: shard.name)


def _format_of(path: Path, format: str | None) -> str:
    if str(path) == "-":
        raise LinnetError("standard input cannot be filtered, because it can be read only once; write it to a file")
    known = None if path.is_dir() else format or format_by_ending(path)
    if known and path.exists():
        return known
    # refuses what is not there, and a folder without class folders
    with open_file(path, format, ReadOptions()) as reader:
        return reader.format
