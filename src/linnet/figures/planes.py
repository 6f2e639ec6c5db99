"""Points in a plane, and where models draw the line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linnet.array_types import Floats, Ints
from linnet.draw.charts import Axis, Layer, Points, Segments
from linnet.draw.terminal import count
from linnet.features.vectorizer import Quadratic
from linnet.figures.figure import Figure, Panel, contour
from linnet.models import RBF, FeedForward, KernelPerceptron, LeastSquares, LinearSVM, LogisticRegression, Perceptron

Dots = Sequence[tuple[float, float, int]]  # points (x, y, class)

X_AXIS, Y_AXIS = Axis("x1", -4.7, 4.7), Axis("x2", -3.0, 3.0)  # a unit is as long on both
GRID = np.linspace(-4.7, 4.7, 36), np.linspace(-3.0, 3.0, 24)
NAMES = ("orange", "blue")  # of the classes, and their colours


def fitted(model: Any, points: Dots, products: int) -> Callable[[Floats], Floats]:
    """Fit a model to points, over their features multiplied so many times; returns its score for rows of the plane."""

    def rows(X: Floats) -> Floats:
        for _ in range(products):
            X = Quadratic().fit_transform(X)
        return X

    X, y = arrays(points)
    model.fit(rows(X), y)
    return lambda X: np.asarray(model.decision_function(rows(X)))


def arrays(points: Dots) -> tuple[Floats, Ints]:
    """Return the places of points, (n_points, 2), and their classes."""
    return np.array([point[:2] for point in points]), np.array([point[2] for point in points])


def right_by(score: Callable[[Floats], Floats], points: Dots) -> Floats:
    """Return the score of each point, above zero where it is on its side of the line."""
    X, y = arrays(points)
    return score(X) * (2 * y - 1)


def on_grid(score: Callable[[Floats], Floats]) -> Floats:
    """Return a score over the plane, (n_y, n_x)."""
    x, y = GRID
    return score(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(len(y), len(x))


def dots(points: Dots, *, keys: bool = False, ring: bool = False, movable: bool = True) -> list[Layer]:
    """Return the points as layers, one a class."""
    out: list[Layer] = []
    for c in (0, 1):
        mine = [(k, x, y) for k, (x, y, label) in enumerate(points) if label == c]
        titles = [f"point {k + 1}, {NAMES[c]}, at {x:.1f}, {y:.1f}" for k, x, y in mine]
        numbers = [k for k, _, _ in mine] if movable else []
        at = [(x, y) for _, x, y in mine]
        out.append(Points(at, NAMES[c], titles=titles, radius=6, numbers=numbers, keys=keys, ring=ring))
    return out


def separated(title: str, model: Any, points: Dots, *, products: int = 0, keys: bool = False, new: Dots = ()) -> Panel:
    """Fit a model to points and draw its line, its margin and the points that hold it; new points are only counted."""
    score = fitted(model, points, products)
    F, at = on_grid(score), right_by(score, points)
    layers: list[Layer] = [Segments(contour(F, *GRID), "grey", width=2.5)]
    note = f"{int((at <= 0).sum())} of {len(points)} wrong"
    if new:
        unseen = int((right_by(score, new) <= 0).sum())
        note += f" here, {unseen} of {len(new)} new points (rings)"
    elif not isinstance(model, FeedForward):
        margin = 1.0 if isinstance(model, LinearSVM) else float(at.min())  # below 0: the classes are not separated
        both = contour(F, *GRID, margin) + contour(F, *GRID, -margin) if margin > 0 else []
        layers.append(Segments(both, "grey", dash="5 4", width=1.2))
        if both and not products and hasattr(model, "coef_"):
            note += f", margin {2 * margin / np.linalg.norm(model.coef_):.2f} wide"
        if hasattr(model, "support_"):
            layers.append(Points([points[k][:2] for k in model.support_.tolist()], "grey", radius=10, ring=True))
            note += f", {count(len(model.support_), 'support vector')}"
    layers += [*dots(new, ring=True, movable=False), *dots(points, keys=keys)]
    return Panel(title, layers, X_AXIS, Y_AXIS, note)


def lines(points: Dots, C: float) -> Figure:  # noqa: N803 - the setting's own name
    """Draw the lines of five models through the same points."""
    models = {
        "Perceptron": Perceptron(average=False),
        "Support vector machine": LinearSVM(C=C, loss="hinge", tol=1e-4),
        "Logistic regression": LogisticRegression(C=C),
        "Least squares": LeastSquares(),
        "Kernel perceptron (RBF)": KernelPerceptron(RBF(0.5)),
    }
    return Figure([separated(name, m, points, keys=not k) for k, (name, m) in enumerate(models.items())])


def exclusive_or(points: Dots) -> Figure:
    """Draw what a line, products of features, a kernel and a net make of exclusive-or."""
    models = {
        "A line": (LinearSVM(C=10.0), 0),
        "A line over x1, x2 and their products": (LinearSVM(C=10.0), 1),
        "Kernel perceptron (RBF)": (KernelPerceptron(RBF(0.5)), 0),
        "A net with 16 hidden units": (FeedForward(dim=8, hidden=16, learning_rate=0.2, max_iter=100), 0),
    }
    return Figure([
        separated(name, m, points, products=n, keys=not k) for k, (name, (m, n)) in enumerate(models.items())
    ])  # fmt: skip


def overfitting(points: Dots, C: float) -> Figure:  # noqa: N803
    """Draw logistic regression over all products of up to four features, without and with a penalty."""
    rng = np.random.default_rng(5)
    X = rng.uniform((-4.4, -2.8), (4.4, 2.8), (60, 2))
    new = [(x, y, int(x + 0.8 * y > 0)) for x, y in X.round(2).tolist()]
    models = {"Almost no penalty (C = 1,000,000)": 1e6, f"With a penalty (C = {C:g})": C}
    return Figure([
        separated(name, LogisticRegression(C=c, max_iter=300), points, products=2, keys=not k, new=new)
        for k, (name, c) in enumerate(models.items())
    ])  # fmt: skip


APART: Dots = (
    (-3.0, 1.0, 0), (-2.4, -0.6, 0), (-1.6, 1.4, 0), (-2.0, -1.8, 0), (-0.9, 0.2, 0), (-3.4, -1.2, 0), (2.6, 0.4, 1), (1.8, -1.2, 1),
    (3.0, 1.6, 1), (1.2, 1.2, 1), (2.2, 2.2, 1), (0.9, -0.5, 1),
)  # fmt: skip
CROSSED: Dots = ((-1.5, -1.5, 0), (1.5, 1.5, 0), (-1.5, 1.5, 1), (1.5, -1.5, 1))
NOISY: Dots = (
    (-3.6, 1.8, 0), (-2.8, -1.4, 0), (-2.2, 0.6, 0), (-1.0, -2.2, 0), (-1.4, 0.4, 0), (0.6, -1.6, 0), (-0.2, -0.6, 0), (1.6, 1.2, 0),
    (3.4, -1.8, 1), (2.6, 0.8, 1), (1.0, 1.9, 1), (2.0, -0.8, 1), (0.2, 1.2, 1), (-1.2, 2.4, 1), (3.6, 2.0, 1), (-2.0, -0.4, 1),
)  # fmt: skip
