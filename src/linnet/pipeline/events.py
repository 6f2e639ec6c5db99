"""What training reports while it runs: events for progress bars and pages, and the history that a model keeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from linnet.solvers.callbacks import Epoch, History

if TYPE_CHECKING:
    from linnet.pipeline.search import SearchResult, Trial

INTERVAL = 0.2  # seconds between two reports of a meter


@dataclass(frozen=True)
class Event:
    """A step of training. Raise KeyboardInterrupt in ``on_event`` to stop training as Ctrl-C does.

    kind is "stage", "read", "trial" (an epoch while settings are tried), "candidate", "chosen" or "pass" (an epoch of
    the last fit).
    """

    kind: str
    text: str
    done: int = 0
    total: int = 0
    values: dict[str, Any] = field(default_factory=dict)


OnEvent = Callable[[Event], None]


class Log:
    """Turns the steps of training into events and a history."""

    def __init__(self, on_event: OnEvent | None = None) -> None:
        self.on_event = on_event
        self.history = History()
        self.found: SearchResult | None = None
        self.weight = 1.0
        """What the loss of the last fit is a sum over: C times the weights of its rows."""

    def _send(self, kind: str, text: str, done: int = 0, total: int = 0, **values: Any) -> None:
        if self.on_event is not None:
            self.on_event(Event(kind, text, done, total, values))

    def stage(self, text: str) -> None:
        """A stage begins."""
        self._send("stage", text)

    def trial(self, epoch: Epoch, _: Callable[[], Any]) -> None:
        """An epoch was made while settings are tried."""
        self._send("trial", f"pass {epoch.number}", epoch.number, 0, loss=epoch.loss)

    def candidate(self, trial: Trial, done: int, total: int) -> None:
        """Settings were judged."""
        self.history.append({"kind": "candidate", **trial.settings, "dev_accuracy": trial.accuracy})
        self._send(
            "candidate",
            _text(trial.settings),
            done,
            total,
            dev_accuracy=trial.accuracy,
            metric=trial.metric,
            **trial.settings,
        )

    def chosen(self, found: SearchResult) -> None:
        """Settings were chosen."""
        best = found.best
        self._send(
            "chosen", _text(best.settings), dev_accuracy=best.accuracy, metric=best.metric, dev_rows=len(best.rows)
        )

    def epoch(self, epoch: Epoch, _: Callable[[], Any]) -> None:
        """An epoch of the last fit was made."""
        values = {"loss": epoch.loss, "mean_loss": epoch.loss / self.weight, "violation": epoch.violation}
        if epoch.score is not None:
            values["dev_accuracy"] = epoch.score
        self.history.append({"kind": "pass", "pass": epoch.number, **values})
        self._send("pass", f"pass {epoch.number}", epoch.number, 0, **values)


def _text(settings: dict[str, Any]) -> str:
    return " ".join(
        f"{k}={v:g}" if isinstance(v, float | int) else f"{k}={v!s:.60}" for k, v in sorted(settings.items())
    )


class Meter:
    """Reports how many bytes of a pass over the data are done, a few times a second.

    >>> events = []
    >>> meter = Meter(events.append, "counting", total=10)
    >>> meter(4); meter(6); meter.end()
    >>> events[-1].kind, events[-1].done, events[-1].total
    ('read', 10, 10)
    """

    def __init__(self, on_event: OnEvent | None, text: str, total: int) -> None:
        self.on_event, self.text, self.total = on_event, text, total
        self.done = 0
        self.began = self.last = time.perf_counter()

    def __call__(self, size: int) -> None:
        """Count some more bytes."""
        self.done += size
        now = time.perf_counter()
        if now - self.last >= INTERVAL:
            self.last = now
            self._send(False, now)

    def end(self) -> None:
        """Report that all is done."""
        self._send(True, time.perf_counter())

    def _send(self, ended: bool, now: float) -> None:
        if self.on_event is None:
            return
        seconds = max(now - self.began, 1e-9)
        values: dict[str, Any] = {"seconds": seconds, "mb_per_s": self.done / 1e6 / seconds, "ended": ended}
        self.on_event(Event("read", self.text, self.done, max(self.total, self.done), values))
