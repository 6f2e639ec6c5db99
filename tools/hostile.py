"""Try to break linnet: bad inputs, altered model files, kills, full disks, closed pipes. Writes docs/reliability.md.

python tools/hostile.py [--short] [--seed 0] [--only inputs,models,imports,kills,disks,pipes] [--keep build/hostile]

Whatever is given: no command ends by a signal, with a traceback or not at all; no file is lost, half written or left behind. The
commands come from click's registry. Cases that fail are listed and kept; the exit code is 1 then. The long form takes about 40
minutes on two cores, the short form at most three. Every part of the long form that was run is kept in
benchmarks/results/hostile.json, and docs/reliability.md is written from it: parts can be run one by one (`--only kills`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from hostility import commands, faults, inputs, models
from hostility.watched import Case, import_everything, run_all, shared

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
RESULTS = PAGE.parent.parent / "benchmarks" / "results" / "hostile.json"


@dataclass
class Part:
    """A row of the table."""

    title: str
    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    skipped: str = ""

    def add(self, name: str, outcome: str, problems: list[str]) -> None:
        """Count a case."""
        self.cases += 1
        self.outcomes["failed" if problems else outcome] += 1
        self.problems += [f"{name}: {problem}" for problem in problems]


class Hostility:
    """Everything that one run of the tool has: its folder, its seed, its size."""

    def __init__(self, root: Path, kept: Path, seed: int, short: bool, jobs: int) -> None:
        from linnet.cli import linnet

        self.root, self.kept, self.seed, self.short, self.jobs = root, kept, seed, short, jobs
        self.group = linnet
        self.good = root / "good"
        self.good.mkdir()
        rows = inputs.GOOD_ROWS
        (self.good / "good.csv").write_text("text,label\n" + "".join(f"{t},{y}\n" for t, y in rows))
        (self.good / "many.csv").write_text("text,label\n" + "".join(f"{t},{y}\n" for t, y in rows * 500))
        list(shared([0], self._fit, 1, root / "fit"))
        self.models = {path.stem: path.read_bytes() for path in sorted((root / "models").glob("*.linnet"))}
        shutil.copy(root / "models" / "two-classes.linnet", self.good / "good.linnet")
        shutil.copy(root / "models" / "many-classes.linnet", self.good / "old.linnet")

    def _fit(self, _: int) -> list[str]:
        models.make_models(self.root / "models", inputs.GOOD_ROWS)
        return []

    def inputs(self) -> Iterator[Part]:
        """Bad inputs in every place of every command."""
        found = inputs.make_inputs(self.root / "inputs", random.Random(self.seed))
        everywhere = list(commands.places(self.group))
        cases = list(commands.bad_input_cases(everywhere, found, self.good))
        if self.short:
            cases = _sample(cases, 9, random.Random(self.seed))
        names = sorted({place.command for place in everywhere})
        part = Part(f"{len(found)} bad inputs in {len(everywhere)} places of {len(names)} commands")
        yield part
        for outcome in run_all(cases, self.root / "runs", self.jobs, self.kept, commands.inside):
            told = "refused in one line" if outcome.code == 2 else "done"
            part.add(f"{outcome.case.group} {outcome.case.name}", told, outcome.problems)

    def altered(self) -> Iterator[Part]:
        """Model files that are altered and signed again."""
        title = f"altered model files, most signed again, of {len(self.models)} kinds of model"
        yield from self._altered(title, self.models, 700, "altered")

    def imports(self) -> Iterator[Part]:
        """Files of other programs that are altered: headers, sizes, parts of archives."""
        list(shared([0], self._write_foreign, 1, self.root / "write"))
        import_module("skops.io")  # once, before the processes begin
        import_module("sklearn.pipeline")
        files = {path.name: path.read_bytes() for path in sorted((self.root / "foreign").iterdir())}
        own = next(iter(self.models))
        title = "altered .bin, .ftz, .skops, .vw and .linnet files, at most 1 GB of memory more"
        yield from self._altered(title, {**files, f"{own}.linnet": self.models[own]}, 300, "imports")

    def _write_foreign(self, _: int) -> list[str]:
        models.make_foreign(self.root / "foreign", inputs.GOOD_ROWS)
        return []

    def _altered(self, title: str, files: dict[str, bytes], few: int, folder: str) -> Iterator[Part]:
        count = few if self.short else 20_000
        part = Part(title)
        yield part
        for name, what, problem in models.try_altered(
            files, count, self.seed, self.root / folder, self.jobs, self.kept
        ):
            part.add(f"model {name}, {what}", "", [problem])
        part.outcomes["loaded or refused in one line"] = count - part.cases
        part.cases = count

    def kills(self) -> Iterator[Part]:
        """Runs that are killed at random moments, each followed by one that is not."""
        rng = random.Random(self.seed)
        data = self.root / "job-data"
        faults.write_job_data(data, self.good / "good.linnet", rng)
        tests = [faults.KillTests(job, data, self.root / "kills", self.good) for job in faults.jobs()]
        for sign, count in ((signal.SIGKILL, 10 if self.short else 200), (signal.SIGTERM, 5 if self.short else 50)):
            part = Part(f"{sign.name} at a random moment of {', '.join(test.job.name for test in tests)}")
            yield part
            tasks = [(k % len(tests), k + 1 + 1000 * (sign == signal.SIGTERM), rng.random()) for k in range(count)]

            def kill(task: tuple[int, int, float], sign: signal.Signals = sign) -> Iterator[str]:
                test = tests[task[0]]
                return test.killed(task[1], task[2] * test.seconds * 1.05, sign)

            for task, problems in shared(tasks, kill, self.jobs, self.root / f"kills-{sign.name}"):
                part.add(
                    f"{sign.name} {tests[task[0]].job.name} {task[1]}",
                    "old file or whole new file, next run clean",
                    problems,
                )

    def disks(self) -> Iterator[Part]:
        """Outputs that cannot be written."""
        disk = self.root / "disk"
        yield from self._disk("device", "/dev/full as output", disk)
        with faults.mounted(disk, "64k") as able:
            part = self._disk("full", "a full disk, an older file in the output's place", disk)
            yield from part if able else [Part("a full disk", skipped="no small disk may be mounted here")]
            if able:
                for path in disk.iterdir():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                done = not subprocess.run(
                    ["mount", "-o", "remount,ro", str(disk)], capture_output=True, check=False
                ).returncode
                part = self._disk("read-only", "a read-only folder", disk)
                yield from (
                    part if done else [Part("a read-only folder", skipped="a disk cannot be made read-only here")]
                )
            else:
                yield Part("a read-only folder", skipped="no small disk may be mounted here")

    def _disk(self, kind: str, title: str, disk: Path) -> Iterator[Part]:
        part = Part(title)
        yield part
        cases: list[Case] = list(faults.disk_cases(self.group, self.good, kind, disk))
        if self.short:
            cases = [case for case in cases if not case.name.startswith(("demo", "compare", "tune"))]
        jobs = 1 if kind == "full" else self.jobs
        for outcome in run_all(cases, self.root / f"runs-{kind}", jobs, self.kept):
            part.add(
                f"{kind} {outcome.case.name}", "refused in one line" if outcome.code == 2 else "done", outcome.problems
            )

    def pipes(self) -> Iterator[Part]:
        """Standard streams that are closed, or whose other end is gone."""
        tasks = faults.pipe_tasks(self.group)
        if self.short:
            tasks = random.Random(self.seed).sample([task for task in tasks if task[0] != "demo"], 24)
        part = Part("standard streams closed, full, or without a reader")
        yield part
        for task, problems in shared(
            tasks, lambda task: faults.pipe_test(task, self.good, self.root / "pipes"), self.jobs, self.root / "p"
        ):
            part.add(f"{task[0]}, {task[2]}", "ended in order", problems)


def _sample(cases: list[Case], each: int, rng: random.Random) -> list[Case]:
    """Draw some inputs for each place of a command."""
    by_group: dict[str, list[Case]] = {}
    for case in cases:
        by_group.setdefault(case.group, []).append(case)
    return [case for group in by_group.values() for case in rng.sample(group, min(each, len(group)))]


PARTS = {
    "inputs": Hostility.inputs,
    "models": Hostility.altered,
    "imports": Hostility.imports,
    "kills": Hostility.kills,
    "disks": Hostility.disks,
    "pipes": Hostility.pipes,
}


def table(parts: list[Part]) -> list[str]:
    """Return the rows of the table, in Markdown."""
    lines = ["| what was tried | cases | what happened | failed |", "|---|---:|---|---:|"]
    for part in parts:
        if part.skipped:
            lines.append(f"| {part.title} | 0 | not tried: {part.skipped} | |")
            continue
        happened = ", ".join(
            f"{count:,} {name}" for name, count in part.outcomes.most_common() if name != "failed" and count
        )
        lines.append(f"| {part.title} | {part.cases:,} | {happened or 'nothing'} | {part.outcomes['failed']:,} |")
    return lines


def keep_results(name: str, parts: list[Part], seed: int, jobs: int, seconds: float) -> dict[str, Any]:
    """Put a part into the file of results, in place of an earlier run of it; return all of them."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    problems = [_kind(problem) for part in parts for problem in part.problems]
    results[name] = {
        "date": time.strftime("%Y-%m-%d"), "seed": seed, "jobs": jobs, "seconds": round(seconds), "rows": table(parts)[2:],
        "failed": dict(Counter(problems).most_common(40)),
    }  # fmt: skip
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return results


def page(results: dict[str, Any]) -> str:
    """Return docs/reliability.md."""
    from linnet import __version__

    rows = [row for name in PARTS if name in results for row in results[name]["rows"]]
    kinds: Counter[str] = Counter()
    for one in results.values():
        kinds.update(one["failed"])
    minutes = sum(one["seconds"] for one in results.values()) / 60
    days = sorted({one["date"] for one in results.values()})
    missing = [name for name in PARTS if name not in results]
    lines = [
        "# Reliability", "",
        "What linnet is tried with before a release. No command may end by a signal, with a traceback or not at all; no file may be",
        "lost, half written or left behind, and a failure is one line that says what was wrong.", "",
        *table([]), *rows, "",
        f"`make hostile` (`python tools/hostile.py`) wrote this page: linnet {__version__}, {' and '.join(days)}, {minutes:.0f} minutes."
        + (f" Not run yet: {', '.join(missing)}." if missing else ""),
        "The short form, `python tools/hostile.py --short`, is part of `.ci/run`.", "",
    ]  # fmt: skip
    if kinds:
        lines += [f"## Open: {kinds.total():,} cases", "", "| cases | problem |", "|---:|---|"]
        lines += [f"| {count:,} | {kind} |" for kind, count in kinds.most_common(40)]
        lines.append("")
    return "\n".join(lines)


def _kind(problem: str) -> str:
    """Return a problem without what differs from case to case."""
    command = problem.split(" ", 1)[0].rstrip(",:")
    found = re.search(
        r"traceback: |ended by |no end in |exit code |left |lost|is gone|is left |is missing |differs |changed", problem
    )
    what = problem[found.start() :] if found else problem.split(": ", 1)[-1]
    what = re.sub(r"/tmp/[^ '\"]*|\.linnet-[0-9a-f]+|linnet-\w{8}\b", "...", what)
    what = re.sub(r"0x[0-9a-f]+|\d[\d,.]*", "N", what)
    return f"{command}: {what[:110]}".replace("|", "\\|").replace("<", "&lt;")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="at most three minutes; leaves docs/reliability.md alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(PARTS), help="some of " + ",".join(PARTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=Path("build/hostile"), help="where failing cases are kept")
    options = parser.parse_args()
    import_everything()
    kept = options.keep.resolve()
    shutil.rmtree(kept, ignore_errors=True)
    parts: list[Part] = []
    folder = tempfile.mkdtemp(prefix="hostile-")  # no TemporaryDirectory: a forked process would remove it at its end
    try:
        hostility = Hostility(Path(folder).resolve(), kept, options.seed, options.short, options.jobs)
        for name in options.only.split(","):
            before = time.monotonic()
            found = list(PARTS[name](hostility))
            parts += found
            seconds = time.monotonic() - before
            print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)
            if not options.short:
                PAGE.write_text(page(keep_results(name, found, options.seed, options.jobs, seconds)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    failed = [problem for part in parts for problem in part.problems]
    print("\n".join(table(parts)))
    for problem in failed:
        print(f"FAILED {problem}")
    for kind, count in Counter(map(_kind, failed)).most_common():
        print(f"{count:6,} x {kind}")
    if failed:
        print(f"{len(failed):,} failing cases are kept in {kept}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
