"""``linnet update``: go on learning from new rows; the version before is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.labelled_rows import read_labelled
from linnet.cli.output import say, write_json
from linnet.errors import LinnetError


@o.command("model")
@click.argument("data", type=o.InputPath(), required=False)
@o.option("-o --out", "F.linnet", "Where to save; MODEL itself by default.")
@o.option("--test", "FILE", "Compare both versions on this file; on a fifth of DATA if not given.")
@o.option(
    "--forget", "SHARE", "Drop this share of what was learned before every 1,000 new rows.", default=0.0,
    type=click.FloatRange(0.0, 1.0, max_open=True),
)  # fmt: skip
@o.flag("--undo", "Put the version before the last update in its place again.")
@o.data_options
@o.run_options
@o.json_file
def update(model: str, data: str | None, **options: Any) -> None:
    """Let MODEL learn from the labelled rows of DATA as well, and save the new version in its place.

    MODEL may be a folder of versions (1.linnet, 2.linnet ...): the one in use learns, and the new one is the next.

    Both versions are scored on the same rows, which neither has learned from: a fifth of DATA, or --test FILE. The card of the new
    version holds both scores and the paired test. The version before is kept beside it: --undo brings it back, and keeps the newer one.

    \b
    linnet update reviews.linnet march.csv
    linnet update reviews.linnet march.csv --out april.linnet --forget 0.1
    linnet update reviews.linnet --undo
    """
    from linnet.classifier import load
    from linnet.comparison.versions import undo, update, write_version
    from linnet.model.file import LATEST, next_version, version_in_use

    if options["undo"]:
        if data is not None or options["out"]:
            raise LinnetError("--undo takes the model alone: linnet update MODEL --undo")
        if Path(model).is_dir():
            raise LinnetError(
                f"write the version to go back to into {Path(model) / LATEST}; --undo is for a model file"
            )
        earlier, newer = undo(model)
        click.echo(f"{model} is {earlier.name} again; the newer version is {newer.name}")
        return
    if data is None:
        raise LinnetError("update needs new labelled rows: linnet update MODEL NEW.csv, or --undo")
    used = str(version_in_use(model))
    old = load(used, n_jobs=options["threads"])
    how: dict[str, Any] = {"extra": old.artefact.needs, "clf": old}
    rows = read_labelled(data, options, **how)
    test = read_labelled(options["test"], options, test=True, **how) if options["test"] else None
    new, found = update(old, rows, test=test, forget=options["forget"], random_state=options["seed"])
    out = options["out"] or (str(next_version(model)) if Path(model).is_dir() else model)
    kept_at = write_version(new, used, out)
    found = replace(found, old="before", new="after")
    kept = str(kept_at or used)
    content = {"model": out, "kept": kept, "update": new.card["update"], "test": found.to_dict()}
    if not write_json(content, options["json_"]):
        click.echo("\n".join(found.lines()))
        click.echo(f"saved {out}, learned from {new.card['update']['rows']:,} more rows")
    if Path(model).is_dir() and version_in_use(model) != Path(out):
        say(
            f"{Path(model) / LATEST} still names {Path(used).stem}; write {Path(out).stem} into it to use the new version"
        )
    say(f"the version before is {kept}" + ("; linnet update MODEL --undo brings it back" if kept_at else ""))
