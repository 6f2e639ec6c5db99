"""Compare models honestly: the same folds for all, intervals, paired tests, and plain words at the end.

>>> from linnet.datasets import load
>>> found = compare(load("reviews")[0], models="svm,nb", features="words:1", random_state=1)
>>> sorted(model.name for model in found.models)
['nb', 'svm']
"""

from linnet.comparison.run_comparison import Comparison, ModelScores, Pair, compare
from linnet.comparison.versions import VersionComparison, compare_versions

__all__ = ["Comparison", "ModelScores", "Pair", "VersionComparison", "compare", "compare_versions"]
