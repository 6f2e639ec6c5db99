"""Train embeddings and a head by mini-batches: what happens around the kernel.

The kernel takes the steps; here the rows are shuffled, dropout masks drawn, passes reported, and the best weights kept.
Rows are visited as a set (see :mod:`linnet.solvers.distinct`), so their order in the file and repeats do not matter; one
thread takes the steps, so the number of threads does not either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import network
from linnet.errors import DataError
from linnet.solvers.callbacks import Epoch
from linnet.solvers.dense import DenseLayers
from linnet.solvers.matrix import Matrix

__all__ = ["STEPS", "Net", "Shape", "Steps", "start", "train"]

Floats = npt.NDArray[np.float64]

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
    """How steps are taken; share is what the summed gradient of a batch is multiplied by."""

    step: str
    rate: float
    batch: int
    dropout: float
    smoothing: float
    share: float


@dataclass(frozen=True)
class Net:
    """Embeddings (n_features, dim) and the numbers of the dense layers, one after another."""

    shape: Shape
    E: npt.NDArray[Any]
    theta: Floats

    def head(self) -> DenseLayers:
        """Return a copy of the dense layers."""
        layers, at = [], 0
        for n, m in self.shape.layers:
            A, a = self.theta[at : at + n * m].reshape(n, m), self.theta[at + n * m : at + (n + 1) * m]
            layers.append((A.copy(), a.copy()))
            at += (n + 1) * m
        return DenseLayers(tuple(layers))


def start(shape: Shape, X: Matrix, rows: npt.NDArray[np.int32], rng: np.random.Generator) -> Net:
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
    net: Net,
    X: Matrix,
    y: npt.NDArray[np.int32],
    weight: Floats,
    rows: npt.NDArray[np.int32],
    how: Steps,
    rng: np.random.Generator,
    passes: int,
    after: Callable[[Epoch], bool],
) -> int:
    """Change the net in place, pass after pass, until one is the last or ``after`` says so; returns the passes made.

    KeyboardInterrupt goes through; the net then is as the last whole batch left it.
    """
    gradient = network.NetGradient(
        y, weight, net.theta, n_features=X.n_features, dim=net.shape.dim, hidden=net.shape.hidden,
        room=_room(X, rows, how.batch), smoothing=how.smoothing,
    )  # fmt: skip
    steps = network.NetSteps(gradient, step=STEPS[how.step], batch=how.batch, rate=how.rate, share=how.share)
    for number in range(1, passes + 1):
        gradient.loss = 0.0
        for order, mask in _chunks(rng.permutation(rows), how, net.shape.width, rng):
            network.descend(X.indptr, X.indices, X.values, order, net.E, mask, gradient, steps)
        if not isfinite(gradient.loss):
            raise DataError(
                f"in pass {number} the weights ran away to infinity; lower learning_rate={how.rate:g}, or scale the rows"
            )
        if after(Epoch(number, gradient.loss, 1.0, len(rows))):
            return number
    return passes


def _room(X: Matrix, rows: npt.NDArray[np.int32], batch: int) -> int:
    """How many features a batch can have: those of its longest rows, or all."""
    lengths = np.diff(X.indptr)[rows]
    most = int(np.sort(lengths)[-batch:].sum())
    return max(1, min(X.n_features, most))


def _chunks(
    order: npt.NDArray[np.int32], how: Steps, width: int, rng: np.random.Generator
) -> Iterator[tuple[npt.NDArray[np.int32], Floats]]:
    """Cut the rows into runs of whole batches, each with its masks: 0 or 1 / share kept, so that the mean is 1.

    Between two runs Python is back in charge: masks stay small, and Ctrl-C is heard.
    """
    size = max(1, MASK_NUMBERS // (width * how.batch)) * how.batch
    for k in range(0, len(order), size):
        part = order[k : k + size]
        kept = rng.random((len(part), width)) >= how.dropout if how.dropout else None
        yield part, NO_MASK if kept is None else kept / (1.0 - how.dropout)
