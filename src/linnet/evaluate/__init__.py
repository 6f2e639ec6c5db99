"""How good a classifier is: scores with intervals, and tests of one against another."""

from linnet.evaluate.intervals import bootstrap, f1_wilson, wilson
from linnet.evaluate.metrics import ClassScores, Evaluation, evaluate
from linnet.evaluate.significance import PairedTest, corrected_t, holm, mcnemar, paired_bootstrap

__all__ = [
    "ClassScores", "Evaluation", "PairedTest", "bootstrap", "corrected_t", "evaluate", "f1_wilson", "holm", "mcnemar",
    "paired_bootstrap", "wilson",
]  # fmt: skip
