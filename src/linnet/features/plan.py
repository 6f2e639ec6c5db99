"""A plan: how features are weighted, how texts become weighted rows for a model, and which settings are tried on dev.

The default recipe of the linear SVM was measured on seven data sets (design, decision 8): words 1-3 with punctuation as
tokens, characters 2-6 inside words where documents are short; presence; tf-idf times |log-count ratio|^p; L2 per block.
No single p and C wins everywhere, so both are chosen on held-out rows.

Weights of features as values that compose: idf, and the supervised |log-count ratio|.

A weight is one number a feature (or one a feature and class); a feature's value is its tf times its weights:

>>> df = np.array([1, 3])
>>> (idf(df, 3) * log_count_ratio(np.array([[1, 0], [1, 2]]))[:, 0] ** 0.5).round(4).tolist()
[1.4096, 0.6368]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError, LinnetError, check_choice
from linnet.features.blocks import AnyBlocks, Chars, Words
from linnet.features.buffers import TextBuffer
from linnet.features.computed import scales, split
from linnet.features.counts import NORM, TF, Norm, SparseCounts
from linnet.features.selection import Selection


def idf(df: npt.NDArray[Any], n_documents: float, *, smooth: bool = True) -> npt.NDArray[np.float64]:
    """Return ln((1 + n) / (1 + df)) + 1, as scikit-learn does; without smooth, ln(n / df) + 1.

    The more documents hold a feature, the less it weighs; one that all documents hold weighs 1.

    >>> idf(np.array([1, 3]), 3).round(4).tolist()
    [1.6931, 1.0]
    """
    one = 1.0 if smooth else 0.0
    out: npt.NDArray[np.float64] = np.asarray(df, dtype=np.float64) + one
    np.divide(n_documents + one, out, out=out)
    out = arithmetic.log(out)
    out += 1.0
    return out


def log_count_ratio(
    class_counts: npt.NDArray[Any],
    alpha: float = 1.0,
    *,
    totals: npt.NDArray[Any] | None = None,
    n_features: int | None = None,
    every: npt.NDArray[Any] | None = None,
    n_every: float = 0.0,
    signed: bool = False,
) -> npt.NDArray[np.float32]:
    """Return |r|, (n_features, n_outputs): how much more often a feature occurs in a class than in the rest.

    r_c = ln((p_c / |p_c|_1) / (q_c / |q_c|_1)) with p_c = alpha + counts in the class, q_c = alpha + counts in the
    rest, and the norms summed over all features. For two classes there is one column, because both have the same |r|.
    (Wang & Manning 2012.) With signed, r itself: of two classes, above zero where the second has more. To work through
    a large table in pieces, give the totals of each class and the number of features of the whole. Where rows have
    several labels the classes overlap: give the counts in all rows, and their total, for the rest to be what is left.

    >>> log_count_ratio(np.array([[3, 0], [0, 3], [1, 1]])).ravel()  # ln 4, ln 4, ln 1
    array([1.3862944, 1.3862944, 0.       ], dtype=float32)
    """
    if class_counts.ndim != 2 or class_counts.shape[1] < 2:
        got = class_counts.shape
        raise DataError(f"class_counts must be (n_features, n_classes), two classes or more, got shape {got}")
    if not alpha > 0:
        raise DataError(f"alpha must be above 0, or features of one class would weigh infinity; got {alpha}")
    if totals is None:
        totals = arithmetic.total(class_counts, axis=0)
    smoothing = alpha * (len(class_counts) if n_features is None else n_features)
    counts = np.asarray(class_counts, dtype=np.float32)
    if every is not None:
        p, q = counts + np.float32(alpha), every.astype(np.float32)[:, None] - counts + np.float32(alpha)
        sums = totals + smoothing, n_every - totals + smoothing
    elif counts.shape[1] == 2:
        p, q = counts[:, 1:] + np.float32(alpha), counts[:, :1] + np.float32(alpha)
        sums = totals[1:] + smoothing, totals[:1] + smoothing
    else:
        p, q = (
            counts + np.float32(alpha),
            arithmetic.total(counts, axis=1).astype(np.float32)[:, None] - counts + np.float32(alpha),
        )
        sums = totals + smoothing, arithmetic.total(totals) - totals + smoothing
    shift = arithmetic.log(sums[0] / sums[1]).astype(np.float32)
    ratio: npt.NDArray[np.float32] = arithmetic.log(p / q) - shift
    return ratio if signed else np.abs(ratio)


SHORT_DOCUMENT = 500  # bytes: below this mean length, character n-grams help
CHARS_WEIGHT = 0.8  # characters repeat what the words say: a little less than an equal share did best
CHUNK = 1 << 14
LITTLE_TEXT = 4_000_000  # bytes
LOOKED_AT = 500  # texts
WORD, ALONE = 1, 8  # class bits of characters, see classify of the kernels
LARGE_MODEL = 2_000_000  # weights: above this, features seen in one document only are dropped


@dataclass(frozen=True)
class FeatureWeights:
    """norm is the weight of each feature in the row norm; gain, (n_outputs, n_features), its weight for each class.

    computed is what the values of computed columns are multiplied by while learning, for every class alike.
    """

    norm: npt.NDArray[np.float32]
    gain: npt.NDArray[np.float32]
    computed: npt.NDArray[np.float32] | None = None

    def with_computed(self) -> FeatureWeights:
        """Return the weights of all columns, the computed ones last."""
        if self.computed is None:
            return self
        every = np.tile(self.computed, (len(self.gain), 1))
        return FeatureWeights(np.concatenate([self.norm, self.computed]), np.concatenate([self.gain, every], axis=1))


@dataclass(frozen=True)
class FeaturePlan:
    """What a model wants of the features; every field can be set by the user.

    tf: presence, count or sublinear; other_tf are tried after it, and where widths is true other widths of the default
    n-grams. vectors: a file of word vectors that join the default features. norm: "l2" (each block of a row has length
    1), "mean" (its weighted mean is taken) or None. ratio: the powers p to try of |log-count ratio|^p (0 leaves it out).
    select: keep the features that tell most of the labels. vocabulary: the only features there are, by name.
    grid: the model's own settings to try. Values are tried one axis at a time, the first value first; few and
    many say where to start instead where rows are few or many. fixed: settings of the model that differ for text from its defaults.
    """

    features: AnyBlocks | None = None
    tf: str = "presence"
    idf: bool = True
    norm: Norm = "l2"
    ratio: tuple[float, ...] = (0.0,)
    min_df: int | None = None
    max_df: float = 1.0
    max_features: int | None = None
    hash_bits: int | None = None
    select: Selection | None = None
    vocabulary: tuple[str, ...] = ()
    grid: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    few: tuple[tuple[str, Any], ...] = ()
    many: tuple[tuple[str, Any], ...] = ()
    fixed: tuple[tuple[str, Any], ...] = ()
    other_tf: tuple[str, ...] = ()
    widths: bool = False
    vectors: str | None = None

    def __post_init__(self) -> None:
        for tf in (self.tf, *self.other_tf):
            check_choice("tf", tf, TF, LinnetError)
        if self.norm not in NORM:
            raise LinnetError(f"norm must be 'l2', 'mean' or None, got {self.norm!r}")
        if self.hash_bits is not None and not 8 <= self.hash_bits <= 28:
            raise LinnetError(f"hash_bits must be from 8 to 28, got {self.hash_bits}")
        if (self.hash_bits is not None or self.norm != "l2") and (
            self.vectors or any(b.name == "vectors" for b in self.features or ())
        ):
            raise LinnetError(
                "word vectors become weights of words in a block of length 1: they do not go with hash_bits, another norm or naive Bayes"
            )
        if self.vocabulary and (self.hash_bits is not None or self.other_tf):
            raise LinnetError(
                "a vocabulary names the columns: it does not go with hash_bits, nor with several tf to try"
            )
        if self.select is not None and self.hash_bits is not None:
            raise LinnetError(f"select={self.select} drops columns of a vocabulary; leave it out, or hash_bits")

    def with_settings(self, **settings: Any) -> FeaturePlan:
        """Return the recipe with the settings that are not None replaced."""
        return replace(self, **{k: v for k, v in settings.items() if v is not None})

    def weights(
        self, rows: SparseCounts, y: npt.NDArray[Any], n_classes: int, p: float, weight: npt.NDArray[np.float64] | None = None
    ) -> FeatureWeights:  # fmt: skip
        """Learn the weight of each feature from training rows; weight is that of each row, or of each row and class."""
        n = len(rows) if weight is None else arithmetic.total(weight)
        alone = np.zeros(len(rows), np.int32)  # all rows as one class
        if weight is None:
            df = rows.document_frequency()
        else:
            df = rows.class_counts(alone, 1, weight if weight.ndim == 1 else arithmetic.total(weight, axis=1))[:, 0]
        computed = None if rows.computed is None else scales(rows.computed, split(self.features or ())[1])
        if p == 0:
            base = self._base(df, n)
            return FeatureWeights(base, base[None, :], computed)
        if weight is not None and weight.ndim == 2:  # soft labels
            columns = [rows.class_counts(alone, 1, np.ascontiguousarray(column)) for column in weight.T]
            counts = np.concatenate(columns, axis=1)
        else:
            counts = rows.class_counts(y, n_classes) if weight is None else rows.class_counts(y, n_classes, weight)
        totals = counts.sum(axis=0, dtype=np.int64) if weight is None else arithmetic.total(counts, axis=0)
        several = y.ndim == 2  # labels a row
        gain = np.empty((1 if n_classes == 2 and not several else n_classes, rows.n_columns), dtype=np.float32)
        for k in range(0, rows.n_columns, CHUNK):  # in pieces that stay in the cache
            part = counts[k : k + CHUNK]
            all_rows: dict[str, Any] = (
                {"every": df[k : k + CHUNK], "n_every": float(arithmetic.total(df))} if several else {}
            )
            ratio = log_count_ratio(part, totals=totals, n_features=rows.n_columns, **all_rows)
            ratio = arithmetic.power(ratio, p)
            mine = part.sum(axis=1) if weight is None and not several else df[k : k + CHUNK]
            ratio *= self._base(mine, n)[:, None]
            gain[:, k : k + CHUNK] = ratio.T
        return FeatureWeights(gain[0] if len(gain) == 1 else gain.max(axis=0), gain, computed)

    def _base(self, df: npt.NDArray[Any], n_rows: float) -> npt.NDArray[np.float32]:
        return (idf(df, n_rows) if self.idf else np.ones(len(df))).astype(np.float32)


def default_blocks(pieces: list[TextBuffer]) -> AnyBlocks:
    """Words 1-3, and characters 2-6 where documents are short on average.

    Where most texts have no blanks between words, characters 1-5 across words: nothing else is sure to be a word.

    >>> from linnet.features.buffers import text_buffers
    >>> default_blocks(text_buffers(["这部电影很好看", "一点也不好看", "so so"]))
    (Chars(1, 5, tokens='whitespace'),)
    """
    size = sum(int(p.offsets[-1] - p.offsets[0]) for p in pieces)
    return blocks_for(sum(map(len, pieces)), size, unspaced=unspaced(pieces))


def blocks_for(n: int, size: int, *, unspaced: bool) -> AnyBlocks:
    """Return the blocks for so many texts of so many bytes."""
    if unspaced:
        return (Chars(1, 5, tokens="whitespace"),)
    return Words(1, 3) + Chars(2, 6, weight=CHARS_WEIGHT) if size < SHORT_DOCUMENT * max(n, 1) else (Words(1, 3),)


def other_widths(features: AnyBlocks, size: int = 0) -> tuple[AnyBlocks, ...]:
    """Return what else is worth trying where the default is these blocks: none but the default has others.

    size is that of all texts, in bytes: where it is little, characters are cheap to try in long documents too.

    >>> from linnet.features.blocks import describe
    >>> [describe(blocks) for blocks in other_widths(blocks_for(1, 100, unspaced=False))]
    ['words:1-2+chars:2-5']
    """
    narrow: AnyBlocks = Words(1, 2) + Chars(2, 5)
    short, long = (blocks_for(1, length, unspaced=False) for length in (0, SHORT_DOCUMENT))
    return (narrow,) if features == short or (features == long and size < LITTLE_TEXT) else ()


def unspaced(pieces: list[TextBuffer]) -> bool:
    """Whether most texts are in scripts without blanks between words (Chinese, Japanese, Thai ...).

    It looks at the beginnings of up to LOOKED_AT texts, evenly spread: half of the letters must be of such a script.
    """
    from linnet.data.labelled import scripts_of  # brings Arrow, which a Vectorizer does without

    step = looked_at(sum(map(len, pieces)))
    found, first = [], 0
    for piece in pieces:
        found.append(scripts_of(piece.data, piece.offsets, np.arange(-first % step, len(piece), step)))
        first += len(piece)
    return bool(found) and mostly_unspaced(np.bincount(np.concatenate(found), minlength=3))


def looked_at(n: int) -> int:
    """Return every how many of n texts one is looked at."""
    return max(1, -(-n // LOOKED_AT))


def mostly_unspaced(counts: npt.NDArray[np.int64]) -> bool:
    """Whether most texts need no blanks, by how many of them `scripts_of` gave 0, 1 and 2."""
    return bool(2 * counts[2] > counts[1] + counts[2])
