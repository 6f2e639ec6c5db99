"""Tokens to sparse rows: blocks, vocabulary or hash, weighting; Vectorizer is all of it, in scikit-learn's contract."""

from linnet.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
