"""From the shards' scores to the cut: the score that the best share reaches, or each source's own."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.engines import TreeSum
from linnet.filter.rule import Rule
from linnet.filter.sketch import Sketch
from linnet.filter.state import Folder
from linnet.filter.work import best_of
from linnet.solvers.numerics import sigmoid

__all__ = ["Cuts", "find_cuts"]

Best = dict[str, npt.NDArray[np.float32]]


class Cuts:
    """What each shard is told, and what the manifest says of it."""

    def __init__(self, by_shard: dict[int, Any], about: dict[str, Any]) -> None:
        self.by_shard, self.about = by_shard, about


def find_cuts(folder: Folder, rule: Rule, shards: Iterable[int]) -> Cuts:
    """Add up what is known of the scores of all shards, in the order of the shards, and cut."""
    indices = sorted(shards)
    return _quota(folder, rule, indices) if rule.quota is not None else _share(folder, rule, indices)


def _arrays(folder: Folder, index: int) -> Any:
    with np.load(io.BytesIO(folder.ranking(index).read_bytes())) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _share(folder: Folder, rule: Rule, indices: list[int]) -> Cuts:
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


def _quota(folder: Folder, rule: Rule, indices: list[int]) -> Cuts:
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
