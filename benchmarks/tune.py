"""`linnet tune` beside the default of `linnet train` and fastText's autotune: the same rows, budget and cores.

    python benchmarks/tune.py --fasttext-python PYTHON --json benchmarks/results/tune.json

RT-s is cut into fifths, each the test part of one run; TREC has its official test part and is run with several seeds.
The three take turns. fastText gets its rows tokenised and lower-cased beforehand, a tenth of the training rows to tune on,
and the better of its own model and one refitted on all rows. PYTHON is one that can import fasttext.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from peers import default_data, machine
from systems.linnet_cli import LINNET
from systems.measure import BENCHMARKS, environment, say
from systems.prepare import fasttext_line, read_rows

Row = tuple[str, str]  # label, text
PATIENCE = 4  # budgets: who takes longer has failed
SYSTEMS = ("default", "linnet tune", "fastText autotune")


def stratified(rows: list[Row], parts: int, seed: int) -> list[list[Row]]:
    """Deal shuffled rows of each class out to parts."""
    import random

    by_class: dict[str, list[Row]] = {}
    for row in rows:
        by_class.setdefault(row[0], []).append(row)
    out: list[list[Row]] = [[] for _ in range(parts)]
    rng = random.Random(seed)
    for label in sorted(by_class):
        rng.shuffle(by_class[label])
        for k, row in enumerate(by_class[label]):
            out[k % parts].append(row)
    for part in out:
        rng.shuffle(part)
    return out


def jobs(data: Path, splits: int, seeds: int, sets: list[str]) -> list[tuple[str, int, list[Row], list[Row]]]:
    """The name, the seed, the training rows and the test rows of every run."""
    found = []
    if "rt_polarity" in sets:
        fifths = stratified(read_rows(data / "rt_polarity" / "all.csv"), 5, seed=0)
        rest = [[row for j in range(5) if j != k for row in fifths[j]] for k in range(5)]
        found += [("RT-s", k, rest[k], fifths[k]) for k in range(splits)]
    if "trec" in sets:
        train, test = (read_rows(data / "trec" / f"{part}.csv") for part in ("train", "test"))
        found += [("TREC", seed, train, test) for seed in range(seeds)]
    return found


def write_csv(path: Path, rows: list[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("label", "text"), *rows])


def write_fasttext(path: Path, rows: list[Row]) -> None:
    path.write_text("".join(map(fasttext_line, rows)), encoding="utf-8")


def timed(command: list[str], threads: int, limit: float) -> tuple[subprocess.CompletedProcess[str], float]:
    began = time.perf_counter()
    settings: dict[str, Any] = {"cwd": BENCHMARKS, "capture_output": True, "text": True, "env": environment(threads)}
    try:
        done = subprocess.run(command, timeout=limit, **settings)
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess(command, 1, "", f"stopped after {limit:.0f} s")
    return done, time.perf_counter() - began


def run_linnet(verb: str, folder: Path, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    out = folder / f"{verb}.linnet"
    command = [
        *LINNET, verb, str(folder / "train.csv"), "--test", str(folder / "test.csv"), "--out", str(out), "--json",
        str(folder / f"{verb}.json"), "--seed", str(seed), "--threads", str(options.threads), "-q",
    ]  # fmt: skip
    command += ["--budget", f"{options.budget}s"] if verb == "tune" else ["--no-check"]
    done, seconds = timed(command, options.threads, PATIENCE * options.budget)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    found = json.loads((folder / f"{verb}.json").read_text())
    result = {"accuracy": found["test"]["accuracy"], "seconds": seconds, "size_mb": out.stat().st_size / 1e6}
    if verb == "tune":
        chosen = {"candidates": found["candidates"], "chosen": found["winner"]["settings"]}
        result |= {**chosen, "dev": found["winner"]["score"], "expected": found["winner"]["expected"]}
    return result


def run_fasttext(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    files = [str(folder / name) for name in ("train.ft", "dev.ft", "all.ft", "test.ft")]
    command = [options.fasttext_python, "-m", "systems.autotune", *files, str(options.budget), str(options.threads)]
    for _ in range(2):  # "Encountered NaN" is a matter of luck
        done, seconds = timed(command, options.threads, PATIENCE * options.budget)
        if not done.returncode:
            found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
            best = max(found["accuracy"], found.get("accuracy_refitted", 0.0))
            return {**found, "own": found["accuracy"], "accuracy": best, "seconds": found["seconds"], "wall": seconds}
    return {"failed": (done.stderr or done.stdout).strip().splitlines()[-1]}


def run(
    name: str, seed: int, train: list[Row], test: list[Row], turn: int, options: argparse.Namespace
) -> dict[str, Any]:
    tenths = stratified(train, 10, seed=1)
    with tempfile.TemporaryDirectory(prefix="linnet-bench-tune-") as place:
        folder = Path(place)
        write_csv(folder / "train.csv", train)
        write_csv(folder / "test.csv", test)
        write_fasttext(folder / "dev.ft", tenths[0])
        write_fasttext(folder / "train.ft", [row for part in tenths[1:] for row in part])
        write_fasttext(folder / "all.ft", [row for part in tenths for row in part])
        write_fasttext(folder / "test.ft", test)
        steps = {
            "default": lambda: run_linnet("train", folder, seed, options),
            "linnet tune": lambda: run_linnet("tune", folder, seed, options),
            "fastText autotune": lambda: run_fasttext(folder, options),
        }
        order = SYSTEMS[turn % 3 :] + SYSTEMS[: turn % 3]
        found: dict[str, Any] = {"set": name, "seed": seed, "rows": len(train), "test_rows": len(test)}
        for system in order:
            found[system] = steps[system]()
            say(f"{name} {seed}: {system} {json.dumps(found[system])[:300]}")
    return found


def table(runs: list[dict[str, Any]]) -> str:
    lines = ["| set | runs | default | linnet tune | fastText autotune | seconds, tune |", "|---|---|---|---|---|---|"]
    for name in dict.fromkeys(r["set"] for r in runs):
        mine = [r for r in runs if r["set"] == name]
        cells = []
        for system in SYSTEMS:
            values = [100 * r[system]["accuracy"] for r in mine if "accuracy" in r[system]]
            cells.append(f"{statistics.mean(values):.2f}" if values else "failed")
        seconds = max((r["linnet tune"].get("seconds", 0.0) for r in mine), default=0.0)
        lines.append(f"| {name} | {len(mine)} | {' | '.join(cells)} | {seconds:.1f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=default_data())
    parser.add_argument("--sets", default="rt_polarity,trec")
    parser.add_argument("--splits", type=int, default=5, help="fifths of RT-s to test on")
    parser.add_argument("--seeds", type=int, default=3, help="runs of TREC")
    parser.add_argument("--budget", type=int, default=60, help="seconds")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--fasttext-python", default=sys.executable)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    runs: list[dict[str, Any]] = []
    load = os.getloadavg()[0]
    for turn, job in enumerate(jobs(options.data, options.splits, options.seeds, options.sets.split(","))):
        runs.append(run(*job, turn, options))
        if options.json:  # after every run: a long benchmark that is stopped leaves what it has
            content = {
                "date": time.strftime("%Y-%m-%d"), "machine": machine(), "load_at_start": load, "budget": options.budget,
                "threads": options.threads, "runs": runs,
            }  # fmt: skip
            options.json.write_text(json.dumps(content, indent=1) + "\n")
    print(table(runs))
    return 1 if any("failed" in r[system] for r in runs for system in SYSTEMS) else 0


if __name__ == "__main__":
    sys.exit(main())
