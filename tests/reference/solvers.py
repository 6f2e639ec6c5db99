"""The kernels of sparse rows, dual coordinate descent and online learning in plain Python.

A row is a list of (column, value) pairs. Weights are dense lists, kept as they are written in the papers: no running
scale, no lazy average, no pairs of numbers in one cache line.

>>> dot([[(0, 2.0), (2, 1.0)], []], [[1.0], [5.0], [10.0]])
[[12.0], [0.0]]
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Average", "Fewer", "Lasso", "Margins", "Odds", "class_sums", "compact_rows", "curved_dot", "dot", "has_duplicates",
    "logistic_pass", "online_pass", "row_key", "rows_of", "scale_segment", "softmax_pass", "squared_columns", "svm_pass", "transpose",
    "transposed_dot",
]  # fmt: skip

Row = list[tuple[int, float]]
Table = list[list[float]]

WORD = (1 << 64) - 1


def rows_of(indptr: Sequence[int], indices: Sequence[int], values: Sequence[float]) -> list[Row]:
    """Read compressed rows.

    >>> rows_of([0, 2, 2], [3, 1], [5.0, 6.0])
    [[(3, 5.0), (1, 6.0)], []]
    """
    return [
        [(int(indices[k]), float(values[k])) for k in range(indptr[i], indptr[i + 1])] for i in range(len(indptr) - 1)
    ]


# ---- sparse


def dot(rows: list[Row], W: Sequence[Sequence[float]]) -> Table:
    """Return X W."""
    return [[sum((v * W[j][c] for j, v in row), 0.0) for c in range(len(W[0]))] for row in rows]


def transposed_dot(rows: list[Row], R: Sequence[Sequence[float]], n_features: int) -> Table:
    """Return X^T R."""
    out = [[0.0] * len(R[0]) for _ in range(n_features)]
    for row, r in zip(rows, R, strict=True):
        for j, v in row:
            for c, value in enumerate(r):
                out[j][c] += v * value
    return out


def curved_dot(
    rows: list[Row], h: Sequence[float], p: Sequence[float], shift: float, n_features: int
) -> tuple[list[float], float]:
    """Return X^T (h * (X p + shift)) and sum_i h_i (X p + shift)_i."""
    R = [[h[i] * (s[0] + shift)] for i, s in enumerate(dot(rows, [[v] for v in p]))]
    return [r[0] for r in transposed_dot(rows, R, n_features)], sum(r[0] for r in R)


def squared_columns(rows: list[Row], h: Sequence[float], n_features: int) -> list[float]:
    """Return sum_i h_i X[i, j]^2 for each column.

    >>> squared_columns([[(0, 3.0)], [(0, 1.0), (1, 2.0)]], [1.0, 10.0], 2)
    [19.0, 40.0]
    """
    squares = [[(j, v * v) for j, v in row] for row in rows]
    return [r[0] for r in transposed_dot(squares, [[v] for v in h], n_features)]


def transpose(rows: list[Row], n_features: int) -> list[Row]:
    """Return the columns as rows.

    >>> transpose([[(1, 5.0)], [(0, 6.0), (1, 7.0)]], 2)
    [[(1, 6.0)], [(0, 5.0), (1, 7.0)]]
    """
    out: list[Row] = [[] for _ in range(n_features)]
    for i, row in enumerate(rows):
        for j, v in row:
            out[j].append((i, v))
    return out


def has_duplicates(rows: list[Row]) -> bool:
    """Return whether some row has two entries in one column.

    >>> has_duplicates([[(0, 1.0)], [(0, 1.0), (2, 1.0)]])
    False
    """
    return any(len({j for j, _ in row}) < len(row) for row in rows)


def row_key(row: Row) -> int:
    """Return the 64-bit key of a row's content; the order of its entries and its zeros do not matter.

    >>> row_key([(0, 1.0), (3, 2.0)]) == row_key([(3, 2.0), (1, 0.0), (0, 1.0)])
    True
    """
    total = 0
    for j, v in row:
        if v != 0.0:
            bits = int.from_bytes(struct.pack("<d", v), "little")
            total += _mix(((j + 1) * 0x9E3779B97F4A7C15 + bits) & WORD)
    return total & WORD


def _mix(h: int) -> int:
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & WORD
    return h ^ (h >> 31)


def class_sums(rows: list[Row], y: Sequence[int], weight: Sequence[float], n_features: int, n_classes: int) -> Table:
    """Return weighted feature totals by class; a negative class is left out."""
    out = [[0.0] * n_classes for _ in range(n_features)]
    for row, c, w in zip(rows, y, weight, strict=True):
        for j, v in row:
            if c >= 0:
                out[j][c] += w * v
    return out


def scale_segment(counts: Row, tf: str, norm_weight: Sequence[float], normalise: int, multiply: bool) -> list[float]:
    """Return the weighted values of one segment of counts; normalise 1 makes its length 1, 2 its sum.

    >>> scale_segment([(0, 1), (1, 1)], "count", [3.0, 4.0], True, False)
    [0.2, 0.2]
    """
    values = [{"presence": 1.0, "count": float(n), "sublinear": 1.0 + math.log(n)}[tf] for _, n in counts]
    weighted = [v * norm_weight[j] for v, (j, _) in zip(values, counts, strict=True)]
    norm = sum(weighted) if normalise == 2 else math.sqrt(sum(v**2 for v in weighted))
    factor = 1.0 / norm if normalise and norm > 0.0 else 1.0
    return [v * factor * (norm_weight[j] if multiply else 1.0) for v, (j, _) in zip(values, counts, strict=True)]


# ---- dual coordinate descent


@dataclass
class Margins:
    """One binary SVM: folded weights u = g w, g^2, the intercept's weight, and a dual variable a row."""

    u: list[float]
    squares: list[float]
    bias: float
    alpha: list[float]


@dataclass(frozen=True)
class Visit:
    """What a pass says: rows still active, the largest and smallest projected gradient, the loss."""

    keep: list[int]
    top: float
    low: float
    loss: float


def svm_pass(
    rows: list[Row],
    signs: Sequence[int],
    order: Sequence[int],
    m: Margins,
    C: Sequence[float],
    *,
    squared: bool = True,
    bias_scale: float = 1.0,
    bounds: tuple[float, float] = (math.inf, -math.inf),
) -> Visit:
    """Visit rows once, each time solving for one dual variable; changes m in place."""
    keep: list[int] = []
    top, low, loss = -1e300, 1e300, 0.0
    for i in order:
        t, old = signs[i], m.alpha[i]
        diagonal, upper = (0.5 / C[i], math.inf) if squared else (0.0, C[i])
        score = m.bias * bias_scale + sum(v * m.u[j] for j, v in rows[i])
        slack = 1.0 - t * score
        loss += C[i] * max(slack, 0.0) ** (2 if squared else 1)
        gradient = diagonal * old - slack
        if (old == 0.0 and gradient > bounds[0]) or (old == upper and gradient < bounds[1]):
            continue  # shrunk
        outward = (old == 0.0 and gradient > 0.0) or (old == upper and gradient < 0.0)
        projected = 0.0 if outward else gradient
        keep.append(i)
        top, low = max(top, projected), min(low, projected)
        if abs(projected) > 1e-14:
            q = bias_scale**2 + sum(v * v * m.squares[j] for j, v in rows[i]) + diagonal
            m.alpha[i] = min(max(old - gradient / q, 0.0), upper)
            d = (m.alpha[i] - old) * t
            m.bias += d * bias_scale
            for j, v in rows[i]:
                m.u[j] += d * v * m.squares[j]
    return Visit(keep, top, low, loss)


@dataclass
class Odds:
    """One binary logistic regression: weights, the intercept's weight, and a dual variable a row."""

    w: list[float]
    bias: float
    alpha: list[float]


def logistic_pass(
    rows: list[Row],
    signs: Sequence[int],
    order: Sequence[int],
    m: Odds,
    C: Sequence[float],
    *,
    bias_scale: float = 1.0,
    offset: float = 0.0,
) -> tuple[float, float]:
    """Visit rows once, each time solving for one dual variable by bisection; changes m in place.

    Returns the loss and sum_i e_i^2 q_i as rows are met, e_i = a_i - C_i sigmoid(-y_i score_i).
    """
    loss = square = 0.0
    for i in order:
        t, old = signs[i], m.alpha[i]
        score = t * (offset + m.bias * bias_scale + sum(v * m.w[j] for j, v in rows[i]))
        q = bias_scale**2 + sum(v * v for _, v in rows[i])
        loss += C[i] * (math.log1p(math.exp(-abs(score))) - min(score, 0.0))
        error = old - C[i] / (1.0 + math.exp(score))
        square += error * error * q
        low, high = -60.0, 60.0  # of the log-odds of a / C, in which the slope rises
        for _ in range(200):
            middle = (low + high) / 2
            if q * (C[i] / (1.0 + math.exp(-middle)) - old) + score + middle < 0.0:
                low = middle
            else:
                high = middle
        m.alpha[i] = C[i] / (1.0 + math.exp(-high))
        d = (m.alpha[i] - old) * t
        m.bias += d * bias_scale
        for j, v in rows[i]:
            m.w[j] += d * v
    return loss, square


# ---- fewer columns


@dataclass(frozen=True)
class Fewer:
    """Rows over fewer columns, and how to come back."""

    rows: list[Row]
    counts: list[int]
    place: list[int]
    factor: list[float]
    norms: list[float]
    n_columns: int


def compact_rows(rows: list[Row], order: Sequence[int], n_features: int) -> Fewer:
    """Number shared columns by the power of two of their count, and make one column of a row's own."""
    counts = [0] * n_features
    for i in order:
        for j, _ in rows[i]:
            counts[j] += 1
    shared = sorted((j for j in range(n_features) if counts[j] > 1), key=lambda j: (-counts[j].bit_length(), j))
    place = [shared.index(j) if j in shared else -1 for j in range(n_features)]
    factor, n_columns, out = [float(p >= 0) for p in place], len(shared), []
    for i in order:
        own = math.sqrt(sum(v * v for j, v in rows[i] if counts[j] == 1))
        new = [(place[j], v) for j, v in rows[i] if counts[j] > 1]
        if own > 0.0:
            for j, v in rows[i]:
                if counts[j] == 1:
                    place[j], factor[j] = n_columns, v / own
            new.append((n_columns, own))
            n_columns += 1
        out.append(new)
    norms = [sum(v * v for _, v in rows[i]) for i in order]
    return Fewer(out, counts, place, factor, norms, n_columns)


# ---- coordinate descent with an L1 penalty


@dataclass(frozen=True)
class Lasso:
    """The quadratic of lasso_pass: columns as rows, and the two parts of the curvature of the scores."""

    columns: list[Row]
    A: Table
    B: Table

    def curvature(self, j: int, k: int) -> float:
        """Return the diagonal of H."""
        return sum(v * v * self.A[i][k] * (1.0 - self.B[i][k]) for i, v in self.columns[j])

    def visit(
        self, order: Sequence[int], pairs: list[tuple[int, int]], slope: Sequence[float], diagonal: Sequence[float],
        penalty: Sequence[float], w: Sequence[float], d: list[float],
    ) -> float:  # fmt: skip
        """Visit active weights once; changes d in place and returns the sum of violations."""
        violation = 0.0
        for a in order:
            j, k = pairs[a]
            D = [[0.0] * len(row) for row in self.A]
            for (column, output), step in zip(pairs, d, strict=True):
                for i, v in self.columns[column]:
                    D[i][output] += step * v
            g = slope[a]
            for i, v in self.columns[j]:
                mean = sum(b * s for b, s in zip(self.B[i], D[i], strict=True))
                g += v * self.A[i][k] * (D[i][k] - mean)
            u, r = w[a] + d[a], penalty[a]
            violation += abs(g + math.copysign(r, u)) if u != 0.0 else max(abs(g) - r, 0.0)
            wanted = u - g / diagonal[a]  # the minimum without the penalty, then drawn to zero
            d[a] = math.copysign(max(abs(wanted) - r / diagonal[a], 0.0), wanted) - w[a]
        return violation


# ---- stochastic steps


@dataclass
class Average:
    """The sum of the weights after each step, and how many steps."""

    W: Any = 0.0
    b: Any = 0.0
    steps: int = 0


@dataclass
class Theta:
    """W, (n_features, n_classes), b, and the average over steps."""

    W: Table
    b: list[float]
    sums: Average = field(default_factory=Average)


def online_pass(
    rows: list[Row],
    y: Sequence[int],
    order: Sequence[int],
    rates: Sequence[float],
    weight: Sequence[float],
    theta: Theta,
    *,
    loss: str,
    cost: Sequence[Sequence[float]],
    decay: float = 0.0,
    bias_rate: float = 1.0,
    batch: int = 1,
) -> tuple[int, float]:
    """Take one step a row; returns how many rows changed the weights, and the loss met on the way.

    Rows of a batch are scored before any of them takes its step.
    """
    import numpy as np

    changed, total = 0, 0.0
    for first in range(0, len(order), batch):
        rows_now = list(zip(order, rates, strict=True))[first : first + batch]
        found = [_direction(rows[i], y[i], theta, loss, cost) for i, _ in rows_now]
        for _, rate in rows_now:
            theta.W = [[(1.0 - rate * decay) * w for w in row] for row in theta.W]
        for (i, rate), (direction, lost) in zip(rows_now, found, strict=True):
            changed += any(direction)
            total += weight[i] * lost
            for c, a in enumerate(direction):
                step = rate * weight[i] * a
                theta.b[c] += bias_rate * step
                for j, v in rows[i]:
                    theta.W[j][c] += step * v
        theta.sums.W = theta.sums.W + len(rows_now) * np.array(theta.W)
        theta.sums.b = theta.sums.b + len(rows_now) * np.array(theta.b)
        theta.sums.steps += len(rows_now)
    return changed, total


def _direction(
    row: Row, right: int, theta: Theta, loss: str, cost: Sequence[Sequence[float]]
) -> tuple[list[float], float]:
    """Return what a row adds to each class, in units of itself, and its loss."""
    scores = [s + theta.b[c] for c, s in enumerate(dot([row], theta.W)[0])]
    if loss == "softmax":
        top = max(scores)
        norm = sum(math.exp(s - top) for s in scores)
        direction = [-math.exp(s - top) / norm for s in scores]
        lost = math.log(norm) + top - scores[right]
    else:
        augmented = [s + (cost[right][c] if loss == "hinge" else 0.0) for c, s in enumerate(scores)]
        best = augmented.index(max(augmented))
        direction = [0.0] * len(scores)
        direction[best] = -1.0
        lost = augmented[best] - scores[right]
    direction[right] += 1.0
    return direction, lost


def softmax_pass(
    rows: list[Row],
    y: Sequence[int],
    order: Sequence[int],
    W: list[list[float]],
    bias: list[float],
    shares: list[list[float]],
    C: Sequence[float],
    *,
    bias_scale: float = 1.0,
    offset: Sequence[float],
) -> tuple[float, float]:
    """Visit rows once, each time solving for the probabilities of its classes by bisection; changes W, bias, shares.

    Returns the loss and sum_i |e_i|^2 q_i as rows are met, e_i = C_i (p_i - softmax(scores_i)).
    """
    classes = range(len(bias))
    loss = square = 0.0
    for i in order:
        old = shares[i]
        s = [offset[c] + bias[c] * bias_scale + sum(v * W[j][c] for j, v in rows[i]) for c in classes]
        q = bias_scale**2 + sum(v * v for _, v in rows[i])
        total = sum(math.exp(v - max(s)) for v in s)
        error = [C[i] * (old[c] - math.exp(s[c] - max(s)) / total) for c in classes]
        loss += C[i] * (max(s) + math.log(total) - s[y[i]])
        square += q * sum(e * e for e in error)
        z = [s[c] + q * C[i] * old[c] for c in classes]
        low, high = min(z) - q * C[i] - 1.0, max(z) + 60.0  # of lambda: log p + q C p = z - lambda
        for _ in range(64):
            middle = (low + high) / 2
            new = [_share(q * C[i], z[c] - middle) for c in classes]
            low, high = (middle, high) if sum(new) > 1.0 else (low, middle)
        shares[i] = [p / sum(new) for p in new]
        for c in classes:
            d = C[i] * (old[c] - shares[i][c])
            bias[c] += d * bias_scale
            for j, v in rows[i]:
                W[j][c] += d * v
    return loss, square


def _share(Q: float, level: float) -> float:
    """Return p with log p + Q p = level."""
    low, high = -300.0, level  # of log p
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if middle + Q * math.exp(min(middle, 700.0)) < level else (low, middle)
    return math.exp(min(low, 700.0))
