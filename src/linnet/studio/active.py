"""Active learning: which text to label next.

Texts come by margin, the difference between the largest and the second largest probability, smallest first. Texts that
are very similar to a labelled one are passed over. (Choosing the most different of the uncertain texts instead was worse
than random order on TREC.)

Every fifth text, later every tenth, is drawn at random. The cross-validated accuracy on the random texts is an unbiased
estimate; on the uncertain ones it would be too low.

>>> pool = Pool.of(["good film", "bad film", "good cast", "bad cast", "a good one", "so bad"], seed=0)
>>> learner = Learner(pool, ("neg", "pos"))
>>> state = learner.fit({0: "pos", 1: "neg"})
>>> state.predict([2, 5])
['pos', 'neg']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linnet.array_types import Floats, Ints
from linnet.evaluate.intervals import Interval, wilson

RANDOM_EVERY = (5, 10)  # one text in so many is drawn at random: at first, and after
MANY = 100  # answers
SHORTLIST = 50  # texts with the smallest margins that are looked at
TOO_LIKE = 0.6  # cosine with a labelled text above which a text is passed over
FOLDS = 5
FEW = 6  # answers before which texts are taken for being different alone
SHORT = 500  # bytes: below this mean length, characters help


@dataclass(frozen=True)
class Pool:
    """Texts as rows of a matrix, independent of labels: presence, idf, L2 norm 1 a block."""

    X: Any  # scipy CSR, (n_texts, n_features)
    seed: int
    blocks: int = 1

    @classmethod
    def of(cls, texts: Sequence[str], seed: int = 0, threads: int | None = None) -> Pool:
        """Count the features of the texts once."""
        from linnet.features.vectorizer import Vectorizer

        size = sum(map(len, texts)) / max(1, len(texts))
        features = "words:1-2+chars:2-5" if size < SHORT else "words:1-2"
        make = Vectorizer(
            features, idf=True, norm="l2", min_df=2 if len(texts) > 50 else 1, order="seen", n_jobs=threads,
            dtype=np.float32,
        )  # fmt: skip
        return cls(make.fit_transform(list(texts)), seed, features.count("+") + 1)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def likeness(self, rows: Ints, known: Ints) -> Floats:
        """Return the similarity of each text to the nearest of some known texts: the cosine, averaged over the blocks."""
        if not len(known) or not len(rows):
            return np.zeros(len(rows))
        like = self.X[rows] @ self.X[known].T
        return np.asarray(like.max(axis=1).todense(), dtype=np.float64).ravel() / self.blocks


@dataclass(frozen=True)
class Pick:
    """A text to label, and why it was chosen: "unsure" (small margin), "random" (for the estimate) or "new"."""

    row: int
    why: str


@dataclass(frozen=True)
class Estimate:
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

    def predict(self, rows: Sequence[int] | None = None) -> list[str]:
        """Return the best label of texts."""
        best = self.proba.argmax(axis=1) if rows is None else self.proba[list(rows)].argmax(axis=1)
        return [self.labels[k] for k in best.tolist()]

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
        self.pool = pool
        self.labels = tuple(labels)

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
        done = np.zeros(len(self.pool), dtype=bool)
        done[[*answers, *skipped]] = True
        known = np.fromiter(answers, np.int64, len(answers))
        near, like = np.zeros(0, np.int64), np.zeros(0)
        if fitted is not None:
            free = np.flatnonzero(~done)
            near = free[np.argsort(fitted.margins()[free], kind="stable")[: SHORTLIST + 5 * n]]
            like = self.pool.likeness(near, known)
        out: list[Pick] = []
        for k in range(len(answers), len(answers) + n):
            free = np.flatnonzero(~done)
            if not len(free):
                break
            rng = np.random.default_rng([self.pool.seed, k])
            if fitted is None or k < FEW:
                some = rng.choice(free, min(len(free), SHORTLIST), replace=False)
                before = np.array([*known, *(pick.row for pick in out)], dtype=np.int64)
                pick = Pick(int(some[int(np.argmin(self.pool.likeness(some, before)))]), "new")
            elif k % RANDOM_EVERY[k >= MANY] == 0:
                pick = Pick(int(rng.choice(free)), "random")
            else:  # the smallest margin that is not too similar to a labelled text; where all are, the smallest
                left = near[~done[near]]
                fresh = near[~done[near] & (like <= TOO_LIKE)]
                pick = Pick(int(fresh[0] if len(fresh) else left[0] if len(left) else free[0]), "unsure")
            done[pick.row] = True
            like = np.maximum(like, self.pool.likeness(near, np.array([pick.row], dtype=np.int64)))
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
