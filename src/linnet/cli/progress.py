"""News of training: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from linnet.classifier import Event
from linnet.cli.options import say
from linnet.solvers.curves import Curves

__all__ = ["Progress"]


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
            if self.last.values["loss"] == self.last.values["violation"] == 0.0:  # a pass without a mistake
                self._line(f"  separated the training rows after {self.last.done} passes")
            else:
                self._line(f"  {self.last.done} passes, {_news(self.last)}")
            if self.watch:
                for line in str(Curves.of({"kind": "pass", **e.values} for e in self.passes)).splitlines():
                    self._line(f"  {line}")
            self.last, self.passes = None, []

    def _read(self, event: Event) -> None:
        """Bytes of a pass over the data: a bar with the rate and the time left; a line at the end."""
        rate = f"{event.values['mb_per_s']:,.0f} MB/s"
        if event.values["ended"]:
            self._line(f"  {event.text}: {event.done / 1e6:,.1f} MB in {event.values['seconds']:.1f} s, {rate}")
        if self.bars is not None and self.task is not None:
            self.bars.update(self.task, total=event.total, completed=event.done, note=rate)

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
        elif event.kind == "trial":
            if self.bars is not None:
                self.bars.update(self.task, note=event.text)
        elif event.kind == "candidate":
            self._line(f"  {event.text:<24} dev accuracy {event.values['dev_accuracy']:.4f}")
            if self.bars is not None:
                self.bars.update(self.task, total=max(event.total, event.done), completed=event.done)
        elif event.kind == "chosen":
            self._line(
                f"  chosen: {event.text} (dev accuracy {event.values['dev_accuracy']:.4f} on {event.values['dev_rows']:,} rows)"
            )
        elif event.kind == "read":
            self._read(event)
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
