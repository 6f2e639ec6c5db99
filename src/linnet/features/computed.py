"""Computed columns: numbers that Python works out from each text, beside the n-grams that the kernels count.

A kernel block hashes pieces of the text; a computed block is asked for its values, k numbers a text. They stand behind
the columns of the kernels in the same matrix, so every model learns both at once, and in the model they are k more rows
of weights: score = (what the kernels add) + values @ weights. Weighting leaves them alone (no tf, idf, ratio or row
norm); each is divided by its root mean square over the training rows, so that word counts and truth values are alike to
the penalty of a model, and the weights that are kept apply to the values as they are. Switches (values of a category) are
0 or 1 and stay so: scaled, a rare value would be penalised less than a common one.

A new computed block is a subclass of ``Computed`` and a row of ``COMPUTED``.

Lengths and signs as features: how long a text is, how loud, how much of it is figures.

>>> [f"{name} {value:.2f}" for name, value in zip(Lengths().columns, Lengths().values(["NO! Not 2 of them?!"])[0])][:4]
['words 1.79', 'letters a word 2.40', 'capitals 1.39', 'words in capitals 0.69']

Every number x but the mean length is log(1 + x): the tenth exclamation mark says less than the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet._kernels.text import Scratch, count_lengths
from linnet.errors import DataError, LinnetError
from linnet.features.buffers import TextBuffer, text_buffers

if TYPE_CHECKING:
    from linnet.features.blocks import Block, Blocks


Values = npt.NDArray[np.float32]  # (n_texts, n_columns)

COMPUTED = {
    "functions": ("functions", "Functions"),
    "lists": ("lists", "Lists"),
    "lengths": ("computed", "Lengths"),
    "column": ("columns", "Column"),
    "vectors": ("vectors", "Vectors"),
}
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
    example: ClassVar[str]
    first: ClassVar[tuple[str, ...]] = ()  # settings that are shown without their names
    weight: float

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of columns of the data that the block reads beside the text."""
        return ()

    @property
    def waits(self) -> str:
        """What the block has yet to learn from training rows, in words; nothing where it is empty."""
        return ""

    def learn(self, pieces: list[TextBuffer], rows: npt.NDArray[np.int64] | None, known: dict[Any, Any]) -> Self:
        """Return the block with what it learns from some documents (None: all), without labels; blocks share known."""
        return self

    @classmethod
    def read(cls, written: str, **settings: Any) -> Self | None:
        """Read what the command line has behind the name; None where it makes no sense."""
        raise NotImplementedError

    def written(self) -> list[str]:
        """Return what stands behind the name, as ``read`` takes it."""
        raise NotImplementedError

    @classmethod
    def wanted(cls, values: dict[str, Any]) -> list[str]:
        """Return the code outside linnet that the block of a model file would import; a file is not trusted to name any."""
        return []

    def _check_weight(self) -> None:
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float) or not 0 < self.weight < np.inf:
            raise LinnetError(f"{self.name}: the weight of a block must be above 0, got {self.weight!r}")

    def __str__(self) -> str:
        return ":".join([self.name, *self.written()]) + (f"*{self.weight:g}" if self.weight != 1 else "")

    def __repr__(self) -> str:
        given = {f.name: getattr(self, f.name) for f in fields(cast(Any, self)) if f.repr}
        usual = {f.name: f.default for f in fields(cast(Any, self))}
        first = [repr(given.pop(name)) for name in self.first]
        changed = [f"{name}={value!r}" for name, value in given.items() if value != usual[name]]
        return f"{type(self).__name__}({', '.join(first + changed)})"

    def __add__(self, other: object) -> tuple[Block | Computed, ...]:
        from linnet.features.blocks import as_blocks

        return as_blocks((self, *as_blocks(other)))

    def __radd__(self, other: object) -> tuple[Block | Computed, ...]:
        from linnet.features.blocks import as_blocks

        return as_blocks((*as_blocks(other), self))


@dataclass(frozen=True)
class Folded:
    """A block of words that computed columns were folded into: the weight of each word in the norm, and in each score."""

    block: Block
    fingerprints: npt.NDArray[np.uint64]
    norm: npt.NDArray[np.float32]
    W: npt.NDArray[np.float32]
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

    def values(self, texts: Any) -> npt.NDArray[Any]:
        """Return the values of texts, (n_texts, n_columns)."""
        return np.concatenate([self.values_of(piece) for piece in text_buffers(texts, self.needs)])

    def values_of(self, piece: TextBuffer, first: int = 0) -> npt.NDArray[Any]:
        """Return the values of all documents of a piece; first is the number of the first one, for errors."""
        raise NotImplementedError

    def places(self, text: str) -> list[tuple[tuple[int, int], ...]]:
        """Return where in a text each column comes from, in characters, for explanations; here nowhere."""
        return [() for _ in self.columns]

    def said(self, piece: TextBuffer) -> list[str]:
        """Return what explanations call each column for the one document of a piece; "" for its name and value."""
        return ["" for _ in self.columns]

    def folded(self, W: npt.NDArray[np.float32]) -> Folded | None:
        """Return what takes the place of the columns in a model, given their weights; None where they stay columns."""
        return None

    def check(self) -> None:
        """Refuse, before training, what could not be saved."""

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain values, for the model file."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Computed:
        """Read back what ``to_dict`` wrote."""
        raise NotImplementedError

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
        last = first + len(piece)
        with np.errstate(over="ignore"):
            for block, at in zip(computed, np.cumsum([0, *(len(b.columns) for b in computed)]).tolist(), strict=False):
                out[first:last, at : at + len(block.columns)] = block.values_of(piece, first)
        first = last
    if not np.isfinite(out).all():
        row, column = np.argwhere(~np.isfinite(out))[0].tolist()
        raise DataError(
            f"{names[column]} of text number {row + 1} is {out[row, column]}, or too large for 32 bits; features must be finite"
        )
    return out


def scales(values: Values, computed: ComputedBlocks) -> npt.NDArray[np.float32]:
    """Return what each column is multiplied by while learning: its block's weight over its root mean square.

    >>> class Length(Computed):
    ...     name, weight, columns = "lengths", 1.0, ("length",)
    >>> scales(np.array([[6.0], [8.0], [0.0], [0.0]], np.float32), (Length(),)).tolist()  # 1 / sqrt((36 + 64) / 4)
    [0.20000000298023224]
    """
    sizes = [len(b.columns) for b in computed]
    share, indicators = (
        np.repeat([b.weight for b in computed], sizes),
        np.repeat([b.indicators for b in computed], sizes),
    )
    size = (
        np.sqrt(arithmetic.mean(np.square(values, dtype=np.float64), axis=0))
        if len(values)
        else np.zeros(values.shape[1])
    )
    for block, last in zip(computed, np.cumsum(sizes).tolist(), strict=True):
        if block.together:
            mine = slice(last - len(block.columns), last)
            size[mine] = np.sqrt(arithmetic.total(np.square(size[mine])))
    size[indicators] = 1.0
    return np.asarray(share / np.where(size > 0, size, 1.0), dtype=np.float32)


def add_scores(
    out: npt.NDArray[np.float64], values: Values, weights: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Add values @ weights to scores, in place, column by column: the same digits for one text as for many."""
    for j in range(values.shape[1]):
        out += values[:, j : j + 1].astype(np.float64) * weights[j].astype(np.float64)
    return out


@dataclass(frozen=True, repr=False)
class Lengths(Computed):
    """Words, mean length of a word, capitals, words in capitals, digits, exclamation and question marks, commas, signs."""

    name: ClassVar[str] = "lengths"
    example: ClassVar[str] = "lengths*0.5: lengths takes a weight only"
    columns: ClassVar[tuple[str, ...]] = (
        "words", "letters a word", "capitals", "words in capitals", "digits", "exclamation marks", "question marks",
        "commas", "other signs",
    )  # fmt: skip

    weight: float = 1.0

    def __post_init__(self) -> None:
        self._check_weight()

    def values_of(self, piece: TextBuffer, first: int = 0) -> npt.NDArray[np.float64]:
        """Return the numbers of all documents, (n_texts, 9)."""
        out = np.zeros((len(piece), len(self.columns)))
        count_lengths(piece.data, piece.offsets, Scratch(piece.longest(), room=0), out)
        mean = out[:, 1] / np.maximum(out[:, 0], 1.0)
        out = arithmetic.log1p(out)
        out[:, 1] = mean
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain values."""
        return {"block": self.name, "weight": self.weight}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Lengths:
        """Read back what ``to_dict`` wrote."""
        return cls(float(values["weight"]))

    @classmethod
    def read(cls, written: str, **settings: Any) -> Lengths | None:
        """Read the block: it has a weight only."""
        return None if written else cls(**settings)

    def written(self) -> list[str]:
        """Return nothing: the name says it all."""
        return []
