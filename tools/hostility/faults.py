"""Kills, full disks, read-only folders and closed pipes: no file is lost or half written, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from hostility.commands import older, output_options
from hostility.inputs import WORDS
from hostility.watched import Case, Outcome, start, temporary

__all__ = ["KillTests", "disk_cases", "jobs", "mounted", "pipe_tasks", "pipe_test", "write_job_data"]

WAIT = 60.0  # seconds for a run that is not killed


@dataclass(frozen=True)
class Job:
    """A command that takes a while, and the names that it writes."""

    name: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    resumes: tuple[str, ...] = ()  # files that an unfinished run may leave for the next one


def jobs() -> list[Job]:
    """Return the jobs that are killed."""
    tuning = (
        "tune",
        "rows.csv",
        "--budget",
        "60s",
        "--candidates",
        "2",
        "--models",
        "nb",
        "--out",
        "m.linnet",
        "--quiet",
    )
    return [
        Job(
            "train", ("train", "rows.csv", "--out", "m.linnet", "--report", "r.html", "--json", "r.json"), ("m.linnet",)
        ),
        Job(
            "clean",
            ("clean", "rows.csv", "--dedup", "exact,near", "--out", "c.csv", "--removed", "gone.csv"),
            ("c.csv", "gone.csv"),
        ),
        Job(
            "filter",
            ("filter", "model.linnet", "shards", "--keep", "n", "--top", "30%", "--out", "kept"),
            ("kept",),
            ("kept",),
        ),
        Job("tune", tuning, ("m.linnet",), ("m.tune.jsonl", "m.linnet.tune.jsonl")),
        Job("predict", ("predict", "model.linnet", "rows.csv", "--out", "l.jsonl", "--proba"), ("l.jsonl",)),
        Job("update", ("update", "model.linnet", "rows.csv", "--out", "u.linnet"), ("u.linnet",)),
    ]


def write_job_data(folder: Path, model: Path, rng: random.Random) -> None:
    """Write what the jobs read: enough rows to take half a second or more."""
    folder.mkdir(parents=True)
    lines = ["text,label"]
    for k in range(6000):
        words = " ".join(rng.choices(WORDS, k=12))
        lines.append(f"{words} {k % 997} {'superb' if k % 2 else 'awful'},{'pn'[k % 2]}")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    (folder / "shards").mkdir()
    for k in range(6):
        (folder / "shards" / f"{k}.csv").write_text(
            "\n".join([lines[0], *lines[1 + k * 1000 : 1001 + k * 1000]]) + "\n"
        )
    shutil.copy(model, folder / "model.linnet")


def _contents(work: Path) -> dict[str, bytes]:
    return {str(p.relative_to(work)): p.read_bytes() for p in sorted(work.rglob("*")) if p.is_file()}


#: Files whose bytes may differ between two good runs: they hold times.
TIMED = ("r.html", "r.json", ".tune.jsonl", "kept/")


class KillTests:
    """One job: its outputs when nothing happens, then runs that are killed, each followed by one that is not."""

    def __init__(self, job: Job, data: Path, root: Path, good: Path) -> None:
        self.job, self.data, self.root, self.good = job, data, root, good
        began = time.monotonic()
        self.reference = self._finish(self._begin(0))
        self.seconds = time.monotonic() - began

    def _begin(self, number: int) -> Path:
        folder = self.root / f"{self.job.name}-{number}"
        shutil.rmtree(folder, ignore_errors=True)

        def prepare(work: Path) -> None:
            shutil.copytree(self.data, work, dirs_exist_ok=True)
            for name in self.job.outputs if number % 2 else ():
                if "." in name:
                    (work / name).write_bytes(older(name, self.good))

        case = Case("kill", self.job.name, list(self.job.arguments), prepare=prepare)
        self.pid = start(case, folder)
        return folder

    def _finish(self, folder: Path) -> dict[str, bytes]:
        code = _wait(self.pid, WAIT)
        assert code == 0, f"{self.job.name}: exit code {code}: {(folder / 'err').read_text()[-500:]}"
        return _contents(folder / "work")

    def killed(self, number: int, delay: float, sign: signal.Signals) -> Iterator[str]:
        """Kill a run after a while; yields what is wrong then, and after the next run."""
        folder = self._begin(number)
        work = folder / "work"
        time.sleep(delay)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, sign)
        code = _wait(self.pid, 30.0)
        when = f"{sign.name} after {delay:.2f} s"
        if code is None:
            yield f"{when}: no end in 30 s"
            return
        if sign == signal.SIGTERM and "Traceback" in (folder / "err").read_text(errors="replace"):
            yield f"{when}: traceback: {(folder / 'err').read_text(errors='replace').strip().splitlines()[-1][:120]}"
        yield from (f"{when}: {problem}" for problem in self._orphans())
        now = _contents(work)
        for name in self.reference:
            if name not in now and (self.data / name).exists():
                yield f"{when}: the input {name} is gone"
            elif number % 2 and name in self.job.outputs and name not in now and "." in name:
                yield f"{when}: {name}, which was there before, is gone"
            elif number % 2 and name in self.job.outputs and now.get(name) == older(name, self.good):
                continue
            elif (
                name in now
                and not name.startswith(self.job.resumes or "\0")
                and not _same(name, now[name], self.reference[name])
            ):
                yield f"{when}: {name} is neither absent nor complete ({len(now[name]):,} of {len(self.reference[name]):,} bytes)"
        self.pid = start(Case("kill", self.job.name, list(self.job.arguments)), folder)
        try:
            end = self._finish(folder)
        except AssertionError as error:
            yield f"{when}, then run again: {error}"
            return
        for name in sorted({*end, *self.reference}):
            if name not in self.reference:
                yield f"{when}: {name} is left after the next run"
            elif name not in end:
                yield f"{when}: {name} is missing after the next run"
            elif not _same(name, end[name], self.reference[name]):
                yield f"{when}: {name} differs after the next run"
        # Python's own tempfile writes "blat" to see whether a folder will do, and removes it at once
        if left := [p.name for p in (folder / "temp").iterdir() if p.is_dir() or p.read_bytes() not in (b"", b"blat")]:
            yield f"{when}: left in the folder for temporary files after the next run: {', '.join(left[:3])}"
        shutil.rmtree(folder, ignore_errors=True)

    def _orphans(self) -> Iterator[str]:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                os.killpg(self.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)
        os.killpg(self.pid, signal.SIGKILL)
        yield "processes of it still run 10 s later"


def _same(name: str, now: bytes, then: bytes) -> bool:
    return now == then or (any(part in name for part in TIMED) and len(now) > 0)


def _wait(pid: int, seconds: float) -> int | None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


# ---- disks


@contextlib.contextmanager
def mounted(place: Path, size: str) -> Iterator[bool]:
    """Mount a small disk; yields whether that may be done here."""
    place.mkdir(parents=True, exist_ok=True)
    mount = shutil.which("mount")
    done = (
        mount is not None
        and not subprocess.run(
            [mount, "-t", "tmpfs", "-o", f"size={size}", "linnet-hostile", str(place)], capture_output=True
        ).returncode
    )
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)


def disk_cases(group: click.Group, good: Path, kind: str, disk: Path) -> Iterator[Case]:
    """Write every output to a device or a disk where it cannot be written, with an older file in its place."""
    for name, arguments, option in output_options(group):
        folder = option == "--out-dir" or (name == "filter" and option == "--out")
        ending = {
            "--report": ".html",
            "--json": ".json",
            "--plot": ".svg",
            "--save": ".json",
            "--suspects": ".csv",
        }.get(option, ".csv")
        if option == "--out" and name in ("train", "tune", "demo"):
            ending = ".linnet"
        target = Path("/dev/full") if kind == "device" else disk / (f"{name}{option}" + ("" if folder else ending))

        def prepare(work: Path, target: Path = target, folder: bool = folder) -> None:
            for given in ("good.csv", "good.linnet"):
                shutil.copy(good / given, work / given)
            if kind == "full" and not folder:
                _make_room(target.parent)
                target.write_bytes(older(target.name, good))
                _fill(target.parent)

        def judge(outcome: Outcome, target: Path = target, folder: bool = folder) -> Iterator[str]:
            if kind == "device":
                if outcome.code == 0:
                    yield f"{target} was written without an error"
                return
            if outcome.code == 0 and kind == "read-only":
                yield "a read-only folder was written to"
            if (
                outcome.code
                and kind == "full"
                and not folder
                and (not target.is_file() or target.read_bytes() != older(target.name, good))
            ):
                yield "the older file is lost"
            if left := [name for name in temporary(target.parent) if not name.startswith("filler")]:
                yield f"left on the disk: {', '.join(left[:3])}"
            if kind == "full":
                _make_room(target.parent)

        yield Case(f"{kind} disk" if kind != "device" else "/dev/full", f"{name} {option}", [*arguments, option, str(target)],
                   prepare=prepare, judge=judge)  # fmt: skip


def _fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def _make_room(disk: Path) -> None:
    for path in disk.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


# ---- pipes

COMMANDS = {
    "predict": ("predict", "good.linnet", "many.csv"),
    "explain": ("explain", "good.linnet", "--lines"),
    "tokenize": ("tokenize", "many.csv"),
    "clean": ("clean", "many.csv"),
}
PIPES = ("reader gone", "reader leaves after a line", "standard output closed", "standard input closed", "standard error closed",
         "standard error's reader gone", "standard output full")  # fmt: skip


def pipe_tasks(group: click.Group) -> list[tuple[str, tuple[str, ...], str]]:
    """Every command with its output to a pipe that is closed, in several ways: (command, arguments, how)."""
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        if name in ("serve", "studio", "tune"):
            continue
        command = group.get_command(context, name)
        assert command is not None
        given = [
            p
            for p in command.params
            if isinstance(p, click.Argument) and (p.required or p.name in ("source", "data", "inputs"))
        ]
        good = ["good.linnet" if "model" in str(p.name) else "good.csv" for p in given]
        more = ("--keep", "n", "--min", "0.5", "--out", "kept") if name == "filter" else ()
        more = ("--models", "nb", "--folds", "2") if name == "compare" else more
        arguments = COMMANDS.get(name, (name, *good, *more))
        found += [(name, arguments, how) for how in PIPES]
    return found


def pipe_test(task: tuple[str, tuple[str, ...], str], good: Path, root: Path) -> Iterator[str]:
    """Run a real process with a closed pipe; yields what is wrong."""
    name, arguments, how = task
    folder = root / f"{name}-{PIPES.index(how)}"
    (folder / "temp").mkdir(parents=True)
    for given in ("good.csv", "good.linnet", "many.csv"):
        shutil.copy(good / given, folder / given)
    command = [sys.executable, "-m", "linnet", *arguments]
    shell = {"standard output closed": ">&-", "standard input closed": "<&-", "standard error closed": "2>&-"}.get(how)
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    environment = {**os.environ, "TMPDIR": str(folder / "temp"), "PYTHONFAULTHANDLER": ""}
    lines = b"a warm book\n" * 20_000 if name == "explain" else b""
    (folder / "stdin").write_bytes(lines)
    out = (Path("/dev/full") if how == "standard output full" else folder / "out").open("wb")
    err = (folder / "err").open("wb")
    reader, writer = os.pipe()
    piped = {
        "reader gone": "stdout",
        "reader leaves after a line": "stdout",
        "standard error's reader gone": "stderr",
    }.get(how)
    with (folder / "stdin").open("rb") as stdin, out, err:
        streams = {"stdin": stdin, "stdout": out, "stderr": err}
        if piped:
            streams[piped] = writer
        process = subprocess.Popen(command, cwd=folder, env=environment, **streams)
    os.close(writer)
    if how == "reader leaves after a line":
        os.read(reader, 10)
    os.close(reader)
    try:
        code = process.wait(WAIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        yield f"no end in {WAIT:.0f} s"
        return
    said = (folder / "err").read_text(errors="replace")
    if code < 0:
        yield f"ended by {signal.Signals(-code).name}"
    elif code not in (0, 2):
        yield f"exit code {code}"
    if "Traceback" in said or "Exception ignored" in said:
        yield f"traceback: {said.strip().splitlines()[-1][:120]}"
    if how == "standard output full" and code == 0 and _prints(command, folder, environment):
        yield "the output is lost, and the exit code is 0"
    left = temporary(folder) + [p.name for p in (folder / "temp").iterdir()]
    left = [place for place in left if place not in ("temp",)]
    if left:
        yield f"left behind: {', '.join(left[:3])}"
    shutil.rmtree(folder, ignore_errors=True)


def _prints(command: list[str], folder: Path, environment: dict[str, str]) -> bool:
    shutil.rmtree(folder / "kept", ignore_errors=True)
    with (folder / "stdin").open("rb") as stdin:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=stdin, capture_output=True, timeout=WAIT, check=False
        )
    return bool(done.stdout)
