"""Look at a stream once: its classes, its parts, its features; then read it again and again, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.classifier import Event, TextClassifier
from linnet.data import labelled as sources
from linnet.data.arrays import booleans
from linnet.data.labelled import Labelled, Scan, Source, codes_of
from linnet.errors import DataError
from linnet.features.blocks import Blocks
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.computed import split
from linnet.features.counting import Counted, thread_count
from linnet.features.recipe import Recipe, blocks_for, looked_at, mostly_unspaced
from linnet.features.sharing import Texts
from linnet.streaming.memory import Budget
from linnet.streaming.meter import Meter
from linnet.streaming.parts import DEV, TEST, TRAIN, Parts, held_out
from linnet.training import Log

__all__ = ["Reading", "Say"]

Say = Callable[[str], None]


class Reading:
    """What was found by looking at all rows once, and passes over them that are the same every time."""

    def __init__(
        self, clf: TextClassifier, cls: Any, recipe: Recipe, fixed: dict[str, Any], budget: Budget, folder: Path,
        main: Source, others: dict[int, Source], on_event: Callable[[Event], None] | None, say: Say,
    ) -> None:  # fmt: skip
        self.clf, self.cls, self.recipe, self.fixed, self.budget = clf, cls, recipe, fixed, budget
        self.folder, self.main, self.others, self.on_event, self.say = folder, main, others, on_event, say
        self.log, self.threads = Log(on_event), thread_count(clf.threads)

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
        n, size, by_script = scan.rows, scan.nbytes, scan.by_script
        whole = self.parts.whole
        kinds = []
        if self.exact and scan.sizes is not None and whole is not None:
            fitted, bytes_of, of_each = whole != TEST, np.concatenate(scan.sizes), np.concatenate(scan.scripts)
            n, size = int(fitted.sum()), int(bytes_of[fitted].sum(dtype=np.int64))
            kinds = [of_each[whole == TRAIN], of_each[whole == DEV]]
            scan.sizes, scan.scripts = [], []
        if DEV in scans:
            n, size, by_script = n + scans[DEV].rows, size + scans[DEV].nbytes, by_script + scans[DEV].by_script
            kinds += scans[DEV].scripts
        if self.exact:  # what ordinary training would look at
            by_script = np.bincount(np.concatenate(kinds)[:: looked_at(n)], minlength=3)
        unspaced = mostly_unspaced(by_script)
        features = self.recipe.features or blocks_for(n, size, unspaced=unspaced)
        self.why = ": most texts have no blanks between words" if unspaced and not self.recipe.features else ""
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

    def _counted(self, batch: Labelled) -> tuple[list[TextBuffer], Counted]:
        pieces = text_buffers(batch.text)
        return pieces, Texts(pieces).count(
            self.blocks, hash_bits=self.recipe.hash_bits, counting=self.counting, threads=self.threads
        )

    def _classes_of(self, batch: Labelled) -> npt.NDArray[np.int32]:
        return codes_of(batch.label, self.known)
