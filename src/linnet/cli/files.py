"""The files of a command: which parameters are read and which are written, declared once and checked before the work.

A command made by ``command`` knows its ``InputPath`` and ``OutputPath`` parameters. Before it runs, it refuses an output that
is an input (under any name: links count), two outputs with one name, a folder that is missing or cannot be written to, and,
without ``--force``, a file that is of another kind than the one to be written: a table where the model would go.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from linnet.errors import LinnetError, shown
from linnet.files import content_kind, kind_of_name

_FORCE = "linnet.force"
_WORDS = {
    "model": "a linnet model", "json": "JSON", "html": "an HTML page", "text": "text or a table", "parquet": "a Parquet file",
    "arrow": "an Arrow file", "svg": "an SVG drawing", "png": "a PNG image", "gzip": "a gzip archive", "zstd": "a zstd archive",
    "bz2": "a bz2 archive", "binary": "something else",
}  # fmt: skip


class InputPath(click.types.StringParamType):
    """A file, folder, pattern or data set to read, or - for standard input; where `or_text`, perhaps a text."""

    def __init__(self, or_text: bool = False) -> None:
        self.or_text = or_text


class OutputPath(click.types.StringParamType):
    """A file to write, or - for standard output. kind is one of linnet.files.KINDS; without it the ending of the name says it."""

    def __init__(self, kind: str | None = None) -> None:
        self.kind = kind


class FolderPath(click.types.StringParamType):
    """A folder to write to; the command itself looks after what is in it."""


class FileCommand(click.Command):
    """A command that looks at its files before it runs."""

    def invoke(self, ctx: click.Context) -> Any:
        """Check the names of files, then run."""
        for p in self.params:
            if isinstance(p.type, OutputPath | FolderPath) or (isinstance(p.type, InputPath) and not p.type.or_text):
                value = ctx.params.get(p.name or "")
                for name in [value] if isinstance(value, str) else value or ():
                    _check_name(name)
        kinds = {p: p.type.kind for p in self.params if isinstance(p.type, OutputPath)}
        written = {p.opts[0]: (ctx.params.get(p.name or ""), kind) for p, kind in kinds.items()}
        check_outputs({option: (path, kind) for option, (path, kind) in written.items() if path}, inputs_of(ctx))
        with contextlib.nullcontext() if ctx.info_name in ("serve", "studio") else ended_by_sigterm():
            return super().invoke(ctx)


class TerminatedError(SystemExit):
    """The process was asked to end: everything that is open is put away, as after Ctrl-C."""


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the block by an exception, so that temporary files go; servers have a way of their own."""

    def end(number: int, frame: Any) -> None:
        raise TerminatedError(128 + number)

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def command(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command, as click.command does; one that writes files has --force too."""

    def make(function: Callable[..., Any]) -> click.Command:
        made = click.command(name, cls=FileCommand, **attributes)(function)
        if any(isinstance(p.type, OutputPath) for p in made.params):
            what = "Replace a file that is of another kind than the one to be written."
            force = click.Option(["--force"], is_flag=True, expose_value=False, callback=_keep_force, help=what)
            made.params.append(force)
        return made

    return make


def _keep_force(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    ctx.meta[_FORCE] = value


def inputs_of(ctx: click.Context | None = None) -> list[str]:
    """Return what the running command reads."""
    ctx = ctx or click.get_current_context(silent=True)
    if ctx is None:
        return []
    found: list[str] = []
    for p in ctx.command.params:
        value = ctx.params.get(p.name or "") if isinstance(p.type, InputPath) else None
        found += [value] if isinstance(value, str) else list(value or ())
    return found


def check_outputs(outputs: Mapping[str, tuple[str, str | None]], inputs: Iterable[str]) -> None:
    """Refuse what a run could not write, or would lose: {option: (path, kind)}; - is standard output."""
    given = {option: (Path(path), kind) for option, (path, kind) in outputs.items() if path != "-"}
    if not given:
        return
    read = list(inputs)
    known = {_identity(path) for name in read for path in _files(name)} - {None}
    folders = [Path(name).resolve() for name in read if name != "-" and _is_dir(Path(name))]
    seen: dict[Path, str] = {}
    for option, (path, kind) in given.items():
        _check_place(path, option)
        real = path.resolve()
        if real in seen:
            raise LinnetError(f"{seen[real]} and {option} must be different files; both are {shown(path, 300)}")
        seen[real] = option
        inside = kind != "model" and path.exists() and any(folder in real.parents for folder in folders)
        if inside or (known and _identity(path) in known):
            raise LinnetError(f"{shown(path, 300)}: is also an input, and would be lost; give {option} another file")
        _check_kind(path, kind or kind_of_name(path), option)


def _check_name(name: str) -> None:
    """Refuse what cannot be the name of a file on this system."""
    try:
        os.stat(name)  # noqa: PTH116 - any text
    except ValueError as error:
        raise LinnetError(f"{shown(name)} cannot be the name of a file: {error}") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise LinnetError(f"{shown(name)}: the name is too long for a file") from None


def _check_place(path: Path, option: str) -> None:
    name = shown(path, 300)
    if _is_dir(path):
        raise LinnetError(f"{name}: is a folder; give a file name with {option}")
    if not _is_dir(path.parent):
        folder = shown(path.parent, 300)
        raise LinnetError(f"{name}: the folder {folder} does not exist; make it first or choose another {option}")
    if not os.access(path.parent, os.W_OK):
        raise LinnetError(f"{name}: the folder {shown(path.parent, 300)} is read-only; choose another {option}")


def _check_kind(path: Path, kind: str | None, option: str) -> None:
    ctx = click.get_current_context(silent=True)
    if kind is None or (ctx is not None and ctx.meta.get(_FORCE)):
        return
    there = content_kind(path)
    if there not in (None, "empty", kind):
        raise LinnetError(
            f"{shown(path, 300)}: holds {_WORDS[there]}, not {_WORDS[kind]}, and would be lost; give {option} another file, or --force"
        )


def _files(name: str) -> Iterator[Path]:
    """The files that an input names; a serve model is NAME=FILE."""
    if name == "-":
        return
    yield Path(name)
    if glob.has_magic(name):
        yield from map(Path, glob.iglob(name, recursive=True))  # noqa: PTH207 - the pattern may be absolute


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell a file by its place on the disk, so that links are the same file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a zero byte, or a name that is too long
        return False
