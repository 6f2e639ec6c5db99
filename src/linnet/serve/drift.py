"""Has the input of a served model changed? What ``linnet monitor`` says of a file, said of the requests, in the metrics.

Texts of requests are measured in a thread, a few at a time and not more often than every tenth of a second: with little traffic all of
them, with much a sample. Every LOOK texts are one look: they are compared with the reference in the model's card and forgotten. So at
most one look in twenty at unchanged input is an alarm. Only the signals are kept, three numbers a text.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from linnet.errors import LinnetError
from linnet.evaluate.drift import Measured, drift
from linnet.serve.catalogue import ServedModel
from linnet.serve.metrics import Metrics

LOOK = 1000  # texts
MOST = 100  # texts of one call
PAUSE = 0.1  # seconds between two calls that are measured
MOST_LABELS = 100  # that have a share of their own in the metrics


class DriftWatch:
    """Measures texts of requests and compares them, look by look."""

    def __init__(self, pool: Executor, metrics: Metrics, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool, self._metrics, self._clock = pool, metrics, clock
        self._again = 0.0  # when the next call may be measured
        self._measured: dict[tuple[str, str], Measured] = {}  # by name and version

    def see(self, served: ServedModel, texts: Sequence[str]) -> None:
        """Measure these texts soon, or leave them out."""
        if self._clock() >= self._again and "reference" in served.clf.artefact.card:
            self._again = float("inf")  # until this call is measured
            self._pool.submit(self._measure, served, list(texts[:MOST]))

    def _measure(self, served: ServedModel, texts: list[str]) -> None:
        try:
            with contextlib.suppress(LinnetError):
                self._look(served, Measured.of(served.clf.artefact, texts, 1))
        finally:
            self._again = self._clock() + PAUSE

    def _look(self, served: ServedModel, new: Measured) -> None:
        key = (served.name, served.version)
        known = self._measured.pop(key, None)
        measured = new if known is None else known.joined(new)
        if len(measured) < LOOK:
            self._measured[key] = measured
            return
        model, to = served.clf.artefact, self._metrics
        found = drift(model, measured)
        to.looks(served.name).inc()
        to.alarms(served.name).inc(found.alarm)
        to.alarm(served.name).set(found.alarm)
        shares = found.labels.items() if len(found.labels) <= MOST_LABELS else ()
        for signal in found.signals:
            if signal.name in to.signals:
                to.signals[signal.name](served.name, "reference").set(signal.before)
                to.signals[signal.name](served.name, "now").set(signal.now)
        for label, (before, now) in shares:
            to.label_share(served.name, label, "reference").set(before)
            to.label_share(served.name, label, "now").set(now)
