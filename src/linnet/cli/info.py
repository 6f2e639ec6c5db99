"""``linnet info``: what is in a model file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.output import echo, echo_json
from linnet.errors import shown
from linnet.values import size_text


@o.command()
@click.argument("model", type=o.InputPath())
@o.number("--top", "How many features to show a class.", 10, 0)
@o.flag("--card", "Print the card as Markdown: data, settings, scores, checksums, the command.")
@o.json_flag
def info(model: str, top: int, card: bool, json_: bool) -> None:
    """Show the card of MODEL: data, settings, what was tried, and the weightiest features of each class."""
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
    echo(f"{shown(model, 300)}: {size_text(Path(model).stat().st_size)}, {sizes}, checksum right")
    for line in _about(about):
        echo(line)
    for line in found.decision.describe(found.classes):
        echo(line)
    if found.learned is not None:
        echo(f"keeps counts to go on learning from: {size_text(found.learned.nbytes)}")
    code = [name for block in found.computed for name in getattr(block, "paths", ())]
    if code:
        echo("calls functions that are not in the file: " + ", ".join(map(shown, code)))
    for label in found.classes[: 20 if top else 0]:
        echo(f"  {shown(label)}: " + ", ".join(shown(name) for name, _ in top_features(found, label, top)))


def _about(card: dict[str, Any]) -> Iterator[str]:
    """What the card says, as far as it says it: a file may be of another program."""
    data, choice = card.get("data", {}), card.get("choice", {})
    if data:
        rows, source = _number(data.get("rows_fitted")), shown(data.get("source", "unknown data"))
        yield f"trained on {rows} rows of {source} by linnet {shown(card.get('linnet', '?'), 20)}"
    stored = card.get("storage")
    if isinstance(stored, dict):
        bits, rate = _number(stored.get("fingerprint_bits")), _number(stored.get("false_hit_rate"), ".1e")
        yield f"stored: weights of {shown(stored.get('weights'))}; fingerprints of {bits} bits, false-hit rate {rate}"
    settings = {k: v for k, v in card.get("settings", {}).items() if v is not None}
    yield "settings: " + ", ".join(f"{shown(k, 40)}={shown(v)}" for k, v in settings.items())
    tried = choice.get("tried")
    if isinstance(tried, list):
        folds = f"{_number(choice.get('folds'))} folds, {len(tried):,} settings tried"
        metric = "R-precision" if "metric" in choice else "accuracy"
        yield f"dev {metric} {_number(choice.get('accuracy'), '.4f')} on {_number(choice.get('rows'))} rows, {folds}"

    test = card.get("test")
    if isinstance(test, dict) and "accuracy" in test:
        low, high = (_number(end, ".4f") for end in (*test.get("interval", ()), None, None)[:2])
        yield f"test accuracy {_number(test['accuracy'], '.4f')} [{low}, {high}] on {_number(test.get('rows'))} rows"
    progressive, update = card.get("progressive"), card.get("update")
    if isinstance(progressive, dict):
        yield f"progressive accuracy {_number(progressive.get('accuracy'), '.4f')} on {_number(progressive.get('rows'))} rows"
    if isinstance(update, dict):
        both = (
            f"{_number(update.get('old_accuracy'), '.4f')} before, {_number(update.get('new_accuracy'), '.4f')} after"
        )
        yield f"update {_number(update.get('number'))}: {_number(update.get('rows'))} more rows; accuracy {both}, " + (
            f"on {_number(update.get('held_out'))} held-out rows, p = {_number(update.get('p'), '.3g')}"
        )


def _number(value: Any, form: str = ",") -> str:
    return format(value, form) if isinstance(value, int | float) and not isinstance(value, bool) else "?"


def markdown(name: str, card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the card as Markdown: a section for each part, nested values as lists."""
    yield f"# {name}"
    if card.get("command"):
        yield from ("", "```", str(card["command"]), "```")
    for part, value in card.items():
        if part in ("command", "reference", "choice") or not isinstance(value, Mapping) or not value:
            continue
        yield from ("", f"## {part.capitalize()}", "", "| | |", "|---|---|")
        for key, entry in value.items():
            text = ", ".join(f"{k}: {v}" for k, v in entry.items()) if isinstance(entry, Mapping) else entry
            if entry is not None:
                yield f"| {_cell(str(key).replace('_', ' '))} | {_cell(_written(text))} |"
    choice = card.get("choice")
    if isinstance(choice, Mapping) and isinstance(choice.get("tried"), list):
        yield from ("", "## Choice of settings", "")
        yield f"{len(choice['tried'])} settings tried, {choice.get('folds')} folds, {choice.get('rows')} held-out rows."
    yield from ("", f"Made by linnet {card.get('linnet', '?')}.")


def _written(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(str(_written(one)) for one in value)
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if type(value) is int else value


def _cell(value: Any) -> str:
    return shown(value, 500).replace("|", "\\|")
