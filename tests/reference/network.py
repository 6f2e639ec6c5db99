"""The network kernel in plain Python.

A row is a list of (column, value) pairs, a layer a pair (A, a) of lists. Gradients are kept for every embedding, touched
or not.

>>> layers = [([[1.0, 1.0], [1.0, 1.0]], [0.0, -1.0]), ([[1.0], [-2.0]], [0.0])]
>>> forward([(0, 1.0), (1, 1.0)], [[1.0, 0.0], [0.0, 1.0]], layers)[-1]
[0.0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["cross_entropy", "descend", "forward", "gradient", "targets"]

Row = list[tuple[int, float]]
Vector = list[float]
Matrix = list[list[float]]
Layers = list[tuple[Matrix, Vector]]


def forward(row: Row, E: Matrix, layers: Layers, mask: Sequence[float] | None = None) -> list[Vector]:
    """Return e, the hidden numbers where there is a hidden layer (masked), and the scores."""
    values = [[sum((v * E[j][c] for j, v in row), 0.0) for c in range(len(E[0]))]]
    for A, a in layers[:-1]:
        values.append([max(0.0, z) for z in _affine(values[-1], A, a)])
    if mask is not None:
        values[-1] = [h * m for h, m in zip(values[-1], mask, strict=True)]
    return [*values, _affine(values[-1], *layers[-1])]


def _affine(x: Vector, A: Matrix, a: Vector) -> Vector:
    return [a[c] + sum(x[k] * A[k][c] for k in range(len(x))) for c in range(len(a))]


def targets(label: int, n_outputs: int, smoothing: float) -> Vector:
    """Return the smoothed target of each class; two classes have one output, the target of the second.

    >>> targets(0, 4, 0.2)
    [0.8500000000000001, 0.05, 0.05, 0.05]
    >>> targets(1, 1, 0.2)
    [0.9]
    """
    if n_outputs == 1:
        return [(1.0 - smoothing) * label + smoothing / 2]
    return [(1.0 - smoothing) * (c == label) + smoothing / n_outputs for c in range(n_outputs)]


def cross_entropy(scores: Vector, target: Vector) -> tuple[float, Vector]:
    """Return the loss and its derivative by the scores, p - t."""
    if len(scores) == 1:
        z, t = scores[0], target[0]
        p = 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))
        return max(z, 0.0) + math.log1p(math.exp(-abs(z))) - t * z, [p - t]
    top = max(scores)
    log_total = top + math.log(sum(math.exp(z - top) for z in scores))
    loss = -sum(t * (z - log_total) for z, t in zip(scores, target, strict=True))
    return loss, [math.exp(z - log_total) - t for z, t in zip(scores, target, strict=True)]


def gradient(
    rows: list[Row], y: Sequence[int], weight: Sequence[float], E: Matrix, layers: Layers, *, smoothing: float,
    masks: Sequence[Sequence[float]] | None = None,
) -> tuple[float, Matrix, Layers]:  # fmt: skip
    """Return the loss of the rows, its gradient by every embedding, and by every layer."""
    total = 0.0
    dE = [[0.0] * len(E[0]) for _ in E]
    d_layers: Layers = [([[0.0] * len(a) for _ in A], [0.0] * len(a)) for A, a in layers]
    for i, row in enumerate(rows):
        mask = None if masks is None else masks[i]
        values = forward(row, E, layers, mask)
        loss, d = cross_entropy(values[-1], targets(y[i], len(values[-1]), smoothing))
        total += weight[i] * loss
        d = [weight[i] * g for g in d]
        for k in range(len(layers) - 1, -1, -1):
            (A, _), (dA, da), x = layers[k], d_layers[k], values[k]
            for c, g in enumerate(d):
                da[c] += g
                for r in range(len(x)):
                    dA[r][c] += x[r] * g
            d = [sum(A[r][c] * g for c, g in enumerate(d)) for r in range(len(x))]
            if k == len(layers) - 1 and mask is not None:
                d = [g * m for g, m in zip(d, mask, strict=True)]
            if k > 0:
                d = [g if x[r] > 0.0 else 0.0 for r, g in enumerate(d)]
        for j, v in row:
            for c, g in enumerate(d):
                dE[j][c] += v * g
    return total, dE, d_layers


def descend(
    rows: list[Row], y: Sequence[int], weight: Sequence[float], order: Sequence[int], batch: int, E: Matrix,
    layers: Layers, squares_E: Vector, squares: Vector, *, smoothing: float, step: str, rate: float, share: float,
    masks: Sequence[Sequence[float]] | None = None, clip: float = 0.0,
) -> float:  # fmt: skip
    """Take a step a batch, in place; squares are those of the layers' numbers, one after another. Returns the loss."""
    total = 0.0
    for first in range(0, len(order), batch):
        part = order[first : first + batch]
        loss, dE, d_layers = gradient(
            [rows[i] for i in part], [y[i] for i in part], [weight[i] for i in part], E, layers, smoothing=smoothing,
            masks=None if masks is None else masks[first : first + batch],
        )  # fmt: skip
        total += loss
        entries = [*dE, *(row for dA, da in d_layers for row in [*dA, da])]
        length = share * math.sqrt(sum(d * d for row in entries for d in row))
        all_of_it, share = share, share * clip / length if clip and length > clip else share
        for j in {j for i in part for j, _ in rows[i]}:
            g = [share * d for d in dE[j]]
            squares_E[j] += sum(d * d for d in g) / len(g)
            E[j] = [w - d for w, d in zip(E[j], _steps(g, [squares_E[j]] * len(g), step, rate), strict=True)]
        flat = [(A_row, c, share * d) for (A, a), (dA, da) in zip(layers, d_layers, strict=True)
                for A_row, d_row in [*zip(A, dA, strict=True), (a, da)] for c, d in enumerate(d_row)]  # fmt: skip
        for k, (_, _, d) in enumerate(flat):
            squares[k] += d * d
        for (where, c, _), d in zip(flat, _steps([d for _, _, d in flat], squares, step, rate), strict=True):
            where[c] -= d
        share = all_of_it
    return total


def _steps(g: Vector, squares: Vector, step: str, rate: float) -> Vector:
    if step == "sgd":
        return [rate * d for d in g]
    return [rate * d / math.sqrt(s) if s > 0.0 else 0.0 for d, s in zip(g, squares, strict=True)]
