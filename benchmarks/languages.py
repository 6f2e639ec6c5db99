"""Which language is it? 75 languages of lid_lingua75, 80/10/10: linnet with characters beside fastText on the same split.

    python benchmarks/languages.py [--data DIR] [--epochs 5,25] [--threads 1] [--repeat 1] [--json OUT]

linnet is run by the command line, `linnet train --model nb --features chars:1-4+words:1`: reading, choosing alpha on the
dev part, fitting, testing and saving are on the clock. fastText (`pip install fasttext-wheel`) reads lower-cased lines that were
written beforehand, off the clock, with the settings its own language model was made with (dim 16, n-grams of 2 to 4
characters). Prediction is one process that loads the model and labels the test lines. Processor seconds stand beside wall
time: on a busy machine only they mean something.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import linnet
from linnet.evaluate.intervals import wilson

FEATURES = "chars:1-4+words:1"
TRAIN = """
import sys, fasttext
source, model, epochs, threads = sys.argv[1:]
options = {"dim": 16, "minn": 2, "maxn": 4, "lr": 0.5, "epoch": int(epochs), "verbose": 0}
fasttext.train_supervised(source, thread=int(threads), **options).save_model(model)
"""
PREDICT = """
import sys, fasttext
lines = open(sys.argv[2], encoding="utf-8").read().splitlines()
labels, _ = fasttext.load_model(sys.argv[1]).predict(lines)
open(sys.argv[3], "w", encoding="utf-8").write("".join(f"{one[0]}\\n" for one in labels))
"""


def timed(command: list[str]) -> tuple[float, float]:
    """Run a command; return wall seconds and processor seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ours(folder: Path, threads: int) -> tuple[tuple[float, float], tuple[float, float], list[str]]:
    """Train and predict by the command line."""
    model, out = folder / "model.linnet", folder / "labels.txt"
    base = [sys.executable, "-m", "linnet"]
    fit = timed([
        *base, "train", str(folder / "train.csv"), "--dev", str(folder / "dev.csv"), "--model", "nb", "--features", FEATURES,
        "--test", str(folder / "test.csv"), "--threads", str(threads), "--no-check", "--out", str(model), "-q",
    ])  # fmt: skip
    ask = timed([*base, "predict", str(model), str(folder / "test.csv"), "--out", str(out), "--threads", str(threads)])
    return fit, ask, out.read_text(encoding="utf-8").splitlines()


def theirs(folder: Path, epochs: int, threads: int) -> tuple[tuple[float, float], tuple[float, float], list[str]]:
    """Train and predict with fastText, a process each."""
    model, out = folder / "model.bin", folder / "labels.txt"
    fit = timed([sys.executable, "-c", TRAIN, str(folder / "train.txt"), str(model), str(epochs), str(threads)])
    ask = timed([sys.executable, "-c", PREDICT, str(model), str(folder / "test.txt"), str(out)])
    return fit, ask, [line.removeprefix("__label__") for line in out.read_text(encoding="utf-8").splitlines()]


def prepare(source: Path, folder: Path) -> list[str]:
    """Write the split for both; return the labels of the test part."""
    parts = dict(zip(("train", "dev", "test"), linnet.read(source, labelled=True).split(0), strict=True))
    for name, part in parts.items():
        rows = list(zip(part.label_list(), part.text.to_pylist(), strict=True))
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("label", "text"), *rows])
        lines = [(label, " ".join(text.lower().split())) for label, text in rows]
        if name == "train":
            random.Random(0).shuffle(lines)
        with (folder / f"{name}.txt").open("w", encoding="utf-8") as file:
            file.writelines(f"{text}\n" if name == "test" else f"__label__{label} {text}\n" for label, text in lines)
    return parts["test"].label_list()


def main() -> None:
    """Measure, print a line for each system, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--epochs", default="5,25")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    source = Path(options.data) / "lid_lingua75" / "all.csv"
    if not source.exists():
        raise SystemExit(f"{source}: no such file; point --data or LINNET_DATA at the data sets")
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        labels = prepare(source, folder)
        systems: dict[str, Any] = {f"linnet nb {FEATURES}": lambda: ours(folder, options.threads)}
        if find_spec("fasttext"):
            for epochs in options.epochs.split(","):
                systems[f"fastText, {epochs} epochs"] = lambda e=int(epochs): theirs(folder, e, options.threads)
        else:
            print("fastText is not installed (pip install fasttext-wheel): linnet alone")
        for system, run in systems.items():
            runs = [run() for _ in range(options.repeat)]
            right = sum(a == b for a, b in zip(runs[0][2], labels, strict=True))
            low, high = wilson(right, len(labels))
            fit, ask = (min(r[k][1] for r in runs) for k in (0, 1))
            results.append({
                "system": system, "accuracy": right / len(labels), "low": low, "high": high, "train_cpu_s": fit,
                "predict_cpu_s": ask, "train_s": min(r[0][0] for r in runs), "predict_s": min(r[1][0] for r in runs),
            })  # fmt: skip
            print(
                f"{system:<34} {right / len(labels):.2%} [{low:.2%}, {high:.2%}]  training {fit:.1f} s of processor time,"
                f" prediction {ask:.1f} s",
                flush=True,
            )
    if options.json:
        about = {"python": platform.python_version(), "machine": platform.machine(), "linnet": linnet.__version__}
        content = {"date": datetime.now(UTC).date().isoformat(), "machine": about, "results": results}
        Path(options.json).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
