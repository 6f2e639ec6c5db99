"""``linnet filter``: a corpus in, the rows worth keeping out, with an account that adds up."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from linnet.cli.options import say
from linnet.errors import LinnetError

__all__ = ["filter_"]


@click.command("filter", short_help="Keep the rows of a corpus that a model says are worth keeping.")
@click.argument("model")
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@click.option("--out", metavar="DIR", required=True, help="A new folder, or one that holds this run, unfinished.")
@click.option("--keep", multiple=True, metavar="LABEL", help="Keep rows of this label. Can be given several times.")
@click.option(
    "--min", "least", multiple=True, type=float, metavar="P",
    help="The probability the label must have: one for all labels, or one for each --keep, in order.",
)  # fmt: skip
@click.option("--top", metavar="SHARE", help="Keep the best share, such as 10%, by the probability of --keep.")
@click.option(
    "--of", default="documents", show_default=True, metavar="UNIT", help="A share of documents, characters or tokens."
)
@click.option("--quota", type=int, metavar="N", help="Keep the best N rows of each value of the column --by.")
@click.option("--by", metavar="COL", help="The column of a quota (for web archives: host, url, language).")
@click.option("--text", metavar="COL", help="The text column; found by name or content if not given.")
@click.option(
    "--format", "format_", metavar="NAME", help="parquet, jsonl, csv, tsv or warc; by the ending if not given."
)
@click.option(
    "--clean", metavar="A,B", help="Clean texts first, with rules of `linnet clean`; 'default' for its defaults."
)
@click.option("--c4", is_flag=True, help="Drop pages by the C4 rules first.")
@click.option("--proba", is_flag=True, help="Write the probability of every label, not only of --keep.")
@click.option("--prefix", default="linnet_", show_default=True, metavar="TEXT", help="Of the names of the new columns.")
@click.option("--engine", default="local", show_default=True, metavar="NAME", help="local, dask or spark.")
@click.option("--scheduler", metavar="ADDRESS", help="Of a running Dask or Spark cluster; else one is started here.")
@click.option(
    "--threads", type=click.IntRange(1), metavar="N", help="Cores to use; all by default. Never changes the result."
)
@click.option("--max-memory", metavar="SIZE", help="Use fewer workers where their memory would pass this.")
@click.option("--timeout", type=float, metavar="SECONDS", help="A worker that takes longer for a shard is replaced.")
@click.option(
    "--retries", type=click.IntRange(0), default=2, show_default=True, metavar="N", help="More attempts for a shard."
)
@click.option("--max-bad", type=click.IntRange(0), metavar="N", help="Stop at more bad shards (10, or a tenth of all).")
@click.option("--restart", is_flag=True, help="Throw away what DIR holds of an earlier run.")
@click.option("--json", "json_", is_flag=True, help="Print the manifest's totals as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="No news.")
def filter_(model: str, inputs: tuple[str, ...], **options: Any) -> None:
    """Score every row of INPUT with MODEL and write those worth keeping to DIR, a file a shard.

    INPUT are files, folders or patterns: Parquet, JSON lines, CSV, TSV (also gz, zst), WARC, WET. The output has the
    same schema plus the label and the probabilities. Started again after a crash, it goes on where it stopped.

    \b
    linnet filter quality.linnet 'crawl/*.parquet' --out kept --keep good --min 0.9
    linnet filter quality.linnet crawl --out kept --keep good --top 10% --of tokens
    linnet filter topics.linnet crawl --out kept --keep law --min 0.8 --keep medicine --min 0.6
    linnet filter quality.linnet *.warc.wet.gz --out kept --keep good --quota 1000 --by host
    """  # noqa: D301 - click wants the character
    from linnet.cli.filter_progress import Show
    from linnet.engines import open_engine
    from linnet.filter.filtering import filter_corpus
    from linnet.filter.inputs import filter_shards
    from linnet.filter.rule import percent

    rule = _rule(options, percent)
    shards = filter_shards(inputs, options["format_"])
    workers, threads = _share_out(options, len(shards), model)
    settings: dict[str, Any] = {"retries": options["retries"], "timeout": options["timeout"], "threads": threads}
    if options["scheduler"] and options["engine"] == "local":
        raise LinnetError("--scheduler is for --engine dask or spark")
    if options["scheduler"]:
        settings["scheduler"] = options["scheduler"]
    else:
        settings["workers"] = workers
    clean, pages = _cleaning(options)
    with Show(options["quiet"]) as show, open_engine(options["engine"], **settings) as engine:
        manifest = filter_corpus(
            model, inputs, options["out"], rule, text=options["text"], format=options["format_"], clean=clean, pages=pages,
            proba=options["proba"], prefix=options["prefix"], engine=engine, threads=threads, max_bad=options["max_bad"],
            restart=options["restart"], on_progress=show,
        )  # fmt: skip
    _tell(manifest, options, show)


def _rule(options: dict[str, Any], percent: Any) -> Any:
    from linnet.filter.rule import Rule

    keep, least = options["keep"], options["least"]
    if not keep:
        raise LinnetError("name the label to keep: --keep LABEL (`linnet info MODEL` lists the labels)")
    if len(set(keep)) < len(keep):
        raise LinnetError("--keep names a label twice")
    if len(least) not in (0, 1, len(keep)):
        raise LinnetError(
            f"--min is given {len(least)} times for {len(keep)} labels; give it once, or once for each --keep"
        )
    floors = [None] * len(keep) if not least else list(least) * (len(keep) if len(least) == 1 else 1)
    top = None if options["top"] is None else percent(options["top"])
    return Rule(dict(zip(keep, floors, strict=True)), top, options["of"], options["quota"], options["by"])


def _cleaning(options: dict[str, Any]) -> tuple[list[str] | None, list[str] | None]:
    from linnet.text.clean import C4
    from linnet.text.clean.rules import DEFAULT

    given = options["clean"]
    clean = (
        None
        if given is None
        else list(DEFAULT)
        if given == "default"
        else [p.strip() for p in given.split(",") if p.strip()]
    )
    return clean, [name for name in C4 if name != "badwords"] if options["c4"] else None


def _share_out(options: dict[str, Any], shards: int, model: str) -> tuple[int, int]:
    """How many workers, and how many threads each: as many workers as there are shards for, the rest as threads."""
    from linnet.units import as_bytes

    cores = options["threads"] or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else [0])
    workers = max(1, min(cores, shards))
    if options["max_memory"]:
        from pathlib import Path

        try:
            weights = Path(model).stat().st_size
        except OSError:
            weights = 0
        each = WORKER_MEMORY + weights
        fit = (as_bytes(options["max_memory"], "--max-memory") - DRIVER_MEMORY) // each
        if fit < 1:
            need = (DRIVER_MEMORY + each) >> 20
            raise LinnetError(
                f"--max-memory {options['max_memory']} is too little: one worker and its driver need {need} MB"
            )
        workers = min(workers, fit)
    return workers, max(1, cores // workers)


WORKER_MEMORY = 300 << 20  # batches, decoded pages, the row group that is being written
DRIVER_MEMORY = 150 << 20


def _tell(manifest: dict[str, Any], options: dict[str, Any], show: Any) -> None:
    if options["json_"]:
        shown = {k: v for k, v in manifest.items() if k not in ("by_shard", "histograms", "settings")}
        click.echo(
            json.dumps({**shown, "seconds": round(show.seconds, 3), "bytes_read": show.read}, ensure_ascii=False)
        )
        return
    rows = max(1, manifest["rows"])
    for name in ("rows", "kept", "dropped", "unusable"):
        share = "" if name == "rows" else f"  {100 * manifest[name] / rows:6.2f} %"
        click.echo(f"{'in' if name == 'rows' else name:<10}{manifest[name]:>15,}{share}")
    cut = manifest.get("cut")
    if cut and "top" in cut:
        click.echo(
            f"cut at probability {cut['probability']:.6g}: {100 * cut['share']:.3f} % of {cut['of']} "
            f"(asked: {100 * cut['top']:g} %, error bound {100 * cut['error_bound']:g} points, plus ties)"
        )
    if manifest["bad_shards"]:
        say(f"{len(manifest['bad_shards'])} bad shards, see {options['out']}/quarantine/shards.json; the first: "
            f"{manifest['bad_shards'][0]['name']}: {manifest['bad_shards'][0]['reason']}")  # fmt: skip
    if not options["quiet"]:
        say(f"written to {options['out']}, with manifest.json and summary.html")
