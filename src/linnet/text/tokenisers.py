"""The tokenisers by name: those of the kernels, which need nothing, and those that are learned from texts.

>>> cut = tokeniser("penn")
>>> [t.text for t in cut("Didn't the cat purr?")]
['did', "n't", 'the', 'cat', 'purr', '?']

A new tokeniser of the kernels is a row of ``TOKENS``, a branch of ``cut`` in tokenise.pxd and of ``cut`` in
tests/reference/text.py; a row here describes it.

Subword tokenisers, learned from texts to a budget of pieces: BPE over bytes, and WordPiece. Extra: ``subword``.

BPE joins the most frequent neighbours, from single bytes up, until the budget is reached: any text can be cut and put
together again. WordPiece joins the pair that makes the texts likeliest and reads words from the left, longest piece
first; a word it cannot build is one unknown piece. Both keep offsets into the original text.

>>> bpe = Subword.train("bpe", ["low lower lowest new newer newest"] * 9, size=266)
>>> bpe.pieces("lowest newer")
['lo', 'west', 'Ġne', 'wer']
>>> Subword.from_bytes(bpe.to_bytes()).tokens("lowest newer")[1]
Token(text='west', start=2, end=6)

References: Sennrich, Haddow and Birch 2016 (BPE); Schuster and Nakajima 2012 (WordPiece).
"""

from __future__ import annotations

import contextlib
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from linnet.errors import DataError, LinnetError, check_choice, nearest, require
from linnet.files import write_atomic
from linnet.text.tokens import SURROGATES, TOKENS, Token, tokenize, words_of

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
    """A learned tokeniser. ``data`` is the JSON that the library ``tokenizers`` reads; it is what a model file keeps."""

    kind: str
    data: bytes = field(repr=False)

    lasting: ClassVar[bool] = False  # other texts, another tokeniser

    @classmethod
    def train(cls, kind: str, texts: Iterable[str], size: int = SIZE) -> Subword:
        """Learn at most size pieces from texts; the same texts in the same order give the same bytes."""
        _check(kind, size)
        tk = _library()
        whole = [SURROGATES.sub("\ufffd", t) for t in texts]
        with _one_thread():
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
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise DataError(f"cannot read the tokeniser {os.fspath(path)!r}: {error.strerror or error}") from None
        try:
            return cls.from_bytes(data)
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
        with _one_thread():
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
    return require("tokenizers", "a BPE or WordPiece tokeniser", "subword")


def _check(kind: str, size: int) -> None:
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
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text.lower())
    solid = sorted((c for c in counts if not c.isspace()), key=lambda c: (-counts[c], c))
    return sorted(solid[: min(most, 1000)])


def _cuts(c: str) -> bool:
    """Whether a character is always a word of its own to the library: punctuation."""
    return unicodedata.category(c).startswith("P") or (c.isascii() and not c.isalnum())


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Keep the library to one thread: linnet's own threads are around it, and its news about forks are not wanted."""
    before = os.environ.get("TOKENIZERS_PARALLELISM")
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("TOKENIZERS_PARALLELISM", None)
        else:
            os.environ["TOKENIZERS_PARALLELISM"] = before


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
