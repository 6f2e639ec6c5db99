"""On real data the matrix is scikit-learn's: the same columns, the same counts, tf-idf to 12 digits."""

from __future__ import annotations

import csv
import functools
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from linnet.features import Vectorizer

DATA = Path(os.environ.get("LINNET_DATA", "/nowhere"))
FILES = {
    "imdb": "imdb/train.parquet",
    "20newsgroups": "20newsgroups/train.parquet",
    "rt_polarity": "rt_polarity/all.csv",
    "ag_news": "ag_news/train_subset.csv",
    "lid_lingua75": "lid_lingua75/all.csv",
}
COUNTS = {
    "unigrams": {"ngram_range": (1, 1)},
    "bigrams": {"ngram_range": (1, 2)},
    "2-3": {"ngram_range": (2, 3)},
    "chars": {"ngram_range": (2, 4), "analyzer": "char_wb"},
    "binary": {"ngram_range": (1, 2), "binary": True},
    "pruned": {"ngram_range": (1, 2), "min_df": 3, "max_df": 0.5},
    "fractions": {"ngram_range": (1, 1), "min_df": 0.002, "max_df": 500},
    "cased": {"ngram_range": (1, 1), "lowercase": False},
}
TFIDF = {
    "tf-idf": {"ngram_range": (1, 2), "min_df": 2},
    "sublinear": {"ngram_range": (1, 1), "sublinear_tf": True},
    "sublinear chars": {"ngram_range": (3, 4), "analyzer": "char_wb", "sublinear_tf": True},
    "no norm": {"ngram_range": (1, 1), "norm": None},
    "no idf": {"ngram_range": (1, 1), "use_idf": False},
    "binary": {"ngram_range": (1, 2), "binary": True},
}


@functools.cache
def texts_of(name: str) -> tuple[list[str], list[str]]:
    """Texts to fit on and others: of IMDB, which is sorted, from both ends."""
    path = DATA / FILES[name]
    if not path.exists():
        pytest.skip(f"LINNET_DATA/{FILES[name]} is not there")
    if path.suffix == ".parquet":
        texts = pq.read_table(path).column("text").to_pylist()
    else:
        csv.field_size_limit(sys.maxsize)
        with path.open(newline="", encoding="utf-8") as file:
            texts = [row["text"] for row in csv.DictReader(file)]
    step = max(1, len(texts) // 6000)
    return (
        (texts[:3000] + texts[-3000:], texts[3000:3500])
        if name == "imdb"
        else (texts[::step][:5500], texts[1::step][-500:])
    )


def check(name: str, theirs, ours: Vectorizer, rtol: float) -> None:
    fit_on, others = texts_of(name)
    for step in ("fit_transform", "transform"):
        wanted = getattr(theirs, step)(fit_on if step == "fit_transform" else others)
        got = getattr(ours, step)(fit_on if step == "fit_transform" else others)
        wanted.sort_indices()
        assert got.shape == wanted.shape
        assert got.dtype == wanted.dtype
        assert np.array_equal(got.indptr, wanted.indptr)
        assert np.array_equal(got.indices, wanted.indices)
        if rtol:
            np.testing.assert_allclose(got.data, wanted.data, rtol=rtol)
        else:
            assert np.array_equal(got.data, wanted.data)
    names, wanted_names = ours.get_feature_names_out(), theirs.get_feature_names_out()
    assert names.dtype == wanted_names.dtype
    assert np.array_equal(names, wanted_names)


QUICK = [("rt_polarity", s) for s in COUNTS] + [("lid_lingua75", "unigrams"), ("lid_lingua75", "chars")]
SLOW = [(n, s) for n in FILES for s in COUNTS if (n, s) not in QUICK]


@pytest.mark.parametrize(("name", "setting"), QUICK + [pytest.param(*p, marks=pytest.mark.slow) for p in SLOW])
def test_counts(name: str, setting: str) -> None:
    check(name, CountVectorizer(**COUNTS[setting]), Vectorizer.like_sklearn(**COUNTS[setting]), 0)


@pytest.mark.parametrize(
    "name", ["rt_polarity", *(pytest.param(n, marks=pytest.mark.slow) for n in FILES if n != "rt_polarity")]
)
@pytest.mark.parametrize("setting", TFIDF)
def test_tf_idf(name: str, setting: str) -> None:
    theirs = TfidfVectorizer(**TFIDF[setting])
    ours = Vectorizer.like_sklearn(**{"use_idf": True, "norm": "l2", **TFIDF[setting]})
    check(name, theirs, ours, 1e-12)
    if theirs.use_idf:
        np.testing.assert_allclose(ours.weight_, theirs.idf_, rtol=1e-15)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("name", ["rt_polarity", pytest.param("imdb", marks=pytest.mark.slow)])
def test_max_features(name: str, binary: bool) -> None:
    """Of equally frequent features scikit-learn keeps any (its sort is not stable), we keep the first by name."""
    fit_on, others = texts_of(name)
    settings = {"ngram_range": (1, 2), "binary": binary, "min_df": 2}
    theirs, ours = (
        CountVectorizer(**settings, max_features=5000),
        Vectorizer.like_sklearn(**settings, max_features=5000),
    )
    X, Y = theirs.fit_transform(fit_on), ours.fit_transform(fit_on)
    assert X.shape == Y.shape == (len(fit_on), 5000)
    whole = CountVectorizer(**settings)
    total = np.asarray(whole.fit_transform(fit_on).sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-total, kind="stable")[:5000])
    names = whole.get_feature_names_out()
    assert np.array_equal(ours.get_feature_names_out(), names[kept])
    cut = total[kept].min()
    differing = set(theirs.get_feature_names_out()) ^ set(ours.get_feature_names_out())
    assert all(total[whole.vocabulary_[n]] == cut for n in differing)
    assert abs(Y - whole.transform(fit_on)[:, kept]).nnz == 0
    assert abs(ours.transform(others) - whole.transform(others)[:, kept]).nnz == 0
