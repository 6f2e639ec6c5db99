"""Values as they are written: times and sizes, lists with commas, settings as NAME=VALUE, and results as the values of JSON.

>>> parse_list("svm, nb,")
['svm', 'nb']
>>> parse_settings(["C=0.5,1,2", "loss=hinge", "lists=words.csv", "fit_intercept=false"])
{'C': [0.5, 1, 2], 'loss': 'hinge', 'lists': 'words.csv', 'fit_intercept': False}

Times and sizes as people write them: 60s, 5m, 1h; 5MB, 2GB.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, overload

from linnet.errors import DataError, LinnetError, nearest

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


def plain_list(values: Any) -> list[Any]:
    """Return labels as a list of plain values, from Arrow, NumPy, pandas, polars or any sequence."""
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(values, method):
            found = getattr(values, method)()
            return found if isinstance(found, list) else [found]
    return [value.item() if getattr(value, "ndim", None) == 0 else value for value in values]


def is_number(value: Any) -> bool:
    """Whether a value is a number, or a text that reads as one.

    >>> is_number("2.5"), is_number("two"), is_number(None)
    (True, False, False)
    """
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def alike(wanted: str, names: Iterable[str]) -> str | None:
    """Return the name that a user meant: case and white space around it do not matter; None where none or several are.

    >>> alike(" Text", ["text", "label"]), alike("A", ["a", "a "])
    ('text', None)
    """
    known = list(names)
    found = [name for name in known if name.strip().casefold() == wanted.strip().casefold()]
    return wanted if wanted in known else found[0] if len(found) == 1 else None


def label_number(classes: Sequence[Any], label: Any) -> int:
    """Return the place of a label among the classes; a label may also be written as text.

    >>> label_number((1, 2, 3), "3")
    2
    """
    for form in (lambda c: (type(c), c), lambda c: c, str):
        known = [form(c) for c in classes]
        if form(label) in known:
            return known.index(form(label))
    raise DataError(nearest("label", str(label), map(str, classes)))


def label_numbers(classes: Sequence[Any], labels: Iterable[Any]) -> list[int]:
    """Return the numbers of some classes, sorted; a label may also be written as text.

    >>> label_numbers((1, 2, 3), ["3", 1])
    [0, 2]
    """
    if isinstance(labels, str):
        raise DataError(f"labels must be several labels, got one text; put it in a list: [{labels!r}]")
    wanted = list(labels)
    if not wanted:
        raise DataError("labels is empty; name at least one label")
    return sorted({label_number(classes, label) for label in wanted})


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


SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {"": 1, "b": 1, "k": 1000, "kb": 1000, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12, "tb": 10**12,
         "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}  # fmt: skip
_NUMBER = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*$")


def as_seconds(value: Any) -> float:
    """Read a budget of time: a number of seconds, or text.

    >>> as_seconds("60s"), as_seconds("1.5m"), as_seconds(90), as_seconds("2h")
    (60.0, 90.0, 90.0, 7200.0)
    >>> as_seconds("soon")
    Traceback (most recent call last):
    linnet.errors.LinnetError: the budget must be a time above 0 such as 60s, 5m or 1h, got 'soon'
    """
    return _read(value, SECONDS, "the budget must be a time above 0 such as 60s, 5m or 1h")


@overload
def as_bytes(value: None, what: str) -> None: ...
@overload
def as_bytes(value: str | float, what: str) -> int: ...
def as_bytes(value: Any, what: str) -> int | None:
    """Read a size: a number of bytes, or text; None stays None.

    >>> as_bytes("5MB", "max_size"), as_bytes("2 GiB", "max_memory"), as_bytes(1000, "max_size")
    (5000000, 2147483648, 1000)
    """
    rule = f"{what} must be a size above 0 such as 500kB, 5MB or 2GB"
    return None if value is None else int(_read(value, BYTES, rule))


def _read(value: Any, units: dict[str, Any], rule: str) -> float:
    """Read a number above zero, or a text of a number and a unit; rule says what was expected."""
    match = _NUMBER.match(str(value)) if not isinstance(value, bool) else None
    found = float(match[1]) * float(units.get(match[2].lower(), 0)) if match else 0.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = float(value)
    if not 0 < found < float("inf"):
        raise LinnetError(f"{rule}, got {value!r}")
    return found


def duration(seconds: float) -> str:
    """Write a time.

    >>> duration(0.4), duration(12.3), duration(75), duration(7300)
    ('0.4 s', '12 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def size_text(size: float) -> str:
    """Write a size.

    >>> size_text(999), size_text(4_200_000), size_text(2.5e9)
    ('999 B', '4.2 MB', '2.5 GB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size:.0f} B"
