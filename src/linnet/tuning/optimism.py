"""How much too good the best of many scores is: choosing by a score makes that score too high.

The answers of all candidates on the same held-out rows are kept, so choosing can be done again and again on rows drawn
with replacement, and the chosen one judged on the rows that were not drawn. The mean of those scores is an estimate of
what the chosen candidate does on new rows; the score it was chosen by, less that, is the optimism.

Reference: Tsamardinos, Greasidou and Borboudakis, Bootstrapping the out-of-sample predictions for efficient and
accurate cross-validation, Machine Learning 107 (2018).

>>> rng = np.random.default_rng(0)
>>> truth = rng.integers(0, 2, 300)
>>> coins = [rng.integers(0, 2, 300) for _ in range(30)]  # no candidate knows anything
>>> best = max(float(np.mean(c == truth)) for c in coins)
>>> found = corrected("accuracy", np.arange(300), truth, coins, 2, seed=0)
>>> round(best, 2), round(found.expected, 2)
(0.54, 0.48)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.evaluate.intervals import Interval
from linnet.evaluate.metrics import resampled_scores, score_of

__all__ = ["Optimism", "corrected"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
DRAWS = 400
MOST_WORK = 400_000_000


@dataclass(frozen=True)
class Optimism:
    """score is the best one, as it was chosen by; expected what to expect of new rows, with its 95 % interval.

    ``noise`` is the spread of each candidate's difference to the first, for telling luck from better.
    """

    score: float
    expected: float
    interval: Interval
    candidates: int
    noise: Floats

    @property
    def optimism(self) -> float:
        """By how much the score of the chosen candidate is too good."""
        return max(0.0, self.score - self.expected)

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "score": self.score, "expected": self.expected, "interval": list(self.interval), "optimism": self.optimism,
            "candidates": self.candidates, "method": "bootstrap bias corrected cross-validation",
        }  # fmt: skip


def corrected(
    metric: str, rows: Indices, truth: Indices, answers: list[Indices], n_classes: int, seed: int
) -> Optimism:
    """Choose again on drawn rows, judge on the rest; rows says which rows stand for one text and are drawn together."""
    scores = np.array([score_of(metric, truth, predicted, n_classes) for predicted in answers])
    texts, number = np.unique(rows, return_inverse=True)
    draws = int(np.clip(MOST_WORK // max(1, len(rows) * len(answers)), 100, DRAWS))
    rng = np.random.default_rng((seed, 3))
    n = len(texts)
    inside = np.stack([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(draws)]).astype(np.float64)
    outside = (inside == 0).astype(np.float64)
    drawn = resampled_scores(metric, truth, answers, inside[:, number], n_classes)  # (draws, candidates)
    left = resampled_scores(metric, truth, answers, outside[:, number], n_classes)
    chosen = drawn.argmax(axis=1)
    kept = outside.sum(axis=1) > 0
    found = left[np.arange(draws), chosen][kept] if kept.any() else drawn[np.arange(draws), chosen]
    low, high = np.quantile(found, [0.025, 0.975])
    differences = drawn - drawn[:, :1]
    noise = np.sqrt(arithmetic.mean(np.square(differences - arithmetic.mean(differences, axis=0)), axis=0))
    best = float(scores.max())
    return Optimism(best, min(arithmetic.mean(found), best), (float(low), float(high)), len(answers), noise)
