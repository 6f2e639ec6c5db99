"""Options that several verbs share, spelt once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from linnet.data import Dataset

__all__ = ["columns", "read_labelled", "say", "threads"]

F = TypeVar("F", bound=Callable[..., Any])


def columns(f: F) -> F:
    """Add --text, --label and --format."""
    f = click.option(
        "--format",
        "format_",
        metavar="NAME",
        help="csv, tsv, jsonl, parquet, arrow, fasttext, text, folder; found by itself.",
    )(f)
    f = click.option("--label", metavar="COL", help="The label column; found by name or content if not given.")(f)
    return click.option("--text", metavar="COL", help="The text column; found by name or content if not given.")(f)


def threads(f: F) -> F:
    """Add --threads."""
    return click.option(
        "--threads",
        type=click.IntRange(1),
        metavar="N",
        help="Threads; all cores by default. Never changes the result.",
    )(f)


def say(text: str = "") -> None:
    """Write a line of news to standard error."""
    click.echo(text, err=True)


def read_labelled(path: str, text: str | None, label: str | None, format_: str | None) -> Dataset:
    """Read labelled rows and say what was found."""
    from linnet.data import read

    data = read(path, text=text, label=label, format=format_, labelled=True)
    say(data.describe())
    return data
