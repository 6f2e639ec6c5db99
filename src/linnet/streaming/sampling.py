"""A sample of the rows on disk to choose settings on, where rows are too many to be numbered."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linnet.choosing import LEAST_ROWS, MOST_DEV, MOST_ENTRIES
from linnet.features.counts import SparseCounts
from linnet.streaming.cache import Cache, behind
from linnet.streaming.parts import DEV, TRAIN

__all__ = ["sample"]


def sample(
    cache: Cache, n_classes: int, seed: int
) -> tuple[SparseCounts, npt.NDArray[np.int32], npt.NDArray[np.int64] | None]:
    """Return rows, their classes, and which of them are dev rows: as many as an ordinary choice would look at.

    Blocks are random parts of the rows, so those of one block will do; a class that it lacks is looked for in others.
    """
    rng = np.random.default_rng(seed)
    mean = max(1.0, cache.entries / max(1, len(cache)))
    most = max(LEAST_ROWS, int(MOST_ENTRIES / mean))
    train, dev = cache.of((TRAIN,)), cache.of((DEV,))
    rows, y = cache.read(train[0])
    mine = np.sort(rng.choice(len(y), min(most, len(y)), replace=False))
    parts, labels = [rows.take(mine)], [y[mine]]
    lacking = set(range(n_classes)) - set(y[mine].tolist())
    for k in train if lacking else ():
        rows, y = cache.read(k)
        found = [int(np.flatnonzero(y == c)[0]) for c in sorted(lacking) if (y == c).any()]
        if found:
            parts.append(rows.take(np.array(found)))
            labels.append(y[found])
            lacking -= set(y[found].tolist())
        if not lacking:
            break
    n_train = sum(map(len, parts))
    if dev:
        rows, y = cache.read(dev[0])
        mine = np.sort(rng.choice(len(y), min(MOST_DEV, len(y)), replace=False))
        parts.append(rows.take(mine))
        labels.append(y[mine])
    classes = np.concatenate(labels)
    return behind(parts, cache), classes, np.arange(n_train, len(classes)) if dev else None
