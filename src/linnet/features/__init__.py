"""Tokens to sparse rows: blocks, vocabulary or hash, weighting; Vectorizer is all of it, in scikit-learn's contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linnet.features.blocks import Chars, Words
    from linnet.features.functions import Functions
    from linnet.features.quadratic import Quadratic
    from linnet.features.vectorizer import Vectorizer

__all__ = ["Chars", "Functions", "Quadratic", "Vectorizer", "Words"]


def __getattr__(name: str) -> Any:  # prediction needs blocks only, so the rest is loaded when it is used
    from importlib import import_module

    homes = {"Chars": "blocks", "Words": "blocks", "Functions": "functions", "Quadratic": "quadratic"}
    home = {**homes, "Vectorizer": "vectorizer"}.get(name)
    if home is None:
        raise AttributeError(f"module 'linnet.features' has no attribute {name!r}")
    return getattr(import_module(f"linnet.features.{home}"), name)
