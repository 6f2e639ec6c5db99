"""News of training: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from linnet.classifier import Event
from linnet.cli.options import say

__all__ = ["Progress", "sparkline"]

BARS = "▁▂▃▄▅▆▇█"


class Progress:
    """Shows events; use as a context manager around ``fit(on_event=progress)``.

    On a terminal: one bar for the search (time left) and one for the passes (loss). Otherwise one line a stage, one a
    candidate, one for the passes. With watch, a line a pass too, and small curves at the end.
    """

    def __init__(self, quiet: bool = False, watch: bool = False) -> None:
        self.quiet = quiet
        self.watch = watch
        self.passes: list[Event] = []
        self.live = not quiet and sys.stderr.isatty()
        self.bars: Any = None
        self.task: Any = None
        self.last: Event | None = None
        self.began = time.perf_counter()

    def __enter__(self) -> Progress:
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            self.bars = Progress(
                TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_passes()
        if self.bars is not None:
            self.bars.stop()
            self.bars = None

    def _line(self, text: str) -> None:
        if self.bars is not None:
            self.bars.console.print(text, highlight=False, markup=False)
        elif not self.quiet:
            say(text)

    def _close_passes(self) -> None:
        if self.last is not None:
            self._line(f"  {self.last.done} passes, {_news(self.last)}")
            if self.watch:
                self._curves()
            self.last, self.passes = None, []

    def _curves(self) -> None:
        for name, title in (("loss", "loss"), ("dev_accuracy", "dev accuracy")):
            values = [e.values[name] for e in self.passes if name in e.values]
            if values:
                ends = f"{values[0]:.4g} to {values[-1]:.4g}, {_best(name, values)}"
                self._line(f"  {title:<13} {sparkline(values)} {ends}")

    def __call__(self, event: Event) -> None:
        if self.quiet:
            return
        if event.kind == "stage":
            self._close_passes()
            self._line(event.text)
            if self.bars is not None:
                if self.task is not None:
                    self.bars.remove_task(self.task)
                self.task = self.bars.add_task(event.text, total=None, note="")
        elif event.kind == "candidate":
            self._line(f"  {event.text:<24} dev accuracy {event.values['dev_accuracy']:.4f}")
            if self.bars is not None:
                self.bars.update(self.task, total=max(event.total, event.done), completed=event.done)
        elif event.kind == "chosen":
            self._line(
                f"  chosen: {event.text} (dev accuracy {event.values['dev_accuracy']:.4f} on {event.values['dev_rows']:,} rows)"
            )
        elif event.kind == "pass":
            self.last = event
            if self.watch:
                self.passes.append(event)
                accuracy = event.values.get("dev_accuracy")
                shown = "" if accuracy is None else f"   dev accuracy {accuracy:.4f}"
                self._line(f"  pass {event.done:>4}   loss {event.values['loss']:<10.4g}{shown}")
            if self.bars is not None:
                self.bars.update(self.task, completed=event.done, note=f"pass {event.done} {_news(event)}")


def _news(event: Event) -> str:
    accuracy = event.values.get("dev_accuracy")
    return f"loss {event.values['loss']:.4g}" + ("" if accuracy is None else f", dev accuracy {accuracy:.4f}")


def _best(name: str, values: list[float]) -> str:
    best = min(values) if name == "loss" else max(values)
    return f"best {best:.4g} at pass {values.index(best) + 1}"


def sparkline(values: list[float], width: int = 40) -> str:
    """Draw a curve in one line of text; where there are more values than places, some are left out.

    >>> sparkline([4.0, 2.0, 1.0, 1.0, 8.0])
    '▄▂▁▁█'
    """
    step = max(1.0, len(values) / width)
    shown = [values[int(k * step)] for k in range(min(len(values), width))]
    shown[-1] = values[-1]
    low, high = min(shown), max(shown)
    return "".join(BARS[round((v - low) / (high - low) * (len(BARS) - 1))] if high > low else BARS[0] for v in shown)
