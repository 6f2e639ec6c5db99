"""Training on streams: peak memory on a large corpus, and accuracy beside ordinary training.

python benchmarks/streaming.py --data DIR --size 2GB --max-memory 1GB --json benchmarks/results/streaming.json

The corpus is made of the IMDB training reviews, repeated and shuffled: the sentences of each copy in a new order, and
the rows of all copies mixed. Memory is the peak resident set (ru_maxrss) of `linnet train` in a process of its own.
Accuracy: the same data and settings in memory and as a stream forced into many blocks, tested on the official test rows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from linnet.values import as_bytes

SHARD_ROWS = 50_000
MODELS = ("svm", "logistic", "nb")


def make_corpus(data: Path, out: Path, size: int, seed: int = 0) -> tuple[int, int]:
    """Write shards of about so many bytes of text; returns how many rows and bytes they hold."""
    table = pq.read_table(data / "imdb" / "train.parquet")
    texts, labels = table.column("text").to_pylist(), table.column("label").to_pylist()
    parts = [text.split(". ") for text in texts]
    rng = np.random.default_rng(seed)
    rows = total = shard = 0
    while total < size:
        order = rng.permutation(len(texts))
        for k in range(0, len(order), SHARD_ROWS // 2):
            mine = order[k : k + SHARD_ROWS // 2].tolist()
            made = [". ".join([parts[i][j] for j in rng.permutation(len(parts[i])).tolist()]) for i in mine]
            columns = {"label": pa.array([labels[i] for i in mine]), "text": pa.array(made)}
            pq.write_table(pa.table(columns), out / f"part-{shard:04d}.parquet", row_group_size=5_000)
            shard, rows, total = shard + 1, rows + len(made), total + sum(len(t.encode()) for t in made)
            if total >= size:
                break
    return rows, total


LAUNCHER = """
import os, subprocess, sys
process = subprocess.Popen([sys.executable, "-m", "linnet", "train", *sys.argv[2:]])
_, status, usage = os.wait4(process.pid, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def measured(arguments: list[str]) -> dict[str, Any]:
    """Run `linnet train` and return what it wrote as JSON, with its seconds and its peak memory.

    A small process starts it: on Linux ru_maxrss also counts what the process that started it held.
    """
    began = time.perf_counter()
    with tempfile.NamedTemporaryFile() as peak:
        command = [sys.executable, "-c", LAUNCHER, peak.name, *arguments, "--json", "-", "-q"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"linnet train {' '.join(arguments)} ended with {done.returncode}")
        kilobytes = int(Path(peak.name).read_text(encoding="ascii"))
    return {**json.loads(done.stdout), "seconds": time.perf_counter() - began, "peak_mb": kilobytes * 1024 / 1e6}


def memory(data: Path, size: int, limit: str, folder: Path, models: list[str]) -> list[dict[str, Any]]:
    """Train on a corpus of so many bytes within a limit."""
    corpus = folder / "corpus"
    corpus.mkdir()
    rows, total = make_corpus(data, corpus, size)
    out = []
    for model in models:
        found = measured([str(corpus), "--model", model, "--max-memory", limit, "--out", str(folder / "m.linnet")])
        stream = found["stream"]
        out.append(
            {
                "model": model, "rows": rows, "text_mb": total / 1e6, "limit_mb": as_bytes(limit, "size") / 1e6,
                "peak_mb": round(found["peak_mb"], 1), "seconds": round(found["seconds"], 1),
                "mb_per_s": round(total / 1e6 / found["seconds"], 2), "accuracy": found["test"]["accuracy"],
                "blocks": stream["blocks"], "cache_mb": round(stream["cache_bytes"] / 1e6, 1), "lost": stream["lost"],
                "features": found["card"]["stream"]["features_met"] if "stream" in found["card"] else stream["features_met"],
            }
        )  # fmt: skip
        print(out[-1], flush=True)
    return out


def accuracy(data: Path, folder: Path) -> list[dict[str, Any]]:
    """Train in memory and in blocks on the same rows."""
    from linnet import TextClassifier, read
    from linnet.pipeline.cache import Budget
    from linnet.pipeline.stream import fit_stream

    Budget.whole_entries = lambda self, per_entry: 0  # type: ignore[method-assign]
    Budget.block_entries = lambda self, per_entry: 1_000_000  # type: ignore[method-assign]
    sets = {
        "imdb": ("imdb/train.parquet", "imdb/test.parquet"),
        "ag_news subset": ("ag_news/train_subset.csv", "ag_news/test.csv"),
    }
    out = []
    for name, (train, test) in sets.items():
        tested = read(data / test)
        for model in MODELS:
            began = time.perf_counter()
            whole = TextClassifier(model).fit(read(data / train))
            middle = time.perf_counter()
            clf = TextClassifier(model)
            found = fit_stream(clf, data / train, test=str(data / test), max_memory="1GB")
            out.append(
                {
                    "data": name, "model": model, "in_memory": whole.score(tested.text, tested.label_list()),
                    "stream": found.evaluation.accuracy, "blocks": found.blocks, "lost": found.lost,
                    "in_memory_s": round(middle - began, 1), "stream_s": round(time.perf_counter() - middle, 1),
                }
            )  # fmt: skip
            print(out[-1], flush=True)
    return out


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--size", default="2GB", help="bytes of text of the corpus; 0 leaves the memory test out")
    parser.add_argument("--max-memory", default="1GB")
    parser.add_argument("--models", default="svm,nb")
    parser.add_argument("--no-accuracy", action="store_true")
    parser.add_argument("--folder", help="where the corpus is made")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    result: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
    }
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        if not given.no_accuracy:
            result["accuracy"] = accuracy(given.data, folder)
        if as_bytes(given.size, "size"):
            result["memory"] = memory(
                given.data, as_bytes(given.size, "size"), given.max_memory, folder, given.models.split(",")
            )
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
