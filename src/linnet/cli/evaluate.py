"""``linnet evaluate``: how good a model is on labelled texts, with intervals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click

from linnet.cli.options import check_report, columns, command_line, read_labelled, report, say, threads

__all__ = ["evaluate"]


@click.command(short_help="Say how good a model is on labelled texts.")
@click.argument("model")
@click.argument("data")
@columns
@threads
@report
@click.option("--json", "json_", metavar="F", help="Write all scores as JSON (- for standard output).")
def evaluate(model: str, data: str, text: str | None, label: str | None, format_: str | None, threads: int | None,
             report: str | None, json_: str | None) -> None:  # fmt: skip
    """Evaluate MODEL on the labelled rows of DATA: accuracy with its 95 % interval, scores per class, confusions."""
    from linnet import evaluate as metrics
    from linnet.classifier import load
    from linnet.data.seal import look

    check_report(report)
    clf = load(model, threads=threads)
    rows = read_labelled(data, text, label, format_, test=True, also=clf.artefact.needs)
    sealed = look(data, "evaluate", Path(model))
    if report is None:
        classes = [str(c) for c in clf.artefact.classes]
        result = metrics.evaluate(rows.label_list(), clf.predict_proba(rows), classes)
    else:
        from linnet.report import Report

        files = {"model": model, "data": data}
        page = Report(clf, rows, title=f"{model} on {data}", command=command_line(), files=files, seal=sealed)
        page.save(report)
        say(f"wrote {report} ({Path(report).stat().st_size / 1e6:.1f} MB)")
        result = page.evaluation
    if json_ is not None:
        seal = sealed.to_dict() if sealed else None
        content = json.dumps(
            {"model": model, "data": data, "seal": seal, **result.to_dict()}, indent=2, ensure_ascii=False
        )
        if json_ == "-":
            click.echo(content)
            return
        Path(json_).write_text(content + "\n", encoding="utf-8")
    click.echo(result.to_text(shutil.get_terminal_size((100, 24)).columns))
    if sealed:
        click.echo(f"blind test set, sealed {sealed.sealed[:10]}: {sealed.words}")
