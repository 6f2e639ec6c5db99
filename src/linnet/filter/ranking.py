r"""From the shards' scores to the cut: the score that the best share reaches, or each source's own.

A quantile sketch: which score do the best 10 % of a corpus reach, in one pass and a few kilobytes.

A q-digest (Shrivastava, Buragohain, Agrawal, Suri 2004). Scores are 32-bit floats, turned into integers of the same
order: the leaves of a binary tree of 32 levels. A node counts the weight that fell below it. Whenever a node, its sibling
and their parent together count less than W/k (W: all the weight so far), the two are merged into the parent; heavy
scores keep a leaf of their own. What is known is the rank of every node; what is not is where below it the weight lies.

**Error bound.** A node above the leaves counts at most W/k, and the weight whose side of a score is unknown lies in the
31 nodes above that score's leaf, so a rank is wrong by at most 31 W/k. `epsilon` asks for k = 31/epsilon, and the
estimated share above a score is within epsilon of the true share: 0.001, a tenth of a point, by default. Merging sketches keeps the
bound, because it adds node to node. There is no chance in it: the same scores in the same order give the same sketch.

>>> import numpy as np
>>> sketch = Sketch()
>>> sketch.add(np.linspace(-5, 5, 10_001, dtype=np.float32))
>>> cut, share = sketch.cut(0.10)
>>> round(float(cut), 1), round(share, 3)
(4.0, 0.1)
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linnet.array_types import Floats32, Ints
from linnet.errors import LinnetError
from linnet.filter.output_folder import OutputFolder
from linnet.filter.settings import Rule
from linnet.solvers.losses import sigmoid

LEVELS = 32  # of keys: level 0 are single scores, level 32 is all of them
_SIGN = np.uint32(1 << 31)


def order(scores: Floats32) -> Ints:
    """Turn floats into integers of the same order.

    >>> order(np.array([-2.0, -0.0, 0.0, 1e-30, 3.0], dtype=np.float32)).argsort(kind="stable").tolist()
    [0, 1, 2, 3, 4]
    """
    bits = (np.ascontiguousarray(scores, np.float32) + np.float32(0)).view(np.uint32)  # -0.0 becomes 0.0
    return np.where(bits & _SIGN, ~bits, bits | _SIGN).astype(np.int64)


def unorder(keys: Ints) -> Floats32:
    """Turn the integers back.

    >>> unorder(order(np.array([-2.5, 0.0, 7.0], dtype=np.float32))).tolist()
    [-2.5, 0.0, 7.0]
    """
    bits = np.ascontiguousarray(keys).astype(np.uint32)
    return np.where(bits & _SIGN, bits ^ _SIGN, ~bits).astype(np.uint32).view(np.float32)


class Sketch:
    """Weighted ranks of scores, within `epsilon` of all the weight; two of them can be added.

    Nodes are numbered as in a heap: 1 is the root, the parent of node n is n // 2, and the leaf of key k is 2^32 + k.
    """

    def __init__(self, epsilon: float = 0.001) -> None:
        if not 0 < epsilon < 1:
            raise LinnetError(f"epsilon must be between 0 and 1, got {epsilon}")
        self.epsilon = epsilon
        self.numbers, self.counts = np.zeros(0, np.int64), np.zeros(0, np.int64)  # ascending; the weight of each

    @property
    def weight(self) -> int:
        """All the weight so far."""
        return int(self.counts.sum())

    @property
    def nodes(self) -> int:
        """How many nodes are kept: at most about 3 * 31 / epsilon, however much was added."""
        return len(self.numbers)

    def add(self, scores: Floats32, weights: Ints | None = None) -> None:
        """Add scores, each with a whole number as its weight (1 if not given). NaN is refused."""
        if np.isnan(scores).any():
            raise LinnetError("a score is not a number; it has no rank")
        ones = np.ones(len(scores), np.int64) if weights is None else np.asarray(weights, np.int64)
        self._put(order(scores) + (1 << LEVELS), ones)
        self._compress()

    def __add__(self, other: Sketch) -> Sketch:
        if self.epsilon != other.epsilon:
            raise LinnetError(f"sketches of different epsilon, {self.epsilon} and {other.epsilon}, cannot be added")
        both = Sketch(self.epsilon)
        for one in (self, other):
            both._put(one.numbers, one.counts)
        both._compress()
        return both

    def _put(self, numbers: Ints, counts: Ints) -> None:
        """Add counts to nodes."""
        every = np.concatenate([self.numbers, numbers]), np.concatenate([self.counts, counts])
        self.numbers, self.counts = _grouped(*every)

    def _compress(self) -> None:
        """Merge light siblings into their parents, from the leaves up."""
        limit = int(self.weight * self.epsilon / (LEVELS - 1))
        for level in range(LEVELS if limit else 0):
            here = self.numbers >> (LEVELS - level) == 1
            pairs, sums = _grouped(self.numbers[here] >> 1, self.counts[here])
            at = np.searchsorted(self.numbers, pairs)
            light = sums + np.where(self.numbers[at] == pairs, self.counts[at], 0) <= limit
            if light.any():
                stay = ~here
                stay[here] = ~light[np.searchsorted(pairs, self.numbers[here] >> 1)]
                self.numbers, self.counts = self.numbers[stay], self.counts[stay]
                self._put(pairs[light], sums[light])

    def _spans(self) -> tuple[Ints, Ints]:
        """First and last key of every node."""
        level = LEVELS + 1 - np.frexp(self.numbers.astype(np.float64))[1].astype(np.int64)
        first = (self.numbers << level) - (1 << LEVELS)
        return first, first + (np.int64(1) << level) - 1

    def bounds(self, score: float) -> tuple[float, float]:
        """Return the least and the most share of the weight that may lie at `score` or above."""
        if not self.weight:
            return 0.0, 0.0
        key = int(order(np.array([score], np.float32))[0])
        least, most = (float(self.counts[end >= key].sum() / self.weight) for end in self._spans())
        return least, most

    def cut(self, share: float) -> tuple[np.float32, float]:
        """Return the score whose share at or above it is nearest to `share`, and that share as estimated.

        Equal scores stay together, so with heavy ties no score may come near.
        """
        if not 0 < share <= 1:
            raise LinnetError(f"a share is above 0 and at most 1, got {share}")
        if not self.weight:
            return np.float32(-np.inf), 0.0
        first, last = self._spans()
        candidates = np.unique(np.concatenate([first, last + 1]))
        candidates = candidates[candidates < 1 << LEVELS]
        sure, maybe = (_at_least(end, self.counts, candidates) for end in (first, last))
        estimates = (sure + maybe) / (2 * self.weight)
        best = int(np.argmin(np.abs(estimates - share)))
        score = unorder(candidates[best : best + 1])[0]
        return (np.float32(-np.inf) if np.isnan(score) else score), float(estimates[best])

    def to_arrays(self) -> dict[str, Any]:
        """Return the sketch as arrays."""
        return {"numbers": self.numbers, "counts": self.counts, "epsilon": np.array(self.epsilon)}

    @classmethod
    def from_arrays(cls, arrays: Any) -> Sketch:
        """Make the sketch again."""
        sketch = cls(float(arrays["epsilon"]))
        sketch.numbers, sketch.counts = arrays["numbers"], arrays["counts"]
        return sketch


def _grouped(keys: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Add up the counts of equal keys."""
    by = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[by], prepend=-1))
    return keys[by][first], np.add.reduceat(counts[by], first) if len(keys) else counts


def _at_least(keys: Ints, counts: Ints, at: Ints) -> Any:
    """How much weight has a key of at least each of `at`."""
    by = np.argsort(keys, kind="stable")
    sums = np.concatenate([[0], np.cumsum(counts[by])])
    return sums[-1] - sums[np.searchsorted(keys[by], at)]


Best = dict[str, Floats32]


def shard_ranking(rule: Rule, odds: Floats32, weights: Ints, values: Sequence[str]) -> dict[str, Any]:
    """Return what `find_cuts` needs to know of a shard: a sketch of the scores, or for a quota the best of each value."""
    if rule.quota is None:
        sketch = Sketch()
        sketch.add(odds, weights)
        return sketch.to_arrays()
    groups: dict[str, list[int]] = {}
    for row, value in enumerate(values):
        groups.setdefault(value, []).append(row)
    best = [best_of(odds[members], rule.quota) for members in groups.values()]
    names = np.frombuffer(json.dumps(list(groups)).encode(), np.uint8)
    scores = np.concatenate([np.zeros(0, np.float32), *best])
    return {"values": names, "lengths": np.array([len(part) for part in best], np.int64), "scores": scores}


def best_of(scores: Floats32, n: int) -> Floats32:
    """Return the n highest scores, the highest first.

    >>> best_of(np.array([1, 3, 2], np.float32), 2).tolist()
    [3.0, 2.0]
    """
    return -np.sort(-scores)[:n]


Cuts = tuple[dict[int, Any], dict[str, Any]]  # the cut of each shard, and what the manifest says of it


def find_cuts(folder: OutputFolder, rule: Rule, shards: Iterable[int]) -> Cuts:
    """Add up what is known of the scores of all shards, in the order of the shards, and cut."""
    parts = {index: folder.part("ranking", index) for index in sorted(shards)}
    return _quota(folder, parts, rule) if rule.quota is not None else _share(folder, parts, rule)


def _share(folder: OutputFolder, parts: dict[int, Path], rule: Rule) -> Cuts:
    sketch = functools.reduce(operator.add, map(Sketch.from_arrays, map(folder.read_arrays, parts.values())), Sketch())
    cut, share = sketch.cut(rule.top or 1.0)
    about = {
        "top": rule.top, "of": rule.of, "log_odds": float(cut) if np.isfinite(cut) else None,
        "probability": float(sigmoid(np.float64(cut))), "estimated_share": share,
        "error_bound": sketch.epsilon, "sketch_nodes": sketch.nodes,
    }  # fmt: skip
    return dict.fromkeys(parts, float(cut)), about


def _quota(folder: OutputFolder, parts: dict[int, Path], rule: Rule) -> Cuts:
    """The quota-th best score of every value; how many of those that tie with it, shard by shard, still fit."""
    n = rule.quota or 0
    total: Best = {}
    for path in parts.values():
        for value, scores in _best(folder.read_arrays(path)).items():
            total[value] = best_of(np.concatenate([total.get(value, np.zeros(0, np.float32)), scores]), n)
    least = {value: scores[-1] for value, scores in total.items()}
    room = {value: int(np.count_nonzero(scores == least[value])) for value, scores in total.items()}
    by_shard: dict[int, Any] = {}
    for index, path in parts.items():
        mine = {}
        for value, scores in _best(folder.read_arrays(path)).items():
            ties = min(room[value], int(np.count_nonzero(scores == least[value])))
            room[value] -= ties
            mine[value] = (float(least[value]), ties)
        by_shard[index] = mine
    full = sum(len(scores) >= n for scores in total.values())
    return by_shard, {"quota": n, "by": rule.by, "values": len(total), "values_cut": full}


def _best(arrays: Any) -> Best:
    values = json.loads(arrays["values"].tobytes() or b"[]")
    parts = np.split(arrays["scores"], np.cumsum(arrays["lengths"])[:-1]) if values else []
    return dict(zip(values, parts, strict=True))
