"""Every command of the registry with a bad input in every place where it takes one."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from hostility.watched import Case, Outcome

__all__ = ["Place", "bad_input_cases", "inside", "older", "output_options", "places"]

#: Options whose value is a file to read. Options of other commands with these names are found by themselves.
INPUT_OPTIONS = ("--dev", "--test", "--lists", "--bad-words", "--nearest", "--other", "--train", "--token-file")
WRITTEN = {("split", "--train"), ("split", "--dev"), ("split", "--test")}  # the same names, but written
NEEDED = ("inputs", "source", "data")  # arguments that a command can do without only at a terminal
#: What keeps a command short, and what it cannot do without.
SETTINGS = {
    "tune": ["--budget", "4s", "--candidates", "1", "--models", "nb"],
    "compare": ["--models", "nb,svm:C=1", "--folds", "2"],
    "train": ["--C", "1"],
    "filter": ["--keep", "n", "--min", "0.5", "--out", "kept", "--timeout", "30"],
    "serve": ["--port", "0"],
    "studio": ["--no-open"],
    "explain": ["--lines"],
    "tokenize": ["--tokens", "words"],
    "vocab": ["--save", "words.json"],
    "clean": ["--out", "clean.jsonl"],
    "predict": ["--out", "labels.csv", "--proba"],
    "split": ["--out-dir", "parts"],
    "check": ["--json", "found.json"],
    "evaluate": ["--report", "report.html"],
}
WITH_OPTION = {
    ("tokenize", "--train"): ["--tokens", "bpe:50", "--save", "bpe.json"],
    ("train", "--dev"): ["--C", "0.1"],
}
OLD = {  # what is in an output's place before: a file of the same kind, which a command may replace
    ".csv": b"label\nold\n", ".jsonl": b'{"label": "old"}\n', ".json": b'{"old": 1}\n', ".html": b"<!doctype html><title>old</title>\n",
    ".svg": b'<svg xmlns="http://www.w3.org/2000/svg"></svg>\n',
}  # fmt: skip
WRITTEN_TO = ("out.linnet", "out.csv", "labels.csv", "clean.jsonl")


@dataclass(frozen=True)
class Place:
    """Where a command takes an input: the arguments, with None for the input; from standard input where None is missing."""

    command: str
    name: str
    arguments: tuple[str | None, ...]


def places(group: click.Group) -> Iterator[Place]:
    """Find the places of every command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        given = [p for p in command.params if isinstance(p, click.Argument)]
        good = ["good.linnet" if "model" in str(p.name) else "good.csv" for p in given]
        settings = _settings(name, command)
        for at, parameter in enumerate(given):
            rest = [
                value
                for k, value in enumerate(good)
                if k != at and (given[k].required or given[k].name in NEEDED or k < at)
            ]
            values: list[str | None] = [*rest[:at], None, *rest[at:]]
            yield Place(name, str(parameter.name), (name, *values, *settings))
        if given:
            required = [value for value, p in zip(good[:-1], given, strict=False) if p.required or p is not given[-1]]
            yield Place(name, "stdin", (name, *required, "-", *settings))
        needed = [value for value, p in zip(good, given, strict=True) if p.required or p.name in NEEDED]
        for option in (o for p in command.params for o in p.opts if o in INPUT_OPTIONS and (name, o) not in WRITTEN):
            more = WITH_OPTION.get((name, option), [])
            yield Place(name, option, (name, *needed, option, None, *settings, *more))


def _settings(name: str, command: click.Command) -> list[str]:
    settings = list(SETTINGS.get(name, []))
    if "--out" not in settings and any("--out" in p.opts for p in command.params):
        settings += ["--out", f"out{_ending(command)}"]
    return settings


def _ending(command: click.Command) -> str:
    shown = next(str(p.metavar or "F") for p in command.params if "--out" in p.opts)
    return "." + shown.rpartition(".")[2] if "." in shown else ".csv"


def output_options(group: click.Group) -> Iterator[tuple[str, list[str], str]]:
    """Find the options that write a file: (command, arguments, option)."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if name in ("serve", "studio"):
            continue
        given = [p for p in command.params if isinstance(p, click.Argument) and (p.required or p.name in NEEDED)]
        good = ["good.linnet" if "model" in str(p.name) else "good.csv" for p in given]
        for parameter in command.params:
            option = parameter.opts[-1]
            shown = str(getattr(parameter, "metavar", None) or "")
            writes = shown in ("F", "F.csv", "F.linnet", "F.html", "DIR", "D") or option == "--unusable"
            if (
                isinstance(parameter, click.Option)
                and writes
                and option not in (*INPUT_OPTIONS, "--cache", "--temp", "--resume")
            ):
                settings = _without(SETTINGS.get(name, []), option)
                if option != "--out" and any("--out" in p.opts for p in command.params) and "--out" not in settings:
                    settings += ["--out", f"out{_ending(command)}"]
                if (name, option) == ("tokenize", "--save"):
                    settings += ["--train", "good.csv", "--tokens", "bpe:50"]
                yield name, [name, *good, *settings], option


def older(name: str, good: Path) -> bytes:
    """Return what is in the place of an output before the command runs."""
    ending = Path(name).suffix
    return (good / "old.linnet").read_bytes() if ending == ".linnet" else OLD[ending]


def _without(settings: Iterable[str], option: str) -> list[str]:
    kept = list(settings)
    if option in kept:
        at = kept.index(option)
        del kept[at : at + 2]
    return kept


def bad_input_cases(found: Iterable[Place], inputs: dict[str, Path], good: Path) -> Iterator[Case]:
    """Make a case of every place and input."""
    for place in found:
        for name, path in inputs.items():
            local = str(path) if name == "device" else path.name
            prepare = _prepared(good, None if name == "device" else path, place)
            stdin = None
            if place.name == "stdin":
                if not path.is_file():
                    continue
                stdin = path
            arguments = [local if value is None else value for value in place.arguments]
            yield Case(
                f"{place.command} {place.name}",
                name,
                arguments,
                stdin,
                prepare,
                _judge(path, local, place.name == "stdin", good),
                90.0,
            )


def _prepared(good: Path, path: Path | None, place: Place) -> Callable[[Path], None]:
    def prepare(work: Path) -> None:
        for name in ("good.csv", "good.linnet"):
            shutil.copy(good / name, work / name)
        for name in WRITTEN_TO:
            if name in place.arguments:
                (work / name).write_bytes(older(name, good))
        if path is None or place.name == "stdin":
            return
        if path.is_symlink():
            (work / path.name).symlink_to(path.readlink())
        elif path.is_dir():
            shutil.copytree(path, work / path.name, symlinks=True)
        elif path.is_file():
            shutil.copy(path, work / path.name)
        elif path.exists():
            os.link(path, work / path.name)

    return prepare


def _judge(path: Path, local: str, by_stdin: bool, good: Path) -> Callable[[Outcome], Iterable[str]]:
    def judge(outcome: Outcome) -> Iterator[str]:
        work = outcome.folder / "work"
        if path.is_file() and not path.is_symlink() and not by_stdin and local != str(path):
            here = work / local
            if not here.is_file() or here.read_bytes() != path.read_bytes():
                yield "the input was changed"
        if outcome.code != 0:
            for name in WRITTEN_TO:
                if name in outcome.case.arguments and (
                    not (work / name).is_file() or (work / name).read_bytes() != older(name, good)
                ):
                    yield f"failed, and {name} is no longer what it was"
        elif "out.linnet" in outcome.case.arguments and not outcome.timed_out:
            import linnet
            from linnet.errors import LinnetError

            try:
                linnet.load((work / "out.linnet").read_bytes())
            except (LinnetError, OSError) as error:
                yield f"the model written cannot be loaded: {error}"

    return judge


def inside() -> None:
    """Let servers end at once; the studio first does what its pages would."""
    import uvicorn

    from linnet.studio import server as studio_server

    uvicorn.Server.run = lambda *_, **__: None  # type: ignore[method-assign]

    def serve(studio: object, sock: object, *_: object, **__: object) -> None:
        from linnet.errors import LinnetError

        for thread in threading.enumerate():
            if thread.name == "health":
                thread.join()
        if getattr(studio, "data", None) is not None:
            try:
                for part in ("train", "dev", "test"):
                    studio.rows(part)  # type: ignore[attr-defined]
            except LinnetError as error:
                click.echo(f"shown on the page: {error}", err=True)

    studio_server.serve = serve
