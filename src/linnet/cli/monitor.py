"""``linnet monitor``: has the input of a model changed since it was trained?"""

from __future__ import annotations

from typing import Any

import click

import linnet
from linnet.cli import options as o
from linnet.cli.output import echo_json


@o.command("model", "data")
@o.option("--reference", "FILE", "Compare with these texts, not with the held-out rows of training.")
@o.option(
    "--level", "SHARE", "The share of false alarms that is accepted, over all tests together.", default=0.05, show_default=True,
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
)  # fmt: skip
@o.text_options
@o.model_options
@o.json_flag
def monitor(model: str, data: str, **options: Any) -> None:
    """Compare the texts of DATA with the held-out rows of MODEL's training: unknown features, predicted labels, confidence.

    DATA needs no labels. Exits with 1 on an alarm.

    \b
    linnet monitor reviews.linnet this-week.csv
    linnet monitor reviews.linnet this-week.csv --reference last-week.csv --json
    """
    from linnet.evaluate.drift import drift, reference_of

    clf = linnet.load(model, n_jobs=options["threads"], trust=options["trust"])
    columns = {"text": o.text_column(clf, options), "format": options["format_"], "also": clf.artefact.needs}
    reference, threads = None, options["threads"]
    if options["reference"]:
        reference = reference_of(clf.artefact, linnet.read(options["reference"], **columns), threads)
    texts = linnet.read(data, **columns)
    found = drift(clf.artefact, texts, reference=reference, level=options["level"], threads=threads)
    if options["json_"]:
        echo_json(found.to_dict())
    else:
        click.echo("\n".join(found.lines()))
    if found.alarm:
        raise SystemExit(1)
