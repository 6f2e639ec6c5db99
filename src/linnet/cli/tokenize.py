"""``linnet tokenize``: the pieces of a text and where they stand, or those of a file as a stream."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.output import Notes, echo_json, say, table_lines
from linnet.data.formats import format_by_ending
from linnet.errors import LinnetError, shown
from linnet.text import tokens as tk
from linnet.text.vocabulary import texts_of

Cut = Callable[[str], list[Any]]


@o.command()
@click.argument("text", type=o.InputPath(or_text=True), metavar="[TEXT|FILE|-]", required=False)
@o.token_options
@o.flag("--list listing", "List the tokenisers, each on an example (or on TEXT).")
@o.option("--train", "DATA", "Learn the tokeniser (bpe, wordpiece, bpe:2000) from the texts of DATA first.")
@o.option("--save", "F.json", "With --train: write the learned tokeniser to this file.")
@o.option("--text --column column", "COL", o.TEXT_HELP)
@o.format_
@o.json_flag
def tokenize(text: str | None, tokens: str, case: str, train: str | None, **options: Any) -> None:
    """Show the pieces of one TEXT with their places, or cut every text of a FILE (or standard input: -).

    Files are read as a stream and give one JSON line a text. Places are characters of the original text.

    \b
    linnet tokenize --list
    linnet tokenize "The cat didn't purr." --tokens penn
    linnet tokenize --tokens bpe:2000 --train reviews.csv --save bpe.json "unbelievable"
    linnet tokenize reviews.csv --tokens bpe.json > pieces.jsonl
    """
    if options["save"] and not train:
        raise LinnetError("--save writes what --train learned; give --train DATA too")
    if options["listing"]:
        _list(text, case, options["json_"])
        return
    if text is None and not train:
        raise LinnetError("there is nothing to cut; give a text in quotes, a file, - for standard input, or --list")
    columns = options["column"], options["format_"]
    cut = _learned(tokens, train, options["save"], *columns) if train else tk.tokeniser(tokens, case)
    if text is None:
        return
    if text == "-" or os.path.exists(text):  # noqa: PTH110 - False for what cannot be a name
        _stream(text, cut, *columns)
    elif len(text.split()) == 1 and format_by_ending(text):
        raise LinnetError(f"there is no file {shown(text, 200)}; to cut these letters, send them to: linnet tokenize -")
    elif options["json_"]:
        echo_json(_pieces(text, cut(text)), indent=None)
    else:
        _show(text, cut(text), tokens)


def _learned(tokens: str, train: str, save: str | None, column: str | None, format_: str | None) -> Cut:
    kind, size = tk.budget_of(tokens)
    found = tk.Subword.train(kind, texts_of(train, column, format_, Notes(train)), size)
    if save:
        found.save(save)
    say(f"{kind}: learned {found.size:,} pieces from {train}" + (f", written to {save}" if save else ""))
    return found.tokens


def _pieces(text: str, found: list[Any]) -> dict[str, Any]:
    return {"text": text, "pieces": [t.text for t in found], "offsets": [[t.start, t.end] for t in found]}


def _stream(source: str, cut: Cut, column: str | None, format_: str | None) -> None:
    for text in texts_of(source, column, format_, Notes(source)):
        line = json.dumps(_pieces(text, cut(text)), ensure_ascii=False)
        sys.stdout.write(line.encode("utf-8", "replace").decode() + "\n")


def _show(text: str, found: list[Any], tokens: str) -> None:
    """Print the pieces side by side, then a table of their places."""
    pieces = [tk.shown(t, tokens) for t in found]
    click.echo(" | ".join(pieces))
    cells = [[p, f"{t.start}-{t.end}", str(k)] for k, (p, t) in enumerate(zip(pieces, found, strict=True), 1)]
    click.echo("\n".join(table_lines([["piece", "place", "#"], *cells])))
    name = tokens if "." not in tokens else "learned"
    click.echo(f"{len(found):,} pieces of {len(text):,} characters, {name}")


def _list(text: str | None, case: str, json_: bool) -> None:
    text = text or tk.EXAMPLE
    examples = {
        name: [tk.shown(t, name) for t in tk.tokenize(text, name, case)] if name in tk.TOKENS else None
        for name in tk.TOKENISERS
    }
    if json_:
        rows = [{"tokens": name, "about": about, "example": examples[name]} for name, about in tk.TOKENISERS.items()]
        echo_json({"text": text, "tokenisers": rows})
        return
    click.echo(text)
    for name, about in tk.TOKENISERS.items():
        pieces = examples[name]
        click.echo(f"{name:<12} {about}")
        click.echo(f"{'':<12} {'learned first: --train' if pieces is None else ' '.join(pieces[:28])}")
