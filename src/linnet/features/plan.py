"""A plan: how features are weighted, how texts become weighted rows for a model, and which settings are tried on dev.

The default recipe of the linear SVM was measured on seven data sets (design, decision 8): words with punctuation as tokens, with
characters inside words where documents are short and pairs with a gap where they are long; presence; tf-idf times
|log-count ratio|^p; L2 per block.
No single p and C wins everywhere, so both are chosen on held-out rows.

Weights of features as values that compose: idf, and the supervised |log-count ratio|.

A weight is one number a feature (or one a feature and class); a feature's value is its tf times its weights:

>>> df = np.array([1, 3])
>>> (idf(df, 3) * log_count_ratio(np.array([[1, 0], [1, 2]]))[:, 0] ** 0.5).round(4).tolist()
[1.4096, 0.6368]

Which features are worth keeping: chosen by how much they tell of the labels of training rows.

``chi2:5000`` keeps the 5,000 features with the largest chi-square statistic, ``mi:5000`` those with the most mutual
information, ``l1:5000`` at most 5,000 that an L1-penalised linear SVM gives a weight. (The most frequent are kept by
max_features, which asks no labels.) Scores are computed on training rows only, afresh in every fold, so a held-out score
stays honest. The first two are scikit-learn's chi2 and mutual_info_classif.

>>> Selection.of("chi2:5000")
Selection(method='chi2', k=5000)

Which columns a vocabulary keeps: not too rare, not too common, the most frequent; as scikit-learn counts.

>>> documents("min_df", 0.25, 8), documents("max_df", 3, 8)
(2.0, 3.0)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet._kernels import sparse
from linnet.array_types import Array, Floats, Floats32, Ints, Ints32, Labels
from linnet.errors import DataError, LinnetError, check_choice
from linnet.features.blocks import Across, AnyBlocks, Chars, Position, Skips, Words, scales, split
from linnet.features.buffers import TextBuffer
from linnet.features.counting import NORM, TF, Names, Norm, SparseCounts

Scores = Floats  # (n_columns,)
CHUNK = 1 << 14


def chi2(rows: SparseCounts, y: Labels, n_classes: int) -> Scores:
    """Return the chi-square statistic of each feature and the class: sum over classes of (seen - expected)^2 / expected.

    What is seen is how often the feature occurs in the class (in how many texts, where only presence was counted).
    """
    if len(rows.counts):
        seen = np.zeros((rows.n_columns, n_classes))
        sparse.class_sums(rows.row_ptr, rows.indices, rows.counts.astype(np.float64), y, np.ones(len(rows)), seen)
    else:
        seen = rows.class_counts(y, n_classes).astype(np.float64)
    expected = arithmetic.total(seen, axis=1)[:, None] * (np.bincount(y, minlength=n_classes) / max(1, len(y)))
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.square(seen - expected) / expected
    return np.asarray(arithmetic.total(np.where(expected > 0, parts, 0.0), axis=1))


def mutual_information(rows: SparseCounts, y: Labels, n_classes: int) -> Scores:
    """Return I(present; class) of each feature in nats: what knowing that it is there tells of the class, on average."""
    n = max(1, len(y))
    classes = np.bincount(y, minlength=n_classes) / n
    there = rows.class_counts(y, n_classes)
    out = np.zeros(rows.n_columns)
    for k in range(0, rows.n_columns, CHUNK):
        present = there[k : k + CHUNK] / n  # (chunk, n_classes)
        for joint in (present, classes - present):
            apart = arithmetic.total(joint, axis=1)[:, None] * classes
            with np.errstate(divide="ignore", invalid="ignore"):
                parts = joint * arithmetic.log(joint / apart)
            out[k : k + CHUNK] += arithmetic.total(np.where(joint > 0, parts, 0.0), axis=1)
    return np.maximum(out, 0.0)


def l1_weight(rows: SparseCounts, y: Labels, n_classes: int) -> Scores:
    """Return the largest weight, without its sign, that an L1-penalised linear SVM gives each feature; most get 0.

    Rows are presence, 1 long, the loss is the squared hinge and C is 1. The weights put features in order: nearly solved is
    enough.
    """
    from linnet.solvers.coordinate import solve
    from linnet.solvers.losses import SquaredHinge
    from linnet.solvers.matrix import Matrix

    lengths = np.diff(rows.row_ptr)
    values = np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
    X = Matrix(rows.row_ptr, rows.indices, values, rows.n_columns)
    found = solve(X, y, np.ones(len(y)), SquaredHinge(), 1 if n_classes == 2 else n_classes, tol=1e-3)
    return np.asarray(np.abs(found.W).max(axis=1), dtype=np.float64)


METHODS: dict[str, Callable[..., Scores]] = {"chi2": chi2, "mi": mutual_information, "l1": l1_weight}


@dataclass(frozen=True)
class Selection:
    """How features are chosen, and how many are kept."""

    method: str
    k: int

    def __post_init__(self) -> None:
        check_choice("way to select features", self.method, METHODS, LinnetError)
        if self.k < 1:
            raise LinnetError(f"select={self}: keep at least one feature")

    @classmethod
    def of(cls, value: Any) -> Selection:
        """Read ``method:k``."""
        if isinstance(value, Selection):
            return value
        method, _, k = str(value).partition(":")
        if not k.isdigit():
            raise LinnetError(f"cannot read select={value!r}; write for example chi2:5000 ({', '.join(METHODS)})")
        return cls(method, int(k))

    def __str__(self) -> str:
        return f"{self.method}:{self.k}"

    def choose(self, rows: SparseCounts, y: Labels, n_classes: int) -> tuple[Ints32, Scores]:
        """Return the new number of each column, -1 where it is dropped, and the scores; of equals the first seen stay."""
        scores = METHODS[self.method](rows, y, n_classes)
        best = np.argsort(-scores, kind="stable")[: self.k]
        if self.method == "l1" and (scores[best] > 0).any():
            best = best[scores[best] > 0]
        numbers = np.full(rows.n_columns, -1, dtype=np.int32)
        numbers[np.sort(best)] = np.arange(len(best), dtype=np.int32)
        return numbers, scores


def documents(name: str, value: float, n: int) -> float:
    """Read a number of documents (int) or a fraction of n documents (float)."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating) or not value >= 0:
        raise DataError(f"{name} must be a number of documents (int) or a fraction of them (0.0 to 1.0), got {value!r}")
    if isinstance(value, int | np.integer):
        return float(value)
    if value > 1:
        raise DataError(f"{name}={value!r} is a fraction of documents above 1; for a number of documents give an int")
    return float(value * n)


def kept_columns(
    rows: SparseCounts, *, min_df: float, max_df: float, max_features: int | None, names: Callable[[Ints], Names]
) -> Ints:
    """Return the columns to keep, in order: those in min_df to max_df documents, and of them the most frequent.

    Frequency is the total count, or where only presence was counted the number of documents. Of equally frequent ones
    the first by name are kept; names is asked for the names of those in question only.
    """
    n, df = len(rows), rows.document_frequency()
    least, most = documents("min_df", min_df, n), documents("max_df", max_df, n)
    if most < least:
        raise DataError(f"max_df={max_df} is fewer documents than min_df={min_df}: {most:g} of {n:,}")
    kept = np.flatnonzero((df >= least) & (df <= most))
    if not len(kept):
        raise DataError(
            f"no feature is left: none of {len(df):,} is in {least:g} to {most:g} of {n:,} documents; "
            f"lower min_df={min_df} or raise max_df={max_df}"
        )
    if max_features is None or len(kept) <= max_features:
        return kept
    total = np.bincount(rows.indices, rows.counts, rows.n_columns)[kept] if len(rows.counts) else df[kept]
    cut = -np.partition(-total, max_features - 1)[max_features - 1]  # the smallest total that is kept
    sure, ties = kept[total > cut], kept[total == cut]
    first = names(ties).order()[: max_features - len(sure)]
    return np.sort(np.concatenate([sure, ties[first]]))


def idf(df: Array, n_documents: float, *, smooth: bool = True) -> Floats:
    """Return ln((1 + n) / (1 + df)) + 1, as scikit-learn does; without smooth, ln(n / df) + 1.

    The more documents hold a feature, the less it weighs; one that all documents hold weighs 1.

    >>> idf(np.array([1, 3]), 3).round(4).tolist()
    [1.6931, 1.0]
    """
    one = 1.0 if smooth else 0.0
    out: Floats = np.asarray(df, dtype=np.float64) + one
    np.divide(n_documents + one, out, out=out)
    out = arithmetic.log(out)
    out += 1.0
    return out


def log_count_ratio(
    class_counts: Array,
    alpha: float = 1.0,
    *,
    totals: Array | None = None,
    n_features: int | None = None,
    every: Array | None = None,
    n_every: float = 0.0,
    signed: bool = False,
) -> Floats32:
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
        rest = arithmetic.total(counts, axis=1).astype(np.float32)[:, None] - counts
        p, q = counts + np.float32(alpha), rest + np.float32(alpha)
        sums = totals + smoothing, arithmetic.total(totals) - totals + smoothing
    shift = arithmetic.log(sums[0] / sums[1]).astype(np.float32)
    ratio: Floats32 = arithmetic.log(p / q) - shift
    return ratio if signed else np.abs(ratio)


SHORT_DOCUMENT = 500  # bytes: below this mean length, character n-grams help
CHARS_WEIGHT = SKIPS_WEIGHT = 0.8  # they repeat what the words say: a little less than an equal share did best
PLACES_WEIGHT = 0.5
LITTLE_TEXT, MUCH_TEXT = 4_000_000, 30_000_000  # bytes
LOOKED_AT = 500  # texts
LARGE_MODEL = 2_000_000  # weights: above this, features seen in one document only are dropped (but of few, short texts)


@dataclass(frozen=True)
class FeatureWeights:
    """norm is the weight of each feature in the row norm; gain, (n_outputs, n_features), its weight for each class.

    computed is what the values of computed columns are multiplied by while learning, for every class alike.
    """

    norm: Floats32
    gain: Floats32
    computed: Floats32 | None = None

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
    many say where to start instead where rows are few or many. fixed: settings of the model that differ for text from its defaults;
    trial: those that differ again while settings are tried, where a rough fit will do; rough_from: the classes from which on it will.
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
    trial: tuple[tuple[str, Any], ...] = ()
    rough_from: int = 2
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
        vectors = self.vectors or any(b.name == "vectors" for b in self.features or ())
        if vectors and (self.hash_bits is not None or self.norm != "l2"):
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
        self, rows: SparseCounts, y: Array, n_classes: int, p: float, weight: Floats | None = None
    ) -> FeatureWeights:  # fmt: skip
        """Learn the weight of each feature from training rows; weight is that of each row, or of each row and class."""
        n = len(rows) if weight is None else arithmetic.total(weight)
        computed = None if rows.computed is None else scales(rows.computed, split(self.features or ())[1])
        if p == 0:
            base = self._base(weighted_frequency(rows, weight), n)
            return FeatureWeights(base, base[None, :], computed)
        counts, several = weighted_counts(rows, y, n_classes, weight), y.ndim == 2  # labels a row
        if several or weight is not None:
            df = weighted_frequency(rows, weight)
        else:  # a row has one label; NumPy's sum over a short axis takes ten times as long
            df = reduce(np.add, counts.T)
        totals, n_every = arithmetic.total(counts, axis=0), float(arithmetic.total(df))
        gain = np.empty((1 if n_classes == 2 and not several else n_classes, rows.n_columns), dtype=np.float32)
        for k in range(0, rows.n_columns, CHUNK):  # in pieces that stay in the cache
            part = counts[k : k + CHUNK]
            every = df[k : k + CHUNK] if several else None
            ratio = log_count_ratio(part, totals=totals, n_features=rows.n_columns, every=every, n_every=n_every)
            ratio = arithmetic.power(ratio, p)
            ratio *= self._base(df[k : k + CHUNK], n)[:, None]
            gain[:, k : k + CHUNK] = ratio.T
        return FeatureWeights(gain[0] if len(gain) == 1 else gain.max(axis=0), gain, computed)

    def _base(self, df: Array, n_rows: float) -> Floats32:
        return (idf(df, n_rows) if self.idf else np.ones(len(df))).astype(np.float32)


def weighted_frequency(rows: SparseCounts, weight: Floats | None) -> Array:
    """Return in how many documents each feature is, or what they weigh together."""
    if weight is None:
        return rows.document_frequency()
    each = weight if weight.ndim == 1 else arithmetic.total(weight, axis=1)
    return rows.class_counts(np.zeros(len(rows), np.int32), 1, each)[:, 0]


def weighted_counts(rows: SparseCounts, y: Array, n_classes: int, weight: Floats | None) -> Array:
    """Return in how many documents of each class each feature is, or what they weigh together: of soft labels, as each class."""
    if weight is None or weight.ndim == 1:
        return rows.class_counts(y, n_classes, weight)
    alone = np.zeros(len(rows), np.int32)
    return np.concatenate([rows.class_counts(alone, 1, np.ascontiguousarray(column)) for column in weight.T], axis=1)


def default_blocks(pieces: list[TextBuffer]) -> AnyBlocks:
    """Words 1-3 and characters 2-6 where documents are short on average; words 1-2 and pairs with a gap where they are long.

    Where most texts have no blanks between words, characters 1-5 across words: nothing else is sure to be a word.

    >>> from linnet.features.buffers import text_buffers
    >>> default_blocks(text_buffers(["这部电影很好看", "一点也不好看", "so so"]))
    (Chars(low=1, high=5, tokens='whitespace', case='fold', weight=1.0),)
    """
    size = sum(int(p.offsets[-1] - p.offsets[0]) for p in pieces)
    return blocks_for(sum(map(len, pieces)), size, unspaced=unspaced(pieces))


def blocks_for(n: int, size: int, *, unspaced: bool) -> AnyBlocks:
    """Return the blocks for so many texts of so many bytes."""
    if unspaced:
        return (Chars(1, 5, tokens="whitespace"),)
    if size < SHORT_DOCUMENT * max(n, 1):
        return Words(1, 3) + Chars(2, 6, weight=CHARS_WEIGHT)
    return Words(1, 2) + Skips(1, 2, weight=SKIPS_WEIGHT)


def other_widths(features: AnyBlocks, size: int = 0) -> tuple[AnyBlocks, ...]:
    """Return what else is worth trying where the default is these blocks: none but the default has others.

    size is that of all texts, in bytes. Characters take time in long documents: there they come first where texts are few, second
    where they are more, and are not tried where they are many.

    >>> from linnet.features.blocks import describe
    >>> [describe(blocks) for blocks in other_widths(blocks_for(1, 100, unspaced=False))]
    ['words:1-2+chars:2-5']
    """
    narrow: AnyBlocks = Words(1, 2) + Chars(2, 5)
    short, long = (blocks_for(1, length, unspaced=False) for length in (0, SHORT_DOCUMENT))
    if features == short or (features == long and size < LITTLE_TEXT):
        return (narrow,)
    return (features, narrow) if features == long and size < MUCH_TEXT else ()


def with_across(features: AnyBlocks) -> AnyBlocks:
    """Return features with characters across words in place of those inside words, where there are such.

    >>> list(map(str, with_across(Words(1, 2) + Chars(2, 5))))
    ['words:1-2', 'across:2-6*0.8']
    """
    return tuple(Across(2, 6, weight=CHARS_WEIGHT) if isinstance(block, Chars) else block for block in features)


def with_places(features: AnyBlocks) -> AnyBlocks:
    """Return features with two blocks more: words with the part of the text they are in, and pairs that leave one out."""
    extra = (Position(1, 1, weight=PLACES_WEIGHT), Skips(1, 1, weight=PLACES_WEIGHT))
    return (*features, *(block for block in extra if block not in features))


VARIATIONS = (with_across, with_places)
"""What is tried on the features that won, where documents are short and rows are few; the second on what the first left."""


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


def mostly_unspaced(counts: Ints) -> bool:
    """Whether most texts need no blanks, by how many of them `scripts_of` gave 0, 1 and 2."""
    return bool(2 * counts[2] > counts[1] + counts[2])
