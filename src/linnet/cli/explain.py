"""``linnet explain``: why a text gets its label."""

from __future__ import annotations

import json
import os
import sys

import click

from linnet.cli.options import beside, row_of
from linnet.errors import LinnetError

__all__ = ["explain"]


@click.command(short_help="Show why a text gets its label, word by word.")
@click.argument("model")
@click.argument("text", default="-")
@click.option("--label", metavar="LABEL", help="Explain the score of this label instead of the predicted one.")
@beside
@click.option("--top", default=12, show_default=True, type=click.IntRange(1), help="How many contributions to show.")
@click.option("--color/--no-color", default=None, help="Colour the words; by default on a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--html", "as_html", is_flag=True, help="Print an HTML fragment.")
def explain(
    model: str, text: str, label: str | None, beside: tuple[str, ...], top: int, color: bool | None, as_json: bool,
    as_html: bool,
) -> None:  # fmt: skip
    """Show what each word of TEXT (or standard input) adds to the score; the parts add up to it exactly.

    Blue speaks for the label, orange against it. For a feed-forward net the parts are approximate (gradient x input).
    """
    from linnet.classifier import load

    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    if not text.strip():
        raise LinnetError("there is no text to explain; give it in quotes after the model")
    clf = load(model)
    known = {str(c): c for c in clf.artefact.classes}
    row = row_of(text, beside, clf.artefact.text_column)
    missing = [name for name in clf.artefact.needs if isinstance(row, str) or name not in row]
    if missing:
        raise LinnetError(f"the model reads the column '{missing[0]}' too; add --column {missing[0]}=VALUE")
    found = clf.explain(row, known.get(label, label) if label is not None else None)
    if as_json:
        click.echo(json.dumps({"text": text, **found.to_dict()}, indent=2, ensure_ascii=False))
    elif as_html:
        click.echo(found._repr_html_())
    else:
        coloured = color if color is not None else sys.stdout.isatty() and "NO_COLOR" not in os.environ
        click.echo(found.to_text(top, coloured), color=coloured)
