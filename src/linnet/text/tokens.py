"""Cut one text into tokens, the way the feature blocks do, with offsets into the original.

>>> for token in tokenize("Isn\u2019t it GREAT?!"):
...     print(token)
Token(text="isn't", start=0, end=5)
Token(text='it', start=6, end=8)
Token(text='great', start=9, end=14)
Token(text='?', start=14, end=15)
Token(text='!', start=15, end=16)

``words`` are Unicode words: letters, digits and marks, with apostrophes inside them; signs are tokens, a run of the
same sign is one; characters of scripts that are written without spaces stand alone. ``pattern`` is scikit-learn's
default: two or more letters, digits or underscores, everything else dropped. ``whitespace`` is ``str.split``.
``characters`` and ``bytes`` are every one of them, blanks too; a byte is written as the character of its number and
stands at the character it is part of. ``penn`` cuts English as the Penn Treebank does:

>>> [t.text for t in tokenize("The cat didn\u2019t.", "penn")]
['the', 'cat', 'did', "n't", '.']

Words that turn round what follows, and the signs that end their reach; English.

The kernels know the words by their hash, from a table that ``tools/negation_table.py`` writes; a test holds the two
together. Das and Chen (2001) mark every word from such a word to the next punctuation.

>>> is_negation("didn't"), is_negation("NEVER"), is_negation("knot")
(True, True, False)
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from linnet._kernels.text import Scratch, tokenise_text
from linnet.array_types import Bytes
from linnet.errors import DataError, LinnetError, check_choice, nearest, require
from linnet.files import read_text, write_atomic

TOKENS = {"words": 0, "pattern": 1, "whitespace": 2, "characters": 3, "bytes": 4, "penn": 5}
CASES = {"keep": 0, "fold": 1, "lower": 2}

IN_CONTEXT = "\u03a3\u0130"
"""Capital sigma and dotted I: ``str.lower`` of a text is not that of its characters. Lower such texts first."""

SURROGATES = re.compile("[\ud800-\udfff]")


class Token(NamedTuple):
    """A folded piece of a text; ``start`` and ``end`` are its place in the original, in characters."""

    text: str
    start: int
    end: int


def check_tokens(tokens: str, case: str, error: type[LinnetError] = DataError) -> None:
    """Refuse unknown names of tokens and of what becomes of their case."""
    check_choice("tokens", tokens, TOKENS, error)
    check_choice("case", case, CASES, error)


def tokenize(text: str, tokens: str = "words", case: str = "fold") -> list[Token]:
    """Return the tokens of a text; see the head of this file for the choices.

    Case "fold" makes letters that differ only in case alike in every script, "lower" is ``str.lower``, "keep" keeps.

    >>> [t.text for t in tokenize("The 2 Stra\u00dfen", tokens="pattern")]
    ['the', 'strassen']
    >>> tokenize("No!!", case="keep")[1]
    Token(text='!!', start=2, end=4)
    """
    if not isinstance(text, str):
        raise DataError(f"tokenize takes one text, got {type(text).__name__}: {text!r:.60}")
    check_tokens(tokens, case)
    if case == "lower" and any(c in text for c in IN_CONTEXT):
        lowered = text.lower()
        origin = np.repeat(np.arange(len(text)), [len(c.lower()) for c in text])  # of each lowered character
        found = _cut(lowered, tokens, case)
        return [Token(t.text, int(origin[t.start]), int(origin[t.end - 1]) + 1) for t in found]
    return _cut(text, tokens, case)


def words_of(texts: Iterable[str], tokens: str = "words", case: str = "fold") -> Iterator[list[str]]:
    """Yield the tokens of each text without their places, which is quicker than ``tokenize`` for many texts.

    >>> list(words_of(["It ROCKS!", ""]))
    [['it', 'rocks', '!'], []]
    """
    scratch = Scratch(1 << 10, room=0)
    for text in texts:
        if case == "lower" and any(c in text for c in IN_CONTEXT):
            text = text.lower()
        data = np.frombuffer(SURROGATES.sub("\ufffd", text).encode(), dtype=np.uint8)
        if len(data) > scratch.longest:
            scratch = Scratch(max(2 * scratch.longest, len(data)), room=0)
        yield _tokens(data, tokens, case, scratch)


def _tokens(data: Bytes, tokens: str, case: str, scratch: Scratch) -> list[str]:
    number = tokenise_text(data, TOKENS[tokens], CASES[case], scratch)
    first = scratch.token_places[2, : number + 1].tolist()
    folded = scratch.codes[: first[number]].astype("<u4", copy=False).tobytes().decode("utf-32-le")
    return [folded[a:b] for a, b in pairwise(first)]


def _cut(text: str, tokens: str, case: str) -> list[Token]:
    data = np.frombuffer(SURROGATES.sub("\ufffd", text).encode(), dtype=np.uint8)
    scratch = Scratch(len(data), room=0)
    found = _tokens(data, tokens, case, scratch) if text else []
    places = scratch.token_places[:, : len(found)]
    at = np.append(0, np.cumsum((data & 0xC0) != 0x80))  # how many characters begin before each byte, and in all
    return list(map(Token, found, (at[places[0] + 1] - 1).tolist(), at[places[1]].tolist()))


_CONTRACTED = (
    "ain't aren't can't couldn't daren't didn't doesn't don't hadn't hasn't haven't isn't mightn't mustn't needn't "
    "oughtn't shan't shouldn't wasn't weren't won't wouldn't"
)
_PLAIN = "not no never none nobody nothing nowhere neither nor cannot without hardly scarcely barely n't nope"
_NEGATIVE = f"{_PLAIN} {_CONTRACTED} {_CONTRACTED.replace(chr(39), '')}".split()
NEGATIONS = tuple(dict.fromkeys(form for word in _NEGATIVE for form in (word, word.capitalize(), word.upper())))
"""The words, in small letters, with a capital and in capitals; contractions also without their apostrophe."""

STOPS = ".,:;!?()[]{}\u2013\u2014\u2026"
"""A token that begins or ends with one of these ends the reach of a negation."""


def is_negation(token: str) -> bool:
    """Say whether a token is a negation."""
    return token in NEGATIONS


# ---- The tokenisers by name: those of the kernels, which need nothing, and those that are learned from texts.
#
# A new tokeniser of the kernels is a row of ``TOKENS``, a branch of ``cut`` in tokenise.pxd and of ``cut`` in tests/reference/text.py; a
# row of ``TOKENISERS`` describes it.
#
# Subword tokenisers are learned from texts to a budget of pieces. BPE over bytes joins the most frequent neighbours, from single bytes up,
# until the budget is reached: any text can be cut and put together again. WordPiece joins the pair that makes the texts likeliest and reads
# words from the left, longest piece first; a word it cannot build is one unknown piece. Both keep offsets into the original text.
# References: Sennrich, Haddow and Birch 2016 (BPE); Schuster and Nakajima 2012 (WordPiece).


SUBWORD = {
    "bpe": "byte-pair encoding over bytes, learned to a budget of pieces",
    "wordpiece": "WordPiece, learned to a budget of pieces",
}
SIZE = 8000
BATCH = 1 << 10  # texts
SMALLEST = {"bpe": 257, "wordpiece": 16}  # all bytes and a pair; a few letters
UNKNOWN = "[UNK]"


@dataclass(frozen=True)
class Subword:
    """A learned tokeniser (extra: ``subword``). ``data`` is the JSON that the library ``tokenizers`` reads; a model file keeps it.

    >>> bpe = Subword.train("bpe", ["low lower lowest new newer newest"] * 9, size=266)
    >>> bpe.pieces("lowest newer")
    ['lo', 'west', 'Ġne', 'wer']
    >>> Subword.from_bytes(bpe.to_bytes()).tokens("lowest newer")[1]
    Token(text='west', start=2, end=6)
    """

    kind: str
    data: bytes = field(repr=False)

    lasting: ClassVar[bool] = False  # other texts, another tokeniser

    @classmethod
    def train(cls, kind: str, texts: Iterable[str], size: int = SIZE) -> Subword:
        """Learn at most size pieces from texts; the same texts in the same order give the same bytes."""
        _check_budget(kind, size)
        tk = _library()
        whole = [SURROGATES.sub("\ufffd", t) for t in texts]
        tokenizer = _bpe(tk, whole, size) if kind == "bpe" else _wordpiece(tk, whole, size)
        return cls(kind, tokenizer.to_str().encode())

    @classmethod
    def from_bytes(cls, data: bytes) -> Subword:
        """Read what ``to_bytes`` gave, or the JSON file of another BPE or WordPiece tokeniser."""
        tk = _library()
        try:
            tokenizer = tk.Tokenizer.from_str(data.decode())
            kind = {"BPE": "bpe", "WordPiece": "wordpiece"}[type(tokenizer.model).__name__]
        except Exception as error:  # the library raises plain Exception
            raise DataError(f"this is not a saved BPE or WordPiece tokeniser ({error!s:.80})") from None
        return cls(kind, bytes(data))

    def to_bytes(self) -> bytes:
        """Return the tokeniser as bytes."""
        return self.data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON to a file, whole or not at all."""
        write_atomic(path, self.data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Subword:
        """Read a file written by ``save``."""
        data = read_text(path, "the tokeniser")
        try:
            return cls.from_bytes(data.encode())
        except DataError as error:
            raise DataError(f"{os.fspath(path)}: {error}") from None

    @cached_property
    def _tokenizer(self) -> Any:
        return _library().Tokenizer.from_str(self.data.decode())

    @property
    def size(self) -> int:
        """How many pieces it knows."""
        return int(self._tokenizer.get_vocab_size())

    def vocabulary(self) -> list[str]:
        """Return the pieces in the order of their numbers."""
        numbers: dict[str, int] = self._tokenizer.get_vocab()
        return sorted(numbers, key=numbers.__getitem__)

    def encoded(self, texts: Iterable[str]) -> list[Any]:
        """Return what the library gives for each text: tokens, offsets (in characters) and ids."""
        return list(self._tokenizer.encode_batch([SURROGATES.sub("\ufffd", t) for t in texts]))

    def tokens(self, text: str) -> list[Token]:
        """Return the pieces of a text with their places; a piece of half a character stands at the character."""
        found = self.encoded([text])[0]
        return [Token(t, a, b) for t, (a, b) in zip(found.tokens, found.offsets, strict=True)]

    def words(self, texts: Iterable[str]) -> list[list[str]]:
        """Return the pieces of each text."""
        return [found.tokens for found in self.encoded(texts)]

    def pieces(self, text: str) -> list[str]:
        """Return the pieces of a text; in BPE a blank is written Ġ, in WordPiece ## means: goes on."""
        return list(self.encoded([text])[0].tokens)

    def encode(self, text: str) -> list[int]:
        """Return the numbers of the pieces."""
        return list(self.encoded([text])[0].ids)

    def decode(self, ids: Iterable[int]) -> str:
        """Put numbers together again: the very text for BPE, its words for WordPiece."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))


def _library() -> Any:
    """Import the library; it is kept to one thread unless the user says otherwise: linnet's own are around it."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return require("tokenizers", "a BPE or WordPiece tokeniser", "subword")


def _check_budget(kind: str, size: int) -> None:
    check_choice("subword tokeniser", kind, SUBWORD, LinnetError)
    if not SMALLEST[kind] <= size <= 1_000_000:
        raise LinnetError(f"{kind}: give a budget from {SMALLEST[kind]} to 1,000,000 pieces, got {size}")


def _bpe(tk: Any, texts: list[str], size: int) -> Any:
    tokenizer = tk.Tokenizer(tk.models.BPE())
    tokenizer.pre_tokenizer = tk.pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.decoder = tk.decoders.ByteLevel()
    alphabet = sorted(tk.pre_tokenizers.ByteLevel.alphabet())
    trainer = tk.trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _wordpiece(tk: Any, texts: list[str], size: int) -> Any:
    """Train WordPiece; the letters and their ## forms are numbered by us.

    Left to itself the library numbers them in the order of a hash table, which changes from run to run, and ties
    between pairs go by number.
    """
    letters = _alphabet(texts, max(1, size // 4))
    inside = ["##" + c for c in letters if not _cuts(c)]
    tokenizer = _reader(tk, tk.models.WordPiece(unk_token=UNKNOWN))
    trainer = tk.trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=[UNKNOWN, *inside][:size], initial_alphabet=letters,
        limit_alphabet=len(letters), show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    return _reader(tk, tk.models.WordPiece(vocab=tokenizer.get_vocab(), unk_token=UNKNOWN))  # no special ## pieces


def _reader(tk: Any, model: Any) -> Any:
    tokenizer = tk.Tokenizer(model)
    tokenizer.normalizer = tk.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tk.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = tk.decoders.WordPiece()
    return tokenizer


def _alphabet(texts: list[str], most: int) -> list[str]:
    """Return the most frequent characters, at most a quarter of the budget and 1000."""
    counts = Counter(chain.from_iterable(map(str.lower, texts)))
    solid = sorted((c for c in counts if not c.isspace()), key=lambda c: (-counts[c], c))
    return sorted(solid[: min(most, 1000)])


def _cuts(c: str) -> bool:
    """Whether a character is always a word of its own to the library: punctuation."""
    return unicodedata.category(c).startswith("P") or (c.isascii() and not c.isalnum())


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
    """Return the function that cuts a text: a name of the kernels' tokenisers, or the file of a learned one.

    >>> [t.text for t in tokeniser("penn")("Didn't the cat purr?")]
    ['did', "n't", 'the', 'cat', 'purr', '?']
    """
    return (lambda text: tokenize(text, name, case)) if name in TOKENS else learned_tokeniser(name).tokens


def tokenised(texts: Iterable[str], name: str, case: str = "fold") -> Iterator[list[str]]:
    """Yield the tokens of each text without their places; name is as of ``tokeniser``."""
    if name in TOKENS:
        yield from words_of(texts, name, case)
        return
    learned, rest = learned_tokeniser(name), iter(texts)
    while some := list(islice(rest, BATCH)):
        yield from learned.words(some)


def learned_tokeniser(name: str) -> Subword:
    """Read the file of a learned tokeniser."""
    if name.partition(":")[0] in SUBWORD:
        raise LinnetError(
            f"{name} is learned from texts first: linnet tokenize --tokens {name} --train DATA --save F.json"
        )
    if name.endswith(".json") or Path(name).exists():
        return Subword.load(name)
    raise DataError(nearest("tokens", name, [*TOKENISERS, "a file that --save wrote"]))


def budget_of(name: str) -> tuple[str, int]:
    """Read the name and the budget of a learned tokeniser.

    >>> budget_of("bpe:2000"), budget_of("wordpiece")
    (('bpe', 2000), ('wordpiece', 8000))
    """
    kind, colon, size = name.partition(":")
    check_choice("tokeniser that is learned", kind, SUBWORD, LinnetError)
    if colon and not size.isdecimal():
        raise LinnetError(f"{name}: write the budget as a number of pieces, for example {kind}:{SIZE}")
    return kind, int(size) if colon else SIZE


def shown(token: Token, name: str) -> str:
    r"""Write a piece so that it can be seen: bytes above 127 and what cannot be printed by their numbers.

    >>> shown(Token("\u00c3", 0, 1), "bytes"), shown(Token("\t", 0, 1), "characters")
    ('<C3>', '<09>')
    """
    if name == "bytes" and not token.text.isascii():
        return f"<{ord(token.text):02X}>"
    return "".join(c if c.isprintable() else f"<{ord(c):02X}>" for c in token.text)
