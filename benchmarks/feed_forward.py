"""How accurate is the feed-forward net, and how long does it train? AG News subset, beside the SVM and fastText.

    python benchmarks/feed_forward.py [--data DIR] [--threads 2] [--seeds 3] [--json OUT]

linnet is run by the command line, `linnet train --model NAME`, in a fresh process: reading, choosing, fitting, testing and
saving are all on the clock. fastText, where it is installed (`pip install fasttext-wheel`), gets text that is shuffled,
lower-cased and tokenised beforehand, off the clock, and the settings of benchmarks/systems/fast_text.py. Seconds of
processor time are given beside wall time: on a busy machine only the former mean something.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FASTTEXT = """
import json, sys, fasttext
train, test, model, threads = sys.argv[1:]
options = {"dim": 10, "wordNgrams": 2, "epoch": 5, "lr": 0.25, "bucket": 2_000_000, "verbose": 0}
found = fasttext.train_supervised(train, thread=int(threads), **options)
found.save_model(model)
print(json.dumps({"accuracy": 100 * found.test(test)[1]}))
"""


def timed(command: list[str]) -> tuple[str, float, float]:
    """Run a command; returns what it printed, wall seconds and processor seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def linnet_row(name: str, seed: int, train: Path, test: Path, folder: Path, threads: int) -> dict[str, Any]:
    """Train by the command line."""
    model = folder / "model.linnet"
    command = [sys.executable, "-m", "linnet", "train", str(train), "--test", str(test), "--model", name, "--out", str(model),
               "--seed", str(seed), "--threads", str(threads), "--json", "-", "-q"]  # fmt: skip
    out, wall, cpu = timed(command)
    found = json.loads(out)["test"]
    return {
        "system": f"linnet {name}", "seed": seed, "accuracy": 100 * found["accuracy"], "log_loss": found["log_loss"],
        "seconds": wall, "cpu_seconds": cpu, "megabytes": model.stat().st_size / 1e6,
    }  # fmt: skip


def fasttext_row(train: Path, test: Path, folder: Path, threads: int) -> dict[str, Any]:
    """Train fastText on prepared text."""
    import numpy as np

    import linnet
    from linnet.text.tokens import tokenize

    files = []
    for path in (train, test):
        data = linnet.read(path, labelled=True)
        pairs = list(zip(data.label.to_pylist(), data.text.to_pylist(), strict=True))
        lines = [
            f"__label__{str(y).replace(' ', '_')} {' '.join(t.text for t in tokenize(x.lower()))}\n" for y, x in pairs
        ]
        files.append(folder / f"{path.stem}.ft")
        order = np.random.default_rng(0).permutation(len(lines))
        files[-1].write_text("".join(lines[k] for k in order), encoding="utf-8")
    model = folder / "model.bin"
    out, wall, cpu = timed([sys.executable, "-c", FASTTEXT, *map(str, files), str(model), str(threads)])
    size = model.stat().st_size / 1e6
    return {"system": "fastText", **json.loads(out), "seconds": wall, "cpu_seconds": cpu, "megabytes": size}


def main() -> None:
    """Measure, print a line each, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    train, test = (Path(options.data) / "ag_news" / name for name in ("train_subset.csv", "test.csv"))
    if not train.exists():
        raise SystemExit(f"{train}: no such file; point --data or LINNET_DATA at the data sets")
    import linnet

    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = [(f, s) for f, s in (("feed-forward", options.seeds), ("svm", 1)) for s in range(s)]
        for model, seed in runs:
            results.append(linnet_row(model, seed, train, test, folder, options.threads))
            show(results[-1])
        if find_spec("fasttext"):
            results.append(fasttext_row(train, test, folder, options.threads))
            show(results[-1])
        else:
            print("fastText is not installed: left out")
    if options.json:
        machine = {
            "python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count(),
            "linnet": linnet.__version__, "threads": options.threads,
        }  # fmt: skip
        content = {
            "date": datetime.now(UTC).date().isoformat(), "set": "AG News, 36 % subset of train", "machine": machine,
            "results": results,
        }  # fmt: skip
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        Path(options.json).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def show(row: dict[str, Any]) -> None:
    seed = f" seed {row['seed']}" if "seed" in row else ""
    print(
        f"{row['system'] + seed:<28} accuracy {row['accuracy']:6.2f}  {row['seconds']:6.1f} s wall  "
        f"{row['cpu_seconds']:6.1f} s processor  {row['megabytes']:7.1f} MB",
        flush=True,
    )


if __name__ == "__main__":
    main()
