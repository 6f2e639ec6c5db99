"""Softmax regression on MNIST as in the notes: stochastic gradient descent with momentum, batches of 100; about 92 %.

    python benchmarks/mnist.py [--data DIR] [--passes 20] [--json OUT]

No text here: the same solver and loss on 60,000 pictures of 784 numbers, tested once on the 10,000 others. Each picture is
divided by 255; nothing else is done to it. scikit-learn's logistic regression (L-BFGS, the same penalty) stands beside it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import linnet
from linnet.evaluate.intervals import wilson
from linnet.models import LogisticRegression
from linnet.solvers.optimisers import Momentum

MAGIC = {8: np.uint8}


def idx(path: Path) -> npt.NDArray[np.uint8]:
    """Read an idx file: two zeros, the type, the number of axes, their lengths, the values."""
    content = gzip.decompress(path.read_bytes())
    if content[:2] != b"\0\0" or content[2] not in MAGIC:
        raise SystemExit(f"{path}: not an idx file of bytes")
    shape = np.frombuffer(content, ">u4", count=content[3], offset=4)
    values = np.frombuffer(content, MAGIC[content[2]], offset=4 + 4 * content[3])
    if values.size != int(np.prod(shape)):
        raise SystemExit(f"{path}: {values.size} values where the header says {shape.tolist()}")
    return values.reshape(shape)


def pictures(folder: Path, part: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint8]]:
    """Return one part of the set: rows of 784 numbers from 0 to 1, and digits."""
    images = idx(folder / f"{part}-images-idx3-ubyte.gz")
    return (images.reshape(len(images), -1) / np.float32(255)), idx(folder / f"{part}-labels-idx1-ubyte.gz")


def main() -> None:
    """Fit, test once, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--json")
    options = parser.parse_args()
    folder = Path(options.data) / "mnist"
    if not folder.is_dir():
        raise SystemExit(f"{folder}: no such folder; point --data or LINNET_DATA at the data sets")
    (X, y), (Z, t) = pictures(folder, "train"), pictures(folder, "t10k")
    C = 1.0
    from sklearn.linear_model import LogisticRegression as Peer

    ours = LogisticRegression(
        C=C, solver=Momentum(learning_rate=0.1, beta=0.9, batch_size=100), max_iter=options.passes
    )
    systems: dict[str, Any] = {
        "linnet, SGD with momentum, batch 100": ours,
        "scikit-learn, L-BFGS": Peer(C=C, max_iter=200),
    }
    results = []
    for name, model in systems.items():
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        right = int(np.sum(model.predict(Z) == t))
        low, high = wilson(right, len(t))
        results.append({"system": name, "accuracy": right / len(t), "low": low, "high": high, "seconds": seconds})
        print(f"{name:<40} {right / len(t):.2%} [{low:.2%}, {high:.2%}]  {seconds:.1f} s", flush=True)
    if options.json:
        about = {"python": platform.python_version(), "machine": platform.machine(), "linnet": linnet.__version__}
        content = {"date": datetime.now(UTC).date().isoformat(), "machine": about, "results": results}
        Path(options.json).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
