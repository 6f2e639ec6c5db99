"""The card of a model as text, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from linnet.errors import shown


def card_parts(card: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the parts of a card, each with what it says: data, settings, choice, scores. A file may be of another program."""
    for part, value in card.items():
        if part != "reference" and isinstance(value, Mapping):
            known = {key: entry for key, entry in value.items() if entry is not None}
            yield shown(part, 40), {shown(key.replace("_", " "), 40): shown(_text(v), 500) for key, v in known.items()}


def _text(value: Any) -> str:
    """Write a value of a card: of what was tried, how much."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_number(entry)}" for key, entry in value.items())
    if isinstance(value, list):
        return f"{len(value):,}" if any(isinstance(v, Mapping) for v in value) else ", ".join(map(_number, value))
    return _number(value)


def _number(value: Any) -> str:
    return f"{value:,}" if type(value) is int else f"{value:.4g}" if isinstance(value, float) else str(value)
