"""The tokenisers by name: those of the kernels, which need nothing, and those that are learned from texts.

>>> cut = tokeniser("penn")
>>> [t.text for t in cut("Didn't the cat purr?")]
['did', "n't", 'the', 'cat', 'purr', '?']

A new tokeniser of the kernels is a row of ``TOKENS``, a branch of ``cut`` in tokenise.pxd and of ``cut`` in
tests/reference/text.py; a row here describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from linnet.errors import LinnetError, nearest
from linnet.text.subword import SIZE, SUBWORD, Subword
from linnet.text.tokens import TOKENS, Token, tokenize

__all__ = ["EXAMPLE", "TOKENISERS", "budget_of", "lossless", "rebuilt", "shown", "tokeniser"]

TOKENISERS = {
    "words": "Unicode words, apostrophes inside them; signs are tokens (the default)",
    "whitespace": "what lies between blanks, as str.split gives it",
    "pattern": "two or more letters, digits or underscores, as scikit-learn's default",
    "penn": "English in the manner of the Penn Treebank: did n't, cat .",
    "characters": "every character, blanks too",
    "bytes": "every byte of the UTF-8",
    **SUBWORD,
}
EXAMPLE = "The cat didn\u2019t purr. Na\u00efve 3.14!"


def tokeniser(name: str, case: str = "fold") -> Callable[[str], list[Token]]:
    """Return the function that cuts a text: a name of the kernels' tokenisers, or the file of a learned one."""
    if name in TOKENS:
        return lambda text: tokenize(text, name, case)
    if name.partition(":")[0] in SUBWORD:
        raise LinnetError(
            f"{name} is learned from texts first: linnet tokenize --tokens {name} --train DATA --save F.json"
        )
    if name.endswith(".json") or Path(name).exists():
        return Subword.load(name).tokens
    raise LinnetError(nearest("tokens", name, [*TOKENISERS, "a file that --save wrote"]))


def budget_of(name: str) -> tuple[str, int]:
    """Read the name and the budget of a learned tokeniser.

    >>> budget_of("bpe:2000"), budget_of("wordpiece")
    (('bpe', 2000), ('wordpiece', 8000))
    """
    kind, colon, size = name.partition(":")
    if kind not in SUBWORD:
        raise LinnetError(nearest("tokeniser that is learned", kind, SUBWORD))
    if colon and not size.isdecimal():
        raise LinnetError(f"{name}: write the budget as a number of pieces, for example {kind}:{SIZE}")
    return kind, int(size) if colon else SIZE


def lossless(name: str) -> bool:
    """Whether the pieces of a text (case "keep") put behind one another are the text."""
    return name in ("characters", "bytes", "bpe")


def shown(token: Token, name: str) -> str:
    r"""Write a piece so that it can be seen: bytes above 127 and what cannot be printed by their numbers.

    >>> shown(Token("\u00c3", 0, 1), "bytes"), shown(Token("\t", 0, 1), "characters")
    ('<C3>', '<09>')
    """
    if name == "bytes" and not token.text.isascii():
        return f"<{ord(token.text):02X}>"
    return "".join(c if c.isprintable() else f"<{ord(c):02X}>" for c in token.text)


def rebuilt(tokens: Iterable[Token], name: str) -> str:
    """Put the pieces of a lossless tokeniser of the kernels together again."""
    text = "".join(t.text for t in tokens)
    return text.encode("latin-1").decode() if name == "bytes" else text
