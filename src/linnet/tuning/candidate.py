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
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.classifier import TextClassifier
from linnet.features.blocks import BLOCKS, AnyBlocks, Block, Chars, Words, describe, parse
from linnet.features.counting import TF
from linnet.features.plan import FeaturePlan
from linnet.models import MODELS

WEIGHTING = ("tf", "idf", "norm", "min_df", "max_features", "class_weight")


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


# ---- The space that is searched: feature sets, models with their settings, weighting; drawn from what the registries say.
#
# A model's recipe tells where to begin, what its grid is, and which weighting it takes; from there, and from candidates that
# did well, the search takes steps. A step adds, drops or changes a block: every block of the registry can be drawn; how, where
# it is not as single pieces and pairs, stands in RANGES. A setting with numbers in its grid moves by up to a factor of two.
# Word lists are only used where the user gave files. Nothing here knows a model by name.


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
MOST_BLOCKS = 4
WEIGHTINGS: dict[str, tuple[Any, ...]] = {
    "tf": tuple(TF), "idf": (True, False), "norm": ("l2", "none"), "class_weight": (None, "balanced"), "min_df": (None, 2, 3),
}  # fmt: skip


class SearchSpace:
    """What can be tried: ``usual`` are the default blocks of the data, ``lists`` the blocks of the user's own files.

    most_features bounds every model (None: no bound); many says that rows are many.
    """

    def __init__(
        self, usual: AnyBlocks, lists: AnyBlocks = (), *, models: Sequence[str] = ("svm",), most_features: int | None = None,
        many: bool = False,
    ) -> None:  # fmt: skip
        self.usual, self.lists, self.models, self.most, self.many = usual, lists, models, most_features, many

    @property
    def default(self) -> str:
        """The default blocks and the user's lists."""
        return describe((*self.usual, *self.lists))

    def own(self, model: str) -> Candidate:
        """Return a model as its recipe has it, with the first value of every setting."""
        plan: FeaturePlan = MODELS[model].plan
        blocks = self.default if plan.features is None else describe((*plan.features, *self.lists))
        settings = {name: values[0] for name, values in plan.grid if values}
        if self.many:
            settings |= dict(plan.many)
        return self._fitting(Candidate(model, blocks, plan.ratio[0], params=tuple(sorted(settings.items()))))

    def near(self, candidate: Candidate, rng: np.random.Generator) -> Candidate:
        """Return a candidate that differs in one thing, or two: features, weighting, a setting of the model."""
        found = candidate
        for _ in range(1 + int(rng.random() < 0.4)):
            move = rng.random()
            if move < 0.4:
                found = replace(found, features=self.near_features(found.features, rng))
            elif move < 0.7 and found.params:
                found = self._setting(found, rng)
            elif move < 0.9:
                moved = found.ratio + float(rng.choice([-0.25, -0.1, 0.1, 0.25]))
                found = replace(found, ratio=float(np.clip(round(moved, 2), 0.0, 1.25)))
            else:
                found = self._weighting(found, rng)
        return self._fitting(found)

    def near_features(self, features: str, rng: np.random.Generator) -> str:
        """Return a feature set that has one block more, one less, or one that differs."""
        blocks = [b for b in parse(features) if isinstance(b, Block)]
        out = _one(blocks, rng) if blocks else None
        if out is None or (rng.random() < 0.35 and len(blocks) < MOST_BLOCKS):
            return self._named([*blocks, _block(rng, tuple(BLOCKS), weighted=True)])
        left = [b for b in blocks if b is not out]
        if left and rng.random() < 0.25:
            return self._named(left)
        other = _block(rng, (out.name,), weighted=bool(left))
        if isinstance(other, Words | Chars) and rng.random() < 0.2:  # letters as they are
            other = replace(other, case="keep")
        return self._named([*left, other])

    def _named(self, blocks: list[Block]) -> str:
        """Write blocks in the order of the registry, each once, the user's lists behind them."""
        order = list(BLOCKS)
        ranked = sorted(blocks, key=lambda b: (order.index(b.name), b.low, b.high))
        once = list({(b.name, b.low, b.high, b.tokens, b.case): b for b in ranked}.values())
        if len(once) == 1 and not self.lists:
            once = [replace(once[0], weight=1.0)]
        return describe((*once, *self.lists))

    def _setting(self, c: Candidate, rng: np.random.Generator) -> Candidate:
        settings, grid = dict(c.params), dict(MODELS[c.model].plan.grid)
        name = _one(sorted(settings), rng)
        value, values = settings[name], grid.get(name, ())
        if all(isinstance(v, int | float) and not isinstance(v, bool) and v > 0 for v in (*values, value)):
            # two digits: nobody needs more, and a command line is shorter
            moved = float(value) * float(arithmetic.power(2.0, 2.0 * rng.random() - 1.0))
            settings[name] = max(1, round(moved)) if isinstance(value, int) else float(f"{moved:.2g}")
        elif values:
            settings[name] = _one(values, rng)
        return replace(c, params=tuple(sorted(settings.items())))

    def _weighting(self, c: Candidate, rng: np.random.Generator) -> Candidate:
        """Change one thing of the weighting; None stands for what the recipe of the model has."""
        plan: FeaturePlan = MODELS[c.model].plan
        usual = {"tf": plan.tf, "idf": plan.idf, "norm": plan.norm or "none"}
        name = _one([name for name in WEIGHTINGS if name != "norm" or plan.norm != "mean"], rng)
        now = usual.get(name) if getattr(c, name) is None else getattr(c, name)
        value = _one([value for value in WEIGHTINGS[name] if value != now], rng)
        changed: dict[str, Any] = {name: None if value == usual.get(name) else value}
        return replace(c, **changed)

    def _fitting(self, c: Candidate) -> Candidate:
        """Return a candidate as its model takes it, with no more features than the bound: the most frequent ones.

        A model of words present or absent takes no weights, and no computed blocks.
        """
        if MODELS[c.model].traits.presence:
            blocks = tuple(replace(b, weight=1.0) for b in parse(c.features) if isinstance(b, Block))
            c = Candidate(c.model, describe(blocks) if blocks else "words:1-2", params=c.params)
        return c if self.most is None else replace(c, max_features=self.most)


def _block(rng: np.random.Generator, names: tuple[str, ...], *, weighted: bool) -> Block:
    name = _one(names, rng)
    low, high = _one(RANGES.get(name, OTHERS), rng)
    return BLOCKS[name](low=low, high=high, weight=float(rng.choice(WEIGHTS)) if weighted else 1.0)


def _one(values: Sequence[Any], rng: np.random.Generator) -> Any:
    return values[int(rng.integers(len(values)))]
