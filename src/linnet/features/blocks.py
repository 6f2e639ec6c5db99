"""Feature blocks: what a vectoriser makes of the tokens of a text. A block is a value; blocks add up with ``+``.

>>> parse("words:1-2+chars:2-5")
(Words(1, 2), Chars(2, 5))
>>> describe(Words(1, 3) + Chars(2, 6, weight=0.7))
'words:1-3+chars:2-6*0.7'

A new block that the kernels know is one class here and one row of ``BLOCKS``; one that counts the words of another text,
derived from the original, is a class of ``features.derived`` and a row of ``DERIVED``; one that Python computes is a class
of ``features.computed`` and a row of ``COMPUTED``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from linnet._kernels.text import CompiledBlocks
from linnet.errors import LinnetError, check_choice
from linnet.features.computed import COMPUTED, DERIVED, Computed, FeatureBlock, kind_of, split
from linnet.text.tokens import CASES, TOKENS, check_tokens

if TYPE_CHECKING:
    from linnet.features.derived import TextSource

LONGEST = 12


@dataclass(frozen=True, repr=False)
class Block(FeatureBlock):
    """n-grams of low to high pieces, over the given tokens, with letters folded as said.

    weight is how much the block counts beside the others, once each is normalised.
    """

    low: int = 1
    high: int = 1
    tokens: str = "words"
    case: str = "fold"
    weight: float = 1.0

    kind: ClassVar[int]
    example: ClassVar[str] = "words:1-2+chars:2-5"
    first: ClassVar[tuple[str, ...]] = ("low", "high")
    seed: ClassVar[int]
    density: ClassVar[int] = 1
    """About how many n-grams of one length there are for every word."""
    upward: ClassVar[bool] = False
    """Whether one number alone, as in ``skips:2``, means 1 up to it."""
    of_words: ClassVar[bool] = True
    """Whether the block makes no sense of single characters or bytes."""

    def __post_init__(self) -> None:
        if not (1 <= self.low <= self.high <= LONGEST):
            raise LinnetError(f"{self.name}:{self.low}-{self.high}: give 1 <= low <= high <= {LONGEST}")
        check_tokens(self.tokens, self.case, LinnetError)
        if self.of_words and self.tokens in ("characters", "bytes"):
            raise LinnetError(f"{self.name} is made of words; '{self.tokens}' goes with words:{self.low}-{self.high}")
        self._check_weight()

    @property
    def source(self) -> TextSource | None:
        """What makes the text that the block counts in; None is the original."""
        return None

    @property
    def salt(self) -> int:
        """What tells the features of two blocks of one kind apart, where they read different texts."""
        return 0

    @property
    def grams(self) -> str:
        """The lengths of the n-grams as they are written."""
        return str(self.high) if self.low == (1 if self.upward else self.high) else f"{self.low}-{self.high}"

    @classmethod
    def read(cls, written: str, **settings: Any) -> Self | None:
        """Read lengths of n-grams, ``1-2``, and settings, in any order."""
        for part in written.split(":") if written else ():
            found, grams = cls.setting(part), _GRAMS.match(part)
            if found is None and grams:
                low = "1" if cls.upward and not grams[2] else grams[1]
                found = {"low": int(low), "high": int(grams[2] or grams[1])}
            if found is None or found.keys() & settings.keys():
                return None
            settings |= found
        return cls(**settings)

    @classmethod
    def setting(cls, part: str) -> dict[str, Any] | None:
        """Read one setting of the block; None where it is none."""
        return None if not part or part[0].isdigit() else token_setting(part)

    def written(self) -> list[str]:
        """Return the n-grams, then the tokens and the case where they are not the usual ones."""
        own = {f.name: f.default for f in fields(self)}
        return [self.grams, *(v for k, v in (("tokens", self.tokens), ("case", self.case)) if v != own[k])]

    def compiled(self) -> tuple[Any, ...]:
        """Return the block as the kernels read it: kind, tokens, case, low, high, seed, weight."""
        # the tokens and the case are part of the seed: the same letters cut differently are another feature
        seed = self.seed + 0x9E3779B97F4A7C15 * (3 * TOKENS[self.tokens] + CASES[self.case] + self.salt)
        mask = 0xFFFFFFFFFFFFFFFF
        return self.kind, TOKENS[self.tokens], CASES[self.case], self.low, self.high, seed & mask, self.weight

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain values, for the model file."""
        return {"block": self.name, **{f.name: getattr(self, f.name) for f in fields(self)}}


class Words(Block):
    """Word n-grams: ``Words(1, 2)`` gives single words and pairs of neighbours."""

    kind, name, seed, of_words = 0, "words", 0x5851F42D4C957F2D, False


class Chars(Block):
    """Character n-grams inside words, each word padded by a blank: ``Chars(2, 3)`` of "it" gives " i", "it", ..."""

    kind, name, seed, density, of_words = 1, "chars", 0x14057B7EF767814F, 6, False


class Across(Block):
    """Character n-grams of the whole text, across words and signs; a run of blanks is one, those at the ends none."""

    kind, name, seed, density = 2, "across", 0x3C79AC492BA7B653, 6

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tokens != "words":
            raise LinnetError(f"across takes characters whatever the words are; leave out '{self.tokens}'")


class Skips(Block):
    """Pairs of words with 1 to n words left out between them: ``Skips(1, 2)``, ``skips:2``."""

    kind, name, seed, upward = 3, "skips", 0x1C69B3F74AC4AE35, True


class Negated(Block):
    """Word n-grams in which every word from a negation to the next stop is another word: "NOT_good" (Das and Chen)."""

    kind, name, seed = 4, "negated", 0x6C8E9CF570932BD5


class Not(Block):
    """What follows a negation, up to the next stop; "isn't good" and "never good" are both "not good"."""

    kind, name, seed = 5, "not", 0x2545F4914F6CDD1D


class Position(Block):
    """Word n-grams with the part of the text they begin in: the first quarter, the middle half or the last quarter."""

    kind, name, seed = 6, "position", 0x27BB2EE687B0B0FD


class Affixes(Block):
    """The first and the last letters of longer words: ``Affixes(2, 3)`` of "undo" gives "un-", "und-", "-do", "-ndo"."""

    kind, name, seed, density = 7, "affixes", 0x7FB5D329728EA185, 2


@dataclass(frozen=True, repr=False)
class Shapes(Block):
    """n-grams of word shapes: X a capital, x another letter, d a digit 0-9, at most four in a row; "Oct" is "Xxx"."""

    case: str = "keep"

    kind, name, seed = 8, "shapes", 0x106689D45497FDB5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.case != "keep":
            raise LinnetError(f"shapes are made of capitals and small letters; leave out '{self.case}'")


@dataclass(frozen=True, repr=False)
class FastText(Block):
    """All that fastText sees of a line: words, n-grams of low to high characters of <word> and of words, in buckets.

    It comes with an imported model; bucket 0 has words only, subwords False no characters.
    """

    tokens: str = "whitespace"
    case: str = "keep"
    bucket: int = 0
    ngrams: int = 1
    subwords: bool = False

    kind, name, seed, density = 9, "fasttext", 0, 6

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 <= self.bucket < 1 << 31 and 1 <= self.ngrams < 1 << 16):
            raise LinnetError(f"fasttext: {self.bucket} buckets and n-grams of {self.ngrams} words cannot be")

    def compiled(self) -> tuple[Any, ...]:
        """Return the block as the kernels read it; they cut the text themselves."""
        seed = self.bucket | self.ngrams << 32 | (not self.subwords) << 48
        return self.kind, 6, 0, self.low, self.high, seed, self.weight


@dataclass(frozen=True, repr=False)
class Hashing(Block):
    """The columns of scikit-learn's HashingVectorizer: n-grams of words, or with chars of characters inside words.

    It comes with an imported model; signed: terms count 1 or -1, and those of one column cancel each other.
    """

    tokens: str = "pattern"
    case: str = "lower"
    n_features: int = 1 << 20
    signed: bool = True
    chars: bool = False

    kind, name, seed, density = 10, "hashing", 0, 6

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.n_features < 1 << 31 or {self.signed, self.chars} - {False, True}:
            raise LinnetError(f"hashing: {self.n_features} columns, signed {self.signed}, chars {self.chars} cannot be")

    @property
    def bits(self) -> int:
        """How many bits number the columns, those of either sign apart."""
        return max(1, (self.n_features * (1 + self.signed) - 1).bit_length())

    def compiled(self) -> tuple[Any, ...]:
        """Return the block as the kernels read it."""
        seed = self.n_features | self.signed << 32 | self.chars << 33 | self.bits << 40
        return self.kind, TOKENS[self.tokens], CASES[self.case], self.low, self.high, seed, self.weight


BLOCKS: dict[str, type[Block]] = {
    kind.name: kind for kind in (Words, Chars, Across, Skips, Negated, Not, Position, Affixes, Shapes)
}


class FoldedVectors(Block):
    """Words again, with the weights that word vectors were folded into; see ``linnet.features.vectors``."""

    kind, name, seed = 0, "vectors", 0x0E8F5A3D91C7B46D


IMPORTED: dict[str, type[Block]] = {kind.name: kind for kind in (FoldedVectors, FastText, Hashing)}
"""The blocks that nobody asks for by name: they come with a model."""

Blocks: TypeAlias = tuple[Block, ...]
AnyBlocks: TypeAlias = tuple[Block | Computed, ...]
_ITEM = re.compile(r"([^:*]*?)\s*(?::\s*(.+?))?\s*(?:\*\s*(\d*\.?\d+))?", re.DOTALL)
_GRAMS = re.compile(r"(\d+)(?:-(\d+))?$")


def token_setting(part: str) -> dict[str, Any]:
    """Read tokens or a case."""
    check_choice("setting", part, [*TOKENS, *CASES], LinnetError)
    return {"tokens" if part in TOKENS else "case": part}


def parse(text: str) -> AnyBlocks:
    """Read blocks as written on the command line: ``words:1-2+chars:2-5``, with optional ``:whitespace``, ``:keep``, ``*weight``.

    >>> parse("words:1-2:whitespace:keep")
    (Words(1, 2, tokens='whitespace', case='keep'),)
    """
    blocks = []
    for item in map(str.strip, text.split("+")):
        name = re.split("[:*]", item)[0].strip()
        check_choice("feature block", name, [*BLOCKS, *DERIVED, *COMPUTED], LinnetError)
        item = item if name in (*COMPUTED, "field") else item.replace(" ", "")
        kind = BLOCKS.get(name) or kind_of(name)
        match = _ITEM.fullmatch(item)
        found = kind.read(match[2] or "", **({"weight": float(match[3])} if match[3] else {})) if match else None
        if found is None:
            what = "" if name in COMPUTED else "the feature block "
            raise LinnetError(f"cannot read {what}'{item}'; write for example {kind.example}")
        blocks.append(found)
    return as_blocks(blocks)


def as_blocks(value: object) -> AnyBlocks:
    """Accept a string, one block or several."""
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, Block | Computed):
        return (value,)
    if isinstance(value, Sequence) and value and all(isinstance(v, Block | Computed) for v in value):
        blocks = tuple(value)
        for k, block in enumerate(blocks):
            if block in blocks[:k]:
                raise LinnetError(f"the feature block '{block}' is given twice; leave one out")
        return blocks
    raise LinnetError(f"features must be text such as 'words:1-2+chars:2-5' or blocks, got {value!r}")


def counted_only(value: object, what: str) -> Blocks:
    """Accept blocks of n-grams only, on behalf of what."""
    blocks, computed = split(as_blocks(value))
    if computed:
        raise LinnetError(
            f"{what} counts n-grams only; leave out '{computed[0]}', or use TextClassifier, which takes both"
        )
    for block in blocks:
        if block.name in DERIVED:
            raise LinnetError(
                f"{what} counts in the text itself; leave out '{block}', or use TextClassifier, which takes it"
            )
    return blocks


def describe(blocks: AnyBlocks) -> str:
    """Write blocks the way the command line reads them."""
    return "+".join(map(str, blocks))


def from_dict(values: dict[str, Any]) -> Block:
    """Read back what ``Block.to_dict`` wrote."""
    settings = dict(values)
    name = settings.pop("block")
    check_choice("feature block", name, [*BLOCKS, *DERIVED, *IMPORTED], LinnetError)
    kind = BLOCKS.get(name) or IMPORTED.get(name) or kind_of(name)
    found: Block = kind(**settings)
    return found


def wanted(values: dict[str, Any]) -> list[str]:
    """Return the code outside linnet that a block of a model file would import."""
    return kind_of(values["block"]).wanted(values) if values.get("block") in DERIVED else []


def compile_blocks(blocks: Blocks) -> CompiledBlocks:
    """Return the blocks as the kernels read them.

    >>> [row[:5] for row in compile_blocks((Words(1, 2), Chars(3, 5))).rows]  # kind, tokens, case, low, high
    [(0, 0, 1, 1, 2), (1, 0, 1, 3, 5)]
    """
    rows = []
    for b in blocks:
        if b.waits:
            raise LinnetError(f"{b.waits} of '{b}' has not been learned; fit a TextClassifier with it")
        rows.append(b.compiled())
    return CompiledBlocks(rows)
