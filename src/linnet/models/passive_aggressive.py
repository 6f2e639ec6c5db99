"""The passive-aggressive algorithm: move as little as possible, and as far as needed to be right about this row.

One binary problem a class, that class (t = 1) against the rest (t = -1). A row on its side of the margin changes nothing;
else the weights move to the nearest point that has it right, held back by C:

    w <- w + tau t x,    tau = min(C, loss / |x|^2)  (PA-I)    or    loss / (|x|^2 + 1 / (2 C))  (PA-II),
    loss = max(0, 1 - t w.x)

PA-I is a coordinate step on the dual of the SVM with the hinge, PA-II on that with the squared hinge, each from alpha = 0:
it is the SVM that forgets its rows, so it can go on with new ones for ever.

Reference: Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms, 2006.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from linnet.estimator import above_zero, one_of, truth
from linnet.features.plan import FeaturePlan
from linnet.models.estimator import EpochModel, EpochState, Seed
from linnet.models.solving import hinge_epoch
from linnet.solvers.matrix import TrainingSet

LOSSES = ("hinge", "squared_hinge")


@dataclass(eq=False, repr=False)
class PassiveAggressive(EpochModel):
    """Learn from rows one at a time; each is right after its step, as far as C allows.

    Parameters: ``C`` bounds how far one row moves the weights. ``loss`` is "hinge" (PA-I) or "squared_hinge" (PA-II).
    ``max_iter`` is how many epochs are made. ``average`` predicts with the mean of the weights after each epoch.
    ``fit_intercept``, ``class_weight``, ``random_state`` (the order of the rows).

    >>> X, y = [[0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [2.0, 0.0]], ["cold", "cold", "hot", "hot"]
    >>> PassiveAggressive().fit(X, y).predict([[3.0, 0.5]]).tolist()
    ['hot']
    """

    plan = FeaturePlan(ratio=(0.5, 0.0), grid=(("C", (1.0, 0.1, 0.03, 0.3)),), fixed=(("max_iter", 5),))

    C: float = 1.0
    _: KW_ONLY
    loss: str = "hinge"
    max_iter: int = 20
    average: bool = True
    fit_intercept: bool = True
    class_weight: Any = None
    random_state: Any = 0

    def epoch(self, rows: TrainingSet, start: EpochState, seed: Seed) -> EpochState:
        """Visit the distinct rows once; C is multiplied by their weight."""
        squared = one_of("loss", self.loss, LOSSES) == "squared_hinge"
        scale = float(truth("fit_intercept", self.fit_intercept))
        return hinge_epoch(above_zero("C", self.C), rows, start, seed, 1, squared=squared, bias_scale=scale)
