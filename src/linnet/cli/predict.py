"""``linnet predict``: labels for texts, at constant memory."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.output import say
from linnet.cli.progress import ProgressBars
from linnet.errors import LinnetError

__all__ = ["predict"]

ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "lines"}


@click.command(short_help="Label texts; streams files of any size.")
@click.argument("model")
@click.argument("source", metavar="[INPUT|-]", default="-")
@click.option("--proba", is_flag=True, help="Also write the probability of each class.")
@click.option("--out", metavar="F", help="Write to F (.csv, .tsv, .jsonl, .txt); standard output by default.")
@click.option(
    "--to",
    type=click.Choice(["lines", "csv", "tsv", "jsonl"]),
    help="The format of the output; by the ending of F, else lines.",
)
@o.text_options
@o.threads
@o.quiet
def predict(model: str, source: str, proba: bool, out: str | None, to: str | None, text: str | None, format_: str | None,
            threads: int | None, quiet: bool) -> None:  # fmt: skip
    """Label every text of INPUT with MODEL, one result a row, in the order of the input.

    INPUT may be larger than memory, gzipped or zstd, or - for standard input (one text a line, CSV, JSON lines).
    Results are lines of labels; with --proba, CSV with a probability a class.
    """
    from linnet.classifier import load
    from linnet.data import stream

    clf = load(model, threads=threads)
    form = to or (ENDINGS.get(Path(out).suffix.lower(), "csv") if out else "csv" if proba else "lines")
    if proba and form == "lines":
        raise LinnetError("--proba needs columns: choose --to csv, tsv or jsonl")
    write = _writer(form, [str(c) for c in clf.artefact.classes], proba)
    done, broken = 0, 0
    with _opened(out) as sink, ProgressBars(quiet or not out) as progress:
        sink.write(write.head)
        progress.stage("labelling")
        for batch in _ahead(stream(source, text=text, format=format_, also=clf.artefact.needs)):
            scores = clf.artefact.scores(batch, threads)
            best = clf.artefact.best(scores)
            sink.write(write.rows(best, clf.artefact.proba(scores) if proba or form != "lines" else None))
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


class _Writer:
    """Rows in one form, as bytes."""

    def __init__(self, head: bytes, rows: Callable[[Any, Any], bytes]) -> None:
        self.head, self.rows = head, rows


def _writer(form: str, classes: list[str], proba: bool) -> _Writer:
    if form == "lines":
        names = [c.replace("\r", " ").replace("\n", " ").encode() + b"\n" for c in classes]
        return _Writer(b"", lambda best, _: b"".join([names[k] for k in best.tolist()]))
    if form == "jsonl":

        def json_rows(best: Any, P: Any) -> bytes:
            lines = []
            for k, p in zip(best.tolist(), P.tolist(), strict=True):
                row: dict[str, Any] = {"label": classes[k], "probability": round(p[k], 6)}
                if proba:
                    row["probabilities"] = {c: round(v, 6) for c, v in zip(classes, p, strict=True)}
                lines.append(json.dumps(row, ensure_ascii=False))
            return ("\n".join(lines) + "\n").encode() if lines else b""

        return _Writer(b"", json_rows)
    comma = "," if form == "csv" else "\t"
    quoted = [_cells([c], comma).rstrip("\n") for c in classes]
    head = _cells(["label", "probability", *(f"p_{c}" for c in classes if proba)], comma)

    def rows(best: Any, P: Any) -> bytes:
        if not proba:
            top = P.max(axis=1)
            return "".join(
                [f"{quoted[k]}{comma}{p:.6f}\n" for k, p in zip(best.tolist(), top.tolist(), strict=True)]
            ).encode()
        return "".join(
            [
                f"{quoted[k]}{comma}{p[k]:.6f}{comma}{comma.join([f'{v:.6f}' for v in p])}\n"
                for k, p in zip(best.tolist(), P.tolist(), strict=True)
            ]
        ).encode()

    return _Writer(head.encode(), rows)


def _cells(values: list[str], comma: str) -> str:
    line = io.StringIO()
    csv.writer(line, delimiter=comma, lineterminator="\n").writerow(values)
    return line.getvalue()


@contextlib.contextmanager
def _opened(out: str | None) -> Iterator[Any]:
    """Give standard output, or a file that appears only when it is whole."""
    if out is None or out == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(out)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb", buffering=1 << 20) as sink:
            yield sink
        part.replace(target)
    except OSError as error:
        raise LinnetError(f"{out}: cannot write ({error.strerror or error}); choose another --out") from error
    finally:
        part.unlink(missing_ok=True)
