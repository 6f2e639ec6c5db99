"""The kernel of the feed-forward net: like the plain-Python reference, gradients like finite differences, layers like NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generated import matrices
from linnet._kernels import network
from linnet.solvers.matrix import Matrix
from linnet.solvers.network import STEPS, DenseLayers, Net, Shape, finish, scaled
from reference import network as reference
from reference.solvers import rows_of

few = settings(max_examples=60, deadline=None)
NO_MASK = np.zeros((0, 1))


def net_of(shape, n_features, rng, kind=np.float64):
    E = rng.normal(size=(n_features, shape.dim)).astype(kind)
    return Net(shape, E, rng.normal(size=shape.size))


def gradient_of(net, X, y, weight, rows, smoothing=0.0, mask=NO_MASK):
    """The whole gradient from the kernel: loss, dE for every feature, dtheta."""
    shape = net.shape
    of = network.NetGradient(
        y, weight, net.theta, n_features=X.n_features, dim=shape.dim, hidden=shape.hidden, room=X.n_features,
        smoothing=smoothing,
    )  # fmt: skip
    found = network.gradient(X.indptr, X.indices, X.values, rows, net.E, mask, of)
    full = np.zeros_like(of.d_embeddings)
    full[of.touched[:found]] = of.d_embeddings[:found]
    assert not of.d_embeddings[found:].any()
    assert sorted(of.touched[:found]) == sorted(set(X.take(rows).indices.tolist()))
    return of.loss, full, of.d_theta


def layers_of(net):
    return [(A.tolist(), a.tolist()) for A, a in net.head().layers]


def flat(layers):
    return np.concatenate([np.concatenate([np.ravel(A), a]) for A, a in layers])


@st.composite
def problems(draw, **options):
    X = draw(matrices(**options))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    shape = Shape(draw(st.integers(1, 5)), draw(st.sampled_from([0, 1, 3, 6])), draw(st.sampled_from([1, 3, 5])))
    y = rng.integers(0, max(2, shape.n_outputs), len(X)).astype(np.int32)
    net = net_of(shape, X.n_features, rng, X.values.dtype)
    mask = (rng.random((len(X), shape.width)) < 0.6) / 0.6 if draw(st.booleans()) else NO_MASK
    return X, y, rng.uniform(0.2, 3.0, len(X)), net, draw(st.sampled_from([0.0, 0.3])), mask, rng


@few
@given(problems())
def test_gradient_is_that_of_the_reference(problem):
    X, y, weight, net, smoothing, mask, rng = problem
    rows = rng.permutation(len(X)).astype(np.int32)
    loss, dE, dtheta = gradient_of(net, X, y, weight, rows, smoothing, mask)
    all_rows = rows_of(X.indptr, X.indices, X.values)
    want = reference.gradient(
        [all_rows[i] for i in rows], y[rows].tolist(), weight[rows].tolist(), net.E.tolist(), layers_of(net),
        smoothing=smoothing, masks=mask.tolist() if len(mask) else None,
    )  # fmt: skip
    np.testing.assert_allclose(loss, want[0], rtol=1e-10, atol=1e-13)  # a loss near zero is a difference of near-equals
    np.testing.assert_allclose(dE, want[1], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(dtheta, flat(want[2]), rtol=1e-9, atol=1e-10)


@few
@given(problems(), st.sampled_from(["sgd", "adagrad"]), st.integers(1, 4), st.sampled_from([0.0, 0.05, 1.0]))
def test_steps_are_those_of_the_reference(problem, step, batch, clip):
    X, y, weight, net, smoothing, mask, rng = problem
    shape, kind = net.shape, X.values.dtype
    order = rng.permutation(len(X)).astype(np.int32)
    E, layers = net.E.tolist(), layers_of(net)
    of = network.NetGradient(
        y, weight, net.theta, n_features=X.n_features, dim=shape.dim, hidden=shape.hidden, room=X.n_features,
        smoothing=smoothing,
    )  # fmt: skip
    how = network.NetSteps(of, step=STEPS[step], batch=batch, rate=0.1, share=0.5, clip=clip)
    plain_E, plain_squares, total = [0.0] * X.n_features, [0.0] * shape.size, 0.0
    for _ in range(2):
        network.descend(X.indptr, X.indices, X.values, order, net.E, mask, of, how)
        total += reference.descend(
            rows_of(X.indptr, X.indices, X.values), y.tolist(), weight.tolist(), order.tolist(), batch, E, layers,
            plain_E, plain_squares, smoothing=smoothing, step=step, rate=0.1, share=0.5,
            masks=mask.tolist() if len(mask) else None, clip=clip,
        )  # fmt: skip
        assert (of.place == -1).all()
        assert not of.d_embeddings.any()
        assert not of.d_theta.any()
    digits = {"rtol": 1e-8, "atol": 1e-8} if kind == np.float64 else {"rtol": 2e-3, "atol": 2e-3}
    np.testing.assert_allclose(of.loss, total, **digits)
    np.testing.assert_allclose(net.E, E, **digits)
    np.testing.assert_allclose(net.theta, flat(layers), **digits)
    if step == "adagrad":
        np.testing.assert_allclose(how.feature_squares, plain_E, **digits)
        np.testing.assert_allclose(how.squares, plain_squares, **digits)


@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("hidden", [0, 7])
@pytest.mark.parametrize("dropped", [False, True])
def test_gradients_are_finite_differences(n_outputs, hidden, dropped):
    """Every number of E, A, a, B and c, by central differences, to 1e-6 of the largest."""
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((9, 6)) < 0.5, rng.normal(size=(9, 6)), 0.0)
    dense[4] = 0.0
    X = Matrix.from_dense(dense)
    shape = Shape(5, hidden, n_outputs)
    net = net_of(shape, 6, rng)
    y = rng.integers(0, max(2, n_outputs), 9).astype(np.int32)
    weight, rows = rng.uniform(0.5, 2.0, 9), np.arange(9, dtype=np.int32)
    mask = (rng.random((9, shape.width)) < 0.7) / 0.7 if dropped else NO_MASK
    _, dE, dtheta = gradient_of(net, X, y, weight, rows, 0.15, mask)
    for table, found in ((net.E.reshape(-1), dE.reshape(-1)), (net.theta, dtheta)):
        want = np.empty_like(found)
        for k in range(len(table)):
            kept, losses = table[k], []
            for h in (1e-6, -1e-6):
                table[k] = kept + h
                losses.append(gradient_of(net, X, y, weight, rows, 0.15, mask)[0])
            table[k] = kept
            want[k] = (losses[0] - losses[1]) / 2e-6
        assert np.abs(found).max() > 0.1
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-6 * np.abs(found).max())


def test_scores_far_out_have_a_finite_loss_and_gradient():
    X = Matrix.from_dense(np.array([[1.0], [-1.0]]))
    for n_outputs in (1, 3):
        net = Net(
            Shape(1, 0, n_outputs), np.array([[1e6]]), np.r_[1e3 * (1.0 + np.arange(n_outputs)), np.zeros(n_outputs)]
        )
        for labels in ([0, 0], [1, 1]):
            y = np.array(labels, np.int32)
            loss, dE, dtheta = gradient_of(net, X, y, np.ones(2), np.arange(2, dtype=np.int32), 0.1)
            assert np.isfinite([loss, *dE.ravel(), *dtheta]).all()
            assert loss > 1e7


@few
@given(st.integers(0, 99), st.integers(0, 5), st.lists(st.integers(1, 6), min_size=2, max_size=4))
def test_a_head_is_its_layers(seed, n, widths):
    rng = np.random.default_rng(seed)
    layers = tuple((rng.normal(size=(a, b)), rng.normal(size=b)) for a, b in pairwise(widths))
    head = DenseLayers(layers)
    X = rng.normal(size=(n, widths[0]))
    want = X
    for k, (A, a) in enumerate(layers):
        want = want @ A + a
        want = np.maximum(want, 0) if k + 1 < len(layers) else want
    found = head.apply(X)
    np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-12)
    for i in range(n):  # alone or beside others, bit for bit
        assert head.apply(X[i : i + 1]).tobytes() == found[i : i + 1].tobytes()
        for c in range(widths[-1]):
            slope = head.slope(X[i], c)
            steps = 1e-7 * np.eye(widths[0])
            near = (head.apply(X[i] + steps) - head.apply(X[i] - steps))[:, c] / 2e-7
            np.testing.assert_allclose(slope, near, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(head.scaled(2.5).apply(X), 2.5 * found, rtol=1e-12)
    again = DenseLayers.of_tensors(head.tensors(), len(layers))
    assert again.apply(X).tobytes() == found.tobytes()
    assert (head.n_inputs, head.n_outputs) == (widths[0], widths[-1])


def test_heads_that_do_not_fit_are_refused():
    good = DenseLayers(((np.ones((2, 3)), np.ones(3)), (np.ones((3, 1)), np.ones(1)))).tensors()
    for name, bad in (("head.0.A", np.ones((2, 4))), ("head.1.a", np.ones(2)), ("head.0.a", np.ones(3, np.float32))):
        with pytest.raises(ValueError, match="do not fit"):
            DenseLayers.of_tensors({**good, name: bad}, 2)
    with pytest.raises(ValueError, match="no layers"):
        DenseLayers.of_tensors(good, 0)


def test_scaling_and_finishing_a_line():
    W, b = np.array([[2.0]], np.float32), np.array([1.0])
    V, c = scaled(W, b, 3.0)
    assert (V.tolist(), c.tolist()) == ([[6.0]], [3.0])
    assert finish(np.array([[4.0]]), c).tolist() == [[7.0]]
