"""Find features, weighting, model and settings within a budget of time, size and memory.

>>> from linnet.datasets import load
>>> train, dev, test = load("reviews")
>>> found = tune(train, test=test, models="nb", candidates=3, budget="60s")
>>> found.test.n, found.finished
(228, True)
"""

from linnet.tuning.run_search import tune
from linnet.tuning.search import Tuning

__all__ = ["Tuning", "tune"]
