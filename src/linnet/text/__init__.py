"""Text to tokens: what the feature blocks see, with offsets into the original; words to numbers and back."""

from linnet.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
