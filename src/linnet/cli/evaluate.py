"""``linnet evaluate``: how good a model is on labelled texts, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.files import InputFile, command
from linnet.cli.labelled_rows import read_labelled
from linnet.cli.output import command_line, say_sealed, say_written, width, write_json

__all__ = ["evaluate"]


@command(short_help="Say how good a model is on labelled texts.")
@click.argument("model", type=InputFile())
@click.argument("data", type=InputFile())
@o.data_options
@o.threads
@o.trust
@o.report
@o.json_file
def evaluate(model: str, data: str, **options: Any) -> None:
    """Evaluate MODEL on the labelled rows of DATA: accuracy with its 95 % interval, scores per class, confusions."""
    from linnet import evaluate as metrics
    from linnet.classifier import load
    from linnet.data.seal import look

    clf = load(model, threads=options["threads"], trust=options["trust"])
    rows = read_labelled(data, options, test=True, extra=clf.artefact.needs)
    seal = look(data, "evaluate", Path(model))
    if options["report"] is None:
        result = metrics.evaluate(rows.label_list(), clf.predict_proba(rows), [str(c) for c in clf.artefact.classes])
    else:
        from linnet.report import Report

        files = {"model": model, "data": data}
        page = Report(clf, rows, title=f"{model} on {data}", command=command_line(), files=files, seal=seal)
        page.save(options["report"])
        say_written(options["report"])
        result = page.evaluation
    content = {"model": model, "data": data, "seal": seal.to_dict() if seal else None, **result.to_dict()}
    if not write_json(content, options["json_"]):
        click.echo(result.to_text(width()))
        say_sealed(seal)
