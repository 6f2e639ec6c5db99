"""Text to tokens: what the feature blocks see, with offsets into the original; words to numbers and back."""

from __future__ import annotations

from linnet.text.tokenisers import SUBWORD, TOKENISERS, Subword, tokeniser
from linnet.text.tokens import CASES, TOKENS, Token, tokenize, words_of
from linnet.text.vocabulary import Coverage, Vocabulary, Zipf

__all__ = [
    "CASES", "SUBWORD", "TOKENISERS", "TOKENS", "Coverage", "Subword", "Token", "Vocabulary", "Zipf", "tokeniser",
    "tokenize", "words_of",
]  # fmt: skip
