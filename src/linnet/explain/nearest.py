"""Which examples are most like a text, in the eyes of the model?

Two texts are alike where the same features move their scores by as much. Text x has the vector v_j = f_j(x) |w_j|: the
factor of feature j times the size of its weights (over the classes, less their mean, which decides nothing), and the
cosine of two such vectors is that of what their features add to the scores of all classes. Examples are kept by
feature (an inverted index), so that a query reads only the examples that share a feature with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.array_types import Floats, Ints
from linnet.errors import DataError, LinnetError, require
from linnet.explain.parts import runs, walk
from linnet.features.blocks import compute
from linnet.features.buffers import TextBuffer, taken
from linnet.model.model import Model
from linnet.values import plain_list, to_plain


@dataclass(frozen=True)
class Neighbour:
    """An example: its row (from 0), label (None where there are none), text and cosine, and the features that it shares."""

    row: int
    label: Any
    text: str
    similarity: float
    shared: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dict(to_plain(self))


class Index:
    """Examples laid out for search; build it once and ask it often.

    >>> from linnet import TextClassifier
    >>> texts = ["loved it", "great fun", "loved the cast", "dull", "a dull bore", "awful"]
    >>> clf = TextClassifier("nb", features="words:1").fit(texts, ["pos", "pos", "pos", "neg", "neg", "neg"])
    >>> index = clf.index((texts, ["pos", "pos", "pos", "neg", "neg", "neg"]))
    >>> [(found.text, found.label, found.shared) for found in index.nearest("a bore", 2)]
    [('a dull bore', 'neg', ('a', 'bore'))]
    """

    def __init__(self, model: Model, examples: Any) -> None:
        csr_matrix = require("scipy.sparse", "the search for the nearest examples", "sklearn").csr_matrix
        self.model = model
        self.pieces, self.labels = _examples(model, examples)
        W = np.concatenate([model.rows[:, 1:], model.computed_weights.reshape(-1, model.n_lookup)]).astype(np.float64)
        if model.head is None and W.shape[1] > 1:
            W -= W.mean(axis=1, keepdims=True)
        # how much slots and computed columns can tell the classes apart
        self.sizes = np.sqrt(np.einsum("nk,nk->n", W, W))
        indptr, indices, data = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
        for run in (run for piece in self.pieces for run in runs(piece)):
            ptr, columns, values = self._vectors(run)
            indptr.append(ptr[1:] + indptr[-1][-1])
            indices.append(columns.astype(np.int32))
            data.append(values.astype(np.float32))
        parts = (np.concatenate(data), np.concatenate(indices), np.concatenate(indptr))
        X = csr_matrix(parts, shape=(sum(map(len, self.pieces)), len(self.sizes)))
        X.sum_duplicates()
        length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1))).ravel()
        scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        X.data *= np.repeat(scale, np.diff(X.indptr)).astype(np.float32)
        self.X = X.tocsc()  # (n_examples, n_columns), rows of length 1

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        return f"<Index of {len(self):,} examples, {self.X.nnz:,} entries>"

    def _vectors(self, piece: TextBuffer) -> tuple[Ints, Ints, Floats]:
        """Return what moves the scores of documents: (indptr, columns, values); computed columns stand last."""
        w, n, k = walk(self.model, piece), len(piece), len(self.model.computed_weights)
        if not k:
            return w.ptr, w.slot, w.factor * self.sizes[w.slot]
        amounts = compute(self.model.computed, [piece]).astype(np.float64)
        columns = np.concatenate([w.slot, np.tile(np.arange(k) + len(self.sizes) - k, n)])
        factor = np.concatenate([w.factor, amounts.ravel()])
        order = np.argsort(np.concatenate([w.document, np.repeat(np.arange(n), k)]), kind="stable")
        return w.ptr + k * np.arange(n + 1), columns[order], (factor * self.sizes[columns])[order]

    def nearest(self, text: str | Mapping[str, Any], n: int = 5) -> list[Neighbour]:
        """Return the n examples most like a text, best first, ties in the order of rows; none that shares nothing."""
        if not isinstance(text, str | Mapping):
            raise LinnetError(f"nearest takes one text or one row as a dict, got {type(text).__name__}")
        piece = self.model.pieces([text])[0]
        _, columns, values = self._vectors(piece)
        columns, place = np.unique(columns, return_inverse=True)
        query = np.bincount(place, weights=values, minlength=len(columns))
        length = float(np.sqrt(query @ query))
        if length == 0.0:
            return []
        part = self.X[:, columns]
        similarity = part @ (query / length)
        rows = np.argsort(-similarity, kind="stable")[:n]
        rows = rows[similarity[rows] > 0]
        shared = part[rows].toarray() * query
        w, first = walk(self.model, piece), len(self.sizes) - len(self.model.computed_weights)
        names = dict(zip(w.slot.tolist()[::-1], w.named(np.arange(len(w.slot)))[::-1], strict=True))
        names |= {first + k: name for k, name in enumerate(self.model.computed_names)}
        found = []
        for row, mine in zip(rows.tolist(), shared, strict=True):
            best = [k for k in np.argsort(-mine, kind="stable")[:5].tolist() if mine[k] > 0]
            words = dict.fromkeys(names[int(columns[k])].strip() for k in best)
            label = None if self.labels is None else self.labels[row]
            text = taken(self.pieces, np.array([row])).text(0)
            found.append(Neighbour(row, label, text, min(1.0, float(similarity[row])), tuple(words)))
        return found


def _examples(model: Model, examples: Any) -> tuple[list[TextBuffer], list[Any] | None]:
    """Take a Dataset, (texts, labels), or texts alone."""
    from linnet.data import Dataset

    if isinstance(examples, Dataset):
        return model.pieces(examples), None if examples.label is None else examples.label.to_pylist()
    if not (isinstance(examples, tuple) and len(examples) == 2 and not isinstance(examples[0], str)):
        return model.pieces(examples), None
    pieces, labels = model.pieces(examples[0]), plain_list(examples[1])
    if sum(map(len, pieces)) != len(labels):
        raise DataError(f"there are {sum(map(len, pieces)):,} examples but {len(labels):,} labels")
    return pieces, labels
