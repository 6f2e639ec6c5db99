"""``linnet clean``: a corpus in, a cleaner one out, and an account of what every rule removed."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.output import Notes, ProgressBars, echo_json, say
from linnet.errors import LinnetError, check_choice
from linnet.text import clean as cleaning
from linnet.values import as_bytes, parse_list


@o.command()
@click.argument("inputs", type=o.InputPath(), metavar="INPUT...", nargs=-1)
@o.option(
    "-o --out", "F", "Write to F (.csv, .tsv, .jsonl, also .gz or .zst; .parquet); else JSON lines on standard output."
)
@o.text_options
@o.option("--rules", "A,B=X", "Instead of html,unicode,control,urls,emails,whitespace; 'none', or of --list-rules.")
@o.flag("--c4", "Add all C4 rules for web pages, with repeated three-sentence spans.")
@o.option("--without", "A,B", "Leave rules out.")
@o.option("--bad-words", "FILE", "Remove documents with a word of this list, one a line.")
@o.option("--dedup", "A,B", "Remove duplicates: exact, near, spans.")
@o.option(
    "--same", "HOW", "What exact duplicates share: exact, spaces (white space aside), words (case and signs aside).",
    default="exact", show_default=True,
)  # fmt: skip
@o.option("--threshold", "SHARE", "The share of word shingles of near duplicates.", default=0.8, show_default=True)
@o.max_memory("256M")
@o.option("--temp", "DIR", "Where files go that wait between two passes.")
@o.option("--removed", "F", "Write removed documents to F, with the rule that removed them.")
@o.option("--report", "F", "Write what every rule did, with samples, to F (.json, .html, .txt).")
@o.json_flag
@o.flag("--list-rules", "List the rules and leave.")
@o.quiet
def clean(inputs: tuple[str, ...], **options: Any) -> None:
    """Clean every document of INPUT, and say what every rule removed. All columns are kept.

    INPUT may be larger than memory, of any format that linnet reads, or - for standard input. --max-memory is for the
    search of duplicates and never changes the result; --json needs --out.

    \b
    linnet clean reviews.csv --out clean.csv
    linnet clean pages.jsonl.gz --c4 --out kept.parquet --removed gone.jsonl --report report.html
    linnet clean tweets.csv --rules urls=URL,emails=EMAIL,numbers=0 --dedup exact,near --out clean.jsonl
    """
    if options["list_rules"]:
        click.echo(_rules_text())
        return
    if not inputs:
        raise LinnetError("no input; give files, or - for standard input")
    if options["json_"] and options["out"] in (None, "-"):
        raise LinnetError("--json prints the report where the rows would go; give --out F for the rows")
    corpus = _corpus(options)
    _check_outputs(options)
    _print_report(_run(inputs, corpus, options), options)


def _rules_text() -> str:
    lines = ["characters (* by default; NAME=WORD puts a word in place of urls, emails, numbers)"]
    lines += [
        f"{'*' if name in cleaning.DEFAULT else ' '} {name:<12} {rule.about}" for name, rule in cleaning.RULES.items()
    ]
    lines += ["pages (all with --c4)", *(f"  {name:<12} {rule.about}" for name, rule in cleaning.C4.items())]
    lines += ["duplicates (--dedup)", *(f"  {name:<12} {about}" for name, about in cleaning.DEDUP.items())]
    return "\n".join(lines)


def _corpus(options: dict[str, Any]) -> Any:
    """Turn the options into what to do; everything wrong with them is said before anything is read."""
    given = options["rules"]
    named = list(cleaning.DEFAULT) if given is None else [] if given == "none" else parse_list(given)
    specs = {spec.partition("=")[0].strip(): spec for spec in [*named, *parse_list(options["dedup"])]}
    without, groups = parse_list(options["without"]), (cleaning.RULES, cleaning.C4, cleaning.DEDUP)
    for name in [*specs, *without]:
        check_choice("rule", name, [known for group in groups for known in group], LinnetError)
    if options["c4"]:
        specs = {name: name for name in (*cleaning.C4, "spans")} | specs
    if options["bad_words"]:
        specs["badwords"] = f"badwords={options['bad_words']}"
    kept = {name: spec for name, spec in specs.items() if name not in without}
    text, pages, dedup = ([spec for name, spec in kept.items() if name in group] for group in groups)
    return cleaning.Corpus(
        text, pages or None, dedup, same=options["same"], threshold=options["threshold"],
        max_memory=as_bytes(options["max_memory"], "--max-memory"), folder=options["temp"],
    )  # fmt: skip


def _check_outputs(options: dict[str, Any]) -> None:
    if options["report"] is not None and Path(options["report"]).suffix.lower() not in (".json", ".html", ".txt"):
        raise LinnetError(f"--report {options['report']}: end its name in .json, .html or .txt")
    if options["removed"] == "-" and options["out"] in (None, "-"):
        raise LinnetError("--out and --removed cannot both be standard output")


def _run(inputs: tuple[str, ...], corpus: Any, options: dict[str, Any]) -> Any:
    from linnet.data.writers import open_writer

    removed: Any = open_writer(options["removed"]) if options["removed"] else contextlib.nullcontext()
    with open_writer(options["out"]) as out, removed as aside, CleaningProgress(options["quiet"]) as progress:
        batches = _batches(inputs, options, progress)
        report = corpus.run(batches, out.write, aside.write if aside else None, progress)
    if out.left_out:
        say(f"columns that the first rows do not have were left out: {', '.join(sorted(out.left_out))}")
    return report


def _batches(inputs: tuple[str, ...], options: dict[str, Any], progress: CleaningProgress) -> Iterator[Any]:
    from linnet.data.reading import stream_rows

    for source in inputs:
        say_notes = Notes(source)
        for k, batch in enumerate(stream_rows(source, text=options["text"], format=options["format_"])):
            if k == 0:
                progress.line(f"{batch.reader.source}: text column '{batch.text_column}' ({batch.choice.why_text})")
            say_notes(*batch.reader.notes)
            yield batch


class CleaningProgress(ProgressBars):
    """The stages of a run: a bar on a terminal, a line a stage elsewhere."""

    name, documents = "", 0

    def __call__(self, stage: str, documents: int) -> None:
        """Count the documents of a stage."""
        if stage != self.name:
            if self.name:
                self.line(stage)
            self.name, self.documents = stage, 0
            self.stage(stage)
        self.documents += documents
        self.update(self.documents, note=f"{self.documents:,} documents")


def _print_report(report: Any, options: dict[str, Any]) -> None:
    if options["report"]:
        from linnet.files import write_atomic

        path = Path(options["report"])
        as_json = json.dumps(report.to_dict(), indent=2, ensure_ascii=False) + "\n"
        pages = {".json": as_json, ".html": report.html(), ".txt": report.text(samples=5, width=160) + "\n"}
        write_atomic(path, pages[path.suffix.lower()])
    if options["json_"]:
        echo_json(report.to_dict())
    elif options["out"] not in (None, "-"):
        click.echo(report.text())
    elif not options["quiet"]:
        say(report.text())
