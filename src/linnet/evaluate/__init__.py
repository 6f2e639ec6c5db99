"""How good a classifier is: scores with intervals, and tests of one against another."""

from linnet.evaluate.evaluation import (
    ClassScores,
    Evaluation,
    MultilabelEvaluation,
    evaluate,
    evaluate_answers,
    evaluate_multilabel,
)
from linnet.evaluate.intervals import bootstrap, f1_wilson, jackknife_interval, mean_interval, wilson
from linnet.evaluate.metrics import Area, CalibrationBin, TopK
from linnet.evaluate.significance import PairedTest, corrected_t, holm, mcnemar, paired_bootstrap

__all__ = [
    "Area", "CalibrationBin", "ClassScores", "Evaluation", "MultilabelEvaluation", "PairedTest", "TopK", "bootstrap",
    "corrected_t", "evaluate", "evaluate_answers", "evaluate_multilabel", "f1_wilson", "holm", "jackknife_interval",
    "mcnemar", "mean_interval", "paired_bootstrap", "wilson",
]  # fmt: skip
