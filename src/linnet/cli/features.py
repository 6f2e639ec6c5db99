"""``linnet features``: the feature blocks with an example of each, and what a model would see of a text."""

from __future__ import annotations

from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.output import echo_json
from linnet.data.input_file import stdin
from linnet.errors import LinnetError
from linnet.errors import shown as printable

WIDTH = 100


@o.command()
@click.argument("blocks", required=False, callback=o.look_here)
@click.argument("text", required=False)
@o.json_flag
@o.columns
@o.trust
@o.flag("--all all_", "Show every piece; by default the first ones of each block.")
def features(
    blocks: str | None, text: str | None, json_: bool, columns: tuple[str, ...], trust: bool, all_: bool
) -> None:
    """List the feature blocks, each with an example; or show what BLOCKS make of TEXT.

    BLOCKS is what --features of linnet train takes, or a .linnet file: then its own blocks. TEXT is a text, or - to
    read one from standard input. The pieces are followed by what the tokeniser changes: letters folded, characters
    dropped.

    \b
    linnet features
    linnet features words:1-2+negated:1 "not bad, really"
    linnet features reviews.linnet "Isn't it GREAT?"
    """
    from linnet.features.showing import SENTENCE, changes, seen

    if blocks is None:
        _list(json_)
        return
    if text == "-":
        text = stdin().read().decode("utf-8", "replace").rstrip("\n")
    shown_text = SENTENCE if text is None else text
    found = _blocks(blocks, trust)
    shown = seen(o.text_or_row(shown_text, columns), found)
    changed = changes(shown_text, *_cutting(found))
    if json_:
        found_blocks = [s.to_dict() for s in shown]
        echo_json({"text": shown_text, "blocks": found_blocks, "changes": [c._asdict() for c in changed]})
        return
    click.echo(f"text     {shown_text}")
    for block in shown:
        _show(block, None if all_ else 40)
    click.echo("\nwhat the tokeniser changes" + ("" if changed else ": nothing"))
    for change in changed:
        click.echo(f"  {change}")


def _list(json_: bool) -> None:
    """Print every block with an example on one sentence."""
    from linnet.features.blocks import BLOCKS, COMPUTED, DERIVED
    from linnet.features.showing import EXAMPLES, SENTENCE, Shown, seen

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
        click.echo(f"{name:<10} {what}")
        click.echo(f"           {example}" + ("" if shown is None else f"   {_line(shown, WIDTH - 16 - len(example))}"))


def _line(shown: Any, width: int) -> str:
    """Return as many pieces or values as fit on a line."""
    parts = [f"{name} = {value:.2f}" for name, value in shown.values]
    parts += [_blanks(p.name) for p in shown.pieces] + ([f"({shown.note})"] if shown.note else [])
    line = " | ".join(parts)
    return line if len(line) <= width or shown.note else line[: line.rfind(" | ", 0, width - 2)] + " | …"


def _show(shown: Any, most: int | None) -> None:
    if shown.note:
        click.echo(f"\n{shown.block}\n  {shown.note}")
        return
    if shown.values:
        click.echo(f"\n{shown.block}")
        for name, value in shown.values:
            click.echo(f"  {value:>10.4f}  {name}")
        return
    total = sum(p.count for p in shown.pieces)
    click.echo(f"\n{shown.block}   {total:,} pieces, {len(shown.pieces):,} different")
    names = [_blanks(p.name) + (f" x{p.count}" if p.count > 1 else "") for p in shown.pieces[:most]]
    more = len(shown.pieces) - len(names)
    click.echo("  " + " | ".join(names) + (f" | and {more:,} more (--all)" if more else ""))


def _blanks(name: str) -> str:
    """Make blanks at the edges visible, and what cannot be printed too."""
    from linnet.features.counting import shown

    return printable(shown(name), 1000)


def _blocks(text: str, trust: bool) -> Any:
    from linnet.features.blocks import as_blocks

    if not text.endswith(".linnet"):
        return as_blocks(text)
    from linnet.model.model import Model

    model = Model.load(text, trust=trust)
    return (*model.blocks, *model.computed)


def _cutting(blocks: Any) -> tuple[str, str]:
    """Return how the first block that counts in the text itself cuts and folds."""
    first = next((b for b in blocks if hasattr(b, "tokens") and getattr(b, "source", None) is None), None)
    return ("words", "fold") if first is None else (first.tokens, first.case)
