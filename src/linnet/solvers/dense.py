"""What comes after the sums: nothing but ``b`` for a line, a few dense layers for a net.

Every model of text looks up a row of numbers for each feature and adds them up, sums = X W. A line adds b and has its
scores. A net goes on: the sums are an embedding of the text, and a :class:`DenseLayers` turns it into scores,

    sums -> max(0, sums A_1 + a_1) -> ... -> scores = h A_n + a_n

so storing, predicting and explaining stay one road with one turning. Between two bends of the max the scores are
linear in the sums: ``slope`` is their derivative there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels import network

__all__ = ["DenseLayers", "finish", "scaled"]

Floats = npt.NDArray[np.float64]


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

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return what a model file holds."""
        return {
            name: array for k, layer in enumerate(self.layers) for name, array in zip(_names(k), layer, strict=True)
        }

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]], n_layers: int) -> DenseLayers:
        """Read what ``tensors`` gave; layers that do not fit together are a ValueError."""
        layers = tuple((tensors[A], tensors[a]) for A, a in map(_names, range(n_layers)))
        width = layers[0][0].shape[0] if layers else 0
        for A, a in layers:
            if A.ndim != 2 or A.shape[0] != width or a.shape != A.shape[1:] or not (A.dtype == a.dtype == np.float64):
                raise ValueError("the layers of its head do not fit together")
            width = A.shape[1]
        if not layers:
            raise ValueError("its head has no layers")
        return cls(layers)


def _names(k: int) -> tuple[str, str]:
    return f"head.{k}.A", f"head.{k}.a"


def finish(sums: Floats, b: Any) -> Floats:
    """Turn sums into scores: add b, or apply the head in its place.

    >>> finish(np.array([[1.0, 2.0]]), np.array([10.0, 20.0])).tolist()
    [[11.0, 22.0]]
    """
    return b.apply(sums) if isinstance(b, DenseLayers) else np.asarray(sums + b)


def scaled(
    W: npt.NDArray[np.float32], b: Any, factor: float, shift: float = 0.0
) -> tuple[npt.NDArray[np.float32], Any]:
    """Multiply the scores by a factor and add a shift: the last layer of a head, or W, in place, and b."""
    if isinstance(b, DenseLayers):
        return W, b.scaled(factor, shift)
    W *= np.float32(factor)
    return W, factor * b + shift
