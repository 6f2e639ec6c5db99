"""``linnet predict``: labels for texts, at constant memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.output import say
from linnet.cli.progress import ProgressBars
from linnet.errors import LinnetError

__all__ = ["predict"]


@click.command(short_help="Label texts; streams files of any size.")
@click.argument("model")
@click.argument("source", metavar="[INPUT|-]", default="-")
@click.option("--proba", is_flag=True, help="Also write the probability of each class.")
@click.option(
    "--out", metavar="F", help="Write to F (.csv, .tsv, .jsonl, .parquet, .arrow, .txt); standard output by default."
)
@click.option(
    "--to",
    type=click.Choice(["lines", "csv", "tsv", "jsonl", "parquet", "arrow"]),
    help="The format of the output; by the ending of F, else lines.",
)
@o.text_options
@o.threads
@o.trust
@o.quiet
def predict(model: str, source: str, proba: bool, out: str | None, to: str | None, text: str | None, format_: str | None,
            threads: int | None, trust: bool, quiet: bool) -> None:  # fmt: skip
    """Label every text of INPUT with MODEL, one result a row, in the order of the input.

    INPUT may be larger than memory, gzipped or zstd, or - for standard input (one text a line, CSV, JSON lines).
    Results are lines of labels; with --proba, CSV with a probability a class.
    """
    import numpy as np

    from linnet.classifier import load
    from linnet.data import stream
    from linnet.data.writers import open_writer

    clf = load(model, threads=threads, trust=trust)
    form = to or _form(out, proba)
    if proba and form == "lines":
        raise LinnetError("--proba needs columns: choose --to csv, tsv or jsonl")
    classes = [str(c) for c in clf.artefact.classes]
    done, broken = 0, 0
    with (
        open_writer(out, "text" if form == "lines" else form) as writer,
        ProgressBars(quiet or not out) as progress,
    ):
        writer.write(_table(np.zeros(0, np.int64), np.zeros((0, len(classes))), classes, form, proba))
        progress.stage("labelling")
        for batch in _ahead(stream(source, text=text, format=format_, also=clf.artefact.needs)):
            scores = clf.artefact.scores(batch, threads)
            best = clf.artefact.best(scores)
            P = clf.artefact.proba(scores) if form != "lines" else None
            writer.write(_table(best, P, classes, form, proba))
            if done == 0 and not quiet and batch.how:
                say(f"{source}: {batch.how}")
            done += len(batch)
            broken += len(batch.unusable)
            progress.update(done, note=f"{done:,} rows")
    if not quiet and out:
        say(f"{done:,} rows labelled, written to {out}")
    if broken and not quiet:
        say(f"{broken:,} rows of {source} could not be read as they should; they were labelled as far as possible")


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Read the next batch in a thread of its own while this one is labelled."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            yield batch


def _form(out: str | None, proba: bool) -> str:
    from linnet.data.writers import ENDINGS
    from linnet.files import split_ending

    if out is None:
        return "csv" if proba else "lines"
    return {".txt": "lines", **ENDINGS}.get(split_ending(out)[0], "csv")


def _table(best: Any, P: Any, classes: list[str], form: str, proba: bool) -> Any:
    """Return the results of a batch as a table: label, probability, and with `proba` one of each class."""
    import numpy as np
    import pyarrow as pa

    from linnet.data.arrays import decimals, floats, integers, strings

    columns = {"label": strings(classes).take(integers(best))}
    if form == "lines":
        return pa.table(columns)

    def numbers(values: Any) -> Any:
        return decimals(values) if form in ("csv", "tsv") else floats(np.round(values, 6))

    columns["probability"] = numbers(P[np.arange(len(best)), best])
    if proba and form == "jsonl":
        columns["probabilities"] = pa.StructArray.from_arrays([numbers(p) for p in P.T], names=classes)
    elif proba:
        columns |= {f"p_{name}": numbers(p) for name, p in zip(classes, P.T, strict=True)}
    return pa.table(columns)
