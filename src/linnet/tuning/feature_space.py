"""Feature sets to try: drawn at random, or one block away from a set that did well.

Every block of the registry can be drawn; how, where it is not as single pieces and pairs, stands in RANGES. Word lists are
only used where the user gave files.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linnet.features.blocks import BLOCKS, AnyBlocks, Block, Chars, Words, describe, parse

__all__ = ["FeatureSpace"]

Range = tuple[int, int]

RANGES: dict[str, tuple[Range, ...]] = {
    "words": ((1, 3), (1, 2), (1, 4), (1, 1), (2, 3)),
    "chars": ((2, 6), (2, 5), (3, 6), (3, 5), (1, 5), (2, 7)),
    "across": ((2, 5), (3, 6), (2, 6), (1, 4)),
    "skips": ((1, 1), (1, 2), (1, 3)),
    "position": ((1, 1), (1, 2)),
    "affixes": ((2, 4), (3, 4), (2, 3)),
    "shapes": ((1, 2), (1, 3)),
}
OTHERS: tuple[Range, ...] = ((1, 1), (1, 2))
WEIGHTS = (1.0, 0.8, 0.6, 0.4, 1.3)
WORDS, CHARACTERS = ("words",), ("chars", "across")  # what most sets begin with
MOST_BLOCKS = 4


class FeatureSpace:
    """Draws feature sets; ``usual`` are the default blocks of the data, ``lists`` the blocks of the user's own files."""

    def __init__(self, usual: AnyBlocks, lists: AnyBlocks = ()) -> None:
        self.usual, self.lists = usual, lists

    def default(self) -> str:
        """Return the default blocks and the user's lists."""
        return describe((*self.usual, *self.lists))

    def draw(self, rng: np.random.Generator) -> str:
        """Return a set at random: words mostly, characters often, one or two more blocks sometimes."""
        blocks: list[Block] = []
        if rng.random() < 0.9:
            blocks.append(self._block(rng, WORDS, weighted=False))
        if rng.random() < 0.7 or not blocks:
            blocks.append(self._block(rng, CHARACTERS, weighted=bool(blocks)))
        more = int(rng.random() < 0.5) + int(rng.random() < 0.3)
        blocks += [self._block(rng, self._extras(), weighted=True) for _ in range(more)]
        return self._named(blocks)

    def near(self, features: str, rng: np.random.Generator) -> str:
        """Return a set that has one block more, one less, or one that differs."""
        blocks = [b for b in parse(features) if isinstance(b, Block)]
        k = int(rng.integers(len(blocks))) if blocks else -1
        move = rng.random()
        if k < 0 or (move < 0.35 and len(blocks) < MOST_BLOCKS):
            blocks.append(self._block(rng, tuple(BLOCKS), weighted=True))
        elif move < 0.5 and len(blocks) > 1:
            del blocks[k]
        elif move < 0.75:
            low, high = self._range(blocks[k].name, rng)
            blocks[k] = replace(blocks[k], low=low, high=high)
        elif move < 0.9 and len(blocks) > 1:
            blocks[k] = replace(blocks[k], weight=float(rng.choice(WEIGHTS)))
        else:
            blocks[k] = self._other_case(blocks[k])
        return self._named(blocks)

    def _extras(self) -> tuple[str, ...]:
        return tuple(name for name in BLOCKS if name not in (*WORDS, *CHARACTERS))

    def _block(self, rng: np.random.Generator, names: tuple[str, ...], *, weighted: bool) -> Block:
        name = names[int(rng.integers(len(names)))]
        low, high = self._range(name, rng)
        weight = float(rng.choice(WEIGHTS)) if weighted else 1.0
        return BLOCKS[name](low=low, high=high, weight=weight)

    def _range(self, name: str, rng: np.random.Generator) -> Range:
        choices = RANGES.get(name, OTHERS)
        return choices[int(rng.integers(len(choices)))]

    def _other_case(self, block: Block) -> Block:
        """Turn the folding of letters on or off, where the block has both."""
        if isinstance(block, Words | Chars):
            return replace(block, case="keep" if block.case == "fold" else "fold")
        return block

    def _named(self, blocks: list[Block]) -> str:
        """Write blocks in the order of the registry, each once, the user's lists behind them."""
        order = list(BLOCKS)
        ranked = sorted(blocks, key=lambda b: (order.index(b.name), b.low, b.high))
        once = list({(b.name, b.low, b.high, b.tokens, b.case): b for b in ranked}.values())
        if len(once) == 1 and not self.lists:
            once = [replace(once[0], weight=1.0)]
        return describe((*once, *self.lists))
