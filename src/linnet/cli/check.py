"""``linnet check``: what is wrong with a file of labelled texts, on one page."""

from __future__ import annotations

from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.labelled_rows import read_labelled
from linnet.cli.output import ProgressBars, say, say_sealed, write_csv, write_json, write_page
from linnet.errors import LinnetError
from linnet.values import parse_list


def _list(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    from linnet.checks.run_checks import CHECKS

    if value:
        for name, one in CHECKS.items():
            click.echo(f"{name:<16} {one.what}")
        context.exit()


@o.command("data")
@click.argument("others", type=o.InputPath(), nargs=-1)
@o.labelled_options
@o.option("--only", "A,B", "Run these checks only (--list names them).")
@o.option("--skip", "A,B", "Leave these checks out.")
@o.option("--suspects", "F.csv", "Write every suspected label error, the surest first.")
@o.run_options
@o.page_options
@o.flag("--list list_", "List the checks and leave.", expose_value=False, is_eager=True, callback=_list)
def check(data: str, others: tuple[str, ...], **options: Any) -> None:
    """Check DATA before you train on it, and OTHER sets (dev, test) that go with it.

    \b
    linnet check reviews.csv
    linnet check train.csv dev.csv test.csv --json found.json
    linnet check reviews.csv --only label-errors --suspects suspects.csv
    """
    from linnet.checks import check as run_checks
    from linnet.checks.run_checks import chosen
    from linnet.data.splitting import look

    only = None if options["only"] is None else parse_list(options["only"])
    skip = parse_list(options["skip"])
    chosen(only, skip)  # refuse before reading a large file
    sets = [read_labelled(path, options, test=True, labelled=None) for path in (data, *others)]
    shared = {"random_state": options["seed"], "n_jobs": options["threads"]}
    with CheckProgress(options["quiet"]) as progress:
        found = run_checks(*sets, only=only, skip=skip, on_check=progress, **shared)
    for path in (data, *others):  # the texts of a blind test set are shown, and its words are compared
        say_sealed(look(path, "check", "none"), path)
    write_page(found, f"Check of {data}", options["report"])
    if options["suspects"]:
        _write_suspects(found, options["suspects"])
    if not write_json(found.to_dict(), options["json_"]):
        click.echo(found.to_text())


class CheckProgress(ProgressBars):
    """A bar on a terminal, a line a check elsewhere."""

    title = "checking"

    def __call__(self, name: str, done: int, total: int) -> None:
        """Show which check comes next."""
        self.update(done, total, name, line=f"check {done + 1} of {total}: {name}")


def _write_suspects(found: Any, out: str) -> None:
    if "label-errors" not in [one.check for one in found]:
        raise LinnetError("--suspects needs labels and the check label-errors")
    one, m = found["label-errors"], found.material
    words = {example["row"]: " ".join(example["words"]) for example in one.examples}
    fields, rows = ("row", "label", "suggested", "confidence", "words", "text"), []
    for row in map(int, one.arrays.get("suspects", [])):
        where, suggested = int(m.source_rows[row]), one.arrays["suggested"][row]
        confidence = f"{one.arrays['confidence'][row]:.4f}"
        cells = (where, m.label(row), suggested, confidence, words.get(where, ""), m.text(row))
        rows.append(dict(zip(fields, cells, strict=True)))
    write_csv(rows, fields, out)
    say(f"wrote {one.count:,} suspects to {out}")
