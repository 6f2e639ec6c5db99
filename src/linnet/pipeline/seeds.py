"""Labels from word lists: a few words a class instead of labelled rows.

1. Word vectors are learned from the texts themselves. The words of a class have a centre, and a text is near or far from it.
2. A text scores for a class by its words of the list, and by how near it is to the centre. The 30 % with the clearest
   winner are labelled.
3. A model is trained on them; the 70 % of all texts that it is surest of, with the labels it gives, are the training rows
   (self-training, Yarowsky 1995).

Nothing here knows a true label, so no score says how right the labels are: have a person label some rows for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Floats, Ints
from linnet.data.wordlists import word_lists
from linnet.errors import DataError
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.lists import Lists
from linnet.features.vectors import Vectors, learn_vectors

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier

CLEAR, SURE = 0.3, 0.7  # shares of the texts
HIT = 2.0  # a word of the list, in standard deviations of nearness


@dataclass(frozen=True)
class SeedLabels:
    """The texts that were labelled, by number, and their labels; how many held words of one class, and were clear."""

    rows: Ints
    labels: list[str]
    with_words: int
    clear: int


def label_by_seeds(texts: Sequence[str], lists: Any, clf: TextClassifier) -> SeedLabels:
    """Label texts by word lists: a file or a dict, see ``linnet.data.wordlists``; clf has the settings of the model."""
    seeds: dict[str, list[str]] = {}
    for entry in word_lists(lists):
        if entry.label is None:
            raise DataError("seeds are words of classes: write word,label, a line each")
        seeds.setdefault(str(entry.label), []).append(entry.text)
    if len(seeds) < 2:
        raise DataError("seeds need two classes or more, with a few words each")
    pieces = text_buffers(texts)
    block = Lists(seeds)
    classes = [name.removeprefix("list ").removesuffix(" entries") for name in block.columns[::2]]
    hits = np.concatenate([block.values_of(piece)[:, ::2] for piece in pieces]) > 0
    missing = [name for k, name in enumerate(classes) if not hits[:, k].any()]
    if missing:
        raise DataError(f"no text has a word of {', '.join(map(repr, missing))}; give it other words")
    scores = HIT * hits + _nearness(pieces, [seeds[name] for name in classes])
    order = np.sort(scores, axis=1)
    margin = order[:, -1] - order[:, -2]
    clear = np.sort(np.argsort(-margin, kind="stable")[: max(2 * len(classes), int(CLEAR * len(texts)))])
    winner = scores.argmax(axis=1)
    first = type(clf)(**clf.get_params(deep=False)).fit([texts[k] for k in clear], [classes[winner[k]] for k in clear])
    proba = first.predict_proba(texts)
    sure = np.sort(np.argsort(-proba.max(axis=1), kind="stable")[: max(len(clear), int(SURE * len(texts)))])
    labels = [str(first.classes_[k]) for k in proba[sure].argmax(axis=1)]
    return SeedLabels(sure, labels, int((hits.sum(axis=1) == 1).sum()), len(clear))


def _nearness(pieces: list[TextBuffer], seeds: list[list[str]]) -> Floats:
    """Return how near each text is to the words of each class, in standard deviations."""
    block = Vectors(learn_vectors(pieces))
    known = block.word_vectors
    number = {word: k for k, word in enumerate(known.words)}
    E = _unit(known.E.astype(np.float64))
    centres = np.zeros((len(seeds), E.shape[1]))
    for k, words in enumerate(seeds):
        found = [number[w.lower()] for w in words if w.lower() in number]
        if found:
            centres[k] = arithmetic.mean(E[found], axis=0)
    values = np.concatenate([block.values_of(piece) for piece in pieces])
    near = arithmetic.matmul(
        _unit(values - arithmetic.mean(values, axis=0)), _unit(centres - arithmetic.mean(centres, axis=0)).T
    )
    spread = arithmetic.norm(near.ravel()) / np.sqrt(near.size)
    return np.asarray(near / spread if spread > 0 else near)


def _unit(X: Floats) -> Floats:
    """Return rows of length 1."""
    size = arithmetic.norm(X, axis=1)[:, None]
    return np.asarray(X / np.where(size > 0, size, 1.0))
