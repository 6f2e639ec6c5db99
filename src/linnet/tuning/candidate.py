"""Candidates, each one way to make a classifier with every setting fixed, and the space that they are drawn from.

>>> one = Candidate("svm", "words:1-2", ratio=0.5, params=(("C", 0.3),))
>>> str(one)
'svm words:1-2 ratio=0.5 C=0.3'
>>> one.command("reviews.csv")
'linnet train reviews.csv --model svm --features words:1-2 --ratio 0.5 --set C=0.3'
"""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.classifier import TextClassifier
from linnet.features.blocks import BLOCKS, AnyBlocks, Block, Chars, Words, describe, parse
from linnet.features.counting import TF
from linnet.features.plan import FeaturePlan
from linnet.models import MODELS

WEIGHTING = ("tf", "idf", "norm", "min_df", "max_features", "select", "class_weight")


@dataclass(frozen=True)
class Candidate:
    """A model, its features, their weighting and the model's own settings; None leaves a setting to the model's plan.

    Two candidates with the same settings are equal, whatever they came from.
    """

    model: str
    features: str
    ratio: float = 0.0
    tf: str | None = None
    idf: bool | None = None
    norm: str | None = None
    min_df: int | None = None
    max_features: int | None = None
    select: str | None = None
    class_weight: str | None = None
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> str:
        """The candidate as one line of text; equal candidates have equal keys."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings that are set, as plain values."""
        given = {k: v for k, v in asdict(self).items() if v is not None and k != "params"}
        return {**given, "params": dict(self.params)}

    def make(self, seed: int, threads: int | None) -> TextClassifier:
        """Return the classifier, not fitted."""
        settings = {"tf": MODELS[self.model].plan.tf, **self.to_dict()}
        if self.norm == "none":
            settings["norm"] = None
        return TextClassifier(**settings, random_state=seed, n_jobs=threads)

    def __str__(self) -> str:
        shown = [self.model, self.features, f"ratio={self.ratio:g}"]
        shown += [f"{name}={getattr(self, name)}" for name in WEIGHTING if getattr(self, name) is not None]
        return " ".join([*shown, *(f"{name}={value}" for name, value in self.params)])

    def command(self, data: str, **files: Any) -> str:
        """Return the ``linnet train`` command that makes this model; files are further options and their values."""
        given = {**self.to_dict(), "ratio": f"{self.ratio:g}", **{k: v for k, v in files.items() if v is not None}}
        words = ["linnet", "train", data]
        for name, value in given.items():
            option = f"--{name.replace('_', '-')}"
            if name == "idf":
                words.append(option if value else "--no-idf")
            elif name == "params":
                for key, one in value.items():
                    words += ["--set", f"{key}={one if isinstance(one, str) else json.dumps(one)}"]
            else:
                words += [option] if value is True else [option, str(value)]
        return shlex.join(words)


# ---- Feature sets to try: drawn at random, or one block away from a set that did well.
#
# Every block of the registry can be drawn; how, where it is not as single pieces and pairs, stands in RANGES. Word lists are
# only used where the user gave files.


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
        others = tuple(name for name in BLOCKS if name not in (*WORDS, *CHARACTERS))
        blocks += [self._block(rng, others, weighted=True) for _ in range(more)]
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
        elif isinstance(block := blocks[k], Words | Chars):  # the folding of letters
            blocks[k] = replace(block, case="keep" if block.case == "fold" else "fold")
        return self._named(blocks)

    def _block(self, rng: np.random.Generator, names: tuple[str, ...], *, weighted: bool) -> Block:
        name = names[int(rng.integers(len(names)))]
        low, high = self._range(name, rng)
        weight = float(rng.choice(WEIGHTS)) if weighted else 1.0
        return BLOCKS[name](low=low, high=high, weight=weight)

    def _range(self, name: str, rng: np.random.Generator) -> Range:
        choices = RANGES.get(name, OTHERS)
        return choices[int(rng.integers(len(choices)))]

    def _named(self, blocks: list[Block]) -> str:
        """Write blocks in the order of the registry, each once, the user's lists behind them."""
        order = list(BLOCKS)
        ranked = sorted(blocks, key=lambda b: (order.index(b.name), b.low, b.high))
        once = list({(b.name, b.low, b.high, b.tokens, b.case): b for b in ranked}.values())
        if len(once) == 1 and not self.lists:
            once = [replace(once[0], weight=1.0)]
        return describe((*once, *self.lists))


# ---- The space that is searched: models with their settings, feature sets, weighting; drawn from what the registries say.
#
# A model's recipe tells where to begin, what its grid is, and which weighting it takes. A setting with numbers in its grid
# is drawn between them; near a good candidate it moves by up to a factor of two. Nothing here knows a model by name.


RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0)
MIN_DF = (None, 2, 3)


class SearchSpace:
    """What can be tried. most_features bounds every model (None: no bound); many says that rows are many."""

    def __init__(
        self, features: FeatureSpace, *, models: list[str] | None = None, most_features: int | None = None,
        many: bool = False,
    ) -> None:  # fmt: skip
        self.features, self.most, self.many = features, most_features, many
        learns = [name for name, cls in MODELS.items() if cls.traits.learns]
        self.models = learns if models is None else models

    def own(self, model: str) -> Candidate:
        """Return a model as its recipe has it, with the first value of every setting."""
        plan = self._plan(model)
        blocks = self.features.default() if plan.features is None else describe((*plan.features, *self.features.lists))
        if self._presence(model):
            blocks = self._plain(blocks)
        settings = {name: values[0] for name, values in plan.grid if values}
        if self.many:
            settings |= dict(plan.many)
        return self._bounded(Candidate(model, blocks, plan.ratio[0], params=_sorted(settings)))

    def draw(self, model: str, features: str, rng: np.random.Generator) -> Candidate:
        """Return a model with settings at random, on given features."""
        plan = self._plan(model)
        settings = {name: _between(values, rng) for name, values in plan.grid if values}
        found = Candidate(model, features, params=_sorted(settings))
        if self._presence(model):
            return self._bounded(replace(found, features=self._plain(features), ratio=0.0))
        powers = tuple(dict.fromkeys((*plan.ratio, *RATIOS)))
        found = replace(found, ratio=float(powers[int(rng.integers(len(powers)))]), min_df=_pick(MIN_DF, rng, 0.7))
        if rng.random() < 0.4:
            found = self._weighting(found, rng)
        return self._bounded(found)

    def near(self, candidate: Candidate, rng: np.random.Generator) -> Candidate:
        """Return a candidate that differs in one thing, or two: features, weighting, a setting of the model."""
        found = candidate
        for _ in range(1 + int(rng.random() < 0.4)):
            move = rng.random()
            if move < 0.4:
                found = replace(found, features=self.features.near(found.features, rng))
                if self._presence(found.model):
                    found = replace(found, features=self._plain(found.features))
            elif move < 0.7 and found.params:
                found = self._setting(found, rng)
            elif not self._presence(found.model):
                if move < 0.9:
                    moved = found.ratio + float(rng.choice([-0.25, -0.1, 0.1, 0.25]))
                    found = replace(found, ratio=float(np.clip(round(moved, 2), 0.0, 1.25)))
                else:
                    found = self._weighting(found, rng)
        return self._bounded(found)

    # ---- moves

    def _setting(self, c: Candidate, rng: np.random.Generator) -> Candidate:
        settings, grid = dict(c.params), dict(self._plan(c.model).grid)
        name = sorted(settings)[int(rng.integers(len(settings)))]
        value, values = settings[name], grid.get(name, ())
        if _numbers((*values, value)):
            moved = float(value) * float(arithmetic.power(2.0, 2.0 * rng.random() - 1.0))
            settings[name] = max(1, round(moved)) if isinstance(value, int) else _rounded(moved)
        elif values:
            settings[name] = values[int(rng.integers(len(values)))]
        return replace(c, params=_sorted(settings))

    def _weighting(self, c: Candidate, rng: np.random.Generator) -> Candidate:
        plan = self._plan(c.model)
        move = int(rng.integers(5))
        if move == 0:
            tf = str(rng.choice([name for name in TF if name != (c.tf or plan.tf)]))
            return replace(c, tf=None if tf == plan.tf else tf)
        if move == 1:
            idf = not (plan.idf if c.idf is None else c.idf)
            return replace(c, idf=None if idf == plan.idf else idf)
        if move == 2 and plan.norm != "mean":
            other = "l2" if plan.norm is None else "none"
            return replace(c, norm=other if c.norm is None else None)
        if move == 3:
            return replace(c, class_weight=None if c.class_weight else "balanced")
        return replace(c, min_df=_pick(MIN_DF, rng, 0.25))

    # ---- what a model takes

    def _plan(self, model: str) -> FeaturePlan:
        found: FeaturePlan = MODELS[model].plan
        return found

    def _presence(self, model: str) -> bool:
        """Whether the model takes words present or absent, and no weights."""
        return bool(MODELS[model].traits.presence)

    def _plain(self, features: str) -> str:
        """Return the features without weights, and without computed blocks."""
        blocks = [b for b in parse(features) if isinstance(b, Block)]
        return describe(tuple(replace(b, weight=1.0) for b in blocks)) if blocks else "words:1-2"

    def _bounded(self, c: Candidate) -> Candidate:
        """Keep the number of features within the bound: the most frequent ones."""
        return c if self.most is None else replace(c, max_features=min(self.most, c.max_features or self.most))


def _sorted(settings: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(settings.items()))


def _numbers(values: tuple[Any, ...]) -> bool:
    return bool(values) and all(isinstance(v, int | float) and not isinstance(v, bool) and v > 0 for v in values)


def _between(values: tuple[Any, ...], rng: np.random.Generator) -> Any:
    """Draw between the smallest and the largest number, evenly in their logarithms; of other values, one of them."""
    if not _numbers(values):
        return values[int(rng.integers(len(values)))]
    low, high = arithmetic.log([min(values), max(values)])
    drawn = float(arithmetic.exp(low + (high - low) * rng.random()))
    return round(drawn) if all(isinstance(v, int) for v in values) else _rounded(drawn)


def _rounded(value: float) -> float:
    """Keep two digits: nobody needs more, and a command line is shorter.

    >>> _rounded(0.0314159), _rounded(12.7)
    (0.031, 13.0)
    """
    return float(f"{value:.2g}")


def _pick(values: tuple[Any, ...], rng: np.random.Generator, first: float) -> Any:
    """Return the first value with the given chance, else one of the others."""
    return values[0] if rng.random() < first else values[1 + int(rng.integers(len(values) - 1))]
