"""Models whose fit goes over rows on disk, block by block: the registry, and what their solvers share.

nb, bernoulli   counts add up over blocks: the model is that of ordinary training, to the byte (whole-number counts)
svm             dual coordinate descent, one block at a time (``dual_blocks``): the same optimum, to ``tol``
logistic        two classes: the same on its dual, then L-BFGS if passes bring little (``logistic_blocks``);
                more classes: L-BFGS on sums of gradients
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.choosing import OnEpoch, weighted
from linnet.errors import LinnetError
from linnet.features.blocks import Blocks
from linnet.features.counts import SparseCounts
from linnet.features.recipe import Recipe, Weights
from linnet.models import MODELS
from linnet.solvers.matrix import Matrix
from linnet.streaming.cache import Cache, writing

__all__ = ["BLOCKWISE", "TOGETHER", "Job", "fit_blocks", "per_output"]

Floats = npt.NDArray[np.float64]
Found = tuple[npt.NDArray[Any], Any]
TOGETHER = 4  # blocks in memory at a time


@dataclass(frozen=True)
class Job:
    """What a blockwise solver is asked: rows on disk, how they are weighed, and whom to tell."""

    cache: Cache
    numbers: tuple[int, ...]  # of the blocks to fit on
    weights: Weights
    recipe: Recipe
    blocks: Blocks
    n_classes: int
    per_class: Floats | None  # the weight of the rows of each class
    folder: Path
    threads: int
    seed: int
    on_epoch: OnEpoch

    @property
    def n_outputs(self) -> int:
        """One score for two classes, else one a class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(self.cache.blocks[k].rows for k in self.numbers)

    def matrix(self, rows: SparseCounts, *, own_gain: bool) -> Matrix:
        """Return the rows of a block as a solver takes them; with own_gain weights stay outside the values."""
        return weighted(rows, self.weights, self.recipe, self.blocks, multiply=not own_gain)

    def cost(self, y: npt.NDArray[np.int32], C: float) -> Floats:
        """Return C times the weight of each row."""
        return np.full(len(y), C) if self.per_class is None else C * self.per_class[y]

    def passing(
        self, order: npt.NDArray[Any] | None = None, *, own_gain: bool = False
    ) -> Iterator[tuple[tuple[int, ...], Matrix, npt.NDArray[np.int32]]]:
        """Yield (blocks, rows, classes) of a few blocks at a time, in their order or in another.

        Which blocks come together changes with the order: rows that are never improved together keep a grudge against
        each other that takes many rounds to settle.
        """
        wanted = list(self.numbers) if order is None else [self.numbers[k] for k in order.tolist()]
        groups = [tuple(wanted[k : k + TOGETHER]) for k in range(0, len(wanted), TOGETHER)]
        for group, rows, y in self.cache.passing(groups):
            yield group, self.matrix(rows, own_gain=own_gain), y

    # what a solver keeps of each row lies beside the rows, a file a block

    def kept(self, group: tuple[int, ...], shape: tuple[int, ...]) -> Floats | None:
        """Return what was kept of the rows of some blocks, shape + (n_rows,); None where nothing was."""
        files = [self.folder / f"state-{k:04d}" for k in group]
        if not files[0].exists():
            return None
        return np.concatenate([np.fromfile(path).reshape(*shape, -1) for path in files], axis=-1)

    def keep(self, group: tuple[int, ...], state: Floats) -> None:
        """Keep something of each row, (..., n_rows)."""
        ends = np.cumsum([self.cache.blocks[k].rows for k in group])[:-1]
        with writing(self.folder):
            for k, part in zip(group, np.split(state, ends, axis=-1), strict=True):
                part.tofile(self.folder / f"state-{k:04d}")


def fit_counts(model: Any, job: Job) -> Found:
    """Naive Bayes: count block by block, add up, then estimate once."""
    total: Any = None
    dtype: Any = np.dtype(np.float32)
    for _, X, y in job.passing():
        if getattr(model, "presence", False) and (X.values != 1).any():
            raise LinnetError(
                f"{type(model).__name__} takes words present or absent: leave out tf, idf, ratio and the weights of blocks"
            )
        dtype = X.values.dtype
        weight = None if job.per_class is None else job.per_class[y]
        counted = model._counted(X, y, job.n_classes, weight)
        if total is None:
            total = counted
        else:  # in place: tables are as large as the model
            total.rows[:] += counted.rows
            total.features[:] += counted.features
        del counted, X
    model._learn(total, dtype)
    return model.coef_.T, model.intercept_


def fit_svm(model: Any, job: Job) -> Found:
    """The linear SVM on its dual."""
    from linnet.streaming.dual_blocks import fit

    return fit(model, job)


def fit_logistic(model: Any, job: Job) -> Found:
    """Logistic regression."""
    from linnet.streaming.logistic_blocks import fit

    return fit(model, job)


BLOCKWISE: dict[str, tuple[Callable[[Any, Job], Found], int]] = {  # model: how, and bytes a feature and output
    "nb": (fit_counts, 90),
    "bernoulli": (fit_counts, 110),
    "svm": (fit_svm, 24),
    "logistic": (fit_logistic, 40),
}


def entry_of(cls: Any) -> tuple[Callable[[Any, Job], Found], int] | None:
    """Return the row of the registry for a model's class."""
    return next((row for name, row in BLOCKWISE.items() if MODELS[name] is cls), None)


def per_output(cls: Any, n_outputs: int) -> int:
    """Return how many bytes a model takes a feature and output while it is fitted."""
    row = entry_of(cls)
    if cls is MODELS["logistic"] and n_outputs > 1:
        return 120  # Newton's method keeps a few vectors as long as the weights
    return 60 if row is None else row[1]


def fit_blocks(model: Any, job: Job) -> tuple[npt.NDArray[np.float32], Any]:
    """Fit a model to rows on disk; the weights are folded: they apply to tf / norm."""
    row = entry_of(type(model))
    if row is None:
        name = type(model).__name__
        raise LinnetError(
            f"{name} needs all rows in memory; raise --max-memory, or train one of {', '.join(BLOCKWISE)} on the stream"
        )
    W, b = row[0](model, job)
    W = np.ascontiguousarray(W, dtype=np.float32)
    if not getattr(model, "uses_gain", False):
        W *= job.weights.norm[:, None]
    return W, b
