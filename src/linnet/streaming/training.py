"""What ``linnet train --max-memory`` does: look, count, write a cache, choose, fit over blocks, calibrate, test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet._kernels import vocab
from linnet.artefact import Artefact, Table, empty_table
from linnet.choosing import Choice, choose, fit_watched, fit_weighted
from linnet.classifier import Event, TextClassifier
from linnet.data.arrays import booleans
from linnet.errors import DataError, LinnetError
from linnet.features.blocks import Blocks, describe
from linnet.features.buffers import Piece, pieces_of
from linnet.features.computed import Computed, split
from linnet.features.counting import Counted, Slots, thread_count
from linnet.features.derived import DerivedBlock
from linnet.features.recipe import LARGE_MODEL, Recipe, Weights, default_blocks
from linnet.features.rows import Rows
from linnet.features.sharing import Texts
from linnet.solvers.head import Head
from linnet.solvers.report import Watch
from linnet.streaming import source as sources
from linnet.streaming.blockwise import TOGETHER, Job, entry_of, fit_blocks, per_output
from linnet.streaming.cache import Cache, check_room, temporary
from linnet.streaming.held import TestRows
from linnet.streaming.memory import Budget, give_back, parse_size, return_freed
from linnet.streaming.meter import Meter
from linnet.streaming.names import NameFile
from linnet.streaming.parts import DEV, TEST, TRAIN, Parts, held_out
from linnet.streaming.sampling import sample
from linnet.streaming.shards import spool
from linnet.streaming.source import Labelled, Scan, Source, codes_of
from linnet.streaming.vocabulary import Kept, Vocabulary
from linnet.training import NAMED_FEATURES, _calibrated, _card, _largest, _Log, _strength

__all__ = ["Streamed", "fit_stream"]

Places = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
Say = Callable[[str], None]


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
    budget = Budget(parse_size(max_memory))
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


class Run:
    """One training run; the methods are its stages, in order."""

    def __init__(
        self, clf: TextClassifier, cls: Any, recipe: Recipe, fixed: dict[str, Any], budget: Budget, folder: Path,
        main: Source, others: dict[int, Source], on_event: Callable[[Event], None] | None, say: Say,
    ) -> None:  # fmt: skip
        self.clf, self.cls, self.recipe, self.fixed, self.budget = clf, cls, recipe, fixed, budget
        self.folder, self.main, self.others, self.on_event, self.say = folder, main, others, on_event, say
        self.log, self.threads = _Log(on_event), thread_count(clf.threads)

    # ---- look

    def look(self, skip_damaged: bool) -> None:
        """Look at all rows once; settle classes, parts and features."""
        total = self.main.nbytes + sum(s.nbytes for s in self.others.values())
        self.log.stage(f"looking at {self.main.name}")
        meter = Meter(self.on_event, "looking", total)
        scan, scans = self._scans(skip_damaged, meter)
        meter.end()
        for line in sources.describe(self.main, scan):
            self.say(line)
        labels = {**scan.labels}
        if DEV in scans:
            labels |= {name: labels.get(name, 0) + n for name, n in scans[DEV].labels.items()}
        self.classes = tuple(sorted(labels))
        if len(self.classes) < 2:
            raise DataError(f"every row has the label {self.classes[0]!r}; a classifier needs at least two")
        self.n_classes = len(self.classes)
        self.known = {name: k for k, name in enumerate(self.classes)}
        self.scan, self.scans = scan, scans
        self._divide(scan)
        self._features(scan, scans)

    def _scans(self, skip_damaged: bool, meter: Meter) -> tuple[Scan, dict[int, Scan]]:
        most = self.budget.exact_rows()
        scan = self.main.scan(most, skip_damaged=skip_damaged, on_bytes=meter)
        return scan, {part: source.scan(most, on_bytes=meter) for part, source in self.others.items()}

    def _divide(self, scan: Scan) -> None:
        shares = held_out(
            scan.rows, dev=DEV in self.others, test=TEST in self.others, watch=not self.clf.refit, name=self.main.name
        )
        dev_scan = self.scans.get(DEV)
        self.exact = scan.codes is not None and (dev_scan is None or dev_scan.codes is not None)
        self.y: npt.NDArray[np.int32] | None = None
        if self.exact and scan.codes is not None:
            y = self._numbered(scan)
            self.parts = Parts.exact(y, shares, self.clf.seed)
            whole = self.parts.whole
            assert whole is not None  # noqa: S101 - exact
            self.sizes = {part: int((whole == part).sum()) for part in (TRAIN, DEV, TEST)}
            behind = [y[whole == TRAIN], y[whole == DEV]]
            if dev_scan is not None:
                behind.append(self._numbered(dev_scan))
            self.y = np.concatenate(behind)
        else:
            self.parts = Parts.drawn(scan.rows, shares, self.clf.seed)
            low, high = self.parts.edges
            self.sizes = {
                TRAIN: int(low * scan.rows),
                DEV: int((high - low) * scan.rows),
                TEST: int((1 - high) * scan.rows),
            }
        for part, other in self.scans.items():
            self.sizes[part] = other.rows
        shown = [f"{self.sizes[part]:,} {name}" for part, name in ((TRAIN, "train"), (DEV, "dev"), (TEST, "test"))]
        self.say("split: " + ", ".join(s for s in shown if not s.startswith("0 ")) + ("" if self.exact else ", about"))

    def _numbered(self, scan: Scan) -> npt.NDArray[np.int32]:
        """Return the class of each row of a scan, in the order of the names of classes; the scan lets go of it."""
        table = np.array([self.known[name] for name in scan.labels], dtype=np.int32)
        codes = table[np.concatenate(scan.codes or [np.zeros(0, np.int32)])]
        scan.codes = []
        return codes

    def _features(self, scan: Scan, scans: dict[int, Scan]) -> None:
        n, size = scan.rows, scan.nbytes
        if self.exact and scan.sizes is not None and self.parts.whole is not None:
            bytes_of, fitted = np.concatenate(scan.sizes), self.parts.whole != TEST
            n, size = int(fitted.sum()), int(bytes_of[fitted].sum(dtype=np.int64))
            scan.sizes = []
        if DEV in scans:
            n, size = n + scans[DEV].rows, size + scans[DEV].nbytes
        features = self.recipe.features or default_blocks([Piece(np.zeros(0, np.uint8), np.array([0, size // n]))])
        self.blocks: Blocks = split(features)[0]
        spread = sum((b.high - b.low + 1) * (1 if b.name == "words" else 6) for b in self.blocks)
        self.batch_bytes = self.budget.batch_bytes(spread)
        self.counting = self.recipe.tf != "presence"

    # ---- passes over the texts

    def _batches(self, text: str, parts: tuple[int, ...]) -> Iterator[tuple[int, Labelled]]:
        """Yield (part, rows) of every batch, dev and test files behind the data; the same in every pass."""
        total = self.scan.nbytes + sum(s.nbytes for s in self.scans.values())
        meter = Meter(self.on_event, text, total)
        self.parts.rewind()
        seen = 0
        for batch in self.main.batches(self.batch_bytes, meter):
            seen += len(batch)
            if seen > self.scan.rows:
                break
            where = self.parts.next(codes_of(batch.label, self.known))
            if len(self.known) > self.n_classes:
                break
            for part in parts:
                mask = where == part
                if mask.all():
                    yield part, batch
                elif mask.any():
                    keep = booleans(mask)
                    yield part, Labelled(batch.text.filter(keep), batch.label.filter(keep), batch.unusable, 0)
        if seen != self.scan.rows or len(self.known) > self.n_classes:
            raise DataError(
                f"{self.main.name} changed while it was read; leave it alone during training, and run it again"
            )
        for part, source in self.others.items():
            for batch in source.batches(self.batch_bytes, meter):
                if part in parts:
                    yield part, batch
        meter.end()

    def _counted(self, batch: Labelled) -> tuple[list[Piece], Counted]:
        pieces = pieces_of(batch.text)
        return pieces, Texts(pieces).count(
            self.blocks, hash_bits=self.recipe.hash_bits, counting=self.counting, threads=self.threads
        )

    def _classes_of(self, batch: Labelled) -> npt.NDArray[np.int32]:
        return codes_of(batch.label, self.known)

    def count(self) -> None:
        """Count features; settle which of them the model has."""
        n_outputs = 1 if self.n_classes == 2 else self.n_classes
        most = self.budget.columns(per_output(self.cls, n_outputs), n_outputs)
        if self.recipe.hash_bits:
            self._hashed(most)
            return
        self.log.stage(f"counting features {describe(self.blocks)}")
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
        first = next(batch for part, batch in self._batches("hashing", (TRAIN,)))
        share = len(self._counted(first)[1].rows.indices) / max(1, first.nbytes)
        self.entries = int(1.1 * share * (self.scan.nbytes + sum(s.nbytes for s in self.scans.values())))

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
        self.per_class = _per_class(self.rows_of[TRAIN] + self.rows_of[DEV], self.classes, self.clf.class_weight)
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

    def _read_whole(self) -> tuple[Rows, npt.NDArray[np.int32]] | None:
        return self.cache.read(*self.cache.of((TRAIN, DEV))) if self.one else None

    def cache_rows(self, part: int) -> int:
        """Return how many rows of a part are in the cache."""
        return int(self.rows_of[part].sum())

    def fit(self, choice: Choice, y_judged: npt.NDArray[np.int32]) -> Artefact:
        """Fit the chosen settings on all rows and lay the model out."""
        watched = not self.clf.refit and self.cache_rows(DEV) > 0
        n_fit = self.cache_rows(TRAIN) + (0 if watched else self.cache_rows(DEV))
        self.log.stage(
            f"fitting on {n_fit:,} rows" + ("" if self.one else f" in {len(self.cache.blocks)} blocks on disk")
        )
        settings = dict(choice.best.settings)
        power = float(settings.pop("ratio"))
        weights = self.recipe.weights(_Totals(self.class_counts, n_fit), np.zeros(0, np.int32), self.n_classes, power)  # type: ignore[arg-type]
        del self.class_counts
        model = self.make(settings)
        W, b = (
            self._fit_whole(model, weights, watched)
            if self.whole is not None
            else self._fit_blocks(model, weights, watched)
        )
        calibration = None
        if self.clf.calibrate:
            W, b, calibration = _calibrated(choice.best, y_judged, self.n_classes, W, b)
        card = self._described(choice, calibration, n_fit)
        return self._artefact(weights, W, b, card)

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
        told: dict[str, Any] = {"sample_weight": weight, "threads": self.threads, "on_pass": self.log.made_pass}
        if not watched:
            return fit_weighted(*task, **told)
        held = rows.take(np.arange(n_train, len(y))), y[n_train:]
        return fit_watched(*task, held, **told)

    def _fit_blocks(self, model: Any, weights: Weights, watched: bool) -> tuple[npt.NDArray[np.float32], Any]:
        on_pass: Any = self.log.made_pass
        watch = None
        numbers = self.cache.of((TRAIN,) if watched else (TRAIN, DEV))
        if watched:
            watch = on_pass = Watch(self.log.made_pass, judge=self._judge(weights))
        job = Job(
            self.cache, tuple(numbers), weights, self.recipe, self.blocks, self.n_classes, self.per_class, self.folder,
            self.threads, self.clf.seed, on_pass,
        )  # fmt: skip
        found = fit_blocks(model, job)
        if watch is not None and getattr(model, "interrupted_", False) and watch.best is not None:
            return np.ascontiguousarray(watch.best[0], dtype=np.float32), watch.best[1]
        return found

    def _judge(self, weights: Weights) -> Callable[[Any], float]:
        """Return the accuracy on the dev rows of one block."""
        from linnet.choosing import _right, scores_of

        rows, y = self.cache.read(self.cache.of((DEV,))[0])
        own = getattr(self.cls, "uses_gain", False)

        def judge(found: Any) -> float:
            W = np.ascontiguousarray(found[0], dtype=np.float32)
            W = W if own else W * weights.norm[:, None]
            return float(_right(scores_of(rows, weights, self.recipe, self.blocks, W, found[1]), y).mean())

        return judge

    # ---- the model

    def _described(self, choice: Choice, calibration: Any, n_fit: int) -> dict[str, Any]:
        n_dev, total = self.cache_rows(DEV), self.rows_of[TRAIN] + self.rows_of[DEV]
        named = type("Named", (), {"source": self.main.name, "text_column": self.main.text or "text"})
        dev = np.arange(n_dev) if n_dev else None
        card = _card(
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

    def _artefact(self, weights: Weights, W: npt.NDArray[np.float32], b: Any, card: dict[str, Any]) -> Artefact:
        """Put the weights where the lookup finds them, with the names of the weightiest."""
        head = b if isinstance(b, Head) else None
        strength = _strength(W, weights.norm, self.recipe, head)
        b = np.zeros(W.shape[1]) if head is not None else b
        recipe, clf = self.recipe, self.clf
        if recipe.hash_bits:
            table = Table(np.zeros(0, np.uint64), np.concatenate([weights.norm[:, None], W], axis=1))
            return Artefact(
                self.classes, self.blocks, recipe.tf, recipe.normalise, table, 64 - recipe.hash_bits, b,
                calibrated=clf.calibrate, card=card, head=head,
            )  # fmt: skip
        fps = self.kept.fingerprints
        table = empty_table(Slots.size_for(len(fps))[1], W.shape[1])
        slots = Slots.of(fps, table.slots)
        vocab.fill_rows(fps, table.slots, slots.shift, weights.norm, W, table.rows)
        named = _largest(strength, NAMED_FEATURES)
        name_bytes, name_offsets = self.names.find(named)
        return Artefact(
            self.classes, self.blocks, recipe.tf, recipe.normalise, table, slots.shift, b, name_bytes, name_offsets,
            slots.find(fps[named]), clf.calibrate, card, head=head,
        )  # fmt: skip


@dataclass(frozen=True)
class _Totals:
    """What weights are learned from: the documents of each class that hold each feature."""

    counts: npt.NDArray[np.int32]
    n_rows: int
    computed = None

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_columns(self) -> int:
        """How many features there are."""
        return len(self.counts)

    def document_frequency(self) -> npt.NDArray[np.int32]:
        """In how many documents each feature is."""
        return np.asarray(self.counts.sum(axis=1, dtype=np.int32))

    def class_counts(self, y: npt.NDArray[np.int32], n_classes: int) -> npt.NDArray[np.int32]:
        """In how many of each class."""
        return self.counts


def _per_class(rows: Any, classes: tuple[Any, ...], class_weight: Any) -> npt.NDArray[np.float64] | None:
    """Return the weight of a row of each class, as ordinary training has it."""
    from linnet.training import class_weighted

    if class_weight is None:
        return None
    if class_weight == "balanced":
        totals = np.asarray(rows, dtype=np.float64)
        return np.asarray(totals.sum() / (len(classes) * np.maximum(totals, 1e-300)))
    return class_weighted(None, np.arange(len(classes), dtype=np.int32), classes, class_weight)
