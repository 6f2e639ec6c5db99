"""``linnet tokenize``: the pieces of a text and where they stand, or those of a file as a stream."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from linnet.cli.options import say
from linnet.errors import LinnetError

__all__ = ["tokenize"]

Cut = Callable[[str], list[Any]]


@click.command(short_help="Show the pieces that a tokeniser makes of a text, and their places.")
@click.argument("text", metavar="[TEXT|FILE|-]", required=False)
@click.option(
    "--tokens", default="words", show_default=True, metavar="NAME", help="The tokeniser, or the file of a learned one."
)
@click.option(
    "--case",
    type=click.Choice(["fold", "lower", "keep"]),
    default="fold",
    show_default=True,
    help="How letters are folded.",
)
@click.option("--list", "listing", is_flag=True, help="List the tokenisers, each on an example (or on TEXT).")
@click.option(
    "--train", metavar="DATA", help="Learn the tokeniser (bpe, wordpiece, bpe:2000) from the texts of DATA first."
)
@click.option("--save", metavar="F", help="With --train: write the learned tokeniser to F.")
@click.option("--column", metavar="COL", help="The text column of a file; found by name or content if not given.")
@click.option("--format", "format_", metavar="NAME", help="The form of a file; found by itself if not given.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line a text: text, pieces, offsets.")
def tokenize(
    text: str | None, tokens: str, case: str, listing: bool, train: str | None, save: str | None, column: str | None,
    format_: str | None, as_json: bool,
) -> None:  # fmt: skip
    r"""Show the pieces of one TEXT with their places, or cut every text of a FILE (or standard input: -).

    Files are read as a stream and give one JSON line a text. Places are characters of the original text.

    \b
    linnet tokenize --list
    linnet tokenize "The cat didn't purr." --tokens penn
    linnet tokenize --tokens bpe:2000 --train reviews.csv --save bpe.json "unbelievable"
    linnet tokenize reviews.csv --tokens bpe.json > pieces.jsonl
    """
    from linnet.text.tokenisers import tokeniser

    if save and not train:
        raise LinnetError("--save writes what --train learned; give --train DATA too")
    if listing:
        _list(text, case, as_json)
        return
    if text is None and not train:
        raise LinnetError("there is nothing to cut; give a text in quotes, a file, - for standard input, or --list")
    cut = _learned(tokens, train, save, column, format_) if train else tokeniser(tokens, case)
    if text is None:
        return
    if text == "-" or _is_file(text):
        _stream(text, cut, column, format_)
    elif as_json:
        click.echo(_line(text, cut(text)))
    else:
        _show(text, cut(text), tokens)


def _is_file(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or a zero byte
        return False


def _texts(source: str, column: str | None, format_: str | None) -> Iterator[str]:
    from linnet.data import stream

    for batch in stream(source, text=column, format=format_):
        yield from batch.text.to_pylist()


def _learned(tokens: str, train: str, save: str | None, column: str | None, format_: str | None) -> Cut:
    from linnet.text.subword import Subword
    from linnet.text.tokenisers import budget_of

    kind, size = budget_of(tokens)
    found = Subword.train(kind, _texts(train, column, format_), size)
    if save:
        found.save(save)
    say(f"{kind}: learned {found.size:,} pieces from {train}" + (f", written to {save}" if save else ""))
    return found.tokens


def _line(text: str, found: list[Any]) -> str:
    pieces, offsets = [t.text for t in found], [[t.start, t.end] for t in found]
    return json.dumps({"text": text, "pieces": pieces, "offsets": offsets}, ensure_ascii=False)


def _stream(source: str, cut: Cut, column: str | None, format_: str | None) -> None:
    out = sys.stdout
    for text in _texts(source, column, format_):
        out.write(_line(text, cut(text)).encode("utf-8", "replace").decode() + "\n")


def _show(text: str, found: list[Any], tokens: str) -> None:
    """Print the pieces side by side, then a table of places, in as many columns as the screen is wide."""
    from rich.console import Console
    from rich.table import Table

    from linnet.text.tokenisers import shown

    name = tokens if "." not in tokens else "learned"
    console = Console(highlight=False, markup=False, emoji=False)
    pieces = [shown(t, tokens) for t in found]
    console.print(" | ".join(pieces), soft_wrap=False)
    cells = [(str(k + 1), p, f"{t.start}-{t.end}") for k, (p, t) in enumerate(zip(pieces, found, strict=True))]
    widest = max((len(p) for p in pieces), default=5)
    columns = max(1, min(8, console.width // (widest + 20), -(-len(cells) // 5)))
    table = Table(box=None, pad_edge=False)
    for _ in range(columns):
        table.add_column("", justify="right", style="dim")
        table.add_column("piece", overflow="fold")
        table.add_column("place", style="dim")
    height = -(-len(cells) // columns)
    for row in range(height):
        line = [cells[row + height * c] if row + height * c < len(cells) else ("", "", "") for c in range(columns)]
        table.add_row(*(_plain(cell) for triple in line for cell in triple))
    console.print(table)
    console.print(f"{len(found):,} pieces of {len(text):,} characters, {name}")


def _plain(cell: str) -> Any:
    from rich.text import Text

    return Text(cell)


def _list(text: str | None, case: str, as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from linnet.text.tokenisers import EXAMPLE, TOKENISERS, shown
    from linnet.text.tokens import TOKENS
    from linnet.text.tokens import tokenize as cut

    text = text or EXAMPLE
    examples = {
        name: [shown(t, name) for t in cut(text, name, case)] if name in TOKENS else None for name in TOKENISERS
    }
    if as_json:
        rows = [{"tokens": name, "about": about, "example": examples[name]} for name, about in TOKENISERS.items()]
        click.echo(json.dumps({"text": text, "tokenisers": rows}, ensure_ascii=False, indent=2))
        return
    table = Table(box=None, pad_edge=False, title=text, title_justify="left")
    for heading in ("tokens", "what it cuts", "example"):
        table.add_column(heading, overflow="fold")
    for name, about in TOKENISERS.items():
        pieces = examples[name]
        table.add_row(
            name, _plain(about), _plain("learned first: --train" if pieces is None else " ".join(pieces[:28]))
        )
    Console(highlight=False, emoji=False).print(table)
