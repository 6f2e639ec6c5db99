"""The sketch: its error bound holds for any scores, weights and order of merging, and it stays small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.errors import LinnetError
from linnet.filter.ranking import LEVELS, Sketch, order, unorder

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
PARTS = st.lists(
    st.lists(st.tuples(st.one_of(FLOATS, st.sampled_from([0.0, -0.0, 1.0, 1e-30])), st.integers(0, 1000)), max_size=60),
    min_size=1, max_size=6,
)  # fmt: skip


def exact(scores, weights, score):
    return weights[scores >= np.float32(score)].sum() / weights.sum()


@given(st.lists(FLOATS, min_size=1, max_size=50))
def test_keys_have_the_order_of_the_scores_and_come_back(values):
    scores = np.array(values, np.float32)
    keys = order(scores)
    assert ((keys[:, None] < keys) == (scores[:, None] < scores)).all()
    assert (unorder(keys) == scores).all()
    assert keys.min() >= 0
    assert keys.max() < 1 << LEVELS


@settings(max_examples=200)
@given(PARTS, st.sampled_from([0.3, 0.1, 0.02]), st.booleans(), st.floats(0.01, 1.0))
def test_the_error_bound_holds(parts, epsilon, merge, share):
    """Against exact ranks, for scores added one part after the other or in sketches of their own."""
    total = Sketch(epsilon)
    for part in parts:
        one = Sketch(epsilon)
        into = one if merge else total
        into.add(np.array([s for s, _ in part], np.float32), np.array([w for _, w in part], np.int64))
        total = total + one if merge else total
    scores = np.array([s for part in parts for s, _ in part], np.float32)
    weights = np.array([w for part in parts for _, w in part], np.int64)
    assert total.weight == weights.sum()
    if not weights.sum():
        return
    for score in [*scores.tolist(), 0.5, -1e30, 1e30]:
        least, most = total.bounds(score)
        true = exact(scores, weights, score)
        assert least <= true + 1e-12
        assert true <= most + 1e-12
        assert most - least <= epsilon + 1e-12
    cut, estimate = total.cut(share)
    assert abs(estimate - exact(scores, weights, cut)) <= epsilon + 1e-12


def skewed(n, seed=0):
    """Scores as a model gives them: most documents very sure to be bad, few good, many ties."""
    rng = np.random.default_rng(seed)
    odds = np.where(rng.random(n) < 0.97, rng.normal(-9, 1.5, n), rng.gamma(2.0, 3.0, n)).astype(np.float32)
    odds[rng.random(n) < 0.03] = np.float32(-4.25)  # the same boilerplate again and again
    return odds


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_the_top_share_of_a_skewed_distribution(share):
    odds = skewed(400_000)
    total = Sketch()
    for part in np.array_split(odds, 37):
        one = Sketch()
        one.add(part)
        total = total + one
    cut, estimate = total.cut(share)
    kept = np.mean(odds >= cut)
    assert abs(kept - share) < 0.0015  # a third of what was promised to the user
    assert abs(kept - estimate) <= total.epsilon


def test_it_stays_small_and_keeps_heavy_scores_apart():
    total = Sketch()
    for seed in range(12):
        total.add(skewed(100_000, seed))
    assert total.nodes < 3 * 31 / total.epsilon
    least, _most = total.bounds(-4.25)
    above = total.bounds(float(np.nextafter(np.float32(-4.25), np.float32(0))))
    assert least - above[1] > 0.02  # 3 % of the weight, known to be one score


def test_arrays_and_back_and_refusals():
    sketch = Sketch(0.01)
    sketch.add(skewed(1000))
    again = Sketch.from_arrays(sketch.to_arrays())
    assert (again.weight, again.nodes, again.cut(0.1)) == (sketch.weight, sketch.nodes, sketch.cut(0.1))
    assert Sketch().cut(0.1) == (-np.inf, 0.0)
    with pytest.raises(LinnetError, match="not a number"):
        sketch.add(np.array([np.nan], np.float32))
    for call in (lambda: Sketch(0), lambda: sketch.cut(0), lambda: sketch + Sketch(0.5)):
        with pytest.raises(LinnetError):
            call()
