"""How accurate is `linnet train` with no flags? One table, beside published linear results and the targets.

    python benchmarks/accuracy.py [--data DIR] [--sets imdb,trec] [--model nbsvm] [--json OUT]

Every figure comes from the command line itself: `linnet train TRAIN --test TEST --json -`, in a fresh process. Sets
without a fixed test part are run as ten folds (stratified, seed 0): each fold is tested once, settings are chosen inside
the other nine. Results go to JSON with versions and machine; benchmarks/render.py writes the table into the README.
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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SETS: dict[str, dict[str, Any]] = {
    "imdb": {"train": "imdb/train.parquet", "test": "imdb/test.parquet", "target": 92.3, "title": "IMDB"},
    "rt_polarity": {"folds": "rt_polarity/all.csv", "target": 80.2, "title": "RT-s, 10 folds"},
    "mpqa": {"folds": "mpqa/all.csv", "target": 87.6, "title": "MPQA, 10 folds"},
    "20newsgroups": {
        "train": "20newsgroups/train.parquet", "test": "20newsgroups/test.parquet", "target": 86.0, "title": "20 Newsgroups",
    },
    "ag_news": {"train": "ag_news/train_subset.csv", "test": "ag_news/test.csv", "target": 92.1, "title": "AG News, 36 % subset"},
    "trec": {"train": "trec/train.csv", "test": "trec/test.csv", "target": 89.5, "title": "TREC"},
    "clinc150": {"train": "clinc150/train.csv", "test": "clinc150/test.csv", "target": 92.3, "title": "CLINC150"},
}  # fmt: skip


def run(train: Path, test: Path, model: Path, kind: str) -> dict[str, Any]:
    """Train with no flags but --model and --test and return the JSON result with the time of the whole process."""
    command = [
        sys.executable,
        "-m",
        "linnet",
        "train",
        str(train),
        "--model",
        kind,
        "--test",
        str(test),
        "--out",
        str(model),
        "--json",
        "-",
        "-q",
    ]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout)
    result["seconds"] = time.perf_counter() - began
    result["megabytes"] = model.stat().st_size / 1e6
    return result


def fold_files(source: Path, folder: Path, n: int = 10) -> list[tuple[Path, Path]]:
    """Write each fold's training and test rows as Parquet."""
    import linnet

    data = linnet.read(source, labelled=True)
    parts = data.split(0, (1 / n,) * n)
    files = []
    for k in range(n):
        train, test = folder / f"train{k}.parquet", folder / f"test{k}.parquet"
        rest = [p for j, p in enumerate(parts) if j != k]
        for path, chosen in ((train, rest), (test, [parts[k]])):
            table = {
                "label": pa.chunked_array([c for p in chosen for c in p.label.chunks]),
                "text": pa.chunked_array([c for p in chosen for c in p.text.chunks]),
            }
            pq.write_table(pa.table(table), path)
        files.append((train, test))
    return files


def measure(name: str, data: Path, kind: str) -> dict[str, Any]:
    """Return accuracy and settings of one set."""
    about = SETS[name]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.linnet"
        if "folds" in about:
            pairs = fold_files(data / about["folds"], Path(folder))
        else:
            pairs = [(data / about["train"], data / about["test"])]
        results = [run(train, test, model, kind) for train, test in pairs]
    right = sum(r["test"]["accuracy"] * r["test"]["n"] for r in results)
    rows = sum(r["test"]["n"] for r in results)
    settings = [r["card"]["settings"] for r in results]
    return {
        "set": name,
        "title": about["title"],
        "accuracy": 100 * right / rows,
        "target": about["target"],
        "rows": rows,
        "runs": len(results),
        "log_loss": float(np.mean([r["test"]["log_loss"] for r in results])),
        "features": settings[0]["features"],
        "C": sorted({s["C"] for s in settings if "C" in s}),
        "ratio": sorted({s.get("ratio") for s in settings}),
        "seconds": float(np.median([r["seconds"] for r in results])),
        "megabytes": float(np.median([r["megabytes"] for r in results])),
    }


def main() -> None:
    """Measure the sets, print a line each, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--model", default="svm", help="another model than the default; the targets are the default's")
    parser.add_argument("--json")
    options = parser.parse_args()
    data = Path(options.data)
    if not data.is_dir():
        raise SystemExit(f"{data}: no such folder; point --data or LINNET_DATA at the data sets")
    import linnet

    results = []
    for name in options.sets.split(","):
        row = measure(name, data, options.model)
        results.append(row)
        verdict = "" if options.model != "svm" or row["accuracy"] >= row["target"] else "  BELOW TARGET"
        print(
            f"{row['title']:<22} {row['accuracy']:6.2f}  (target {row['target']})  {row['seconds']:6.1f} s  "
            f"{row['megabytes']:7.1f} MB  {row['features']}  C={row['C']} p={row['ratio']}{verdict}",
            flush=True,
        )
    if options.json:
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        machine = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "linnet": linnet.__version__,
        }
        content = {"date": datetime.now(UTC).date().isoformat(), "machine": machine, "results": results}
        Path(options.json).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
