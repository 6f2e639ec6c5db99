"""Values as they are written: lists with commas, settings as NAME=VALUE, and results as the values of JSON.

>>> parse_list("svm, nb,")
['svm', 'nb']
>>> parse_settings(["C=0.5,1,2", "loss=hinge", "lists=words.csv", "fit_intercept=false"])
{'C': [0.5, 1, 2], 'loss': 'hinge', 'lists': 'words.csv', 'fit_intercept': False}
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from linnet.errors import LinnetError

WORDS = {"true": True, "false": False, "none": None}


def to_plain(value: Any) -> Any:
    """Return JSON values: dataclasses and mappings as dicts, sequences and arrays as lists, what else is no number as text.

    >>> to_plain({"interval": (0.1, 0.9), "label": None, "kind": int})
    {'interval': [0.1, 0.9], 'label': None, 'kind': "<class 'int'>"}
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    return [to_plain(item) for item in value] if isinstance(value, list | tuple) else str(value)


def parse_list(text: str | None) -> list[str]:
    """Read values with commas between them; None and empty parts are left out."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def parse_value(text: str) -> Any:
    """Read one value: a number, true, false, none, JSON, else text; with commas, a list of such values.

    >>> parse_value("3"), parse_value(".5"), parse_value("True"), parse_value("sgd"), parse_value("1,sgd")
    (3, 0.5, True, 'sgd', [1, 'sgd'])
    """
    text = text.strip()
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for read in (json.loads, float):
        with contextlib.suppress(ValueError):
            return read(text)
    return [parse_value(part) for part in text.split(",")] if "," in text else text


def parse_pairs(given: Iterable[str], option: str, example: str) -> list[tuple[str, str]]:
    """Read options of the form NAME=VALUE, which can be given several times.

    >>> parse_pairs(["priority=high"], "--column", "priority=high")
    [('priority', 'high')]
    """
    found = []
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise LinnetError(f"{option} takes NAME=VALUE, got '{item}'; write for example {option} {example}")
        found.append((name.strip(), value))
    return found


def parse_settings(given: Iterable[str]) -> dict[str, Any]:
    """Read the settings of --set; several values with commas are a list to choose from."""
    found: dict[str, Any] = {}
    for name, value in parse_pairs(given, "--set", "C=0.5"):
        if name in found:
            raise LinnetError(f"--set {name} is given twice; to choose from values write --set {name}=first,second")
        found[name] = parse_value(value)
    return found
