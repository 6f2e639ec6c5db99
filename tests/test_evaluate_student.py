"""Student's t distribution against scipy's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from linnet.evaluate.intervals import two_sided, two_sided_quantile
from linnet.evaluate.significance import _coin_tail

freedoms = st.integers(1, 2000)


@given(st.floats(0, 1e4), freedoms)
def test_tail_is_scipys(t, freedom):
    assert two_sided(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-8, abs=1e-300)


@given(st.floats(0.01, 0.9999), freedoms)
def test_quantile_is_scipys_and_the_inverse_of_the_tail(level, freedom):
    t = two_sided_quantile(level, freedom)
    assert t == pytest.approx(stats.t.ppf(0.5 + level / 2, freedom), rel=1e-7)
    assert two_sided(t, freedom) == pytest.approx(1 - level, rel=1e-8)


def test_no_difference_and_an_infinite_one():
    assert two_sided(0.0, 5) == 1.0
    assert two_sided(math.inf, 5) == 0.0


@given(st.integers(1001, 50_000), st.floats(0, 1))
def test_tail_of_many_tosses_is_scipys(n, share):
    k = int(share * n / 2)
    assert _coin_tail(k, n) == pytest.approx(stats.binom.cdf(k, n, 0.5), rel=1e-7, abs=1e-290)
