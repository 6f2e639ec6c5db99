"""The figures: each is drawn by the real models, holds the textbook's numbers, and is one well-formed SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from linnet.figures import EXHIBITS, draw
from linnet.figures.figure import contour
from linnet.figures.planes import APART, arrays
from linnet.models import LinearSVM, Perceptron


@pytest.mark.parametrize("name", EXHIBITS)
def test_every_figure_with_every_value(name):
    exhibit = EXHIBITS[name]
    assert ET.fromstring(draw(name).svg()).tag.endswith("svg")
    for key, control in exhibit.controls.items():
        for value in (*control.values[:1], *control.values[-1:], *([1, 3] if control.kind == "steps" else [])):
            ET.fromstring(f"<div>{draw(name, **{key: value}).html()}</div>")  # a page must be able to read it


def test_the_step_of_the_lecture():
    before, after = draw("update"), draw("update", steps=1)
    assert [row[1] for row in before.tables[0][1][1:]] == ["1.3", "1.8", "-12"]
    assert [row[2] for row in after.tables[0][1][1:]] == ["6.3", "-3.2", "-12"]
    assert after.tables[0][0] == "Chosen: 2. Right: 1. Blamed: 2."
    assert after.tables[1][1][1] == ["x1 = 2", "0.3 to 2.3", "-0.2 to -2.2", "-4 to -4"]
    assert "nobody" in draw("update", steps=2).tables[0][0]


def test_the_lines_are_those_of_the_models():
    """Every short line of the drawn contour lies where the model's score is zero, and the rings are its support."""
    X, y = arrays(APART)
    drawn = draw("lines").panels
    for panel, model in zip(
        drawn[:2], (Perceptron(average=False), LinearSVM(C=10.0, loss="hinge", tol=1e-4)), strict=True
    ):
        model.fit(X, y)
        ends = np.array(panel.layers[0].points).reshape(-1, 2)
        assert np.abs(model.decision_function(ends)).max() < 1e-9
    assert f"{len(model.support_)} support vectors" in drawn[1].note
    assert f"margin {model.margin_[0]:.2f} wide" in drawn[1].note


def test_walking_is_the_perceptron():
    """One pass, step by step, is one epoch of the model without shuffling."""
    n = len(APART)
    model = Perceptron(average=False, shuffle=False, max_iter=1).fit(*arrays(APART))
    rows = draw("walk", steps=n).tables[1][1][1:]
    after = np.array([[float(cell.split(" to ")[1]) for cell in row[1:]] for row in rows])
    np.testing.assert_allclose(after[:, 1] - after[:, 0], [*model.coef_[0], model.intercept_[0]])


def test_losses_at_half():
    values = {row[0]: float(row[1]) for row in draw("losses", z=-0.5).tables[0][1][1:]}
    assert values == {
        "0-1": 1.0,
        "perceptron": 0.5,
        "hinge": 1.5,
        "squared hinge": 2.25,
        "log": 0.974,
        "squared / 2": 1.125,
    }


def test_the_coin_and_the_reviews():
    assert draw("probabilities").panels[2].note == "3 heads, 1 tail: highest at 0.75"
    bernoulli, multinomial = draw("naive-bayes", alpha=0.0).tables
    assert bernoulli[1][1] == ["great", "0.500", "0.250"]
    assert multinomial[1][1] == ["great", "0.429", "0.200"]  # 3 of the 7 and 1 of the 5 words of the vocabulary


def test_exclusive_or_and_overfitting():
    line, *others = draw("xor").panels
    assert line.note[0] != "0"
    assert all(panel.note.startswith("0 of 4 wrong") for panel in others)
    free, bound = (int(panel.note.split("here, ")[1].split()[0]) for panel in draw("overfitting").panels)
    assert bound < free


def test_newton_ends_lowest():
    ends = {row[0]: float(row[3]) for row in draw("descent").tables[0][1][1:]}
    assert min(ends, key=ends.get) == "Newton"
    draw("descent", rate=10.0)  # far outside the axes


def test_contour_of_a_circle():
    x = np.linspace(-1.0, 1.0, 81)
    F = 0.5 - x[None, :] ** 2 - x[:, None] ** 2
    radii = np.hypot(*np.array(contour(F, x, x)).reshape(-1, 2).T)
    np.testing.assert_allclose(radii, 0.5**0.5, atol=1e-3)
