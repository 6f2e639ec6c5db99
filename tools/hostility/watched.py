"""Commands in forked processes, as many at a time as there are cores, each with a time limit and a folder of its own.

The parent has imported linnet and computes nothing, so that a fork costs milliseconds and inherits no threads.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import pkgutil
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Case", "Outcome", "import_everything", "invoke", "problems_of", "run_all", "shared", "start", "temporary"]

MEMORY = 6 << 30  # bytes of addresses a process may have
FOLDER = ("nicegui", "linnet.studio.layout", "linnet.studio.pages", "linnet.__main__")
TEMPORARY = re.compile(r"^\.linnet-(?!filter)|\.tmp$|^tmp")


@dataclass
class Case:
    """One process to run: what it is called in the table, and how its folder is made."""

    group: str
    name: str
    arguments: list[str]
    stdin: Path | None = None
    prepare: Callable[[Path], None] | None = None
    judge: Callable[[Outcome], Iterable[str]] | None = None
    seconds: float = 60.0


@dataclass
class Outcome:
    """How a process ended."""

    case: Case
    folder: Path
    code: int
    seconds: float
    timed_out: bool
    out: str
    err: str
    problems: list[str] = field(default_factory=list)


def import_everything() -> None:
    """Import every module of linnet whose extra is there, the pages of the studio aside."""
    import linnet

    for module in pkgutil.walk_packages(linnet.__path__, "linnet."):
        if not module.name.startswith(FOLDER):
            with contextlib.suppress(Exception):
                importlib.import_module(module.name)


def invoke(arguments: list[str]) -> int:
    """Call the command line as the installed program does; returns the exit code."""
    from linnet import cli

    sys.argv = ["linnet", *arguments]
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0) if not isinstance(end.code, str) else 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def start(case: Case, folder: Path, inside: Callable[[], Any] | None = None) -> int:
    """Fork a process that runs a case in a folder; returns its id."""
    work, temp = folder / "work", folder / "temp"
    for place in (work, temp):
        place.mkdir(parents=True, exist_ok=True)
    if case.prepare is not None:
        case.prepare(work)
    (folder / "err").write_bytes(b"")
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        faulthandler.disable()
        os.setsid()
        os.chdir(work)
        os.environ["TMPDIR"] = str(temp)
        os.environ.pop("LINNET_TOKEN", None)
        import tempfile

        tempfile.tempdir = None
        out = os.open(folder / "out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        err = os.open(folder / "err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        given = os.open(case.stdin if case.stdin is not None else os.devnull, os.O_RDONLY)
        for source, target in ((given, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        sys.stdin, sys.stdout, sys.stderr = (open(k, "rw"[k > 0], closefd=False) for k in range(3))  # noqa: PTH123, SIM115
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        vars(sys.modules["__main__"]).pop("__file__", None)  # processes that it starts need not import the tool
        if inside is not None:
            inside()
        code = invoke(case.arguments)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        import threading

        for thread in threading.enumerate():  # as the interpreter does at its end
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join(20)
        import atexit

        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code & 0xFF)


def run_all(
    cases: Iterable[Case], root: Path, jobs: int, kept: Path, inside: Callable[[], Any] | None = None
) -> Iterator[Outcome]:
    """Run cases, several at a time; yields how each ended. The folders of those with problems are moved aside."""
    going: dict[int, tuple[Case, Path, float]] = {}
    queue = iter(cases)
    number, more = 0, True
    while more or going:
        while more and len(going) < jobs:
            case = next(queue, None)
            if case is None:
                more = False
                break
            number += 1
            folder = root / f"{number}"
            going[start(case, folder, inside)] = (case, folder, time.monotonic())
        ended = []
        for pid, (case, folder, began) in going.items():
            done, status = os.waitpid(pid, os.WNOHANG)
            late = time.monotonic() - began > case.seconds
            if not done and late:
                os.killpg(pid, signal.SIGKILL)
                _, status = os.waitpid(pid, 0)
                done = pid
            if done:
                ended.append(pid)
                outcome = _outcome(case, folder, status, time.monotonic() - began, late)
                outcome.problems = [*problems_of(outcome), *(case.judge(outcome) if case.judge else ())]
                if outcome.problems:
                    target = kept / re.sub(r"[^A-Za-z0-9._-]+", "_", f"{case.group}-{case.name}")[:120]
                    shutil.rmtree(target, ignore_errors=True)
                    with contextlib.suppress(OSError, shutil.Error):
                        shutil.copytree(folder, target, symlinks=True, ignore_dangling_symlinks=True)
                shutil.rmtree(folder, ignore_errors=True)
                yield outcome
        for pid in ended:
            del going[pid]
        if not ended:
            time.sleep(0.002)


def shared(
    tasks: list[Any], work: Callable[[Any], Iterable[str]], jobs: int, root: Path
) -> Iterator[tuple[Any, list[str]]]:
    """Divide tasks among forked workers; yields each task with the problems that `work` found."""
    root.mkdir(parents=True, exist_ok=True)
    pids = []
    for worker in range(jobs):
        pid = os.fork()
        if pid:
            pids.append(pid)
            continue
        code = 1
        try:
            with (root / f"found-{worker}").open("w", buffering=1) as file:
                for at in range(worker, len(tasks), jobs):
                    try:
                        found = list(work(tasks[at]))
                    except Exception as error:
                        found = [f"the test itself failed: {type(error).__name__}: {error}"[:300]]
                    file.write(json.dumps([at, found]) + "\n")
            code = 0
        finally:
            os._exit(code)
    for pid in pids:
        os.waitpid(pid, 0)
    done = {}
    for worker in range(jobs):
        for line in (root / f"found-{worker}").read_text().splitlines():
            at, found = json.loads(line)
            done[at] = found
    for at, task in enumerate(tasks):
        yield task, done.get(at, ["the worker of the test died"])


def _outcome(case: Case, folder: Path, status: int, seconds: float, late: bool) -> Outcome:
    def said(name: str) -> str:
        try:
            return (folder / name).read_bytes()[-200_000:].decode(errors="replace")
        except OSError:
            return ""

    return Outcome(case, folder, os.waitstatus_to_exitcode(status), seconds, late, said("out"), said("err"))


def problems_of(outcome: Outcome) -> Iterator[str]:
    """Say what no command may do, whatever it is given."""
    if outcome.timed_out:
        yield f"no end in {outcome.case.seconds:.0f} s"
        return
    if outcome.code < 0:
        yield f"ended by {signal.Signals(-outcome.code).name}"
    if "Traceback (most recent call last)" in outcome.err:
        lines = [line for line in outcome.err.splitlines() if line.strip()]
        yield f"traceback: {lines[-1][:160]}"
    elif outcome.code > 0 and outcome.code not in (2, 130):
        yield f"exit code {outcome.code}"
    if outcome.code == 2 and not outcome.err.strip():
        yield "exit code 2 without a message"
    if outcome.code == 2 and not re.search(r"^(linnet: |Error: |Usage: )", outcome.err, re.MULTILINE):
        yield "exit code 2 without a line 'linnet: ...'"
    left = temporary(outcome.folder / "work") + [p.name for p in (outcome.folder / "temp").iterdir()]
    if left:
        yield f"left behind: {', '.join(sorted(left)[:3])}"


def temporary(folder: Path) -> list[str]:
    """Return the temporary files in a folder and below it."""
    return [
        str(Path(place, name).relative_to(folder))
        for place, folders, names in os.walk(folder)
        for name in (*folders, *names)
        if TEMPORARY.search(name)
    ]
