"""``linnet info``: what is in a model file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from linnet.cli import options as o
from linnet.cli.output import echo, echo_json
from linnet.errors import shown
from linnet.model.card import card_parts
from linnet.values import size_text


@o.command("model")
@o.number("--top", "How many features to show a class.", 10, 0)
@o.flag("--card", "Print the card as Markdown: data, settings, scores, checksums, the command.")
@o.json_flag
def info(model: str, top: int, card: bool, json_: bool) -> None:
    """Show the card of MODEL: data, settings, how settings were chosen, and the weightiest features of each class."""
    from linnet.explain import top_features
    from linnet.model.file import version_in_use
    from linnet.model.model import Model

    model = str(version_in_use(model))
    found = Model.load(model, verify=True, names_only=True)  # looking at a file imports nothing
    about = dict(found.card)
    if json_:
        echo_json(about)
        return
    if card:
        for line in markdown(Path(model).name, about):
            echo(line)
        return
    sizes = f"{found.n_features:,} features, {len(found.classes)} classes"
    made = f"checksum right, by linnet {shown(about.get('linnet', '?'), 20)}"
    echo(f"{shown(model, 300)}: {size_text(Path(model).stat().st_size)}, {sizes}, {made}")
    for part, rows in card_parts(about):
        echo(f"{part}: " + "; ".join(f"{name} {text}" for name, text in rows.items() if "sha256" not in name))
    for line in found.decision.describe(found.classes):
        echo(line)
    if found.learned is not None:
        echo(f"keeps counts to go on learning from: {size_text(found.learned.nbytes)}")
    code = [name for block in found.computed for name in getattr(block, "paths", ())]
    if code:
        echo("calls functions that are not in the file: " + ", ".join(map(shown, code)))
    for label in found.classes[: 20 if top else 0]:
        echo(f"  {shown(label)}: " + ", ".join(shown(name) for name, _ in top_features(found, label, top)))


def markdown(name: str, card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the card as Markdown: a table for each part."""
    yield f"# {name}"
    if card.get("command"):
        yield from ("", "```", str(card["command"]), "```")
    for part, rows in card_parts(card):
        yield from ("", f"## {part.capitalize()}", "", "| | |", "|---|---|")
        for row in rows.items():
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield from ("", f"Made by linnet {card.get('linnet', '?')}.")
