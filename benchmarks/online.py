"""Online learning beside Vowpal Wabbit, and one pass over chunks beside a batch fit.

python benchmarks/online.py --data DIR --json benchmarks/results/online.json [--vw PYTHON]

sms_spam: `linnet train FILE --online` and Vowpal Wabbit's command over the same rows in the order of the file; both score each row
before they learn from it. Vowpal Wabbit gets lower-cased, tokenised lines, made beforehand. Processor time is that of the whole
process, user and system, the least of five runs, each on one thread; the start is what the same command takes on the first 20 rows.
In Python: the same within a process that runs already, on texts (linnet) and on lines in Vowpal Wabbit's format that are in memory.
AG News subset: the rows shuffled by a seed, 1,000 at a time, each chunk once, beside `fit` with the same settings; official test rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import linnet
from linnet.cli.train import FEATURES, HASH_BITS, LARGEST_CHUNK
from linnet.pipeline.learner import IncrementalLearner

sys.path.insert(0, str(Path(__file__).parent))
from systems.measure import environment
from systems.prepare import read_rows, vowpal_line, write_lines

REPEATS = 5
START_ROWS = 20
VW_SETTINGS = {
    "logistic": ["--loss_function", "logistic"],
    "logistic, pairs": ["--loss_function", "logistic", "--ngram", "2", "-b", "22"],
    "hinge": ["--loss_function", "hinge"],
}
IN_VW = """
import sys, time, vowpalwabbit
lines, found = open(sys.argv[1], encoding="utf-8").read().splitlines(), []
for _ in range(5):
    began, right, vw = time.process_time(), 0, vowpalwabbit.Workspace(" ".join(["--quiet", "--binary", *sys.argv[2:]]))
    for line in lines:
        example = vw.parse(line)
        vw.learn(example)  # it predicts first
        right += (example.get_simplelabel_prediction() > 0) == (line[0] != "-")
        vw.finish_example(example)
    found.append(time.process_time() - began)
print(min(found), right / len(lines))
"""
CHUNK = 1_000
BATCH_SETTINGS: dict[str, dict[str, Any]] = {
    "svm": {"C": 1.5},
    "logistic": {"C": 10.0},
    "nb": {"alpha": 1.0},
    "passive-aggressive": {"C": 1.0},
    "perceptron": {},
}


def seconds(command: list[str]) -> float:
    """Return the processor time of a command, the least of some runs."""
    found = []
    for _ in range(REPEATS):
        process = subprocess.Popen(command, env=environment(1), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(f"failed: {' '.join(command)}")
        found.append(usage.ru_utime + usage.ru_stime)
    return min(found)


def in_python(model: str, rows: list[tuple[str, str]]) -> float:
    """Return the processor time of learning from rows that are in memory, as the command does."""
    texts, labels = [text for _, text in rows], [label for label, _ in rows]
    began = time.process_time()
    clf = linnet.TextClassifier(model, features=FEATURES, hash_bits=HASH_BITS, n_jobs=1)
    IncrementalLearner(clf.plan()).learn(texts, labels, most=LARGEST_CHUNK)
    return time.process_time() - began


def spam(data: Path, folder: Path, vw: str) -> list[dict[str, Any]]:
    """Measure progressive accuracy and processor time on sms_spam."""
    source = data / "sms_spam" / "all.csv"
    rows = read_rows(source)
    for name, part in (("all", rows), ("start", rows[:START_ROWS])):
        write_lines(folder / f"{name}.vw", (vowpal_line(row, ["ham", "spam"]) for row in part))
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "start.csv").write_text("".join(lines[: START_ROWS + 1]), encoding="utf-8")
    out = []
    for name, options in VW_SETTINGS.items():
        commands = [
            [vw, "-m", "vowpalwabbit", "--quiet", "--binary", *options, "-d", str(folder / f"{part}.vw"), "-f", str(folder / "m.vw"),
             "-p", str(folder / "p.txt")]
            for part in ("start", "all")
        ]  # fmt: skip
        start, whole = map(seconds, commands)
        answers = [float(line.split()[0]) > 0 for line in (folder / "p.txt").read_text().splitlines()]
        right = sum(answer == (label == "spam") for answer, (label, _) in zip(answers, rows, strict=True))
        told = subprocess.run(
            [vw, "-c", IN_VW, str(folder / "all.vw"), *options], env=environment(1), capture_output=True, check=True
        )
        out.append({
            "system": f"Vowpal Wabbit, {name}", "accuracy": right / len(rows), "seconds": whole, "start": start,
            "python": float(told.stdout.split()[0]),
        })  # fmt: skip
    for name, options in {"linnet, svm": [], "linnet, nb": ["--model", "nb"]}.items():
        commands = [
            [sys.executable, "-m", "linnet", "train", str(path), "--online", "--threads", "1", "--quiet", "--out",
             str(folder / "m.linnet"), *options]
            for path in (folder / "start.csv", source)
        ]  # fmt: skip
        start, whole = map(seconds, commands)
        score = linnet.load(folder / "m.linnet").card["progressive"]
        model = options[-1] if options else "svm"
        out.append({
            "system": name, "accuracy": score["accuracy"], "seconds": whole, "start": start,
            "python": min(in_python(model, rows) for _ in range(REPEATS)),
        })  # fmt: skip
    return out


def news(data: Path) -> list[dict[str, Any]]:
    """Compare one pass over chunks with a batch fit on the AG News subset."""
    train, test = (linnet.read(data / "ag_news" / name) for name in ("train_subset.csv", "test.csv"))
    train = train.take(np.random.default_rng(0).permutation(len(train)))
    texts, labels, truth = train.text.to_pylist(), train.label_list(), test.label_list()
    out = []
    for name, params in BATCH_SETTINGS.items():
        settings = {"features": "words:1-2", "ratio": 0.0, "min_df": 2, "params": params}
        began = time.process_time()
        batch = linnet.TextClassifier(name, **settings).fit(train).score(test, truth)
        fitted = time.process_time()
        clf = linnet.TextClassifier(name, **settings)
        for first in range(0, len(texts), CHUNK):
            clf.partial_fit(texts[first : first + CHUNK], labels[first : first + CHUNK])
        learned = time.process_time()
        out.append({
            "model": name, "batch": batch, "chunks": clf.score(test, truth), "progressive": clf.progressive_.accuracy,
            "batch_seconds": fitted - began, "chunks_seconds": learned - fitted,
        })  # fmt: skip
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("LINNET_DATA"), required="LINNET_DATA" not in os.environ
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--vw", default=sys.executable, help="the Python that has Vowpal Wabbit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {"sms_spam": spam(options.data, Path(folder), options.vw), "ag_news": news(options.data)}
    print(
        "| sms_spam, one pass | progressive accuracy | command, processor s | of these to start | in Python, s |\n|---|---|---|---|---|"
    )
    for row in found["sms_spam"]:
        print(
            f"| {row['system']} | {row['accuracy']:.2%} | {row['seconds']:.2f} | {row['start']:.2f} | {row['python']:.3f} |"
        )
    print("\n| AG News subset | batch fit | one pass over chunks | batch, s | chunks, s |\n|---|---|---|---|---|")
    for row in found["ag_news"]:
        times = f"{row['batch_seconds']:.2f} | {row['chunks_seconds']:.2f}"
        print(f"| {row['model']} | {row['batch']:.2%} | {row['chunks']:.2%} | {times} |")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
