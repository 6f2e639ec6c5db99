"""Text to tokens: what the feature blocks see, with offsets into the original; words to numbers and back."""

from __future__ import annotations

from linnet.text.subword import SUBWORD, Subword
from linnet.text.tokenisers import TOKENISERS, tokeniser
from linnet.text.tokens import CASES, TOKENS, Token, tokenize, words_of
from linnet.text.vocabulary import Coverage, Vocabulary
from linnet.text.zipf import Zipf

__all__ = [
    "CASES", "SUBWORD", "TOKENISERS", "TOKENS", "Coverage", "Subword", "Token", "Vocabulary", "Zipf", "tokeniser",
    "tokenize", "words_of",
]  # fmt: skip
