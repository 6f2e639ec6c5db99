"""Vectorizer: its own rules, the scikit-learn contract, and the same bytes for any number of threads."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.utils.validation import check_is_fitted

from linnet.errors import DataError, LinnetError
from linnet.features import Chars, Vectorizer, Words
from linnet.features.counting import ROOM, Names
from linnet.features.plan import idf, log_count_ratio

TEXTS = ["the blue dog ate a blue biscuit", "a dog, a dog!", "", "Don’t eat THE biscuit", "naïve Straße", "the the the"]
LABELS = ["pos", "neg", "neg", "pos", "neg", "pos"]
SETTINGS = [
    {},
    {"tf": "count"},
    {"tf": "sublinear", "norm": "l2"},
    {"features": "words:1-3+chars:2-4", "idf": True, "norm": "l2"},
    {"features": "chars:1-3", "tf": "count", "min_df": 2, "dtype": np.float32},
    {"ratio": 0.5, "idf": True, "norm": "l2", "order": "seen"},
    {"hash_bits": 6, "tf": "count", "features": "words:1-2+chars:3"},
    {"hash_bits": 10, "idf": True, "ratio": 1.0, "norm": "l2"},
    {"max_features": 7, "max_df": 0.6},
]


def same(A, B) -> bool:
    """Bit for bit the same matrix."""
    parts = ("indptr", "indices", "data")
    return (
        A.shape == B.shape
        and A.dtype == B.dtype
        and all(getattr(A, p).tobytes() == getattr(B, p).tobytes() for p in parts)
    )


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_fit_transform_is_transform_for_any_number_of_threads(settings: dict) -> None:
    texts, labels = TEXTS * 3, LABELS * 3
    first = Vectorizer(**settings, n_jobs=1)
    X = first.fit_transform(texts, labels)
    assert X.has_canonical_format
    for threads in (1, 2, 3, None):
        v = Vectorizer(**settings, n_jobs=threads)
        assert same(v.fit_transform(texts, labels), X)
        assert same(v.transform(texts), X)
        assert same(Vectorizer(**settings, n_jobs=threads).fit(texts, labels).transform(texts), X)
    assert X.shape == (len(texts), first.n_features)
    assert same(first.transform(TEXTS[:2]), X[:2])
    assert X[2].nnz == 0  # the empty text


@pytest.mark.parametrize("tf", ["presence", "count"])
def test_many_fingerprints_are_numbered_alike_by_any_number_of_threads(tf: str) -> None:
    """More than the threads hand on at a time, several times over."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{k}" for k in rng.zipf(1.3, 400) % 50_000) for _ in range(400)]
    assert 4 * ROOM < 2 * 400 * 400
    X = Vectorizer(features="words:1-2", tf=tf, order="seen", n_jobs=1).fit_transform(texts)
    for threads in (2, 3, 5):
        assert same(Vectorizer(features="words:1-2", tf=tf, order="seen", n_jobs=threads).fit_transform(texts), X)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_copies_and_pickles(settings: dict, tmp_path) -> None:
    v = Vectorizer(**settings).fit(TEXTS, LABELS)
    X = v.transform(TEXTS)
    if v.hash_bits is None:
        assert len(v.vocabulary_) == v.n_features
    joblib.dump(v, tmp_path / "v.joblib")
    for other in (copy.deepcopy(v), pickle.loads(pickle.dumps(v)), joblib.load(tmp_path / "v.joblib")):
        assert same(other.transform(TEXTS), X)
        assert repr(other) == repr(v)
        if v.hash_bits is None:
            assert other.get_feature_names_out().tolist() == v.get_feature_names_out().tolist()
    assert not clone(v).__dict__.keys() & {"fingerprints_", "weight_"}
    assert same(clone(v).fit_transform(TEXTS, LABELS), X)


def test_columns_are_in_the_order_of_names_or_of_first_sight() -> None:
    texts = ["b a", "é z", "a 中 \U0001f600 _"]
    assert Vectorizer("words:1").fit(texts).get_feature_names_out().tolist() == ["_", "a", "b", "z", "é", "中", "😀"]
    assert Vectorizer("words:1", order="seen").fit(texts).get_feature_names_out().tolist() == [
        "b",
        "a",
        "é",
        "z",
        "中",
        "😀",
        "_",
    ]
    v = Vectorizer("words:1", order="seen")
    X = v.fit_transform(texts).toarray()
    assert X[2].tolist() == [0, 1, 0, 0, 1, 1, 1]
    assert v.vocabulary_["é"] == 2


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.text(st.sampled_from("ab \x00é中😀"), max_size=24) | st.text(max_size=30), max_size=40, unique=True),
    st.data(),
)
def test_names_are_ordered_as_python_orders_them(names: list[str], data: st.DataObject) -> None:
    names = [n for n in names if n.isprintable() or "\x00" in n]
    names = [n for n in names if not any("\ud800" <= c <= "\udfff" for c in n)]
    kept = Names.of(names)
    assert list(kept) == names
    assert [names[k] for k in kept.order()] == sorted(names)
    groups = data.draw(st.lists(st.integers(0, 255), min_size=len(names), max_size=len(names)))
    grouped = Names(kept.data, kept.begin, kept.length, np.array(groups, np.uint8))
    assert grouped.order().tolist() == sorted(range(len(names)), key=lambda k: (groups[k], names[k]))


def test_several_blocks_are_a_feature_union() -> None:
    v = Vectorizer("words:1-2+chars:2-3", tf="count")
    union = FeatureUnion(
        [("words", Vectorizer("words:1-2", tf="count")), ("chars", Vectorizer("chars:2-3", tf="count"))]
    )
    assert same(v.fit_transform(TEXTS), union.fit_transform(TEXTS).tocsr())
    assert v.get_feature_names_out().tolist() == union.get_feature_names_out().tolist()
    v = Vectorizer("words:1+words:1:whitespace").fit(["a"])
    assert v.get_feature_names_out().tolist() == ["words:1__a", "words:1:whitespace__a"]


def test_each_block_is_normalised_on_its_own() -> None:
    X = Vectorizer("words:1+chars:2-3", idf=True, norm="l2").fit_transform(TEXTS).toarray()
    lengths = np.linalg.norm(X, axis=1)
    np.testing.assert_allclose(lengths[[0, 1, 3, 4, 5]], np.sqrt(2))


@pytest.mark.parametrize("norm", [None, "l2"])
def test_a_block_counts_as_much_as_its_weight(norm: str | None) -> None:
    plain = Vectorizer("words:1+chars:2-3", norm=norm, idf=True).fit_transform(TEXTS).toarray()
    v = Vectorizer("words:1*2+chars:2-3*0.5", norm=norm, idf=True)
    n_words = Vectorizer("words:1").fit(TEXTS).n_features
    share = np.where(np.arange(plain.shape[1]) < n_words, 2.0, 0.5)
    np.testing.assert_allclose(v.fit_transform(TEXTS).toarray(), plain * share)
    assert Vectorizer("words:1*2").fit_transform(["a"]).toarray().tolist() == [[2.0]]


def test_presence_and_count_vectors_of_the_notes() -> None:
    words = ["blue", "red", "dog", "cat", "biscuit", "apple"]
    fit_on = [*TEXTS[:1], "red cat apple"]
    for tf, wanted in (("presence", [1, 0, 1, 0, 1, 0]), ("count", [2, 0, 1, 0, 1, 0])):
        v = Vectorizer("words:1", tf=tf).fit(fit_on)
        X = v.transform(TEXTS[:1])
        assert X.dtype == np.int64
        assert X.toarray()[0, [v.vocabulary_[w] for w in words]].tolist() == wanted


def test_the_ratio_weighs_columns() -> None:
    texts, y = ["a b", "a b", "a c", "b d"], np.array([1, 1, 0, 0])
    v = Vectorizer("words:1", ratio=0.5, idf=True).fit(texts, y)
    counts = np.array([[1, 2], [1, 2], [1, 0], [1, 0]])  # a, b, c, d
    wanted = idf(counts.sum(axis=1), 4) * log_count_ratio(counts)[:, 0].astype(float) ** 0.5
    np.testing.assert_allclose(v.weight_, wanted)
    np.testing.assert_allclose(v.transform(["d a"]).toarray()[0], wanted * [1, 0, 0, 1])
    three = Vectorizer("words:1", ratio=1.0).fit(texts, ["x", "y", "z", "x"])
    counts = np.array([[1, 1, 1], [2, 1, 0], [0, 0, 1], [1, 0, 0]])
    np.testing.assert_allclose(three.weight_, log_count_ratio(counts).max(axis=1))


def test_hash_mode_needs_no_fit_and_keeps_every_count() -> None:
    v = Vectorizer("words:1", tf="count", hash_bits=8)
    X = v.transform(TEXTS)
    assert X.shape == (len(TEXTS), 256)
    assert (
        X.sum(axis=1).ravel().tolist()
        == Vectorizer("words:1", tf="count").fit_transform(TEXTS).sum(axis=1).ravel().tolist()
    )
    assert same(v.fit_transform(TEXTS), X)
    crowded = Vectorizer("words:1+chars:2", tf="count", hash_bits=1).fit_transform(TEXTS)
    assert crowded.has_canonical_format
    assert crowded.shape == (6, 2)
    with pytest.raises(DataError, match="hash mode keeps no names"):
        v.get_feature_names_out()
    with pytest.raises(DataError, match="hash mode drops no features"):
        Vectorizer(hash_bits=8, min_df=2).fit(TEXTS)
    with pytest.raises(DataError, match="hash_bits must be from 1 to 30, got 40"):
        Vectorizer(hash_bits=40).transform(TEXTS)


def test_texts_may_come_in_any_column() -> None:
    X = Vectorizer(tf="count").fit_transform(TEXTS)
    chunks = pa.chunked_array([TEXTS[:2], [], TEXTS[2:]])
    columns = [
        tuple(TEXTS), iter(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object), pd.Series(TEXTS), pl.Series(TEXTS),
        pd.Series(TEXTS, dtype="category"), pa.array(TEXTS), pa.array(TEXTS, pa.large_string()), chunks,
        pa.array(TEXTS, pa.string_view()), pa.array(["x", *TEXTS, "y"])[1:-1], pa.array(TEXTS).dictionary_encode(),
        pa.array([t or None for t in TEXTS]),
    ]  # fmt: skip
    for column in columns:
        assert same(Vectorizer(tf="count").fit_transform(column), X)
    v = Vectorizer(tf="count", features="words:1-2+chars:2-4").fit(chunks)
    assert (
        v.get_feature_names_out().tolist()
        == Vectorizer("words:1-2+chars:2-4").fit(TEXTS).get_feature_names_out().tolist()
    )


def test_lone_surrogates_and_broken_bytes_do_no_harm() -> None:
    assert Vectorizer("words:1").fit(["a \ud800 b"]).get_feature_names_out().tolist() == ["a", "b", "\ufffd"]
    broken = pa.array([b"ab \xff cd\xe2\x82", b"\x00"], pa.binary()).view(pa.string())
    assert Vectorizer("words:1").fit(broken).get_feature_names_out().tolist() == ["ab", "cd", "\ufffd", "\ufffd\ufffd"]


@pytest.mark.parametrize(
    ("settings", "texts", "match"),
    [
        ({}, "one text", r"got one string; put it in a list: \[text\]"),
        ({}, ["a", None, "b"], "text number 2 is None, not a string"),
        ({}, ["a", 3.5], "text number 2 is 3.5"),
        ({}, 17, "a list or a column of texts, got 17"),
        ({}, [], "no feature in 0 texts"),
        ({}, ["", " "], "no feature in 2 texts"),
        ({"min_df": 3}, ["a b", "c d"], "max_df=1.0 is fewer documents than min_df=3: 2 of 2"),
        ({"min_df": 2}, ["a b", "c d"], r"none of 6 is in 2 to 2 of 2 documents; lower min_df=2"),
        ({"max_df": 0.4}, ["a", "a", "a"], "none of 1 is in 1 to 1.2 of 3 documents; .* raise max_df=0.4"),
        ({"min_df": 2, "max_df": 1}, ["a", "a"], "max_df=1 is fewer documents than min_df=2"),
        ({"min_df": "2"}, ["a"], "min_df must be a number of documents"),
        ({"max_df": 1.5}, ["a"], "for a number of documents give an int"),
        ({"tf": "idf"}, ["a"], "unknown tf 'idf'; choose one of: presence, count, sublinear"),
        ({"norm": "max"}, ["a"], "norm must be None, 'l1' or 'l2', got 'max'"),
        ({"order": "names"}, ["a"], r"unknown order 'names'.*did you mean 'name'"),
        ({"features": "word:1"}, ["a"], "did you mean 'words'"),
        ({"max_features": 0}, ["a"], "max_features must be 1 or more, got 0"),
        ({"idf": True, "dtype": np.int64}, ["a"], "dtype must be float32 or float64 for these weights, got int64"),
        ({"ratio": 1.0}, ["a", "b"], r"fit needs labels: fit\(texts, y\)"),
        ({"n_jobs": 0}, ["a"], "threads must be 1 or more"),
    ],
)  # fmt: skip
def test_errors_say_what_was_got(settings: dict, texts, match: str) -> None:
    with pytest.raises(LinnetError, match=match):
        Vectorizer(**settings).fit(texts)


def test_errors_about_labels() -> None:
    with pytest.raises(DataError, match=r"2 texts but labels of shape \(1,\)"):
        Vectorizer(ratio=1.0).fit(["a", "b"], [1])
    with pytest.raises(DataError, match=r"two classes or more, got \['x'\]"):
        Vectorizer(ratio=1.0).fit(["a", "b"], ["x", "x"])


def test_not_fitted() -> None:
    v = Vectorizer()
    for use in (lambda: v.transform(["a"]), v.get_feature_names_out, lambda: v.n_features, lambda: v.vocabulary_):
        with pytest.raises(LinnetError, match="not fitted yet"):
            use()
        with pytest.raises(NotFittedError):
            use()
    with pytest.raises(NotFittedError):
        check_is_fitted(v)
    with pytest.raises(LinnetError):
        Vectorizer(hash_bits=4, idf=True).transform(["a"])
    check_is_fitted(v.fit(["a"]))


def test_settings() -> None:
    v = Vectorizer("words:1", min_df=2)
    assert clone(v).get_params() == v.get_params()
    blocks = Words(1, 2) + Chars(2, 3)
    assert clone(Vectorizer(blocks)).features == blocks
    assert same(Vectorizer(blocks).fit_transform(TEXTS), Vectorizer("words:1-2+chars:2-3").fit_transform(TEXTS))
    assert repr(v) == "Vectorizer(features='words:1', min_df=2)"
    assert repr(v.set_params(min_df=1, tf="count")) == "Vectorizer(features='words:1', tf='count')"
    with pytest.raises(ValueError, match=r"unknown setting of Vectorizer 'min_dff'.*did you mean 'min_df'"):
        v.set_params(min_dff=2)


def test_in_a_pipeline_and_a_grid() -> None:
    texts = ["good film", "a good one", "good good", "bad film", "a bad one", "bad bad"] * 3
    y = np.array([1, 1, 1, 0, 0, 0] * 3)
    pipe = make_pipeline(Vectorizer("words:1"), LogisticRegression())
    assert pipe.fit(texts, y).score(texts, y) == 1.0
    assert pipe[:-1].get_feature_names_out().tolist() == ["a", "bad", "film", "good", "one"]
    grid = {
        "vectorizer__features": ["words:1", "chars:2-3"],
        "vectorizer__ratio": [None, 0.5],
        "vectorizer__norm": [None, "l2"],
    }
    search = GridSearchCV(pipe, grid, cv=3, n_jobs=2).fit(texts, y)
    assert search.best_score_ == 1.0
    assert len(search.cv_results_["params"]) == 8
    table = pd.DataFrame({"title": texts, "size": range(len(texts))})
    columns = ColumnTransformer([("t", Vectorizer("words:1"), "title"), ("s", "passthrough", ["size"])])
    assert columns.fit_transform(table).shape == (18, 6)
    assert columns.get_feature_names_out().tolist()[:2] == ["t__a", "t__bad"]


def test_a_second_fit_forgets_the_first() -> None:
    v = Vectorizer("words:1").fit(["a b"])
    assert v.vocabulary_ == {"a": 0, "b": 1}
    assert v.fit(["c"]).vocabulary_ == {"c": 0}
    assert v.transform(["a c"]).toarray().tolist() == [[1]]


def test_max_features_keeps_the_most_frequent_and_of_equals_the_first_by_name() -> None:
    texts = ["d d d", "c b a", "c x"]
    for order in ("name", "seen"):
        v = Vectorizer("words:1", tf="count", max_features=3, order=order).fit(texts)
        assert sorted(v.vocabulary_) == ["a", "c", "d"]
    # presence counts documents, as CountVectorizer(binary=True) does
    assert sorted(Vectorizer("words:1", max_features=2).fit(texts).vocabulary_) == ["a", "c"]


odd_texts = st.lists(
    st.text(
        st.sampled_from("aAbB1_ .,'’\n\x1c\u00a0éÉßΣσςİıǅ中ไ한\u0301\u200d👩²½ﬁ") | st.characters(codec="utf-8"),
        max_size=25,
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None, max_examples=250)
@given(
    odd_texts,
    st.sampled_from(["word", "char_wb"]),
    st.sampled_from([(1, 1), (1, 2), (2, 3), (3, 5)]),
    st.booleans(),
    st.booleans(),
)
def test_like_sklearn_on_odd_texts(
    texts: list[str], analyzer: str, ngrams: tuple[int, int], lowercase: bool, weigh: bool
) -> None:
    settings = {"ngram_range": ngrams, "analyzer": analyzer, "lowercase": lowercase}
    theirs = TfidfVectorizer(**settings) if weigh else CountVectorizer(**settings)
    ours = Vectorizer.like_sklearn(**settings, use_idf=weigh, norm="l2" if weigh else None)
    try:
        wanted = theirs.fit_transform(texts)
    except ValueError:
        with pytest.raises(DataError, match="no feature"):
            ours.fit(texts)
        return
    got = ours.fit_transform(texts)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.vocabulary_ == theirs.vocabulary_
    np.testing.assert_allclose(got.toarray(), wanted.toarray(), rtol=1e-12)


def test_nothing_heavy_is_imported_before_a_matrix_is_made() -> None:
    code = (
        "import sys; from linnet.features.vectorizer import Vectorizer; Vectorizer().fit(['a b', 'b']).rows(['a']); "
        "print([m for m in ('pyarrow', 'scipy', 'sklearn', 'pandas') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
