"""The net: dense layers behind the sums, and how embeddings and layers are trained by mini-batches, around the kernel.

The kernel takes the steps; here the rows are shuffled, dropout masks drawn, passes reported, and the best weights kept.
Rows are visited as a set (see :mod:`linnet.solvers.matrix`), so their order in the file and repeats do not matter; one
thread takes the steps, so the number of threads does not either.

What comes after the sums: nothing but ``b`` for a line, a few dense layers for a net.

Every model of text looks up a row of numbers for each feature and adds them up, sums = X W. A line adds b and has its
scores. A net goes on: the sums are an embedding of the text, and a :class:`DenseLayers` turns it into scores,

    sums -> max(0, sums A_1 + a_1) -> ... -> scores = h A_n + a_n

so storing, predicting and explaining stay one road with one turning. Between two bends of the max the scores are
linear in the sums: ``slope`` is their derivative there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet._kernels import network
from linnet.array_types import Array, Floats, Floats32, Ints, Ints32
from linnet.errors import DataError
from linnet.solvers.callbacks import Epoch
from linnet.solvers.losses import log_sigmoid, sigmoid
from linnet.solvers.matrix import Matrix, TrainingSet


@dataclass(frozen=True)
class DenseLayers:
    """Dense layers, each (A, a) with A (n_in, n_out); max(0, .) between them, none after the last.

    >>> xor = DenseLayers(((np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([0.0, -1.0])), (np.array([[1.0], [-2.0]]), np.zeros(1))))
    >>> xor.apply(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])).ravel().tolist()
    [0.0, 1.0, 1.0, 0.0]
    >>> xor.slope(np.array([1.0, 1.0]), 0).tolist()
    [-1.0, -1.0]
    """

    layers: tuple[tuple[Floats, Floats], ...]

    @property
    def n_inputs(self) -> int:
        """How many numbers a text has before the head."""
        return int(self.layers[0][0].shape[0])

    @property
    def n_outputs(self) -> int:
        """How many scores come out."""
        return len(self.layers[-1][1])

    def apply(self, sums: Floats) -> Floats:
        """Return the scores, (n_rows, n_outputs); a row's do not depend on the rows beside it, to the last digit."""
        X = np.ascontiguousarray(sums, dtype=np.float64)
        for k, (A, a) in enumerate(self.layers):
            out = np.empty((len(X), A.shape[1]))
            network.layer(X, A, a, k + 1 < len(self.layers), out)
            X = out
        return X

    def slope(self, sums: Floats, output: int) -> Floats:
        """Return the derivative of one score by the sums of one text, (n_inputs,)."""
        active = []
        h = sums[None, :]
        for A, a in self.layers[:-1]:
            h = DenseLayers(((A, a),)).apply(h)
            active.append(h[0] > 0.0)
            h = np.maximum(h, 0.0)
        g = self.layers[-1][0][:, output]
        for (A, _), on in zip(reversed(self.layers[:-1]), reversed(active), strict=True):
            g = arithmetic.matmul(A, (g * on)[:, None])[:, 0]
        return np.asarray(g)

    def scaled(self, factor: float, shift: float = 0.0) -> DenseLayers:
        """Return a head with the scores times a factor, and a shift added."""
        *before, (A, a) = self.layers
        return DenseLayers((*before, (A * factor, a * factor + shift)))

    def tensors(self) -> dict[str, Array]:
        """Return what a model file holds."""
        return {
            name: array for k, layer in enumerate(self.layers) for name, array in zip(_names(k), layer, strict=True)
        }

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Array], n_layers: int) -> DenseLayers:
        """Read what ``tensors`` gave; layers that do not fit together are a ValueError."""
        layers = tuple((tensors[A], tensors[a]) for A, a in map(_names, range(n_layers)))
        width = layers[0][0].shape[0] if layers else 0
        for A, a in layers:
            if A.ndim != 2 or A.shape[0] != width or a.shape != A.shape[1:] or not (A.dtype == a.dtype == np.float64):
                raise ValueError("the layers of its head do not fit together")
            width = A.shape[1]
        if not layers:
            raise ValueError("its head has no layers")
        tree = tensors.get("head.tree")
        if tree is None:
            return cls(layers)
        if len(layers) != 1 or tree.ndim != 2 or tree.dtype != np.int64 or not tree.size or np.abs(tree).max() > width:
            raise ValueError("the tree of its head does not fit")
        return TreeLayers(layers, tree)


@dataclass(frozen=True)
class TreeLayers(DenseLayers):
    """Hierarchical softmax: one layer scores the inner nodes of a binary tree; the score of a label is the log-probability of its path.

    tree has a row a label: 1 + the number of each inner node on its path, negative where the path goes left, 0 behind its end.
    """

    tree: Ints  # (n_labels, depth)

    @property
    def n_outputs(self) -> int:
        """How many scores come out."""
        return len(self.tree)

    def apply(self, sums: Floats) -> Floats:
        """Return the scores, (n_rows, n_labels)."""
        nodes = super().apply(sums)
        out = np.zeros((len(nodes), len(self.tree)))
        for step in self.tree.T:
            there = np.flatnonzero(step)
            out[:, there] += log_sigmoid(np.sign(step[there]) * nodes[:, np.abs(step[there]) - 1])
        return out

    def slope(self, sums: Floats, output: int) -> Floats:
        """Return the derivative of one score by the sums of one text, (n_inputs,)."""
        path = self.tree[output][self.tree[output] != 0]
        nodes, signs = np.abs(path) - 1, np.sign(path)
        left = sigmoid(-signs * super().apply(sums[None, :])[0, nodes])
        return np.asarray(arithmetic.matmul(self.layers[0][0][:, nodes], (signs * left)[:, None])[:, 0])

    def tensors(self) -> dict[str, Array]:
        """Return what a model file holds."""
        return {**super().tensors(), "head.tree": self.tree}


def _names(k: int) -> tuple[str, str]:
    return f"head.{k}.A", f"head.{k}.a"


def finish(sums: Floats, b: Any) -> Floats:
    """Turn sums into scores: add b, or apply the head in its place.

    >>> finish(np.array([[1.0, 2.0]]), np.array([10.0, 20.0])).tolist()
    [[11.0, 22.0]]
    """
    return b.apply(sums) if isinstance(b, DenseLayers) else np.asarray(sums + b)


def scaled(W: Floats32, b: Any, factor: float, shift: float = 0.0) -> tuple[Floats32, Any]:
    """Multiply the scores by a factor and add a shift: the last layer of a head, or W, in place, and b."""
    if isinstance(b, DenseLayers):
        return W, b.scaled(factor, shift)
    W *= np.float32(factor)
    return W, factor * b + shift


STEPS = {"sgd": 0, "adagrad": 1}
MASK_NUMBERS = 1 << 18  # numbers of dropout masks drawn at a time
HIDDEN_START = 0.1
SPREAD = 0.01  # embeddings begin between -SPREAD and SPREAD
CHUNK = 1 << 14  # features whose first embeddings are drawn at a time
NO_MASK = np.zeros((0, 1))


@dataclass(frozen=True)
class Shape:
    """The width of each layer; hidden 0 leaves the hidden layer out."""

    dim: int
    hidden: int
    n_outputs: int

    @property
    def width(self) -> int:
        """What the last layer reads, and dropout drops from."""
        return self.hidden or self.dim

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """(n_in, n_out) of each dense layer."""
        last = (self.width, self.n_outputs)
        return ((self.dim, self.hidden), last) if self.hidden else (last,)

    @property
    def size(self) -> int:
        """How many numbers the dense layers have."""
        return sum((n + 1) * m for n, m in self.layers)


@dataclass(frozen=True)
class Steps:
    """How steps are taken; share is what the summed gradient of a batch is multiplied by, clip its greatest length (0: any)."""

    step: str
    rate: float
    batch: int
    dropout: float
    smoothing: float
    share: float
    clip: float = 0.0


After = Callable[[Epoch], bool]


@dataclass(frozen=True)
class Net:
    """Embeddings (n_features, dim) and the numbers of the dense layers, one after another."""

    shape: Shape
    E: Array
    theta: Floats

    def head(self) -> DenseLayers:
        """Return a copy of the dense layers."""
        layers, at = [], 0
        for n, m in self.shape.layers:
            A, a = self.theta[at : at + n * m].reshape(n, m), self.theta[at + n * m : at + (n + 1) * m]
            layers.append((A.copy(), a.copy()))
            at += (n + 1) * m
        return DenseLayers(tuple(layers))


def start(shape: Shape, X: Matrix, rows: Ints32, rng: np.random.Generator) -> Net:
    """Draw the first weights: layers by He and Glorot, embeddings near zero.

    The layers are random, so embeddings need only be different enough to part ways. A feature that none of the rows has
    is left at zero: no step will touch it, and so it says nothing. Hidden intercepts begin above zero, where the
    gradient passes.
    """
    E = np.empty((X.n_features, shape.dim), dtype=X.values.dtype)
    for k in range(0, X.n_features, CHUNK):
        E[k : k + CHUNK] = arithmetic.uniform(rng, SPREAD, E[k : k + CHUNK].shape)
    seen = np.zeros(X.n_features, dtype=bool)
    seen[X.take(rows).indices] = True
    E[~seen] = 0.0
    parts = []
    for k, (n, m) in enumerate(shape.layers):
        last = k + 1 == len(shape.layers)
        bound = sqrt(6.0 / (n + m if last else n))
        parts += [arithmetic.uniform(rng, bound, (n * m,)), np.full(m, 0.0 if last else HIDDEN_START)]
    return Net(shape, E, np.concatenate(parts))


def train(
    net: Net, of: TrainingSet, rows: Ints32, how: Steps, rng: np.random.Generator, passes: int, after: After
) -> None:
    """Change the net in place by some rows of a training set, pass after pass, until one is the last or ``after`` says so.

    KeyboardInterrupt goes through; the net then is as the last whole batch left it.
    """
    X = of.X
    gradient = network.NetGradient(
        of.y, of.weights, net.theta, n_features=X.n_features, dim=net.shape.dim, hidden=net.shape.hidden,
        room=_room(X, rows, how.batch), smoothing=how.smoothing,
    )  # fmt: skip
    steps = network.NetSteps(
        gradient, step=STEPS[how.step], batch=how.batch, rate=how.rate, share=how.share, clip=how.clip
    )
    for number in range(1, passes + 1):
        gradient.loss = 0.0
        for order, mask in _chunks(rng.permutation(rows), how, net.shape.width, rng):
            network.descend(X.indptr, X.indices, X.values, order, net.E, mask, gradient, steps)
        if not isfinite(gradient.loss):
            raise DataError(f"in pass {number} the weights ran away to infinity; lower learning_rate={how.rate:g}")
        if after(Epoch(number, gradient.loss, 1.0, len(rows))):
            return


def _room(X: Matrix, rows: Ints32, batch: int) -> int:
    """How many features a batch can have: those of its longest rows, or all."""
    lengths = np.diff(X.indptr)[rows]
    most = int(np.sort(lengths)[-batch:].sum())
    return max(1, min(X.n_features, most))


def _chunks(order: Ints32, how: Steps, width: int, rng: np.random.Generator) -> Iterator[tuple[Ints32, Floats]]:
    """Cut the rows into runs of whole batches, each with its masks: 0 or 1 / share kept, so that the mean is 1.

    Between two runs Python is back in charge: masks stay small, and Ctrl-C is heard.
    """
    size = max(1, MASK_NUMBERS // (width * how.batch)) * how.batch
    for k in range(0, len(order), size):
        part = order[k : k + size]
        kept = rng.random((len(part), width)) >= how.dropout if how.dropout else None
        yield part, NO_MASK if kept is None else kept / (1.0 - how.dropout)
