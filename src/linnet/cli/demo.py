"""``linnet demo``: a day with the support tickets of a web shop, told by the commands that a user would type."""

from __future__ import annotations

import shlex
from importlib.resources import files
from pathlib import Path

import click

from linnet.cli import options as o
from linnet.errors import DataError
from linnet.files import write_atomic

DATA = "tickets.csv"
TEXTS = (
    "It says delivered, but nobody rang and the neighbours have nothing either.",
    "Your app took the money for one kettle twice and now the page is blank.",
)


@o.command()
@o.option("-o --out", "F.linnet", "Where to save the model.", default="tickets.linnet", show_default=True)
@o.seed
def demo(out: str, seed: int) -> None:
    """Check 2,335 support tickets of a web shop, train a model on them, and see why it answers what it answers.

    Everything here is a command that you can type. It writes tickets.csv, the model and its report into this folder.
    """
    report = str(Path(out).with_suffix(".html"))
    _write_tickets()
    click.echo(f"{DATA}: 2,335 tickets in eight queues, some without one, and a few faults to be found.")
    _run("1. Is the file fit to train on?",
         "check", DATA, "--label", "queue", "--only", "label-errors,near-duplicates,duplicates")  # fmt: skip
    _run("2. Train. Every setting is chosen on held-out rows, the score is of rows never seen.",
         "train", DATA, "--label", "queue", "--out", out, "--report", report, "--seed", str(seed), "--quiet")  # fmt: skip
    for k, text in enumerate(TEXTS):
        _run("3. Why? The parts add up to the score." if k == 0 else "", "explain", out, text, "--top", "6")
    click.echo(f"\nThe report with all scores, errors and charts: {report}\nWhat to try next:")
    for words, about in {
        f'explain {shlex.quote(out)} "your own sentence"': "",
        f"predict {shlex.quote(out)} {DATA} --out answers.csv": "fills in the tickets without a queue, too",
        "studio": "label, train and look at errors in the browser",
        "compare": "every model family on the same folds",
        "train YOUR.csv": "any CSV, TSV, JSON lines or Parquet with a text and a label column",
    }.items():
        click.echo(f"  linnet {words:<34} {about}".rstrip())


def _write_tickets() -> None:
    """Put the built-in tickets into this folder, but never over another file."""
    content = (files("linnet.datasets") / DATA).read_bytes()
    path = Path(DATA)
    if not path.exists():
        write_atomic(path, content)
    elif path.read_bytes() != content:
        raise DataError(f"there is another {DATA} in this folder, which the demo would lose; run it in an empty one")


def _run(title: str, *arguments: str) -> None:
    """Show a command and run it."""
    from linnet.cli import linnet

    click.echo(f"\n{title}" if title else "")
    click.echo(click.style("$ linnet " + " ".join(map(shlex.quote, arguments)), bold=True))
    linnet.main(list(arguments), prog_name="linnet", standalone_mode=False)
