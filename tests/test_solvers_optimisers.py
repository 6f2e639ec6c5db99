"""Optimisers: every update against the textbook's formula written out, schedules, chains, settings."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from linnet.errors import LinnetError
from linnet.figures.updates import one_step
from linnet.models import LinearSVM, LogisticRegression
from linnet.solvers import (
    LBFGS,
    OPTIMISERS,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Chain,
    Clip,
    Constant,
    Cosine,
    EarlyStopping,
    Exponential,
    Function,
    GradientDescent,
    Inverse,
    InverseRoot,
    Momentum,
    Newton,
    Optimiser,
    ProximalGradient,
    Step,
    WarmUp,
    optimise,
)
from linnet.solvers.losses import MARGIN_LOSSES, margin_loss

GRADIENTS = np.random.default_rng(0).normal(size=(7, 5)) * np.array([1e-3, 1.0, 1.0, 50.0, 0.0])
SCHEDULE = Inverse(half=2.0)


def steps_of(method):
    """The steps for the gradients above, one pass each."""
    memory = method.init(np.zeros(5))
    steps, lengths = [], []
    for t, g in enumerate(GRADIENTS):
        before = g.copy()
        step, length, memory = method.update(g, memory, float(t))
        np.testing.assert_array_equal(g, before)  # the gradient is the caller's
        steps.append(step.copy())
        lengths.append(np.broadcast_to(length, 5).copy())
    return np.array(steps), np.array(lengths)


def rates(first):
    return [first / (1 + t / 2) for t in range(len(GRADIENTS))]


def test_gradient_descent_by_hand():
    steps, lengths = steps_of(GradientDescent(0.3, SCHEDULE))
    np.testing.assert_allclose(steps, [-r * g for r, g in zip(rates(0.3), GRADIENTS, strict=True)], rtol=1e-15)
    np.testing.assert_allclose(lengths[:, 0], rates(0.3))


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_by_hand(nesterov):
    v, want = np.zeros(5), []
    for r, g in zip(rates(0.3), GRADIENTS, strict=True):
        v = 0.8 * v + g
        want.append(-r * (g + 0.8 * v) if nesterov else -r * v)
    steps, _ = steps_of(Momentum(0.3, SCHEDULE, beta=0.8, nesterov=nesterov))
    np.testing.assert_allclose(steps, want, rtol=1e-14)


def test_nesterovs_form_looks_ahead():
    """Nesterov: w_next = z - rate gradient(z), z_next = w_next + beta (w_next - w). The flag walks the points z."""
    A = np.diag([1.0, 10.0])
    rate, beta = 0.05, 0.9
    z = w = np.ones(2)
    f = Function(lambda x: (float(x @ A @ x) / 2, A @ x), size=2)
    for _ in range(5):
        before, w = w, z - rate * (A @ z)
        z = w + beta * (w - before)
    found = optimise(f, Momentum(rate, beta=beta, nesterov=True), w=np.ones(2), max_epochs=5)
    np.testing.assert_allclose(found.w, z, rtol=1e-13)


def test_adagrad_by_hand():
    total, want = np.zeros(5), []
    for r, g in zip(rates(0.3), GRADIENTS, strict=True):
        total = total + g**2
        want.append(-r * g / (np.sqrt(total) + 1e-10))
    steps, _ = steps_of(Adagrad(0.3, SCHEDULE))
    np.testing.assert_allclose(steps, want, rtol=1e-14)


def test_adadelta_by_hand():
    E, D, want = np.zeros(5), np.zeros(5), []
    for g in GRADIENTS:
        E = 0.9 * E + 0.1 * g**2
        d = np.sqrt(D + 1e-6) / np.sqrt(E + 1e-6) * g
        D = 0.9 * D + 0.1 * d**2
        want.append(-d)
    steps, _ = steps_of(Adadelta(rho=0.9, eps=1e-6))
    np.testing.assert_allclose(steps, want, rtol=1e-13)


def test_adam_by_hand():
    m, v, want = np.zeros(5), np.zeros(5), []
    for k, (r, g) in enumerate(zip(rates(0.3), GRADIENTS, strict=True), 1):
        m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g**2
        want.append(-r * (m / (1 - 0.8**k)) / (np.sqrt(v / (1 - 0.9**k)) + 1e-8))
    steps, _ = steps_of(Adam(0.3, SCHEDULE, beta1=0.8, beta2=0.9))
    np.testing.assert_allclose(steps, want, rtol=1e-13)


@pytest.mark.parametrize("method", [GradientDescent(0.1), Momentum(0.1), Adagrad(eps=0.0), Adadelta(), Adam(eps=0.0)])
def test_a_weight_without_a_gradient_stays(method):
    steps, lengths = steps_of(method)
    assert (steps[:, 4] == 0).all()
    assert np.isfinite(lengths).all()


@pytest.mark.parametrize("method", [GradientDescent(0.1), Momentum(0.01), Adagrad(), Adadelta(), Adam(0.01)])
def test_length_times_gradient_is_the_step_in_the_long_run(method):
    """What the L1 threshold relies on: under a constant gradient, step = -length * gradient."""
    g = np.array([2.0, -0.5])
    memory = method.init(g)
    for k in range(400):
        step, length, memory = method.update(g, memory, float(k))
    np.testing.assert_allclose(step, -length * g, rtol=1e-6)


def test_schedules_at_known_points():
    t = np.array([0.0, 1.0, 2.0, 4.0])
    assert Constant()(t).tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(Inverse(2.0)(t), [1, 2 / 3, 1 / 2, 1 / 3])
    np.testing.assert_allclose(InverseRoot()(t), [1, 2**-0.5, 3**-0.5, 5**-0.5])
    np.testing.assert_allclose(Step(2, factor=0.1)(t), [1, 1, 0.1, 0.01])
    np.testing.assert_allclose(Exponential(0.5)(t), [1, 0.5, 0.25, 0.0625])
    np.testing.assert_allclose(Cosine(4, least=0.2)(t), [1, 0.2 + 0.4 * (1 + math.cos(math.pi / 4)), 0.6, 0.2])
    np.testing.assert_allclose(WarmUp(2, then=Exponential(0.5), first=0.5)(t), [0.5, 0.75, 1.0, 0.25])
    np.testing.assert_allclose((Step(2) * Cosine(4))(t), Step(2)(t) * Cosine(4)(t))
    # a number is an array of no dimension
    assert float(WarmUp(2, then=Cosine(2))(np.array(3.0))) == pytest.approx(0.5)


def test_every_solver_takes_every_schedule():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    for schedule in (Step(2), Exponential(0.5), Cosine(3), WarmUp(1), WarmUp(1) * Inverse()):
        for solver in (SGD(learning_rate=0.1, schedule=schedule), Adam(schedule=schedule, batch_size=8)):
            assert np.isfinite(LogisticRegression(solver=solver, max_iter=3).fit(X, y).coef_).all()


def test_clip_and_chain():
    clip = Clip(5.0)
    for g in GRADIENTS:
        out, _, _ = clip.update(g, (), 0.0)
        assert np.linalg.norm(out) <= 5.0 + 1e-12
        np.testing.assert_allclose(out * np.linalg.norm(g), g * np.linalg.norm(out))
    steps, _ = steps_of(Chain(clip, Momentum(0.3, SCHEDULE)))
    v, want = np.zeros(5), []
    for r, g in zip(rates(0.3), GRADIENTS, strict=True):
        v = 0.9 * v + g * min(1.0, 5.0 / np.linalg.norm(g))
        want.append(-r * v)
    np.testing.assert_allclose(steps, want, rtol=1e-13)
    chain = Chain(clip, Adam(batch_size=32))
    assert chain.batch_size == 32
    with pytest.raises(LinnetError, match="a chain ends in an optimiser"):
        Chain(Adam(), clip)


VALUES = [
    *(cls() for cls in OPTIMISERS.values()),
    Adam(0.01, WarmUp(1, then=Cosine(20)), batch_size=64),
    Chain(Clip(1.0), Momentum(nesterov=True)),
    EarlyStopping(Chain(Clip(2.0), Adagrad(batch_size=16)), patience=3),
    Adam(schedule=Step(3) * Exponential(0.9)),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values(value):
    """They print as they are written, compare, hash, and survive what scikit-learn and processes do to settings."""
    from sklearn.base import clone

    import linnet.solvers

    names = {name: getattr(linnet.solvers, name) for name in linnet.solvers.__all__}
    assert eval(repr(value), names) == value
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
    assert hash(copy.deepcopy(value)) == hash(value)
    model = clone(LogisticRegression(C=2.0, solver=value))
    assert model.get_params()["solver"] == value
    assert repr(model) == f"LogisticRegression(C=2.0, solver={value!r})"
    with pytest.raises(AttributeError):  # frozen
        value.tol = 1.0


@pytest.mark.filterwarnings("ignore::linnet.solvers.callbacks.ConvergenceWarning")
def test_names():
    for name, cls in OPTIMISERS.items():
        assert name == name.lower()
        assert issubclass(cls, Optimiser)
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 3
    for name in OPTIMISERS:
        a = LogisticRegression(solver=name, max_iter=5 if name != "newton" else None).fit(X, y)
        assert a.n_iter_ == 5 or name == "newton"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adam(learning_rate=0), "learning_rate must be a number above 0, got 0"),
        (lambda: Adam(learning_rate=float("nan")), "learning_rate must be a number above 0, got nan"),
        (lambda: Adam(batch_size=0), "batch_size must be a whole number from 1, got 0"),
        (lambda: Adam(batch_size=2.5), "batch_size must be a whole number"),
        (lambda: Adam(beta1=1.0), "beta1 must be a number from 0 and below 1, got 1.0"),
        (lambda: Momentum(beta=-0.1), "beta must be a number from 0 and below 1"),
        (lambda: Adadelta(rho=1.5), "rho must be a number from 0 and below 1"),
        (lambda: GradientDescent(tol=-1), "tol must be a number from 0"),
        (lambda: LBFGS(history=0), "history must be a whole number from 1"),
        (lambda: Newton(tol=-1.0), "tol must be a number from 0"),
        (lambda: Clip(0), "most must be a number above 0"),
        (lambda: Step(0), "every must be a number above 0"),
        (lambda: Exponential(1.5), "factor must be above 0 and at most 1"),
        (lambda: Cosine(0), "over must be a number above 0"),
        (lambda: Cosine(least=2), "least must be a number from 0 to 1"),
        (lambda: WarmUp(first=-1), "first must be a number from 0 to 1"),
        (lambda: EarlyStopping("adam"), "an optimiser is a value such as Adam"),
        (lambda: EarlyStopping(patience=0), "patience must be a whole number from 1"),
        (lambda: EarlyStopping(validation_fraction=1.0), "validation_fraction must be a number between 0 and 1"),
        (lambda: GradientDescent().rate_at(0.0), "GradientDescent has no rate yet"),
    ],
)
def test_settings_that_cannot_be(make, message):
    with pytest.raises(LinnetError, match=message):
        make()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearSVM(solver=Adam(), loss="hinge"), "the smooth loss"),
        (LinearSVM(solver="adam", cost=[[0, 1], [1, 0]]), "cost belongs to solver='sgd'"),
        (LinearSVM(solver="lbfgs", C=-1), "C must be a number above 0"),
        (LogisticRegression(solver="lbfgs", max_iter=0), "max_iter must be a whole number"),
        (LogisticRegression(solver="adma"), r"did you mean 'adam'"),
        (LogisticRegression(solver=ProximalGradient), "solver must be one of"),
    ],
)
def test_models_that_cannot_be(model, message):
    X, y = np.random.default_rng(0).normal(size=(10, 3)), np.arange(10) % 2
    with pytest.raises(LinnetError, match=message):
        model.fit(X, y)


@pytest.mark.parametrize("name", MARGIN_LOSSES)
def test_slopes_of_losses_are_their_derivatives(name):
    z = np.array([-2.3, -0.4, 0.3, 0.9, 1.7])
    value, slope = margin_loss(name, z)
    near = (margin_loss(name, z + 1e-6)[0] - margin_loss(name, z - 1e-6)[0]) / 2e-6
    np.testing.assert_allclose(slope, near, atol=1e-6)
    assert (value >= 0).all()
    if name in ("perceptron", "hinge"):  # as the solver of single steps counts it
        counted = [one_step(np.array([[0.0, v]]), np.zeros(2), np.ones(1), 1, name, intercept=False)[2] for v in z]
        np.testing.assert_allclose(value, counted)
