"""What a model file may weigh and what memory a candidate may take: estimated before the work, refused if too much."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet import arithmetic
from linnet.errors import LinnetError
from linnet.features.blocks import Blocks
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.computed import split
from linnet.features.counting import Slots, count
from linnet.features.plan import FeaturePlan
from linnet.model.model import empty_table
from linnet.pipeline.assemble import NAMED_FEATURES
from linnet.solvers.dual import LANES
from linnet.units import size_text

if TYPE_CHECKING:
    from linnet.tuning.candidate import Candidate
    from linnet.tuning.judging import Judge

__all__ = ["Limits", "RefusedError", "file_size", "resident"]

SAMPLE = 400  # documents that are counted to tell how many features all of them have
GROWTH = 0.85  # distinct features grow with this power of the text, at most
NAME = 36  # bytes of a name that is kept: its text, its place, its slot
CARD = 6_000  # bytes of the rest of a model file
ENTRY = 40  # bytes for every entry while features are counted and rows are cut into folds
FITTING = 28  # and for every entry of each fit that runs
COLUMN = 80  # bytes for every feature while it is counted
WEIGHT = 24  # and for every weight of each fit that runs
SPARE = 30_000_000  # for libraries that are loaded on the way
STEP = 50_000_000  # what is in use at the beginning is rounded up to this, to be the same in every run


class RefusedError(LinnetError):
    """A candidate that would be too large; the search goes on without it."""


def file_size(features: int, lookups: int) -> int:
    """Return about how large a model file will be.

    >>> file_size(100_000, 1) < file_size(200_000, 1)
    True
    """
    table = empty_table(1, lookups).tensors()
    slots = Slots.size_for(features)[1]
    return slots * sum(a.nbytes for a in table.values()) + min(features, NAMED_FEATURES) * NAME + CARD


def resident() -> int:
    """Return the bytes of memory that this process holds now (its peak where that is all there is to know)."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
    except (OSError, IndexError, ValueError):
        try:
            import resource
        except ImportError:  # Windows
            return 0
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


class Limits:
    """The limits that the user set; None is none. base is what the process holds before the search."""

    def __init__(self, max_size: int | None, max_memory: int | None, pieces: list[TextBuffer], base: int | None = None):
        self.max_size, self.max_memory = max_size, max_memory
        held = resident() if base is None else base
        self.base = -(-held // STEP) * STEP
        self._pieces = pieces
        self._known: dict[tuple[Any, ...], tuple[float, float]] = {}
        if max_memory is not None and self.base >= max_memory:
            raise LinnetError(
                f"linnet and these rows take about {size_text(self.base)} already; give a larger --max-memory "
                f"than {size_text(max_memory)}, or fewer rows"
            )

    def most_features(self, lookups: int) -> int | None:
        """Return how many features a model file may have; None for any number."""
        if self.max_size is None:
            return None
        if file_size(1, lookups) > self.max_size:
            raise LinnetError(
                f"no model fits into {size_text(self.max_size)}: one feature takes {size_text(file_size(1, lookups))}; "
                "give a larger --max-size"
            )
        low, high = 1, 1 << 31
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if file_size(middle, lookups) <= self.max_size else (low, middle)
        return low

    def check_size(self, columns: int, lookups: int) -> None:
        """Refuse a model file that is too large."""
        if self.max_size is not None and file_size(columns, lookups) > self.max_size:
            raise RefusedError(
                f"its file would be {size_text(file_size(columns, lookups))}, above {size_text(self.max_size)}"
            )

    def check_memory(self, candidate: Candidate, plan: FeaturePlan, judge: Judge) -> None:
        """Refuse a candidate that would take too much memory; drop what can be dropped before it begins."""
        if self.max_memory is None:
            return
        need = self.memory(plan, judge)
        if self.base + need > self.max_memory:
            raise RefusedError(
                f"it would take about {size_text(self.base + need)} of memory, above {size_text(self.max_memory)}"
            )
        if resident() + need > self.max_memory:
            judge.forget()
            gc.collect()

    def memory(self, plan: FeaturePlan, judge: Judge) -> int:
        """Return about how many bytes judging, or the last fit, takes at most on any level."""
        assert plan.features is not None  # noqa: S101 - a candidate names its features
        blocks, computed = split(plan.features)
        entries, columns = self._features(blocks, counting=plan.tf != "presence")
        rows = sum(map(len, self._pieces))
        entries += rows * sum(len(c.columns) for c in computed)
        fits = min(judge.threads, max(len(level.folds) for level in judge.levels))
        most = max(level.rows for level in judge.levels) / max(1, rows)
        outputs = 1 if judge.material.n_classes == 2 else -(-judge.material.n_classes // LANES) * LANES
        return SPARE + int(
            entries * (ENTRY + 8 * most + FITTING * fits) + columns * (COLUMN + WEIGHT * outputs * fits)
        )  # fmt: skip

    def _features(self, blocks: Blocks, counting: bool) -> tuple[float, float]:
        """Return about how many entries and distinct features all texts have, from a sample of them."""
        key = (blocks, counting)
        if key not in self._known:
            total = sum(map(len, self._pieces))
            step = max(1, total // SAMPLE)
            texts = [p.text(d) for p in self._pieces for d in range(0, len(p), step)]
            found = count(text_buffers(texts), blocks, counting=counting, threads=1).rows if blocks else None
            size = sum(len(text.encode("utf-8")) for text in texts)
            ratio = max(1.0, sum(float(p.offsets[-1] - p.offsets[0]) for p in self._pieces) / max(1, size))
            entries, columns = (0, 0) if found is None else (len(found.indices), found.n_columns)
            weight = 1.5 if counting else 1.0
            self._known[key] = (entries * ratio * weight, float(columns * arithmetic.power(ratio, GROWTH)))
        return self._known[key]
