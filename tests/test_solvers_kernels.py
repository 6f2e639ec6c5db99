"""The solver kernels compared with the plain-Python reference, on generated rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generated import matrices
from linnet._kernels import columns, coordinate, dual, online, sparse
from linnet.solvers.matrix import compact_gain
from reference import solvers as reference

EMPTY = {np.float32: np.zeros(0, np.float32), np.float64: np.zeros(0)}
few = settings(deadline=None, max_examples=60)


def close(got, want, dtype=np.float64):
    tolerance = 2e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(np.asarray(got, float), np.asarray(want, float), rtol=tolerance, atol=tolerance)


def plain_rows(X):
    return reference.rows_of(X.indptr, X.indices, X.values)


@few
@given(matrices(), st.integers(1, 3), st.sampled_from([np.float32, np.float64]), st.integers(0, 99))
def test_products(X, n_outputs, kind, seed):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(X.n_features, n_outputs)).astype(kind)
    out = np.empty((len(X), n_outputs))
    sparse.dot(X.indptr, X.indices, X.values, W, 0, len(X), out)
    close(out, reference.dot(plain_rows(X), W.tolist()))
    R = rng.normal(size=(len(X), n_outputs))
    back = np.ones((X.n_features, n_outputs))
    sparse.transposed_dot(X.indptr, X.indices, X.values, R, back)
    close(back - 1, reference.transposed_dot(plain_rows(X), R.tolist(), X.n_features))


@few
@given(matrices(), st.integers(0, 99))
def test_products_of_one_output(X, seed):
    rng = np.random.default_rng(seed)
    h, p, shift = rng.random(len(X)), rng.normal(size=X.n_features), float(rng.normal())
    out = np.zeros(X.n_features)
    total = sparse.curved_dot(X.indptr, X.indices, X.values, h, p, shift, out)
    want, want_total = reference.curved_dot(plain_rows(X), h.tolist(), p.tolist(), shift, X.n_features)
    close(out, want)
    close(total, want_total)
    squares = np.zeros(X.n_features)
    sparse.squared_columns(X.indptr, X.indices, X.values, h, squares)
    close(squares, reference.squared_columns(plain_rows(X), h.tolist(), X.n_features))


@few
@given(st.lists(st.lists(st.integers(0, 5), max_size=5), min_size=1, max_size=5), st.sampled_from([1, 70_001]))
def test_has_duplicates(found, stride):
    indptr = np.cumsum([0, *map(len, found)])
    indices = np.array([j * stride for row in found for j in row], np.int32)
    assert sparse.has_duplicates(indptr, indices) == reference.has_duplicates(
        [[(j, 1.0) for j in row] for row in found]
    )


def test_has_duplicates_in_a_long_row():
    indices = np.arange(200_000, dtype=np.int32)  # every bit is taken many times over
    assert not sparse.has_duplicates(np.array([0, 5000]), indices[:5000])
    indices[4999] = 17
    assert sparse.has_duplicates(np.array([0, 5000]), indices[:5000])


@few
@given(matrices())
def test_compact_rows(X):
    rows = np.arange(len(X) - 1, -1, -1, dtype=np.int32)
    counts, place = np.zeros(X.n_features, np.int32), np.empty(X.n_features, np.int32)
    columns.count_columns(X.indptr, X.indices, rows, counts)
    n_shared, entries = columns.rank_columns(counts, place)
    want = reference.compact_rows(plain_rows(X), rows.tolist(), X.n_features)
    assert counts.tolist() == want.counts
    assert n_shared == sum(n > 1 for n in counts)
    assert entries == sum(n for n in counts if n > 1)
    factor, norms = (place >= 0).astype(float), np.empty(len(X))
    indptr = np.zeros(len(X) + 1, np.int64)
    indices, values = np.empty(entries + len(X), np.int32), np.empty(entries + len(X), X.values.dtype)
    found = columns.compact_rows(
        X.indptr, X.indices, X.values, rows, place, factor, n_shared, indptr, indices, values, norms,
        np.empty(X.n_features, np.int32),
    )  # fmt: skip
    assert found == want.n_columns
    assert place.tolist() == want.place
    close(factor, want.factor, X.values.dtype.type)
    close(norms, want.norms, X.values.dtype.type)
    got = reference.rows_of(indptr, indices, values)
    assert [[j for j, _ in row] for row in got] == [[j for j, _ in row] for row in want.rows]
    close([v for row in got for _, v in row], [v for row in want.rows for _, v in row], X.values.dtype.type)


@few
@given(matrices(), st.booleans(), st.integers(0, 99))
def test_rows_with_a_gain_over_fewer_columns_have_the_same_scores(X, present, seed):
    rng = np.random.default_rng(seed)
    values = np.zeros(0, np.float32) if present else X.values.astype(np.float32)
    gain = rng.uniform(0.0, 2.0, (1, X.n_features)).astype(np.float32)
    X = replace(X, values=values, gain=gain)
    small = compact_gain(X)
    assert small.X.n_features <= (np.bincount(X.indices, minlength=X.n_features) > 1).sum() + len(X)
    W = rng.normal(size=(small.X.n_features, 1))
    np.testing.assert_allclose(small.X.dot(W), X.dot(small.expand(W)), rtol=1e-4, atol=1e-4)
    norms = [replace(one, values=np.square(one.values)).dot(np.square(g.T)) for one, g in (
        (X.explicit(), gain), (small.X.explicit(), small.X.gain)
    )]  # fmt: skip
    np.testing.assert_allclose(norms[1], norms[0], rtol=1e-4, atol=1e-5)


@few
@given(matrices(), st.integers(1, 3), st.integers(0, 99))
def test_lasso_pass(X, n_outputs, seed):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(n_outputs + 1), len(X))[:, :n_outputs]
    A, B = np.ascontiguousarray(P * rng.random((len(X), 1))), P.copy() if n_outputs > 1 else np.zeros((len(X), 1))
    indptr = np.zeros(X.n_features + 1, np.int64)
    indices, values = np.empty_like(X.indices), np.empty_like(X.values)
    sparse.transpose(X.indptr, X.indices, X.values, indptr, indices, values)
    column, output = (a.astype(np.int32) for a in np.nonzero(rng.random((X.n_features, n_outputs)) < 0.8))
    diagonal = np.empty(len(column))
    coordinate.column_curvature(indptr, indices, values, column, output, A, B, diagonal)
    plain = reference.Lasso(reference.transpose(plain_rows(X), X.n_features), A.tolist(), B.tolist())
    pairs = list(zip(column.tolist(), output.tolist(), strict=True))
    close(diagonal, [plain.curvature(j, k) for j, k in pairs])
    diagonal += 0.01
    w, d = np.where(rng.random(len(column)) < 0.5, rng.normal(size=len(column)), 0.0), np.zeros(len(column))
    slope, penalty = rng.normal(size=len(column)) * 2, rng.choice([0.0, 1.0], len(column))
    D, mean = np.zeros_like(A), np.zeros(len(X))
    weights = coordinate.ActiveWeights(column, output, slope, diagonal, penalty, w, d)
    quadratic = coordinate.Quadratic(A, B, D, mean)
    want = [0.0] * len(column)
    for _ in range(3):
        order = rng.permutation(len(column)).astype(np.int32)
        left = coordinate.lasso_pass(indptr, indices, values, order, weights, quadratic)
        close(
            left,
            plain.visit(order.tolist(), pairs, slope.tolist(), diagonal.tolist(), penalty.tolist(), w.tolist(), want),
        )
        close(d, want)
    assert not (w + d)[np.abs(w + d) < 1e-14].any()  # zero is zero


@few
@given(matrices())
def test_transpose(X):
    indptr = np.zeros(X.n_features + 1, np.int64)
    indices, values = np.empty_like(X.indices), np.empty_like(X.values)
    sparse.transpose(X.indptr, X.indices, X.values, indptr, indices, values)
    assert reference.rows_of(indptr, indices, values) == reference.transpose(plain_rows(X), X.n_features)


@few
@given(matrices(), st.data())
def test_row_keys(X, data):
    keys = np.zeros(len(X), np.uint64)
    none = np.zeros(0, X.values.dtype)
    sparse.row_keys(X.indptr, 1, X.indices, X.values, none, 0, len(X), keys)
    assert [int(k) for k in keys] == [reference.row_key(row) for row in plain_rows(X)]
    # two segments a row, no values: an entry is the scale of its segment
    if len(X) % 2 == 0:
        scale = np.array(data.draw(st.lists(st.sampled_from([0.5, 0.1, 1.0]), min_size=len(X), max_size=len(X))))
        scale = scale.astype(X.values.dtype)
        halves = np.zeros(len(X) // 2, np.uint64)
        sparse.row_keys(X.indptr, 2, X.indices, none, scale, 0, len(halves), halves)
        columns = [[j for j, _ in row] for row in plain_rows(X)]
        pairs = zip(columns[::2], columns[1::2], scale[::2].tolist(), scale[1::2].tolist(), strict=True)
        whole = [[(j, a) for j in left] + [(j, b) for j in right] for left, right, a, b in pairs]
        assert [int(k) for k in halves] == [reference.row_key(row) for row in whole]


@few
@given(matrices(), st.integers(1, 3), st.booleans(), st.integers(0, 99))
def test_class_sums(X, n_classes, ones, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(-1, n_classes, len(X)).astype(np.int32)
    weight = rng.random(len(X))
    out = np.zeros((X.n_features, n_classes))
    values = EMPTY[X.values.dtype.type] if ones else X.values
    sparse.class_sums(X.indptr, X.indices, values, y, weight, out)
    rows = [[(j, 1.0) for j, _ in row] for row in plain_rows(X)] if ones and len(X.indices) else plain_rows(X)
    close(out, reference.class_sums(rows, y.tolist(), weight.tolist(), X.n_features, n_classes))


@few
@given(
    matrices(dtype=np.float32), st.sampled_from(["presence", "count", "sublinear"]), st.sampled_from([0, 1, 2]), st.booleans(),
    st.integers(0, 99),
)  # fmt: skip
def test_scale_segments(X, tf, normalise, multiply, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, len(X.indices)).astype(np.int32)
    norm_weight = rng.random(X.n_features).astype(np.float32)
    out = np.empty(len(X.indices), np.float32)
    kind = {"presence": 0, "count": 1, "sublinear": 2}[tf]
    sparse.scale_segments(X.indptr, X.indices, counts, kind, norm_weight, normalise, multiply, out)
    rows = reference.rows_of(X.indptr, X.indices, counts)
    want = [reference.scale_segment(row, tf, norm_weight.tolist(), normalise, multiply) for row in rows]
    close(out, [v for row in want for v in row], np.float32)
    scale = np.empty(len(X), np.float32)
    how = normalise or 1
    sparse.segment_scale(X.indptr, X.indices, norm_weight, how, scale)
    want = [reference.scale_segment(row, "presence", norm_weight.tolist(), how, False) for row in rows]
    close(scale, [row[0] if row else 1.0 for row in want], np.float32)


@few
@given(
    matrices(), st.booleans(), st.sampled_from([0.0, 1.0, 2.0]), st.booleans(), st.sampled_from([1, 3, 8]),
    st.integers(0, 99),
)  # fmt: skip
def test_svm_pass(X, squared, bias_scale, weighted, n_problems, seed):
    rng = np.random.default_rng(seed)
    n, kind, lanes = len(X), X.values.dtype.type, 1 if n_problems == 1 else 8
    signs = np.zeros((n, lanes), np.int8)
    signs[:, :n_problems] = rng.choice([-1, 1], (n, n_problems))
    C = rng.uniform(0.3, 4.0, n)
    table = np.zeros((X.n_features, 1 + weighted, lanes), kind)
    if weighted:
        table[:, 1] = rng.uniform(0.2, 1.0, (X.n_features, lanes))
    of = dual.HingeDual(
        signs, C[:, None], np.zeros(signs.shape), np.full(signs.shape, -1.0), squared=squared, bias_scale=bias_scale
    )
    squares = table[:, -1].astype(float) if weighted else np.ones((X.n_features, lanes))
    plain = [reference.Margins([0.0] * X.n_features, squares[:, c].tolist(), 0.0, [0.0] * n) for c in range(n_problems)]
    rows = np.arange(n, dtype=np.int32)
    if bias_scale == 0.0 and not squared:  # an empty row then has no curvature at all
        rows = rows[np.diff(X.indptr) > 0]
    for _ in range(3 if kind == np.float64 else 1):  # later, 32 bits decide otherwise whether alpha is at its bound
        order = rng.permutation(rows)
        dual.svm_pass(X.indptr, 1, X.indices, X.values, EMPTY[kind], order, table, of)
        for c, m in enumerate(plain):
            visit = reference.svm_pass(
                plain_rows(X),
                signs[:, c].tolist(),
                order.tolist(),
                m,
                C.tolist(),
                squared=squared,
                bias_scale=bias_scale,
            )
            assert np.flatnonzero(of.active[rows, c]).tolist() == np.flatnonzero(np.isin(rows, visit.keep)).tolist()
            assert of.left[c] == len(visit.keep)
            close([of.top[c], of.low[c], of.loss[c]], [visit.top, visit.low, visit.loss], kind)
            close(of.alpha[:, c], m.alpha, kind)
            close(table[:, 0, c], m.u, kind)
            close(of.bias[c], m.bias, kind)


def test_svm_pass_shrinks_like_its_twin():
    rng = np.random.default_rng(5)
    dense = rng.normal(size=(40, 6))
    rows = [[(j, float(v)) for j, v in enumerate(row)] for row in dense]
    signs = np.where(dense[:, :1] + 0.3 * rng.normal(size=(40, 1)) > 0, 1, -1).astype(np.int8)
    indptr = np.arange(0, 241, 6)
    indices = np.tile(np.arange(6, dtype=np.int32), 40)
    C = np.full(40, 1.0)
    table, order = np.zeros((6, 1, 1)), np.arange(40, dtype=np.int32)
    of = dual.HingeDual(signs, C[:, None], np.zeros((40, 1)), np.full((40, 1), -1.0), squared=False, bias_scale=1.0)
    plain = reference.Margins([0.0] * 6, [1.0] * 6, 0.0, [0.0] * 40)
    active, bounds, shrunk = order, (np.inf, -np.inf), False
    for _ in range(30):
        dual.svm_pass(indptr, 1, indices, dense.ravel(), np.zeros(0), order, table, of)
        visit = reference.svm_pass(
            rows, signs[:, 0].tolist(), active.tolist(), plain, C.tolist(), squared=False, bounds=bounds
        )
        kept = np.flatnonzero(of.active[:, 0])
        assert kept.tolist() == visit.keep
        close(of.alpha[:, 0], plain.alpha)
        shrunk |= len(kept) < len(active)
        if not len(kept):
            of.active[:], kept = 1, order
        active = kept
        of.narrow()
        bounds = (visit.top if visit.top > 0 else np.inf, visit.low if visit.low < 0 else -np.inf)
    assert shrunk


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_svm_pass_revisits_what_is_far(lanes):
    """As passes by hand over the variables that are far, of the problems that are wanted; what is active stays as it is."""
    rng = np.random.default_rng(lanes)
    n, indices = 60, np.tile(np.arange(6, dtype=np.int32), 60)
    values, signs = rng.normal(size=(n, 6)), rng.choice([-1, 1], (n, lanes)).astype(np.int8)
    rows = np.arange(0, 6 * n + 1, 6), 1, indices, values.ravel(), np.zeros(0)

    def passed():
        of = dual.HingeDual(
            signs, np.full((n, 1), 5.0), np.zeros((n, lanes)), np.full((n, lanes), -1.0), squared=True, bias_scale=1.0
        )
        table, order = np.zeros((6, 1, lanes)), np.random.default_rng(1).permutation(n).astype(np.int32)
        of.near[:] = 0.8
        dual.svm_pass(*rows, order, table, of)
        return of, table, order

    of, table, order = passed()
    wanted = (np.arange(lanes) % 3 != 1).astype(np.int8)
    active, before = of.active.copy(), table.copy()
    assert 0 < of.far.sum() < of.far.size
    dual.svm_pass(*rows, order, table, of, revisited=wanted, revisits=3)
    assert (of.active == active).all()
    assert (before != table).any()
    hand, by_hand, order = passed()
    for _ in range(3):
        hand.active[:] = hand.active & hand.far & wanted
        order = order[hand.active.any(axis=1)[order]]
        if len(order):
            dual.svm_pass(*rows, order, by_hand, hand)
    assert (by_hand == table).all()
    assert (hand.alpha == of.alpha).all()


@few
@given(
    matrices(), st.sampled_from(["perceptron", "hinge", "softmax"]), st.sampled_from([0.0, 0.1, 0.6]),
    st.sampled_from([0.0, 1.0, 4.0]), st.integers(2, 4), st.sampled_from([1, 2, 3, 100]), st.integers(0, 99),
)  # fmt: skip
def test_online_pass(X, loss, decay, bias_rate, n_classes, batch, seed):
    """The running scale, batches and the lazy averages, of W and of b, over several passes, with and without decay."""
    rng = np.random.default_rng(seed)
    n, kind = len(X), X.values.dtype.type
    y = rng.integers(0, n_classes, n).astype(np.int32)
    weight = rng.uniform(0.5, 3.0, n)  # uneven numbers: ties would be broken by rounding
    cost = rng.uniform(0.5, 2.0, (n_classes, n_classes)) * (1 - np.eye(n_classes))
    if loss == "perceptron":
        cost[:] = 0
    V, A = np.zeros((X.n_features, n_classes), kind), np.zeros((X.n_features, n_classes), kind)
    kinds = {"perceptron": 0, "hinge": 1, "softmax": 2}
    taken = online.OnlineSteps(
        y, weight, np.zeros(n_classes), cost, loss=kinds[loss], decay=decay, bias_rate=bias_rate, batch=batch
    )
    theta = reference.Theta([[0.0] * n_classes for _ in range(X.n_features)], [0.0] * n_classes)
    for _ in range(3):
        order = rng.permutation(n).astype(np.int32)
        rates = rng.uniform(0.2, 1.0, n)
        changed = online.online_pass(X.indptr, X.indices, X.values, order, rates, V, A, taken)
        want = reference.online_pass(
            plain_rows(X), y.tolist(), order.tolist(), rates.tolist(), weight.tolist(), theta, loss=loss,
            cost=cost.tolist(), decay=decay, bias_rate=bias_rate, batch=batch,
        )  # fmt: skip
        assert changed == want[0]
        close(taken.loss_sum, want[1], kind)
        close(taken.scale * V, theta.W, kind)
        close(taken.b, theta.b, kind)
        assert taken.steps == theta.sums.steps
        if kind == np.float64:  # in 32 bits the average cancels; the driver flushes in time
            np.testing.assert_allclose(taken.total_scale * V - A, theta.sums.W, rtol=1e-9, atol=1e-9)
        close(taken.steps * taken.b - taken.A_b, theta.sums.b, kind)


@pytest.mark.parametrize("loss", ["perceptron", "hinge"])
def test_online_pass_without_average(loss):
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    y, V, cost = np.array([0, 1], np.int32), np.zeros((2, 2)), (1 - np.eye(2)) * (loss == "hinge")
    taken = online.OnlineSteps(
        y, np.ones(2), np.zeros(2), cost, loss=int(loss == "hinge"), decay=0.0, bias_rate=1.0, batch=1
    )
    rows = np.array([0, 1, 2]), np.array([0, 1], np.int32), np.ones(2)
    online.online_pass(*rows, np.array([0, 1], np.int32), np.ones(2), V, np.zeros((0, 2)), taken)
    assert X.shape == V.shape
    assert (V != 0).any()


@few
@given(matrices(), st.sampled_from([0.0, 1.0, 2.0]), st.integers(0, 99))
def test_logistic_pass(X, bias_scale, seed):
    rng = np.random.default_rng(seed)
    n = len(X)
    signs, C = rng.choice([-1, 1], n).astype(np.int8), rng.uniform(0.3, 4.0, n)
    w, q = np.zeros(X.n_features), np.array([bias_scale**2 + sum(v * v for _, v in row) for row in plain_rows(X)])
    alpha = 1e-3 * C
    rest = C - alpha
    of = dual.LogisticDual(signs, alpha, rest, q, bias_scale=bias_scale)
    plain = reference.Odds([0.0] * X.n_features, 0.0, alpha.tolist())
    for _ in range(3):
        order = rng.permutation(n).astype(np.int32)
        dual.logistic_pass(X.indptr, X.indices, X.values, order, w, of, 0.3, 1e-11)
        loss, square = reference.logistic_pass(
            plain_rows(X), signs.tolist(), order.tolist(), plain, C.tolist(), bias_scale=bias_scale, offset=0.3
        )
        for got, want in ((alpha, plain.alpha), (w, plain.w), (of.bias, plain.bias)):
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose([of.loss, of.squares.sum()], [loss, square], rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(alpha + rest, C)
    out = np.zeros(X.n_features)
    drift, slope = dual.logistic_gradient(X.indptr, X.indices, X.values, signs, order, C, w, 0.2, out)
    scores = [s[0] + 0.2 for s in reference.dot(plain_rows(X), w[:, None].tolist())]
    R = [[-C[i] * signs[i] / (1 + np.exp(signs[i] * s))] for i, s in enumerate(scores)]
    close(drift, sum(r[0] for r in R))
    close(slope, sum(abs(r[0]) * (1 - abs(r[0]) / c) for r, c in zip(R, C, strict=True)))
    close(out, [r[0] for r in reference.transposed_dot(plain_rows(X), R, X.n_features)])


@few
@given(matrices(), st.sampled_from([0.0, 1.0, 2.0]), st.sampled_from([3, 8, 9]), st.integers(0, 99))
def test_softmax_pass(X, bias_scale, n_classes, seed):
    rng = np.random.default_rng(seed)
    n, kind = len(X), X.values.dtype.type
    y, C = rng.integers(0, n_classes, n).astype(np.int32), rng.uniform(0.3, 4.0, n)
    q = np.array([bias_scale**2 + sum(v * v for _, v in row) for row in plain_rows(X)])
    offset, bias, t = rng.normal(size=n_classes), np.zeros(n_classes), rng.normal(size=(n, n_classes))
    t -= np.log(np.exp(t).sum(axis=1, keepdims=True))
    table = np.zeros((X.n_features, -(-n_classes // 4) * 4), kind)
    W, b, shares = [[0.0] * n_classes for _ in range(X.n_features)], [0.0] * n_classes, np.exp(t).tolist()
    of = dual.SoftmaxDual(y, C, q, t, bias, bias_scale=bias_scale)
    loose = {"rtol": 1e-7, "atol": 1e-7} if kind == np.float64 else {"rtol": 1e-3, "atol": 1e-3}
    for _ in range(2):
        order = rng.permutation(n).astype(np.int32)
        dual.softmax_pass(X.indptr, X.indices, X.values, order, table, of, offset, 1e-11)
        loss, square = reference.softmax_pass(
            plain_rows(X), y.tolist(), order.tolist(), W, b, shares, C.tolist(), bias_scale=bias_scale, offset=offset
        )
        for got, want in ((np.exp(t), shares), (table[:, :n_classes], W), (bias, b)):
            np.testing.assert_allclose(got, np.reshape(want, np.shape(got)), **loose)
        np.testing.assert_allclose([of.loss, of.squares.sum()], [loss, square], **loose)
        np.testing.assert_allclose(np.exp(t).sum(axis=1), 1.0)
    assert not table[:, n_classes:].any()
