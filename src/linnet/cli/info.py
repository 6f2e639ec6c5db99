"""``linnet info``: what is in a model file."""

from __future__ import annotations

from pathlib import Path

import click

from linnet.cli import options as o
from linnet.cli.files import InputFile, command
from linnet.cli.output import echo_json
from linnet.errors import shown
from linnet.units import size_text

__all__ = ["info"]


@command(short_help="Show what is in a model file.")
@click.argument("model", type=InputFile())
@o.number("--top", "How many features to show a class.", 10, 0)
@o.json_flag
def info(model: str, top: int, json_: bool) -> None:
    """Show the card of MODEL: data, settings, what was tried, and the weightiest features of each class."""
    from linnet.explain import top_features
    from linnet.model.model import Model

    found = Model.load(model, verify=True, names_only=True)  # looking at a file imports nothing
    card = dict(found.card)
    if json_:
        echo_json(card)
        return
    sizes = f"{found.n_features:,} features, {len(found.classes)} classes"
    click.echo(f"{model}: {size_text(Path(model).stat().st_size)}, {sizes}, checksum right")
    data = card["data"]
    click.echo(f"trained on {data['rows_fitted']:,} rows of {data['source']} by linnet {card['linnet']}")
    click.echo("settings: " + ", ".join(f"{k}={v}" for k, v in card["settings"].items() if v is not None))
    choice = card["choice"]
    tried = f"{choice['folds']} fold(s), {len(choice['tried'])} settings tried"
    click.echo(f"dev accuracy {choice['accuracy']:.4f} on {choice['rows']:,} rows, {tried}")
    code = [name for block in found.computed for name in getattr(block, "paths", ())]
    if code:
        click.echo("calls functions that are not in the file: " + ", ".join(map(shown, code)))
    for label in found.classes[: 20 if top else 0]:
        click.echo(f"  {label}: " + ", ".join(name for name, _ in top_features(found, label, top)))
