"""Counters for Prometheus, and the log. With several workers prometheus-client keeps the counters in files that all share.

The process manager sets PROMETHEUS_MULTIPROC_DIR before the workers start: each worker writes its own file there, and
whoever is asked adds the files up. The file of a worker that died stays, so a counter never falls.
"""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from functools import cache
from typing import Any

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

# ---- Log lines: one JSON object a line on standard error. Texts are never among the fields unless that is asked for.


class JsonLog:
    r"""Writes events with fields.

    >>> JsonLog(-1).line("request", {"status": 200, "ms": 0.4})[35:]
    b'"event":"request","status":200,"ms":0.4}\n'
    """

    def __init__(self, descriptor: int = 2) -> None:
        self.descriptor = descriptor

    def event(self, event: str, **fields: Any) -> None:
        """Log one event; the server goes on if nobody reads it."""
        data = self.line(event, fields)
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self.descriptor, data) :]

    def line(self, event: str, fields: dict[str, Any]) -> bytes:
        """Return the line of an event."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return orjson.dumps({"time": now, "event": event, **fields}, default=str) + b"\n"


FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """The counters of one worker and, in the exposition, of all.

    >>> metrics = Metrics()
    >>> metrics.texts("reviews").inc(3)
    >>> [line for line in metrics.exposition().decode().splitlines() if line.startswith("linnet_texts")]
    ['linnet_texts_total{model="reviews"} 3.0']
    """

    def __init__(self, workers: int = 1) -> None:
        self._registry = to = CollectorRegistry()
        requests = Counter("linnet_requests", "Answered requests.", ["endpoint", "status"], registry=to)
        about = "Seconds from the head of a request to its answer."
        seconds = Histogram("linnet_request_seconds", about, ["endpoint"], buckets=SECONDS, registry=to)
        texts = Counter("linnet_texts", "Texts that were classified or explained.", ["model"], registry=to)
        self.requests, self.seconds, self.texts = cache(requests.labels), cache(seconds.labels), cache(texts.labels)
        self.calls = Counter("linnet_calls", "Calls of a model; requests in flight together share one.", registry=to)
        self.gathered = Counter("linnet_gathered_requests", "Requests that these calls answered.", registry=to)
        self.reloads = Counter("linnet_reloads", "Models that were replaced by a newer file.", registry=to)
        self.failed_reloads = Counter("linnet_failed_reloads", "Reloads that failed; the old models stay.", registry=to)
        self.starts = Counter("linnet_worker_starts", "How often a worker process was started.", registry=to)
        looks = Counter("linnet_drift_looks", "Comparisons of the input with training.", ["model"], registry=to)
        about = "Looks that found a change; of unchanged input at most 5 in 100 do."
        alarms = Counter("linnet_drift_alarms", about, ["model"], registry=to)
        self.looks, self.alarms = cache(looks.labels), cache(alarms.labels)

        def gauge(name: str, about: str, *labels: str) -> Any:
            made = Gauge(name, about, ["model", *labels], multiprocess_mode="mostrecent", registry=to)
            return cache(made.labels)

        self.alarm = gauge("linnet_drift_alarm", "1 where the last look found a change.")
        self.signals = {
            "unknown": gauge("linnet_unknown_share", "Mean share of features that the model does not know.", "of"),
            "confidence": gauge("linnet_confidence", "Mean probability of the predicted label.", "of"),
        }
        self.label_share = gauge("linnet_label_share", "Share of the texts with this label.", "label", "of")
        about = "Requests that are being answered."
        self.in_flight = Gauge("linnet_in_flight", about, multiprocess_mode="livesum", registry=to)
        size = Gauge("linnet_workers", "Worker processes of the server.", multiprocess_mode="max", registry=to)
        size.set(workers)

    def exposition(self) -> bytes:
        """Return the sums over all workers in Prometheus' text format."""
        registry = self._registry
        if FOLDER_VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
