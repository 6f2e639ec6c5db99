"""Counters for Prometheus. With several workers prometheus-client keeps them in files that all workers share.

The process manager sets PROMETHEUS_MULTIPROC_DIR before the workers start: each worker writes its own file there, and
whoever is asked adds the files up. The file of a worker that died stays, so a counter never falls.
"""

from __future__ import annotations

import os
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

__all__ = ["FOLDER_VARIABLE", "Metrics"]

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
