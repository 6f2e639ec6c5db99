"""What ``linnet train --max-memory`` does: look, count, write a cache, choose, fit over blocks, calibrate, test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels import vocab
from linnet.choosing import Choice, choose, fit_watched, fit_weighted
from linnet.classifier import Event, TextClassifier
from linnet.data.labelled import Source
from linnet.data.shards import spool
from linnet.errors import LinnetError
from linnet.features.blocks import describe
from linnet.features.computed import Computed
from linnet.features.counting import Slots
from linnet.features.counts import SparseCounts
from linnet.features.derived import DerivedBlock
from linnet.features.recipe import LARGE_MODEL, Weights
from linnet.laying import calibrate, card_of, lay_out
from linnet.model.model import Model
from linnet.solvers.callbacks import Callback
from linnet.streaming.blockwise import TOGETHER, Job, entry_of, fit_blocks, per_output
from linnet.streaming.cache import Cache, check_room, temporary
from linnet.streaming.held import TestRows
from linnet.streaming.memory import Budget, give_back, return_freed
from linnet.streaming.names import NameFile
from linnet.streaming.parts import DEV, TEST, TRAIN
from linnet.streaming.reading import Reading, Say
from linnet.streaming.sampling import sample
from linnet.streaming.totals import Totals, per_class
from linnet.streaming.vocabulary import Kept, Vocabulary
from linnet.units import as_bytes

__all__ = ["Streamed", "fit_stream"]

Places = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True)
class Streamed:
    """What a run was: the test scores, what was left out, and how the data were held."""

    evaluation: Any
    unusable: Any
    rows: int
    blocks: int
    cache_bytes: int
    features_met: int
    lost: int
    damaged: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return what --json shows beside the card and the scores."""
        return {
            "rows": self.rows, "unusable": dict(self.unusable.counts), "blocks": self.blocks, "cache_bytes": self.cache_bytes,
            "features_met": self.features_met, "lost": self.lost, "damaged": self.damaged,
        }  # fmt: skip


def fit_stream(
    clf: TextClassifier,
    places: Places,
    *,
    max_memory: str | int,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    dev: str | None = None,
    test: str | None = None,
    cache: str | None = None,
    skip_damaged: bool = False,
    engine: Any = None,
    on_event: Callable[[Event], None] | None = None,
    say: Say | None = None,
) -> Streamed:
    """Fit a TextClassifier to files of any size within so much memory, and test it.

    places are paths, patterns or folders of shards; "-" is standard input. A tenth of the rows is kept for the test,
    as ``linnet train`` does, unless test names a file; dev likewise. cache is where a temporary folder is made. Ctrl-C
    while settings are tried keeps the best so far, in the last fit the weights so far. With an engine of
    :mod:`linnet.engines` the files are read, counted and fitted by its workers.
    """
    cls, recipe, fixed = clf.recipe()
    if hasattr(cls, "build"):
        raise LinnetError(
            f"{cls.__name__} learns nothing from rows: a sample of the data will do; leave out --max-memory"
        )
    for block in recipe.features or ():
        if isinstance(block, Computed | DerivedBlock):
            raise LinnetError(f"'{block}' is worked out in memory; leave it out, or leave out --max-memory")
    if recipe.select is not None:
        raise LinnetError("select wants all rows in memory; use max_features or min_df on a stream")
    budget = Budget(as_bytes(max_memory, "--max-memory"))
    return_freed()
    with temporary(cache) as folder:
        given = [places] if isinstance(places, str | os.PathLike) else list(places)
        columns = {"text": text, "label": label, "format": format}
        if given == ["-"]:
            main = Source([spool(folder)], **columns)
            main.name = "standard input"
        else:
            main = Source(given, **columns)
        others = {part: Source([path], **columns) for part, path in ((DEV, dev), (TEST, test)) if path}
        settings = (clf, cls, recipe, fixed, budget, folder, main, others, on_event, say or (lambda _: None))
        if engine is not None:
            from linnet.streaming.distributed import DistributedRun

            return DistributedRun(engine, *settings).all(skip_damaged)
        run = Run(*settings)
        run.look(skip_damaged)
        return run.work()


class Run(Reading):
    """One training run; the methods are its stages, in order."""

    def count(self) -> None:
        """Count features; settle which of them the model has."""
        n_outputs = 1 if self.n_classes == 2 else self.n_classes
        most = self.budget.columns(per_output(self.cls, n_outputs), n_outputs)
        if self.recipe.hash_bits:
            self._hashed(most)
            return
        self.log.stage(f"counting features {describe(self.blocks)}{self.why}")
        vocabulary = self._vocabulary()
        rare = vocabulary.lost or vocabulary.met * n_outputs > LARGE_MODEL
        min_df = self.recipe.min_df or (2 if rare else 1)
        n = self.sizes[TRAIN] + self.sizes[DEV]
        self.kept = vocabulary.kept(
            n, min_df=min_df, max_df=self.recipe.max_df, max_features=self.recipe.max_features, most=most
        )
        self.n_columns = len(self.kept.fingerprints)
        self.entries = vocabulary.pairs
        if self.kept.lost or self.kept.min_df > min_df:
            self.say(
                f"vocabulary: the {self.n_columns:,} most frequent features, in {self.kept.min_df:,} documents or more; "
                f"of those in {self.kept.lost + self.kept.min_df:,} or more none is missing"
            )

    def _vocabulary(self) -> Vocabulary:
        vocabulary = Vocabulary(self.budget.vocabulary())
        for part, batch in self._batches("counting", (TRAIN, DEV)):
            _, counted = self._counted(batch)
            vocabulary.add(counted.fingerprints, counted.rows.document_frequency(), dev=part == DEV)
            del counted
        return vocabulary

    def _hashed(self, most: int) -> None:
        bits = self.recipe.hash_bits or 0
        if 1 << bits > most:
            fits = max(8, most.bit_length() - 1)
            raise LinnetError(
                f"2^{bits} columns do not fit in the memory allowed; give --hash-bits {fits}, or more memory"
            )
        self.kept, self.n_columns = Kept(np.zeros(0, np.uint64), 1, 0, 0), 1 << bits
        self.entries = self._guessed_entries()

    def _guessed_entries(self) -> int:
        """Guess from the first texts how many entries there will be."""
        first = next(batch for part, batch in self._batches("hashing", (TRAIN,)))
        share = len(self._counted(first)[1].rows.indices) / max(1, first.nbytes)
        return int(1.1 * share * (self.scan.nbytes + sum(s.nbytes for s in self.scans.values())))

    # ---- the cache

    def write(self) -> None:
        """Write rows as columns, names as they are met, and the texts of the test."""
        plain = not self.counting and getattr(self.cls, "uses_gain", False)
        whole, block = (8, 6) if plain else (24, 14)
        self.one = self.entries <= self.budget.whole_entries(whole)
        if not self.one and entry_of(self.cls) is None:
            fit_blocks(self.cls(), None)  # type: ignore[arg-type]  # says which models can
        share = self.sizes[DEV] / max(1, self.sizes[TRAIN] + self.sizes[DEV])
        size = self.budget.block_entries(block) // TOGETHER
        many = {TRAIN: 1 if self.one else -(-int(self.entries * (1 - share)) // size)}
        if self.sizes[DEV]:
            many[DEV] = 1 if self.one else max(1, -(-int(self.entries * share) // size))
        n_outputs = 1 if self.n_classes == 2 else self.n_classes
        rows = sum(self.sizes.values())
        room = 3 * self.entries + rows * (8 + (0 if self.one else 24 * n_outputs)) + 20 * self.n_columns
        check_room(self.folder, room + int(self.scan.nbytes * self.sizes[TEST] / max(1, rows)))
        self.log.stage(
            f"writing a cache of about {3 * self.entries / 1e6:,.0f} MB"
            + ("" if self.one else f", {sum(many.values())} blocks")
        )
        self.cache = Cache(
            self.folder,
            many,
            len(self.blocks),
            self.n_columns,
            counting=self.counting,
            seed=self.clf.seed,
            numbered=self.exact,
        )
        self.names = NameFile(self.folder, 0 if self.recipe.hash_bits else self.n_columns)
        self.held = TestRows(self.folder / "test.arrow")
        self.class_counts = np.zeros((self.n_columns, self.n_classes), dtype=np.int32)
        self.rows_of = {part: np.zeros(self.n_classes, dtype=np.int64) for part in (TRAIN, DEV)}
        fitted = (TRAIN, DEV) if self.clf.refit else (TRAIN,)
        column_of = self._lookup()
        with self.cache, self.held:
            for part, batch in self._batches("writing the cache", (TRAIN, DEV, TEST)):
                if part == TEST:
                    self.held.add(batch.text, batch.label)
                    continue
                pieces, counted = self._counted(batch)
                columns = column_of(counted.fingerprints)
                if columns is not None:
                    self.names.add(pieces, self.blocks, counted, columns)
                    counted = replace(counted, rows=counted.rows.keep(columns))
                y = self._classes_of(batch)
                self.rows_of[part] += np.bincount(y, minlength=self.n_classes)
                if part in fitted:
                    vocab.class_frequency(counted.rows.row_ptr, counted.rows.indices, y, self.class_counts)
                self.cache.add(part, counted.rows, y)
                del counted, pieces

    def _lookup(self) -> Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.int32] | None]:
        """Return what gives the columns of fingerprints, -1 where they are not in the vocabulary."""
        if self.recipe.hash_bits:
            return lambda _: None
        slots = Slots.of(self.kept.fingerprints)
        table = np.full(len(slots.slots) + 1, -1, dtype=np.int32)  # -1 finds the last
        table[slots.find(self.kept.fingerprints)] = np.arange(self.n_columns, dtype=np.int32)
        return lambda fps: table[slots.find(fps)]

    # ---- choosing and fitting

    def work(self) -> Streamed:
        """Make the model from what was looked at."""
        from linnet.evaluate import evaluate

        self.count()
        give_back()
        self.write()
        give_back()
        choice, y_judged = self.choose()
        give_back()
        model = self.fit(choice, y_judged)
        self.clf.model_, self.clf.history_ = model, self.log.history
        self.log.stage(f"testing on {self.held.rows:,} rows")
        labels, proba = self.held.scored(model, self.threads)
        many = len(self.cache.blocks)
        return Streamed(
            evaluate(labels, proba, self.clf.classes_.tolist()), self.scan.unusable, self.scan.rows,
            1 if self.one else many, self.cache.written, self.kept.met, self.kept.lost, self.main.damaged,
        )  # fmt: skip

    def make(self, settings: dict[str, Any]) -> Any:
        """Build the model."""
        seeded = {"random_state": self.clf.seed} if "random_state" in self.cls().get_params() else {}
        return self.cls(**{**seeded, **self.fixed, **settings})

    def choose(self) -> tuple[Choice, npt.NDArray[np.int32]]:
        """Try settings on dev, or on held-out rows; returns the choice, and the classes its rows refer to."""
        n_dev = self.cache_rows(DEV)
        self.log.stage(f"choosing settings on {'dev' if n_dev else 'held-out rows'}")
        self.whole = self._read_whole()
        self.per_class = per_class(self.rows_of[TRAIN] + self.rows_of[DEV], self.classes, self.clf.class_weight)
        rows: Any
        if self.exact and self.y is not None:
            rows, y = (self.cache if self.whole is None else self.whole[0]), self.y
            dev = np.arange(self.cache_rows(TRAIN), len(y)) if n_dev else None
        else:
            rows, y, dev = sample(self.cache, self.n_classes, self.clf.seed)
        weight = None if self.per_class is None else self.per_class[y]
        choice = choose(
            self.make, rows, self.recipe, self.blocks, y, self.n_classes, min_df=self.kept.min_df, dev=dev,
            seed=self.clf.seed, threads=self.threads, sample_weight=weight, on_candidate=self.log.candidate,
        )  # fmt: skip
        self.log.chosen(choice)
        return choice, y

    def _read_whole(self) -> tuple[SparseCounts, npt.NDArray[np.int32]] | None:
        return self.cache.read(*self.cache.of((TRAIN, DEV))) if self.one else None

    def cache_rows(self, part: int) -> int:
        """Return how many rows of a part are in the cache."""
        return int(self.rows_of[part].sum())

    def fit(self, choice: Choice, y_judged: npt.NDArray[np.int32]) -> Model:
        """Fit the chosen settings on all rows and lay the model out."""
        watched = not self.clf.refit and self.cache_rows(DEV) > 0
        n_fit = self.cache_rows(TRAIN) + (0 if watched else self.cache_rows(DEV))
        self.log.stage(
            f"fitting on {n_fit:,} rows" + ("" if self.one else f" in {len(self.cache.blocks)} blocks on disk")
        )
        settings = dict(choice.best.settings)
        power = float(settings.pop("ratio"))
        weights = self.recipe.weights(Totals(self.class_counts, n_fit), np.zeros(0, np.int32), self.n_classes, power)  # type: ignore[arg-type]
        del self.class_counts
        model = self.make(settings)
        W, b = (
            self._fit_whole(model, weights, watched)
            if self.whole is not None
            else self._fit_blocks(model, weights, watched)
        )
        calibration = None
        if self.clf.calibrate:
            W, b, calibration = calibrate(choice.best, y_judged, self.n_classes, W, b)
        card = self._described(choice, calibration, n_fit)
        return lay_out(
            self.kept.fingerprints, self.names.find, self.blocks, self.recipe, self.classes, weights, W, b,
            self.clf.calibrate, card,
        )  # fmt: skip

    def _fit_whole(self, model: Any, weights: Weights, watched: bool) -> tuple[npt.NDArray[np.float32], Any]:
        """Fit rows that are all in memory: what ordinary training does."""
        assert self.whole is not None  # noqa: S101 - the caller looked
        rows, y = self.whole
        self.whole = None
        n_train = self.cache_rows(TRAIN)
        final = rows.take(np.arange(n_train)) if watched else rows
        y_final = y[:n_train] if watched else y
        weight = None if self.per_class is None else self.per_class[y_final]
        task = (model, final, weights, self.recipe, self.blocks, y_final, self.n_classes)
        told: dict[str, Any] = {"sample_weight": weight, "threads": self.threads, "on_epoch": self.log.epoch}
        if not watched:
            return fit_weighted(*task, **told)
        held = rows.take(np.arange(n_train, len(y))), y[n_train:]
        return fit_watched(*task, held, **told)

    def _fit_blocks(self, model: Any, weights: Weights, watched: bool) -> tuple[npt.NDArray[np.float32], Any]:
        on_epoch: Any = self.log.epoch
        watch = None
        numbers = self.cache.of((TRAIN,) if watched else (TRAIN, DEV))
        if watched:
            watch = on_epoch = Callback(self.log.epoch, judge=self._judge(weights))
        job = Job(
            self.cache, tuple(numbers), weights, self.recipe, self.blocks, self.n_classes, self.per_class, self.folder,
            self.threads, self.clf.seed, on_epoch,
        )  # fmt: skip
        found = fit_blocks(model, job)
        if watch is not None and getattr(model, "interrupted_", False) and watch.best is not None:
            return np.ascontiguousarray(watch.best[0], dtype=np.float32), watch.best[1]
        return found

    def _judge(self, weights: Weights) -> Callable[[Any], float]:
        """Return the accuracy on the dev rows of one block."""
        from linnet.choosing import right_of, scores_of

        rows, y = self.cache.read(self.cache.of((DEV,))[0])
        own = getattr(self.cls, "uses_gain", False)

        def judge(found: Any) -> float:
            W = np.ascontiguousarray(found[0], dtype=np.float32)
            W = W if own else W * weights.norm[:, None]
            return float(right_of(scores_of(rows, weights, self.recipe, self.blocks, W, found[1]), y).mean())

        return judge

    # ---- the model

    def _described(self, choice: Choice, calibration: Any, n_fit: int) -> dict[str, Any]:
        n_dev, total = self.cache_rows(DEV), self.rows_of[TRAIN] + self.rows_of[DEV]
        named = type("Named", (), {"source": self.main.name, "text_column": self.main.text or "text"})
        dev = np.arange(n_dev) if n_dev else None
        card = card_of(
            self.clf, named, self.recipe, self.blocks, self.kept.min_df, self.classes, np.zeros(0, np.int32), choice,
            calibration, n_fit, dev,
        )  # fmt: skip
        card["data"]["rows"] = int(total.sum())
        card["data"]["classes"] = {str(c): int(k) for c, k in zip(self.classes, total, strict=True)}
        if not self.one or self.kept.lost or self.main.damaged:
            card["stream"] = {
                "files": len(self.main.shards), "damaged": sorted(self.main.damaged), "blocks": len(self.cache.blocks),
                "features_met": self.kept.met, "lost": self.kept.lost, "max_memory": self.budget.total,
            }  # fmt: skip
        return card
