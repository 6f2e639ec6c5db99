"""Counting once for many parts: the parts are those that counting them alone gives, and so are the models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet import TextClassifier
from linnet.data.splitting import fold_indices
from linnet.datasets import load
from linnet.features.blocks import parse as blocks
from linnet.features.buffers import text_buffers
from linnet.features.counting import SparseCounts
from linnet.features.derived import Shared, Texts
from linnet.models import MODELS
from reference import text as reference

TRAIN = load("reviews")[0]
CODES = np.array([label == "positive" for label in TRAIN.label_list()]).astype(int)


@st.composite
def rows_and_some(draw):
    """Counted rows of two blocks, and numbers of some documents, in any order, some twice."""
    segments = draw(st.lists(st.lists(st.integers(0, 12), unique=True, max_size=6), min_size=2, max_size=16))
    segments = segments[: len(segments) // 2 * 2]
    indptr = np.cumsum([0, *map(len, segments)]).astype(np.int64)
    indices = np.array([c for s in segments for c in s], np.int32)
    counts = draw(st.sampled_from([np.zeros(0, np.int32), np.arange(1, len(indices) + 1, dtype=np.int32)]))
    some = draw(st.lists(st.integers(0, len(segments) // 2 - 1), max_size=8))
    return SparseCounts(indptr, indices, counts, 2, 13), np.array(some, np.int64)


@given(rows_and_some())
def test_take_is_its_reference(given):
    rows, some = given
    segments = [2 * int(r) + block for r in some for block in (0, 1)]
    begin = [int(rows.indptr[s]) for s in segments]
    lengths = [int(rows.indptr[s + 1] - rows.indptr[s]) for s in segments]
    fresh, columns = reference.take(rows.indices.tolist(), begin, lengths)
    taken = rows.take(some)
    numbered, found = rows.take_seen(some)
    assert found.tolist() == columns
    assert numbered.n_columns == len(columns)
    for k, (first, n) in enumerate(zip(begin, lengths, strict=True)):
        a, b = taken.indptr[k], taken.indptr[k + 1]
        assert taken.indices[a:b].tolist() == rows.indices[first : first + n].tolist()
        assert numbered.indices[a:b].tolist() == fresh[k]
        if len(rows.counts):
            assert (
                taken.counts[a:b].tolist() == numbered.counts[a:b].tolist() == rows.counts[first : first + n].tolist()
            )
    assert len(taken) == len(numbered) == len(some)
    assert taken.n_columns == 13


def test_take_refuses_rows_that_are_not_there():
    rows = Shared(["a", "b"]).part(np.array([0, 1])).count(blocks("words:1")).rows
    with pytest.raises(IndexError):
        rows.take(np.array([2]))


@pytest.mark.parametrize(
    "given",
    [
        {"model": "svm"},
        {"model": "nb", "tf": "count", "features": "words:1-2"},
        {"model": "logistic", "features": "words:1", "hash_bits": 10},
        {"model": "svm", "features": "words:1-2+chars:2-3", "max_features": 300, "min_df": 2},
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_shared_counting_gives_the_same_model_to_the_byte(given, threads, tmp_path):
    shared = Shared(TRAIN.text)
    shared.counted(blocks("words:1-2"), None, False, threads)  # counted before, without counts
    clf = TextClassifier(**given, n_jobs=threads)
    for k, (fit_on, _) in enumerate(fold_indices(CODES, 3, 2)):
        data = TRAIN.take(fit_on)
        clf.fit(data).save(tmp_path / f"alone{k}")
        clf.fit(data, part=shared.part(fit_on)).save(tmp_path / f"shared{k}")
        assert (tmp_path / f"alone{k}").read_bytes() == (tmp_path / f"shared{k}").read_bytes()


def test_shared_counting_of_odd_texts():
    """Empty rows, rows with no feature of the others, rows in any order."""
    texts = ["", "a b a", "ß ẞ", "b", "", "a\u00df as", "c c c"]
    shared = Shared(texts)
    for rows in ([0], [6, 1, 3], [2, 5], [4, 0], list(range(7))):
        for counting in (False, True):
            found = shared.part(np.array(rows)).count(blocks("words:1-2+chars:1-2"), counting=counting)
            alone = Texts(text_buffers([texts[k] for k in rows])).count(
                blocks("words:1-2+chars:1-2"), counting=counting
            )
            assert np.array_equal(found.rows.indices, alone.rows.indices)
            assert np.array_equal(found.rows.indptr, alone.rows.indptr)
            assert np.array_equal(found.rows.counts, alone.rows.counts)
            assert np.array_equal(found.fingerprints, alone.fingerprints)
            assert found.rows.n_columns == alone.rows.n_columns


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_the_same_with_shared_counts(name, tmp_path):
    shared, rows = Shared(TRAIN.text), np.arange(0, len(TRAIN), 3)
    clf = TextClassifier(name)
    clf.fit(TRAIN.take(rows)).save(tmp_path / "alone")
    clf.fit(TRAIN.take(rows), part=shared.part(rows)).save(tmp_path / "shared")
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "shared").read_bytes()
