"""A vocabulary: the words of some texts with their counts, text to integers and back.

>>> vocabulary = Vocabulary.of(["the cat sat", "the dog", "the cat"], min_df=2)
>>> vocabulary.words, vocabulary.counts.tolist(), vocabulary.document_frequency.tolist()
(['the', 'cat'], [3, 2], [3, 2])
>>> vocabulary.encode("The dog saw the cat")
[1, 0, 0, 1, 2]
>>> vocabulary.decode([1, 0, 2])
'the <oov> cat'

Number 0 is every word that is not in the vocabulary (OOV); the others are numbered from 1, the most frequent first,
ties by name. ``cut`` gives a smaller vocabulary: words in at least min_df texts, at most so many of them.

Zipf's law: the word of rank r is seen about C / r^s times. The exponent is fitted to the data, and drawn beside it.

>>> law = Zipf.fit([1200, 600, 400, 300, 240, 200])  # exactly 1 / rank
>>> round(law.exponent, 6)
1.0

The fit is by maximum likelihood over the ranks: s is where the mean of ln(rank) under r^-s equals that of the tokens.
A line through the points of the log-log plot would follow the many words seen once instead. The law is 1/rank, s = 1;
"each rank half the one before" would be a straight line only in a plot whose ranks are not logarithms.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.array_types import Floats, Ints
from linnet.errors import DataError, check_choice, require
from linnet.files import read_text, write_atomic
from linnet.text.tokens import CASES, TOKENS, tokenised


@dataclass(frozen=True)
class Zipf:
    """Counts by rank, largest first, and the law that fits them best: expected(r) = scale / r^exponent."""

    counts: Ints
    exponent: float
    scale: float

    @classmethod
    def fit(cls, counts: Sequence[int] | Ints) -> Zipf:
        """Fit the exponent to counts, in any order."""
        ranked = np.sort(np.asarray(counts, dtype=np.int64))[::-1]
        ranked = ranked[ranked > 0]
        if len(ranked) < 2:
            raise DataError(f"a law needs at least two different words, got {len(ranked)}")
        logs = np.log(np.arange(1, len(ranked) + 1))
        wanted = float(ranked @ logs / ranked.sum())
        low, high = -20.0, 20.0
        for _ in range(80):  # the mean of ln(rank) falls as s grows
            s = (low + high) / 2
            p = np.exp(-s * logs - np.max(-s * logs))
            low, high = (s, high) if float(p @ logs / p.sum()) > wanted else (low, s)
        weights = np.exp(-s * logs)
        return cls(ranked, s, float(ranked.sum() / weights.sum()))

    def expected(self, ranks: npt.ArrayLike) -> Floats:
        """Return how often the law expects the words of some ranks."""
        return np.asarray(self.scale * np.asarray(ranks, dtype=np.float64) ** -self.exponent)

    def points(self, most: int = 200) -> tuple[Ints, Ints]:
        """Return ranks, evenly spread on a log scale, and their counts."""
        n = len(self.counts)
        ranks = np.unique(np.geomspace(1, n, min(most, n)).round().astype(np.int64))
        return ranks, self.counts[ranks - 1]

    def to_text(self, width: int = 64, height: int = 16) -> str:
        """Draw both on logarithmic axes for a terminal: o the data, . the law."""
        ranks, counts = self.points(4 * width)
        low, high = np.log(self.counts[-1]), np.log(self.counts[0])
        columns = np.log(ranks) / max(1e-9, np.log(len(self.counts))) * (width - 1)
        grid = [[" "] * width for _ in range(height)]
        for sign, values in ((".", self.expected(ranks)), ("o", counts)):
            y = (np.log(np.maximum(values, 1e-9)) - low) / max(1e-9, high - low)
            rows = ((1 - y) * (height - 1)).round().astype(int).tolist()
            for r, c in zip(rows, columns.round().astype(int).tolist(), strict=True):
                if 0 <= r < height:
                    grid[r][c] = sign
        top = f"{int(self.counts[0]):,}"
        labels = [top, *[""] * (height - 2), f"{int(self.counts[-1]):,}"]
        lines = [f"{label:>{len(top)}} |{''.join(line)}".rstrip() for label, line in zip(labels, grid, strict=True)]
        foot = f"{'':>{len(top)}} +{'-' * width}"
        ends = f"{'':>{len(top)}}  rank 1{f'{len(self.counts):,}':>{width - 6}}"
        law = f"o count of a word, . the law {self.scale:,.0f} / rank^{self.exponent:.3f}"
        return "\n".join([*lines, foot, ends, law])

    def to_svg(self, *, file: bool = True) -> str:
        """Draw the counts and the law on logarithmic axes, as an SVG file or (file=False) as part of a page."""
        from linnet.draw.charts import Axis, Layer, Line, Points, chart

        ranks, counts = self.points(120)
        law = list(zip(ranks.tolist(), self.expected(ranks).tolist(), strict=True))
        least, most = float(self.counts[-1]), float(self.counts[0])
        layers: list[Layer] = [
            Line([p for p in law if least <= p[1] <= most], "orange", self.law, titles=False),
            Points(list(zip(ranks.tolist(), counts.tolist(), strict=True)), name="words"),
        ]
        axes = Axis("rank", log=True), Axis("count", least, most, log=True)
        return chart(layers, *axes, "Counts of words by rank, and Zipf's law", file=file)

    @property
    def law(self) -> str:
        """The fitted law as a formula."""
        from linnet.draw.terminal import short

        return f"{short(float(f'{self.scale:.2g}'))} / rank^{self.exponent:.3f}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plot as .svg, or with the extra ``report`` as .png; whole or not at all."""
        target = Path(path)
        kind = target.suffix.lower()
        if kind == ".svg":
            write_atomic(target, self.to_svg())
        elif kind == ".png":
            svg_to_png = require("vl_convert", "a PNG plot", "report").svg_to_png
            write_atomic(target, bytes(svg_to_png(self.to_svg(), scale=2)))
        else:
            raise DataError(f"cannot draw {target.name!r}: end the name in .svg or .png")


OOV = "<oov>"
Counts = Ints


@dataclass(frozen=True)
class Coverage:
    """How much of some texts a vocabulary knows: tokens count every time they are seen, types once."""

    texts: int
    tokens: int
    known_tokens: int
    types: int
    known_types: int
    unknown: tuple[tuple[str, int], ...]  # the most frequent unknown words

    @property
    def coverage(self) -> float:
        """The share of tokens that are known."""
        return self.known_tokens / self.tokens if self.tokens else 1.0

    @property
    def oov_rate(self) -> float:
        """The share of tokens that are not known."""
        return 1.0 - self.coverage

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        unknown = [{"word": w, "count": n} for w, n in self.unknown]
        return {**asdict(self), "coverage": self.coverage, "oov_rate": self.oov_rate, "unknown": unknown}


@dataclass(frozen=True)
class Vocabulary:
    """Words by count, and what they were counted in: n_documents texts of n_tokens tokens, cut-off words included."""

    words: list[str]
    counts: Counts
    document_frequency: Counts
    n_documents: int
    n_tokens: int
    tokens: str = "words"
    case: str = "fold"

    @classmethod
    def of(
        cls,
        texts: Iterable[str],
        *,
        tokens: str = "words",
        case: str = "fold",
        min_df: int = 1,
        size: int | None = None,
    ) -> Vocabulary:
        """Count the words of texts; keep those in min_df texts or more, at most size of them."""
        check_choice("case", case, CASES)
        counts: Counter[str] = Counter()
        held: Counter[str] = Counter()
        n = 0
        for found in tokenised(texts, tokens, case):
            counts.update(found)
            held.update(set(found))
            n += 1
        words = sorted(counts, key=lambda w: (-counts[w], w))
        each, df = (np.array([known[w] for w in words], dtype=np.int64) for known in (counts, held))
        every = cls(words, each, df, n, sum(counts.values()), tokens, case)
        return every if min_df <= 1 and size is None else every.cut(min_df=min_df, size=size)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._numbers

    def __repr__(self) -> str:
        return f"<Vocabulary: {len(self):,} words of {self.n_documents:,} texts, tokens={self.tokens}>"

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: k for k, word in enumerate(self.words, 1)}

    def cut(self, *, min_df: int = 1, size: int | None = None) -> Vocabulary:
        """Return the vocabulary without words in fewer than min_df texts, and then the size most frequent."""
        if min_df < 1 or (size is not None and size < 1):
            raise DataError(f"cut-offs must be 1 or more, got min_df={min_df}, size={size}")
        kept = np.flatnonzero(self.document_frequency >= min_df)[:size]
        words = [self.words[k] for k in kept.tolist()]
        about = (self.n_documents, self.n_tokens, self.tokens, self.case)
        return Vocabulary(words, self.counts[kept], self.document_frequency[kept], *about)

    # ---- text to integers and back

    def encode(self, text: str) -> list[int]:
        """Return the number of each token; 0 for those that are not in the vocabulary."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the numbers of many texts, which is quicker than one by one."""
        number = self._numbers
        return [[number.get(w, 0) for w in found] for found in tokenised(texts, self.tokens, self.case)]

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the words of numbers, joined by blanks (characters and bytes by nothing)."""
        known, found = self.words, list(numbers)
        for k in found:
            if not 0 <= k <= len(self.words):
                raise DataError(f"there is no word number {k}; the vocabulary has 0 (unknown) to {len(self.words)}")
        return ("" if self.tokens in ("characters", "bytes") else " ").join(known[k - 1] if k else OOV for k in found)

    def presence(self, numbers: Iterable[int]) -> Counts:
        """Return which words a document of numbers holds: 1 or 0 for each word, number 1 first; 0, unknown, is left out.

        >>> Vocabulary.of(["a b c d e f g h"]).presence([4, 2, 2, 1, 2]).tolist()
        [1, 1, 0, 1, 0, 0, 0, 0]
        """
        return np.isin(np.arange(1, len(self.words) + 1), list(numbers)).astype(np.int64)

    # ---- what it says about texts

    def coverage(self, texts: Iterable[str], top: int = 10) -> Coverage:
        """Return how much of other texts it knows, and the most frequent words it does not."""
        other = Vocabulary.of(texts, tokens=self.tokens, case=self.case)
        unknown = [(w, n) for w, n in zip(other.words, other.counts.tolist(), strict=True) if w not in self]
        known = other.n_tokens - sum(n for _, n in unknown)
        types = len(other), len(other) - len(unknown)
        return Coverage(other.n_documents, other.n_tokens, known, *types, tuple(unknown[:top]))

    def cut_offs(self, values: Iterable[int] = (1, 2, 3, 5, 10, 20, 50, 100)) -> list[dict[str, Any]]:
        """Return for each min_df how many words are left and which share of the tokens they cover."""
        rows = []
        for value in values:
            kept = self.document_frequency >= value
            covered = int(self.counts[kept].sum())
            share = covered / self.n_tokens if self.n_tokens else 1.0
            rows.append({"min_df": value, "words": int(kept.sum()), "coverage": share})
        return rows

    def zipf(self) -> Zipf:
        """Return Zipf's law fitted to the counts."""
        return Zipf.fit(self.counts)

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vocabulary as JSON, whole or not at all."""
        about = {
            "linnet": "vocabulary", "version": 1, "tokens": self.tokens, "case": self.case, "documents": self.n_documents,
            "n_tokens": self.n_tokens, "words": self.words, "counts": self.counts.tolist(),
            "document_frequency": self.document_frequency.tolist(),
        }  # fmt: skip
        write_atomic(path, json.dumps(about, ensure_ascii=False))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Read a file written by ``save``."""
        content = read_text(path, "the vocabulary")
        try:
            found = json.loads(content)
            if found["linnet"] != "vocabulary" or found["version"] != 1:
                raise ValueError
            words, counts = list(map(str, found["words"])), np.array(found["counts"], dtype=np.int64)
            held = np.array(found["document_frequency"], dtype=np.int64)
            if not (len(words) == len(counts) == len(held) == len(set(words))):
                raise ValueError
            check_choice("case", found["case"], CASES)
            if found["tokens"] not in TOKENS and not str(found["tokens"]).endswith(".json"):
                raise ValueError
            about = (int(found["documents"]), int(found["n_tokens"]), found["tokens"], found["case"])
        except (KeyError, TypeError, ValueError):
            raise DataError(
                f"{os.fspath(path)} does not hold a vocabulary that linnet wrote; write it again with save"
            ) from None
        return cls(words, counts, held, *about)


def given_words(vocabulary: Any) -> tuple[str, ...]:
    """Return the names of a vocabulary: a list, a file of ``Vocabulary.save`` (.json), or a file with one a line.

    >>> given_words(["blue", "dog"])
    ('blue', 'dog')
    """
    if not isinstance(vocabulary, str | os.PathLike):
        return tuple(map(str, vocabulary))
    if os.fspath(vocabulary).endswith(".json"):
        return tuple(Vocabulary.load(vocabulary).words)
    lines = read_text(vocabulary, "the vocabulary, one word a line,").splitlines()
    return tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))


def texts_of(source: Any, column: str | None, format: str | None, on_note: Callable[[str], None]) -> Iterable[str]:
    """Stream the texts of a source, for ``Vocabulary.of``; what is odd about it goes to on_note."""
    from linnet.data import stream

    for batch in stream(source, text=column, format=format):
        for note in batch.notes:
            on_note(note)
        yield from batch.text.to_pylist()
