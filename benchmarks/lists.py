"""What do word lists and word vectors add? RT-s and MPQA, ten folds, with and without those of the data folder.

    python benchmarks/lists.py [--data DIR] [--sets rt_polarity,mpqa] [--json OUT] [--plain] [--vectors]

The folds are those of benchmarks/accuracy.py (stratified, seed 0). Settings are chosen inside the other nine: narrow n-grams
with characters inside words or wide ones across words, tf, the ratio and C. --plain also runs the same blocks without
lists, --vectors with lists and GloVe vectors.
"""

from __future__ import annotations

import argparse
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import linnet
from linnet.data.splitting import split_indices

PLAIN = ("words:1-2+chars:2-5", "words:1-3+across:2-6*0.8")


def fitted(features: str, texts: list[str], labels: list[str]) -> linnet.TextClassifier:
    return linnet.TextClassifier("svm", features=features, tf=["presence", "sublinear"]).fit(texts, labels)


def measure(source: Path, features: str, title: str) -> dict[str, Any]:
    """Run the ten folds of one set."""
    data = linnet.read(source, labelled=True)
    texts, labels = np.array(data.text.to_pylist(), dtype=object), np.array(data.label_list(), dtype=object)
    numbers = np.unique(labels.astype(str), return_inverse=True)[1].astype(np.int32)
    right = 0
    for held in split_indices(numbers, 0, (0.1,) * 10):
        rest = np.setdiff1d(np.arange(len(texts)), held)
        both = [fitted(plain + features, texts[rest].tolist(), labels[rest].tolist()) for plain in PLAIN]
        clf = max(both, key=lambda one: one.card["choice"]["accuracy"])  # on folds of the training rows
        right += int(np.sum(clf.predict(texts[held].tolist()) == labels[held]))
    row = {
        "set": title,
        "features": " or ".join(PLAIN) + features,
        "accuracy": 100 * right / len(texts),
        "rows": len(texts),
    }
    print(f"{title:<12} {row['accuracy']:6.2f}  {row['features']}", flush=True)
    return row


def main() -> None:
    """Measure the sets, print a line each, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--sets", default="rt_polarity,mpqa")
    parser.add_argument("--json")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--vectors", action="store_true")
    options = parser.parse_args()
    data = Path(options.data)
    lists = "+".join(f"lists:{data / 'lexicons' / f'{name}.csv'}" for name in ("afinn_111", "hu_liu", "vader"))
    results = []
    for name in options.sets.split(","):
        both = [f"+{lists}+vectors:{data / 'vectors/glove100.safetensors'}"] if options.vectors else []
        for features in [*([""] if options.plain else []), f"+{lists}", *both]:
            results.append(measure(data / name / "all.csv", features, name))  # noqa: PERF401 - printed as it goes
    if options.json:
        for row in results:
            row["features"] = row["features"].replace(f"{data}/", "")
        content = {"date": datetime.now(UTC).date().isoformat(), "results": results}
        Path(options.json).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
