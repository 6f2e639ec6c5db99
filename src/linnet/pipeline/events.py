"""What training reports while it runs: events for progress bars and pages, and the history that a model keeps."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.solvers.callbacks import Epoch, History

if TYPE_CHECKING:
    from concurrent.futures import Future

    from linnet.pipeline.search import HeldOut, SearchResult, Trial

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
OnFound = Callable[["SearchResult", "Future[HeldOut]"], None]


class Log:
    """Turns the steps of training into events and a history."""

    def __init__(self, on_event: OnEvent | None = None, on_found: OnFound | None = None) -> None:
        self.on_event, self.on_found = on_event, on_found
        self.history = History()
        self.found: SearchResult | None = None
        self.interrupted = False
        """Whether Ctrl-C ended the search or the last fit."""
        self.weight = 1.0
        """What the loss of the last fit is a sum over: C times the weights of its rows."""

    def _send(self, kind: str, text: str, done: int = 0, total: int = 0, **values: Any) -> None:
        if self.on_event is not None:
            self.on_event(Event(kind, text, done, total, values))

    def stage(self, name: str, text: str) -> None:
        """A stage begins: read, count, search, fit, calibrate or test."""
        self._send("stage", text, stage=name)

    def trial(self, epoch: Epoch, _: Callable[[], Any]) -> None:
        """An epoch was made while settings are tried."""
        self._send("trial", f"pass {epoch.number}", epoch.number, 0, loss=epoch.loss)

    def candidate(self, trial: Trial, done: int, total: int) -> None:
        """Settings were judged."""
        self.history.append({"kind": "candidate", **trial.settings, "dev_accuracy": trial.accuracy})
        values = {"dev_accuracy": trial.accuracy, "metric": trial.metric, **trial.settings}
        self._send("candidate", _text(trial.settings), done, total, **values)

    def chosen(self, found: SearchResult) -> None:
        """Settings were chosen."""
        best = found.best
        values: dict[str, Any] = {"dev_accuracy": best.accuracy, "metric": best.metric, "dev_rows": len(best.rows)}
        self._send("chosen", _text(best.settings), **values)

    def settled(self, found: SearchResult, held_out: Future[HeldOut]) -> None:
        """Settings are settled; what is left is the last fit, and what is learned on held-out rows meanwhile."""
        self.found = found
        if self.on_found is not None:
            self.on_found(found, held_out)

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


class Profile:
    """Where time and memory go: wall time, processor time (of all threads of this process) and peak memory of each stage.

    It is an ``on_event`` that notes when stages begin; ``begin`` starts one by hand. A stage that comes again adds up.

    >>> profile = Profile()
    >>> profile(Event("stage", "counting", values={"stage": "count"}))
    >>> [one["stage"] for one in profile.end()]
    ['read', 'count']
    """

    def __init__(self) -> None:
        self.stages: dict[str, dict[str, Any]] = {}
        self.begin("read")

    def __call__(self, event: Event) -> None:
        """Note a stage."""
        if "stage" in event.values:
            self.begin(event.values["stage"])

    def begin(self, name: str) -> None:
        """End the stage before, and begin another."""
        if self.stages:
            self.end()
        self.name, self.began = name, (time.perf_counter(), time.process_time())
        self.stages.setdefault(name, {"stage": name, "wall_s": 0.0, "processor_s": 0.0, "peak_mb": 0.0})
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak from here on, on Linux

    def end(self) -> list[dict[str, Any]]:
        """Add up what the stage took; returns all stages so far."""
        one, (wall, processor) = self.stages[self.name], self.began
        one["wall_s"] += time.perf_counter() - wall
        one["processor_s"] += time.process_time() - processor
        one["peak_mb"] = max(one["peak_mb"], resident(peak=True) / 1e6)
        self.began = time.perf_counter(), time.process_time()
        return list(self.stages.values())

    def table(self) -> str:
        """Return a line a stage, and their sum."""
        rows = [(one["stage"], one["wall_s"], one["processor_s"], one["peak_mb"]) for one in self.stages.values()]
        rows.append(("all", sum(r[1] for r in rows), sum(r[2] for r in rows), max(r[3] for r in rows)))
        lines = [f"  {name:<10}{wall:>9.2f} s{cpu:>12.2f} s{peak:>10,.0f} MB" for name, wall, cpu, peak in rows]
        return "\n".join([f"  {'stage':<10}{'wall':>11}{'processor':>14}{'peak':>13}", *lines])


def bytes_of(path: str, name: str) -> int:
    """Return what a file of Linux says of memory in kB, in bytes."""
    lines = Path(path).read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def resident(peak: bool = False) -> int:
    """Return the bytes of memory that this process holds, or has held at most: on Linux since the mark was reset.

    Elsewhere both are the peak, and 0 where the system does not tell.
    """
    with contextlib.suppress(OSError, StopIteration):
        return bytes_of("/proc/self/status", "VmHWM" if peak else "VmRSS")
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


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
