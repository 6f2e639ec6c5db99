"""What must hold for every model of the registry, and for its other solvers."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

from generated import as_bytes, counts, learned, numbers
from linnet.models import MODELS, NBSVM, LeastSquares, LinearSVM, LogisticRegression
from linnet.solvers import LBFGS, Adam, Cosine, Newton, ProximalGradient
from linnet.solvers.matrix import Matrix

VARIANTS = {
    **{name: model for name, model in MODELS.items() if hasattr(model, "fit_matrix")},
    "svm hinge": lambda **s: LinearSVM(loss="hinge", **s),
    "svm sgd": lambda **s: LinearSVM(solver="sgd", **s),
    "logistic sgd": lambda **s: LogisticRegression(solver="sgd", **s),
    "nbsvm alone": lambda **s: NBSVM(beta=1.0, power=0.5, **s),
    "least-squares normal": lambda **s: LeastSquares(solver="normal", **{"alpha": 1.0, **s}),
    "least-squares lsqr": lambda **s: LeastSquares(solver="lsqr", **{"alpha": 1.0, "tol": 1e-12, **s}),
    "svm lbfgs": lambda **s: LinearSVM(solver=LBFGS(tol=1e-11), **s),
    "svm newton": lambda **s: LinearSVM(solver=Newton(tol=1e-12), **s),
    "logistic lbfgs": lambda **s: LogisticRegression(solver=LBFGS(tol=1e-11), **s),
    "logistic proximal": lambda **s: LogisticRegression(solver=ProximalGradient(tol=1e-11), **s),
    "logistic sgd adam": lambda **s: LogisticRegression(
        solver=Adam(schedule=Cosine(30), batch_size=16), **{"max_iter": 30, **s}
    ),
    "logistic newton": lambda **s: LogisticRegression(solver="newton", **s),
    "logistic l1": lambda **s: LogisticRegression(penalty="l1", **s),
    "svm l1": lambda **s: LinearSVM(penalty="l1", **s),
}
TIGHT = {
    "svm": {"tol": 1e-10, "max_iter": 50_000},
    "svm hinge": {"tol": 1e-10, "max_iter": 50_000},
    "logistic": {"tol": 1e-11},
    "nbsvm": {"tol": 1e-10, "max_iter": 50_000},
    "nbsvm alone": {"tol": 1e-10, "max_iter": 50_000},
    "logistic newton": {"tol": 1e-11},
    "logistic l1": {"tol": 1e-11},
    "svm l1": {"tol": 1e-11},
}
CLOSED = ("nb", "bernoulli", "votes", "least-squares", "least-squares normal")
"""Models that make no passes over the rows."""
EXACT = ("logistic",)
"""Models with a seed that their answer does not depend on."""
DETERMINISTIC = ("newton", "lbfgs", "proximal")
FLAT = {"svm l1"}  # an L1 optimum need not be the only one
every_model = pytest.mark.parametrize("name", VARIANTS)
two_and_more = pytest.mark.parametrize("classes", [2, 4])


def having(setting):
    """Every model that has this setting."""
    return pytest.mark.parametrize("name", [name for name, make in VARIANTS.items() if setting in make().get_params()])


def by_steps(name):
    """Whether the weights end wherever the last step took them: they have no optimum to agree on."""
    return any(kind in name for kind in ("sgd", "perceptron", "passive-aggressive", "feed-forward"))


def same(a, b, tolerance=0.0):
    for one, other in zip(learned(a), learned(b), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def digits(name):
    """Solvers of one row at a time see the same rows in the same order: bit for bit. The others sum in another order."""
    return 0.0 if "svm" in name or by_steps(name) else 1e-9


@two_and_more
@every_model
def test_shapes(name, classes):
    X, y = counts(classes=classes)
    model = VARIANTS[name]().fit(X, y)
    outputs = 1 if classes == 2 else classes
    assert model._scores(X).shape == (len(X), outputs)
    assert model.classes_.tolist() == list(range(classes))
    assert model.n_features_in_ == X.shape[1]
    assert all(np.isfinite(a).all() for a in learned(model))
    found = VARIANTS[name]().fit_matrix(Matrix.from_dense(X), y.astype(np.int32), classes)
    assert found[0].flags.c_contiguous
    if hasattr(model, "coef_"):
        assert model.coef_.shape == (outputs, X.shape[1])
        assert model.intercept_.shape == (outputs,)
        assert found[0].tobytes() == np.ascontiguousarray(model.coef_.T).tobytes()
        np.testing.assert_array_equal(found[1], model.intercept_)
    else:
        assert len(found[0]) == X.shape[1]
        assert as_bytes(numbers(found)) == as_bytes(learned(model))
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(X)
        assert P.shape == (len(X), classes)
        np.testing.assert_allclose(P.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), P)


@two_and_more
@every_model
def test_sparse_equals_dense(name, classes):
    X, y = counts(classes=classes)
    dense, sparse = VARIANTS[name]().fit(X, y), VARIANTS[name]().fit(sp.csr_array(X), y)
    assert as_bytes(learned(dense)) == as_bytes(learned(sparse))
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csc_matrix(X)))


@two_and_more
@every_model
def test_row_order_does_not_matter(name, classes):
    X, y = counts(classes=classes)
    for order in (np.random.default_rng(1).permutation(len(y)), np.argsort(y, kind="stable")):
        same(VARIANTS[name]().fit(X, y), VARIANTS[name]().fit(X[order], y[order]), digits(name))


@two_and_more
@pytest.mark.parametrize("name", [name for name in VARIANTS if not by_steps(name) and name not in FLAT])
def test_feature_order_does_not_matter(name, classes):
    """Of the optimum; stochastic steps have none to end in, and take rows in an order that their columns decide."""
    X, y = counts(classes=classes)
    order = np.random.default_rng(1).permutation(X.shape[1])
    a = VARIANTS[name](**TIGHT.get(name, {})).fit(X, y)
    b = VARIANTS[name](**TIGHT.get(name, {})).fit(X[:, order], y)
    np.testing.assert_allclose(a.coef_[:, order], b.coef_, atol=1e-7)


@two_and_more
@every_model
def test_a_duplicated_row_is_a_row_of_weight_two(name, classes):
    X, y = counts(classes=classes)
    repeats = np.random.default_rng(2).integers(0, 4, len(y))
    repeats[:classes] = 1
    again = np.repeat(np.arange(len(y)), repeats)
    a = VARIANTS[name]().fit(X[again], y[again])
    same(a, VARIANTS[name]().fit(X, y, sample_weight=repeats), digits(name))


@two_and_more
@every_model
def test_rows_of_weight_zero_are_absent(name, classes):
    X, y = counts(classes=classes)
    kept = np.random.default_rng(3).random(len(y)) < 0.7
    kept[:classes] = True
    a = VARIANTS[name]().fit(X[kept], y[kept])
    b = VARIANTS[name]().fit(X, y, sample_weight=kept.astype(float))
    same(a, b, digits(name))
    labels = np.where(kept, y, 99)  # a class that has no weight is no class
    c = VARIANTS[name]().fit(X, labels, sample_weight=kept.astype(float))
    assert c.classes_.tolist() == list(range(classes))
    same(a, c, digits(name))


@two_and_more
@every_model
def test_threads_do_not_change_a_byte(name, classes):
    X, y = counts(n=200, d=60, classes=classes)
    for dtype in (np.float32, np.float64):
        M = Matrix.from_dense(X)
        M = Matrix(M.indptr, M.indices, M.values.astype(dtype), M.n_features)
        fits = [VARIANTS[name]().fit_matrix(M, y.astype(np.int32), classes, threads=t) for t in (1, 2, 3)]
        assert len({as_bytes(numbers(found)) for found in fits}) == 1
        assert fits[0][0].dtype == dtype


@pytest.mark.slow
def test_threads_of_blas_do_not_change_a_byte():
    script = """
        import hashlib, pickle, numpy as np, linnet.models
        from linnet.solvers import LBFGS, Adam
        from linnet.solvers.matrix import Matrix
        rng = np.random.default_rng(0)
        n, d, k = 20_000, 60_000, 8
        M = Matrix(np.arange(0, n * k + 1, k), rng.integers(0, d, n * k).astype(np.int32), rng.random(n * k), d)
        y = rng.integers(0, 2, n).astype(np.int32)
        optimised = [linnet.models.LogisticRegression(solver=s, max_iter=3) for s in (LBFGS(), Adam())]
        plain = [Model() for Model in linnet.models.MODELS.values() if hasattr(Model, "fit_matrix")]
        for model in (*plain, *optimised):
            print(hashlib.sha256(pickle.dumps(model.fit_matrix(M, y, 2))).hexdigest())
    """
    found = set()
    for threads in ("1", "4"):
        env = dict(os.environ, OPENBLAS_NUM_THREADS=threads, OMP_NUM_THREADS=threads)
        command = [sys.executable, "-c", textwrap.dedent(script)]
        found.add(subprocess.run(command, capture_output=True, text=True, env=env, check=True).stdout)
    assert len(found) == 1


@having("random_state")
def test_seeds(name):
    X, y = counts(n=100, classes=3)
    one, again, other = (VARIANTS[name](random_state=s).fit(X, y) for s in (1, 1, 2))
    assert as_bytes(learned(one)) == as_bytes(learned(again))
    if name not in EXACT and not name.endswith(DETERMINISTIC):
        assert as_bytes(learned(one)) != as_bytes(learned(other))
    assert (one.predict(X) == other.predict(X)).mean() > 0.9


@every_model
def test_float32_rows(name):
    X, y = counts(n=100)
    wide, narrow = VARIANTS[name]().fit(X / 3, y), VARIANTS[name]().fit((X / 3).astype(np.float32), y)
    assert learned(narrow)[0].dtype == np.float32
    if not by_steps(name):
        np.testing.assert_allclose(narrow.coef_, wide.coef_, atol=0.02)
    assert (narrow.predict(X / 3) == wide.predict(X / 3)).mean() > 0.95


@every_model
def test_reports_and_interrupts(name):
    X, y = counts(n=100)
    M, y = Matrix.from_dense(X), y.astype(np.int32)
    seen = []
    model = VARIANTS[name]()
    found = model.fit_matrix(M, y, 3, on_epoch=lambda news, weights: seen.append((news, weights())))
    if name in CLOSED:  # counted or solved in one go: nothing to report
        assert seen == []
        return
    assert [news.number for news, _ in seen] == list(range(1, len(seen) + 1))
    assert model.n_iter_ == len(seen)
    assert seen[-1][0].loss < seen[0][0].loss
    shapes = [a.shape for a in numbers(found)]
    assert all([a.shape for a in numbers(weights)] == shapes for _, weights in seen)
    np.testing.assert_allclose(seen[-1][1][0], found[0])

    def stop(news, weights):
        if news.number == 2:
            raise KeyboardInterrupt

    part = VARIANTS[name]()
    W2, _ = part.fit_matrix(M, y, 3, on_epoch=stop)
    assert part.n_iter_ == 2
    assert part.interrupted_
    assert not model.interrupted_
    np.testing.assert_allclose(W2, seen[1][1][0])


@having("class_weight")
def test_class_weight_is_sample_weight(name):
    X, y = counts(classes=3)
    labels = np.array(["a", "b", "c"])[y]
    a = VARIANTS[name](class_weight={"a": 2.0, "c": 4.0}).fit(X, labels)
    b = VARIANTS[name]().fit(X, labels, sample_weight=np.array([2.0, 1.0, 4.0])[y])
    same(a, b, digits(name))
    sizes = np.bincount(y)
    even = VARIANTS[name](class_weight="balanced").fit(X, labels)
    same(even, VARIANTS[name]().fit(X, labels, sample_weight=len(y) / (3 * sizes[y])), max(1e-9, digits(name)))


@having("fit_intercept")
def test_no_intercept(name):
    X, y = counts(classes=3)
    assert (VARIANTS[name](fit_intercept=False).fit(X, y).intercept_ == 0).all()


@pytest.mark.parametrize("name", ["svm", "logistic"])
def test_out_of_passes(name):
    from linnet.solvers.callbacks import ConvergenceWarning

    X, y = counts()
    with pytest.warns(ConvergenceWarning, match=r"stopped after max_iter=1 passes at a violation of .*, above tol="):
        VARIANTS[name](max_iter=1).fit(X, y)


@every_model
def test_gain(name):
    X, y = counts(classes=3)
    M = Matrix.from_dense(X)
    gain = np.random.default_rng(0).uniform(0.5, 2.0, (3, X.shape[1])).astype(np.float32)
    with_gain = Matrix(M.indptr, M.indices, M.values, M.n_features, gain)
    if not VARIANTS[name]().traits.gain_per_class or "sgd" in name or "l1" in name:
        with pytest.raises(ValueError, match="takes plain features"):
            VARIANTS[name]().fit_matrix(with_gain, y.astype(np.int32), 3)
        return
    model = VARIANTS[name](**TIGHT.get(name, {}))
    W, _ = model.fit_matrix(with_gain, y.astype(np.int32), 3)
    for c in range(3):
        alone = VARIANTS[name](**TIGHT.get(name, {})).fit(X * gain[c], y == c)
        np.testing.assert_allclose(W[:, c], alone.coef_[0] * gain[c], atol=1e-7)
    shared = Matrix(M.indptr, M.indices, M.values, M.n_features, gain[:1])
    U, _ = VARIANTS[name](**TIGHT.get(name, {})).fit_matrix(shared, y.astype(np.int32), 3)
    plain = VARIANTS[name](**TIGHT.get(name, {})).fit(X * gain[0], y)
    np.testing.assert_allclose(U, plain.coef_.T * gain[0][:, None], atol=1e-7)


@every_model
def test_present_features_without_values(name):
    """Rows as the features give them, ones with a scale a segment, are the rows written out."""
    X, y = counts(classes=3)
    M = Matrix.from_dense((X > 0).astype(float))
    scale = np.random.default_rng(0).uniform(0.5, 1.0, len(X)).astype(np.float32)
    short = Matrix(M.indptr, M.indices, np.zeros(0, np.float32), M.n_features, scale=scale)
    for implicit in (short, Matrix(M.indptr, M.indices, np.zeros(0, np.float32), M.n_features)):
        a, _ = VARIANTS[name]().fit_matrix(implicit, y.astype(np.int32), 3)
        b, _ = VARIANTS[name]().fit_matrix(implicit.explicit(), y.astype(np.int32), 3)
        np.testing.assert_allclose(a, b, atol=1e-4)
