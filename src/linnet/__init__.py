"""linnet: labelled text to a small, fast, explainable classifier that says honestly how good it is.

>>> import linnet
>>> clf = linnet.TextClassifier("nb", features="words:1")
>>> clf = clf.fit(["good", "so good", "bad", "very bad"], ["pos", "pos", "neg", "neg"])
>>> clf.predict(["good good"]).tolist()
['pos']

Everything is loaded when it is first used, so that ``import linnet`` and ``linnet --version`` stay quick.
"""

from linnet.lazy import attach

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = attach(__name__)
