"""How good a classifier is: scores with intervals, and tests of one against another."""

from linnet.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
