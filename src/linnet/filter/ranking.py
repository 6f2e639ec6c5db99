"""From the shards' scores to the cut: the score that the best share reaches, or each source's own."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.engines import TreeSum
from linnet.filter.output_folder import OutputFolder
from linnet.filter.rule import Rule
from linnet.filter.sketch import Sketch
from linnet.solvers.numerics import sigmoid

SKETCH_ROWS = 1 << 20  # scores that wait before they go into the sketch

Best = dict[str, npt.NDArray[np.float32]]


class ShardRanking:
    """What the best share or the best so many need to know of a shard's scores."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.sketch = Sketch()
        self.best: Best = {}
        self.waiting: list[tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]] = []

    def add(self, odds: Any, weights: Any, usable: Any, admitted: Any, values: Any) -> None:
        """Add the scores of a batch."""
        if self.rule.quota is None:
            self.waiting.append((odds[usable], weights[usable]))
            if sum(len(part) for part, _ in self.waiting) >= SKETCH_ROWS:
                self._flush()
            return
        rows = np.flatnonzero(admitted)
        groups: dict[str, list[int]] = {}
        for row in rows.tolist():
            groups.setdefault(values[row], []).append(row)
        for value, members in groups.items():
            before = self.best.get(value, np.zeros(0, np.float32))
            self.best[value] = best_of(np.concatenate([before, odds[members]]), self.rule.quota)

    def _flush(self) -> None:
        if self.waiting:
            self.sketch.add(*(np.concatenate(parts) for parts in zip(*self.waiting, strict=True)))
        self.waiting = []

    def to_arrays(self) -> dict[str, Any]:
        """Return what `find_cuts` needs."""
        self._flush()
        if self.rule.quota is None:
            return self.sketch.to_arrays()
        names = json.dumps(list(self.best)).encode()
        lengths = np.array([len(part) for part in self.best.values()], np.int64)
        scores = np.concatenate([np.zeros(0, np.float32), *self.best.values()])
        return {"values": np.frombuffer(names, np.uint8), "lengths": lengths, "scores": scores}


def best_of(scores: npt.NDArray[np.float32], n: int) -> npt.NDArray[np.float32]:
    """Return the n highest scores, the highest first.

    >>> best_of(np.array([1, 3, 2], np.float32), 2).tolist()
    [3.0, 2.0]
    """
    return -np.sort(-scores)[:n]


class Cuts:
    """The cut of each shard, and what the manifest says of it."""

    def __init__(self, by_shard: dict[int, Any], about: dict[str, Any]) -> None:
        self.by_shard, self.about = by_shard, about


def find_cuts(folder: OutputFolder, rule: Rule, shards: Iterable[int]) -> Cuts:
    """Add up what is known of the scores of all shards, in the order of the shards, and cut."""
    indices = sorted(shards)
    return _quota(folder, rule, indices) if rule.quota is not None else _share(folder, rule, indices)


def _arrays(folder: OutputFolder, index: int) -> Any:
    with np.load(io.BytesIO(folder.ranking(index).read_bytes())) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _share(folder: OutputFolder, rule: Rule, indices: list[int]) -> Cuts:
    total = TreeSum(max(1, len(indices)), Sketch.__add__)
    total.put(0, Sketch()) if not indices else None
    for at, index in enumerate(indices):
        total.put(at, Sketch.from_arrays(_arrays(folder, index)))
    sketch: Sketch = total.value
    cut, share = sketch.cut(rule.top or 1.0)
    about = {
        "top": rule.top, "of": rule.of, "log_odds": float(cut) if np.isfinite(cut) else None,
        "probability": float(sigmoid(np.float64(cut))), "estimated_share": share,
        "error_bound": sketch.epsilon, "sketch_nodes": sketch.nodes,
    }  # fmt: skip
    return Cuts(dict.fromkeys(indices, float(cut)), about)


def _quota(folder: OutputFolder, rule: Rule, indices: list[int]) -> Cuts:
    """The quota-th best score of every value; how many of those that tie with it, shard by shard, still fit."""
    n = rule.quota or 0
    total: Best = {}
    for index in indices:
        for value, scores in _best(_arrays(folder, index)).items():
            total[value] = best_of(np.concatenate([total.get(value, np.zeros(0, np.float32)), scores]), n)
    least = {value: scores[-1] for value, scores in total.items()}
    room = {value: int(np.count_nonzero(scores == least[value])) for value, scores in total.items()}
    by_shard: dict[int, Any] = {}
    for index in indices:
        mine = {}
        for value, scores in _best(_arrays(folder, index)).items():
            ties = min(room[value], int(np.count_nonzero(scores == least[value])))
            room[value] -= ties
            mine[value] = (float(least[value]), ties)
        by_shard[index] = mine
    full = sum(len(scores) >= n for scores in total.values())
    return Cuts(by_shard, {"quota": n, "by": rule.by, "values": len(total), "values_cut": full})


def _best(arrays: Any) -> Best:
    values = json.loads(arrays["values"].tobytes() or b"[]")
    parts = np.split(arrays["scores"], np.cumsum(arrays["lengths"])[:-1]) if values else []
    return dict(zip(values, parts, strict=True))
