"""A vocabulary that grows with a stream and never past its bound: exact while it fits, heavy hitters after that.

Each feature has a counter of the documents that hold it. When there are more counters than the bound allows, the rare
ones are dropped as Misra and Gries do it: with t the value of the first counter that is to go, every counter goes down
by t, and those at zero are dropped. What a feature has lost before it came (back) is then at most the sum of all such t,

    lost <= pairs / kept,    pairs = (feature, document) pairs counted, kept = counters left by a pruning, at least,

so every feature in more than ``lost`` documents is in the vocabulary, and no count is too high. Counters themselves are
not lowered: the true count of a feature lies between ``counts`` and ``counts + missed``. A second pass over the
documents then counts the features that were kept exactly.

References: Misra and Gries: Finding Repeated Elements, 1982; Berinde et al.: Space-optimal Heavy Hitters with Strong
Error Bounds, 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels.text import merge_vocabulary, rehash_table
from linnet.errors import DataError
from linnet.features.selection import documents

LATER = np.int64(1) << np.int64(62)
"""Added to the place of features first met in dev rows: they are numbered behind those of training rows."""
KEPT_SHARE = 0.5
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Kept:
    """The features of a model: fingerprints in the order of first sight, and how they were chosen."""

    fingerprints: npt.NDArray[np.uint64]
    min_df: int
    met: int  # features counted at a time, at most
    lost: int  # documents that a feature which was left out may have been in, beyond the cut


class StreamVocabulary:
    """Fingerprints and the documents that hold them; at most ``most`` features, or those of one batch.

    >>> v = StreamVocabulary(most=8)
    >>> for fps in ([11, 22, 33, 44, 55, 66, 77], [11, 88], [11, 99]):
    ...     _ = v.add(np.array(fps, np.uint64) << np.uint64(50), np.array([9] + [1] * (len(fps) - 1), np.int32))
    >>> v.n, v.lost, v.counts.tolist()
    (3, 1, [27, 1, 1])
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.bits = 12
        self.table = np.zeros(2 << self.bits, np.uint64)
        self.n = self.lost = self.pairs = self.met = 0
        self.kept_least = most or 0
        self._next = [0, 0]  # the place of the next feature met, in training and dev rows
        self._room(1024)

    fps: npt.NDArray[np.uint64]
    df: npt.NDArray[np.int32]
    came: npt.NDArray[np.int32]
    key: npt.NDArray[np.int64]

    def _room(self, n: int) -> None:
        for name, kind in {"fps": np.uint64, "df": np.int32, "came": np.int32, "key": np.int64}.items():
            new: npt.NDArray[Any] = np.empty(n, dtype=kind)
            if hasattr(self, name):
                new[: self.n] = getattr(self, name)[: self.n]
            setattr(self, name, new)

    @property
    def counts(self) -> npt.NDArray[np.int32]:
        """In how many documents each feature was met since it came: at most the truth."""
        return self.df[: self.n]

    @property
    def missed(self) -> npt.NDArray[np.int32]:
        """How many documents each feature may have been in before it came."""
        return self.came[: self.n]

    def add(
        self, fingerprints: npt.NDArray[np.uint64], df: npt.NDArray[np.int32], *, dev: bool = False
    ) -> npt.NDArray[np.int32]:
        """Add the distinct features of a batch, in the order of first sight, and the documents that hold each.

        Returns their numbers, which hold until features are dropped.
        """
        size = len(fingerprints)
        if self.most is not None and self.n + size > self.most:
            self._prune(max(1, min(int(KEPT_SHARE * self.most), self.most - size)))
        self._grow(self.n + size)
        places = np.arange(self._next[dev], self._next[dev] + size) + (LATER if dev else 0)
        numbers = self._merge(fingerprints, df, places)
        self._next[dev] += size
        self.pairs += int(df.sum(dtype=np.int64))
        self.met = max(self.met, self.n)
        return numbers

    def _merge(self, fps: npt.NDArray[np.uint64], df: npt.NDArray[np.int32], places: Any) -> npt.NDArray[np.int32]:
        """Find or add features, and add their documents; there is room for them."""
        numbers, before = np.empty(len(fps), dtype=np.int32), self.n
        self.n = merge_vocabulary(fps, self.table, 64 - self.bits, before, self.fps, numbers)
        self.df[before : self.n], self.came[before : self.n], self.key[before : self.n] = 0, self.lost, _NEVER
        self.df[numbers] += df
        self.key[numbers] = np.minimum(self.key[numbers], places)
        return numbers

    def _grow(self, wanted: int) -> None:
        while (1 << self.bits) * 3 // 4 < wanted:
            self.bits += 1
            larger = np.zeros(2 << self.bits, dtype=np.uint64)
            rehash_table(self.table, larger, 64 - self.bits)
            self.table = larger
        if wanted > len(self.fps):
            self._room(max(wanted, len(self.fps) * 3 // 2))

    def _prune(self, keep: int) -> None:
        """Lower all counters until at most so many are above zero."""
        if self.n <= keep:
            return
        self.kept_least = min(self.kept_least, keep)
        value = self.counts - (self.lost - self.missed)
        t = int(np.partition(value, self.n - keep - 1)[self.n - keep - 1])
        kept = np.flatnonzero(value > t)
        for name in ("fps", "df", "came", "key"):
            array = getattr(self, name)
            array[: len(kept)] = array[kept]
        self.lost += t
        self.n = len(kept)
        self.table[:] = 0
        numbers = np.empty(self.n, dtype=np.int32)
        merge_vocabulary(self.fps[: self.n].copy(), self.table, 64 - self.bits, 0, self.fps, numbers)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the table and the spare room: it is made again."""
        arrays = {name: getattr(self, name)[: self.n].copy() for name in ("fps", "df", "came", "key")}
        return {**vars(self), **arrays, "table": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.table = np.zeros(2 << self.bits, dtype=np.uint64)
        merge_vocabulary(self.fps.copy(), self.table, 64 - self.bits, 0, self.fps, np.empty(self.n, dtype=np.int32))

    def __add__(self, other: StreamVocabulary) -> StreamVocabulary:
        """Return what counting this stream and then the other would have given; both must be exact."""
        if self.lost or other.lost:
            raise DataError("vocabularies that left features out cannot be added up; raise the memory of the workers")
        both = StreamVocabulary(self.most)
        both._grow(self.n + other.n)
        for one in (self, other):
            later = one.key[: one.n] >= LATER
            places = one.key[: one.n] + np.where(later, both._next[1], both._next[0])
            both._merge(one.fps[: one.n], one.counts, places)
            both._next = [a + b for a, b in zip(both._next, one._next, strict=True)]
            both.pairs += one.pairs
        both.met = both.n
        return both

    def kept(
        self, n_documents: int, *, min_df: int, max_df: float, max_features: int | None, most: int | None = None
    ) -> Kept:
        """Choose the features of a model: in min_df documents or more, not in too many, the most frequent ones.

        most bounds them as memory does: where more are left, min_df is raised until they fit. Of features equally
        frequent at the cut of max_features the first met are kept.
        """
        df, highest = self.counts, documents("max_df", max_df, n_documents)
        good = np.flatnonzero((df >= min_df) & (df <= highest))
        if most is not None and len(good) > most:
            edge = int(np.partition(df[good], len(good) - most - 1)[len(good) - most - 1])
            min_df = edge + 1
            good = good[df[good] >= min_df]
        if not len(good):
            raise DataError(
                f"no feature is left: none of {self.n:,} is in {min_df} to {highest:g} of {n_documents:,} "
                f"documents; lower min_df or raise max_df"
            )
        order = good[np.argsort(self.key[good], kind="stable")]
        if max_features is not None and len(order) > max_features:
            first = np.argsort(-df[order].astype(np.int64), kind="stable")[:max_features]
            order = order[np.sort(first)]
        return Kept(self.fps[order].copy(), min_df, self.met, self.lost)
