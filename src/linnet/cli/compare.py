"""``linnet compare``: which model is best on a file, whether by more than luck, and what each costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

import linnet
from linnet.cli import options as o
from linnet.cli.labelled_rows import read_labelled, split_columns
from linnet.cli.output import ProgressBars, say, width, write_csv, write_json, write_page
from linnet.errors import LinnetError
from linnet.values import duration


@o.command()
@click.argument("data", type=o.InputPath(), required=False)
@o.option("--models", "A,B,C", "Such as svm,nb:alpha=1,svm:C=0.1,1; every model if not given.", callback=o.look_here)
@o.number("--folds", "Parts to test on in turn: 5, or 10 below 500 rows.", least=2)
@o.number("--repeats", "Draw the folds N times.", 1)
@o.features
@click.option("--curve", flag_value="best", help="Learning curve of the best model: what would more labels bring?")
@click.option("--curve-all", "curve", flag_value="all", help="The same for every model.")
@o.option("--files", "OLD NEW", "Compare two model files on DATA: exits with 1 where NEW is clearly worse.", nargs=2)
@o.groups
@o.labelled_options
@o.run_options
@o.trust
@o.option("-o --out", "F.csv", "Write the table as CSV (- for standard output).")
@o.page_options
def compare(data: str | None, **options: Any) -> None:
    """Compare models on DATA, or on the built-in book reviews.

    Every model is fitted on the same folds, chooses its settings inside each training part, and predicts the held-out
    rows. A model is a name, with settings behind a colon; of several values, with commas between them, the best is
    chosen. --features are for all models without their own.

    \b
    linnet compare reviews.csv --models svm,nb
    linnet compare reviews.csv --models svm:features=words:1,C=1,svm:features=words:1-2,C=0.1,1,10
    linnet compare reviews.csv --curve --json result.json
    linnet compare --files old.linnet new.linnet test.csv --out changed.csv

    Ctrl-C keeps the folds that are finished.
    """
    from linnet.comparison import specs

    if options["out"] == options["json_"] == "-":
        raise LinnetError("--out - and --json - cannot both have standard output; give one of them a file name")
    if options["files"]:
        _compare_files(data, options)
        return
    found = specs.as_specs(options["models"], features=options["features"])  # refuse before reading a large file
    if data is None:
        from linnet.datasets import whole

        rows = whole("reviews")
        say(rows.describe())
    else:
        rows = read_labelled(data, options, extra=[*specs.needed_by(found), *split_columns(options)])
    names = ("models", "folds", "repeats", "features", "groups")
    with ComparisonProgress(options["quiet"]) as progress:
        result = linnet.compare(
            rows, curve=options["curve"] or False, on_event=progress, random_state=options["seed"],
            n_jobs=options["threads"], **{name: options[name] for name in names},
        )  # fmt: skip
    write_page(result, f"Models on {rows.source}", options["report"])
    if options["out"] is not None:
        write_csv(result.table, list(result.table[0]), options["out"])
    if not write_json(result.to_dict(), options["json_"]) and options["out"] != "-":
        click.echo(result.to_text(width(120)))


def _compare_files(data: str | None, options: dict[str, Any]) -> None:
    """Compare two model files; --out gets the rows whose answer changes."""
    from linnet.comparison.versions import compare_versions

    if data is None:
        raise LinnetError("--files OLD NEW needs labelled rows to judge by: linnet compare --files OLD NEW DATA")
    old, new = (linnet.load(path, n_jobs=options["threads"], trust=options["trust"]) for path in options["files"])
    needs = dict.fromkeys([*old.artefact.needs, *new.artefact.needs])
    rows = read_labelled(data, options, test=True, extra=list(needs), clf=old)
    found = replace(compare_versions(old, new, rows), old=options["files"][0], new=options["files"][1])
    if options["out"] is not None:
        write_csv(map(vars, found.changed), ("row", "label", "old", "new", "text"), options["out"])
    if not write_json(found.to_dict(), options["json_"]) and options["out"] != "-":
        click.echo("\n".join(found.lines()))
    if found.verdict == "worse":
        raise SystemExit(1)


class ComparisonProgress(ProgressBars):
    """The events of a comparison: a bar on a terminal, one line a fold and model elsewhere."""

    title = "comparing"

    def __call__(self, event: Any) -> None:
        """Show an event."""
        v = event.values
        fold = f"fold {v['fold']}"
        fold = f"{fold} of {v['folds']}" if event.kind == "fold" else f"curve, {v['rows']:,} rows, {fold}"
        where = f"{fold}: {event.text}"
        left = "" if v["left"] is None else f", about {duration(v['left'])} left"
        line = f"{where} accuracy {v['accuracy']:.4f}, {v['seconds']:.2g} s{left}"
        self.update(event.done, event.total, f"{where} {v['accuracy']:.4f}", line=line)
