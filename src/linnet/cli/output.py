"""What commands print: results to standard output, messages to standard error, JSON where it is asked for."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from linnet.errors import shown
from linnet.files import write_atomic
from linnet.units import size_text

__all__ = ["Notes", "command_line", "echo", "echo_json", "print_lines", "say", "say_sealed", "say_written",
           "table_lines", "width", "write_json", "write_unusable"]  # fmt: skip


LONGEST_LINE = 2000  # characters of a message


def say(text: str = "") -> None:
    """Write a message to standard error; control characters in the names of files and labels are escaped."""
    click.echo("\n".join(shown(line, LONGEST_LINE) for line in text.split("\n")), err=True)


class Notes:
    """What is odd about an input, said once each on standard error, --quiet or not: the result hangs on it."""

    MOST = 5

    def __init__(self, source: str) -> None:
        self.source, self.said = shown(source, 200), 0
        self._known: set[str] = set()

    def __call__(self, note: str) -> None:
        """Say a note."""
        if note in self._known or self.said > self.MOST:
            return
        self._known.add(note)
        self.said += 1
        say(f"{self.source}: {note if self.said <= self.MOST else 'there is more of that kind'}")


def echo(line: str) -> None:
    """Print a line; what UTF-8 cannot hold, such as half a character of an odd file name, as an escape."""
    click.echo(line.encode("utf-8", "backslashreplace").decode())


def echo_json(content: Any, *, indent: int | None = 2) -> None:
    """Print JSON; without indent, on one line."""
    echo(json.dumps(content, indent=indent, ensure_ascii=False))


def write_json(content: Any, where: str | None) -> bool:
    """Write the result where ``--json F`` says; return whether that is standard output, and nothing else belongs there."""
    if where == "-":
        echo_json(content)
    elif where is not None:
        write_atomic(where, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return where == "-"


def width(default: int = 100) -> int:
    """Return how many characters a line of the terminal holds; default where there is none."""
    return shutil.get_terminal_size((default, 24)).columns


def colours() -> bool:
    """Whether to print in colour: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def print_lines(lines: Iterable[str]) -> None:
    """Print lines that may hold colours; these are left out where there is no terminal."""
    click.echo("\n".join(lines), color=colours())


def table_lines(rows: list[list[str]], left: int = 1) -> list[str]:
    """Return a table, its head first, as aligned lines; the first ``left`` columns are aligned to the left."""
    from linnet.draw.terminal import aligned

    return aligned(rows, width(120), left)


def say_written(path: str | Path) -> None:
    """Say that a file was written, and how large it is."""
    say(f"wrote {path} ({size_text(Path(path).stat().st_size)})")


def write_unusable(unusable: Any, path: str | None) -> None:
    """Write the rows that could not be used where ``--unusable F`` says, and say how many."""
    if path:
        unusable.write(path)
        say(f"wrote {len(unusable.rows):,} unusable rows to {path}")


def say_sealed(seal: Any, path: str = "") -> None:
    """Say how often a blind test set was used, where there is one."""
    if seal:
        click.echo(
            f"{path}{': ' if path else ''}blind test set, sealed {seal.sealed[:10]}: {seal.words}", err=bool(path)
        )


def command_line() -> str:
    """Return the command that was typed, to be pasted into a shell."""
    return shlex.join(["linnet", *sys.argv[1:]])
