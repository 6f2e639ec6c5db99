"""Feature blocks: what a vectoriser makes of the tokens of a text. A block is a value; blocks add up with ``+``.

>>> parse("words:1-2+chars:2-5") == (Words(1, 2), Chars(2, 5))
True
>>> describe(Words(1, 3) + Chars(2, 6, weight=0.7))
'words:1-3+chars:2-6*0.7'

A new block that the kernels know is one class here and one row of ``BLOCKS``; one that counts the words of another text,
derived from the original, is a class of ``features.derived`` and a row of ``DERIVED``; one that Python computes is a subclass
of ``Computed`` and a row of ``COMPUTED``.

Lengths and signs as features: how long a text is, how loud, how much of it is figures.

>>> [f"{name} {value:.2f}" for name, value in zip(Lengths().columns, Lengths().values(["NO! Not 2 of them?!"])[0])][:4]
['words 1.79', 'letters a word 2.40', 'capitals 1.39', 'words in capitals 0.69']

Every number x but the mean length is log(1 + x): the tenth exclamation mark says less than the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast
from zlib import crc32

import numpy as np

from linnet import arithmetic
from linnet._kernels.text import CompiledBlocks, Scratch, count_lengths
from linnet.array_types import Array, Floats, Floats32, Hashes, Ints
from linnet.errors import DataError, LinnetError, check_choice
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.text.tokens import CASES, TOKENS, check_tokens

if TYPE_CHECKING:
    from linnet.features.derived import TextSource


# ---- Computed columns: numbers that Python works out from each text, beside the n-grams that the kernels count.
#
# A kernel block hashes pieces of the text; a computed block is asked for its values, k numbers a text. They stand behind
# the columns of the kernels in the same matrix, so every model learns both at once, and in the model they are k more rows
# of weights: score = (what the kernels add) + values @ weights. Weighting leaves them alone (no tf, idf, ratio or row
# norm); each is divided by its root mean square over the training rows, so that word counts and truth values are alike to
# the penalty of a model, and the weights that are kept apply to the values as they are. Switches (values of a category) are
# 0 or 1 and stay so: scaled, a rare value would be penalised less than a common one.
#
# A new computed block is a subclass of ``Computed`` and a row of ``COMPUTED``.


Values = Floats32  # (n_texts, n_columns)

_HOMES = {"functions": "functions", "lists": "lists", "lengths": "blocks", "column": "columns", "vectors": "vectors"}
COMPUTED = {name: (module, name.capitalize()) for name, module in _HOMES.items()}
"""The computed blocks by name: where each lives, because most models need none of them."""

DERIVED = {kind.lower(): ("language", kind) for kind in ("Bpe", "WordPiece", "Lemmas", "Stems", "Pos", "Adjectives")}
DERIVED["field"] = ("derived", "Field")
"""The blocks that count words of a derived text, by name: where each lives."""


def kind_of(name: str) -> Any:
    """Return the class of a computed or derived block by its name."""
    module, attribute = {**COMPUTED, **DERIVED}[name]
    return getattr(import_module(f"linnet.features.{module}"), attribute)


class FeatureBlock:
    """What counted and computed blocks share: a name, a weight beside the other blocks, how they are written, and ``+``."""

    name: ClassVar[str]
    weight: float

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of columns of the data that the block reads beside the text."""
        return ()

    @property
    def waits(self) -> str:
        """What the block has yet to learn from training rows, in words; nothing where it is empty."""
        return ""

    def learn(self, pieces: list[TextBuffer], rows: Ints | None, known: dict[Any, Any]) -> Self:
        """Return the block with what it learns from some documents (None: all), without labels; blocks share known."""
        return self

    def with_tf(self, tf: str) -> Self:
        """Return the block as a model with this tf wants it."""
        return self

    @classmethod
    def read(cls, written: str, **settings: Any) -> Self | None:
        """Read what the command line has behind the name, here a file; None where it makes no sense."""
        return cast(Any, cls)(written, **settings) if written else None

    def written(self) -> list[str]:
        """Return what stands behind the name, as ``read`` takes it."""
        raise NotImplementedError

    @classmethod
    def wanted(cls, values: dict[str, Any]) -> list[str]:
        """Return the code outside linnet that the block of a model file would import; a file is not trusted to name any."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain values, for the model file."""
        return {"block": self.name, **{f.name: getattr(self, f.name) for f in fields(cast(Any, self))}}

    def _check_weight(self) -> None:
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float) or not 0 < self.weight < np.inf:
            raise LinnetError(f"{self.name}: the weight of a block must be above 0, got {self.weight!r}")

    def __str__(self) -> str:
        return ":".join([self.name, *self.written()]) + (f"*{self.weight:g}" if self.weight != 1 else "")

    def _cutting(self) -> list[str]:
        """Return the tokens and the case where they are not the usual ones."""
        own = [(f, getattr(self, f.name)) for f in fields(cast(Any, self)) if f.name in ("tokens", "case")]
        return [value for f, value in own if value != f.default]

    def __add__(self, other: object) -> tuple[Block | Computed, ...]:
        return as_blocks((self, *as_blocks(other)))

    def __radd__(self, other: object) -> tuple[Block | Computed, ...]:
        return as_blocks((*as_blocks(other), self))


@dataclass(frozen=True)
class Folded:
    """A block of words that computed columns were folded into: the weight of each word in the norm, and in each score."""

    block: Block
    fingerprints: Hashes
    norm: Floats32
    W: Floats32
    names: tuple[str, ...]


class Computed(FeatureBlock):
    """A block of named columns whose values Python computes."""

    indicators: ClassVar[bool] = False
    """Whether columns are switches, most of them 0: such are not scaled, and only those that are on are shown."""

    together: ClassVar[bool] = False
    """Whether the columns are scaled as one: the values of a row have a mean square of 1 together."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        raise NotImplementedError

    def values(self, texts: Any) -> Array:
        """Return the values of texts, (n_texts, n_columns)."""
        return np.concatenate([self.values_of(piece) for piece in text_buffers(texts, self.needs)])

    def values_of(self, piece: TextBuffer, first: int = 0) -> Array:
        """Return the values of all documents of a piece; first is the number of the first one, for errors."""
        raise NotImplementedError

    def places(self, text: str) -> list[tuple[tuple[int, int], ...]]:
        """Return where in a text each column comes from, in characters, for explanations; here nowhere."""
        return [() for _ in self.columns]

    def said(self, piece: TextBuffer) -> list[str]:
        """Return what explanations call each column for the one document of a piece; "" for its name and value."""
        return ["" for _ in self.columns]

    def folded(self, W: Floats32) -> Folded | None:
        """Return what takes the place of the columns in a model, given their weights; None where they stay columns."""
        return None

    def check(self) -> None:
        """Refuse, before training, what could not be saved."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Computed:
        """Read back what ``to_dict`` wrote."""
        return cls(**{name: value for name, value in values.items() if name != "block"})

    @classmethod
    def named(cls, values: dict[str, Any]) -> Computed:
        """Read back what ``to_dict`` wrote to look at it only: nothing is imported."""
        return cls.from_dict(values)


ComputedBlocks: TypeAlias = tuple[Computed, ...]


def split(blocks: Sequence[Block | Computed]) -> tuple[Blocks, ComputedBlocks]:
    """Part blocks into those of the kernels and the computed ones."""
    computed = tuple(b for b in blocks if isinstance(b, Computed))
    return tuple(b for b in blocks if not isinstance(b, Computed)), computed


def needed(blocks: Sequence[Block | Computed]) -> tuple[str, ...]:
    """Return the columns of the data that blocks read beside the text, once each."""
    return tuple(dict.fromkeys(name for b in blocks for name in b.needs))


def column_names(computed: ComputedBlocks) -> list[str]:
    """Return the names of all computed columns; two blocks must not share one."""
    names = [name for block in computed for name in block.columns]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise LinnetError(f"two computed features are called '{name}'; rename one")
    return names


def compute(computed: ComputedBlocks, pieces: list[TextBuffer]) -> Values:
    """Return the values of all texts, columns of the blocks side by side."""
    n = sum(map(len, pieces))
    names = column_names(computed)
    out = np.empty((n, len(names)), dtype=np.float32)
    first = 0
    for piece in pieces:
        with np.errstate(over="ignore"):
            out[first : first + len(piece)] = np.hstack([block.values_of(piece, first) for block in computed])
        first += len(piece)
    if not np.isfinite(out).all():
        row, column = np.argwhere(~np.isfinite(out))[0].tolist()
        raise DataError(
            f"{names[column]} of text number {row + 1} is {out[row, column]}, or too large for 32 bits; features must be finite"
        )
    return out


def scales(values: Values, computed: ComputedBlocks) -> Floats32:
    """Return what each column is multiplied by while learning: its block's weight over its root mean square.

    >>> class Length(Computed):
    ...     name, weight, columns = "lengths", 1.0, ("length",)
    >>> scales(np.array([[6.0], [8.0], [0.0], [0.0]], np.float32), (Length(),)).tolist()  # 1 / sqrt((36 + 64) / 4)
    [0.20000000298023224]
    """
    sizes = [len(b.columns) for b in computed]
    share, indicators = (np.repeat([getattr(b, name) for b in computed], sizes) for name in ("weight", "indicators"))
    size = np.zeros(values.shape[1])
    if len(values):
        size = np.sqrt(arithmetic.mean(np.square(values, dtype=np.float64), axis=0))
    for block, last in zip(computed, np.cumsum(sizes).tolist(), strict=True):
        if block.together:
            mine = slice(last - len(block.columns), last)
            size[mine] = np.sqrt(arithmetic.total(np.square(size[mine])))
    size[indicators] = 1.0
    return np.asarray(share / np.where(size > 0, size, 1.0), dtype=np.float32)


def add_scores(out: Floats, values: Values, weights: Floats32) -> Floats:
    """Add values @ weights to scores, in place, column by column: the same digits for one text as for many."""
    for j in range(values.shape[1]):
        out += values[:, j : j + 1].astype(np.float64) * weights[j].astype(np.float64)
    return out


@dataclass(frozen=True)
class Lengths(Computed):
    """Words, mean length of a word, capitals, words in capitals, digits, exclamation and question marks, commas, signs."""

    name: ClassVar[str] = "lengths"
    columns: ClassVar[tuple[str, ...]] = (
        "words", "letters a word", "capitals", "words in capitals", "digits", "exclamation marks", "question marks",
        "commas", "other signs",
    )  # fmt: skip

    weight: float = 1.0

    def __post_init__(self) -> None:
        self._check_weight()

    def values_of(self, piece: TextBuffer, first: int = 0) -> Floats:
        """Return the numbers of all documents, (n_texts, 9)."""
        out = np.zeros((len(piece), len(self.columns)))
        count_lengths(piece.data, piece.offsets, Scratch(piece.longest(), room=0), out)
        mean = out[:, 1] / np.maximum(out[:, 0], 1.0)
        out = arithmetic.log1p(out)
        out[:, 1] = mean
        return out

    @classmethod
    def read(cls, written: str, **settings: Any) -> Lengths | None:
        """Read the block: it has a weight only."""
        return None if written else cls(**settings)

    def written(self) -> list[str]:
        """Return nothing: the name says it all."""
        return []


LONGEST = 12


@dataclass(frozen=True)
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
    def about(self) -> str:
        """What makes the text that the block reads another one than by default, as it is written; empty by default."""
        return ""

    @property
    def salt(self) -> int:
        """What tells the features of two blocks of one kind apart, where they read different texts."""
        return crc32(self.about.encode()) << 6 if self.about else 0

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
        return [self.grams, *self._cutting()]

    def compiled(self) -> tuple[Any, ...]:
        """Return the block as the kernels read it: kind, tokens, case, low, high, seed, weight."""
        # the tokens and the case are part of the seed: the same letters cut differently are another feature
        seed = self.seed + 0x9E3779B97F4A7C15 * (3 * TOKENS[self.tokens] + CASES[self.case] + self.salt)
        mask = 0xFFFFFFFFFFFFFFFF
        return self.kind, TOKENS[self.tokens], CASES[self.case], self.low, self.high, seed & mask, self.weight


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


@dataclass(frozen=True)
class Shapes(Block):
    """n-grams of word shapes: X a capital, x another letter, d a digit 0-9, at most four in a row; "Oct" is "Xxx"."""

    case: str = "keep"

    kind, name, seed = 8, "shapes", 0x106689D45497FDB5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.case != "keep":
            raise LinnetError(f"shapes are made of capitals and small letters; leave out '{self.case}'")


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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
    (Words(low=1, high=2, tokens='whitespace', case='keep', weight=1.0),)
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
            from linnet.features.showing import EXAMPLES  # looks up the tree: what each block is

            raise LinnetError(f"cannot read the feature block '{item}'; write for example {EXAMPLES[name][0]}")
        blocks.append(found)
    return as_blocks(blocks)


def names_code(features: object) -> bool:
    """Whether features, as they are typed, import code of other programs: functions, or a spaCy pipeline."""
    return isinstance(features, str) and ("functions:" in features or "spacy=" in features)


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
    others = [*computed, *(b for b in blocks if b.name in DERIVED)]
    if others:
        raise LinnetError(
            f"{what} counts n-grams of the text itself; leave out '{others[0]}', or use TextClassifier, which takes it"
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
    found: list[str] = kind_of(values["block"]).wanted(values) if values["block"] in {**COMPUTED, **DERIVED} else []
    return found


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
