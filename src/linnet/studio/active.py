"""Active learning: which text to label next.

The first texts are the middles of clusters, so that every kind of text is met early. Then texts come by margin, the difference
between the largest and the second largest probability, smallest first, and unlike the last few that were labelled. Clusters and
likeness go by word vectors that are learned from the texts themselves; the model has them as features, too, which is worth
more than any order while labels are few (docs/studio.md).

Every tenth text is drawn at random. The cross-validated accuracy on the random texts is an unbiased estimate; on the
uncertain ones it would be too low.

>>> pool = Pool.of(["good film", "bad film", "good cast", "bad cast", "a good one", "so bad"], seed=0)
>>> learner = Learner(pool, ("neg", "pos"))
>>> state = learner.fit({0: "pos", 1: "neg"})
>>> state.predict([2, 5])
['pos', 'neg']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from linnet.array_types import Floats, Ints
from linnet.errors import DataError
from linnet.evaluate.intervals import Interval, wilson
from linnet.features.buffers import text_buffers
from linnet.features.vectors import Vectors, learn_vectors

RANDOM_EVERY = 10  # one text in so many is drawn at random
CENTRES = 20  # texts, at least, that are asked for before the model decides; of many labels, two a label
SAMPLE = 5_000  # texts that clusters are made of
SHORTLIST = 200  # texts with the smallest margins that are looked at
RECENT = 10  # labelled texts that the next one should be unlike
FOLDS = 5
SHORT = 500  # bytes: below this mean length, characters help
WEIGHT = 0.5  # of the vectors, beside blocks of length 1


@dataclass(frozen=True)
class Pool:
    """Texts as rows of a matrix, independent of labels: presence, idf, L2 norm 1 a block; and as vectors of length 1."""

    X: Any  # scipy CSR, (n_texts, n_features), the vectors last
    Z: Floats  # (n_texts, n_dimensions)
    seed: int

    @classmethod
    def of(cls, texts: Sequence[str], seed: int = 0, threads: int | None = None) -> Pool:
        """Count the features of the texts once."""
        from scipy import sparse

        from linnet.features.vectorizer import Vectorizer

        size = sum(map(len, texts)) / max(1, len(texts))
        features = "words:1-2+chars:2-5" if size < SHORT else "words:1-2"
        make = Vectorizer(
            features, idf=True, norm="l2", min_df=2 if len(texts) > 50 else 1, order="seen", n_jobs=threads,
            dtype=np.float32,
        )  # fmt: skip
        X, Z = make.fit_transform(list(texts)), _vectors(list(texts))
        return cls(sparse.hstack([X, sparse.csr_matrix(WEIGHT * Z)], format="csr", dtype=np.float32), Z, seed)

    def __len__(self) -> int:
        return len(self.Z)

    def centres(self, n: int) -> list[int]:
        """Return the texts in the middle of n clusters (k-means by the cosine), those of large clusters first."""
        rng = np.random.default_rng(self.seed)
        rows = rng.permutation(len(self))[:SAMPLE]
        Z = self.Z[rows]
        C, far = Z[:1], np.ones(len(Z))
        while len(C) < n and (far := np.minimum(far, np.maximum(0.0, 1.0 - Z @ C[-1]))).any():  # as k-means++
            C = np.vstack([C, Z[rng.choice(len(Z), p=far / far.sum())]])
        for _ in range(10):
            nearest = (Z @ C.T).argmax(axis=1)
            C = _unit(np.stack([Z[nearest == k].sum(axis=0) for k in range(len(C))]))
        like = Z @ C.T
        order = np.argsort(-np.bincount(like.argmax(axis=1), minlength=len(C)), kind="stable")
        return list(dict.fromkeys(rows[like[:, order].argmax(axis=0)].tolist()))


def _vectors(texts: list[str]) -> Floats:
    """Return texts as means of word vectors that are learned from them; zeros where they share too few words."""
    pieces = text_buffers(texts)
    try:
        block = Vectors(learn_vectors(pieces))
    except DataError:
        return np.zeros((len(texts), 1))
    return _unit(np.concatenate([block.values_of(piece) for piece in pieces]))


def _unit(Z: Floats) -> Floats:
    return np.asarray(Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-12))


class Pick(NamedTuple):
    """A text to label, and why it was chosen: "new" (of another kind), "unsure" (small margin) or "random" (for the estimate)."""

    row: int
    why: str


class Estimate(NamedTuple):
    """The accuracy of the model on new texts, cross-validated on the texts drawn at random."""

    accuracy: float
    interval: Interval
    n: int


@dataclass(frozen=True)
class Fitted:
    """A model of the labels so far: the probability of each label for every text of the pool."""

    labels: tuple[str, ...]
    proba: Floats = field(repr=False)  # (n_texts, n_labels)
    answers: int = 0

    def predict(self, rows: Sequence[int]) -> list[str]:
        """Return the best label of texts."""
        return [self.labels[k] for k in self.proba[list(rows)].argmax(axis=1).tolist()]

    def margins(self) -> Floats:
        """Return how far the best label of each text is from the second."""
        top = np.partition(self.proba, -2, axis=1)[:, -2:]
        return np.asarray(top[:, 1] - top[:, 0])

    def changed(self, other: Fitted) -> float:
        """Return the share of texts for which another model of the same labels predicts another label."""
        return float(np.mean(self.proba.argmax(axis=1) != other.proba.argmax(axis=1)))


class Learner:
    """Fits the labels so far, ranks the other texts, and estimates its own accuracy."""

    def __init__(self, pool: Pool, labels: Sequence[str]) -> None:
        self.pool, self.labels = pool, tuple(labels)
        self.centres = pool.centres(max(CENTRES, min(100, 2 * len(labels))))

    def fit(self, answers: Mapping[int, str]) -> Fitted | None:
        """Fit {row: label}; None before two different labels were given."""
        rows = np.fromiter(sorted(answers), np.int64, len(answers))
        names = [answers[int(r)] for r in rows]
        if len(set(names)) < 2:
            return None
        proba = np.zeros((len(self.pool), len(self.labels)))
        seen, values = self._values(rows, names, self.pool.X)
        proba[:, [self.labels.index(name) for name in seen]] = values
        return Fitted(self.labels, proba, len(rows))

    def _values(self, rows: Ints, names: Sequence[str], X: Any) -> tuple[list[str], Floats]:
        """Fit some rows; return the labels among them and their probabilities for the rows of X."""
        from linnet.models import LinearSVM
        from linnet.solvers.losses import probabilities

        seen = sorted(set(names))
        model = LinearSVM(C=1.0, tol=0.1).fit(self.pool.X[rows], np.array(names))
        scores = np.asarray(model.decision_function(X), dtype=np.float64).reshape(X.shape[0], -1)
        return seen, probabilities(2.0 * scores)

    def queue(
        self, fitted: Fitted | None, answers: Mapping[int, str], skipped: Sequence[int] = (), n: int = 1
    ) -> list[Pick]:
        """Return the next n texts to label, each different from those before it; the same for the same labels."""
        margins = None if fitted is None else fitted.margins()
        done, recent, out = {*answers, *skipped}, list(answers)[-RECENT:], []
        free = np.setdiff1d(np.arange(len(self.pool)), list(done))
        for k in range(len(answers), min(len(answers) + n, len(answers) + len(free))):
            left = [row for row in self.centres if row not in done] if k < len(self.centres) else []
            drawn = k % RANDOM_EVERY == RANDOM_EVERY - 1
            if left and not drawn:
                pick = Pick(left[0], "new")
            elif margins is None or drawn:
                pick = Pick(int(np.random.default_rng([self.pool.seed, k]).choice(free)), "random")
            else:
                near = free[np.argsort(margins[free], kind="stable")[:SHORTLIST]]
                unlike = np.maximum(0.02, 1.0 - (self.pool.Z[near] @ self.pool.Z[recent].T).max(axis=1, initial=0.0))
                pick = Pick(int(near[((1.0 - margins[near]) * unlike).argmax()]), "unsure")
            done.add(pick.row)
            free, recent = free[free != pick.row], [*recent, pick.row][-RECENT:]
            out.append(pick)
        return out

    def estimate(self, answers: Mapping[int, str], drawn: Sequence[int]) -> Estimate | None:
        """Cross-validate the labels of texts drawn at random; None without any."""
        judged = [row for row in drawn if row in answers]
        if len(judged) < 2 or len(set(answers.values())) < 2:
            return None
        order = np.random.default_rng(self.pool.seed).permutation(len(judged))
        right = 0
        for fold in range(min(FOLDS, len(judged))):
            held = {judged[k] for k in order[fold::FOLDS].tolist()}
            rest = np.fromiter((row for row in sorted(answers) if row not in held), np.int64)
            names = [answers[int(row)] for row in rest]
            if len(set(names)) < 2:
                continue
            rows = np.fromiter(sorted(held), np.int64, len(held))
            seen, values = self._values(rest, names, self.pool.X[rows])
            right += sum(seen[k] == answers[int(row)] for row, k in zip(rows, values.argmax(axis=1), strict=True))
        return Estimate(right / len(judged), wilson(right, len(judged)), len(judged))
