"""Train on files of any size within a limit of memory, or on the workers of an engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linnet.data.formats import spool
from linnet.data.labelled import LabelledFiles
from linnet.pipeline.budget import Budget, return_freed
from linnet.pipeline.cache import temporary
from linnet.pipeline.disk import DiskRows
from linnet.pipeline.events import Event, Log
from linnet.pipeline.fit import fit
from linnet.pipeline.plan import Plan
from linnet.pipeline.streamed import DEV, TEST, Inputs
from linnet.values import as_bytes

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier
    from linnet.pipeline.remote import RemoteRows

Places = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True)
class StreamResult:
    """The test scores of a run, the rows left out, and how the data were held."""

    evaluation: Any
    unusable: Any
    rows: int
    blocks: int
    cache_bytes: int
    features_met: int
    lost: int
    damaged: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return what --json shows of the stream."""
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
    multilabel: str | bool | None = None,
    dev: str | None = None,
    test: str | None = None,
    cache: str | None = None,
    skip_damaged: bool = False,
    engine: Any = None,
    on_event: Callable[[Event], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> StreamResult:
    """Fit a TextClassifier to files of any size within so much memory, and test it.

    places are paths, patterns or folders of shards; "-" is standard input. A tenth of the rows is kept for the test,
    as ``linnet train`` does, unless test names a file; dev likewise. multilabel is that of ``linnet.read``. cache is where
    a temporary folder is made. Ctrl-C while settings are tried keeps the best so far, in the last fit the weights so
    far. With an engine of :mod:`linnet.engines` the files are read, counted and fitted by its workers.
    """
    plan, log = Plan.of(clf), Log(on_event)
    budget = Budget(as_bytes(max_memory, "--max-memory"))
    return_freed()
    with temporary(cache) as folder:
        given = [places] if isinstance(places, str | os.PathLike) else list(places)
        columns: dict[str, Any] = {"text": text, "label": label, "format": format, "multilabel": multilabel}
        if given == ["-"]:
            main = LabelledFiles([spool(folder)], **columns)
            main.name = "standard input"
        else:
            main = LabelledFiles(given, **columns)
        others = {part: LabelledFiles([path], **columns) for part, path in ((DEV, dev), (TEST, test)) if path}
        inputs = Inputs(main, others, folder, budget, say or (lambda _: None), skip_damaged)
        store = _store(plan, inputs, log, engine)
        clf.model_, clf.history_ = fit(plan, store, log), log.history
        log.stage("test", f"testing on {store.test_rows.rows:,} rows")
        found = store.test_rows.evaluated(clf.model_, plan.threads, store.separator)
        return StreamResult(
            found, store.scan.unusable, store.scan.rows, store.n_blocks_on_disk, store.cache_bytes, store.met, store.lost,
            main.damaged,
        )  # fmt: skip


def _store(plan: Plan, inputs: Inputs, log: Log, engine: Any) -> DiskRows | RemoteRows:
    if engine is None:
        return DiskRows(plan, inputs, log)
    from linnet.pipeline.remote import RemoteRows

    return RemoteRows(plan, inputs, log, engine)
