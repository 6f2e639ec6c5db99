"""Texts to a sparse matrix, in the scikit-learn contract: what CountVectorizer and TfidfVectorizer do, and quicker.

It counts n-grams (features/counting.py), drops the rare and the common, puts columns in order, and weighs: tf, idf, the
supervised |log-count ratio|, L2 norm per block. The fitted state is fingerprints, not strings: names are bytes that
become strings when they are asked for. It imports neither scikit-learn nor, before a matrix is made, scipy.

Explicit quadratic features: every square and every product of two features, as columns of their own.

A line over [x1, x2, x1^2, x1 x2, x2^2] is a curve over [x1, x2]: with them a linear model solves exclusive-or, and its
weights still have names. d features become d + d (d + 1) / 2, so they are for few features, or for sparse rows: a row
with k features not zero has k + k (k + 1) / 2 columns not zero.

The kernel (x.z + c)^2 is the inner product of such rows, up to factors: ``constant=c`` gives exactly those,
c, sqrt(2 c) x_i, x_i^2 and sqrt(2) x_i x_j, so that what a kernel does can be checked, and done with named weights.

Reference: Hastie, Tibshirani, Friedman, The Elements of Statistical Learning, section 5.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.array_types import Floats, Hashes, Ints32
from linnet.errors import DataError, check_choice, not_fitted, require
from linnet.estimator import Estimator, one_of, sklearn_tags
from linnet.features.blocks import Blocks, Chars, Words, counted_only, describe
from linnet.features.buffers import TextBuffer, lowered, text_buffers
from linnet.features.counting import TF, Names, Norm, SparseCounts, count, count_known, hashing, vocabulary
from linnet.features.plan import idf, kept_columns, log_count_ratio

ORDERS = ("name", "seen")
OUTPUTS = ("default", "pandas", "polars")
NORMS: dict[str | None, Norm] = {None: None, "l2": "l2", "l1": "mean"}  # the mean of values that are not negative
ANALYZER = ("encoding", "decode_error", "strip_accents", "preprocessor", "tokenizer", "stop_words")
TOKEN_PATTERN = r"(?u)\b\w\w+\b"  # scikit-learn's
BLANK, EMPTY = "\x1b", "\x01"  # stand for a blank inside a token, and for a token of nothing; both sort where those do


@dataclass(eq=False, repr=False)
class Vectorizer(Estimator):
    """Turn texts into a sparse matrix, one row a text, one column a feature.

    features: blocks as text or values, for example ``"words:1-2+chars:2-5"``. tf: "presence" (0 or 1), "count" or
    "sublinear" (1 + ln count). idf: weigh by rarity. ratio: the power p of the supervised weight |log-count ratio|^p;
    fit then needs labels, and of several classes the largest ratio counts. norm: "l2" makes each block of a row 1 long,
    "l1" makes it add up to 1.
    min_df, max_df: drop features that fewer or more documents hold (int: documents, float: a fraction of them).
    max_features: keep the most frequent, ties by name. vocabulary: the features to count, in the order of the columns, or
    {name: column}. tokenizer: a function from a text to its tokens, which are then what features count. hash_bits: 2**bits
    columns by hashing, no vocabulary.
    order: columns by block and "name", or as first "seen". n_jobs: None for all cores; never changes the result.
    dtype: by default int64 for plain presence and counts, else float64.

    >>> v = Vectorizer("words:1", tf="count")
    >>> X = v.fit_transform(["the blue dog ate a blue biscuit", "a dog"])
    >>> v.get_feature_names_out().tolist()
    ['a', 'ate', 'biscuit', 'blue', 'dog', 'the']
    >>> X.toarray().tolist()
    [[1, 1, 1, 2, 1, 1], [1, 0, 0, 0, 1, 0]]
    """

    features: Any = "words:1-2"
    _: KW_ONLY
    tf: str = "presence"
    idf: bool = False
    ratio: float | None = None
    norm: str | None = None
    min_df: float = 1
    max_df: float = 1.0
    max_features: int | None = None
    vocabulary: Any = None
    tokenizer: Callable[[str], Iterable[str]] | None = None
    hash_bits: int | None = None
    order: str = "name"
    n_jobs: int | None = None
    dtype: Any = None

    @classmethod
    def like_sklearn(
        cls,
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Any = "word",
        *,
        lowercase: bool = True,
        binary: bool = False,
        sublinear_tf: bool = False,
        use_idf: bool = False,
        smooth_idf: bool = True,
        norm: str | None = None,
        input: str = "content",
        token_pattern: str | None = TOKEN_PATTERN,
        **settings: Any,
    ) -> Vectorizer:
        """Return the vectoriser that gives scikit-learn's matrix: CountVectorizer's, or with use_idf and norm Tfidf's.

        Every argument of the two is taken. Words and characters inside words are counted by the kernels; functions, stop
        words, another pattern and characters across words by scikit-learn's own analyzer, in Python.

        >>> Vectorizer.like_sklearn((1, 2), use_idf=True, norm="l2")
        Vectorizer(features='words:1-2:pattern:lower', tf='count', idf=True, norm='l2')
        """
        if not smooth_idf:
            raise DataError("smooth_idf=False is not here: idf is ln((1 + n) / (1 + df)) + 1, which is smooth_idf=True")
        if input != "content":
            raise DataError(f"input={input!r} is not here: read files with linnet.read and pass the texts")
        low, high = ngram_range
        case = "lower" if lowercase else "keep"
        tf = "presence" if binary else "sublinear" if sublinear_tf else "count"
        own = {name: settings.pop(name) for name in ANALYZER if name in settings}
        plain = all(own.get(name) is None for name in ANALYZER[2:]) and token_pattern == TOKEN_PATTERN
        if analyzer in ("word", "char_wb") and plain:
            block = Words(low, high, "pattern", case) if analyzer == "word" else Chars(low, high, "whitespace", case)
            return cls(str(block), tf=tf, idf=use_idf, norm=norm, **settings)
        theirs = require("sklearn.feature_extraction.text", "an analyzer of scikit-learn", "sklearn").CountVectorizer(
            ngram_range=ngram_range, analyzer=analyzer, lowercase=lowercase, token_pattern=token_pattern, **own
        )  # fmt: skip
        settings = {"tf": tf, "idf": use_idf, "norm": norm, "tokenizer": theirs.build_analyzer(), **settings}
        return cls("words:1:whitespace:keep", **settings)

    # ---- fitting

    def fit(self, texts: Any, y: Any = None) -> Vectorizer:
        """Learn the vocabulary and the weights; returns self."""
        self._fit(texts, y)
        return self

    def fit_transform(self, texts: Any, y: Any = None) -> Any:
        """Learn, and return the matrix of the same texts, equal to what transform would give."""
        return self._shown(self._matrix(self._fit(texts, y)))

    def _fit(self, texts: Any, y: Any) -> SparseCounts:
        self._check()
        blocks = self._blocks()
        pieces = self._pieces(texts, blocks)
        n_documents = sum(map(len, pieces))
        labels = None if self.ratio is None else _class_numbers(y, n_documents)
        rows = None
        if self.hash_bits is not None:
            self.fingerprints_, self.names_ = np.zeros(0, np.uint64), Names.of([])
        elif self.vocabulary is not None:
            self.fingerprints_, self.names_ = self._given(blocks)
        else:
            rows, self.fingerprints_, self.names_ = self._count(pieces, blocks)
        self.lookup_ = vocabulary(self.fingerprints_)
        rows = self._known(pieces, blocks) if rows is None else rows
        self.document_frequency_ = rows.document_frequency()
        self.n_documents_ = n_documents
        self.weight_ = self._weights(rows, labels)
        return rows

    def _count(self, pieces: list[TextBuffer], blocks: Blocks) -> tuple[SparseCounts, Hashes, Names]:
        counted = count(pieces, blocks, counting=self.tf != "presence", threads=self.n_jobs)
        rows = counted.rows
        if not rows.n_columns:
            raise DataError(f"there is no feature in {len(rows):,} texts: they are empty, or hold nothing to count")

        names = partial(counted.names, pieces, blocks)
        kept = kept_columns(rows, min_df=self.min_df, max_df=self.max_df, max_features=self.max_features, names=names)
        if self.order == "name":
            kept = kept[names(kept).order()]
        counted = counted.keep(kept)
        return counted.rows, counted.fingerprints, counted.names(pieces, blocks)

    def _given(self, blocks: Blocks) -> tuple[Hashes, Names]:
        """Return the fingerprints and names of the vocabulary that was given: each name is a text that holds itself."""
        given = self.vocabulary
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise DataError(f"vocabulary must be a list of names, or a dict of name: column, got {given!r}")
        wanted = sorted(given, key=given.__getitem__) if isinstance(given, Mapping) else list(given)
        if isinstance(given, Mapping) and sorted(given.values()) != list(range(len(given))):
            raise DataError(f"vocabulary must number its columns 0 to {len(given) - 1}, each once")
        texts = [re.sub(r"\s", BLANK, name) or EMPTY if self.tokenizer else name.strip() for name in wanted]
        return features_named(wanted, blocks, texts)

    def _weights(self, rows: SparseCounts, labels: tuple[Ints32, int] | None) -> Floats | None:
        """Return the weight of each column, (n_features,); None where all are one."""
        if not self.idf and labels is None:
            return None
        weight = idf(self.document_frequency_, self.n_documents_) if self.idf else np.ones(rows.n_columns)
        if labels is not None and self.ratio is not None:
            y, n_classes = labels
            counts = rows.class_counts(y, n_classes)
            known = int(np.count_nonzero(self.document_frequency_))
            largest = log_count_ratio(counts, n_features=known).max(axis=1)
            weight *= arithmetic.power(largest.astype(np.float64), self.ratio)
        return weight

    # ---- transforming

    def transform(self, texts: Any) -> Any:
        """Return the matrix of texts, a scipy CSR matrix; unknown features are left out."""
        return self._shown(self._matrix(self.rows(texts)))

    def set_output(self, *, transform: str | None = None) -> Vectorizer:
        """Choose what ``transform`` returns: "default" (a scipy CSR matrix), "pandas" (sparse columns) or "polars"."""
        if transform is not None:
            check_choice("transform", transform, OUTPUTS)
            self._output = transform
        return self

    def _shown(self, matrix: Any) -> Any:
        output = getattr(self, "_output", "default")
        if output == "default":
            return matrix
        names = self.get_feature_names_out()
        if output == "pandas":
            frame = require("pandas", "set_output(transform='pandas')", "all").DataFrame
            return frame.sparse.from_spmatrix(matrix, columns=names)
        frames = require("polars", "set_output(transform='polars')", "all")
        return frames.DataFrame(matrix.toarray(), schema=names.tolist())

    def rows(self, texts: Any) -> SparseCounts:
        """Return the counted rows of texts, unweighted and without scipy."""
        self._check()
        self._check_fitted()
        blocks = self._blocks()
        return self._known(self._pieces(texts, blocks), blocks)

    def _blocks(self) -> Blocks:
        return counted_only(self.features, "Vectorizer")

    def _known(self, pieces: list[TextBuffer], blocks: Blocks) -> SparseCounts:
        """Count the features of the vocabulary; hashed, all of them."""
        known = self.lookup_ if self.hash_bits is None else hashing(self.hash_bits)
        return count_known(pieces, blocks, *known, counting=self.tf != "presence", threads=self.n_jobs)

    def _matrix(self, rows: SparseCounts) -> Any:
        dtype = self._dtype()
        if self._plain():
            matrix = rows.to_scipy()
            matrix.data = matrix.data.astype(dtype, copy=False)
            return matrix
        learned = getattr(self, "weight_", None)  # hash mode without idf learns nothing
        weight = np.ones(rows.n_columns) if learned is None else learned
        real = np.float32 if dtype == np.float32 else np.float64
        values = rows.values(self.tf, weight.astype(real), norm=NORMS[self.norm], multiply=True)
        share = np.array([b.weight for b in self._blocks()], dtype=real)  # (n_blocks,)
        if np.any(share != 1):
            values *= np.repeat(np.tile(share, len(rows)), np.diff(rows.indptr))
        return rows.to_scipy(values)

    def _pieces(self, texts: Any, blocks: Blocks) -> list[TextBuffer]:
        """Return the texts as bytes, lowered where the case of a character depends on its neighbours."""
        cases = {b.case for b in blocks}
        pieces = text_buffers(texts)
        if self.tokenizer is not None:
            rows = [self.tokenizer(text) for piece in pieces for text in map(piece.text, range(len(piece)))]
            return text_buffers([" ".join(re.sub(r"\s", BLANK, token) or EMPTY for token in row) for row in rows])
        return [lowered(p) for p in pieces] if "lower" in cases and "keep" not in cases else pieces

    # ---- names

    @property
    def n_features(self) -> int:
        """The number of columns."""
        if self.hash_bits is not None:
            return 1 << int(self.hash_bits)
        self._check_fitted()
        return len(self.fingerprints_)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each feature, by name; made when it is asked for."""
        return {name: j for j, name in enumerate(self.get_feature_names_out().tolist())}

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns; of several blocks, with the block in front: "chars__the"."""
        if self.hash_bits is not None:
            raise DataError("hash mode keeps no names; leave hash_bits out to have a vocabulary")
        self._check_fitted()
        names: Iterable[str] = self.names_
        if self.tokenizer is not None:
            names = map(_token, self.names_)
        blocks = self._blocks()
        if len(blocks) > 1:
            plain = len({b.name for b in blocks}) == len(blocks)
            labels = [b.name if plain else str(b) for b in blocks]
            names = (f"{labels[g]}__{name}" for g, name in zip(self.names_.group.tolist(), self.names_, strict=True))
        out = np.empty(self.n_features, dtype=object)
        out[:] = list(names)
        return out

    # ---- the scikit-learn contract

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fingerprints_") or (self.hash_bits is not None and not self.idf and self.ratio is None)

    def __sklearn_tags__(self) -> Any:
        required = self.ratio is not None
        return sklearn_tags("transformer", required=required, one_d_array=True, two_d_array=False, string=True)

    # ---- checks

    def _plain(self) -> bool:
        """Whether the values are whole numbers: presence or counts, with no weights."""
        weighted = self.idf or self.ratio is not None or self.norm is not None or self.tf == "sublinear"
        return not weighted and all(b.weight == 1 for b in self._blocks())

    def _dtype(self) -> Any:
        whole = self._plain()
        if self.dtype is None:
            return np.dtype(np.int64 if whole else np.float64)
        dtype = np.dtype(self.dtype)
        if dtype not in (np.float32, np.float64) and not (whole and dtype in (np.int32, np.int64)):
            kinds = "int32, int64, float32 or float64" if whole else "float32 or float64"
            raise DataError(f"dtype must be {kinds} for these weights, got {dtype}")
        return dtype

    def _check(self) -> None:
        """Refuse settings that are wrong or contradict each other."""
        one_of("tf", self.tf, TF)
        one_of("order", self.order, ORDERS)
        if self.norm not in NORMS:
            raise DataError(f"norm must be None, 'l1' or 'l2', got {self.norm!r}")
        if self.max_features is not None and self.max_features < 1:
            raise DataError(f"max_features must be 1 or more, got {self.max_features}")
        if self.hash_bits is not None:
            if not 1 <= self.hash_bits <= 30:
                raise DataError(f"hash_bits must be from 1 to 30, got {self.hash_bits}")
            if (self.min_df, self.max_df, self.max_features, self.vocabulary) != (1, 1.0, None, None):
                raise DataError(
                    "hash mode drops no features: leave out min_df, max_df, max_features and vocabulary, or hash_bits"
                )
        self._dtype()

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted("this Vectorizer is not fitted yet; call fit(texts) first")


def features_named(wanted: Sequence[str], blocks: Blocks, texts: Sequence[str] | None = None) -> tuple[Hashes, Names]:
    """Return the fingerprints and names of features by their names: each name is a text that holds itself.

    >>> from linnet.features.blocks import as_blocks
    >>> list(features_named(["dog", "red dog"], as_blocks("words:1-2"))[1])
    ['dog', 'red dog']
    """
    if len(set(wanted)) < len(wanted) or not wanted:
        raise DataError("vocabulary is empty" if not wanted else "vocabulary holds a name twice")
    pieces = text_buffers([name.strip() for name in wanted] if texts is None else list(texts))
    counted = count(pieces, blocks, threads=1)
    names = counted.names(pieces, blocks)
    column = {_token(name): k for k, name in reversed(list(enumerate(names)))}
    unknown = [name for name in wanted if name not in column]
    if unknown:
        raise DataError(f"the features {describe(blocks)} are never {unknown[0]!r}, which stands in the vocabulary")
    kept = np.array([column[name] for name in wanted])
    return counted.fingerprints[kept], names.take(kept)


def _token(name: str) -> str:
    """Return a token as the tokenizer gave it."""
    return "" if name == EMPTY else name.replace(BLANK, " ")


def _class_numbers(y: Any, n: int) -> tuple[Ints32, int]:
    if y is None:
        raise DataError("ratio weighs features by class, so fit needs labels: fit(texts, y)")
    labels = np.asarray(y.to_pylist() if hasattr(y, "to_pylist") else y)
    if labels.shape != (n,):
        raise DataError(f"{n:,} texts but labels of shape {labels.shape}: one label a text is needed")
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"ratio needs texts of two classes or more, got {classes.tolist()}")
    return numbers.astype(np.int32), len(classes)


MOST_COLUMNS = 2**31 - 1


@dataclass(eq=False, repr=False, kw_only=True)
class Quadratic(Estimator):
    """Add all squares and products: sparse rows stay sparse, dense rows dense, and columns have names.

    Parameters: ``constant`` None gives plain products, in scikit-learn's order (x0, x1, x0^2, x0 x1, x1^2). A number c
    gives the columns whose inner products are (x.z + c)^2, with the constant column last where c is above 0.

    >>> quadratic = Quadratic().fit([[2.0, 3.0]])
    >>> quadratic.get_feature_names_out().tolist()
    ['x0', 'x1', 'x0^2', 'x0 x1', 'x1^2']
    >>> quadratic.transform([[2.0, 3.0]]).tolist()
    [[2.0, 3.0, 4.0, 6.0, 9.0]]
    """

    constant: float | None = None
    n_features_in_: int = field(init=False)

    # ---- fitting and transforming

    def fit(self, X: Any, y: Any = None) -> Quadratic:
        """Note the number of features."""
        from linnet.models import inputs  # looks up the tree: rows of numbers are checked where models check them

        self._constant()
        d = inputs.checked_rows(self, X, True).n_features
        if d + d * (d + 1) // 2 + 1 > MOST_COLUMNS:
            raise DataError(f"{d:,} features have too many products; Quadratic takes up to 65,533: choose some of them")
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows with their products; sparse rows stay sparse."""
        from linnet.models import inputs

        M, d, c = inputs.checked_rows(self, X, False), self.n_features_in_, self._constant()
        sparse = require("scipy.sparse", "Quadratic", "sklearn")
        rows = sparse.csr_matrix((M.values, M.indices, M.indptr), shape=(len(M), d))
        rows.sort_indices()
        found = self._products().fit_transform(rows)
        if c is not None:
            squares = d + np.cumsum(np.arange(d, 0, -1)) - np.arange(d, 0, -1)
            product = np.where(np.isin(found.indices, squares), 1.0, np.sqrt(2.0))
            found.data *= np.where(found.indices < d, np.sqrt(2.0 * c), product).astype(found.dtype)
        if c:
            found = sparse.hstack([found, np.full((len(M), 1), c, found.dtype)], format="csr")
        return found if hasattr(X, "tocsr") else found.toarray()

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the same rows with their products."""
        return self.fit(X, y).transform(X)

    def _products(self) -> Any:
        return require("sklearn.preprocessing", "Quadratic", "sklearn").PolynomialFeatures(2, include_bias=False)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns, as scikit-learn's PolynomialFeatures writes them."""
        from linnet.models import inputs

        inputs.check_fitted(self)
        theirs = self._products().fit(np.zeros((1, self.n_features_in_)))
        if hasattr(self, "feature_names_in_"):
            theirs.feature_names_in_ = self.feature_names_in_
        names = theirs.get_feature_names_out(input_features)
        return np.array([*names, *(["1"] if self._constant() else [])], dtype=object)

    def _constant(self) -> float | None:
        if self.constant is None:
            return None
        if not isinstance(self.constant, int | float | np.number) or not 0 <= float(self.constant) < np.inf:
            raise DataError(f"constant must be None or a number from 0, got {self.constant!r}")
        return float(self.constant)

    # ---- the scikit-learn contract

    def __sklearn_tags__(self) -> Any:
        return sklearn_tags("transformer", required=False, preserves_dtype=("float64", "float32"), sparse=True)
