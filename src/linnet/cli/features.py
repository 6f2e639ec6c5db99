"""``linnet features``: the feature blocks with an example of each, and what a model would see of a text."""

from __future__ import annotations

from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.output import echo_json
from linnet.data.input_file import stdin
from linnet.errors import LinnetError
from linnet.errors import shown as printable
from linnet.features.blocks import BLOCKS, COMPUTED, DERIVED, as_blocks
from linnet.features.counting import shown as visible
from linnet.features.showing import EXAMPLES, SENTENCE, Shown, changes, seen
from linnet.model.model import Model


@o.command()
@click.argument("blocks", required=False, callback=o.look_here)
@click.argument("text", required=False)
@o.json_flag
@o.columns
@o.trust
@o.flag("--all all_", "Show every piece; by default the first ones of each block.")
def features(blocks: str | None, text: str | None, **options: Any) -> None:
    """List the feature blocks, each with an example; or show what BLOCKS make of TEXT.

    BLOCKS is what --features of linnet train takes, or a .linnet file: then its own blocks. TEXT is a text, or - to
    read one from standard input. The pieces are followed by what the tokeniser changes: letters folded, characters
    dropped.

    \b
    linnet features
    linnet features words:1-2+negated:1 "not bad, really"
    linnet features reviews.linnet "Isn't it GREAT?"
    """
    if blocks is None:
        _list(options["json_"])
        return
    if text == "-":
        text = stdin().read().decode("utf-8", "replace").rstrip("\n")
    shown_text = SENTENCE if text is None else text
    found = _blocks(blocks, options["trust"])
    shown = seen(o.text_or_row(shown_text, options["columns"]), found)
    changed = changes(shown_text, *_cutting(found))
    if options["json_"]:
        content = {"blocks": [block.to_dict() for block in shown], "changes": [c._asdict() for c in changed]}
        echo_json({"text": shown_text, **content})
        return
    most = None if options["all_"] else 40
    click.echo(f"text     {shown_text}")
    for block in shown:
        counts = [piece.count for piece in block.pieces]
        sizes = f"   {sum(counts):,} pieces, {len(counts):,} different" if counts else ""
        click.echo(f"\n{block.block}{sizes}\n  {_line(block, most)}")
    click.echo("\nwhat the tokeniser changes" + ("" if changed else ": nothing"))
    for change in changed:
        click.echo(f"  {change}")


def _list(json_: bool) -> None:
    """Print every block with an example on one sentence."""
    rows = []
    for name in [*BLOCKS, *DERIVED, *COMPUTED]:
        example, what = EXAMPLES[name]
        try:
            shown = None if name == "lists" else seen(SENTENCE, example)[0]
        except LinnetError as error:  # an extra is not installed
            shown = Shown(example, note=str(error))
        rows.append((name, example, what, shown))
    if json_:
        content = [
            {"block": name, "example": example, "about": what, "shows": None if shown is None else shown.to_dict()}
            for name, example, what, shown in rows
        ]
        echo_json({"text": SENTENCE, "blocks": content})
        return
    click.echo(f"Blocks for --features, joined by +; each with what it makes of: {SENTENCE}\n")
    for name, example, what, shown in rows:
        click.echo(f"{name:<10} {what}\n           {example}" + ("" if shown is None else f"   {_line(shown, 6)}"))


def _line(shown: Any, most: int | None) -> str:
    """Return pieces with their counts, or values; blanks at the edges of a piece are made visible."""
    parts = [f"{name} = {value:.4f}" for name, value in shown.values]
    parts += [printable(visible(p.name), 1000) + (f" x{p.count}" if p.count > 1 else "") for p in shown.pieces]
    more = f" | and {len(parts[most:]):,} more" if most and parts[most:] else ""
    return str(shown.note or " | ".join(parts[:most]) + more)


def _blocks(text: str, trust: bool) -> Any:
    if not text.endswith(".linnet"):
        return as_blocks(text)
    model = Model.load(text, trust=trust)
    return (*model.blocks, *model.computed)


def _cutting(blocks: Any) -> tuple[str, str]:
    """Return how the first block that counts in the text itself cuts and folds."""
    first = next((b for b in blocks if hasattr(b, "tokens") and getattr(b, "source", None) is None), None)
    return ("words", "fold") if first is None else (first.tokens, first.case)
