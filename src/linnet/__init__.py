"""linnet: labelled text to a small, fast, explainable classifier that says honestly how good it is.

>>> import linnet
>>> clf = linnet.TextClassifier("nb", features="words:1")
>>> clf = clf.fit(["good", "so good", "bad", "very bad"], ["pos", "pos", "neg", "neg"])
>>> clf.predict(["good good"]).tolist()
['pos']

Everything is loaded when it is first used, so that ``import linnet`` and ``linnet --version`` stay quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from linnet.checks import Checkup, check
    from linnet.classifier import TextClassifier, load
    from linnet.comparison import Comparison, compare
    from linnet.data import Dataset, read, stream
    from linnet.errors import DataError, LinnetError, MissingExtraError, ModelFileError, UntrustedModelError
    from linnet.features.functions import register_function
    from linnet.report import Report
    from linnet.tuning import Tuning, tune

__all__ = [
    "Checkup", "Comparison", "DataError", "Dataset", "LinnetError", "MissingExtraError", "ModelFileError", "Report",
    "TextClassifier", "Tuning", "UntrustedModelError", "__version__", "check", "compare", "load", "read", "register_function", "stream",
    "tune",
]  # fmt: skip

_HOME = {
    "Checkup": "linnet.checks", "check": "linnet.checks",
    "TextClassifier": "linnet.classifier", "load": "linnet.classifier",
    "Comparison": "linnet.comparison", "compare": "linnet.comparison", "Dataset": "linnet.data", "read": "linnet.data",
    "stream": "linnet.data", "DataError": "linnet.errors", "LinnetError": "linnet.errors",
    "MissingExtraError": "linnet.errors", "ModelFileError": "linnet.errors", "Report": "linnet.report",
    "UntrustedModelError": "linnet.errors", "register_function": "linnet.features.functions",
    "Tuning": "linnet.tuning", "tune": "linnet.tuning",
}  # fmt: skip


_MODULES = ("checks", "comparison", "data", "datasets", "errors", "evaluate", "explain", "features", "models", "tuning")


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"linnet.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'linnet' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
