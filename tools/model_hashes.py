"""Train some two dozen models with `linnet train` and record the SHA-256 of every tensor of their files.

    python tools/model_hashes.py --out NOW.json [--against BEFORE.json] [--jobs PATTERN]

Run it before and after a change that must leave models as they are. Data sets are those that LINNET_DATA names; rows come in
memory, as a stream in one block and in many, and through the local and the Dask engine, with a vocabulary and hashed. The
card is left out: it may say more than before. Prints what differs from --against, and exits 1 where something does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
from safetensors import safe_open

import linnet

SETS = {  # name: file, and every how many of its rows are used
    "sms": ("sms_spam/all.csv", 1), "trec": ("trec/train.csv", 1), "rt": ("rt_polarity/all.csv", 2),
    "atis": ("atis/train.csv", 1), "r52": ("r52/train.csv", 2), "ag": ("ag_news/train_subset.csv", 3),
}  # fmt: skip
WAYS = {
    "memory": [],
    "stream": ["--max-memory", "1GB"],
    "blocks": ["--max-memory", "250MB"],  # little enough for several blocks of rows
    "local": ["--max-memory", "1GB", "--engine", "local", "--workers", "2"],
    "dask": ["--max-memory", "1GB", "--engine", "dask", "--workers", "2"],
}
WORDS, BOTH = ["--features", "words:1-2"], ["--features", "words:1-2+chars:2-5"]
JOBS: list[tuple[str, str, str, list[str]]] = [
    *(("sms", "memory", model, []) for model in ("svm", "logistic", "nb", "nbsvm")),
    *(
        ("trec", "memory", model, WORDS)
        for model in ("svm", "logistic", "nb", "nbsvm", "bernoulli", "votes", "perceptron")
    ),
    ("trec", "memory", "feed-forward", ["--features", "words:1"]),
    ("trec", "memory", "least-squares", ["--features", "words:1", "--alpha", "1"]),
    ("trec", "memory", "logistic", [*WORDS, "--hash-bits", "14"]),
    ("trec", "memory", "svm", [*WORDS, "--tf", "sublinear", "--select", "chi2:2000", "--class-weight", "balanced"]),
    ("rt", "memory", "svm", WORDS),
    ("rt", "memory", "logistic", WORDS),
    ("rt", "memory", "logistic", [*WORDS, "--solver", "lbfgs", "--C", "1"]),
    ("rt", "stream", "svm", WORDS),
    ("rt", "local", "logistic", WORDS),
    ("rt", "dask", "nb", WORDS),
    ("atis", "memory", "svm", WORDS),
    ("atis", "local", "logistic", ["--features", "words:1"]),
    ("r52", "memory", "svm", ["--features", "words:1"]),
    ("r52", "stream", "nb", WORDS),
    ("ag", "blocks", "svm", [*BOTH, "--C", "0.3"]),
    ("ag", "blocks", "nb", BOTH),
    ("ag", "dask", "nb", WORDS),
    ("ag", "local", "svm", [*WORDS, "--hash-bits", "14", "--C", "0.3"]),
]


def write(folder: Path) -> None:
    """Write each data set as one file, and as three shards."""
    real = Path(os.environ.get("LINNET_DATA", ""))
    if not (real / "trec").is_dir():
        sys.exit("set LINNET_DATA to the folder of the data sets")
    for name, (path, step) in SETS.items():
        rows = linnet.read(real / path)
        table = pa.table({"label": rows.label.to_pylist()[::step], "text": rows.text.to_pylist()[::step]})
        pa.csv.write_csv(table, folder / f"{name}.csv")
        (folder / name).mkdir()
        size = -(-len(table) // 3)
        for k in range(3):
            pa.csv.write_csv(table.slice(k * size, size), folder / name / f"part-{k}.csv")


def digests(path: Path) -> dict[str, str]:
    """Return the SHA-256 of each tensor: of its type, its shape and its bytes."""
    with safe_open(path, framework="numpy") as stored:
        found = {}
        for name in sorted(stored.keys()):
            array = stored.get_tensor(name)
            found[name] = hashlib.sha256(f"{array.dtype}{array.shape}".encode() + array.tobytes()).hexdigest()
        return found


def train(folder: Path, data: str, way: str, model: str, options: list[str]) -> dict[str, str]:
    """Train one model and return its digests."""
    source = folder / data if way in ("local", "dask") else folder / f"{data}.csv"
    out = folder / "m.linnet"
    command = [sys.executable, "-m", "linnet", "train", str(source), "--model", model, "--out", str(out), "--no-check"]
    done = subprocess.run([*command, *WAYS[way], *options], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[2:])}: {done.stderr[-2000:]}")
    return digests(out)


def differences(now: dict[str, dict[str, str]], before: dict[str, dict[str, str]]) -> list[str]:
    """Return a line for each model that is not as it was."""
    found = []
    for job, was in before.items():
        if job in now and now[job] != was:
            names = sorted(n for n in {*was, *now[job]} if was.get(n) != now[job].get(n))
            found.append(f"differs: {job}: {', '.join(names)}")
    return found


def main() -> int:
    """Train, record, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="where to write the digests")
    parser.add_argument("--against", help="digests of before")
    parser.add_argument("--jobs", default="", metavar="PATTERN", help="train only what matches, such as '^rt .*svm'")
    given = parser.parse_args()
    before = json.loads(Path(given.against).read_text()) if given.against else {}
    now = {}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        for data, way, model, options in JOBS:
            job = " ".join([data, way, model, *options])
            if re.search(given.jobs, job):
                began = time.perf_counter()
                now[job] = train(Path(folder), data, way, model, options)
                mark = "" if job not in before else "same, " if before[job] == now[job] else "DIFFERS, "
                print(f"{job}: {mark}{time.perf_counter() - began:.1f} s", flush=True)
    Path(given.out).write_text(json.dumps(now, indent=1) + "\n")
    wrong = differences(now, before)
    print("\n".join(wrong) if wrong else f"{len(now)} models" + (", none differs" if before else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
