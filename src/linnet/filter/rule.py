"""What is kept: labels with the probability they must reach, the best share of a corpus, a quota a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.data.arrays import data_bytes, offsets, to_numbers
from linnet.errors import LinnetError, check_choice
from linnet.solvers.numerics import logsumexp

UNITS = {  # of what --top is a share
    "documents": "every document counts once",
    "characters": "a document counts as many times as it has characters",
    "tokens": "a document counts as many times as it has words between white space",
}


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
            raise LinnetError("name the label to keep: --keep LABEL")
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

    def admits(self, odds: npt.NDArray[np.float32], best: npt.NDArray[np.int32], columns: Sequence[int]) -> Any:
        """Return which documents reach the probabilities: `odds` (n, n_labels) as log-odds, `best` the best classes."""
        found = np.zeros(len(odds), dtype=bool)
        for k, (column, least) in enumerate(zip(columns, self.keep.values(), strict=True)):
            if least is None:
                found |= True if self.ranked else best == column
            else:
                found |= odds[:, k] >= _logit(least)
        return found


def _logit(p: float) -> np.float32:
    with np.errstate(divide="ignore"):
        return np.float32(np.log(p) - np.log1p(-p))


def log_odds(scores: npt.NDArray[np.float64], columns: Sequence[int]) -> npt.NDArray[np.float32]:
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
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        raise LinnetError(f"--top {text}: not a share; write for example 10% or 0.1") from None
    if not 0 < value <= 1:
        raise LinnetError(f"--top {text}: must be above 0 and at most 100%; write for example 10%")
    return value


def weigh(texts: Any, unit: str) -> npt.NDArray[np.int64]:
    """Return the weights of the texts of an Arrow column; words are what stands between ASCII white space.

    >>> import pyarrow as pa
    >>> texts = pa.chunked_array([["a small world", "", " naïve"]])
    >>> [weigh(texts, unit).tolist() for unit in ("documents", "characters", "tokens")]
    [[1, 1, 1], [13, 0, 6], [3, 0, 1]]
    """
    if unit == "documents":
        return np.ones(len(texts), np.int64)
    count = _characters if unit == "characters" else _words
    return np.concatenate([np.zeros(0, np.int64), *(count(chunk) for chunk in texts.chunks)])


def _characters(chunk: Any) -> npt.NDArray[np.int64]:
    import pyarrow.compute as pc

    return to_numbers(pc.utf8_length(chunk)).astype(np.int64)


def _words(chunk: Any) -> npt.NDArray[np.int64]:
    data, ends = data_bytes(chunk), offsets(chunk).astype(np.int64)
    ends -= ends[0]
    space = (data - np.uint8(9) < 5) | (data == 32)
    starts = ~space
    starts[1:] &= space[:-1]
    first = ends[:-1][np.diff(ends) > 0]
    starts[first] = ~space[first]  # a document begins: the last word of the one before is not this one
    return np.diff(np.searchsorted(np.flatnonzero(starts), ends))
