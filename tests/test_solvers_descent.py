"""Optimisers on real objectives: the optimum of scipy and of Newton, L1 by subgradients, batches, patience, Ctrl-C."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from generated import rows
from linnet.errors import LinnetError
from linnet.models import LinearSVM, LogisticRegression
from linnet.solvers import (
    LBFGS,
    Adadelta,
    Adagrad,
    Adam,
    Callback,
    Cosine,
    EarlyStopping,
    Function,
    GradientDescent,
    LinearProblem,
    Momentum,
    Newton,
    ProximalGradient,
    optimise,
)
from linnet.solvers.callbacks import ConvergenceWarning
from linnet.solvers.losses import Logistic, Softmax, Squared, SquaredHinge
from linnet.solvers.matrix import Matrix
from linnet.solvers.problem import least_subgradient, soft_threshold

LOSSES = [(Logistic(), 1), (Softmax(), 3), (SquaredHinge(), 1), (SquaredHinge(), 3), (Squared(), 3)]
every_loss = pytest.mark.parametrize(("loss", "n_outputs"), LOSSES, ids=lambda v: getattr(type(v), "__name__", v))


def problem(loss=None, n_outputs=1, n=80, C=1.0, gain=None, dtype=np.float64, **settings):
    X, y = rows(n=n, classes=max(2, n_outputs))
    M = Matrix.from_dense(X)
    M = Matrix(M.indptr, M.indices, M.values.astype(dtype), M.n_features, gain)
    c = C * np.random.default_rng(1).uniform(0.2, 2.0, n)
    return LinearProblem(M, y.astype(np.int32), c, loss or Logistic(), n_outputs, **settings)


def by_scipy(f):
    """The minimum of the smooth part, by another's hands."""
    found = scipy.optimize.minimize(
        lambda w: f.everything(w).value, np.zeros(f.size), jac=lambda w: f.everything(w).gradient, method="BFGS",
        options={"gtol": 1e-9, "maxiter": 5000},
    )  # fmt: skip
    return found.x, found.fun


# ---- the problem


GAIN = np.random.default_rng(5).uniform(0.5, 2.0, (3, 25)).astype(np.float32)


@pytest.mark.parametrize(
    "settings",
    [{}, {"fit_intercept": False}, {"constant": 2.0}, {"constant": 0.0}, {"l2": 0.3}, {"gain": GAIN}],
    ids=str,
)
@pytest.mark.parametrize(("loss", "n_outputs"), [(Softmax(), 3), (SquaredHinge(), 3)])
def test_gradients_by_differences(loss, n_outputs, settings):
    f = problem(loss, n_outputs, **settings)
    rng = np.random.default_rng(2)
    w = rng.normal(size=f.size)
    some = np.array([3, 4, 8, 20, 31])
    for look in (f.everything, lambda w: f.some(w, some)):
        here = look(w)
        for _ in range(4):
            d = rng.normal(size=f.size)
            slope = (look(w + 1e-5 * d).value - look(w - 1e-5 * d).value) / 2e-5
            np.testing.assert_allclose(here.gradient @ d, slope, rtol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"constant": 2.0}, {"l2": 0.0}, {"gain": GAIN, "constant": 0.5}], ids=str)
def test_batches_add_up_to_all_rows(settings):
    f = problem(Softmax(), 3, **settings)
    w = np.random.default_rng(2).normal(size=f.size)
    whole = f.everything(w)
    parts = np.array_split(np.random.default_rng(3).permutation(f.n_rows), 4)
    here = [f.some(w, part) for part in parts]
    np.testing.assert_allclose(np.mean([h.value for h in here]), whole.value, rtol=1e-12)
    np.testing.assert_allclose(np.mean([h.loss for h in here]), whole.loss, rtol=1e-12)
    np.testing.assert_allclose(np.mean([h.gradient for h in here], axis=0), whole.gradient, rtol=1e-9, atol=1e-12)


def test_the_value_is_the_objective_of_the_models():
    f = problem(Softmax(), 3, C=2.0)
    w = np.random.default_rng(0).normal(size=f.size)
    W, b = f.weights(w)
    S = f.X.dot(W) + b
    right = S[np.arange(f.n_rows), f.y]
    total = 0.5 * np.sum(W**2) + f.c @ (np.log(np.exp(S).sum(axis=1)) - right)
    np.testing.assert_allclose(f.everything(w).value * f.total, total, rtol=1e-12)


def test_a_gentle_rate_never_climbs():
    for loss, n_outputs in LOSSES:
        f = problem(loss, n_outputs)
        w, seen = np.zeros(f.size), []
        for _ in range(50):
            here = f.everything(w)
            seen.append(here.value)
            w -= f.gentle_rate() * here.gradient
        assert (np.diff(seen) < 0).all()
        np.testing.assert_allclose(optimise(f, GradientDescent(), max_epochs=50).w, w)  # the rate of its choice


# ---- the optimum


@every_loss
@pytest.mark.parametrize("optimiser", [Newton(tol=1e-11), LBFGS(tol=1e-9), ProximalGradient(tol=1e-9)], ids=repr)
def test_whole_methods_reach_scipys_optimum(loss, n_outputs, optimiser):
    f = problem(loss, n_outputs)
    _, least = by_scipy(f)
    found = optimise(f, optimiser)
    assert found.converged
    assert found.violation < 1e-6
    assert f.everything(found.w).value <= least * (1 + 1e-10)


@every_loss
@pytest.mark.parametrize("settings", [{"gain": GAIN}, {"l2": 0.1}, {"constant": 3.0}], ids=str)
def test_newton_and_lbfgs_agree_on_every_kind_of_problem(loss, n_outputs, settings):
    settings = {k: v[:n_outputs] if k == "gain" else v for k, v in settings.items()}
    f = problem(loss, n_outputs, **settings)
    a, b = optimise(f, Newton(tol=1e-11)), optimise(f, LBFGS(tol=1e-9))
    np.testing.assert_allclose(f.everything(a.w).value, f.everything(b.w).value, rtol=1e-10)
    np.testing.assert_allclose(f.weights(a.w)[0], f.weights(b.w)[0], atol=1e-4)


@pytest.mark.parametrize(
    "optimiser",
    [
        GradientDescent(tol=1e-8),
        GradientDescent(learning_rate=0.5, tol=1e-8),
        Momentum(tol=1e-8),
        Momentum(nesterov=True, tol=1e-8),
        Adagrad(learning_rate=1.0, tol=1e-8),
        Adadelta(tol=1e-8, eps=1e-3),
        Adam(0.1, Cosine(5000), tol=1e-8),
    ],
    ids=repr,
)
def test_single_steps_reach_scipys_optimum(optimiser):
    """A well-conditioned problem: strong penalty, dense rows, all rows a step."""
    X = np.random.default_rng(0).normal(size=(60, 5))
    y = (X[:, 0] + X[:, 1] > 0).astype(np.int32)
    f = LinearProblem(Matrix.from_dense(X), y, np.full(60, 0.1), Logistic(), 1)
    at, least = by_scipy(f)
    found = optimise(f, optimiser, max_epochs=5000)
    assert f.everything(found.w).value <= least * (1 + 1e-6)
    np.testing.assert_allclose(found.w, at, rtol=1e-3, atol=1e-3 * np.abs(at).max())


@pytest.mark.parametrize("optimiser", [GradientDescent(tol=1e-9), Momentum(tol=1e-9), ProximalGradient()], ids=repr)
def test_the_model_is_that_of_newton(optimiser):
    X, y = rows(n=100, d=8, classes=3, density=1.0)
    exact = LogisticRegression(0.1, tol=1e-12).fit(X, y)
    found = LogisticRegression(0.1, solver=optimiser, max_iter=20_000).fit(X, y)
    np.testing.assert_allclose(found.coef_, exact.coef_, rtol=1e-6, atol=1e-6 * np.abs(exact.coef_).max())
    np.testing.assert_allclose(found.intercept_, exact.intercept_, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, {"intercept_scaling": 5.0}, {"C": 0.05}], ids=str)
def test_the_svm_is_that_of_the_dual(classes, settings):
    X, y = rows(n=120, classes=classes)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weight[:classes] = 1
    exact = LinearSVM(tol=1e-10, max_iter=100_000, **settings).fit(X, y, weight)
    for solver in (LBFGS(tol=1e-10), Newton(tol=1e-12)):
        found = LinearSVM(solver=solver, **settings).fit(X, y, weight)
        np.testing.assert_allclose(found.coef_, exact.coef_, atol=2e-6)
        np.testing.assert_allclose(found.intercept_, exact.intercept_, atol=2e-6)
        np.testing.assert_allclose(found.margin_, exact.margin_, rtol=1e-5)
        assert not hasattr(found, "support_")


@pytest.mark.filterwarnings("ignore::linnet.solvers.callbacks.ConvergenceWarning")
def test_sparse_dense_float32_and_threads():
    X, y = rows(n=90, classes=3)
    for solver in (LBFGS(), Adam(batch_size=16), Momentum(batch_size=30)):
        model = LogisticRegression(solver=solver, max_iter=10)
        dense, sparse = model.fit(X, y).coef_.copy(), model.fit(sp.csc_array(X), y).coef_.copy()
        assert dense.tobytes() == sparse.tobytes()
        assert model.fit(X.astype(np.float32), y).coef_.dtype == np.float32
    with ThreadPoolExecutor(3) as pool:
        one, three = problem(Softmax(), 3), problem(Softmax(), 3, pool=pool, threads=3)
        a, b = optimise(one, LBFGS()), optimise(three, LBFGS())
    assert a.w.tobytes() == b.w.tobytes()


DATA = Path(os.environ.get("LINNET_DATA", "/nowhere"))


@pytest.mark.slow
def test_lbfgs_on_real_rows():
    """The optimum of Newton's method: 1e-6 of the objective, 1e-4 of the weights."""
    name = "rt_polarity/all.csv"
    if not (DATA / name).exists():
        pytest.skip(f"LINNET_DATA/{name} is not there")
    from linnet import read
    from linnet.features import Vectorizer

    data = read(DATA / name)
    X, y = Vectorizer("words:1").fit_transform(data.text), np.array(data.label.to_pylist())
    exact = LogisticRegression(solver="newton").fit(X, y)
    found = LogisticRegression(solver=LBFGS(tol=1e-6)).fit(X, y)
    values = [_objective(model, X, y) for model in (exact, found)]
    assert abs(values[1] - values[0]) <= 1e-6 * values[0]
    np.testing.assert_allclose(found.coef_, exact.coef_, atol=1e-4)


def _objective(model, X, y):
    logs = model.predict_log_proba(X)
    return np.sum(model.coef_**2) / 2 - logs[np.arange(len(y)), np.searchsorted(model.classes_, y)].sum()


# ---- L1


def assert_optimal(f, w, tolerance=1e-6):
    """0 is in the subdifferential: |g| <= l1 at zeros, g = -l1 sign(w) elsewhere, g = 0 for intercepts."""
    g = f.everything(w).gradient
    W, G = w[: f.n_penalised], g[: f.n_penalised]
    scale = np.abs(f.everything(np.zeros(f.size)).gradient).max()
    assert (np.abs(G[W == 0]) <= f.l1 + tolerance * scale).all()
    np.testing.assert_allclose(G[W != 0], -f.l1 * np.sign(W[W != 0]), atol=tolerance * scale)
    np.testing.assert_allclose(g[f.n_penalised :], 0, atol=tolerance * scale)


@every_loss
@pytest.mark.parametrize("accelerated", [True, False])
def test_l1_is_optimal_with_real_zeros(loss, n_outputs, accelerated):
    f = problem(loss, n_outputs, l1=2.0, l2=0.0)
    found = optimise(f, ProximalGradient(tol=1e-8, accelerated=accelerated), max_epochs=20_000)
    assert found.converged
    assert_optimal(f, found.w)
    zeros = np.mean(found.w[: f.n_penalised] == 0)
    assert 0.1 < zeros < 0.95


def test_l1_has_scikit_learns_support():
    import sklearn.linear_model

    X, y = rows(n=150, d=30, classes=2)
    f = LinearProblem(
        Matrix.from_dense(X), y.astype(np.int32), np.full(150, 0.3), Logistic(), 1, constant=1.0, l1=1.0, l2=0.0
    )
    W, b = f.weights(optimise(f, ProximalGradient(tol=1e-10), max_epochs=20_000).w)
    theirs = sklearn.linear_model.LogisticRegression(
        C=0.3, l1_ratio=1.0, solver="liblinear", tol=1e-10, max_iter=10_000
    )
    theirs.fit(X, y)
    np.testing.assert_array_equal(W[:, 0] != 0, theirs.coef_[0] != 0)
    np.testing.assert_allclose(W[:, 0], theirs.coef_[0], atol=1e-5)
    np.testing.assert_allclose(b, theirs.intercept_, atol=1e-5)


@pytest.mark.parametrize(
    "optimiser", [GradientDescent(learning_rate=0.5), Momentum(learning_rate=0.2), Adagrad(1.0), Adam(0.05)], ids=repr
)
def test_l1_with_single_steps(optimiser):
    f = problem(l1=3.0, l2=0.5)
    exact = optimise(f, ProximalGradient(tol=1e-10), max_epochs=20_000)
    found = optimise(f, optimiser, max_epochs=8000)
    np.testing.assert_array_equal(found.w == 0, exact.w == 0)
    np.testing.assert_allclose(found.w, exact.w, atol=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("Model", "C"), [(LogisticRegression, 0.3), (LinearSVM, 0.05)])
def test_l1_in_a_model(Model, C, intercept):
    """sum |w| + C sum loss, the intercept free: by the subgradient, from the fitted weights alone."""
    X, y = rows(n=150, d=30, classes=2)
    model = Model(C, solver=ProximalGradient(tol=1e-9), fit_intercept=intercept)
    model.penalty = "l1"
    model.fit(X, y)
    t = np.where(y == 1, 1.0, -1.0)
    z = t * model.decision_function(X)
    slope = -t / (1 + np.exp(z)) if Model is LogisticRegression else -2 * t * np.maximum(0, 1 - z)
    w, g = model.coef_[0], C * X.T @ slope
    assert 3 < (w == 0).sum() < 30
    assert (np.abs(g[w == 0]) <= 1 + 1e-6).all()
    np.testing.assert_allclose(g[w != 0], -np.sign(w[w != 0]), atol=1e-6)
    if intercept:
        assert abs(C * slope.sum()) < 1e-6
    else:
        assert model.intercept_[0] == 0


def test_l1_so_strong_that_nothing_is_left():
    f = problem(Softmax(), 3, l1=1e4, l2=0.0)
    W, _ = f.weights(optimise(f, ProximalGradient()).w)
    assert (W == 0).all()


def test_smooth_methods_refuse_l1():
    for optimiser in (Newton(), LBFGS()):
        with pytest.raises(LinnetError, match="needs a smooth penalty; for L1 use ProximalGradient"):
            optimise(problem(l1=1.0), optimiser)


def test_soft_threshold_is_the_proximal_map():
    """S(v, t) minimises 1/2 (w - v)^2 + t |w|."""
    grid = np.linspace(-4, 4, 8001)
    for v, t in [(2.0, 0.5), (-0.3, 0.5), (-3.0, 1.0), (0.0, 0.1)]:
        best = grid[np.argmin(0.5 * (grid - v) ** 2 + t * np.abs(grid))]
        np.testing.assert_allclose(soft_threshold(np.array([v]), t), best, atol=1e-3)
    w, g = np.array([0.0, 1.0, -1.0, 0.0, 5.0]), np.array([0.5, 1.0, 1.0, -3.0, 0.2])
    assert least_subgradient(w, g, 1.0, 4).tolist() == [0.0, 2.0, 0.0, -2.0, 0.2]


# ---- batches


def test_batches_by_hand():
    """The order is drawn by the seed, anew each pass; batches differ by one row at most."""
    f = problem(Softmax(), 3, n=50)
    method = Adam(0.1, Cosine(3), batch_size=16)
    rng = np.random.Generator(np.random.PCG64(7))
    w = np.zeros(f.size)
    memory = method.init(w)
    for number in range(3):
        order = rng.permutation(50)
        for a, b in [(0, 12), (12, 25), (25, 38), (38, 50)]:
            step, _, memory = method.update(f.some(w, order[a:b]).gradient, memory, number + a / 50)
            w = w + step
    found = optimise(f, method, max_epochs=3, seed=7)
    np.testing.assert_allclose(found.w, w, rtol=1e-12, atol=1e-14)
    again, other = optimise(f, method, max_epochs=3, seed=7), optimise(f, method, max_epochs=3, seed=8)
    assert again.w.tobytes() == found.w.tobytes()
    assert other.w.tobytes() != found.w.tobytes()


def test_a_batch_of_all_rows_is_no_batch():
    f = problem()
    a, b = optimise(f, Adam(batch_size=80), max_epochs=5), optimise(f, Adam(batch_size=None), max_epochs=5, seed=9)
    assert a.w.tobytes() == b.w.tobytes()


def test_batches_come_close_to_the_optimum():
    f = problem(Softmax(), 3, n=300, C=0.3)
    _, least = by_scipy(f)
    for method in (Adam(0.05, Cosine(60), batch_size=20), GradientDescent(1.0, Cosine(60), batch_size=20)):
        found = optimise(f, method, max_epochs=60)
        assert f.everything(found.w).value <= least * (1 + 1e-3)


def test_divergence_is_said():
    with pytest.raises(
        LinnetError, match=r"GradientDescent, pass \d+: the loss is .*give a learning_rate below 1e\+06"
    ):
        optimise(problem(Squared(), 3), GradientDescent(learning_rate=1e6), max_epochs=200)


def test_starting_at_the_optimum():
    f = Function(lambda w: (float(w @ w), 2 * w), size=3)
    for optimiser in (Adam(), LBFGS(), ProximalGradient(), GradientDescent()):
        found = optimise(f, optimiser)
        assert found.converged
        assert found.passes == 0
    with pytest.raises(TypeError, match="use LBFGS"):
        optimise(f, Newton())


# ---- reports, patience, Ctrl-C

SEVERAL = [LBFGS(), Newton(), ProximalGradient(), GradientDescent(), Adam(batch_size=16), Momentum(batch_size=30)]


@pytest.mark.parametrize("optimiser", SEVERAL, ids=repr)
def test_reports(optimiser):
    f = problem(Softmax(), 3)
    seen = []
    found = optimise(f, optimiser, max_epochs=6, watch=lambda p, weights: seen.append((p, weights())))
    assert [p.number for p, _ in seen] == list(range(1, found.passes + 1))
    assert seen[-1][0].loss < seen[0][0].loss
    np.testing.assert_array_equal(seen[-1][1][0], f.weights(found.w)[0])
    if getattr(optimiser, "batch_size", None) is None:  # then the loss is that of the weights shown
        for p, (W, b) in seen:
            np.testing.assert_allclose(p.loss, f.loss.value(f.X.dot(W) + b, f.y, f.c), rtol=1e-9)


@pytest.mark.parametrize("settings", [{"l2": 0.3}, {"gain": GAIN}, {"constant": 2.0}], ids=str)
@pytest.mark.parametrize("optimiser", [LBFGS(), Newton(), ProximalGradient(), Momentum()], ids=repr)
def test_the_loss_reported_is_without_the_penalty(optimiser, settings):
    f = problem(SquaredHinge(), 3, **settings)
    seen = []
    optimise(f, optimiser, max_epochs=4, watch=lambda p, weights: seen.append((p, weights())))
    for p, (W, b) in seen:
        X = Matrix(f.X.indptr, f.X.indices, f.X.values, f.X.n_features)
        if f.constant:
            W, b = np.vstack([W, b / f.constant]), 0.0
        np.testing.assert_allclose(p.loss, f.loss.value(X.dot(W) + b, f.y, f.c), rtol=1e-9)


@pytest.mark.parametrize("optimiser", SEVERAL, ids=repr)
def test_ctrl_c_keeps_the_weights(optimiser):
    f = problem(Softmax(), 3)

    def stop(p, weights):
        if p.number == 2:
            raise KeyboardInterrupt

    found = optimise(f, optimiser, max_epochs=50, watch=stop)
    assert found.interrupted
    assert not found.converged
    np.testing.assert_array_equal(found.w, optimise(f, optimiser, max_epochs=2).w)


@pytest.mark.parametrize("optimiser", SEVERAL, ids=repr)
def test_ctrl_c_keeps_the_best_weights_where_they_are_judged(optimiser):
    f = problem(Softmax(), 3)
    scores = iter([0.1, 0.9, 0.2, 0.3])

    def stop(p, weights):
        if p.number == 3:
            raise KeyboardInterrupt

    found = optimise(f, optimiser, max_epochs=50, watch=Callback(stop, judge=lambda weights: next(scores)))
    assert found.interrupted
    assert found.passes == 3
    np.testing.assert_array_equal(found.w, optimise(f, optimiser, max_epochs=2).w)


@pytest.mark.parametrize("optimiser", SEVERAL, ids=repr)
def test_patience(optimiser):
    f = problem(Softmax(), 3)
    scores = iter([0.1, 0.9, 0.2, 0.9, 0.3, 1.0])
    watch = Callback(judge=lambda weights: next(scores), patience=2)
    found = optimise(f, optimiser, max_epochs=50, watch=watch)
    assert found.stopped
    assert not found.interrupted
    assert found.passes == 4
    assert [p.score for p in watch.history] == [0.1, 0.9, 0.2, 0.9]
    np.testing.assert_array_equal(found.w, optimise(f, optimiser, max_epochs=2).w)


def test_early_stopping_in_a_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 80))
    y = (X[:, 0] + 3 * rng.normal(size=300) > 0).astype(int)  # mostly noise: more passes only learn it by heart
    solver = EarlyStopping(Adam(0.05, batch_size=32), patience=4, validation_fraction=0.2)
    model = LogisticRegression(100.0, solver=solver).fit(X, y)
    scores = [p.score for p in model.history_]
    assert len(scores) == model.n_iter_ < 100
    best = int(np.argmax(scores))
    assert len(scores) == best + 1 + 4
    long = LogisticRegression(100.0, solver=Adam(0.05, batch_size=32), max_iter=100).fit(X, y)
    assert np.linalg.norm(model.coef_) < np.linalg.norm(long.coef_)
    order = rng.permutation(300)
    assert LogisticRegression(100.0, solver=solver).fit(X[order], y[order]).coef_.tobytes() == model.coef_.tobytes()


def test_a_model_says_when_it_did_not_converge():
    X, y = rows()
    for solver in (LBFGS(), GradientDescent(), "momentum"):
        with pytest.warns(
            ConvergenceWarning, match=r"stopped after max_iter=2 passes at a violation of .*, above tol="
        ):
            LogisticRegression(solver=solver, max_iter=2).fit(X, y)
