"""``linnet clean``: a corpus in, a cleaner one out, and an account of what every rule removed."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from linnet.cli.options import say
from linnet.errors import LinnetError, nearest
from linnet.units import as_bytes

__all__ = ["clean"]


@click.command(short_help="Clean texts, filter pages, remove duplicates; says what every rule did.")
@click.argument("inputs", metavar="INPUT...", nargs=-1)
@click.option(
    "--out",
    metavar="F",
    help="Write to F (.csv, .tsv or .jsonl, also .gz or .zst; .parquet); JSON lines on standard output by default.",
)
@click.option("--text", metavar="COL", help="The text column; found by name or content if not given.")
@click.option("--format", "format_", metavar="NAME", help="The form of the input; found by itself if not given.")
@click.option(
    "--rules",
    metavar="A,B=X",
    help="Instead of html,unicode,control,urls,emails,whitespace; 'none' for none. --list-rules lists them.",
)
@click.option("--c4", is_flag=True, help="Add all C4 rules for web pages, with repeated three-sentence spans.")
@click.option("--without", metavar="A,B", help="Leave rules out.")
@click.option("--bad-words", metavar="FILE", help="Remove documents with a word of this list, one a line.")
@click.option("--dedup", metavar="KINDS", help="Remove duplicates: exact, near, spans, or several with commas.")
@click.option(
    "--same",
    default="exact",
    show_default=True,
    metavar="HOW",
    help="What exact duplicates share: exact, spaces (white space aside), words (case and signs aside).",
)
@click.option(
    "--threshold",
    default=0.8,
    show_default=True,
    type=float,
    metavar="SHARE",
    help="Near duplicates share this much of their word shingles.",
)
@click.option(
    "--max-memory",
    default="256M",
    show_default=True,
    metavar="SIZE",
    help="For the search of repeated keys; never changes the result.",
)
@click.option("--temp", metavar="DIR", help="Where files go that wait between two passes.")
@click.option("--removed", metavar="F", help="Write removed documents to F, with the rule that removed them.")
@click.option("--report", metavar="F", help="Write what every rule did, with samples, to F (.json, .html, .txt).")
@click.option("--json", "json_", is_flag=True, help="Print the report as JSON (needs --out).")
@click.option("--list-rules", is_flag=True, help="List the rules and leave.")
@click.option("--quiet", "-q", is_flag=True, help="No news.")
def clean(inputs: tuple[str, ...], **options: Any) -> None:
    """Clean every document of INPUT, and say what every rule removed. All columns are kept.

    INPUT may be larger than memory, of any format that linnet reads, or - for standard input.

    \b
    linnet clean reviews.csv --out clean.csv
    linnet clean pages.jsonl.gz --c4 --out kept.parquet --removed gone.jsonl --report report.html
    linnet clean tweets.csv --rules urls=URL,emails=EMAIL,numbers=0 --dedup exact,near --out clean.jsonl
    """  # noqa: D301 - click wants the character
    if options["list_rules"]:
        click.echo(_listed())
        return
    if not inputs:
        raise LinnetError("no input; give files, or - for standard input")
    if options["json_"] and options["out"] in (None, "-"):
        raise LinnetError("--json prints the report where the rows would go; give --out F for the rows")
    corpus = _corpus(options)
    _check_outputs(inputs, options)
    try:
        _tell(_run(inputs, corpus, options), options)
    except BrokenPipeError:  # the reader of our output has gone: not our error (click would exit 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _listed() -> str:
    from linnet.text.clean import C4, RULES
    from linnet.text.clean.corpus import DEDUP
    from linnet.text.clean.rules import DEFAULT

    lines = ["characters (* by default; NAME=WORD puts a word in place of urls, emails, numbers)"]
    lines += [f"{'*' if name in DEFAULT else ' '} {name:<12} {rule.about}" for name, rule in RULES.items()]
    lines += ["pages (all with --c4)", *(f"  {name:<12} {rule.about}" for name, rule in C4.items())]
    lines += ["duplicates (--dedup)", *(f"  {name:<12} {about}" for name, about in DEDUP.items())]
    return "\n".join(lines)


def _corpus(options: dict[str, Any]) -> Any:
    """Turn the options into what to do; everything wrong with them is said before anything is read."""
    from linnet.text.clean import C4, RULES
    from linnet.text.clean.corpus import DEDUP, Corpus
    from linnet.text.clean.rules import DEFAULT

    given = options["rules"]
    named = list(DEFAULT) if given is None else [] if given == "none" else _parts(given)
    dedup = _parts(options["dedup"])
    text = [spec for spec in named if _name(spec) in RULES]
    pages = [spec for spec in named if _name(spec) in C4]
    known = [*RULES, *C4, *DEDUP]
    for spec in [*named, *_parts(options["without"])]:
        if _name(spec) not in known:
            raise LinnetError(nearest("rule", _name(spec), known))
    dedup += [spec for spec in named if _name(spec) in DEDUP]
    if options["c4"]:
        pages += [name for name in C4 if name not in map(_name, pages)]
        dedup.append("spans")
    if options["bad_words"]:
        pages = [spec for spec in pages if spec != "badwords"] + [f"badwords={options['bad_words']}"]
    out = set(_parts(options["without"]))
    text, pages, dedup = ([spec for spec in specs if _name(spec) not in out] for specs in (text, pages, dedup))
    return Corpus(
        text, pages or None, dedup, same=options["same"], threshold=options["threshold"],
        max_memory=as_bytes(options["max_memory"], "--max-memory"), folder=options["temp"],
    )  # fmt: skip


def _parts(value: str | None) -> list[str]:
    return [part.strip() for part in (value or "").split(",") if part.strip()]


def _name(spec: str) -> str:
    return spec.partition("=")[0].strip()


def _check_outputs(inputs: tuple[str, ...], options: dict[str, Any]) -> None:
    from linnet.data.writers import format_to_write

    names = [options[key] for key in ("out", "removed", "report") if options[key] not in (None, "-")]
    for name in names:
        path = Path(name)
        if path.is_dir():
            raise LinnetError(f"{name}: is a folder; give a file name")
        if not path.parent.is_dir():
            raise LinnetError(f"{name}: the folder {path.parent} does not exist; make it first")
        if any(Path(given).exists() and path.exists() and path.samefile(given) for given in inputs if given != "-"):
            raise LinnetError(f"{name}: is also an input; write to another file")
    if len({Path(name).resolve() for name in names}) < len(names):
        raise LinnetError("--out, --removed and --report must be different files")
    for key in ("out", "removed"):
        if options[key] not in (None, "-"):
            format_to_write(options[key])
    if options["report"] is not None and Path(options["report"]).suffix.lower() not in (".json", ".html", ".txt"):
        raise LinnetError(f"--report {options['report']}: end its name in .json, .html or .txt")
    if options["removed"] == "-" and options["out"] in (None, "-"):
        raise LinnetError("--out and --removed cannot both be standard output")


def _run(inputs: tuple[str, ...], corpus: Any, options: dict[str, Any]) -> Any:
    from linnet.data.writers import open_writer

    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open_writer(options["out"]))
        aside = stack.enter_context(open_writer(options["removed"])) if options["removed"] else None
        progress = stack.enter_context(_Progress(inputs, options["quiet"]))
        batches = _batches(inputs, options, progress)
        report = corpus.run(batches, out.write, aside.write if aside else None, progress)
    if out.left_out:
        say(f"columns that the first rows do not have were left out: {', '.join(sorted(out.left_out))}")
    return report


def _batches(inputs: tuple[str, ...], options: dict[str, Any], progress: _Progress) -> Iterator[Any]:
    from linnet.data.streaming import stream_rows

    for source in inputs:
        first = True
        for batch in stream_rows(source, text=options["text"], format=options["format_"]):
            if first:
                progress.line(f"{batch.source}: text column '{batch.text_column}' ({batch.choice.why_text})")
                first = False
            yield batch


class _Progress:
    """News of a run: on a terminal a line that counts, with an estimate of the time left; elsewhere a line a stage."""

    def __init__(self, inputs: tuple[str, ...], quiet: bool) -> None:
        self.quiet, self.live = quiet, sys.stderr.isatty() and not quiet
        self.total = sum(Path(name).stat().st_size for name in inputs if Path(name).is_file())
        plain = all(Path(name).suffix.lower() in (".csv", ".tsv", ".jsonl", ".ndjson", ".txt") for name in inputs)
        self.total = self.total if plain else 0  # packed sizes say little
        self.stage, self.documents, self.size = "", 0, 0
        self.began = self.shown = time.perf_counter()

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        if self.live and self.stage:
            click.echo("\r\033[K", nl=False, err=True)

    def line(self, text: str) -> None:
        """Say a line."""
        if not self.quiet:
            self._end()
            say(text)

    def __call__(self, stage: str, documents: int, size: int) -> None:
        if stage != self.stage:
            if self.stage:
                self.line(stage)
            self.stage, self.documents, self.size = stage, 0, 0
            self.began = time.perf_counter()
        self.documents += documents
        self.size += size
        now = time.perf_counter()
        if self.live and now - self.shown > 0.2:
            self.shown = now
            click.echo(f"\r\033[K{stage}: {self.documents:,} documents{self._left(now)}", nl=False, err=True)

    def _left(self, now: float) -> str:
        if not self.total or not 0 < self.size < self.total:
            return ""
        left = (now - self.began) * (self.total - self.size) / self.size
        return f", about {left:.0f} s left" if left >= 1 else ""


def _tell(report: Any, options: dict[str, Any]) -> None:
    if options["report"]:
        path = Path(options["report"])
        kind = path.suffix.lower()
        content = (
            json.dumps(report.to_dict(), indent=2, ensure_ascii=False) + "\n"
            if kind == ".json"
            else report.html() if kind == ".html" else report.text(samples=5, width=160) + "\n"
        )  # fmt: skip
        from linnet.files import write_atomic

        write_atomic(path, content)
    if options["json_"]:
        click.echo(json.dumps(report.to_dict(), indent=2, ensure_ascii=False))
    elif options["out"] not in (None, "-"):
        click.echo(report.text())
    elif not options["quiet"]:
        say(report.text())
