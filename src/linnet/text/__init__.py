"""Text to tokens: what the feature blocks see, with offsets into the original."""

from __future__ import annotations

from linnet.text.tokens import CASES, TOKENS, Token, tokenize, words_of

__all__ = ["CASES", "TOKENS", "Token", "tokenize", "words_of"]
