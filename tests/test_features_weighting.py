"""idf and the log-count ratio against their formulas, scikit-learn, and Wang & Manning's binary case."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.feature_extraction.text import TfidfTransformer

from linnet.errors import DataError
from linnet.features.plan import idf, log_count_ratio

shapes = st.tuples(st.integers(1, 40), st.integers(2, 5))
counts = shapes.flatmap(lambda shape: arrays(np.int64, shape, elements=st.integers(0, 1000)))


def direct(table: np.ndarray, alpha: float) -> np.ndarray:
    """The definition, class by class."""
    out = []
    for c in range(table.shape[1]):
        p = alpha + table[:, c]
        q = alpha + table.sum(axis=1) - table[:, c]
        out.append(np.abs(np.log((p / p.sum()) / (q / q.sum()))))
    return np.stack(out, axis=1)


@pytest.mark.parametrize("smooth", [True, False])
def test_idf_is_that_of_scikit_learn(smooth: bool) -> None:
    X = np.array([[1, 0, 2], [1, 1, 0], [1, 0, 0], [3, 1, 0]])
    df = (X > 0).sum(axis=0)
    assert idf(df, len(X), smooth=smooth).tolist() == TfidfTransformer(smooth_idf=smooth).fit(X).idf_.tolist()
    assert idf(df.astype(np.int32), len(X)).dtype == np.float64


@settings(deadline=None)
@given(counts, st.floats(0.01, 10), st.data())
def test_the_ratio_is_its_formula(table: np.ndarray, alpha: float, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(table) - 1))
    last = data.draw(st.integers(first + 1, len(table)))
    wanted = direct(table, alpha)
    if table.shape[1] == 2:
        assert np.allclose(wanted[:, 0], wanted[:, 1])  # r of one class is -r of the other
        wanted = wanted[:, 1:]
    got = log_count_ratio(table, alpha)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=2e-6)
    for dtype in (np.int32, np.float32, np.float64):
        np.testing.assert_allclose(log_count_ratio(table.astype(dtype), alpha), got, rtol=1e-5, atol=2e-6)
    part = log_count_ratio(table[first:last], alpha, totals=table.sum(axis=0), n_features=len(table))
    assert np.array_equal(part, got[first:last])


def test_the_binary_ratio_of_the_paper() -> None:
    """r = log((p / |p|) / (q / |q|)), p = alpha + sum of f over positive rows, q over negative ones."""
    f = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1], [0, 1, 1]])
    y = np.array([1, 1, 0, 0, 0])
    p, q = 1 + f[y == 1].sum(axis=0), 1 + f[y == 0].sum(axis=0)
    r = np.log((p / p.sum()) / (q / q.sum()))
    table = np.stack([f[y == 0].sum(axis=0), f[y == 1].sum(axis=0)], axis=1)
    np.testing.assert_allclose(log_count_ratio(table)[:, 0], np.abs(r), rtol=1e-6)


def test_errors() -> None:
    with pytest.raises(DataError, match="two classes or more, got shape"):
        log_count_ratio(np.ones((3, 1)))
    with pytest.raises(DataError, match="alpha must be above 0"):
        log_count_ratio(np.ones((3, 2)), alpha=0)
