"""``linnet evaluate``: how good a model is on labelled texts, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import linnet
from linnet.cli import options as o
from linnet.cli.labelled_rows import read_labelled, say_if_seen
from linnet.cli.output import command_line, say, say_sealed, say_written, width, write_json
from linnet.draw.terminal import listed
from linnet.errors import DataError, LinnetError, shown


@o.command("model", "data")
@o.labelled_options
@o.answer_options
@o.flag("--margin", "Also say whether the line separates the rows, how wide its margin is, and how many rows hold it.")
@o.model_options
@o.report
@o.json_file
def evaluate(model: str, data: str, **options: Any) -> None:
    """Evaluate MODEL on the labelled rows of DATA: accuracy with its 95 % interval, scores per class, confusions."""
    from linnet.data.splitting import look

    clf = linnet.load(model, n_jobs=options["threads"], trust=options["trust"])
    rows = read_labelled(data, options, test=True, extra=clf.artefact.needs, clf=clf)
    bins = clf.card.get("data", {}).get("label_bins")
    if rows.bins is None and isinstance(bins, str) and {str(c) for c in clf.artefact.classes}.isdisjoint(rows.counts):
        rows = rows.binned(bins)
        say(f"labels by the bins of the model, {bins}: " + "; ".join(rows.notes[-1:]))
    known = {str(c) for c in clf.artefact.classes}
    if known.isdisjoint(rows.counts):
        theirs, ours = (listed((shown(label, 40) for label in sorted(labels)), 3) for labels in (rows.counts, known))
        raise DataError(
            f"{shown(rows.source, 200)}: the model knows none of its labels ({theirs}); {shown(model, 200)} knows {ours}. Give the "
            "label column with --label, or the model that was trained on such labels"
        )
    seen = say_if_seen(clf, rows, data)
    seal = look(data, "evaluate", Path(model))
    if o.asked(options) and options["report"] is not None:
        raise LinnetError(
            "--report shows the model with its own rule; leave out the report, or train with the rule that you want"
        )
    if options["report"] is None:
        result = clf.evaluate(rows, **o.asked(options))
    else:
        files = {"model": model, "data": data}
        page = linnet.Report(clf, rows, title=f"{model} on {data}", command=command_line(), files=files, seal=seal)
        page.save(options["report"])
        say_written(options["report"])
        result = page.evaluation
    sealed, share = seal.to_dict() if seal else None, seen.share if seen.looked_at else None
    content = {"model": model, "data": data, "seal": sealed, "share_seen_in_training": share, **result.to_dict()}
    margin = clf.separation(rows) if options["margin"] else None
    content |= {} if margin is None else {"margin": margin.to_dict()}
    if not write_json(content, options["json_"]):
        click.echo(result.to_text(width()))
        if margin is not None:
            click.echo(str(margin))
        say_sealed(seal)
