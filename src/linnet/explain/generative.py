"""Naive Bayes as a story of how texts are made: P(class), P(word | class) and log P(text, class).

A model of two classes keeps one weight a word, the difference of two logarithms. The logarithms themselves are estimated again
from the counts that its file keeps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Floats
from linnet.errors import DataError, LinnetError
from linnet.features.vectorizer import features_named
from linnet.model.model import Model
from linnet.model.table import FloatTable
from linnet.models.naive_bayes import Statistics


@dataclass(frozen=True)
class Generative:
    """A model of text, and the estimator that its counts are given to."""

    model: Model
    estimator: Any

    @classmethod
    def of(cls, model: Model, estimator: Any) -> Generative:
        """Estimate the probabilities; models that count nothing are refused."""
        if model.learned is None or model.table.hashed:
            raise LinnetError("probabilities are those of nb and bernoulli, of one label a row and without hash_bits")
        estimator.learn(Statistics(model.learned.rows, model.learned.features), np.dtype(np.float64))
        return cls(model, estimator)

    def prior(self) -> dict[Any, float]:
        """Return P(class)."""
        return self._named(self.estimator.class_log_prior_)

    def word(self, name: str) -> dict[Any, float]:
        """Return P(word | class); a word that the model does not know has that of all unknown words, with oov."""
        table = self.model.table
        slot = table.find(features_named([name], self.model.blocks)[0])[0]
        if slot >= 0:
            return self._named(self.estimator.feature_log_prob_[:, np.searchsorted(table.used, slot)])
        if not hasattr(self.estimator, "oov_log_prob_"):
            raise DataError(f"the model does not know {name!r}; params={{'oov': True}} gives such words a probability")
        return self._named(self.estimator.oov_log_prob_)

    def joint(self, texts: Any, threads: int | None = None) -> Floats:
        """Return log P(text, class), (n_texts, n_classes), up to what all classes share; -inf where it is impossible."""
        form = self.estimator.form_
        scores = self._sums(form.W, form.b, texts, threads)
        if hasattr(self.estimator, "oov_log_prob_"):  # what every unknown word adds
            known, every = self.model.known_features(texts, threads, counting=self.model.tf != "presence")
            scores += (every - known)[:, None] * self.estimator.oov_log_prob_
        if form.barred is not None:
            V, v = form.barred
            scores[self._sums(V, v, texts, threads) > 0.5] = -np.inf
        return scores

    def sample(self, n: int, length: int | None, random_state: Any) -> list[tuple[str, Any]]:
        """Draw n bags of words, as texts, and their classes; features without a name are left out."""
        estimator, names = self.estimator, self.model.names()
        words = [names.get(slot, "") for slot in self.model.table.used.tolist()]
        estimator.n_features_in_, estimator.classes_ = len(words), np.arange(len(self.model.classes))
        X, y = estimator.sample(n, random_state, **({} if length is None else {"length": length}))
        bags = [[word for word, k in zip(words, row, strict=True) for _ in range(int(k)) if word] for row in X]
        return [(" ".join(bag), self.model.classes[c]) for bag, c in zip(bags, y.tolist(), strict=True)]

    def _sums(self, W: Floats, b: Floats, texts: Any, threads: int | None) -> Floats:
        """Score texts with a weight for every class."""
        t = self.model.table
        rows = np.zeros((t.n_slots, 1 + len(b)), np.float32)
        rows[:, 0] = t.rows[:, 0]
        rows[t.used, 1:] = rows[t.used, :1] * W
        return replace(self.model, table=FloatTable(t.slots, rows, t.shift, t.bits), b=b).sums(texts, threads)

    def _named(self, logs: Floats) -> dict[Any, float]:
        return dict(zip(self.model.classes, arithmetic.exp(logs).tolist(), strict=True))
