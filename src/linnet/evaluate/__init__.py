"""How good a classifier is: scores with intervals."""

from linnet.evaluate.intervals import bootstrap, f1_wilson, wilson
from linnet.evaluate.metrics import ClassScores, Evaluation, evaluate

__all__ = ["ClassScores", "Evaluation", "bootstrap", "evaluate", "f1_wilson", "wilson"]
