"""``linnet predict``: labels for texts, at constant memory."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Iterator
from typing import Any

import click

from linnet.cli.options import say, threads
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
@click.option("--text", metavar="COL", help="The text column; found by name or content if not given.")
@click.option("--format", "format_", metavar="NAME", help="The format of the input; found by itself if not given.")
@threads
@click.option("--quiet", "-q", is_flag=True, help="No news.")
def predict(model: str, source: str, proba: bool, out: str | None, to: str | None, text: str | None, format_: str | None,
            threads: int | None, quiet: bool) -> None:  # fmt: skip
    """Label every text of INPUT with MODEL, one result a row, in the order of the input.

    INPUT may be larger than memory, gzipped or zstd, or - for standard input (one text a line, CSV, JSON lines).
    Results are lines of labels; with --proba, CSV with a probability a class.
    """
    import numpy as np

    from linnet.classifier import load
    from linnet.data import stream
    from linnet.data.writers import open_writer

    clf = load(model, threads=threads)
    form = to or _form(out, proba)
    if proba and form == "lines":
        raise LinnetError("--proba needs columns: choose --to csv, tsv or jsonl")
    classes = [str(c) for c in clf.artefact.classes]
    done, broken = 0, 0
    with open_writer(out, "text" if form == "lines" else form) as writer:
        writer.write(_table(np.zeros(0, np.int64), np.zeros((0, len(classes))), classes, form, proba))
        for batch in _ahead(stream(source, text=text, format=format_, also=clf.artefact.needs)):
            scores = clf.artefact.scores(batch, threads)
            best = clf.artefact.best(scores)
            P = clf.artefact.proba(scores) if form != "lines" else None
            writer.write(_table(best, P, classes, form, proba))
            if done == 0 and not quiet and batch.how:
                say(f"{source}: {batch.how}")
            done += len(batch)
            broken += len(batch.unusable)
            if not quiet and out and sys.stderr.isatty():
                click.echo(f"\r{done:,} rows", nl=False, err=True)
    if not quiet and out:
        say(f"\r{done:,} rows labelled, written to {out}")
    if broken and not quiet:
        say(f"{broken:,} rows of {source} could not be read as they should; they were labelled as far as possible")


def _form(out: str | None, proba: bool) -> str:
    from linnet.data.writers import ENDINGS
    from linnet.files import split_ending

    if out is None:
        return "csv" if proba else "lines"
    return {".txt": "lines", **ENDINGS}.get(split_ending(out)[0], "csv")


def _ahead(batches: Iterator[Any], room: int = 2) -> Iterator[Any]:
    """Read the next batches in a thread of their own while this one is labelled."""
    waiting: queue.Queue[tuple[str, Any]] = queue.Queue(room)
    leave = threading.Event()

    def put(kind: str, value: Any) -> bool:
        while not leave.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put((kind, value), timeout=0.1)
                return True
        return False

    def read() -> None:
        try:
            for batch in batches:
                if not put("batch", batch):
                    return
            put("end", None)
        except BaseException as error:  # told to the reader below
            put("error", error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        while True:
            kind, value = waiting.get()
            if kind == "error":
                raise value
            if kind == "end":
                return
            yield value
    finally:
        leave.set()
        reader.join()


def _table(best: Any, P: Any, classes: list[str], form: str, proba: bool) -> Any:
    """Return the results of a batch as a table: label, probability, and with `proba` one of each class."""
    import numpy as np
    import pyarrow as pa

    from linnet.data.arrays import floats, integers, strings

    columns = {"label": strings(classes).take(integers(best))}
    if form == "lines":
        return pa.table(columns)

    def numbers(values: Any) -> Any:
        plain = form in ("csv", "tsv")
        return strings([f"{p:.6f}" for p in values.tolist()]) if plain else floats(np.round(values, 6))

    columns["probability"] = numbers(P[np.arange(len(best)), best])
    if proba and form == "jsonl":
        columns["probabilities"] = pa.StructArray.from_arrays([numbers(p) for p in P.T], names=classes)
    elif proba:
        columns |= {f"p_{name}": numbers(p) for name, p in zip(classes, P.T, strict=True)}
    return pa.table(columns)
