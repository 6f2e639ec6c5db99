"""``linnet filter``: a corpus in, the rows worth keeping out, with counts that add up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.output import ProgressBars, echo_json, say
from linnet.errors import LinnetError, shown
from linnet.text import clean as cleaning
from linnet.values import as_bytes, parse_list


@o.command("model", name="filter")
@click.argument("inputs", type=o.InputPath(), metavar="INPUT...", nargs=-1, required=True)
@o.option("-o --out", "DIR", "A new folder, or one that holds this run, unfinished.", required=True)
@o.many("--keep", "LABEL", "Keep rows of this label.")
@o.many("--min least", "P", "The probability that the label must have: once, or once for each --keep.", type=float)
@o.option("--top", "SHARE", "Keep the best share, such as 10%, by the probability of --keep.")
@o.option("--of", "UNIT", "A share of documents, characters or tokens.", default="documents", show_default=True)
@o.option("--quota", "N", "Keep the best N rows of each value of the column --by.", type=int)
@o.option("--by", "COL", "The column of a quota (for web archives: host, url, language).")
@o.text_options
@o.option("--clean", "A,B", "Clean texts first, with rules of `linnet clean`; 'default' for its defaults.")
@o.flag("--c4", "Drop pages by the C4 rules first.")
@o.flag("--proba", "Write the probability of every label, not only of --keep.")
@o.option("--prefix", "TEXT", "Of the names of the new columns.", default="linnet_", show_default=True)
@o.engine("local")
@o.scheduler
@o.threads
@o.max_memory()
@o.option("--timeout", "SECONDS", "A worker that takes longer for a shard is replaced.", type=float)
@o.number("--retries", "More attempts for a shard.", 2, 0)
@o.number("--max-bad", "Stop at more bad shards (10, or a tenth of all).", least=0)
@o.flag("--restart", "Throw away what DIR holds of an earlier run.")
@o.trust
@o.json_flag
@o.quiet
def filter_(model: str, inputs: tuple[str, ...], **options: Any) -> None:
    """Score every row of INPUT with MODEL and write those worth keeping to DIR, a file a shard.

    INPUT are files, folders or patterns, in any format that linnet reads, compressed or not. The output has the same
    format and schema plus the label and the probabilities. Started again after a crash, it goes on where it stopped.

    \b
    linnet filter quality.linnet 'crawl/*.parquet' --out kept --keep good --min 0.9
    linnet filter quality.linnet crawl --out kept --keep good --top 10% --of tokens
    linnet filter topics.linnet crawl --out kept --keep law --min 0.8 --keep medicine --min 0.6
    linnet filter quality.linnet *.warc.wet.gz --out kept --keep good --quota 1000 --by host
    """
    from linnet.engines import open_engine
    from linnet.filter.filtering import filter_corpus
    from linnet.filter.settings import filter_shards

    rule = _rule(options)
    shards = filter_shards(inputs, options["format_"])
    workers, threads = _share_out(options, len(shards), model)
    if options["scheduler"] and options["engine"] == "local":
        raise LinnetError("--scheduler is for --engine dask or spark")
    settings: dict[str, Any] = {"retries": options["retries"], "timeout": options["timeout"], "threads": threads}
    settings |= {"scheduler": options["scheduler"]} if options["scheduler"] else {"workers": workers}
    given = options["clean"]
    clean = None if given is None else list(cleaning.DEFAULT) if given == "default" else parse_list(given)
    pages = [name for name in cleaning.C4 if name != "badwords"] if options["c4"] else None
    with FilterProgressBars(options["quiet"]) as progress, open_engine(options["engine"], **settings) as engine:
        manifest = filter_corpus(
            model, inputs, options["out"], rule, text=options["text"], format=options["format_"], clean=clean, pages=pages,
            proba=options["proba"], prefix=options["prefix"], engine=engine, threads=threads, max_bad=options["max_bad"],
            restart=options["restart"], on_progress=progress, trust=options["trust"],
        )  # fmt: skip
    _print_totals(manifest, options, progress)


def _rule(options: dict[str, Any]) -> Any:
    from linnet.filter.settings import Rule, percent

    keep, least = options["keep"], options["least"]
    if len(set(keep)) < len(keep):
        raise LinnetError("--keep names a label twice")
    if len(least) not in (0, 1, len(keep)):
        raise LinnetError(f"--min is given {len(least)} times for {len(keep)} labels; give it once, or for each --keep")
    floors = [None] * len(keep) if not least else list(least) * (len(keep) if len(least) == 1 else 1)
    top = None if options["top"] is None else percent(options["top"])
    return Rule(dict(zip(keep, floors, strict=True)), top, options["of"], options["quota"], options["by"])


def _share_out(options: dict[str, Any], shards: int, model: str) -> tuple[int, int]:
    """How many workers, and how many threads each: as many workers as there are shards for, the rest as threads."""
    from linnet.features.counting import thread_count

    cores = thread_count(options["threads"])
    workers = max(1, min(cores, shards))
    if options["max_memory"]:
        each = WORKER_MEMORY + (Path(model).stat().st_size if Path(model).is_file() else 0)
        fit = (as_bytes(options["max_memory"], "--max-memory") - DRIVER_MEMORY) // each
        if fit < 1:
            given, need = options["max_memory"], (DRIVER_MEMORY + each) >> 20
            raise LinnetError(f"--max-memory {given} is too little: one worker and its driver need {need} MB")
        workers = min(workers, fit)
    return workers, max(1, cores // workers)


WORKER_MEMORY = 300 << 20  # batches, decoded pages, the row group that is being written
DRIVER_MEMORY = 150 << 20


def _print_totals(manifest: dict[str, Any], options: dict[str, Any], progress: FilterProgressBars) -> None:
    if options["json_"]:
        shown = {k: v for k, v in manifest.items() if k not in ("by_shard", "histograms", "settings")}
        seconds = round(time.perf_counter() - progress.began, 3)
        echo_json({**shown, "seconds": seconds, "bytes_read": progress.read})
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
        say(f"{len(manifest['bad_shards'])} bad shards, see {options['out']}/_quarantine/shards.json; the first: "
            f"{manifest['bad_shards'][0]['name']}: {manifest['bad_shards'][0]['reason']}")  # fmt: skip
    if not options["quiet"]:
        say(f"written to {options['out']}, with _manifest.json and _summary.html")


class FilterProgressBars(ProgressBars):
    """The events of a run: a bar of bytes on a terminal, plain lines elsewhere."""

    every = 5.0

    total = done = shards = finished = read = 0

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if error[0] is KeyboardInterrupt:
            done = f"{self.finished:,} of {self.shards:,} shards done"
            self.line(f"{done}; the same command goes on where this one stopped")

    def __call__(self, news: Any) -> None:
        """Show an event."""
        if news.kind == "stage":
            self.total, self.done, self.shards, self.finished = news.bytes, 0, news.shards, 0
            resumed = f", {news.resumed:,} done before" if news.resumed else ""
            link = f"; workers: {news.dashboard}" if news.dashboard else ""
            self.line(f"{news.stage} {news.shards:,} shards, {news.bytes / 1e6:,.1f} MB{resumed}{link}")
            self.stage(news.stage, max(1, news.bytes))
        elif news.kind == "shard" and news.record is not None:
            self.finished += 1
            self.done += news.shard.size
            self.read += news.shard.size
            if "reason" in news.record:
                self.line(f"bad shard {news.shard.name}: {news.record['reason']}")
            for note in news.record.get("notes", ()):
                say(f"{shown(news.shard.name, 200)}: {note}")
            rate = f"{self.done / 1e6 / max(1e-9, time.perf_counter() - self.stage_began):,.1f} MB/s"
            line = f"  {self.finished:,} of {self.shards:,} shards, {rate}"
            self.update(self.done, self.total, rate, line=line)
        elif news.happening is not None and news.happening.again:  # what is final is said by the run itself
            self.line(f"{news.happening.worker}: {news.shard.name}: {news.happening.detail}; trying again")
