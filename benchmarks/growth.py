"""How time and memory grow with rows and with classes: `python benchmarks/growth.py [--most 1000000] [--json OUT]`.

Rows are made by seed 0: 20 words each, three of them of the class, the others drawn by Zipf's law from 50,000. `linnet train` runs as a
whole process with its settings given (one fit, a tenth held out for the test); wall time, processor time and peak memory are those of the
process. Exponents are slopes of log(processor time) and log(memory) over log(rows), or log(classes), between the two largest runs, less
what the cheapest takes.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from peers import machine
from systems.linnet_cli import LINNET
from systems.measure import measure, say

WORDS, VOCABULARY, OF_CLASS = 20, 50_000, 3
ROWS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
CLASSES = (2, 10, 100, 1_000)
FIXED_ROWS, FIXED_CLASSES = 20_000, 2
CHUNK = 100_000


def write_rows(path: Path, rows: int, classes: int) -> None:
    """Write so many rows of so many classes as CSV."""
    rng = np.random.default_rng(0)
    share = np.cumsum(1.0 / np.arange(1, VOCABULARY + 1))
    with path.open("w", encoding="utf-8") as file:
        file.write("label,text\n")
        for start in range(0, rows, CHUNK):
            n = min(CHUNK, rows - start)
            label = rng.permutation(np.arange(start, start + n) % classes)
            word = np.searchsorted(share, rng.random((n, WORDS)) * share[-1])
            own = label[:, None] * 10 + rng.integers(0, 10, (n, OF_CLASS))
            for k in range(n):
                text = " ".join([f"w{j}" for j in word[k]] + [f"c{j}" for j in own[k]])
                file.write(f"c{label[k]},{text}\n")


def run(folder: Path, rows: int, classes: int, threads: int) -> dict[str, Any]:
    """Train on generated rows."""
    data = folder / "rows.csv"
    write_rows(data, rows, classes)
    settings = ["--features", "words:1-2", "--ratio", "0", "--set", "C=1", "--no-check", "--hold-out-test", "--quiet"]
    used = measure(
        [*LINNET, "train", str(data), "--out", str(folder / "m.linnet"), "--threads", str(threads), *settings], threads
    )
    found = {"rows": rows, "classes": classes, "wall_s": used.wall, "cpu_s": used.cpu, "peak_mb": used.peak}
    say(f"{rows:,} rows, {classes:,} classes: {used.wall:.2f} s, processor {used.cpu:.2f} s, {used.peak:.0f} MB")
    return {**found, "file_mb": (folder / "m.linnet").stat().st_size / 1e6, "input_mb": data.stat().st_size / 1e6}


def exponent(runs: list[dict[str, Any]], by: str, of: str) -> float:
    """Return the slope between the two largest runs, less what the cheapest takes: starting is not growth."""
    base, (before, last) = min(one[of] for one in runs), runs[-2:]
    return math.log((last[of] - base) / (before[of] - base)) / math.log(last[by] / before[by])


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--most", type=int, default=1_000_000, help="rows; 10000000 takes 5 GB of memory and a few minutes"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results" / "growth.json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [run(Path(folder), n, FIXED_CLASSES, given.threads) for n in ROWS if n <= given.most]
        classes = [run(Path(folder), FIXED_ROWS, k, given.threads) for k in CLASSES]
    exponents = {
        by: {of: exponent(runs, by, of) for of in ("cpu_s", "peak_mb")}
        for by, runs in (("rows", rows), ("classes", classes))
    }
    result = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "threads": given.threads,
        "rows": rows,
        "classes": classes,
    }
    given.json.write_text(json.dumps({**result, "exponents": exponents}, indent=1) + "\n")


if __name__ == "__main__":
    main()
