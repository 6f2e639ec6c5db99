"""One update at a time: on three classes, on points, on a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from linnet.array_types import Floats
from linnet.classifier import TextClassifier
from linnet.draw.charts import Layer, Points, Segments
from linnet.figures.figure import Figure, Panel, contour
from linnet.figures.planes import GRID, NAMES, X_AXIS, Y_AXIS, Dots, arrays, dots, on_grid
from linnet.solvers.matrix import Matrix, as_given
from linnet.solvers.online import SGD, descend
from linnet.solvers.optimisers import Constant

RULES = {"perceptron": "perceptron", "SVM (a cost of 1)": "hinge", "logistic regression": "softmax"}
THREE = np.array([[0.3, 0.7, 0.8], [-0.2, 2.2, 4.0], [-4.0, -4.0, -4.0]])
ROW = np.array([2.0, 1.0, 0.0])


def one_step(
    W: Floats, b: Floats, x: Floats, label: int, loss: str, rate: float = 1.0, intercept: bool = True
) -> tuple[Floats, Floats, float]:
    """Let the solver of single steps take one row; returns the weights after it, and the loss before it."""
    n = W.shape[1]
    cost = 1.0 - np.eye(n) if loss == "hinge" else None
    found: list[float] = []
    run = descend(
        Matrix.from_dense(x[None, :]), np.array([label], np.int32), n, as_given(1), loss=loss, cost=cost,
        sgd=SGD(learning_rate=rate, schedule=Constant(), average=False), bias_scale=float(intercept), max_epochs=1, start=(W, b),
        on_epoch=lambda report, _: found.append(report.loss),
    )  # fmt: skip
    return run.W, run.b, found[0]


@dataclass(frozen=True)
class Update:
    """Weights, (n_features, n_classes), and intercepts of a model that is stepped row by row."""

    W: Floats
    b: Floats
    rule: str = "perceptron"
    rate: float = 1.0
    intercept: bool = True

    def then(self, x: Floats, label: int) -> Update:
        """Return the weights after one row."""
        W, b, _ = one_step(self.W, self.b, x, label, RULES[self.rule], self.rate, self.intercept)
        return replace(self, W=W, b=b)

    def scores(self, X: Floats) -> Floats:
        """Return a score a class."""
        return X @ self.W + self.b

    def lead(self, X: Floats) -> Floats:
        """Return by how much the second of two classes leads."""
        return np.diff(self.scores(X))[:, 0]

    def tables(self, new: Update, x: Floats, label: int, names: Sequence[str]) -> list[tuple[str, list[list[str]]]]:
        """Say what a step did: scores, who was blamed, and the weights before and after."""
        before, after = self.scores(x), new.scores(x)
        blamed = [c for c, a, b in zip(names, before, after, strict=True) if b < a - 1e-12]
        chosen = names[int(before.argmax())]
        who = "Press Step." if new is self else f"Blamed: {', '.join(blamed) or 'nobody, the weights stay'}."
        what = f"Chosen: {chosen}. Right: {names[label]}. {who}"
        scores = [[c, _number(a), _number(b)] for c, a, b in zip(names, before, after, strict=True)]
        weights = [
            [f"x{j + 1} = {_number(x[j])}", *(f"{_number(self.W[j, c])} to {_number(new.W[j, c])}" for c in range(len(names)))]
            for j in range(len(x))
        ]  # fmt: skip
        if self.intercept:
            both = zip(self.b, new.b, strict=True)
            weights.append(["intercept", *(f"{_number(a)} to {_number(b)}" for a, b in both)])
        return [(what, [["class", "score before", "after"], *scores]), ("Weights", [["feature", *names], *weights])]


def _number(value: float) -> str:
    return f"{round(float(value), 2) + 0.0:g}"


def update(rule: str, rate: float, steps: int) -> Figure:
    """Step one row of three features, three classes, of which the first is right."""
    now = new = Update(THREE.T, np.zeros(3), rule, rate, intercept=False)
    for _ in range(steps):
        now, new = new, new.then(ROW, 0)
    return Figure(tables=now.tables(new, ROW, 0, ("1", "2", "3")))


def walk(points: Dots, rule: str, rate: float, steps: int) -> Figure:
    """Step over points in a plane, one after another; the line before the last step is dashed."""
    now = new = Update(np.zeros((2, 2)), np.zeros(2), rule, rate)
    X, y = arrays(points)
    for k in range(steps):
        now, new = new, new.then(X[k % len(X)], int(y[k % len(X)]))
    at = max(steps - 1, 0) % len(X)
    layers: list[Layer] = []
    for one, dash in ((now, "5 4"), (new, "")):
        layers.append(Segments(contour(on_grid(one.lead), *GRID), "grey", dash=dash))
    layers += [Points([points[at][:2]], "purple", radius=11, ring=True), *dots(points, keys=True)]
    right = int((new.scores(X).argmax(axis=1) == y).sum())
    note = f"Step {steps}: point {at + 1} (ring). {right} of {len(points)} points are right."
    panel = Panel("The line before (dashed) and after the step", layers, X_AXIS, Y_AXIS, note)
    return Figure([panel], now.tables(new, X[at], int(y[at]), NAMES))


STORIES = (("a great film, warm and funny", "good"), ("a dull film, long and cold", "bad"), ("great cast, funny plot", "good"),
           ("long, dull and not funny", "bad"))  # fmt: skip


def sentence(text: str, label: str, model: str, steps: int) -> Figure:
    """Step a model of text: what one sentence does to its own score."""
    clf = TextClassifier(model, features="words:1", norm=None, idf=False, calibrate=False, n_jobs=1)
    clf.partial_fit([t for t, _ in STORIES], [c for _, c in STORIES])
    if not text.strip() or not steps:
        scores = [[c, f"{clf.label_score(text, c):+.2f}"] for c in ("bad", "good")]
        return Figure(tables=[(f"Before the first step: {clf.classify(text)}", [["class", "score"], *scores])])
    for _ in range(steps):
        step = clf.step(text, label)
    blamed = ", ".join(map(str, step.blamed)) or "nobody"
    what = f"Chosen: {step.predicted}. Right: {step.label}. Blamed: {blamed}."
    scores = [[str(c), f"{a:+.2f}", f"{b:+.2f}"] for c, (a, b) in step.scores.items()]
    weights = [[name, f"{a:+.2f}", f"{b:+.2f}"] for name, a, b in step.weights[step.label]]
    added = (f"What each word adds to {label}", [["word", "before", "after"], *weights])
    return Figure(tables=[(what, [["class", "score before", "after"], *scores]), added])
