"""The space that is searched: models with their settings, feature sets, weighting; drawn from what the registries say.

A model's recipe tells where to begin, what its grid is, and which weighting it takes. A setting with numbers in its grid
is drawn between them; near a good candidate it moves by up to a factor of two. Nothing here knows a model by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.features.blocks import Block, describe, parse
from linnet.features.counts import TF
from linnet.features.plan import FeaturePlan
from linnet.models import MODELS
from linnet.tuning.candidate import Candidate
from linnet.tuning.feature_space import FeatureSpace

__all__ = ["SearchSpace"]

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
        if not self._weighted_blocks(model):
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
                if not self._weighted_blocks(found.model):
                    found = replace(found, features=self._plain(found.features))
            elif move < 0.7 and found.params:
                found = self._setting(found, rng)
            elif not self._presence(found.model):
                found = self._ratio(found, rng) if move < 0.9 else self._weighting(found, rng)
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

    def _ratio(self, c: Candidate, rng: np.random.Generator) -> Candidate:
        moved = float(np.clip(round(c.ratio + float(rng.choice([-0.25, -0.1, 0.1, 0.25])), 2), 0.0, 1.25))
        return replace(c, ratio=moved)

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

    def _weighted_blocks(self, model: str) -> bool:
        return not self._presence(model)

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
