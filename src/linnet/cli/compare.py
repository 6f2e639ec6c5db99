"""``linnet compare``: which model is best on a file, whether by more than luck, and what each costs."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from linnet.cli.options import columns, groups, held_by, read_labelled, say, threads
from linnet.cli.progress import Progress
from linnet.errors import LinnetError

__all__ = ["compare"]


@click.command(short_help="Compare models on the same folds, with tests and plain words.")
@click.argument("data", required=False)
@click.option(
    "--models",
    metavar="A,B,C",
    help="For example svm,nb:alpha=1,svm:features=words:1,C=0.1/1; every model if not given.",
)
@click.option(
    "--folds", type=click.IntRange(2), metavar="K", help="Parts to hold out in turn: 5, or 10 below 500 rows."
)
@click.option(
    "--repeats", default=1, show_default=True, type=click.IntRange(1), metavar="R", help="Draw the folds R times."
)
@click.option("--features", metavar="BLOCKS", help="For all models without their own, for example words:1-2+chars:2-5.")
@click.option(
    "--curve", "curve", flag_value="best", help="Learning curve of the best model: what would more labels bring?"
)
@click.option("--curve-all", "curve", flag_value="all", help="The same for every model.")
@groups
@columns
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Same seed, same folds, same result."
)
@threads
@click.option("--out", metavar="F.csv", help="Write the table as CSV (- for standard output).")
@click.option("--json", "json_", metavar="F", help="Write everything as JSON (- for standard output).")
@click.option("--quiet", "-q", is_flag=True, help="No progress: only what was read and the result.")
def compare(data: str | None, **options: Any) -> None:
    r"""Compare models on DATA, or on the built-in book reviews.

    Every model is fitted on the same folds, chooses its settings inside each training part, and answers the held-out
    rows. A model is a name, with settings behind a colon; values parted by / are tried:

    \b
    linnet compare reviews.csv --models svm,nb
    linnet compare reviews.csv --models svm:features=words:1,C=1,svm:features=words:1-2,C=0.1/1/10
    linnet compare reviews.csv --curve --json result.json

    Ctrl-C keeps the folds that are finished.
    """
    from linnet.comparison import running, specs

    _check_files(options["out"], options["json_"])
    found = specs.as_specs(options["models"], features=options["features"])  # refuse before reading a large file
    rows = _rows(data, options, specs.needed_by(found))
    with Fits(options["quiet"]) as progress:
        result = running.compare(
            rows, models=options["models"], folds=options["folds"], repeats=options["repeats"],
            features=options["features"], curve=options["curve"] or False,
            groups=options["groups"], seed=options["seed"], threads=options["threads"], on_event=progress,
        )  # fmt: skip
    _report(result, options["out"], options["json_"])


def _rows(data: str | None, options: dict[str, Any], needs: tuple[str, ...]) -> Any:
    if data is not None:
        return read_labelled(
            data, options["text"], options["label"], options["format_"], also=[*needs, *held_by(options)]
        )
    from linnet.datasets import whole

    rows = whole("reviews")
    say(rows.describe())
    return rows


def _check_files(out: str | None, json_: str | None) -> None:
    """Refuse before the work what would be refused after it."""
    if out == json_ == "-":
        raise LinnetError("--out - and --json - cannot both have standard output; give one of them a file name")
    for option, name in (("--out", out), ("--json", json_)):
        if name is not None and name != "-":
            path = Path(name)
            if path.is_dir():
                raise LinnetError(f"{path}: is a folder; give a file name with {option}")
            if not path.parent.is_dir():
                raise LinnetError(f"{path}: the folder {path.parent} does not exist; make it first")


class Fits(Progress):
    """Shows a comparison: a bar with the time left on a terminal, one line a fold and model elsewhere."""

    def __call__(self, event: Any) -> None:
        if self.quiet:
            return
        v = event.values
        where = (
            f"fold {v['fold']} of {v['folds']}"
            if event.kind == "fold"
            else f"curve, {v['rows']:,} rows, fold {v['fold']}"
        )
        left = "" if v["left"] is None else f", about {_duration(v['left'])} left"
        if self.bars is None:
            say(f"{where}: {event.text} accuracy {v['accuracy']:.4f}, {v['seconds']:.2g} s{left}")
            return
        if self.task is None:
            self.task = self.bars.add_task("comparing", total=event.total, note="")
        note = f"{where}: {event.text} {v['accuracy']:.4f}{left}"
        self.bars.update(self.task, total=event.total, completed=event.done, note=note)

    def __enter__(self) -> Fits:
        """Start a bar without the column of time left: the fits differ too much for it, so the note tells."""
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bars

            self.bars = Bars(
                TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(), console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.bars.start()
        return self


def _duration(seconds: float) -> str:
    """Write a time left.

    >>> _duration(3.2), _duration(75), _duration(7300)
    ('3 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _report(found: Any, out: str | None, json_: str | None) -> None:
    if out is not None:
        _write_table(found.table, out)
    if json_ is not None:
        content = json.dumps(found.to_dict(), indent=2, ensure_ascii=False)
        if json_ == "-":
            click.echo(content)
        else:
            Path(json_).write_text(content + "\n", encoding="utf-8")
    if "-" in (out, json_):
        return
    if sys.stdout.isatty():
        _show(found)
    else:
        click.echo(found.to_text(shutil.get_terminal_size((120, 24)).columns))


def _write_table(table: list[dict[str, Any]], out: str) -> None:
    if out == "-":
        _rows_to(sys.stdout, table)
    else:
        with Path(out).open("w", encoding="utf-8", newline="") as f:
            _rows_to(f, table)


def _rows_to(file: Any, table: list[dict[str, Any]]) -> None:
    writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)


def _show(found: Any) -> None:
    """Print for a terminal: tables with rules, the recommended model in bold."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from linnet.comparison.comparison import curve_cells

    console = Console(highlight=False)
    for cells in (found.cells(console.width), *map(curve_cells, found.curves)):
        table = Table(box=None, pad_edge=False)
        for k, name in enumerate(cells[0]):
            table.add_column(name, justify="right" if k else "left", no_wrap=k > 0, overflow="fold")
        for row in cells[1:]:
            table.add_row(*map(Text, row), style="bold" if row[0] == found.recommended else None)
        console.print(table)
        console.print()
    for name, reason in found.skipped.items():
        console.print(Text(f"{name} was left out: {reason}", style="yellow"))
    for note in found.notes:
        console.print(Text(f"note: {note}", style="yellow"))
    for line in found.words[:-1]:
        console.print(Text(line))
    console.print(Text(found.words[-1], style="bold"))
