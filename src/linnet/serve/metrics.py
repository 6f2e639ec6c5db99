"""Counters for Prometheus that all workers share and that outlive a worker.

Every worker has a row of numbers in one shared piece of memory and writes there only; whoever is asked adds the rows up. A
worker that takes the place of a dead one goes on in its row, so a counter never falls. What can be counted is fixed when
the server starts: endpoints, statuses, models.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Sequence

__all__ = ["Metrics"]

ENDPOINTS = ("predict", "explain", "models", "reload", "metrics", "other")
STATUSES = (200, 307, 400, 401, 404, 405, 408, 409, 413, 415, 422, 500, 503)
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

PLAIN = {  # name: (kind, help)
    "linnet_calls_total": ("counter", "Calls of a model; requests in flight together share one."),
    "linnet_gathered_requests_total": ("counter", "Prediction requests that these calls answered."),
    "linnet_reloads_total": ("counter", "Models that were replaced by a newer file."),
    "linnet_failed_reloads_total": ("counter", "Reloads that failed; the old models stay."),
    "linnet_worker_starts_total": ("counter", "How often a worker process was started."),
    "linnet_in_flight": ("gauge", "Requests that are being answered."),
}


class Metrics:
    """The counters of one worker and, to read, of all.

    >>> metrics = Metrics(["reviews"])
    >>> metrics.request("predict", 200, 0.0007)
    >>> metrics.texts("reviews", 3)
    >>> [line for line in metrics.exposition().splitlines() if line.endswith(" 3") or '"200"' in line]
    ['linnet_requests_total{endpoint="predict",status="200"} 1', 'linnet_texts_total{model="reviews"} 3']
    """

    def __init__(self, models: Sequence[str], descriptor: int = -1, worker: int = 0, workers: int = 1) -> None:
        self._models = tuple(models)
        self._width = self.width(models)
        size = self.size(models, workers)
        self._memory = mmap.mmap(descriptor, size)
        numbers = memoryview(self._memory).cast("d")
        self._rows = [numbers[k * self._width : (k + 1) * self._width] for k in range(workers)]
        self._own = self._rows[worker]
        self._own[list(PLAIN).index("linnet_in_flight")] = 0.0  # a dead predecessor's are gone
        self._plain_at = {name: k for k, name in enumerate(PLAIN)}
        at = len(PLAIN)
        self._model_at = {name: at + k for k, name in enumerate(self._models)}
        at += len(self._models)
        self._status_at = {
            (endpoint, status): at + e * len(STATUSES) + s
            for e, endpoint in enumerate(ENDPOINTS)
            for s, status in enumerate(STATUSES)
        }
        at += len(ENDPOINTS) * len(STATUSES)
        self._seconds_at = {endpoint: at + e * (len(SECONDS) + 2) for e, endpoint in enumerate(ENDPOINTS)}

    @staticmethod
    def width(models: Sequence[str]) -> int:
        """Return how many numbers a worker has."""
        return len(PLAIN) + len(models) + len(ENDPOINTS) * (len(STATUSES) + len(SECONDS) + 2)

    @classmethod
    def size(cls, models: Sequence[str], workers: int) -> int:
        """Return how many bytes all workers need."""
        return 8 * cls.width(models) * workers

    def add(self, name: str, amount: float = 1.0) -> None:
        """Add to one of the plain counters."""
        self._own[self._plain_at[name]] += amount

    def texts(self, model: str, n: int) -> None:
        """Count texts that a model was given."""
        self._own[self._model_at[model]] += n

    def request(self, endpoint: str, status: int, seconds: float) -> None:
        """Count an answered request and the time it took."""
        own = self._own
        own[self._status_at[(endpoint, status if status in STATUSES else 500)]] += 1.0
        at = self._seconds_at[endpoint]
        bucket = 0
        for limit in SECONDS:
            if seconds <= limit:
                break
            bucket += 1
        own[at + bucket] += 1.0
        own[at + len(SECONDS) + 1] += seconds

    def exposition(self) -> str:
        """Return the sums over all workers in Prometheus' text form."""
        total = [sum(values) for values in zip(*self._rows, strict=True)]
        lines: list[str] = []
        for name, (kind, about) in PLAIN.items():
            lines += _head(name, kind, about)
            lines.append(f"{name} {_number(total[self._plain_at[name]])}")
        lines += _head("linnet_workers", "gauge", "Worker processes that the server was started with.")
        lines.append(f"linnet_workers {len(self._rows)}")
        lines += _head("linnet_requests_total", "counter", "Answered requests.")
        for (endpoint, status), at in self._status_at.items():
            if total[at]:
                lines.append(f'linnet_requests_total{{endpoint="{endpoint}",status="{status}"}} {_number(total[at])}')
        lines += _head("linnet_texts_total", "counter", "Texts that were classified or explained.")
        lines += [f'linnet_texts_total{{model="{_escaped(m)}"}} {_number(total[k])}' for m, k in self._model_at.items()]
        lines += _head("linnet_request_seconds", "histogram", "Seconds from the head of a request to its answer.")
        for endpoint, at in self._seconds_at.items():
            lines += _histogram(f'endpoint="{endpoint}"', total[at : at + len(SECONDS) + 2])
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, about: str) -> Iterable[str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _histogram(label: str, values: list[float]) -> list[str]:
    counts, seconds = values[:-1], values[-1]
    if not sum(counts):
        return []
    lines, below = [], 0.0
    for limit, count in zip((*map(str, SECONDS), "+Inf"), counts, strict=True):
        below += count
        lines.append(f'linnet_request_seconds_bucket{{{label},le="{limit}"}} {_number(below)}')
    lines.append(f"linnet_request_seconds_sum{{{label}}} {seconds!r}")
    lines.append(f"linnet_request_seconds_count{{{label}}} {_number(below)}")
    return lines


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
