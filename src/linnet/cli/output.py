"""What commands print: results to standard output, messages and progress to standard error, JSON where it is asked for."""

from __future__ import annotations

import csv
import json
import os
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from linnet.errors import shown
from linnet.files import open_atomic, write_atomic
from linnet.values import size_text

if TYPE_CHECKING:
    from linnet.pipeline.events import Event, Profile

LONGEST_LINE = 2000  # characters of a message


def say(text: str = "") -> None:
    """Write a message to standard error; control characters in the names of files and labels are escaped."""
    click.echo("\n".join(shown(line, LONGEST_LINE) for line in text.split("\n")), err=True)


class Notes:
    """What is odd about an input, said once each on standard error, --quiet or not: the result hangs on it."""

    MOST = 5

    def __init__(self, source: str) -> None:
        self.source, self.said = shown(source, 200), set[str]()

    def __call__(self, *notes: str) -> None:
        """Say notes."""
        for note in notes:
            if note not in self.said and len(self.said) < self.MOST:
                self.said.add(note)
                say(f"{self.source}: {note}")


def echo(line: str) -> None:
    """Print a line; what UTF-8 cannot hold, such as half a character of an odd file name, as an escape."""
    click.echo(line.encode("utf-8", "backslashreplace").decode())


def echo_json(content: Any, *, indent: int | None = 2) -> None:
    """Print JSON; without indent, on one line."""
    echo(json.dumps(content, indent=indent, ensure_ascii=False))


def write_json(content: Any, where: str | None) -> bool:
    """Write the result where ``--json F`` says; return whether that is standard output, and nothing else belongs there."""
    if where == "-":
        echo_json(content)
    elif where is not None:
        write_atomic(where, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return where == "-"


def width(default: int = 100) -> int:
    """Return how many characters a line of the terminal holds; default where there is none."""
    import shutil

    return shutil.get_terminal_size((default, 24)).columns


def colours() -> bool:
    """Whether to print in colour: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def table_lines(rows: list[list[str]]) -> list[str]:
    """Return a table, its head first, as aligned lines; the first column is aligned to the left."""
    from linnet.draw.terminal import aligned

    return aligned(rows, width(120))


def write_csv(rows: Iterable[Mapping[str, Any]], fields: Sequence[str], out: str) -> None:
    """Write rows as CSV to a file, whole or not at all, or to standard output (-)."""
    with click.open_file(out, "w", encoding="utf-8") if out == "-" else open_atomic(out, "w") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_page(result: Any, title: str, path: str | None) -> None:
    """Write a result as a page where ``--report F.html`` says."""
    if path is not None:
        from linnet.draw.markup import page, safe

        write_atomic(path, page(title, f"<main><h1>{safe(title)}</h1>{result._repr_html_()}</main>"))
        say_written(path)


def say_written(path: str | Path) -> None:
    """Say that a file was written, and how large it is."""
    say(f"wrote {path} ({size_text(Path(path).stat().st_size)})")


def write_unusable(unusable: Any, path: str | None) -> None:
    """Write the rows that could not be used where ``--unusable F`` says, and say how many."""
    if path:
        unusable.write(path)
        say(f"wrote {len(unusable.rows):,} unusable rows to {path}")


def say_sealed(seal: Any, path: str = "") -> None:
    """Say how often a blind test set was used, where there is one."""
    if seal:
        where = f"{path}: " if path else ""
        click.echo(f"{where}blind test set, sealed {seal.sealed[:10]}: {seal.words}", err=bool(path))


def command_line() -> str:
    """Return the command that was typed, to be pasted into a shell."""
    return shlex.join(["linnet", *sys.argv[1:]])


# ---- Progress of long commands: bars with the time left on a terminal, plain lines elsewhere, nothing with --quiet.


class ProgressBars:
    """One bar for the stage that runs; use as a context manager.

    Commands subclass it with a ``__call__`` that turns their events into ``line``, ``stage`` and ``update``.
    """

    title = ""  # of the bar, where there is but one stage
    every = 0.0  # seconds at least between two lines of ``update`` where there is no terminal

    def __init__(self, quiet: bool = False) -> None:
        self.quiet, self.live = quiet, not quiet and sys.stderr.isatty()
        self.began = self.stage_began = self.said = time.perf_counter()
        self.bars: Any = None
        self.task: Any = None

    def __enter__(self) -> Self:
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            self.bars = Progress(
                TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.bars.start()
        return self

    def __exit__(self, *error: Any) -> None:
        if self.bars is not None:
            self.bars.stop()
            self.bars = None

    def line(self, text: str) -> None:
        """Print a line, above the bars."""
        if self.bars is not None:
            self.bars.console.print(text, highlight=False, markup=False)
        elif not self.quiet:
            say(text)

    def stage(self, name: str, total: float | None = None) -> None:
        """Begin the bar of another stage."""
        self.stage_began = self.said = time.perf_counter()
        if self.bars is not None:
            if self.task is not None:
                self.bars.remove_task(self.task)
            self.task = self.bars.add_task(name, total=total, note="")

    def update(self, done: float | None, total: float | None = None, note: str = "", *, line: str = "") -> None:
        """Move the bar to ``done`` (None: leave it); without a terminal print ``line``."""
        now = time.perf_counter()
        if self.bars is not None:
            if self.task is None:
                self.stage(self.title)
            room = max(40, self.bars.console.width - 60)
            self.bars.update(self.task, completed=done, total=total, note=note[:room])
        elif line and now - self.said >= self.every:
            self.said = now
            self.line(line)


class TrainingProgress(ProgressBars):
    """The events of ``fit(on_event=...)``: a line a stage, one a candidate, one for the passes.

    With watch, a line a pass too, and small curves at the end.
    """

    def __init__(self, quiet: bool = False, watch: bool = False, profile: Profile | None = None) -> None:
        super().__init__(quiet)
        self.watch, self.profile = watch, profile
        self.passes: list[Event] = []

    def __exit__(self, *error: Any) -> None:
        self._end_of_passes()
        super().__exit__(*error)

    def __call__(self, event: Event) -> None:
        """Show an event."""
        v = event.values
        if self.profile is not None:
            self.profile(event)
        if event.kind == "stage":
            self._end_of_passes()
            self.line(event.text)
            self.stage(event.text)
        elif event.kind == "trial":
            self.update(None, note=event.text)
        elif event.kind == "candidate":
            self.line(f"  {event.text:<24} dev {v['metric']} {v['dev_accuracy']:.4f}")
            self.update(event.done, max(event.total, event.done))
        elif event.kind == "chosen":
            self.line(f"  chosen: {event.text} (dev {v['metric']} {v['dev_accuracy']:.4f} on {v['dev_rows']:,} rows)")
        elif event.kind == "read":
            rate = f"{v['mb_per_s']:,.0f} MB/s"
            if v["ended"]:
                self.line(f"  {event.text}: {event.done / 1e6:,.1f} MB in {v['seconds']:.1f} s, {rate}")
            self.update(event.done, event.total, rate)
        elif event.kind == "pass":
            self.passes = [*self.passes, event] if self.watch else [event]
            if self.watch:
                shown = f"   dev accuracy {v['dev_accuracy']:.4f}" if v.get("dev_accuracy") is not None else ""
                self.line(f"  pass {event.done:>4}   mean loss {v['mean_loss']:<10.4g}{shown}")
            self.update(event.done, note=f"pass {event.done} {_loss(event)}")

    def _end_of_passes(self) -> None:
        if not self.passes:
            return
        last = self.passes[-1]
        if last.values["loss"] == last.values["violation"] == 0.0:  # a pass without a mistake
            self.line(f"  separated the training rows after {last.done} passes")
        else:
            self.line(f"  {last.done} passes, {_loss(last)}")
        if self.watch:
            from linnet.solvers.callbacks import Curves

            for line in str(Curves.of({"kind": "pass", **e.values} for e in self.passes)).splitlines():
                self.line(f"  {line}")
        self.passes = []


def _loss(event: Event) -> str:
    accuracy = event.values.get("dev_accuracy")
    return f"mean loss {event.values['mean_loss']:.4g}" + ("" if accuracy is None else f", dev accuracy {accuracy:.4f}")
