"""Tokens to sparse rows: blocks, vocabulary or hash, weighting; Vectorizer is all of it, in scikit-learn's contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linnet.features.blocks import Across, Affixes, Chars, Lengths, Negated, Not, Position, Shapes, Skips, Words
    from linnet.features.columns import Column
    from linnet.features.functions import Functions
    from linnet.features.language import Adjectives, Bpe, Lemmas, Pos, Stems, WordPiece
    from linnet.features.lists import Lists
    from linnet.features.quadratic import Quadratic
    from linnet.features.vectorizer import Vectorizer

__all__ = [
    "Across", "Adjectives", "Affixes", "Bpe", "Chars", "Column", "Functions", "Lemmas", "Lengths", "Lists", "Negated",
    "Not", "Pos", "Position", "Quadratic", "Shapes", "Skips", "Stems", "Vectorizer", "WordPiece", "Words",
]  # fmt: skip


def __getattr__(name: str) -> Any:  # prediction needs blocks only, so the rest is loaded when it is used
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'linnet.features' has no attribute {name!r}")
    from linnet.features.blocks import COMPUTED, DERIVED

    own = {kind: module for module, kind in (*COMPUTED.values(), *DERIVED.values())}
    home = {**own, "Quadratic": "quadratic", "Vectorizer": "vectorizer"}.get(name, "blocks")
    return getattr(import_module(f"linnet.features.{home}"), name)
