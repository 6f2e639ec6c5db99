"""``linnet check``: what is wrong with a file of labelled texts, on one page."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import click

from linnet.cli.options import columns, say, threads
from linnet.errors import LinnetError

__all__ = ["check"]


@click.command(short_help="Find duplicates, leaks, wrong labels and loopholes in a file.")
@click.argument("data")
@click.argument("others", nargs=-1)
@columns
@click.option("--only", metavar="A,B", help="Run these checks only (--list names them).")
@click.option("--skip", metavar="A,B", help="Leave these checks out.")
@click.option("--suspects", metavar="F.csv", help="Write every suspected label error, the surest first.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Same seed, same folds, same verdict."
)
@threads
@click.option("--json", "json_", metavar="F", help="Write all findings as JSON (- for standard output).")
@click.option("--quiet", "-q", is_flag=True, help="No progress: only the verdict.")
@click.option("--list", "list_", is_flag=True, expose_value=False, is_eager=True, help="List the checks and leave.",
              callback=lambda context, _, value: _list(context) if value else None)  # fmt: skip
def check(data: str, others: tuple[str, ...], **options: Any) -> None:
    r"""Check DATA before you train on it, and OTHER sets (dev, test) that go with it.

    \b
    linnet check reviews.csv
    linnet check train.csv dev.csv test.csv --json found.json
    linnet check reviews.csv --only label-errors --suspects suspects.csv
    """
    from linnet.checks import check as run
    from linnet.checks.registry import chosen

    only, skip = (_names(options[name]) for name in ("only", "skip"))
    chosen(only, skip or ())  # refuse before reading a large file
    for name in ("suspects", "json_"):
        _check_file(options[name])
    sets = [_read(path, options) for path in (data, *others)]

    def news(name: str, done: int, total: int) -> None:
        if not options["quiet"]:
            say(f"check {done + 1} of {total}: {name}")

    found = run(*sets, only=only, skip=skip or (), seed=options["seed"], threads=options["threads"], on_check=news)
    _looked(data, others)
    if options["suspects"]:
        _write_suspects(found, options["suspects"])
    _report(found, options["json_"])


def _names(given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


def _list(context: click.Context) -> None:
    from linnet.checks.registry import CHECKS

    for name, one in CHECKS.items():
        click.echo(f"{name:<16} {one.what}")
    context.exit()


def _check_file(name: str | None) -> None:
    if name is not None and name != "-":
        path = Path(name)
        if path.is_dir():
            raise LinnetError(f"{path}: is a folder; give a file name")
        if not path.parent.is_dir():
            raise LinnetError(f"{path}: the folder {path.parent} does not exist; make it first")


def _read(path: str, options: dict[str, Any]) -> Any:
    from linnet.data import read
    from linnet.data.seal import seal_of

    seal_of(path)
    rows = read(path, text=options["text"], label=options["label"], format=options["format_"])
    if not options["quiet"]:
        say(rows.describe())
    return rows


def _looked(data: str, others: tuple[str, ...]) -> None:
    """Record the look at a blind test set: its texts are shown and its words are compared."""
    from linnet.data.seal import look

    for path in (data, *others):
        sealed = look(path, "check", "none")
        if sealed:
            say(f"{path}: blind test set, sealed {sealed.sealed[:10]}: {sealed.words}")


def _write_suspects(found: Any, out: str) -> None:
    from linnet.files import open_atomic

    if "label-errors" not in [one.check for one in found]:
        raise LinnetError("--suspects needs labels and the check label-errors")
    one, m = found["label-errors"], found.material
    words = {example["row"]: " ".join(example["words"]) for example in one.examples}
    with open_atomic(out, "w") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["row", "label", "suggested", "confidence", "words", "text"])
        for row in one.arrays.get("suspects", []):
            where = int(m.source_rows[row])
            suggested = m.labels[one.arrays["suggested"][row]]
            sure = f"{one.arrays['confidence'][row]:.4f}"
            rows.writerow([where, m.label(row), suggested, sure, words.get(where, ""), m.text(int(row))])
    say(f"wrote {one.count:,} suspects to {out}")


def _report(found: Any, json_: str | None) -> None:
    if json_ is not None:
        content = json.dumps(found.to_dict(), indent=2, ensure_ascii=False)
        if json_ == "-":
            click.echo(content)
            return
        Path(json_).write_text(content + "\n", encoding="utf-8")
    if sys.stdout.isatty():
        _show(found)
    else:
        click.echo(found.to_text())


def _show(found: Any) -> None:
    """Print for a terminal: marks in colour, advice in italics."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from linnet.checks.checkup import MARKS, example_lines

    styles = {"ok": "dim", "note": "blue", "warning": "yellow", "problem": "bold red"}
    console = Console(highlight=False)
    console.print(Text(found.head()))
    console.print(Text(f"verdict: {found.words}", style=styles[found.level] if found.level != "ok" else "bold"))
    console.print()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in found.ranked():
        body = Text(one.says)
        if one.level in ("warning", "problem"):
            for line in example_lines(one)[:5]:
                body.append(f"\n- {line[: 2 * console.width]}", style="dim")
        if one.advice and one.level != "ok":
            body.append(f"\n-> {one.advice}", style="italic")
        table.add_row(Text(MARKS[one.level], style=styles[one.level]), Text(one.check), body)
    console.print(table)
