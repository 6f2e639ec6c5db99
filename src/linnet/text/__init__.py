"""Text to tokens: what the feature blocks see, with offsets into the original; words to numbers and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linnet.text.tokens import CASES, SUBWORD, TOKENISERS, TOKENS, Subword, Token, tokeniser, tokenize, words_of

if TYPE_CHECKING:
    from linnet.text.vocabulary import Coverage, Vocabulary, Zipf

__all__ = [
    "CASES", "SUBWORD", "TOKENISERS", "TOKENS", "Coverage", "Subword", "Token", "Vocabulary", "Zipf", "tokeniser",
    "tokenize", "words_of",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in ("Coverage", "Vocabulary", "Zipf"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from linnet.text import vocabulary  # draws

    return getattr(vocabulary, name)
