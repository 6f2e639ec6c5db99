"""linnet beside Vowpal Wabbit, fastText and scikit-learn on the same rows: `python benchmarks/peers.py`.

Every system trains and predicts in fresh processes of its own, with its default threads; the systems take turns within
each repeat and the medians are reported, with their ratios to linnet, since absolute times on a shared machine are
noise. What is measured and how: benchmarks/README.md. The systems themselves: benchmarks/systems/.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from render import tables
from systems.fast_text import FastText
from systems.job import COPIES, DATASETS, Job, System, worker
from systems.linnet_cli import Linnet
from systems.measure import MB, CommandError, Samples, Usage, last_json, measure, say, summary
from systems.prepare import cached
from systems.scikit import Scikit
from systems.vectorise import benchmark as vectorise
from systems.vowpal import Vowpal

HERE = Path(__file__).resolve().parent
SYSTEMS: tuple[System, ...] = (Linnet(), Linnet("logistic"), Vowpal(), FastText(), Scikit())

COLD_STARTS = 3


def default_data() -> Path:
    return Path(os.environ.get("LINNET_DATA", HERE.parent.parent / "shared" / "data"))


def available(systems: tuple[System, ...]) -> list[System]:
    """The systems that are installed; a line for each that is not."""
    found = []
    for system in systems:
        if importlib.util.find_spec(system.module) is None:
            say(f"skip {system.name}: no module {system.module!r} in this Python; `make bench` installs it")
        else:
            found.append(system)
    return found


def prepared_job(name: str, data: Path, cache: Path, threads: int) -> Job | None:
    """The files of a data set, made once and kept; `None`, with a line, where the set is not here."""
    held = DATASETS[name].test
    train, test = data / DATASETS[name].train, data / (held or DATASETS[name].train)
    if not (train.is_file() and test.is_file()):
        say(f"skip {name}: no {train} and {test}; point --data or LINNET_DATA at the data sets")
        return None
    folder = cache / name
    if held is None:
        train, test = divided(train, folder)
    facts = cached(train, test, folder)
    if facts is None:
        say(f"{name}: writing each system's own files to {folder} (not timed)")
        measure(worker("prepare", train, test, folder))
        facts = cached(train, test, folder)
        if facts is None:
            raise SystemExit(f"{folder}: the prepared files are not those of {train} and {test}")
    return Job(name, train, test, folder, threads, facts["n_classes"], facts["test_bytes"])


def divided(rows: Path, folder: Path) -> tuple[Path, Path]:
    """Write a tenth of the rows of a CSV file to one file and the others to another."""
    folder.mkdir(parents=True, exist_ok=True)
    with rows.open(newline="", encoding="utf-8") as file:
        header, *found = csv.reader(file)
    random.Random(0).shuffle(found)
    paths, cut = (folder / "rows.train.csv", folder / "rows.test.csv"), len(found) // 10
    if not all(path.is_file() for path in paths):
        for path, some in zip(paths, (found[cut:], found[:cut]), strict=True):
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([header, *some])
    return paths


class Bench:
    """The measurements of one data set; a system that fails is reported once and left out from there."""

    def __init__(self, job: Job, systems: list[System]) -> None:
        self.job = job
        self.systems = list(systems)
        self.samples: dict[str, Samples] = {system.name: {} for system in systems}
        self.failed: dict[str, str] = {}

    def keep(self, name: str, measurement: str, value: float) -> None:
        self.samples[name].setdefault(measurement, []).append(value)

    def each(self, step: Callable[[System], None], turn: int) -> None:
        """Run a step for every system in turn; who goes first changes with every repeat."""
        shift = turn % max(len(self.systems), 1)
        for system in self.systems[shift:] + self.systems[:shift]:
            try:
                step(system)
            except CommandError as error:
                say(f"{self.job.name}: {system.name} failed, left out from here on: {error}")
                self.failed[system.name] = str(error).splitlines()[0]
                self.systems.remove(system)

    def train(self, system: System) -> None:
        used = self.measured(system, "train", system.train(self.job))
        self.keep(system.name, "train_peak_mb", used.peak)
        self.keep(system.name, "model_mb", Path(system.model(self.job)).stat().st_size / MB)

    def memory(self, system: System) -> None:
        command = system.memory(self.job)
        if command is None:
            return
        result = last_json(measure(command, self.job.threads))
        self.keep(system.name, "accuracy", result["accuracy"])
        for name in ("seconds", "cpu_seconds", "seconds_list", "cpu_seconds_list"):
            if name in result:
                speed = self.job.test_bytes / MB / result[name]
                self.keep(system.name, name.replace("seconds", "memory") + "_mb_s", speed)
        say(f"{self.job.name}: {system.name} memory {result['seconds']:.2f} s, processor {result['cpu_seconds']:.2f} s")

    def bulk(self, system: System) -> None:
        command = system.bulk(self.job)
        if command is None:
            return
        used = self.measured(system, "bulk", command)
        self.keep(system.name, "bulk_mb_s", COPIES * self.job.test_bytes / MB / used.wall)
        check = system.bulk_accuracy(self.job)
        if check is not None and "bulk_accuracy" not in self.samples[system.name]:
            result = last_json(measure(check))
            self.keep(system.name, "bulk_accuracy", result["accuracy"])

    def one(self, system: System) -> None:
        """Cold start: short ones a few times over, as they are the noisiest."""
        show_version = getattr(system, "version", None)
        for _ in range(COLD_STARTS):
            used = self.measured(system, "one", system.one(self.job))
            if show_version is not None:
                self.measured(system, "version", show_version())
            if used.wall > 1:
                break

    def measured(self, system: System, name: str, command: list[str]) -> Usage:
        used = measure(command, self.job.threads)
        self.keep(system.name, f"{name}_s", used.wall)
        self.keep(system.name, f"{name}_cpu_s", used.cpu)
        say(f"{self.job.name}: {system.name} {name} {used.wall:.2f} s, processor {used.cpu:.2f} s, {used.peak:.0f} MB")
        return used

    def run(self, repeat: int) -> dict[str, Any]:
        for turn in range(repeat):
            for step in (self.train, self.memory, self.bulk, self.one):
                self.each(step, turn)
        summaries = {name: summary(samples) for name, samples in self.samples.items() if samples}
        for values in summaries.values():  # Vowpal Wabbit's accuracy is that on ten copies
            if "bulk_accuracy" in values:
                values.setdefault("accuracy", values["bulk_accuracy"])
        return {"title": DATASETS[self.job.name].title, "systems": summaries, "failed": self.failed}


def machine() -> dict[str, Any]:
    names = [line.split(":", 1)[1].strip() for line in read_lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = [int(line.split()[1]) / 1024**2 for line in read_lines("/proc/meminfo") if line.startswith("MemTotal")]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory[0]) if memory else None,
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
    }


def read_lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.is_file() else []


def versions(systems: list[System]) -> dict[str, str]:
    found = {}
    for package in [system.package for system in systems] + ["numpy", "scipy", "pyarrow"]:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "?"
    commit = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    if commit.returncode == 0:
        found["commit"] = commit.stdout.strip()
    return found


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=default_data(), help="folder of the data sets, or LINNET_DATA")
    parser.add_argument("--sets", default=",".join(DATASETS), help=f"of {', '.join(DATASETS)}")
    parser.add_argument(
        "--systems", default="", help=f"of {', '.join(system.name for system in SYSTEMS)}; default: all"
    )
    parser.add_argument("--threads", type=int, default=0, help="limit every system; default: what each does by itself")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=HERE / "cache", help="where each system's own files are kept")
    parser.add_argument("--json", type=Path, help="write the result there")
    parser.add_argument("--markdown", type=Path, help="write the tables there")
    parser.add_argument("--no-vectorise", action="store_true", help="leave vectorising alone out")
    options = parser.parse_args(arguments)
    options.data, options.cache = options.data.resolve(), options.cache.resolve()
    options.sets = [name for name in options.sets.split(",") if name]
    for name in options.sets:
        if name not in DATASETS:
            parser.error(f"unknown set {name!r}; choose from {', '.join(DATASETS)}")
    wanted = {name.strip().lower() for name in options.systems.split(",") if name.strip()}
    unknown = wanted - {system.name.lower() for system in SYSTEMS}
    if unknown:
        parser.error(f"unknown system {', '.join(sorted(unknown))}; choose from {[s.name for s in SYSTEMS]}")
    options.systems = tuple(s for s in SYSTEMS if not wanted or s.name.lower() in wanted)
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    systems = available(options.systems)
    start = time.perf_counter()
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": versions(systems),
        "settings": {system.name: system.settings for system in systems},
        "threads": options.threads,
        "repeat": options.repeat,
        "load_at_start": os.getloadavg()[0],
        "sets": {},
    }
    for name in options.sets:
        job = prepared_job(name, options.data, options.cache, options.threads)
        if job is None:
            continue
        entry = Bench(job, systems).run(options.repeat)
        if not options.no_vectorise:
            entry["vectorise"], failed = vectorise(job, {system.module for system in systems}, options.repeat)
            entry["failed"].update(failed)
        result["sets"][name] = entry
    if not result["sets"]:
        say("nothing was measured")
        return 1
    result["seconds"] = round(time.perf_counter() - start)
    write(result, options)
    return 1 if any(entry["failed"] for entry in result["sets"].values()) else 0


def write(result: dict[str, Any], options: argparse.Namespace) -> None:
    text = tables(result)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
