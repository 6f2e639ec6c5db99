"""How fast words become lemmas, stems and tagged words, and what that is worth: one thread, one process.

    python benchmarks/language.py [--data FOLDER] [--texts 500] [--folds 5] [--json FILE]

Speed is tokens a second on the first reviews of IMDB, the first time and again (HanTa's words and sentences are kept).
Worth is the accuracy of naive Bayes on RT-polarity with the same folds for every block; --folds 0 leaves it out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import linnet
from linnet.text import lang, tokenize
from linnet.text.lang import TRANSFORMS, Transform

BLOCKS = ["words:1-2", "lemmas:1-2", "stems:1-2", "pos:1-2", "adjectives:1", "words:1-2+stems:1-2", "words:1-2+pos:1"]


def speed(texts: list[str]) -> list[dict[str, Any]]:
    """Return tokens a second of every transform."""
    rows = []
    for name in TRANSFORMS:
        source, rates = Transform(name), {}
        lang._tags.cache_clear()
        lang._tagger.cache_clear()
        source.words(["One text loads the models."])
        tokens = sum(len(tokenize(t)) for t in texts)
        for when in ("first", "again"):
            began = time.thread_time()
            source.words(texts)
            rates[when] = tokens / (time.thread_time() - began)
        rows.append({"transform": name, **rates})
        print(f"{name:<12} {rates['first']:>10,.0f} tokens/s, again {rates['again']:>10,.0f}", flush=True)
    return rows


def worth(path: Path, folds: int) -> list[dict[str, Any]]:
    """Return the accuracy with every block."""
    models = {text: f"nb:features={text}" for text in BLOCKS}
    found = linnet.compare(linnet.read(path), models=models, folds=folds)
    for m in found.models:
        print(f"{m.name:<22} {m.accuracy:.4f}", flush=True)
    return [{"features": m.name, "accuracy": m.accuracy} for m in found.models]


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    data = Path(options.data)
    if not (data / "imdb" / "train.parquet").exists():
        raise SystemExit(f"{data}: no data sets there; point --data or LINNET_DATA at them")
    texts = pq.read_table(data / "imdb" / "train.parquet", columns=["text"])["text"].to_pylist()[: options.texts]
    result: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(), "python": platform.python_version(), "texts": len(texts),
        "tokens_per_second": speed(texts),
    }  # fmt: skip
    if options.folds:
        result |= {"data": "rt_polarity", "folds": options.folds}
        result["accuracy"] = worth(data / "rt_polarity" / "all.csv", options.folds)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
