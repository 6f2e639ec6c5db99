"""Losses, probabilities, ways down a surface, and naive Bayes as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from linnet.array_types import Array, Floats
from linnet.classifier import TextClassifier
from linnet.draw.charts import Axis, Layer, Line, Points, Segments, vertical
from linnet.draw.terminal import count
from linnet.figures.figure import Figure, Panel, contour
from linnet.figures.planes import GRID, X_AXIS, Y_AXIS, on_grid
from linnet.solvers import Adagrad, Epoch, GradientDescent, LinearProblem, Momentum, Newton, Optimiser, optimise
from linnet.solvers.losses import Logistic, log_sigmoid, margin_loss, sigmoid, softmax
from linnet.solvers.matrix import Matrix


def losses(z: float) -> Figure:
    """Draw the losses of one row over how far the right class leads."""
    styles = {
        "perceptron": ("orange", ""), "hinge": ("blue", ""), "squared hinge": ("blue", "6 3"), "log": ("green", ""),
        "squared": ("purple", "6 3"),
    }  # fmt: skip
    at = np.linspace(-2.0, 3.0, 101)
    drawn = [Line([(v, float(v <= 0)) for v in at.tolist()], "grey", "0-1", titles=False)]
    values = [["0-1", f"{float(z <= 0):.3f}", "+0.000"]]
    for name, (colour, dash) in styles.items():
        shown = "squared / 2" if name == "squared" else name
        points = zip(at.tolist(), margin_loss(name, at)[0].tolist(), strict=True)
        drawn.append(Line([(v, loss) for v, loss in points if loss <= 4.0], colour, shown, dash=dash, titles=False))
        (value,), (slope,) = margin_loss(name, z)
        values.append([shown, f"{value:.3f}", f"{slope:+.3f}"])
    x, y = Axis("margin: score of the right class, less the other"), Axis("loss", 0.0, 4.0)
    panel = Panel("Loss by margin", [*drawn, vertical(z, "grey")], x, y, height=320)
    return Figure([panel], [(f"At a margin of {z:g}", [["loss", "value", "slope"], *values])])


def probabilities(z: float, heads: int, tails: int) -> Figure:
    """Draw the sigmoid, the softmax of three scores, and the log-likelihood of a coin."""
    at = np.linspace(-6.0, 6.0, 121)
    p = float(sigmoid(np.array([z]))[0])
    x, y = Axis("score z"), Axis("probability", 0.0, 1.0)
    drawn = [_curve(at, sigmoid(at)), Points([(z, p)], "orange", radius=5)]
    one = Panel("Sigmoid", drawn, x, y, f"sigmoid({z:g}) = {p:.3f}")
    P = softmax(np.stack([at, np.ones_like(at), np.zeros_like(at)], axis=1))
    now = softmax(np.array([[z, 1.0, 0.0]]))[0]
    names = {"score z": "blue", "score 1": "orange", "score 0": "green"}
    curves = [_curve(at, P[:, k], colour, name) for k, (name, colour) in enumerate(names.items())]
    note = f"softmax({z:g}, 1, 0) = {', '.join(f'{value:.3f}' for value in now)}"
    three = Panel("Softmax", [*curves, vertical(z, "grey")], x, y, note)
    logit = np.linspace(-4.5, 4.5, 181)
    likelihood = _curve(sigmoid(logit), heads * log_sigmoid(logit) + tails * log_sigmoid(-logit))
    best = heads / max(1, heads + tails)
    said = f"{count(heads, 'head')}, {count(tails, 'tail')}: highest at {best:.3g}"
    coin = Panel(
        "Log-likelihood of a coin", [likelihood, vertical(best, "orange")], Axis("probability of heads", 0.0, 1.0),
        Axis("log-likelihood"), said,
    )  # fmt: skip
    return Figure([one, three, coin])


def _curve(x: Array, y: Array, colour: str = "blue", name: str = "") -> Line:
    return Line(list(zip(x.tolist(), y.tolist(), strict=True)), colour, name, titles=False)


SURFACE = np.array(
    [[2.2, 0.3], [1.8, -0.6], [2.4, 0.5], [-1.0, 0.7], [-2.0, -0.4], [-1.6, 0.5], [1.2, -0.6], [-0.6, -0.5]]
)
SIDES = np.array([1, 1, 0, 0, 0, 1, 1, 0], np.int32)
START = np.array([-2.6, 2.6])


def _surface() -> LinearProblem:
    rows = Matrix.from_dense(SURFACE)
    return LinearProblem(rows, SIDES, np.ones(len(SIDES)), Logistic(), 1, l2=0.2, fit_intercept=False)


@cache
def _contours() -> tuple[Layer, ...]:
    problem = _surface()
    F = on_grid(lambda W: np.array([problem.everything(w).value for w in W]))
    levels = np.quantile(F, np.linspace(0.01, 0.95, 12)).tolist()
    return tuple(Segments(contour(F, *GRID, level), "grey", width=0.7) for level in levels)


def descent(rate: float, steps: int) -> Figure:
    """Draw the ways of four optimisers down the loss of logistic regression with two weights."""
    problem, layers, ends = _surface(), list(_contours()), []
    optimisers: dict[str, tuple[str, Optimiser]] = {
        "gradient descent": ("blue", GradientDescent(rate)),
        "momentum": ("orange", Momentum(rate)),
        "Adagrad": ("green", Adagrad(rate, batch_size=None)),
        "Newton": ("purple", Newton()),
    }
    for name, (colour, optimiser) in optimisers.items():
        way = [START]

        def told(_: Epoch, weights: Callable[[], Any], way: list[Floats] = way) -> None:
            way.append(np.array(weights()[0]).ravel())

        optimise(problem, optimiser, w=START, max_epochs=steps, watch=told)
        inside = (np.abs(np.array(way)) <= (X_AXIS.high, Y_AXIS.high)).all(axis=1)
        kept = len(way) if inside.all() else int(np.argmin(inside))
        layers.append(Line([(float(a), float(b)) for a, b in way[:kept]], colour, name))
        end = way[-1]
        ends.append([name, str(len(way) - 1), f"{end[0]:.3g}, {end[1]:.3g}", f"{problem.everything(end).value:.4g}"])
    x, y = replace(X_AXIS, name="w1"), replace(Y_AXIS, name="w2")
    panel = Panel("Four ways down", layers, x, y, f"rate {rate:g}, up to {steps} steps", height=318)
    return Figure([panel], [("Where they end", [["optimiser", "steps", "weights", "loss"], *ends])])


REVIEWS = (
    ("great fun and a great cast", "+"), ("a great story well told", "+"), ("warm and funny", "+"), ("the cast is a joy", "+"),
    ("great start but a dull end", "-"), ("dull and slow", "-"), ("the story is a mess", "-"), ("not my cup of tea", "-"),
)  # fmt: skip
DOCUMENT_MODELS = (
    ("Bernoulli: share of texts with the word", "bernoulli", "presence"),
    ("Multinomial: share of all words", "nb", "count"),
)
WORDS = ("great", "cast", "story", "dull", "funny", "slow")


def naive_bayes(alpha: float, text: str) -> Figure:
    """Show P(word | class) of the two document models, and what a text comes to."""
    tables = []
    for title, name, tf in DOCUMENT_MODELS:
        settings = {"estimate": "predictive", "alpha": alpha} if alpha else {"estimate": "mle"}
        clf = TextClassifier(
            name, features="words:1", vocabulary=WORDS, tf=tf, calibrate=False, params=settings, n_jobs=1
        ).fit([t for t, _ in REVIEWS], [c for _, c in REVIEWS])  # fmt: skip
        rows = [[word, *(f"{p:.3f}" for p in clf.probabilities(word).values())] for word in WORDS]
        rows.append(["prior", *(f"{p:.3f}" for p in clf.probabilities().values())])
        rows.append(["P(class | text)", *(f"{p:.3f}" for p in clf.predict_proba([text])[0])])
        tables.append((title, [["word", *(f"P(word | {c})" for c in clf.classes_)], *rows]))
    return Figure(tables=tables)
