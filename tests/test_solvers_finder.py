"""The rate finder: worked sweeps, every optimiser and the one-row SGD, what it draws, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from linnet.errors import LinnetError
from linnet.models import LogisticRegression
from linnet.solvers import (
    LBFGS,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Chain,
    Clip,
    Constant,
    GradientDescent,
    Momentum,
    find_rate,
)
from linnet.solvers.descent import Sweep, sweep
from linnet.solvers.losses import SquaredHinge
from linnet.solvers.optimisers import with_settings


def data(n=800, d=30, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes))).argmax(axis=1)


def test_a_sweep_worked_by_hand():
    """The loss stands at 1, falls by a tenth a step from rate 0.01 on, and explodes at rate 1."""
    losses = {}

    def step(rate):
        level = 1.0 if rate < 0.01 else 0.9 ** np.log10(rate / 0.01) * 0.5 if rate < 1.0 else 100.0
        losses[rate] = level
        return level

    found = sweep(step, low=1e-4, high=100, steps=61)  # ten steps a decade
    np.testing.assert_allclose(found.rates[:3], [1e-4, 1e-4 * 10**0.1, 1e-4 * 10**0.2])
    assert list(losses.values())[: len(found.losses)] == found.losses.tolist()
    # the smoothed loss: 0.1 / 0.1, then means in which the last counts for a tenth
    mean = 0.0
    for k, (got, loss) in enumerate(zip(found.smoothed, found.losses, strict=True), 1):
        mean = 0.9 * mean + 0.1 * loss
        assert got == pytest.approx(mean / (1 - 0.9**k))
    assert found.rates[-1] == pytest.approx(1.0)  # it ends where the loss has exploded
    # steepest just after the fall began at 0.01; lowest just before 1, a tenth of which is 0.08
    assert 0.009 < found.suggestion < 0.02


def test_the_safe_tenth():
    """Where the loss falls most steeply right before it explodes, a tenth of the lowest point is taken."""
    found = sweep(lambda rate: 10.0 - rate**2 if rate < 3 else 1e6, low=1e-2, high=10, steps=31)
    lowest = found.rates[np.argmin(found.smoothed)]
    assert found.suggestion == pytest.approx(lowest / 10)


@pytest.mark.parametrize(
    "solver",
    [GradientDescent(), Momentum(), Adagrad(), Adadelta(), Adam(), Chain(Clip(1.0), Adam()), SGD()],
    ids=lambda v: type(v).__name__,
)
def test_suggested_rates_train(solver):
    """Ten passes at the suggested rate come closer to the optimum than at a hundredth or at a hundred times it."""
    X, y = data()
    found = find_rate(X, y, solver, seed=1)
    assert 1e-4 < found.suggestion < 10
    again = find_rate(sp.csr_array(X), y, solver, seed=1)
    np.testing.assert_array_equal(again.losses, found.losses)
    assert find_rate(X, y, solver, seed=2).losses.tolist() != found.losses.tolist()

    def loss(rate):
        if isinstance(solver, SGD):
            value = SGD(learning_rate=rate, schedule=Constant(), average=False)  # averages forgive almost any rate
        else:
            value = with_settings(solver, learning_rate=rate, batch_size=64)
        try:
            model = LogisticRegression(solver=value, max_iter=10).fit(X, y)
        except LinnetError:  # diverged
            return np.inf
        return -np.mean(model.predict_log_proba(X)[np.arange(len(y)), y])

    good = loss(found.suggestion)
    assert good < loss(found.suggestion / 100)
    assert good < loss(found.suggestion * 100)


def test_other_losses_and_two_classes():
    X, y = data(classes=2)
    a = find_rate(X, np.array(["no", "yes"])[y], Adam(), loss=SquaredHinge(), C=10.0)
    assert 1e-3 < a.suggestion < 10
    assert find_rate(X, y, SGD(), loss="hinge").suggestion > 1e-4
    assert a.losses[0] == 1.0  # every slack is one at zero weights


def test_plots():
    X, y = data()
    found = find_rate(X, y, Adam())
    lines = str(found).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("loss ")
    assert set(lines[0][5:]) <= set("▁▂▃▄▅▆▇█")
    assert lines[1].strip() == f"^ rate {found.suggestion:.2g}"
    assert "<svg" in found._repr_html_()
    assert f"suggested {found.suggestion:.2g}" in found._repr_html_()
    flat = Sweep(np.array([0.1, 1.0]), np.ones(2), np.ones(2), 0.1)
    assert "▁▁" in str(flat)
    assert "nan" not in flat._repr_html_()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": LBFGS()}, "only optimisers with a rate can be swept"),
        ({"solver": Adam(), "loss": "hinge"}, "an optimiser takes a loss of linnet.solvers.losses"),
        ({"solver": SGD(), "loss": SquaredHinge()}, "SGD takes the loss perceptron, hinge, softmax"),
        ({"solver": Adam(), "low": 1.0, "high": 0.1}, "0 < low < high"),
        ({"solver": Adam(), "steps": 3}, "10 steps or more"),
        ({"solver": GradientDescent(), "low": 1e5, "high": 1e6}, "the loss never fell .* try a smaller low"),
    ],
    ids=str,
)
def test_sweeps_that_cannot_be(settings, message):
    X, y = data(n=100)
    with pytest.raises(LinnetError, match=message):
        find_rate(X, y, **settings)
