"""Options that several verbs share, spelt once."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from linnet.errors import LinnetError

if TYPE_CHECKING:
    from linnet.data import Dataset

__all__ = [
    "apart",
    "beside",
    "check_report",
    "columns",
    "command_line",
    "groups",
    "held_by",
    "read_labelled",
    "report",
    "row_of",
    "say",
    "settings",
    "settings_of",
    "threads",
]

F = TypeVar("F", bound=Callable[..., Any])


def columns(f: F) -> F:
    """Add --text, --label and --format."""
    f = click.option(
        "--format",
        "format_",
        metavar="NAME",
        help="csv, tsv, jsonl, parquet, arrow, warc, fasttext, text, folder; found by itself.",
    )(f)
    f = click.option("--label", metavar="COL", help="The label column; found by name or content if not given.")(f)
    return click.option("--text", metavar="COL", help="The text column; found by name or content if not given.")(f)


def groups(f: F) -> F:
    """Add --groups."""
    return click.option(
        "--groups", metavar="COL", help="Keep rows with the same value together; 'duplicates': near duplicates."
    )(f)


def apart(f: F) -> F:
    """Add --groups and --time: how rows are held out."""
    f = click.option("--time", metavar="COL", help="Hold out the newest rows, by this column of dates or numbers.")(f)
    return groups(f)


def held_by(options: dict[str, Any]) -> tuple[str, ...]:
    """Return the columns that --groups and --time read."""
    names = (options.get("groups"), options.get("time"))
    return tuple(name for name in names if name is not None and name != "duplicates")


def threads(f: F) -> F:
    """Add --threads."""
    return click.option(
        "--threads",
        type=click.IntRange(1),
        metavar="N",
        help="Threads; all cores by default. Never changes the result.",
    )(f)


def beside(f: F) -> F:
    """Add --column NAME=VALUE, as often as wanted."""
    return click.option(
        "--column", "beside", multiple=True, metavar="NAME=VALUE",
        help="A column beside the text, for models with column:NAME features. Can be given several times.",
    )(f)  # fmt: skip


def row_of(text: str, given: Iterable[str], text_column: str = "text") -> Any:
    """Return the text, or the row of the text and the columns given beside it.

    >>> row_of("help!", ["priority=high"])
    {'text': 'help!', 'priority': 'high'}
    """
    found = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise LinnetError(f"--column takes NAME=VALUE, got '{item}'; write for example --column priority=high")
        found[name.strip()] = value
    return {text_column: text, **found} if found else text


def report(f: F) -> F:
    """Add --report."""
    return click.option(
        "--report", metavar="F.html", help="Write a page with verdict, errors, curves and texts; opens offline."
    )(f)


def check_report(path: str | None) -> None:
    """Refuse before the work what would be refused after it: a folder that does not exist."""
    if path is None:
        return
    where = Path(path)
    if where.is_dir():
        raise LinnetError(f"{where}: is a folder; give a file name with --report, for example {where / 'report.html'}")
    if not where.parent.is_dir():
        raise LinnetError(
            f"{where}: the folder {where.parent} does not exist; make it first or choose another --report"
        )


def command_line() -> str:
    """Return what was typed, to be pasted into a shell."""
    return shlex.join(["linnet", *sys.argv[1:]])


def settings(f: F) -> F:
    """Add --set NAME=VALUE, as often as wanted."""
    return click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE",
        help="Set a setting of the model: a number, true, false, null, text or JSON; with commas, values to choose from. "
        "Can be given several times.",
    )(f)  # fmt: skip


def settings_of(given: Iterable[str]) -> dict[str, Any]:
    """Read NAME=VALUE: JSON where it is JSON, several values where there are commas, else text.

    >>> settings_of(["C=0.5,1,2", "loss=hinge", "lists=words.csv", "fit_intercept=false"])
    {'C': [0.5, 1, 2], 'loss': 'hinge', 'lists': 'words.csv', 'fit_intercept': False}
    """
    found: dict[str, Any] = {}
    for item in given:
        name, equals, value = item.partition("=")
        name = name.strip()
        if not equals or not name:
            raise LinnetError(f"--set takes NAME=VALUE, got '{item}'; write for example --set C=0.5")
        if name in found:
            raise LinnetError(f"--set {name} is given twice; to choose from values write --set {name}=first,second")
        found[name] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    if text in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[text]
    return [_value(part.strip()) for part in text.split(",")] if "," in text else text


def say(text: str = "") -> None:
    """Write a line of news to standard error."""
    click.echo(text, err=True)


def read_labelled(
    path: str, text: str | None, label: str | None, format_: str | None, *, test: bool = False, also: Sequence[str] = ()
) -> Dataset:
    """Read labelled rows and say what was found; a blind test set is refused for anything but a test.

    also names the columns that features read beside the text.
    """
    from linnet.data import read
    from linnet.data.seal import refuse_sealed, seal_of

    if test:
        seal_of(path)  # a sealed file that has changed is refused before the work
    else:
        refuse_sealed(path, "to learn from")
    data = read(path, text=text, label=label, format=format_, labelled=True, also=also)
    say(data.describe())
    return data
