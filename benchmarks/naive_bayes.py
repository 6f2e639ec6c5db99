"""Fit naive Bayes on the same CSR matrix as scikit-learn's, in one process, taking turns; the smallest of some times.

    python benchmarks/naive_bayes.py [--data FOLDER] [--repeat 7] [--ngrams 2]

The matrix is counts of the words and pairs of IMDB's training texts, made once by scikit-learn and not timed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sklearn.naive_bayes

import linnet.models


def seconds(task: Callable[[], Any]) -> float:
    """Time one call."""
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def main() -> None:
    """Read, count, fit by turns, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--ngrams", type=int, default=2)
    options = parser.parse_args()
    path = Path(options.data) / "imdb" / "train.parquet"
    if not path.exists():
        print(f"{path} is absent: point --data or LINNET_DATA at the data sets")
        return
    import pyarrow.parquet
    from sklearn.feature_extraction.text import CountVectorizer

    table = pyarrow.parquet.read_table(path)
    counter = CountVectorizer(ngram_range=(1, options.ngrams), dtype=float)
    X, y = counter.fit_transform(table["text"].to_pylist()), table["label"].to_numpy()
    print(f"{X.shape[0]:,} rows, {X.shape[1]:,} columns, {X.nnz:,} entries\n")
    print(f"{'model':<16}{'linnet':>9}{'sklearn':>9}{'ratio':>7}")
    for name in ("MultinomialNB", "BernoulliNB"):
        ours, theirs = getattr(linnet.models, name), getattr(sklearn.naive_bayes, name)
        times = [
            (seconds(lambda m=ours: m().fit(X, y)), seconds(lambda m=theirs: m().fit(X, y)))
            for _ in range(options.repeat)
        ]
        a, b = map(min, zip(*times, strict=True))
        print(f"{name:<16}{a:>8.3f}s{b:>8.3f}s{a / b:>7.2f}")


if __name__ == "__main__":
    main()
