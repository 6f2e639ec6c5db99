"""Many classes: peak memory, time, size and accuracy of training and prediction on synthetic rows.

    python benchmarks/many_classes.py [--classes 10000] [--rows 50000] [--models nb,svm,logistic] [--max-memory 1GB] [--json OUT]

A row has three words of its class (of 30,000 such words) and five of 5,000 common ones. Each model is trained and used in
a process of its own; peak memory is the largest resident size of that process. Without --max-memory rows are in memory.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COMMON, OWN, EACH = 5_000, 30_000, 3


def write_rows(path: Path, n: int, classes: int, seed: int) -> None:
    """Write rows of random words."""
    rng = random.Random(seed)
    words = [random.Random(c).sample(range(OWN), EACH) for c in range(classes)]
    with path.open("w", encoding="utf-8") as file:
        file.write("text,label\n")
        for k in range(n):
            c = k % classes
            own = [f"own{w}" for w in words[c]]
            common = [f"common{rng.randrange(COMMON)}" for _ in range(5)]
            file.write(" ".join(rng.sample(own + common, len(own + common))) + f",class {c}\n")


def run(arguments: list[str]) -> dict[str, Any]:
    """Run linnet in a process of its own; return its peak memory and its seconds."""
    code = (
        "import resource, sys\nfrom linnet.cli import main\nsys.argv = ['linnet', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    code = end.code or 0\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, code, file=sys.stderr)\n"
    )
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    kilobytes, status = done.stderr.split()[-2:]
    if status != "0":
        raise SystemExit(done.stderr)
    return {"peak_gb": int(kilobytes) / 1e6, "seconds": seconds, "said": done.stdout}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--models", default="nb,svm,logistic")
    parser.add_argument("--max-memory")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        train, test, model = (Path(folder) / name for name in ("train.csv", "test.csv", "m.linnet"))
        write_rows(train, options.rows, options.classes, 0)
        write_rows(test, options.classes, options.classes, 1)
        for name in options.models.split(","):
            given = [
                "train",
                str(train),
                "--test",
                str(test),
                "--model",
                name,
                "--features",
                "words:1",
                "--no-check",
                "-q",
            ]
            given += ["--out", str(model), *(["--max-memory", options.max_memory] if options.max_memory else [])]
            given += [] if name == "nb" else ["--set", "C=1"]
            fitted = run(given)
            used = run(["predict", str(model), str(test), "--top", "3", "--out", f"{folder}/p.csv", "-q"])
            said = next((line for line in fitted["said"].splitlines() if "accuracy" in line), "")
            result[name] = {"train": fitted, "predict": used, "file_mb": model.stat().st_size / 1e6}
            print(
                f"{name:10} train {fitted['peak_gb']:.2f} GB, {fitted['seconds']:.0f} s; predict {used['peak_gb']:.2f} GB, "
                f"{used['seconds']:.0f} s; file {model.stat().st_size / 1e6:.1f} MB; {said[:60]}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
