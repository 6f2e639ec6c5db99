"""The decision rule of a command: read from its options, and what it came to."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from linnet.errors import DataError, LinnetError, shown
from linnet.values import parse_list, parse_pairs

__all__ = ["asked", "reached"]


def asked(options: dict[str, Any]) -> dict[str, Any]:
    """Return what --labels, --threshold, --precision, --recall, --cost, --abstain and --answer ask for, in Python's words.

    >>> asked({"threshold": ("spam=0.9",), "abstain": 0.95, "cost": '{"spam": {"ham": 5}}'})
    {'threshold': {'spam': 0.9}, 'cost': {'spam': {'ham': 5.0}}, 'abstain': 0.95}
    """
    found: dict[str, Any] = {}
    if options.get("labels") is not None:
        found["labels"] = parse_list(options["labels"])
    for name in ("threshold", "precision", "recall"):
        if options.get(name):
            found[name] = _shares(name, options[name])
    if options.get("cost") is not None:
        found["cost"] = _costs(options["cost"])
    return found | {name: options[name] for name in ("abstain", "answer") if options.get(name) is not None}


def _shares(name: str, given: tuple[str, ...]) -> Any:
    """Read LABEL=P, several times; a threshold may also be one number for all labels. A label may hold = itself."""
    if name == "threshold" and len(given) == 1 and _number(given[0]) is not None:
        return _number(given[0])
    found = {}
    for item in given:
        label, _, text = item.rpartition("=")
        parse_pairs([f"{label}={text}"] if label else [item], f"--{name}", "spam=0.9")
        value = _number(text)
        if value is None:
            raise LinnetError(
                f"--{name} {shown(item, 60)}: '{shown(text, 20)}' is no number; write for example --{name} spam=0.9"
            )
        if label in found:
            raise LinnetError(f"--{name} {shown(label, 40)} is given twice; leave one out")
        found[label] = value
    return found


def _costs(given: str) -> dict[str, dict[str, float]]:
    if given.lstrip().startswith("{"):
        try:
            rows = {truth: dict(row) for truth, row in json.loads(given).items()}
        except (ValueError, TypeError, AttributeError):
            raise LinnetError(
                f'--cost {shown(given, 60)}: not JSON of the form {{"spam": {{"ham": 5}}}}: truth, answer, cost'
            ) from None
        where = "--cost"
    else:
        where = shown(given, 200)
        try:
            with Path(given).open(encoding="utf-8-sig", newline="") as file:
                lines = [line for line in csv.reader(file) if line]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{where}: cannot be read as a table of costs ({error})") from None
        if not lines or any(len(line) != len(lines[0]) for line in lines):
            raise DataError(
                f"{where}: a table of costs has a header with a label a column, and rows of a label and as many costs"
            )
        rows = {line[0].strip(): dict(zip(map(str.strip, lines[0][1:]), line[1:], strict=True)) for line in lines[1:]}
    found: dict[str, dict[str, float]] = {}
    for truth, row in rows.items():
        for answer, cell in row.items():
            value = _number(cell)
            if value is None:
                raise DataError(
                    f"{where}: the cost of answering {shown(answer, 40)} to {shown(truth, 40)} is no number: {shown(cell, 20)!r}"
                )
            found.setdefault(truth, {})[answer] = value
    return found


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def reached(about: dict[str, Any], tested: Sequence[Any] = ()) -> Iterator[str]:
    """Say what the rule of a card came to on the rows that it was chosen on, and on test rows, with the scores of each class."""
    on_test = {str(one.label): one for one in tested}
    for label, found in about.get("thresholds", {}).items():
        metric, wanted = next(iter(found["wanted"].items()))
        yield (
            f"threshold {shown(label, 40)}={found['threshold']:.4f} for {metric} {wanted:g}: precision {found['precision']:.4f}, recall "
            f"{found['recall']:.4f} on {found['rows']:,} held-out rows"
            + (
                f"; {on_test[label].precision:.4f} and {on_test[label].recall:.4f} on the test rows"
                if label in on_test
                else ""
            )
        )
    if "answered" in about:
        wanted = f"accuracy {about['abstain']:g}" if about.get("abstain") is not None else f"share {about['answer']:g}"
        accuracy = "none right" if about["accuracy"] is None else f"accuracy {about['accuracy']:.4f}"
        yield (
            f"abstaining for {wanted}: answers from probability {about['least_probability']:.4f}, {about['answered']:.1%} of "
            f"{about['rows']:,} held-out rows, {accuracy}"
        )
